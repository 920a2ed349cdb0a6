"""Start-up logs against predictions: on the screen and as JSON."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from sizing.plan.calibration import Calibration, Comparison, Quantity
from sizing.report.grid import Column, bullets, paragraph, table
from sizing.report.text import plural
from sizing.units.amounts import GIB, number

SCHEMA = "sizing.calibration/1"
NAMES: dict[Quantity, str] = {
    "weights": "weights, GiB",
    "token": "bytes per token",
    "outside": "outside weights and cache, GiB",
    "cache": "memory for the cache, GiB",
    "tokens": "tokens",
    "sequences": "longest sequences",
}
SIZES = frozenset({"weights", "outside", "cache"})
COLUMNS = (
    Column("of one GPU"),
    Column("log", number=True),
    Column("profile", number=True),
    Column("off", number=True),
    Column("ideal, 10 % reserve", number=True),
    Column("why"),
)


def calibration_report(found: Sequence[Calibration], out: Path | None = None) -> str:
    """All logs of one call, one after another."""
    text = "\n\n".join("\n".join(_sections(each)) for each in found)
    if out is None:
        return f"{text}\n"
    lacking = [each.file for each in found if not each.shows_overhead]
    without = f" Without {', '.join(lacking)}, where nothing is seen beside cache and weights." if lacking else ""
    return f"{text}\n\n{paragraph(f'Measured overhead: {out}.{without}')}\n"


def _sections(found: Calibration) -> Iterator[str]:
    version = "" if found.version is None else f" {found.version}"
    yield paragraph(
        f"{found.file}: {found.engine}{version} against the profile {found.profile}: {found.model}, {found.weights} "
        f"weights, {found.kv_precision} KV, {found.layout}, {plural(found.gpus, 'GPU')}"
    )
    yield table(COLUMNS, [_row(each) for each in found.comparisons])
    if found.taken:
        yield bullets(found.taken)


def _row(each: Comparison) -> list[str]:
    return [
        NAMES[each.quantity],
        *(_written(each.quantity, value) for value in (each.measured, each.predicted)),
        "" if each.error is None else f"{float(each.error) * 100:+.1f} %",
        _written(each.quantity, each.ideal),
        each.why,
    ]


def _written(quantity: Quantity, value: Fraction | None) -> str:
    if value is None:
        return "-"
    if quantity in SIZES:
        return f"{float(value / GIB):,.2f}"
    return f"{float(value):,.2f}" if quantity == "sequences" else f"{round(value):,}"


def calibration_document(found: Calibration) -> dict[str, Any]:
    """One entry of the list that `sizing calibrate --json -` prints; sizes in bytes."""
    return {
        "schema": SCHEMA,
        "file": found.file,
        "engine": found.engine,
        "version": found.version,
        "profile": found.profile,
        "model": found.model,
        "weights": found.weights,
        "kv_precision": found.kv_precision,
        "layout": found.layout,
        "gpus": found.gpus,
        "figures": [
            {
                "figure": each.quantity,
                "log": _number(each.measured),
                "profile": _number(each.predicted),
                "error": _number(each.error),
                "ideal": _number(each.ideal),
                "why": each.why,
            }
            for each in found.comparisons
        ],
        "outside_bytes": found.outside_bytes,
        "taken": list(found.taken),
    }


def _number(value: Fraction | None) -> int | float | None:
    return None if value is None else number(value)
