"""A configuration file as a catalog entry that says where it comes from."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sizing.catalog.written import entry_of
from sizing.intake.huggingface import Provenance, import_config

LONGEST_ARCHITECTURE = 200


@dataclass(frozen=True, slots=True)
class ImportedEntry:
    """`entry` is what a file of `models/` says; `name` the name that the file's own name suggests."""

    name: str
    entry: dict[str, Any]


def imported_entry(path: Path) -> ImportedEntry:
    """The configuration at `path` as an entry. Raises BadInput as `import_config` does."""
    found = import_config(path)
    name = entry_name(found.shape.name)
    told = {"confidence": "high", "imported": _imported(found.provenance, Path(found.provenance.file).name)}
    return ImportedEntry(name, entry_of(found.shape, told))


def entry_name(text: str) -> str:
    """A name of an entry that says as much of `text` as it can."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text.lower()).strip("-._") or "model"


def _imported(provenance: Provenance, file: str) -> dict[str, Any]:
    """Where a shape comes from; the name of the file without its folder, which is another on every machine."""
    stated = {
        "file": file,
        "sha256": provenance.sha256,
        "rule": provenance.rule,
        "architecture": (provenance.architecture or "")[:LONGEST_ARCHITECTURE],
        "defaults": list(provenance.defaults),
        "notes": list(provenance.notes),
    }
    return {key: value for key, value in stated.items() if value not in ("", [])}
