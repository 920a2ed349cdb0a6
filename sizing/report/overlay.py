"""What logs showed, as a folder of catalogs that `--catalog` lays over the shipped ones."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from sizing.plan.calibration import Calibration
from sizing.report.files import check_new_place, write_new
from sizing.units.errors import BadInput, Problem

ENGINES, SOURCES = "engines.yaml", "sources.yaml"


def write_overlay(folder: Path, found: Sequence[Calibration], force: bool = False) -> None:
    """Write `engines.yaml` and `sources.yaml` into `folder`, which is made where it is missing.

    Raises BadInput where no log shows what is outside the cache, or where a file is in the way.
    """
    measured = [each for each in found if each.shows_overhead]
    if not measured:
        what = "no log shows what its engine takes beside the cache"
        raise BadInput(Problem(what, str(folder), accepted="a log with the memory of its cache, and --system"))
    texts = {folder / ENGINES: engines_text(measured), folder / SOURCES: sources_text(measured)}
    for path in texts:
        check_new_place(path, force)
    for path, text in texts.items():
        write_new(path, text, force)


def engines_text(found: Sequence[Calibration]) -> str:
    """The measured overhead by profile, model and GPUs; of several logs of one, the greatest with their range."""
    by_profile: dict[str, dict[tuple[str, int], list[Calibration]]] = {}
    for each in found:
        by_profile.setdefault(each.profile, {}).setdefault((each.model, each.gpus), []).append(each)
    lines = ["# Memory of one GPU beside the cache and the weights as predicted, as start-up logs show it."]
    for profile in sorted(by_profile):
        lines += [f"{json.dumps(profile)}:", "  measured:"]
        for (model, gpus), logs in sorted(by_profile[profile].items()):
            sizes = sorted(each.outside_bytes or 0 for each in logs)
            sources = ", ".join(dict.fromkeys(_key(each) for each in logs))
            spread = f", range: [{sizes[0]} bytes, {sizes[-1]} bytes]" if len(sizes) > 1 else ""
            lines += [
                f"    {json.dumps(f'{model}-on-{gpus}')}:",
                f"      model: {json.dumps(model)}",
                f"      gpus: {gpus}",
                f"      outside_memory: {{value: {sizes[-1]} bytes, sources: [{sources}], date: {_date(logs[0])},",
                f"        confidence: high, basis: measured at the start{spread}}}",
            ]
    return "\n".join(lines) + "\n"


def sources_text(found: Sequence[Calibration]) -> str:
    """One source a log, by the hash of its content."""
    lines = []
    for key, each in {_key(each): each for each in found}.items():
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
