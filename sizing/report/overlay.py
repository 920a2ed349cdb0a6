"""What logs showed, as a folder of catalogs that `--catalog` lays over the shipped ones."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from sizing.plan.calibration import Calibration
from sizing.pool.engines.measured import Measurement
from sizing.report.files import check_new_place, write_new
from sizing.units.errors import BadInput, Problem

ENGINES, SOURCES = "engines.yaml", "sources.yaml"
Seen = tuple[Calibration, Measurement]


def write_overlay(folder: Path, found: Sequence[Calibration], force: bool = False) -> None:
    """Write `engines.yaml` and `sources.yaml` into `folder`, which is made where it is missing.

    Raises BadInput where no log shows what is outside the cache, with each log's reason, or where a file is in the way.
    """
    measured = [(each, each.measured) for each in found if each.measured is not None]
    if not measured:
        reasons = "; ".join(dict.fromkeys(f"{each.file}: {each.unwritten}" for each in found))
        what = f"no log shows what its engine takes beside the cache: {reasons}"
        raise BadInput(Problem(what, str(folder), accepted="a log with the memory of its cache, and --system"))
    texts = {folder / ENGINES: engines_text(measured), folder / SOURCES: sources_text(measured)}
    for path in texts:
        check_new_place(path, force)
    for path, text in texts.items():
        write_new(path, text, force)


def engines_text(found: Sequence[Seen]) -> str:
    """The measured overhead by profile and replica; of several logs of one, that which took most, with their range.

    Every key is written, so that nothing of a folder below shows through.
    """
    by_profile: dict[str, dict[str, list[Seen]]] = {}
    for each in found:
        by_profile.setdefault(each[0].profile, {}).setdefault(_entry_name(each[1]), []).append(each)
    lines = ["# Memory of one GPU beside the cache and the weights as predicted, as start-up logs show it."]
    for profile in sorted(by_profile):
        lines += [f"{json.dumps(profile)}:", "  measured:"]
        for name, logs in sorted(by_profile[profile].items()):
            lines += [f"    {json.dumps(name)}:", *_entry_lines(logs)]
    return "\n".join(lines) + "\n"


def _entry_name(measured: Measurement) -> str:
    layout = f"tp-{measured.tp}" + (f"-dcp-{measured.dcp}" if measured.dcp > 1 else "")
    precisions = f"{measured.weights}-{measured.kv_precision}"
    return f"{measured.model}-{precisions}-on-{measured.gpus}-{measured.gpu}-{layout}"


def _entry_lines(logs: Sequence[Seen]) -> list[str]:
    sizes = sorted(measured.outside_bytes for _, measured in logs)
    most, measured = max(logs, key=lambda each: each[1].outside_bytes)
    sources = ", ".join(dict.fromkeys(_key(each) for each, _ in logs))
    spread = f", range: [{sizes[0]} bytes, {sizes[-1]} bytes]" if len(sizes) > 1 else ""
    given = {
        "share": None if measured.utilisation is None else f"{float(measured.utilisation * 100)} %",
        "batched_tokens": measured.batched_tokens,
        "sequences": measured.sequences,
        "longest": measured.longest,
        "eager": measured.eager,
    }
    return [
        f"      model: {json.dumps(measured.model)}",
        f"      gpu: {json.dumps(measured.gpu)}",
        f"      gpus: {measured.gpus}",
        f"      tp: {measured.tp}",
        f"      dcp: {measured.dcp}",
        f"      weights: {json.dumps(measured.weights)}",
        f"      kv_precision: {json.dumps(measured.kv_precision)}",
        *(f"      {key}: {json.dumps(value)}" for key, value in given.items()),
        f"      logs: {json.dumps(list(dict.fromkeys(Path(each.file).name for each, _ in logs)))}",
        f"      outside_memory: {{value: {measured.outside_bytes} bytes, sources: [{sources}], date: {_date(most)},",
        f"        confidence: high, basis: measured at the start{spread}}}",
    ]


def sources_text(found: Sequence[Seen]) -> str:
    """One source a log, by the hash of its content."""
    lines = []
    for key, each in {_key(each): each for each, _ in found}.items():
        title = f"Start-up log of {each.engine} {each.version or 'of an unknown version'}, {each.model}"
        lines += [
            f"{key}:",
            f"  title: {json.dumps(title)}",
            f"  address: {json.dumps(Path(each.file).name)}",
            f"  date: {_date(each)}",
        ]
    return "\n".join(lines) + "\n"


def _key(found: Calibration) -> str:
    return f"log_{sha256(Path(found.file).read_bytes()).hexdigest()[:12]}"


def _date(found: Calibration) -> str:
    """The day on which the log was last written to."""
    return datetime.fromtimestamp(Path(found.file).stat().st_mtime, UTC).date().isoformat()
