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
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", found.shape.name).strip("-._") or "model"
    told = {"confidence": "high", "imported": _imported(found.provenance, Path(found.provenance.file).name)}
    return ImportedEntry(name, entry_of(found.shape, told))


def _imported(provenance: Provenance, file: str) -> dict[str, Any]:
    """Where a shape comes from; the name of the file without its folder, which is another on every machine."""
    notes = list(provenance.notes)
    if provenance.kv_precision is not None:
        notes.append(f"The checkpoint asks for a KV cache in {provenance.kv_precision}.")
    stated = {
        "file": file,
        "sha256": provenance.sha256,
        "rule": provenance.rule,
        "architecture": (provenance.architecture or "")[:LONGEST_ARCHITECTURE],
        "defaults": list(provenance.defaults),
        "notes": notes,
    }
    return {key: value for key, value in stated.items() if value not in ("", [])}
