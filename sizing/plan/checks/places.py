"""Replicas into domains, by the explicit placement: every replica once, no domain overfull, spare systems empty."""

from collections import Counter
from collections.abc import Iterator
from itertools import product

from sizing.plan.checks.case import Case, gpus_of_replica
from sizing.plan.plan import PlacedReplicas

Domain = tuple[str, int, str, int, int]
"""Site, Pod within it, kind of system, system of this kind within the Pod, domain within the system."""


def domains_are_placed_once(case: Case) -> Iterator[str]:
    """Every domain that stands in a Pod is in exactly one run of the placement, an empty one too."""
    placed = Counter(domain for box in case.plan.placement for domain in _domains(box))
    for site, pod, kind, count in case.stands():
        for system, domain in product(range(1, count + 1), range(1, case.systems[kind].domains_per_system + 1)):
            times = placed[site, pod, kind, system, domain]
            if times != 1:
                yield (
                    f"placement: site {site!r}, Pod {pod}, {kind} {system}, domain {domain} is told {times} times, "
                    f"it stands there once"
                )


def replicas_fit_domains(case: Case) -> Iterator[str]:
    """The GPUs of a domain are those of its replicas and those told idle, none shared (decision 3)."""
    for box in case.plan.placement:
        taken = 0
        for name, number, gpus in box.replicas:
            deployment = case.deployments[name].deployment
            if deployment.system.name != box.system:
                yield f"{_named(box)}: {name} does not run on it"
            size = gpus_of_replica(deployment)
            if size != gpus:
                yield f"{_named(box)}: a replica of {name} has {size} GPUs, not {gpus}"
            taken += number * size
        domain_gpus = case.systems[box.system].domain_gpus
        if taken > domain_gpus:
            yield f"{_named(box)}: replicas take {taken} of the {domain_gpus} GPUs of a domain"
        elif taken + box.idle_gpus != domain_gpus:
            yield f"{_named(box)}: {taken} GPUs taken and {box.idle_gpus} idle are not the {domain_gpus} of a domain"


def replicas_are_placed(case: Case) -> Iterator[str]:
    """Every replica stands in exactly one place."""
    placed: Counter[str] = Counter()
    for box in case.plan.placement:
        for name, number, _ in box.replicas:
            placed[name] += number * sum(1 for _ in _domains(box))
    for name, planned in case.deployments.items():
        if placed[name] != planned.replicas:
            yield f"{name}: {placed[name]} replicas are placed, {planned.replicas} are planned"


def spare_systems_are_empty(case: Case) -> Iterator[str]:
    """Of every kind that is bought or used, so many systems as the policy keeps spare hold no replica."""
    spare = case.request.policy.spare_systems
    at_work = {domain[:4] for box in case.plan.placement if box.replicas for domain in _domains(box)}
    working = Counter(kind for _, _, kind, _ in at_work)
    bought = case.bought()
    for kind, count in sorted(case.standing().items()):
        if count - working[kind] < spare and (working[kind] or bought[kind] > 0):
            yield f"{count - working[kind]} of {count} {kind} stand spare, {spare} are asked for"


def _domains(box: PlacedReplicas) -> Iterator[Domain]:
    pods, systems, domains = (range(first, last + 1) for first, last in (box.pods, box.systems, box.domains))
    return ((box.site, pod, box.system, system, domain) for pod, system, domain in product(pods, systems, domains))


def _named(box: PlacedReplicas) -> str:
    return (
        f"placement: site {box.site!r}, Pods {box.pods[0]} to {box.pods[1]}, "
        f"{box.system} {box.systems[0]} to {box.systems[1]}, domains {box.domains[0]} to {box.domains[1]}"
    )
