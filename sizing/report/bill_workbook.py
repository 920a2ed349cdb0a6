"""The bill of units back from a workbook of ours, as it stands there: whoever recalculated or changed it since."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from io import BytesIO
from itertools import islice
from typing import Any
from zipfile import BadZipFile, ZipFile

from sizing.plan.compared import Compared, Item, Ordered, bill
from sizing.units.errors import BadInput, Problem, shown

SHEET = "Bill of units"
LARGEST_UNPACKED_BYTES = 256 * 2**20
_MOST_ROWS, _MOST_COLUMNS = 100_000, 60
_TEXTS = ("Group", "Manufacturer", "Part", "Description", "Unit")
_QUANTITY, _CONTAINED, _KW, _USD = "To order", "Contained in them", "Power (kW)", "Price (USD)"
_HEADINGS = (*_TEXTS, _QUANTITY, _CONTAINED, _KW, _USD)


def read_bill_workbook(content: bytes, file: str) -> Compared:
    """The lines of sheet `Bill of units`. Raises BadInput where there is no such sheet, or a figure is none."""
    rows = iter(_rows(content, file))
    heading = next((row for row in rows if {*_HEADINGS} <= {*map(str, row)}), None)
    if heading is None:
        what = f"sheet {SHEET!r} has no row of headings"
        raise BadInput(Problem(what, file=file, accepted=", ".join(_HEADINGS)))
    places = {name: heading.index(name) for name in _HEADINGS}
    problems: list[Problem] = []
    lines = []
    for row in rows:
        cells = {name: row[place] if place < len(row) else None for name, place in places.items()}
        if cells["Unit"] is None:  # the sum, notes, what somebody wrote below
            continue
        item = Item(*("" if cells[name] is None else str(cells[name]).strip() for name in _TEXTS))
        quantity = cells[_CONTAINED] if cells[_QUANTITY] is None else cells[_QUANTITY]
        if quantity is None:
            where, accepted = item.part or item.description, "a number, in a workbook whose formulas were calculated"
            problems.append(Problem("no quantity", f"{SHEET}: {where}", file, accepted=accepted))
        amounts = [_amount(cell, item, file, problems) for cell in (quantity, cells[_KW], cells[_USD])]
        lines.append((item, Ordered(amounts[0] or Fraction(0), amounts[1], amounts[2])))
    if problems:
        raise BadInput(*problems)
    return bill(file, lines)


def _rows(content: bytes, file: str) -> Iterator[Sequence[Any]]:
    """The rows of the sheet, with the values that its formulas were last calculated to."""
    from openpyxl import load_workbook

    refused = BadInput(Problem("is no workbook that can be read", file=file, accepted="a workbook of sizing"))
    try:
        with ZipFile(BytesIO(content)) as archive:
            unpacked = sum(part.file_size for part in archive.infolist())
        if unpacked > LARGEST_UNPACKED_BYTES:
            what = f"{unpacked // 2**20:,} MiB when unpacked"
            raise BadInput(Problem(what, file=file, accepted=f"at most {LARGEST_UNPACKED_BYTES // 2**20} MiB"))
        workbook = load_workbook(BytesIO(content), read_only=True, data_only=True)
        if SHEET not in workbook.sheetnames:
            accepted = f"a workbook of sizing, with the sheet {SHEET!r}; one made of a bill in CSV, saved as CSV again"
            raise BadInput(Problem(f"has no sheet {SHEET!r}", file=file, accepted=accepted))
        sheet: Any = workbook[SHEET]
        rows = sheet.iter_rows(max_col=_MOST_COLUMNS, values_only=True)
        yield from islice(rows, _MOST_ROWS)
    except BadInput:
        raise
    except (BadZipFile, KeyError, ValueError, TypeError, AttributeError, EOFError, OSError, SyntaxError):
        raise refused from None


def _amount(cell: Any, item: Item, file: str, problems: list[Problem]) -> Fraction | None:
    """A number; None where it is not known or not given."""
    if isinstance(cell, int | float) and not isinstance(cell, bool):
        return Fraction(repr(cell))
    if cell in (None, "unknown", ""):
        return None
    where = item.part or item.description
    problems.append(Problem("is no number", f"{SHEET}: {where}", file, seen=shown(cell)))
    return None
