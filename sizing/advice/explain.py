"""Why there is no plan: first arithmetic, then each limit lifted alone, then all of them together."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from sizing.facility.loads import known, site_loads
from sizing.facility.site import Site
from sizing.plan.choice import Choice
from sizing.plan.plan import NoPlan, Relaxation, Status
from sizing.program.deployments import Candidate, Options
from sizing.program.objective import STAGES
from sizing.program.elastic import use_of
from sizing.program.exact import NotFound
from sizing.program.search import Found, search
from sizing.program.solver import Effort
from sizing.request.request import Request, ServiceClass
from sizing.units.amounts import plain

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class LimitOfRequest:
    """One limit that a request states: of a site, or of supply (`site` None)."""

    name: str
    site: str | None
    value: Fraction
    unit: str


def explain(
    request: Request, options: Options, found: NotFound, effort: Effort, progress: Progress = lambda _text: None
) -> NoPlan:
    """The reasons in sentences, and what would have to change."""
    if not found.proven:
        why = (
            "the time limit ended the search before a plan was found"
            if found.stopped
            else "no plan was found among the mixtures tried, and that there is none is not proven"
        )
        return NoPlan(request, Status.TIMEOUT, (why,), (), (*request.rejected, *options.rejected))
    reasons = list(unserved_classes(request, options))
    relaxations: list[Relaxation] = []
    if not reasons:
        progress("no plan: looking for the limit that stands in the way")
        limits, relaxations = _limits_in_the_way(request, options.candidates, effort)
        reasons = limits
    return NoPlan(
        request, Status.INFEASIBLE, tuple(reasons), tuple(relaxations), (*request.rejected, *options.rejected)
    )


def unserved_classes(request: Request, options: Options) -> Iterator[str]:
    """A sentence for every class that no candidate can hold even one sequence of."""
    if not request.candidates:
        yield "no system is a candidate: " + "; ".join(f"{each.system}: {each.why}" for each in request.rejected)
        return
    held = {name for candidate in options.candidates for name in candidate.sizes}
    for service in request.classes:
        if service.name not in held:
            yield f"class {service.name!r} fits no system: " + "; ".join(_why_not(service, options))


def _why_not(service: ServiceClass, options: Options) -> list[str]:
    """The obstacles of a class, a line a system."""
    whys = [
        f"{obstacle.system}: {obstacle.why}"
        for obstacle in options.obstacles
        if obstacle.model == service.model.name and obstacle.service in (None, service.name)
    ]
    return list(dict.fromkeys(whys))


def stated_limits(request: Request) -> list[LimitOfRequest]:
    """Every finite limit of the request, site by site, then supply."""
    limits = [
        LimitOfRequest(load.name, site.name, load.limit, load.unit)
        for site in sorted(request.sites, key=lambda site: site.name)
        for load in site_loads(site, request.policy.power_basis)
        if load.limit is not None
    ]
    supply = [
        LimitOfRequest(f"supply:{name}", None, Fraction(most), "systems")
        for name, most in sorted(request.policy.supply.items())
    ]
    return [*limits, *supply]


def without(request: Request, limit: LimitOfRequest) -> Request:
    """The request with one limit lifted."""
    if limit.site is None:
        supply = {name: most for name, most in request.policy.supply.items() if f"supply:{name}" != limit.name}
        return replace(request, policy=replace(request.policy, supply=supply))
    sites = tuple(site if site.name != limit.site else _lifted(site, limit.name) for site in request.sites)
    return replace(request, sites=sites)


def _lifted(site: Site, name: str) -> Site:
    return replace(
        site,
        power_kw=None if name == "power" else site.power_kw,
        liquid_kw=None if name == "liquid_heat" else site.liquid_kw,
        air_kw=None if name == "air_heat" else site.air_kw,
        pods=None if name == "pods" else site.pods,
    )


def _limits_in_the_way(
    request: Request, candidates: tuple[Candidate, ...], effort: Effort
) -> tuple[list[str], list[Relaxation]]:
    limits = stated_limits(request)
    reasons, relaxations = [], []
    for limit in limits:
        lifted = without(request, limit)
        found = search(lifted, candidates, effort, stages=(use_of((limit.name, limit.site)), *STAGES.values()))
        if isinstance(found, Found):
            needed = _use(lifted, found.choice, limit)
            relaxations.append(Relaxation(limit.name, limit.site, limit.value, needed, limit.unit))
            reasons.append(_sentence(lifted, found.choice, limit, needed))
    if relaxations:
        return reasons, relaxations
    lifted = request
    for limit in limits:
        lifted = without(lifted, limit)
    found = search(lifted, candidates, effort)
    if not isinstance(found, Found):
        return ["no system that fits a Pod can hold the classes together"], []
    for limit in limits:
        needed = _use(lifted, found.choice, limit)
        if needed > limit.value:
            relaxations.append(Relaxation(limit.name, limit.site, limit.value, needed, limit.unit))
            reasons.append(f"together with the others: {_sentence(lifted, found.choice, limit, needed)}")
    return reasons, relaxations


def _use(request: Request, choice: Choice, limit: LimitOfRequest) -> Fraction:
    """Exact use of a limit by a choice."""
    if limit.site is None:
        name = limit.name.removeprefix("supply:")
        return Fraction(sum(count for (_, system), count in choice.systems.items() if system == name))
    systems = {system.name: system for system in request.candidates}
    site = next(site for site in request.sites if site.name == limit.site)
    load = next(load for load in site_loads(site, request.policy.power_basis) if load.name == limit.name)
    of_systems = (
        known(load.of_system(systems[name])) * count
        for (place, name), count in choice.systems.items()
        if place == limit.site
    )
    of_pods = (load.of_pod(fill) * count for (place, fill), count in choice.pods.items() if place == limit.site)
    return sum(of_systems, Fraction(0)) + sum(of_pods, Fraction(0))


def _sentence(request: Request, choice: Choice, limit: LimitOfRequest, needed: Fraction) -> str:
    bought: dict[str, int] = {}
    for (_, name), count in choice.systems.items():
        bought[name] = bought.get(name, 0) + count
    pods = sum(choice.pods.values())
    what = f"{pods} Pods with " + ", ".join(f"{count} {name}" for name, count in sorted(bought.items()))
    place = "supply" if limit.site is None else f"site {limit.site!r}"
    allowed, use = plain(limit.value, limit.unit), plain(needed, limit.unit)
    sentence = f"{place}: {limit.name} {allowed} is allowed, {use} needed ({what})"
    if limit.site is not None and len(bought) == 1:
        site = next(site for site in request.sites if site.name == limit.site)
        load = next(load for load in site_loads(site, request.policy.power_basis) if load.name == limit.name)
        (name,) = bought
        each = load.of_system(next(system for system in request.candidates if system.name == name))
        if each:
            beside = needed - each * bought[name]
            sentence += f"; {max(Fraction(0), limit.value - beside) // each} systems fit"
    return sentence
