"""Systems: `systems.yaml` -> System."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from sizing.catalog.border import Name, PositiveCount, PositiveDecimal, Text
from sizing.catalog.figures import (
    CountFigure,
    DecimalFigure,
    FigureEntry,
    Missing,
    PositiveFigure,
    WithMissing,
    optional_figure,
    tenths,
)
from sizing.facility.system import Status, System
from sizing.pool.gpu import Gpu
from sizing.units.quantities import NotAccepted

MOST_GPUS = 4096  # of a domain; layouts are enumerated over it


def _at_most_gpus(value: int) -> int:
    if value > MOST_GPUS:
        raise NotAccepted("is absurdly large", f"at most {MOST_GPUS:,}")
    return value


Gpus = Annotated[PositiveCount, AfterValidator(_at_most_gpus)]
Nameplate = FigureEntry[Annotated[PositiveDecimal, AfterValidator(tenths)]]


class SystemEntry(WithMissing):
    """One system. `cooling` says where most of its heat goes."""

    title: Text
    vendor: Name
    status: Literal["on sale", "restricted", "announced", "end of life"]
    gpu: Name
    domain_gpus: Gpus
    domains_per_system: Gpus
    scale_up: Name
    cooling: Literal["air", "liquid"]
    nameplate_kw: Nameplate | None = None
    liquid_kw: DecimalFigure | None = None
    rack_units: CountFigure | None = None
    psu_upper_bound_kw: PositiveFigure | None = None
    price_usd: DecimalFigure | None = None
    note: Text = ""
    missing: Missing = Field(default_factory=dict)

    @field_validator("liquid_kw")
    @classmethod
    def _liquid_is_a_part(cls, liquid: DecimalFigure | None, info: ValidationInfo) -> DecimalFigure | None:
        nameplate = info.data.get("nameplate_kw")
        if liquid is not None and nameplate is not None:
            if liquid.value > nameplate.value:
                raise NotAccepted(
                    f"{float(liquid.value):g} kW to liquid are more than the nameplate, {float(nameplate.value):g} kW",
                    "at most nameplate_kw",
                )
            mainly = "air" if 2 * liquid.value < nameplate.value else "liquid"
            if info.data.get("cooling", mainly) != mainly:
                raise NotAccepted(
                    f"{float(liquid.value):g} of {float(nameplate.value):g} kW to liquid contradict the cooling",
                    f"the part that goes to liquid, or `cooling: {mainly}`",
                )
        return liquid


ENTRY = SystemEntry
REFERENCES = {"gpu": "gpus"}


def build(name: str, entry: SystemEntry, gpu: Gpu) -> System:
    """The system as the physics takes it, with its GPU."""
    return System(
        name=name,
        title=entry.title,
        vendor=entry.vendor,
        status=Status(entry.status),
        gpu=gpu,
        domain_gpus=entry.domain_gpus,
        domains_per_system=entry.domains_per_system,
        scale_up=entry.scale_up,
        cooling=entry.cooling,
        nameplate_kw=optional_figure("nameplate_kw", entry.nameplate_kw),
        liquid_kw=optional_figure("liquid_kw", entry.liquid_kw),
        rack_units=optional_figure("rack_units", entry.rack_units),
        psu_upper_bound_kw=optional_figure("psu_upper_bound_kw", entry.psu_upper_bound_kw),
        note=entry.note,
        price_usd=optional_figure("price_usd", entry.price_usd),
    )
