"""A spreadsheet program that works a workbook out anew: LibreOffice without a window, many files in one start."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from zipfile import ZipFile

from openpyxl import load_workbook
from openpyxl.utils.cell import coordinate_to_tuple

PROGRAM = "soffice"
ALWAYS_RECALCULATE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema"
 xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load">
<prop oor:name="OOXMLRecalcMode" oor:op="fuse"><value>0</value></prop></item>
</oor:items>
"""
"""By itself LibreOffice shows the values that a file brings along."""

MOST_SECONDS = 300
MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
RELATION = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"


def recalculated(files: Sequence[Path], folder: Path) -> list[Path]:
    """The files as LibreOffice works them out, below `folder`; values in them are its own."""
    profile, out = folder / "profile", folder / "recalculated"
    (profile / "user").mkdir(parents=True, exist_ok=True)
    (profile / "user" / "registrymodifications.xcu").write_text(ALWAYS_RECALCULATE, encoding="utf-8")
    command = [
        PROGRAM,
        f"-env:UserInstallation={profile.as_uri()}",
        "--headless",
        "--convert-to",
        "xlsx:Calc MS Excel 2007 XML",
        "--outdir",
        str(out),
        *map(str, files),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=MOST_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    return [out / file.name for file in files]


def cell_of(book: Any, name: str) -> Any:
    """The cell that a defined name stands for."""
    [(sheet, address)] = book.defined_names[name].destinations
    return book[sheet][address.replace("$", "")]


def changed(source: Path, target: Path, inputs: dict[str, Any]) -> Path:
    """A copy in which somebody typed other values into named inputs; its formulas keep no values."""
    book = load_workbook(source)
    for name, value in inputs.items():
        cell_of(book, name).value = value
    book.save(target)
    return target


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell as a file holds it: its formula, if any, and its value."""

    formula: str | None
    value: str | float | None
    is_error: bool


@cache
def cells(file: Path) -> Mapping[str, Mapping[str, Cell]]:
    """Every cell that is not blank, by sheet and address; many times faster than openpyxl."""
    with ZipFile(file) as archive:
        texts = ["".join(text.text or "" for text in item.iter(MAIN + "t")) for item in _root(archive, "sharedStrings")]
        targets = {link.get("Id"): link.get("Target") for link in _root(archive, "_rels/workbook.xml.rels")}
        found = {}
        for sheet in _root(archive, "workbook").iter(MAIN + "sheet"):
            root = _root(archive, str(targets[sheet.get(RELATION + "id")]))
            found[str(sheet.get("name"))] = {str(cell.get("r")): _cell(cell, texts) for cell in root.iter(MAIN + "c")}
    return found


def rows(file: Path, sheet: str) -> list[list[str | float | None]]:
    """Values of a sheet row by row from column A; blank rows are empty."""
    listed: dict[int, dict[int, str | float | None]] = {}
    for address, cell in cells(file)[sheet].items():
        row, column = coordinate_to_tuple(address)
        if cell.value not in (None, ""):
            listed.setdefault(row, {})[column] = cell.value
    return [
        [listed.get(row, {}).get(column) for column in range(1, max(listed.get(row, {0: None})) + 1)]
        for row in range(1, max(listed) + 1)
    ]


def _root(archive: ZipFile, part: str) -> ElementTree.Element:
    name = part if part.endswith((".xml", ".rels")) else f"{part}.xml"
    return ElementTree.fromstring(archive.read(name.lstrip("/") if name.startswith("/") else f"xl/{name}"))


def _cell(cell: ElementTree.Element, texts: list[str]) -> Cell:
    formula, value = cell.find(MAIN + "f"), cell.find(MAIN + "v")
    kind = cell.get("t", "n")
    stored: str | float | None = None if value is None else value.text
    if stored is not None and kind == "s":
        stored = texts[int(stored)]
    elif stored is not None and kind == "n":
        stored = float(stored)
    return Cell(None if formula is None else formula.text or "", stored, kind == "e")
