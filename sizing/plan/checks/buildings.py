"""Systems into Pods, Pods onto sites: slots, power, heat, positions and supply, each summed up anew."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from sizing.facility.bill_rules import balance
from sizing.facility.loads import air_kw, liquid_kw, nameplate_kw
from sizing.facility.pod import Balance
from sizing.facility.site import Site
from sizing.facility.system import System
from sizing.plan.checks.case import Case, unequal
from sizing.plan.plan import FilledPods, Limit
from sizing.request.candidates import refusal

OfSystem = Callable[[System], Fraction | None]
ZERO = Fraction(0)


def systems_stand_in_pods(case: Case) -> Iterator[str]:
    """What is bought stands in the Pods, and nothing else does."""
    bought, standing = dict(case.plan.systems), case.standing()
    for name in sorted(bought.keys() | standing):
        yield from unequal(f"systems {name!r}", bought.get(name, 0), standing[name])


def installed_stands(case: Case) -> Iterator[str]:
    """What a site has installed stays where it is."""
    for name, site in sorted(case.sites.items()):
        for kind, count in site.installed_systems.items():
            if case.bought(name)[kind] < 0:
                yield f"site {name!r}: {count} {kind} are installed, the plan has {case.standing(name)[kind]}"
        if case.bought_pods(name) < 0:
            pods = case.bought_pods(name) + site.installed_pods
            yield f"site {name!r}: {site.installed_pods} Pods are installed, the plan has {pods}"


def only_candidates_are_bought(case: Case) -> Iterator[str]:
    """What is only there because it is installed is not bought."""
    for name, site in sorted(case.sites.items()):
        for kind, count in case.bought(name).items():
            why = refusal(case.systems[kind], site, case.request.policy) if count > 0 else None
            if why is not None:
                yield f"site {name!r}: {count} {kind} are bought, yet {why}"


def fills_fit_pods(case: Case) -> Iterator[str]:
    """A Pod's full population fits it with its balance of plant, and no further system of its kinds does.

    The balance of plant is counted at the full population, so that it covers every smaller one. Of a kind that may not
    be bought there are no more than are installed.
    """
    for filled in case.plan.pods:
        site, fill, where = case.sites[filled.site], dict(filled.fill.systems), _named(filled)
        for reason in _excesses(site, fill, case):
            yield f"{where}: {reason}"
        for name, count in fill.items():
            may_be_bought = refusal(case.systems[name], site, case.request.policy) is None
            standing = site.installed(name)
            if not may_be_bought and count > standing:
                yield f"{where}: its fill has {count} {name}, {standing} are installed and none may be bought"
            more_may_come = may_be_bought or count < standing
            if more_may_come and not any(_excesses(site, {**fill, name: count + 1}, case)):
                yield f"{where}: its fill is not full, one more {name} fits"
        told, found = filled.fill.balance, _balance(site, fill, case)
        yield from unequal(f"{where}: kW of balance of plant", told.kw, found.kw)
        yield from unequal(f"{where}: liquid heat of balance of plant", told.liquid_kw, found.liquid_kw)
        yield from unequal(f"{where}: air heat of balance of plant", told.air_kw, found.air_kw)


def pods_hold_their_fill(case: Case) -> Iterator[str]:
    """A Pod holds at most its full population, of one kind, or of two where Pods may be mixed."""
    kinds = 2 if case.request.policy.mixed_pods else 1
    for filled in case.plan.pods:
        if len(filled.fill.systems) > kinds:
            yield f"{_named(filled)}: its fill has {len(filled.fill.systems)} kinds of system, {kinds} may be mixed"
        for name, count in filled.systems:
            if count > filled.fill.count(name):
                yield f"{_named(filled)}: its fill has only {filled.fill.count(name)} of {name}"


def figures_are_known_where_needed(case: Case) -> Iterator[str]:
    """Decision 6: without nameplate a system stands nowhere, without heat split only where no heat is limited."""
    for site in case.sites.values():
        limits = (site.liquid_kw, site.air_kw, site.liquid_kw_per_pod, site.air_kw_per_pod)
        for name in case.standing(site.name):
            if nameplate_kw(case.systems[name]) is None:
                yield f"{name} has no nameplate"
            elif air_kw(case.systems[name]) is None and any(limit is not None for limit in limits):
                yield f"site {site.name!r} limits heat, and {name} has no heat split"


def sites_are_kept(case: Case) -> Iterator[str]:
    """No limit of a site or of supply is exceeded."""
    for limit in _limits(case):
        if limit.limit is not None and limit.used > limit.limit:
            where = "" if limit.site is None else f"site {limit.site!r}: "
            yield f"{where}{limit.name} takes {float(limit.used):,} of {float(limit.limit):,} {limit.unit}"


def limits_are_told(case: Case) -> Iterator[str]:
    """Every limit once, with what is used of it and whether it binds."""
    told = {(limit.name, limit.site): limit for limit in case.plan.limits}
    found = {(limit.name, limit.site): limit for limit in _limits(case)}
    if len(told) != len(case.plan.limits):
        yield "a limit is told twice"
    for key in dict.fromkeys([*found, *told]):
        name, site = key
        where = f"limit {name}" if site is None else f"limit {name} at {site!r}"
        yield from unequal(where, _told(told.get(key)), _told(found.get(key)))


def _told(limit: Limit | None) -> str | None:
    if limit is None:
        return None
    most = "no limit" if limit.limit is None else f"{float(limit.limit):,}"
    return f"{float(limit.used):,} of {most} {limit.unit}{', binding' if limit.binding else ''}"


@dataclass(frozen=True, slots=True)
class _SiteLimit:
    """One limit: what a site grants, what one system takes of it, what one Pod with its balance of plant takes."""

    name: str
    unit: str
    granted: Callable[[Site], Fraction | int | None]
    of_system: OfSystem
    of_pod: Callable[[Site, Balance], Fraction | int]


def _site_limits(case: Case) -> tuple[_SiteLimit, ...]:
    """Decision 5: provisioned, a Pod counts its whole electrical input; installed, what is in it at nameplate."""
    if case.request.policy.power_basis == "provisioned":
        power = _SiteLimit("power", "kW", lambda site: site.power_kw, _none, lambda site, _: site.pod.power_kw.value)
    else:
        power = _SiteLimit("power", "kW", lambda site: site.power_kw, nameplate_kw, lambda _, extra: extra.kw)
    return (
        power,
        _SiteLimit("liquid_heat", "kW", lambda site: site.liquid_kw, liquid_kw, lambda _, extra: extra.liquid_kw),
        _SiteLimit("air_heat", "kW", lambda site: site.air_kw, air_kw, lambda _, extra: extra.air_kw),
        _SiteLimit("pods", "Pods", lambda site: site.pods, _none, lambda _site, _extra: 1),
    )


def _limits(case: Case) -> Iterator[Limit]:
    """All limits anew; one whose use is unknown is left out. Sites count what stands there, supply what is bought.

    A limit binds where not even the least further purchase still fits: one system of a kind in the plan, or, where
    systems take nothing of it, one Pod.
    """
    kinds = [case.systems[name] for name in case.standing()]
    for name, site in sorted(case.sites.items()):
        here = [(case.systems[kind], count) for kind, count in case.standing(name).items()]
        pods = [filled for filled in case.plan.pods if filled.site == name]
        extras = [(_balance(site, dict(filled.fill.systems), case), filled.count) for filled in pods]
        for limit in _site_limits(case):
            taken = _taken(limit.of_system, here)
            if taken is None:
                continue
            used = taken + sum((Fraction(limit.of_pod(site, extra)) * count for extra, count in extras), ZERO)
            steps = [step for kind in kinds if (step := limit.of_system(kind))]
            steps = steps or [step for extra, _ in extras if (step := Fraction(limit.of_pod(site, extra)))]
            granted = limit.granted(site)
            binding = granted is not None and bool(steps) and used + min(steps) > granted
            yield Limit(limit.name, name, used, None if granted is None else Fraction(granted), limit.unit, binding)
    for name, most in sorted(case.request.policy.supply.items()):
        if name in case.systems:
            count = case.bought()[name]
            binding = case.standing()[name] > 0 and count >= most
            yield Limit(f"supply:{name}", None, Fraction(count), Fraction(most), "systems", binding)


def _taken(of_system: OfSystem, systems: list[tuple[System, int]]) -> Fraction | None:
    """Sum over systems; None where one is unknown."""
    total = ZERO
    for system, count in systems:
        each = of_system(system)
        if each is None:
            return None
        total += each * count
    return total


def _excesses(site: Site, population: Mapping[str, int], case: Case) -> Iterator[str]:
    """Why one Pod cannot hold these systems; a cooling that is unknown limits nothing here (decision 7)."""
    systems = [(case.systems[name], count) for name, count in population.items()]
    extra = _balance(site, population, case)
    slots = sum(system.gpus * count for system, count in systems)
    if slots > site.pod.gpu_slots.value:
        yield f"its fill takes {slots} of {site.pod.gpu_slots.value} GPU slots"
    for what, granted, of_system, of_balance in (
        ("power", site.pod.it_power_kw, nameplate_kw, extra.kw),
        ("liquid heat", site.liquid_kw_per_pod, liquid_kw, extra.liquid_kw),
        ("air heat", site.air_kw_per_pod, air_kw, extra.air_kw),
    ):
        taken = _taken(of_system, systems)
        if granted is not None and taken is not None and taken + of_balance > granted:
            yield f"its fill takes {float(taken + of_balance):,} of {float(granted):,} kW of {what}"


def _balance(site: Site, population: Mapping[str, int], case: Case) -> Balance:
    if site.pod.bill_rules is None:
        return Balance()
    return balance(site.pod.bill_rules, [(case.systems[name], population[name]) for name in sorted(population)])


def _none(_system: System) -> Fraction:
    return ZERO


def _named(filled: FilledPods) -> str:
    held = " + ".join(f"{count} {name}" for name, count in filled.systems) or "no system"
    return f"Pod at {filled.site!r} with {held}"
