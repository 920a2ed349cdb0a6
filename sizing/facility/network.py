"""Networks of a Pod: ports in use, switches, links and optics, tier by tier, so that ends and ports agree.

A network of one tier is a row of switches to which systems are cabled. One of two tiers is a fat tree without
blocking: a leaf gives at most half of its ports to systems, and as many go up to spines. This gives the switch and
cable counts of NVIDIA's DGX SuperPOD reference architectures for B200 (64 ports) and B300 XDR (144 ports). A single
leaf needs no spine.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from sizing.facility.selection import Population, Selection
from sizing.facility.system import System
from sizing.units.errors import BadInput, Problem


@dataclass(frozen=True, slots=True)
class Attachment:
    """`ports` of each system, or of every `gpus` GPUs of it; one optic of the system serves `ports_per_optic`."""

    systems: Selection
    ports: int
    gpus: int | None = None
    ports_per_optic: int = 1

    def ports_of(self, system: System) -> int:
        return self.ports if self.gpus is None else self.ports * -(-system.gpus // self.gpus)

    def optics_of(self, system: System) -> int:
        """Whole optics for each system."""
        return -(-self.ports_of(system) // self.ports_per_optic)


@dataclass(frozen=True, slots=True)
class NetworkSize:
    """`ports` in use by systems, each with one link to a leaf; `leaves`, `spines` and the `uplinks` between them."""

    ports: int
    leaves: int
    spines: int
    uplinks: int


@dataclass(frozen=True, slots=True)
class Network:
    """Switches of `switch_ports`, at least `at_least`; `pod_ports` are in use whatever the systems are.

    The first attachment that speaks of a system counts. One optic of a switch serves `ports_per_optic` ports. Two
    tiers reach switch_ports^2 / 2 ports. `unit_ports` are the ports of a scalable unit: switches and uplinks are built
    for whole units, whatever of them is in use; 1 builds the least that does not block.
    """

    name: str
    tiers: int
    switch_ports: int
    attachments: tuple[Attachment, ...]
    at_least: int = 1
    pod_ports: int = 0
    ports_per_optic: int = 1
    unit_ports: int = 1

    def attached(self, population: Population) -> Iterator[tuple[Attachment, System, int]]:
        """(how it is attached, system, how many) of what has a place in this network."""
        for system, count in population:
            for attachment in self.attachments:
                if attachment.systems.has(system):
                    yield attachment, system, count
                    break

    def size(self, population: Population) -> NetworkSize:
        """What a Pod with this population needs. Raises BadInput for more ports than the tiers reach."""
        ports = self.pod_ports
        for attachment, system, count in self.attached(population):
            ports += attachment.ports_of(system) * count
        if ports == 0:
            return NetworkSize(0, 0, 0, 0)
        built = -(-ports // self.unit_ports) * self.unit_ports
        if self.tiers == 1:
            return NetworkSize(ports, max(self.at_least, -(-built // self.switch_ports)), 0, 0)
        leaves = max(self.at_least, -(-built // (self.switch_ports // 2)))
        if leaves == 1:
            return NetworkSize(ports, 1, 0, 0)
        if leaves > self.switch_ports:
            raise BadInput(
                Problem(
                    f"a Pod has too many ports for the two tiers of network {self.name}",
                    seen=f"{built:,} ports",
                    accepted=f"up to {self.switch_ports**2 // 2:,}",
                )
            )
        return NetworkSize(ports, leaves, -(-built // self.switch_ports), built)

    def system_optics(self, population: Population) -> int:
        """Optics in the systems."""
        return sum(attachment.optics_of(system) * count for attachment, system, count in self.attached(population))

    def leaf_optics(self, population: Population) -> int:
        """Optics in the leaves, toward systems and toward spines."""
        size = self.size(population)
        return self._switch_optics(size.ports, size.leaves) + self._switch_optics(size.uplinks, size.leaves)

    def spine_optics(self, population: Population) -> int:
        """Optics in the spines."""
        size = self.size(population)
        return self._switch_optics(size.uplinks, size.spines)

    def _switch_optics(self, links: int, switches: int) -> int:
        """Whole optics for each switch, with the links dealt over the switches as evenly as whole numbers allow."""
        if switches == 0:
            return 0
        each, more = divmod(links, switches)
        return more * -(-(each + 1) // self.ports_per_optic) + (switches - more) * -(-each // self.ports_per_optic)
