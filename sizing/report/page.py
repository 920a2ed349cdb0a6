"""One sheet, written from the top down: title, tables with headings and units, notes; A4 landscape in print."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from openpyxl.utils import get_column_letter
from openpyxl.worksheet.worksheet import Worksheet

from sizing.report.styles import NUMBERS, Style, StyleArray
from sizing.report.text import escaped_for_xml, width, wrapped
from sizing.units.amounts import number

UNKNOWN = "unknown"
LONGEST_TEXT = 32_767  # characters in a cell (Excel specifications and limits)
NARROWEST, PADDING = 7, 2
LINE_POINTS = 13.5

Value = str | int | float | Fraction | None


@dataclass(frozen=True, slots=True)
class Column:
    """A heading, its unit, the style of its cells, and how many characters wide it may grow before text wraps."""

    heading: str
    unit: str = ""
    style: Style = Style.TEXT
    most: int = 44

    @property
    def title(self) -> str:
        return f"{self.heading} ({self.unit})" if self.unit else self.heading


@dataclass(frozen=True, slots=True)
class Row:
    """Cells in the order of the columns. None is blank: it does not apply; what is not known is `UNKNOWN`."""

    values: Sequence[Value]
    is_sum: bool = False


class Page:
    """Writes one sheet. Widths are set when it is finished, from what its tables hold."""

    def __init__(self, sheet: Worksheet, styles: Mapping[tuple[Style, bool], StyleArray]) -> None:
        self._sheet = sheet
        self._styles = styles
        self._row = 1
        self._widths: dict[int, int] = {}
        self._spans: list[int] = []
        self._headed = False

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
        self._spans.append(self._row)
        self._row += 1

    def notes(self, heading: str, sentences: Iterable[str]) -> None:
        """A heading and its sentences; nothing where there is no sentence."""
        listed = list(sentences)
        if listed:
            self.section(heading)
            for sentence in listed:
                self.note(sentence)
            self._row += 1

    def table(self, columns: Sequence[Column], rows: Iterable[Row]) -> None:
        """A table; the first of a sheet stays in view and is repeated on every printed page."""
        for position, column in enumerate(columns, start=1):
            is_number = column.style in NUMBERS
            self._cell(position, column.title, Style.HEADING_NUMBER if is_number else Style.HEADING)
            longest = max(width(word) for word in column.title.split())
            self._grow(position, max(longest, min(width(column.title), 12)), column.most)
        if not self._headed:
            self._headed = True
            self._sheet.freeze_panes = self._sheet.cell(self._row + 1, 1)
            self._sheet.print_title_rows = f"{self._row}:{self._row}"
        self._row += 1
        for row in rows:
            for position, (column, value) in enumerate(zip(columns, row.values, strict=True), start=1):
                self._body_cell(position, column, value, row.is_sum)
            self._row += 1
        self._row += 1

    def finish(self) -> None:
        """Column widths, notes spread over them, print set-up."""
        sheet = self._sheet
        for position, characters in self._widths.items():
            sheet.column_dimensions[get_column_letter(position)].width = characters + PADDING
        last = max(self._widths, default=1)
        across = sum(self._widths.values()) + PADDING * max(last - 1, 0)
        for row in self._spans:
            lines = len(wrapped(str(sheet.cell(row, 1).value or ""), max(across, NARROWEST)))
            sheet.row_dimensions[row].height = ceil(lines * LINE_POINTS + 2)
            if last > 1:
                sheet.merge_cells(start_row=row, end_row=row, start_column=1, end_column=last)
        sheet.sheet_view.showGridLines = False
        sheet.page_setup.orientation = "landscape"
        sheet.page_setup.paperSize = 9  # A4
        sheet.page_setup.fitToWidth = 1
        sheet.page_setup.fitToHeight = 0
        sheet.sheet_properties.pageSetUpPr.fitToPage = True
        sheet.page_margins.left = sheet.page_margins.right = 0.4
        sheet.oddFooter.left.text = "&A"
        sheet.oddFooter.right.text = "Page &P of &N"

    def _body_cell(self, position: int, column: Column, value: Value, is_sum: bool) -> None:
        if isinstance(value, str):
            style = Style.UNKNOWN if value == UNKNOWN and column.style in NUMBERS else column.style
            if style in NUMBERS:
                style = Style.TEXT
            self._grow(position, width(value), column.most)
        else:
            style = column.style
            if value is not None:
                self._grow(position, len(f"{float(value):,.1f}"), column.most)
        self._cell(position, value, style, is_sum)

    def _grow(self, position: int, characters: int, most: int) -> None:
        self._widths[position] = max(self._widths.get(position, NARROWEST), min(characters, most))

    def _cell(self, position: int, value: Value, style: Style, is_sum: bool = False) -> None:
        cell = self._sheet.cell(self._row, position)
        if isinstance(value, str):
            text = escaped_for_xml(value)
            cell.value = text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1] + "…"
            cell.data_type = "s"
        elif value is not None:
            cell.value = number(value) if isinstance(value, Fraction) else value
        cell._style = self._styles[style, is_sum]
