"""Everything that a plan names is what the request offers, and every count counts something.

The other checks look names up without asking again; they run only on a plan that passes this one.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from sizing.plan.checks.case import Case
from sizing.plan.plan import PlannedDeployment
from sizing.sequence.weights import FORMATS


def names_are_known(case: Case) -> Iterator[str]:
    """Candidates only, sites, classes and precisions of the request, no count below one, nothing twice."""
    yield from _systems(case)
    yield from _deployments(case)
    yield from _classes(case)
    yield from _placement(case)


def _systems(case: Case) -> Iterator[str]:
    yield from _counted("systems bought", case.plan.systems, case.systems)
    for filled in case.plan.pods:
        site = case.sites.get(filled.site)
        if site is None:
            yield f"site {filled.site!r} is not in the request"
        elif filled.pod != site.pod.name:
            yield f"site {filled.site!r} takes Pods of type {site.pod.name!r}, not {filled.pod!r}"
        if filled.count < 1:
            yield f"Pods at {filled.site!r} are counted {filled.count} times"
        yield from _counted(f"systems in a Pod at {filled.site!r}", filled.systems, case.systems)
        yield from _counted(f"the fill of a Pod at {filled.site!r}", filled.fill.systems, case.systems)


def _deployments(case: Case) -> Iterator[str]:
    yield from _once("deployment", (planned.deployment.id for planned in case.plan.deployments))
    for planned in case.plan.deployments:
        yield from _deployment(planned, case)


def _deployment(planned: PlannedDeployment, case: Case) -> Iterator[str]:
    deployment = planned.deployment
    for what, used, offered in (
        ("system", deployment.system, case.systems.get(deployment.system.name)),
        ("model", deployment.model, case.models.get(deployment.model.name)),
        ("KV precision", deployment.kv_precision, case.kv_precisions.get(deployment.kv_precision.name)),
    ):
        if offered is None:
            yield f"{deployment.id}: {what} {used.name!r} is not offered by the request"
        elif used != offered:
            yield f"{deployment.id}: {what} {used.name!r} differs from the request's"
    if deployment.weights not in FORMATS:
        yield f"{deployment.id}: weight precision {deployment.weights!r} is unknown"
    if min(deployment.layout.tp, deployment.layout.dcp, deployment.layout.attention_dp) < 1:
        yield f"{deployment.id}: no part of a layout is below 1"
    if planned.replicas < 1:
        yield f"{deployment.id}: {planned.replicas} replicas"
    for pattern in planned.patterns:
        if pattern.count < 1:
            yield f"{deployment.id}: {pattern.count} pools of one pattern"
        yield from _counted(f"sequences in a pool of {deployment.id}", pattern.sequences, case.classes)


def _classes(case: Case) -> Iterator[str]:
    told = {served.name for served in case.plan.classes}
    yield from _once("class", (served.name for served in case.plan.classes))
    for name in sorted(told ^ set(case.classes)):
        yield f"class {name!r} is {'not in the request' if name in told else 'missing from the plan'}"
    for served in case.plan.classes:
        places = [(place.deployment, place.sequences) for place in served.placements]
        yield from _counted(f"class {served.name!r} by deployment", places, case.deployments)


def _placement(case: Case) -> Iterator[str]:
    standing = {(site, pod, kind): count for site, pod, kind, count in case.stands()}
    for box in case.plan.placement:
        where = f"placement at {box.site!r} on {box.system!r}"
        pods = range(box.pods[0], box.pods[1] + 1)
        system = case.systems.get(box.system)
        if system is None or not pods or any((box.site, pod, box.system) not in standing for pod in pods):
            yield f"{where}: not in Pods {box.pods[0]} to {box.pods[1]}"
        elif not 1 <= box.systems[0] <= box.systems[1] <= min(standing[box.site, pod, box.system] for pod in pods):
            yield f"{where}: no systems {box.systems[0]} to {box.systems[1]} in Pods {box.pods[0]} to {box.pods[1]}"
        elif not 1 <= box.domains[0] <= box.domains[1] <= system.domains_per_system:
            yield f"{where}: no domains {box.domains[0]} to {box.domains[1]}"
        yield from _counted(
            f"{where}: replicas", [(name, number) for name, number, _ in box.replicas], case.deployments
        )


def _counted(what: str, counts: Iterable[tuple[str, int]], known: Iterable[str]) -> Iterator[str]:
    counts, names = tuple(counts), set(known)
    yield from _once(what, (name for name, _ in counts))
    for name, count in counts:
        if name not in names:
            yield f"{what}: {name!r} is not known"
        if count < 1:
            yield f"{what}: {count} of {name!r}"


def _once(what: str, names: Iterable[str]) -> Iterator[str]:
    for name, count in Counter(names).items():
        if count > 1:
            yield f"{what}: {name!r} is told {count} times"
