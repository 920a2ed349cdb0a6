"""Which replicas stand on which GPUs of which system of which Pod, run-length coded.

First fit decreasing on the ladder, inside each kind of system: exact there (sizing/facility/packing.py). Domains are
taken in order of site name, Pod, system, domain; replicas by size, the largest first, then by deployment id. So a
domain's GPUs are taken from the first on, in the order in which its replicas are listed, and what is left idle are its
last GPUs. Where systems are kept spare, they are the last of their kind and stand empty.

The code. One `PlacedReplicas` is a box of equal domains: every domain of `domains`, in every system of `systems`, in
every Pod of `pods` holds the same replicas. All ranges are (first, last), counted from 1: Pods within the site in the
order of the plan's Pods, systems of this kind within the Pod, domains within the system. Every domain that is bought is
in exactly one box; an empty one is in a box without replicas, so that the boxes also tell what is idle.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TypeVar

from sizing.facility.system import System
from sizing.plan.plan import FilledPods, PlacedReplicas, PlannedDeployment
from sizing.request.request import Request

MOST_PLACED = 200_000
"""Pods, systems and domains of a plan, of each: they are filled and checked one by one."""

Replicas = tuple[tuple[str, int, int], ...]
Range = tuple[int, int]
Box = tuple[Range, Range, Replicas]
Item = TypeVar("Item")


@dataclass(slots=True)
class _Domain:
    """`idle` GPUs are not taken yet; `replicas` are (deployment id, number, GPUs of one)."""

    idle: int
    replicas: list[tuple[str, int, int]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Stand:
    """The systems of one kind in one Pod, each a list of its domains."""

    site: str
    pod: int
    systems: tuple[tuple[_Domain, ...], ...]


def place(
    request: Request,
    pods: Sequence[FilledPods],
    deployments: Sequence[PlannedDeployment],
) -> tuple[PlacedReplicas, ...]:
    """The place of every replica in the systems of `pods`, sorted by site, Pod and system.

    Raises ValueError where the replicas do not fit into the domains of their system.
    """
    placed: list[PlacedReplicas] = []
    systems = {system.name: system for system in request.candidates}
    standing = {name for filled in pods for name, _ in filled.systems}
    for name in sorted(standing | {planned.deployment.system.name for planned in deployments}):
        system = systems[name]
        stands = _stands(system, pods)
        bought = [domains for stand in stands for domains in stand.systems]
        working = bought[: max(0, len(bought) - request.policy.spare_systems)]
        _fill(
            [domain for domains in working for domain in domains],
            [planned for planned in deployments if planned.deployment.system.name == name],
        )
        placed.extend(_coded(system, stands))
    return tuple(sorted(placed, key=lambda box: (box.site, box.pods, box.system, box.systems, box.domains)))


def _stands(system: System, pods: Sequence[FilledPods]) -> list[_Stand]:
    stands: list[_Stand] = []
    for site in sorted({filled.site for filled in pods}):
        numbered = (filled for filled in pods if filled.site == site for _ in range(filled.count))
        for pod, filled in enumerate(numbered, start=1):
            count = dict(filled.systems).get(system.name, 0)
            domains = range(system.domains_per_system)
            built = tuple(tuple(_Domain(system.domain_gpus) for _ in domains) for _ in range(count))
            if built:
                stands.append(_Stand(site, pod, built))
    return stands


def _fill(domains: Sequence[_Domain], deployments: Iterable[PlannedDeployment]) -> None:
    """First fit decreasing. A domain with no room for a size is passed once for each size only."""
    ordered = sorted(deployments, key=lambda planned: (-planned.deployment.gpus_per_replica, planned.deployment.id))
    for size, group in groupby(ordered, key=lambda planned: planned.deployment.gpus_per_replica):
        first = 0
        for planned in group:
            left = planned.replicas
            while left:
                while first < len(domains) and domains[first].idle < size:
                    first += 1
                if first == len(domains):
                    raise ValueError(
                        f"{left} of {planned.replicas} replicas of {planned.deployment.id} with {size} GPUs each "
                        f"find no room in {len(domains)} domains"
                    )
                domain = domains[first]
                taken = min(left, domain.idle // size)
                domain.replicas.append((planned.deployment.id, taken, size))
                domain.idle -= taken * size
                left -= taken


def _coded(system: System, stands: Sequence[_Stand]) -> Iterator[PlacedReplicas]:
    """Equal neighbours merged: domains within a system, then systems within a Pod, then Pods within a site."""
    for site, group in groupby(stands, key=lambda stand: stand.site):
        for pods, boxes in _runs((stand.pod, _boxes(stand)) for stand in group):
            for systems, domains, replicas in boxes:
                idle = system.domain_gpus - sum(number * gpus for _, number, gpus in replicas)
                yield PlacedReplicas(site, pods, system.name, systems, domains, replicas, idle)


def _boxes(stand: _Stand) -> tuple[Box, ...]:
    """(systems, domains, replicas) of one Pod."""
    coded = (tuple(_runs(enumerate((tuple(domain.replicas) for domain in domains), 1))) for domains in stand.systems)
    return tuple(
        (systems, domains, replicas) for systems, runs in _runs(enumerate(coded, 1)) for domains, replicas in runs
    )


def _runs(numbered: Iterable[tuple[int, Item]]) -> Iterator[tuple[Range, Item]]:
    """((first, last), item) of every run of equal items with consecutive numbers."""
    run: tuple[Range, Item] | None = None
    for number, item in numbered:
        if run is not None and run[1] == item and run[0][1] == number - 1:
            run = ((run[0][0], number), item)
        else:
            if run is not None:
                yield run
            run = ((number, number), item)
    if run is not None:
        yield run
