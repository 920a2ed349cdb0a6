"""Where tables stand in the workbook, and how formulas call their cells."""

import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

from xlsxwriter.utility import xl_rowcol_to_cell

from sizing.report.cells import Formula, Reference

_CALLED = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Table:
    """A table on a sheet: columns and rows by key, counted from 0; `first` to `last` are its rows below the heading."""

    sheet: str
    heading: int
    first: int
    last: int
    columns: dict[str, int]
    rows: dict[Hashable, int]


@dataclass(frozen=True, slots=True)
class Places:
    """Every table by its name, and the defined names of inputs: by cell, and all that are taken."""

    tables: dict[str, Table] = field(default_factory=dict)
    names: dict[tuple[str, int, int], str] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)

    def define(self, name: str, sheet: str, row: int, column: int) -> None:
        """A defined name for a cell."""
        assert name not in self.taken, f"two cells are called {name}"
        self.taken.add(name)
        self.names[sheet, row, column] = name

    def defined(self) -> Iterator[tuple[str, str]]:
        """Every defined name and its cell."""
        for (sheet, row, column), name in self.names.items():
            yield name, f"{quoted(sheet)}!{xl_rowcol_to_cell(row, column, row_abs=True, col_abs=True)}"

    def area(self, reference: Reference) -> tuple[str, int, int, int, int]:
        """(sheet, first row, first column, last row, last column) of a reference."""
        table = self.tables[reference.table]
        column = table.columns[reference.column]
        if reference.row is None:
            return table.sheet, table.first, column, max(table.first, table.last), column
        first = table.rows[reference.row]
        return table.sheet, first, column, first if reference.last is None else table.rows[reference.last], column

    def address(self, reference: Reference, sheet: str | None = None) -> str:
        """As a formula on `sheet` calls it; without `sheet` in full."""
        place, first, left, last, right = self.area(reference)
        if sheet is not None and first == last and (place, first, left) in self.names:
            return self.names[place, first, left]
        area = str(xl_rowcol_to_cell(first, left, row_abs=True, col_abs=True))
        if reference.row is None or reference.last is not None:
            area = f"{area}:{xl_rowcol_to_cell(last, right, row_abs=True, col_abs=True)}"
        return area if place == sheet else f"{quoted(place)}!{area}"

    def text(self, formula: Formula, table: Table, row: int) -> str:
        """The formula with every cell called by its name or address."""

        def called(name: str) -> str:
            if name in formula.references:
                return self.address(formula.references[name], table.sheet)
            return str(xl_rowcol_to_cell(row, table.columns[name]))

        return "=" + _CALLED.sub(lambda match: called(match[1]), formula.text)


def quoted(sheet: str) -> str:
    """A sheet's name as addresses hold it."""
    return "'" + sheet.replace("'", "''") + "'"
