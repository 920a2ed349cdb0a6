"""The Pod: 1 MW, 128 GPU slots, its own cooling; and the fills that one Pod can hold."""

from dataclasses import dataclass
from fractions import Fraction

from sizing.facility.bill_rules import Balance, BillRules
from sizing.units.figures import Figure

__all__ = ["Balance", "Fill", "PodType"]


@dataclass(frozen=True, slots=True)
class PodType:
    """A standard block. None is unknown, which is not unlimited (decision 7).

    `power_kw` is taken at the electrical input; `pue` divides it where known (decision 5).
    `bill_rules` counts its balance of plant; None: it has none.
    """

    name: str
    title: str
    gpu_slots: Figure[int]
    power_kw: Figure[Fraction]
    cooling: str
    pue: Figure[Fraction] | None
    liquid_kw: Figure[Fraction] | None
    air_kw: Figure[Fraction] | None
    bill_rules: BillRules | None = None
    note: str = ""
    price_usd: Figure[Fraction] | None = None

    @property
    def it_power_kw(self) -> Fraction:
        """kW that systems and balance of plant may draw."""
        return self.power_kw.value / (self.pue.value if self.pue else 1)


@dataclass(frozen=True, slots=True)
class Fill:
    """One way to fill a Pod: so many systems of one kind, or of two. `systems` is sorted by name."""

    systems: tuple[tuple[str, int], ...]
    balance: Balance

    def count(self, system: str) -> int:
        return dict(self.systems).get(system, 0)

    @property
    def kinds(self) -> frozenset[str]:
        return frozenset(name for name, _ in self.systems)
