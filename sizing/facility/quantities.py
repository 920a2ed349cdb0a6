"""How the quantity of a bill line follows from a Pod's population: a closed set of rules.

Each rule gives `quantity(population)` and says in words what it counts.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Literal, Protocol

from sizing.facility.network import Network
from sizing.facility.selection import Population, Selection
from sizing.facility.system import System
from sizing.units.amounts import kw


class QuantityRule(Protocol):
    """A rule: whole pieces for one Pod that holds `population`."""

    def quantity(self, population: Population) -> int: ...


@dataclass(frozen=True, slots=True)
class PerPod:
    """The same for every Pod that holds any of the systems meant."""

    count: int
    systems: Selection

    def quantity(self, population: Population) -> int:
        return self.count if any(count and self.systems.has(system) for system, count in population) else 0

    def __str__(self) -> str:
        return f"{self.count} per Pod" + (f" with {self.systems}" if self.systems != Selection() else "")


@dataclass(frozen=True, slots=True)
class PerSystem:
    """`count` for each system that is meant."""

    count: int
    systems: Selection

    def quantity(self, population: Population) -> int:
        return self.count * sum(count for system, count in population if self.systems.has(system))

    def __str__(self) -> str:
        return f"{self.count} for each of {self.systems}"


@dataclass(frozen=True, slots=True)
class PerGpu:
    """`count` for each GPU of the systems that are meant."""

    count: int
    systems: Selection

    def quantity(self, population: Population) -> int:
        return self.count * sum(system.gpus * count for system, count in population if self.systems.has(system))

    def __str__(self) -> str:
        return f"{self.count} for each GPU of {self.systems}"


@dataclass(frozen=True, slots=True)
class Switches:
    """The switches of one tier of a network."""

    network: Network
    tier: Literal["leaf", "spine"]

    def quantity(self, population: Population) -> int:
        size = self.network.size(population)
        return size.leaves if self.tier == "leaf" else size.spines

    def __str__(self) -> str:
        network = self.network
        if network.unit_ports > 1:
            return f"{self.tier} switches of whole scalable units of {network.unit_ports} ports"
        if network.tiers == 1:
            return f"ports in use / {network.switch_ports}, at least {network.at_least}"
        if self.tier == "leaf":
            return f"system ports / {network.switch_ports // 2} (half of the {network.switch_ports} ports go up)"
        return f"uplinks / {network.switch_ports}, none for a single leaf"


@dataclass(frozen=True, slots=True)
class Links:
    """The cables of one tier of a network: from systems to leaves, or from leaves to spines."""

    network: Network
    tier: Literal["system-leaf", "leaf-spine"]

    def quantity(self, population: Population) -> int:
        size = self.network.size(population)
        return size.ports if self.tier == "system-leaf" else size.uplinks

    def __str__(self) -> str:
        if self.tier == "system-leaf":
            return "1 for each port in use"
        if self.network.unit_ports > 1:
            return f"as many as ports of whole scalable units of {self.network.unit_ports}, none for a single leaf"
        return "as many as links to systems, none for a single leaf"


@dataclass(frozen=True, slots=True)
class Optics:
    """The optics at one place of a network."""

    network: Network
    at: Literal["system", "leaf", "spine"]

    def quantity(self, population: Population) -> int:
        if self.at == "system":
            return self.network.system_optics(population)
        if self.at == "leaf":
            return self.network.leaf_optics(population)
        return self.network.spine_optics(population)

    def __str__(self) -> str:
        if self.at == "system":
            return "system ports / ports of an optic, whole for each system"
        return f"link ends at {self.at} switches / {self.network.ports_per_optic}, whole for each switch"


@dataclass(frozen=True, slots=True)
class RackLimit:
    """What one rack takes of the systems meant; of the limits those count that are stated and known."""

    systems: Selection
    units: int | None = None
    kw: Fraction | None = None
    most: int | None = None

    def systems_per_rack(self, system: System) -> int:
        """Whole systems; one always fits."""
        limits = []
        if self.most is not None:
            limits.append(self.most)
        if self.units is not None and system.rack_units is not None:
            limits.append(self.units // system.rack_units.value)
        if self.kw is not None and system.nameplate_kw is not None:
            limits.append(int(self.kw / system.nameplate_kw.value))
        return max(1, min(limits, default=1))

    def __str__(self) -> str:
        limits = []
        if self.most is not None:
            limits.append(f"{self.most} systems")
        if self.units is not None:
            limits.append(f"{self.units} rack units")
        if self.kw is not None:
            limits.append(kw(self.kw))
        return f"{' and '.join(limits)} a rack for {self.systems}"


@dataclass(frozen=True, slots=True)
class Racks:
    """Racks kind by kind of system, whole systems in whole racks. The first limit that speaks of a system counts."""

    name: str
    limits: tuple[RackLimit, ...]

    def quantity(self, population: Population) -> int:
        racks = 0
        for system, count in population:
            for limit in self.limits:
                if limit.systems.has(system):
                    racks += -(-count // limit.systems_per_rack(system))
                    break
        return racks

    def __str__(self) -> str:
        return "; ".join(str(limit) for limit in self.limits)


@dataclass(frozen=True, slots=True)
class PerRack:
    """`count` for each rack of a kind."""

    count: int
    racks: Racks

    def quantity(self, population: Population) -> int:
        return self.count * self.racks.quantity(population)

    def __str__(self) -> str:
        return f"{self.count} for each rack"


@dataclass(frozen=True, slots=True)
class CoolantUnits:
    """Coolant distribution units of `unit_kw` for the heat of systems to liquid, and `spare` more; none for none."""

    unit_kw: Fraction
    spare: int

    def quantity(self, population: Population) -> int:
        load = sum((liquid_load_kw(system) * count for system, count in population), Fraction(0))
        return ceil(load / self.unit_kw) + self.spare if load else 0

    def __str__(self) -> str:
        return f"heat to liquid / {kw(self.unit_kw)}, and {self.spare} spare"


def liquid_load_kw(system: System) -> Fraction:
    """kW that coolant must carry; where the split is not known, all of a system that air does not mainly cool."""
    if system.liquid_kw is not None:
        return system.liquid_kw.value
    if system.mainly_air or system.nameplate_kw is None:
        return Fraction(0)
    return system.nameplate_kw.value
