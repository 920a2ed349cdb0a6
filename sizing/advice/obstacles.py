"""What arithmetic alone shows: classes of which no candidate holds even one sequence, or that stand in no Pod."""

from collections import defaultdict
from collections.abc import Iterator

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
                "balance of plant"
            )
        else:
            yield f"class `{service.name}` fits no system: {'; '.join(_why_not(service, options))}"


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
