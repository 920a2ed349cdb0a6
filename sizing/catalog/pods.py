"""Pods: `pods.yaml` -> PodType."""

from fractions import Fraction
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from sizing.catalog.border import Name, PositiveCount, PositiveDecimal, Text
from sizing.catalog.figures import (
    DecimalFigure,
    FigureEntry,
    Missing,
    PositiveFigure,
    WithMissing,
    figure,
    optional_figure,
)
from sizing.facility.bill_rules import BillRules
from sizing.facility.pod import PodType
from sizing.units.quantities import NotAccepted

MOST_SLOTS = 4096  # of one Pod; its fills are enumerated


def _at_least_one(value: Fraction) -> Fraction:
    if value < 1:
        raise NotAccepted("is below 1", "a PUE of 1 or more")
    return value


def _at_most_slots(value: int) -> int:
    if value > MOST_SLOTS:
        raise NotAccepted("is absurdly large", f"at most {MOST_SLOTS:,}")
    return value


class PodEntry(WithMissing):
    """One type of Pod."""

    title: Text
    gpu_slots: FigureEntry[Annotated[PositiveCount, AfterValidator(_at_most_slots)]]
    power_kw: PositiveFigure
    cooling: Literal["direct-to-chip liquid", "liquid and air", "air"]
    pue: FigureEntry[Annotated[PositiveDecimal, AfterValidator(_at_least_one)]] | None = None
    liquid_kw: DecimalFigure | None = None
    air_kw: DecimalFigure | None = None
    bill_rules: Name | None = None
    price_usd: DecimalFigure | None = None
    note: Text = ""
    missing: Missing = Field(default_factory=dict)


ENTRY = PodEntry
REFERENCES = {"bill_rules": "bill_rules"}


def build(name: str, entry: PodEntry, bill_rules: BillRules | None) -> PodType:
    """The Pod as the physics takes it, with the rules that count its balance of plant."""
    return PodType(
        name=name,
        title=entry.title,
        gpu_slots=figure("gpu_slots", entry.gpu_slots),
        power_kw=figure("power_kw", entry.power_kw),
        cooling=entry.cooling,
        pue=optional_figure("pue", entry.pue),
        liquid_kw=optional_figure("liquid_kw", entry.liquid_kw),
        air_kw=optional_figure("air_kw", entry.air_kw),
        bill_rules=bill_rules,
        note=entry.note,
        price_usd=optional_figure("price_usd", entry.price_usd),
    )
