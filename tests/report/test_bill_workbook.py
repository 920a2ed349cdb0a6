"""A bill read back from a workbook: of ours, changed by somebody, or none at all."""

from collections.abc import Callable
from fractions import Fraction
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from openpyxl import Workbook, load_workbook

from sizing.plan.compared import Compared
from sizing.plan.document import plan_document
from sizing.report.bill_csv import read_bill_csv
from sizing.report.bill_workbook import LARGEST_UNPACKED_BYTES, SHEET, read_bill_workbook
from sizing.report.formats import rendered
from sizing.units.errors import BadInput
from tests.report.report_plans import sourced_plan

CONTENTS = rendered(sourced_plan(), ["xlsx", "csv"])


def changed(change: Callable[[Any, dict[str, int]], None]) -> bytes:
    """The workbook after `change(its bill, column by heading)`, values in place of formulas."""
    book = load_workbook(BytesIO(CONTENTS["xlsx"]), data_only=True)
    sheet: Any = book[SHEET]
    (heading,) = [row for row in sheet.iter_rows() if {"Group", "To order"} <= {cell.value for cell in row}]
    change(sheet, {cell.value: cell.column for cell in heading})
    target = BytesIO()
    book.save(target)
    return target.getvalue()


def row_of(sheet: Any, part: str) -> int:
    return int(next(cell.row for row in sheet.iter_rows() for cell in row if cell.value == part))


def quantities(bill: Compared) -> dict[str, Fraction]:
    return {item.part: ordered.quantity for item, ordered in bill.items.items()}


def test_the_workbook_and_csv_hold_the_same_bill() -> None:
    assert read_bill_workbook(CONTENTS["xlsx"], "a").items == read_bill_csv(CONTENTS["csv"], "b").items
    assert len(plan_document(sourced_plan())["bill"]) == len(read_bill_workbook(CONTENTS["xlsx"], "a").items)


def test_a_quantity_that_somebody_changed_is_read_as_it_stands() -> None:
    def more(sheet: Any, columns: dict[str, int]) -> None:
        sheet.cell(row_of(sheet, "node-8"), columns["To order"]).value = 7

    assert quantities(read_bill_workbook(changed(more), "a"))["node-8"] == 7


@pytest.mark.parametrize(("value", "said"), [("seven", "is no number"), (None, "no quantity"), (True, "is no number")])
def test_a_quantity_that_is_none_is_told_with_its_part(value: Any, said: str) -> None:
    def spoil(sheet: Any, columns: dict[str, int]) -> None:
        sheet.cell(row_of(sheet, "node-8"), columns["To order"]).value = value

    with pytest.raises(BadInput, match=f"node-8: {said}"):
        read_bill_workbook(changed(spoil), "a")


def test_formulas_that_were_never_calculated_have_no_quantity() -> None:
    target = BytesIO()
    load_workbook(BytesIO(CONTENTS["xlsx"])).save(target)  # leaves formulas without their values
    with pytest.raises(BadInput, match="formulas were calculated"):
        read_bill_workbook(target.getvalue(), "a")


def test_a_heading_that_is_gone_is_told() -> None:
    def drop(sheet: Any, columns: dict[str, int]) -> None:
        for row in sheet.iter_rows():
            for cell in row:
                if cell.value == "To order":
                    cell.value = "Number"

    book = load_workbook(BytesIO(CONTENTS["xlsx"]))
    drop(book[SHEET], {})
    target = BytesIO()
    book.save(target)
    with pytest.raises(BadInput, match="has no row of headings"):
        read_bill_workbook(target.getvalue(), "a")


def test_another_workbook_is_none_of_ours() -> None:
    target = BytesIO()
    Workbook().save(target)
    with pytest.raises(BadInput, match=f"has no sheet '{SHEET}'.*saved as CSV again"):
        read_bill_workbook(target.getvalue(), "a")


def test_an_archive_that_unpacks_to_too_much_is_not_unpacked() -> None:
    target = BytesIO()
    with ZipFile(target, "w", ZIP_DEFLATED) as archive, archive.open("xl/workbook.xml", "w") as part:
        for _ in range(LARGEST_UNPACKED_BYTES // 2**20 + 1):
            part.write(bytes(2**20))
    with pytest.raises(BadInput, match="MiB when unpacked"):
        read_bill_workbook(target.getvalue(), "a")


@pytest.mark.parametrize("length", range(4, len(CONTENTS["xlsx"]), len(CONTENTS["xlsx"]) // 12))
def test_half_a_workbook_is_told(length: int) -> None:
    with pytest.raises(BadInput, match="no workbook that can be read"):
        read_bill_workbook(CONTENTS["xlsx"][:length], "a")
