"""Bill rules: the balance of plant of a Pod as lines of data, and its kW and heat.

A rule set is data of a catalog; quantities follow from the full population of a Pod, so that one Pod's balance is a
constant of its fill. Unknown power is not zero: such lines are named by `unknown_power` and left out of the sum.
"""

from dataclasses import dataclass
from fractions import Fraction

from sizing.facility.quantities import QuantityRule
from sizing.facility.selection import Population
from sizing.units.figures import Confidence, Figure


@dataclass(frozen=True, slots=True)
class Balance:
    """Balance of plant of one Pod at its full population: switches, optics, management, coolant pumps."""

    kw: Fraction = Fraction(0)
    liquid_kw: Fraction = Fraction(0)
    air_kw: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class RuleLine:
    """One part and how many of it a Pod needs.

    `sources`, `date` and `confidence` are of the quantity; `unit_kw` is a figure with its own. `no_power` says why a
    part adds none (passive, or counted elsewhere); with neither, the power is unknown. `contained`: the part comes
    with a system that has a line of its own. `liquid_share` of its heat goes to liquid, the rest to air. `spares` are a
    share of the quantity, ordered beside it and left in the box; None: no figure is at hand, and none are ordered.
    """

    name: str
    group: str
    manufacturer: str
    part: str
    description: str
    unit: str
    rule: QuantityRule
    sources: tuple[str, ...]
    date: str
    confidence: Confidence
    unit_kw: Figure[Fraction] | None = None
    no_power: str = ""
    contained: bool = False
    liquid_share: Fraction = Fraction(0)
    remark: str = ""
    spares: Figure[Fraction] | None = None

    @property
    def power_is_unknown(self) -> bool:
        return self.unit_kw is None and not self.no_power


@dataclass(frozen=True, slots=True)
class BillRules:
    """A rule set: what it covers and what not (`note`), and its lines in the order of the bill."""

    name: str
    title: str
    lines: tuple[RuleLine, ...]
    note: str = ""


def balance(rules: BillRules, population: Population) -> Balance:
    """kW and heat of the lines whose power is known, for one Pod that holds `population`; exact."""
    total = liquid = Fraction(0)
    for line in rules.lines:
        if line.unit_kw is not None:
            line_kw = line.unit_kw.value * line.rule.quantity(population)
            total += line_kw
            if line.liquid_share:
                liquid += line_kw * line.liquid_share
    return Balance(total, liquid, total - liquid)


def unknown_power(rules: BillRules, population: Population | None = None) -> tuple[str, ...]:
    """Parts whose power no sum counts; with a population only those that it needs."""
    return tuple(
        f"{line.part} ({line.description})"
        for line in rules.lines
        if line.power_is_unknown and (population is None or line.rule.quantity(population))
    )
