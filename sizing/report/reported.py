"""What a sheet reads: the plan and its bill, and the numbers by which tables of several sheets find each other."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from sizing.facility.bill_rules import RuleLine
from sizing.facility.deployment import Deployment
from sizing.facility.site import Site
from sizing.facility.system import System
from sizing.plan.bill import BillLine, runs_with_installed
from sizing.plan.plan import Plan, PlannedDeployment
from sizing.report.pod_use import PodUse, pod_uses
from sizing.request.request import ServiceClass
from sizing.sequence.streams import Keep


@dataclass(frozen=True, slots=True)
class Kept:
    """Rows of the cache that keep the same positions of a sequence: the terms of `Stored`, over a whole pool."""

    position_bytes: Fraction
    keep: Keep
    split: int
    block: int
    spare_blocks: int

    def positions(self, context: int) -> int:
        """Positions that are kept of `context` tokens."""
        mine = -(-self.keep.positions(context) // self.split)
        return self.block * (-(-mine // self.block) + self.spare_blocks)

    @property
    def token_bytes(self) -> Fraction:
        """What one more token costs; nothing where a window or a state is full."""
        return Fraction(0) if self.keep.most is not None else self.position_bytes / (self.keep.every * self.split)


@dataclass(frozen=True)
class Reported:
    """A plan with the lines of its bill of units. What follows from it is worked out once for all sheets."""

    plan: Plan
    bill: tuple[BillLine, ...]

    @cached_property
    def kinds(self) -> Mapping[str, System]:
        """Every kind of system that stands in the Pods or in what they are counted for when full, by name."""
        named = {name for run in self.plan.pods for name, _ in (*run.systems, *run.fill.systems)}
        return {system.name: system for system in self.candidates if system.name in named}

    @cached_property
    def candidates(self) -> tuple[System, ...]:
        return tuple(sorted(self.plan.request.candidates, key=lambda system: system.name))

    @cached_property
    def runs(self) -> tuple[PodUse, ...]:
        """Runs of equal Pods, site by site."""
        return tuple(sorted(pod_uses(self.plan), key=lambda use: use.site.name))

    @cached_property
    def sites(self) -> tuple[Site, ...]:
        return tuple(sorted(self.plan.request.sites, key=lambda site: site.name))

    @cached_property
    def classes(self) -> Mapping[str, tuple[int, ServiceClass]]:
        """Classes by name, numbered from 1 in the order of the plan."""
        services = {service.name: service for service in self.plan.request.classes}
        return {served.name: (place, services[served.name]) for place, served in enumerate(self.plan.classes, start=1)}

    @cached_property
    def deployments(self) -> tuple[tuple[int, PlannedDeployment], ...]:
        """Deployments, numbered from 1 as on the screen."""
        return tuple(enumerate(self.plan.deployments, start=1))

    @cached_property
    def runs_with_installed(self) -> tuple[tuple[int, int], ...]:
        """(run, how many of its Pods are taken for installed ones), in the order in which they are taken."""
        return tuple(
            (run, taken)
            for filled, taken in runs_with_installed(self.plan)
            for run, use in enumerate(self.runs)
            if use.filled is filled
        )

    def bought(self, group: str, part: str) -> int | None:
        """The place in the bill of Pods or systems that are bought; None where none are."""
        places = (place for place, line in enumerate(self.bill) if (line.group, line.part) == (group, part))
        return next(places, None)

    def line_of(self, rule: RuleLine) -> int:
        """The place in the bill of what a part of the balance of plant is counted in."""
        return next(place for place, line in enumerate(self.bill) if line.counts(rule))


def kept(deployment: Deployment) -> tuple[Kept, ...]:
    """What a deployment keeps of a sequence, rows of equal keeping added up; in a stable order."""
    found: dict[tuple[Keep, int, int, int], Fraction] = {}
    for stored in deployment.stored:
        key = stored.keep, stored.split, stored.block, stored.spare_blocks
        found[key] = found.get(key, Fraction(0)) + stored.position_bits / 8
    return tuple(Kept(size, *key) for key, size in found.items() if size)
