"""The few cell styles of the workbook, built once for each file and shared by all cells."""

from copy import copy
from enum import Enum
from typing import Any

from openpyxl.styles import Alignment, Border, Font, PatternFill, Side
from openpyxl.workbook import Workbook

INK = "FF1F2A37"
QUIET = "FF6B7280"
HEADER = "FF1F3A5F"
BAND = "FFEEF2F7"
RULE = "FFCBD5E1"


class Style(Enum):
    """What a cell is: its number format, and how it stands out."""

    TITLE = "title"
    LEAD = "lead"
    SECTION = "section"
    NOTE = "note"
    HEADING = "heading"
    HEADING_NUMBER = "heading of numbers"
    TEXT = "text"
    RUN_ON = "text that runs on"
    COUNT = "count"
    ONE_DECIMAL = "one decimal"
    TWO_DECIMALS = "two decimals"
    DECIMALS = "up to three decimals"
    SHARE = "share"
    INSTEAD = "words in place of a number"


FORMATS = {
    Style.COUNT: "#,##0",
    Style.ONE_DECIMAL: "#,##0.0",
    Style.TWO_DECIMALS: '#,##0.00;-#,##0.00;"-"',
    Style.DECIMALS: "#,##0.0##",
    Style.SHARE: "0.0 %",
}
NUMBERS = frozenset(FORMATS)

StyleArray = Any


def style_arrays(workbook: Workbook) -> dict[tuple[Style, bool], StyleArray]:
    """The style of every (kind of cell, in a line of sums), registered in `workbook`.

    openpyxl resolves a font or fill object at every assignment; one array that all cells share is many times faster.
    """
    scratch = workbook.create_sheet("scratch")
    arrays = {}
    for style in Style:
        for is_sum in (False, True):
            cell = scratch.cell(1, 1)
            cell.font = _font(style, is_sum)
            cell.fill = _fill(style, is_sum)
            cell.border = _border(style, is_sum)
            cell.alignment = _alignment(style)
            cell.number_format = FORMATS.get(style, "General")
            # Text stays text when somebody edits the cell (decision 10).
            cell.quotePrefix = style not in NUMBERS
            arrays[style, is_sum] = copy(cell._style)
    workbook.remove(scratch)
    return arrays


def _font(style: Style, is_sum: bool) -> Font:
    match style:
        case Style.TITLE:
            return Font(name="Calibri", size=16, bold=True, color=HEADER)
        case Style.SECTION:
            return Font(name="Calibri", size=12, bold=True, color=HEADER)
        case Style.HEADING | Style.HEADING_NUMBER:
            return Font(name="Calibri", size=10, bold=True, color="FFFFFFFF")
        case Style.INSTEAD:
            return Font(name="Calibri", size=10, italic=True, color=QUIET)
        case _:
            return Font(name="Calibri", size=10, bold=is_sum or style is Style.LEAD, color=INK)


def _fill(style: Style, is_sum: bool) -> PatternFill:
    if style in (Style.HEADING, Style.HEADING_NUMBER):
        return PatternFill("solid", fgColor=HEADER)
    return PatternFill("solid", fgColor=BAND) if is_sum else PatternFill()


def _border(style: Style, is_sum: bool) -> Border:
    if style in (Style.TITLE, Style.LEAD, Style.SECTION, Style.NOTE):
        return Border()
    return Border(bottom=Side("thin", color=RULE), top=Side("thin", color=HEADER) if is_sum else Side())


def _alignment(style: Style) -> Alignment:
    if style in (Style.TITLE, Style.SECTION):
        return Alignment(vertical="center")
    if style is Style.HEADING_NUMBER:
        return Alignment(horizontal="right", vertical="center", wrap_text=True)
    if style is Style.HEADING:
        return Alignment(horizontal="left", vertical="center", indent=1, wrap_text=True)
    if style in NUMBERS or style is Style.INSTEAD:
        return Alignment(horizontal="right", vertical="top")
    # Indented, so that text does not touch the number in the column before it.
    indent = 0 if style in (Style.LEAD, Style.NOTE) else 1
    return Alignment(horizontal="left", vertical="top", indent=indent, wrap_text=style is not Style.RUN_ON)
