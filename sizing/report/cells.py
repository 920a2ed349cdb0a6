"""What a cell of the workbook can be, and how it names other cells.

A cell is a plain value, which nobody is meant to change here; an `Input`, which somebody is; a `Formula` over other
cells, with the exact value that the plan has for it; or text that leads to another cell. A formula never gives the
value: a spreadsheet program must come to the same, and a test lets one do so.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction

from sizing.report.text import UNKNOWN

Value = str | int | float | Fraction | None

MOST_ARGUMENTS = 200
"""Of one function in a formula; Excel takes 255."""


class Role(Enum):
    """What a cell is for, which its colour tells."""

    FIXED = "fixed"
    INPUT = "input"
    DECISION = "decision"
    FORMULA = "formula"
    CHECK = "check"


class Accepts(Enum):
    """What may be typed into an input."""

    SHARE = "a share from 0 % to 100 %"
    EXTRA = "a share of 0 % or more"
    COUNT = "a whole number of 0 or more"
    AMOUNT = "a number of 0 or more"
    FIGURE = "a number of 0 or more, or: unknown"
    LIMIT = "a number of 0 or more, or: not given"
    POSITIONS = "a whole number of 0 or more, or: not given"


@dataclass(frozen=True, slots=True)
class Reference:
    """A cell of a table by the key of its row, or with `last` those down to another row; without `row` all of them.

    A table is known by its name in the whole workbook, a column by its key.
    """

    table: str
    column: str
    row: Hashable = None
    last: Hashable = None


@dataclass(frozen=True, slots=True)
class Input:
    """A value to change. `name` is what formulas call it by; a `decision` is one that the search took."""

    value: Value
    accepts: Accepts = Accepts.AMOUNT
    name: str = ""
    decision: bool = False


@dataclass(frozen=True, slots=True)
class Formula:
    """`text` with `{x}` in place of cells: a reference under that name, or the column of that key in the same row."""

    text: str
    value: Value
    references: Mapping[str, Reference] = field(default_factory=dict)
    is_check: bool = False


@dataclass(frozen=True, slots=True)
class Link:
    """Text that leads to another cell of the workbook."""

    text: str
    to: Reference


Cell = Value | Input | Formula | Link


def at(table: str, column: str, row: Hashable) -> Reference:
    """One cell of a table."""
    return Reference(table, column, row)


def span(table: str, column: str, rows: Sequence[Hashable]) -> Reference:
    """Cells of rows that stand below each other."""
    return Reference(table, column, rows[0], rows[-1])


def formula(text: str, value: Value, **references: Reference) -> Formula:
    """A formula and its value."""
    return Formula(text, value, references)


def check(text: str, value: Value, **references: Reference) -> Formula:
    """A formula that says `OK`, `NOT_SETTLED`, or what is wrong; what is not `OK` stands out."""
    return Formula(text, value, references, is_check=True)


OK = "ok"
NOT_SETTLED = "not settled"
"""Of a check that hangs on a figure nobody has yet."""


def added(references: Sequence[Reference], value: Value) -> Cell:
    """The sum of cells that stand apart; what is text, such as unknown, counts nothing."""
    if not references:
        return value
    names = {f"cell_{place}": reference for place, reference in enumerate(references)}
    return Formula(_sum([f"{{{name}}}" for name in names]), value, names)


def _sum(terms: Sequence[str]) -> str:
    if len(terms) <= MOST_ARGUMENTS:
        return f"SUM({','.join(terms)})"
    return _sum([_sum(terms[first : first + MOST_ARGUMENTS]) for first in range(0, len(terms), MOST_ARGUMENTS)])


def if_known(cell: str) -> str:
    """The text of a figure; one that is blank, or text, is unknown."""
    return f'IF(ISNUMBER({{{cell}}}),{{{cell}}},"{UNKNOWN}")'


def times_known(factor: str, cell: str, otherwise: str = UNKNOWN) -> str:
    """The text of a product with a cell that may say that it is unknown."""
    return f'IF(ISNUMBER({{{cell}}}),{factor}*{{{cell}}},"{otherwise}")'


def sum_if_known(cells: str, otherwise: str = UNKNOWN) -> str:
    """The text of a sum over a range; unknown where a cell of it is."""
    return f'IF(COUNT({{{cells}}})=ROWS({{{cells}}}),SUM({{{cells}}}),"{otherwise}")'
