"""One sheet, from the top down: title, tables with headings and units, charts, notes.

It is laid out first, so that formulas anywhere know where every cell stands, and written when all sheets are. In print
it is as wide as the paper, in landscape, so that it suits A4 and Letter, with its heading on every page.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from xlsxwriter import Workbook
from xlsxwriter.utility import xl_rowcol_to_cell
from xlsxwriter.worksheet import Worksheet

from sizing.report.cells import NOT_SETTLED, OK, Accepts, Cell, Formula, Input, Link, Role, Value
from sizing.report.native_charts import Chart, native_chart
from sizing.report.places import Places, Table
from sizing.report.styles import NUMBERS, Formats, Style
from sizing.report.text import NOT_GIVEN, UNKNOWN, visible, width, wrapped
from sizing.units.amounts import number

LONGEST_TEXT = 32_767  # characters in a cell (Excel specifications and limits)
NARROWEST, PADDING = 6, 2
LEADING = 4  # columns that are repeated where a sheet is printed side by side
LINE_POINTS = 12.75
TEXT_PER_WIDTH = 1.15  # a width counts digits of the default font; text in 10 points is narrower
WIDEST_HEADING = 10
SCALE_SIDE_BY_SIDE = 50  # percent of pages that stand side by side
A4 = 9
CHART_ROWS, ROW_PIXELS, CHART_PIXELS = 15, 20, 520
VALIDATIONS: Mapping[Accepts, Mapping[str, object]] = {
    Accepts.SHARE: {"validate": "decimal", "criteria": "between", "minimum": 0, "maximum": 1},
    Accepts.EXTRA: {"validate": "decimal", "criteria": ">=", "value": 0},
    Accepts.COUNT: {"validate": "integer", "criteria": ">=", "value": 0},
    Accepts.AMOUNT: {"validate": "decimal", "criteria": ">=", "value": 0},
}
OR_WORDS = {
    Accepts.FIGURE: f'=OR(AND(ISNUMBER({{cell}}),N({{cell}})>=0),{{cell}}="{UNKNOWN}")',
    Accepts.LIMIT: f'=OR(AND(ISNUMBER({{cell}}),N({{cell}})>=0),{{cell}}="{NOT_GIVEN}")',
    Accepts.POSITIONS: (
        f'=OR(AND(ISNUMBER({{cell}}),N({{cell}})>=0,N({{cell}})=INT(N({{cell}}))),{{cell}}="{NOT_GIVEN}")'
    ),
}
"""Rules of cells that take a word in place of a number; `{cell}` is the first cell that the rule is for."""


@dataclass(frozen=True, slots=True)
class Column:
    """A heading, its unit, the style of its cells, and how many characters wide it may grow before text wraps.

    Text in the style `RUN_ON` does not wrap: in the last column of a table it runs over the empty cells beside it.
    Formulas call the column by its `key`.
    """

    heading: str
    unit: str = ""
    style: Style = Style.TEXT
    most: int = 44
    key: str = ""

    @property
    def title(self) -> str:
        return f"{self.heading} ({self.unit})" if self.unit else self.heading


@dataclass(frozen=True, slots=True)
class Row:
    """Cells in the order of the columns. None is blank: it does not apply; what is not known is `text.UNKNOWN`.

    Formulas call the row by its `key`. `styles` are those of cells that differ from their column, by its key. A sum
    stands below the rows that formulas mean by a column; what is only `highlighted` is one of them.
    """

    values: Sequence[Cell]
    is_sum: bool = False
    key: Hashable = None
    styles: dict[str, Style] = field(default_factory=dict)
    highlighted: bool = False


@dataclass(frozen=True, slots=True)
class _Placed:
    """A cell where it stands; `table` is what formulas in it look their own row up in."""

    row: int
    column: int
    cell: Cell
    style: Style
    is_sum: bool = False
    table: Table | None = None


class Page:
    """Lays out one sheet, then writes it. Widths follow from what its tables hold."""

    def __init__(self, name: str, places: Places) -> None:
        self.name = name
        self._places = places
        self._placed: list[_Placed] = []
        self._row = 0
        self._widths: dict[int, int] = {}
        self._notes: list[tuple[int, str]] = []
        self._texts: list[tuple[int, int, str]] = []
        self._heights: dict[int, float] = {}
        self._charts: list[tuple[int, int, Chart]] = []
        self._heading = 0
        self._filtered: tuple[int, int, int] | None = None
        self._split: int | None = None

    def title(self, text: str, *leads: str) -> None:
        """The sheet's title, and sentences below it."""
        self._place(0, text, Style.TITLE)
        self._heights[self._row] = 24
        self._row += 1
        for lead in leads:
            self.note(lead, Style.LEAD)
        self._row += 1

    def section(self, text: str) -> None:
        """A heading between tables."""
        self._place(0, text, Style.SECTION)
        self._heights[self._row] = 20
        self._row += 1

    def note(self, text: str, style: Style = Style.NOTE) -> None:
        """A sentence over the whole width of the sheet."""
        self._notes.append((self._row, text))
        self._place(0, text, style)
        self._row += 1

    def notes(self, heading: str, sentences: Iterable[str]) -> None:
        """A heading and its sentences; nothing where there is no sentence."""
        listed = list(sentences)
        if listed:
            self.section(heading)
            for sentence in listed:
                self.note(sentence)
            self._row += 1

    def table(
        self, columns: Sequence[Column], rows: Iterable[Row], name: str = "", main: bool = False, split: str = ""
    ) -> None:
        """A table, which formulas call by its `name`.

        The heading of the `main` one stays in view, filters all rows but sums, and is repeated on every printed page.
        Where it is too wide for one page, what stands before the column of key `split` and the rest are printed side
        by side.
        """
        for position, column in enumerate(columns):
            is_number = column.style in NUMBERS
            self._place(position, column.title, Style.HEADING_NUMBER if is_number else Style.HEADING)
            self._texts.append((self._row, position, column.title))
            longest = max(width(word) for word in column.title.split())
            self._grow(position, max(longest, min(width(column.title), WIDEST_HEADING)), column.most)
        listed = list(rows)
        heading, first = self._row, self._row + 1
        keys = {row.key: first + place for place, row in enumerate(listed) if row.key is not None}
        body = [place for place, row in enumerate(listed) if not row.is_sum]
        table = Table(
            self.name,
            heading,
            first,
            first + (body[-1] if body else 0),
            {column.key: position for position, column in enumerate(columns) if column.key},
            keys,
        )
        if name:
            assert name not in self._places.tables, f"two tables are called {name}"
            self._places.tables[name] = table
        self._row = first
        for row in listed:
            for position, (column, cell) in enumerate(zip(columns, row.values, strict=True)):
                self._body_cell(position, row.styles.get(column.key, column.style), column.most, cell, row, table)
            self._row += 1
        if main:
            self._heading = heading
            self._filtered = heading, table.last if body else heading, len(columns) - 1
            self._split = table.columns.get(split)
        self._row += 1

    def charts(self, *charts: Chart) -> None:
        """Charts side by side."""
        if charts:
            self._charts.extend((self._row, place, chart) for place, chart in enumerate(charts))
            self._row += CHART_ROWS + 1

    def write(self, workbook: Workbook, sheet: Worksheet, formats: Formats) -> None:
        """Every cell, then widths of columns and heights of rows (no program works them out), charts, print set-up."""
        self._set_sizes(sheet, formats)
        for placed in self._placed:
            self._write(sheet, formats, placed)
        self._set_rules(sheet, formats)
        for row, place, chart in self._charts:
            native = native_chart(workbook, chart, self._places)
            native.set_size({"width": CHART_PIXELS - 20, "height": CHART_ROWS * ROW_PIXELS})
            sheet.insert_chart(row, 0, native, {"x_offset": place * CHART_PIXELS, "object_position": 3})
        sheet.freeze_panes(self._heading + 1, LEADING if self._split is not None else 0)
        sheet.repeat_rows(self._heading)
        if self._filtered is not None:
            first, last, right = self._filtered
            sheet.autofilter(first, 0, last, right)
        sheet.hide_gridlines(2)
        sheet.set_landscape()
        sheet.set_paper(A4)
        if self._split is None:
            sheet.fit_to_pages(1, 0)
        else:
            sheet.set_print_scale(SCALE_SIDE_BY_SIDE)
            sheet.set_v_pagebreaks([self._split])
            sheet.repeat_columns(0, LEADING - 1)
        sheet.set_margins(left=0.4, right=0.4, top=0.5, bottom=0.6)
        sheet.set_footer("&L&A&RPage &P of &N")

    def _set_sizes(self, sheet: Worksheet, formats: Formats) -> None:
        for position, characters in self._widths.items():
            sheet.set_column(position, position, characters + PADDING)
        lines: dict[int, int] = {}
        for row, position, text in self._texts:
            lines[row] = max(lines.get(row, 1), _lines(text, self._widths[position]))
        last = max(self._widths, default=0) if self._split is None else LEADING - 1
        columns = [self._widths[position] for position in range(last + 1) if position in self._widths]
        across = max(sum(columns) + PADDING * last, NARROWEST)
        for row, text in self._notes:
            lines[row] = _lines(text, across)
            if last:
                sheet.merge_range(row, 0, row, last, "", formats.of(Style.NOTE))
        heights = {row: count * LINE_POINTS + 2 for row, count in lines.items() if count > 1} | self._heights
        for row, height in heights.items():
            sheet.set_row(row, height)

    def _set_rules(self, sheet: Worksheet, formats: Formats) -> None:
        """What inputs accept, and how a check stands out; cells below each other that agree share a rule."""
        runs: dict[tuple[int, Accepts | None], list[list[int]]] = {}
        for placed in self._placed:
            match placed.cell:
                case Input():
                    rule: Accepts | None = placed.cell.accepts
                case Formula(is_check=True):
                    rule = None
                case _:
                    continue
            spans = runs.setdefault((placed.column, rule), [])
            if spans and spans[-1][1] == placed.row - 1:
                spans[-1][1] = placed.row
            else:
                spans.append([placed.row, placed.row])
        has_checks = any(rule is None for _, rule in runs)
        looks = ((NOT_SETTLED, "==", formats.unsettled()), (OK, "!=", formats.wrong())) if has_checks else ()
        for (column, rule), spans in runs.items():
            for first, last in spans:
                if rule is None:
                    for word, criteria, form in looks:
                        options = {"type": "cell", "criteria": criteria, "value": f'"{word}"', "format": form}
                        sheet.conditional_format(first, column, last, column, options | {"stop_if_true": True})
                else:
                    sheet.data_validation(first, column, last, column, _validation(rule, first, column))

    def _write(self, sheet: Worksheet, formats: Formats, placed: _Placed) -> None:
        row, column, cell = placed.row, placed.column, placed.cell
        match cell:
            case Input():
                role = Role.DECISION if cell.decision else Role.INPUT
                self._write_value(sheet, placed, cell.value, formats.of(placed.style, role, placed.is_sum))
            case Formula():
                assert placed.table is not None
                form = formats.of(placed.style, Role.CHECK if cell.is_check else Role.FORMULA, placed.is_sum)
                text = self._places.text(cell, placed.table, row)
                sheet.write_formula(row, column, text, form, _stored(cell.value))
            case Link():
                style = Style.LINK_ON if placed.style is Style.RUN_ON else Style.LINK
                form = formats.of(style, Role.FIXED, placed.is_sum)
                text, target = _cell_text(cell.text), "internal:" + self._places.address(cell.to)
                sheet.write_url(row, column, target, form, "" if _looks_rich(text) else text)
                if _looks_rich(text):
                    self._write_value(sheet, placed, text, form)
            case _:
                self._write_value(sheet, placed, cell, formats.of(placed.style, Role.FIXED, placed.is_sum))

    def _write_value(self, sheet: Worksheet, placed: _Placed, value: Value, form: object) -> None:
        if isinstance(value, str) and value:
            text = _cell_text(value)
            if _looks_rich(text):
                # XlsxWriter takes this for marked-up text of its own; in parts it is escaped (decision 10).
                sheet.write_rich_string(placed.row, placed.column, text[0], text[1], text[2:], form)
            else:
                sheet.write_string(placed.row, placed.column, text, form)
        elif value is None or value == "":
            sheet.write_blank(placed.row, placed.column, None, form)
        else:
            sheet.write_number(placed.row, placed.column, _stored(value), form)

    def _body_cell(self, position: int, style: Style, most: int, cell: Cell, row: Row, table: Table) -> None:
        value = shown_value(cell)
        if isinstance(value, str):
            if style in NUMBERS:
                style = Style.INSTEAD if value in (UNKNOWN, NOT_GIVEN) else Style.TEXT
            if style is not Style.RUN_ON:
                self._grow(position, width(value), most)
                if len(value) > NARROWEST:
                    self._texts.append((self._row, position, value))
        elif value is not None:
            if style is Style.DECIMALS and value == int(value):
                style = Style.COUNT
            self._grow(position, len(f"{float(value):,.{0 if style is Style.COUNT else 2}f}"), most)
        if isinstance(cell, Input) and cell.name:
            self._places.define(cell.name, self.name, self._row, position)
        self._place(position, cell, style, row.is_sum or row.highlighted, table)

    def _grow(self, position: int, characters: int, most: int) -> None:
        self._widths[position] = max(self._widths.get(position, NARROWEST), min(characters, most))

    def _place(self, position: int, cell: Cell, style: Style, is_sum: bool = False, table: Table | None = None) -> None:
        self._placed.append(_Placed(self._row, position, cell, style, is_sum, table))


