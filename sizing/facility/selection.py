"""Which systems a rule of the bill speaks of, and what stands in a Pod."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sizing.facility.system import System

Population = Sequence[tuple[System, int]]
"""What stands in one Pod: each kind of system and how many of it."""

Form = Literal["node", "rack"]
Cooling = Literal["air", "liquid"]
MOST_GPUS_OF_A_NODE = 16


def form(system: System) -> Form:
    """A system with more GPUs in one scale-up domain than a chassis holds is a rack by itself."""
    return "rack" if system.domain_gpus > MOST_GPUS_OF_A_NODE else "node"


@dataclass(frozen=True, slots=True)
class Selection:
    """Systems by form, by where most of their heat goes, by vendor and by GPU; None asks nothing."""

    form: Form | None = None
    cooling: Cooling | None = None
    vendors: frozenset[str] | None = None
    gpus: frozenset[str] | None = None

    def has(self, system: System) -> bool:
        return (
            (self.gpus is None or system.gpu.name in self.gpus)
            and (self.vendors is None or system.vendor in self.vendors)
            and (self.form is None or form(system) == self.form)
            and (self.cooling is None or system.mainly_air == (self.cooling == "air"))
        )

    def __str__(self) -> str:
        parts = []
        if self.cooling is not None:
            parts.append(f"{self.cooling}-cooled")
        if self.vendors is not None:
            parts.append(", ".join(sorted(self.vendors)))
        parts.append({None: "systems", "node": "nodes", "rack": "rack-scale systems"}[self.form])
        if self.gpus is not None:
            parts.append("with " + ", ".join(sorted(self.gpus)))
        return " ".join(parts)
