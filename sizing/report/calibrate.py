"""Start-up logs against predictions: on the screen and as JSON."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

from sizing.plan.calibration import Calibration, Comparison, Quantity
from sizing.pool.engines.measured import Measurement
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
    lacking = "".join(f" Without {each.file}: {each.unwritten}." for each in found if each.measured is None)
    uses = list(dict.fromkeys(line for each in found if each.measured is not None for line in _uses(each, out)))
    return f"{text}\n\n{paragraph(f'Measured overhead: {out}.{lacking}')}\n\nTo use it\n{bullets(uses)}\n"


def _uses(found: Calibration, out: Path) -> Iterator[str]:
    """How a prediction comes to rest on what was measured."""
    measured = found.measured
    assert measured is not None
    pools = measured.gpus // measured.tp
    options = [
        f"--system {found.system}",
        f"--engine {measured.profile}",
        f"--tp {measured.tp}",
        *([f"--dcp {measured.dcp}"] if measured.dcp > 1 else []),
        *([f"--attention-dp {pools}"] if pools > 1 else []),
        f"--weights {measured.weights}",
        f"--kv-precision {measured.kv_precision}",
        f"--hbm driver --catalog {out}",
    ]
    yield f"sizing kv {measured.model} {' '.join(options)}"
    yield (
        f"sizing solve WORKLOAD --catalog {out}, where the workload's policy says engine: {measured.profile} and "
        "hbm: driver"
    )
    yield (
        f"it holds for {measured.model} on replicas of {measured.gpus} x {measured.gpu} at {found.layout}, with "
        f"{measured.weights} weights and {measured.kv_precision} KV, and for nothing else: `kv` and `solve` say "
        "whether it was used"
    )


def _sections(found: Calibration) -> Iterator[str]:
    version = "" if found.version is None else f" {found.version}"
    yield paragraph(
        f"{found.file}: {found.engine}{version} against the profile {found.profile}: {found.model}, {found.weights} "
        f"weights, {found.kv_precision} KV, {found.layout}, {plural(found.gpus, 'GPU')}"
    )
    yield table(COLUMNS, [_row(each) for each in found.comparisons])
    unwritten = [] if found.unwritten is None else [f"-o has nothing to write of it: {found.unwritten}"]
    if found.taken or unwritten:
        yield bullets([*found.taken, *unwritten])


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
        "system": found.system,
        "measured": None if found.measured is None else _measured(found.measured),
        "unwritten": found.unwritten,
        "taken": list(found.taken),
    }


def _measured(measured: Measurement) -> dict[str, Any]:
    """For which replica the overhead was measured, and what the start was given."""
    return {
        "model": measured.model,
        "gpu": measured.gpu,
        "gpus": measured.gpus,
        "tp": measured.tp,
        "dcp": measured.dcp,
        "weights": measured.weights,
        "kv_precision": measured.kv_precision,
        "share": _number(measured.utilisation),
        "batched_tokens": measured.batched_tokens,
        "sequences": measured.sequences,
        "longest": measured.longest,
        "eager": measured.eager,
    }


def _number(value: Fraction | None) -> int | float | None:
    return None if value is None else number(value)