def _validation(accepts: Accepts, row: int, column: int) -> dict[str, object]:
    """What an input takes; never nothing, which would count as 0."""
    message = {"error_title": "Not accepted", "error_message": f"Accepted is {accepts.value}.", "ignore_blank": False}
    if accepts in VALIDATIONS:
        return {**VALIDATIONS[accepts], **message}
    rule = OR_WORDS[accepts].replace("{cell}", str(xl_rowcol_to_cell(row, column)))
    return {"validate": "custom", "value": rule, **message}


def shown_value(cell: Cell) -> Value:
    """What a cell shows."""
    match cell:
        case Input() | Formula():
            return cell.value
        case Link():
            return cell.text
        case _:
            return cell


def _cell_text(text: str) -> str:
    shown = visible(text)
    return shown if len(shown) <= LONGEST_TEXT else shown[: LONGEST_TEXT - 1] + "…"


def _looks_rich(text: str) -> bool:
    """Whether XlsxWriter would take a text for marked-up text of its own (`_write_si` of its sharedstrings.py)."""
    return text.startswith("<r>") and text.endswith("</r>")


def _stored(value: Value) -> str | int | float:
    if isinstance(value, Fraction):
        return number(value)
    return visible(value) if isinstance(value, str) else "" if value is None else value


def _lines(text: str, columns: int) -> int:
    """Lines that a text takes in a cell of a width."""
    fitting = int((columns + 1) * TEXT_PER_WIDTH)
    return 1 if len(text) <= fitting and text.isascii() else len(wrapped(text, fitting))
