"""One sheet, written from the top down: title, tables with headings and units, notes; A4 landscape in print."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

from openpyxl.cell import Cell
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.header_footer import HeaderFooterItem
from openpyxl.worksheet.header_footer import _HeaderFooterPart as FooterPart
from openpyxl.worksheet.page import PageMargins
from openpyxl.worksheet.properties import PageSetupProperties
from openpyxl.worksheet.worksheet import Worksheet

from sizing.report.styles import NUMBERS, Style, StyleArray
from sizing.report.text import NOT_GIVEN, UNKNOWN, escaped_for_xml, width, wrapped
from sizing.units.amounts import number

LONGEST_TEXT = 32_767  # characters in a cell (Excel specifications and limits)
NARROWEST, PADDING = 7, 3
LINE_POINTS = 12.75
TEXT_PER_WIDTH = 1.15  # a width counts digits of the default font; text in 10 points is narrower
WIDEST_HEADING = 14

Value = str | int | float | Fraction | None


@dataclass(frozen=True, slots=True)
class Column:
    """A heading, its unit, the style of its cells, and how many characters wide it may grow before text wraps.

    Text in the style `RUN_ON` does not wrap: in the last column of a table it runs over the empty cells beside it.
    """

    heading: str
    unit: str = ""
    style: Style = Style.TEXT
    most: int = 44

    @property
    def title(self) -> str:
        return f"{self.heading} ({self.unit})" if self.unit else self.heading


@dataclass(frozen=True, slots=True)
class Row:
    """Cells in the order of the columns. None is blank: it does not apply; what is not known is `text.UNKNOWN`."""

    values: Sequence[Value]
    is_sum: bool = False


class Page:
    """Writes one sheet. Widths are set when it is finished, from what its tables hold."""

    def __init__(self, sheet: Worksheet, styles: Mapping[tuple[Style, bool], StyleArray]) -> None:
        self._sheet = sheet
        self._cells: dict[tuple[int, int], Cell] = cast(Any, sheet)._cells
        self._styles = styles
        self._row = 1
        self._widths: dict[int, int] = {}
        self._notes: list[tuple[int, str]] = []
        self._texts: list[tuple[int, int, str]] = []
        self._heading = 1

    def title(self, text: str, *leads: str) -> None:
        """The sheet's title, and sentences below it."""
        self._cell(1, text, Style.TITLE)
        self._sheet.row_dimensions[self._row].height = 24
        self._row += 1
        for lead in leads:
            self.note(lead, Style.LEAD)
        self._row += 1

    def section(self, text: str) -> None:
        """A heading between tables."""
        self._cell(1, text, Style.SECTION)
        self._sheet.row_dimensions[self._row].height = 20
        self._row += 1

    def note(self, text: str, style: Style = Style.NOTE) -> None:
        """A sentence over the whole width of the sheet."""
        self._cell(1, text, style)
        self._notes.append((self._row, text))
        self._row += 1

    def notes(self, heading: str, sentences: Iterable[str]) -> None:
        """A heading and its sentences; nothing where there is no sentence."""
        listed = list(sentences)
        if listed:
            self.section(heading)
            for sentence in listed:
                self.note(sentence)
            self._row += 1

    def table(self, columns: Sequence[Column], rows: Iterable[Row], main: bool = False) -> None:
        """A table. The heading of the `main` one stays in view, filters, and is repeated on every printed page."""
        for position, column in enumerate(columns, start=1):
            is_number = column.style in NUMBERS
            self._cell(position, column.title, Style.HEADING_NUMBER if is_number else Style.HEADING)
            self._texts.append((self._row, position, column.title))
            longest = max(width(word) for word in column.title.split())
            self._grow(position, max(longest, min(width(column.title), WIDEST_HEADING)), column.most)
        heading = self._row
        self._row += 1
        for row in rows:
            for position, (column, value) in enumerate(zip(columns, row.values, strict=True), start=1):
                self._body_cell(position, column, value, row.is_sum)
            self._row += 1
        if main:
            self._heading = heading
            self._sheet.auto_filter.ref = f"A{heading}:{get_column_letter(len(columns))}{self._row - 1}"
        self._row += 1

    def finish(self) -> None:
        """Widths of columns and heights of rows (no program works them out on opening), print set-up."""
        sheet = self._sheet
        for position, characters in self._widths.items():
            sheet.column_dimensions[get_column_letter(position)].width = characters + PADDING
        lines: dict[int, int] = {}
        for row, position, text in self._texts:
            lines[row] = max(lines.get(row, 1), _lines(text, self._widths[position]))
        last = max(self._widths, default=1)
        across = max(sum(self._widths.values()) + PADDING * (last - 1), NARROWEST)
        for row, text in self._notes:
            lines[row] = _lines(text, across)
            if last > 1:
                # Not merge_cells(), which also works out borders: half the time of the whole file.
                sheet.merged_cells.add(f"A{row}:{get_column_letter(last)}{row}")
        for row, count in lines.items():
            if count > 1:
                sheet.row_dimensions[row].height = count * LINE_POINTS + 2
        sheet.freeze_panes = f"A{self._heading + 1}"
        sheet.print_title_rows = f"{self._heading}:{self._heading}"
        sheet.sheet_view.showGridLines = False
        sheet.page_setup.orientation = "landscape"
        sheet.page_setup.paperSize = 9  # A4
        sheet.page_setup.fitToWidth = 1
        sheet.page_setup.fitToHeight = 0
        sheet.sheet_properties.pageSetUpPr = PageSetupProperties(fitToPage=True)
        sheet.page_margins = PageMargins(left=0.4, right=0.4, top=0.5, bottom=0.6, header=0.3, footer=0.3)
        sheet.oddFooter = HeaderFooterItem(left=FooterPart(text="&A"), right=FooterPart(text="Page &P of &N"))

    def _body_cell(self, position: int, column: Column, value: Value, is_sum: bool) -> None:
        style = column.style
        if isinstance(value, str):
            if style in NUMBERS:
                style = Style.INSTEAD if value in (UNKNOWN, NOT_GIVEN) else Style.TEXT
            if style is not Style.RUN_ON:
                self._grow(position, width(value), column.most)
                if len(value) > NARROWEST:
                    self._texts.append((self._row, position, value))
        elif value is not None:
            if style is Style.DECIMALS and value == int(value):
                style = Style.COUNT
            self._grow(position, len(f"{float(value):,.2f}"), column.most)
        self._cell(position, value, style, is_sum)

    def _grow(self, position: int, characters: int, most: int) -> None:
        self._widths[position] = max(self._widths.get(position, NARROWEST), min(characters, most))

    def _cell(self, position: int, value: Value, style: Style, is_sum: bool = False) -> None:
        cell: Any = Cell(self._sheet, self._row, position)
        if isinstance(value, str):
            # Set past openpyxl's own reading of values, which would find formulas and errors in text (decision 10).
            cell._value, cell.data_type = _cell_text(value), "s"
        elif value is not None:
            cell._value = number(value) if isinstance(value, Fraction) else value
        cell._style = self._styles[style, is_sum]
        self._cells[self._row, position] = cell


def _cell_text(text: str) -> str:
    escaped = escaped_for_xml(text)
    return escaped if len(escaped) <= LONGEST_TEXT else escaped[: LONGEST_TEXT - 1] + "…"


def _lines(text: str, columns: int) -> int:
    """Lines that a text takes in a cell of a width."""
    fitting = int((columns + 1) * TEXT_PER_WIDTH)
    return 1 if len(text) <= fitting and text.isascii() else len(wrapped(text, fitting))
