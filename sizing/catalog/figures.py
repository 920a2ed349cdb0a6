"""Figures at the border (decision 8): value, sources, date, confidence; range, basis, note where there are any."""

import re
from fractions import Fraction
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import AfterValidator, ValidationInfo, field_validator

from sizing.catalog.border import (
    Decimal,
    Entry,
    MemoryBytes,
    Name,
    Names,
    PositiveCount,
    PositiveDecimal,
    Share,
    Text,
)
from sizing.units.errors import shown
from sizing.units.figures import Figure
from sizing.units.names import nearest
from sizing.units.quantities import NotAccepted

UNITS = {
    "hbm_label_gb": "GB",
    "hbm_driver_bytes": "bytes",
    "hbm_tb_s": "TB/s",
    "dense_tflops": "TFLOPS",
    "tdp_w": "W",
    "nameplate_kw": "kW",
    "psu_upper_bound_kw": "kW",
    "power_kw": "kW",
    "liquid_kw": "kW",
    "air_kw": "kW",
    "unit_kw": "kW",
    "rack_units": "rack units",
    "gpu_slots": "GPUs",
    "spares": "",
    "pue": "",
    "price_usd": "USD",
    "bits": "bits",
    "utilisation": "",
    "amd_share": "",
    "window_share": "",
    "state_pool_share": "",
    "logit_bytes": "bytes",
    "block_tokens": "tokens",
    "sparse_block_tokens": "tokens",
    "mxfp4_multiple": "elements",
    "batched_tokens": "tokens",
    "state_copies": "states",
    "tokens": "tokens",
    "sequences": "sequences",
    "sequences_of_many": "sequences",
    "shares": "",
    **dict.fromkeys(
        (
            "hidden_memory",
            "base_memory",
            "non_torch_memory",
            "non_torch_memory_in_group",
            "graph_memory",
            "graph_memory_per_layer",
            "context_memory",
            "loading_memory",
            "loading_memory_in_group",
            "token_memory",
            "sequence_memory",
            "group_memory",
            "least_outside_memory",
            "outside_memory",
        ),
        "bytes",
    ),
}
"""Unit of a figure, by its key."""

DATE_ACCEPTED = "a date such as 2026-11-29, 2026-11 or 2026"
_DATE = re.compile(r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?")


class SourceKey(str):
    """A key of `sources.yaml`; kept apart from other text so that it can be checked and written out."""

    __slots__ = ()


def _date(value: str) -> str:
    if not _DATE.fullmatch(value):
        raise NotAccepted("is no date", DATE_ACCEPTED)
    return value


def _some(values: tuple[Any, ...]) -> tuple[Any, ...]:
    if not values:
        raise NotAccepted("is empty", "at least one")
    return values


def _source_keys(names: tuple[str, ...]) -> tuple[SourceKey, ...]:
    return tuple(SourceKey(name) for name in names)


Confidence = Literal["high", "medium", "low"]
Date = Annotated[Name, AfterValidator(_date)]
Source = Annotated[Name, AfterValidator(SourceKey)]
Sources = Annotated[Names, AfterValidator(_some), AfterValidator(_source_keys)]
Value = TypeVar("Value")


class FigureEntry(Entry, Generic[Value]):
    """One published figure. A bare number is refused: it would have no source."""

    value: Value
    sources: Sources
    date: Date
    confidence: Confidence
    range: tuple[Value, Value] | None = None
    basis: Text = ""
    note: Text = ""

    @field_validator("range")
    @classmethod
    def _range_holds_the_value(cls, ends: tuple[Any, Any] | None, info: ValidationInfo) -> tuple[Any, Any] | None:
        if ends is not None and "value" in info.data:
            value = info.data["value"]
            if not ends[0] <= value <= ends[1]:
                low, high = (f"{float(end):,.6g}" for end in ends)
                raise NotAccepted(
                    f"{low} to {high} does not hold the value {float(value):,.6g}", "[low, high] around it"
                )
        return ends


DecimalFigure = FigureEntry[Decimal]
PositiveFigure = FigureEntry[PositiveDecimal]
CountFigure = FigureEntry[PositiveCount]
BytesFigure = FigureEntry[MemoryBytes]
ShareFigure = FigureEntry[Share]


def figure(key: str, entry: FigureEntry[Any]) -> Figure[Any]:
    """The figure under `key` as the physics takes it."""
    return Figure(
        value=entry.value,
        unit=UNITS[key],
        sources=entry.sources,
        date=entry.date,
        confidence=entry.confidence,
        range=entry.range,
        basis=entry.basis,
        note=entry.note,
    )


def optional_figure(key: str, entry: FigureEntry[Any] | None) -> Figure[Any] | None:
    """The figure under `key`, or None where it is unknown."""
    return None if entry is None else figure(key, entry)


class WithMissing(Entry):
    """An entry that may explain what it lacks: `missing` maps the key of a figure (`dense_tflops.bf16`) to the reason.

    A subclass declares `missing: Missing` as its last field.
    """

    @field_validator("missing", check_fields=False)
    @classmethod
    def _missing_is_lacking(cls, missing: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        for dotted in missing:
            first, _, inner = dotted.partition(".")
            if first not in cls.model_fields:
                raise NotAccepted(f"{shown(dotted)} is no key", "keys of figures", nearest(first, cls.model_fields))
            value = info.data.get(first)
            if value is not None and (not inner or getattr(value, inner, None) is not None):
                raise NotAccepted(f"{shown(dotted)} is given and said to be missing", "one of the two")
        return missing


Missing = dict[Name, Text]


def tenths(value: Fraction) -> Fraction:
    """A power in kW with at most one decimal: the stage `power` counts tenths."""
    if (value * 10).denominator != 1:
        raise NotAccepted("has more than one decimal", "kW with at most one decimal")
    return value
