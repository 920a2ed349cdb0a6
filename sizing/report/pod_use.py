"""What the Pods of a plan use and what they strand: GPU slots and the Pod's power."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from sizing.facility.pod import PodType
from sizing.facility.site import Site
from sizing.facility.system import System
from sizing.plan.plan import FilledPods, Plan
from sizing.report.text import plural
from sizing.units.amounts import kw, percent, thousands


@dataclass(frozen=True, slots=True)
class PodUse:
    """Equal Pods `first` to `last` of a site, counted from 1 as in the placement. Figures are of one Pod.

    `systems` stand in it, `full` would when it is full: an installed Pod may be empty.
    """

    site: Site
    filled: FilledPods
    systems: tuple[tuple[System, int], ...]
    full: tuple[tuple[System, int], ...]
    first: int
    last: int

    @property
    def pod(self) -> PodType:
        return self.site.pod

    @property
    def numbers(self) -> str:
        return f"Pod {self.first}" if self.first == self.last else f"Pods {self.first} to {self.last}"

    @property
    def gpus(self) -> int:
        return sum(system.gpus * count for system, count in self.systems)

    @property
    def slots(self) -> int:
        return self.pod.gpu_slots.value

    @property
    def room(self) -> tuple[tuple[System, int], ...]:
        """Systems that this Pod's fill could still take."""
        stands = dict(self.filled.systems)
        left = ((system, count - stands.get(system.name, 0)) for system, count in self.full)
        return tuple((system, count) for system, count in left if count > 0)

    @property
    def free_slots(self) -> int:
        """Slots that further systems of its kinds can take; all where it is empty."""
        if not self.filled.fill.systems:
            return self.slots
        return sum(system.gpus * count for system, count in self.room)

    @property
    def stranded_slots(self) -> int:
        """Slots that no further system of its kinds can take."""
        return self.slots - self.gpus - self.free_slots

    @property
    def systems_kw(self) -> Fraction:
        return sum((_kw(system) * count for system, count in self.systems), Fraction(0))

    @property
    def liquid_kw(self) -> Fraction | None:
        """Heat of the systems to liquid at nameplate; None where the split of one is unknown."""
        known = [(system.liquid_kw.value, count) for system, count in self.systems if system.liquid_kw is not None]
        return sum((heat * count for heat, count in known), Fraction(0)) if len(known) == len(self.systems) else None

    @property
    def air_kw(self) -> Fraction | None:
        """Heat of the systems to air at nameplate; None where the split of one is unknown."""
        liquid = self.liquid_kw
        return None if liquid is None else self.systems_kw - liquid

    @property
    def contents(self) -> str:
        return " + ".join(f"{thousands(count)} x {system.name}" for system, count in self.systems)


def pod_uses(plan: Plan) -> Iterator[PodUse]:
    """Every run of equal Pods, numbered within its site in the order of the plan."""
    sites = {site.name: site for site in plan.request.sites}
    kinds = {system.name: system for system in plan.request.candidates}
    stands: dict[str, int] = dict.fromkeys(sites, 0)
    for filled in plan.pods:
        first = stands[filled.site] + 1
        stands[filled.site] += filled.count
        systems = tuple((kinds[name], count) for name, count in filled.systems if count)
        full = tuple((kinds[name], count) for name, count in filled.fill.systems)
        yield PodUse(sites[filled.site], filled, systems, full, first, stands[filled.site])


def pod_sentences(plan: Plan) -> list[str]:
    """One sentence for every run of equal Pods: slots used, free and stranded, share of its power."""
    several_sites = len(plan.request.sites) > 1
    return [_sentence(use, several_sites, plan.request.policy.mixed_pods) for use in pod_uses(plan)]


def idle_sentences(plan: Plan) -> list[str]:
    """GPUs that are bought and in no replica."""
    idle = plan.totals.idle_gpus
    return [f"{plural(idle, 'GPU')} of {thousands(plan.totals.gpus)} in no replica"] if idle else []


def _sentence(use: PodUse, name_site: bool, mixed: bool) -> str:
    where = use.numbers + (f" at {use.site.name}" if name_site else "")
    each = "each " if use.last > use.first else ""
    if not use.systems:
        return f"{where}: {each}empty"
    slots = f"{thousands(use.gpus)} GPUs in {use.slots} slots"
    return f"{where}: {each}{use.contents}, {slots}{_unused(use, mixed)}; {_power(use)}"


def _unused(use: PodUse, mixed: bool) -> str:
    parts = []
    if use.free_slots:
        further = " or ".join(f"{thousands(count)} x {system.name}" for system, count in use.room)
        parts.append(f"{plural(use.free_slots, 'slot')} free for {further}")
    if use.stranded_slots:
        remedy = "" if mixed else " (policy.mixed_pods: true would offer them to another kind)"
        parts.append(f"strands {plural(use.stranded_slots, 'slot')}{remedy}")
    return "".join(f", {part}" for part in parts)


def _power(use: PodUse) -> str:
    available, balance = use.pod.it_power_kw, use.filled.fill.balance.kw
    given = f"its {kw(available)}" + (" for IT" if use.pod.pue else "")
    used = f"the systems use {kw(use.systems_kw)}, {percent(use.systems_kw / available)} of {given}"
    if not balance:
        return used
    both = use.systems_kw + balance
    return f"{used} ({kw(both)}, {percent(both / available)} with balance of plant)"


def _kw(system: System) -> Fraction:
    return system.nameplate_kw.value if system.nameplate_kw is not None else Fraction(0)
