"""reports/sample/ is what `solve` writes for the shipped workload today; `make samples` writes it anew.

The workbook is compared cell by cell: its bytes also depend on the versions of the libraries that pack it. There is no
PDF: which fonts stand on a machine decides its bytes.
"""

import tomllib
from collections.abc import Iterator
from importlib import metadata
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook

from sizing.api import load_workload, solve
from sizing.report.formats import FORMATS, rendered

ROOT = Path(__file__).resolve().parent.parent
SAMPLE = ROOT / "reports" / "sample"
NAMES = [name for name in FORMATS if name != "pdf"]


@pytest.fixture(scope="module")
def contents() -> Iterator[dict[str, bytes]]:
    """The files as an installed package of this version writes them."""
    own = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    installed = metadata.version
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(metadata, "version", lambda name: own if name == "sizing" else installed(name))
        yield rendered(solve(load_workload(ROOT / "workloads" / "customer.yaml")), NAMES)


def test_there_is_a_sample_of_every_format() -> None:
    assert {path.name for path in SAMPLE.iterdir()} == {f"customer{FORMATS[name].suffix}" for name in NAMES}


@pytest.mark.parametrize("name", [name for name in NAMES if name != "xlsx"])
def test_a_sample_is_what_is_written_today(name: str, contents: dict[str, bytes]) -> None:
    sample = (SAMPLE / f"customer{FORMATS[name].suffix}").read_bytes()
    assert sample == contents[name], "run `make samples`"


@pytest.mark.parametrize("data_only", [False, True])
def test_the_sample_of_the_workbook_has_the_same_cells(data_only: bool, contents: dict[str, bytes]) -> None:
    """Formulas as they stand, and the values that were written beside them."""
    sample = cells((SAMPLE / "customer.xlsx").read_bytes(), data_only)
    assert sample == cells(contents["xlsx"], data_only), "run `make samples`"


def cells(content: bytes, data_only: bool) -> dict[tuple[str, str], Any]:
    workbook = load_workbook(BytesIO(content), data_only=data_only)
    return {
        (sheet.title, cell.coordinate): cell.value
        for sheet in workbook.worksheets
        for row in sheet.iter_rows()
        for cell in row
        if cell.value is not None
    }
