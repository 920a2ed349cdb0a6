"""What arithmetic alone shows: classes that no candidate holds or no Pod takes, and installed goods beyond a limit."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from sizing.facility.fills import PodRoom
from sizing.facility.loads import site_loads
from sizing.plan.words import bare_amount, limit_in_words
from sizing.program.deployments import Obstacle, Options
from sizing.program.sets import sets_of
from sizing.request.request import Request, ServiceClass

MOST_SHOWN = 4
"""Obstacles of a class that are told: those that miss least first."""


def classes_that_fit(request: Request, options: Options) -> frozenset[str]:
    """Classes of which some candidate that stands in a Pod holds a sequence."""
    placed = {system for _, system in sets_of(request, options.candidates).places}
    return frozenset(
        name
        for candidate in options.candidates
        for name in candidate.sizes
        if candidate.deployment.system.name in placed
    )


def obstacles_in_words(request: Request, options: Options) -> Iterator[str]:
    """A sentence for every class that fits nowhere, and why not."""
    if not request.candidates:
        yield "no system is a candidate: " + "; ".join(f"{each.system}: {each.why}" for each in request.rejected)
        return
    fitting = classes_that_fit(request, options)
    for service in request.classes:
        if service.name in fitting:
            continue
        kinds = sorted({c.deployment.system.name for c in options.candidates if service.name in c.sizes})
        if kinds:
            yield (
                f"class `{service.name}` fits only on {', '.join(kinds)}, and no Pod of the sites holds one with its "
                f"balance of plant: {'; '.join(_too_little(request, kinds))}"
            )
        else:
            yield f"class `{service.name}` fits no system: {'; '.join(_why_not(service, options))}"


def _too_little(request: Request, kinds: Sequence[str]) -> Iterator[str]:
    """What the Pods of each site lack for one system of each kind, where several sites lack the same said once."""
    systems = {system.name: system for system in request.candidates}
    said = (
        f"{kind} needs {bare_amount(lack.needed, lack.unit)} of {lack.what}, and a Pod has "
        f"{bare_amount(lack.allowed, lack.unit)}"
        for kind in kinds
        for site in request.sites
        for lack in PodRoom(site, [systems[kind]]).lacks({kind: 1})
    )
    yield from dict.fromkeys(said)


def installed_beyond_limits(request: Request) -> Iterator[str]:
    """A sentence for every limit of a site that what is installed there exceeds by itself, whatever is served."""
    systems = {system.name: system for system in request.candidates}
    for site in request.sites:
        nothing = PodRoom(site, ()).fill({})
        for load in site_loads(site, request.policy.power_basis):
            taken = load.of_installed(site, systems) + load.of_pod(nothing) * site.installed_pods
            if load.limit is not None and taken > load.limit:
                limit = limit_in_words(request, load.name, site.name)
                allowed, of_it = (bare_amount(amount, load.unit) for amount in (load.limit, taken))
                yield f"{limit}: {allowed} allowed, and what is installed takes at least {of_it} of it already"


def _why_not(service: ServiceClass, options: Options) -> Iterator[str]:
    """The obstacles of a class, the nearest miss first; systems that share one are named together."""
    by_why: dict[str, list[Obstacle]] = defaultdict(list)
    for obstacle in options.obstacles:
        if obstacle.model == service.model.name and service.name in obstacle.services:
            by_why[obstacle.why].append(obstacle)
    ordered = sorted(by_why.values(), key=_nearness)
    for alike in ordered[:MOST_SHOWN]:
        systems, why = list(dict.fromkeys(each.system for each in alike)), alike[0].why
        yield why if systems[0] in why else f"{', '.join(systems)}: {why}"
    if len(ordered) > MOST_SHOWN:
        yield f"and {len(ordered) - MOST_SHOWN} more, which the rejections tell"


def _nearness(alike: list[Obstacle]) -> tuple[bool, int, str]:
    nearest = alike[0]
    return nearest.missing_bytes is None, nearest.missing_bytes or 0, nearest.system
