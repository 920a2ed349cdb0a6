"""Sheet `Sources`: every figure and finding behind the plan with its source, a row for each of its sources."""

from collections.abc import Iterator
from typing import Any

from sizing.report.assumed import FigureKey
from sizing.report.cells import Value
from sizing.report.page import Column, Page, Row
from sizing.report.reported import Reported
from sizing.report.sources import Source, SourcedFigure, entries_in_plan, sourced_figures
from sizing.report.styles import Style

FIGURES = "figures"
WHOLE_ENTRY = "the whole entry"
COLUMNS = (
    Column("Catalog", most=14),
    Column("Entry", most=24),
    Column("Figure", most=24),
    Column("Value", style=Style.DECIMALS, most=18),
    Column("Unit", most=10),
    Column("Range from", style=Style.DECIMALS, most=12),
    Column("Range to", style=Style.DECIMALS, most=12),
    Column("Confidence", most=12),
    Column("Read on", most=12),
    Column("Source", most=40, key="source"),
    Column("Address", most=40),
    Column("Published", most=12),
    Column("Basis and note", most=46),
)


def write(page: Page, reported: Reported) -> None:
    """One row for each figure and each of its sources."""
    page.title(
        "Sources",
        "Figures of what the plan buys and runs, a row for each of their sources. The plan's JSON document has the "
        "figures of all other candidates too.",
    )
    rows = [row for found in sourced_figures(entries_in_plan(reported)) for row in _rows(found)]
    page.table(COLUMNS, rows, name=FIGURES, main=True)


def figure_keys(reported: Reported) -> frozenset[FigureKey]:
    """What other sheets may lead to: (section, entry, figure), an entry as a whole by an empty figure."""
    return frozenset(_key(found) for found in sourced_figures(entries_in_plan(reported)))


def _key(found: SourcedFigure) -> FigureKey:
    return found.section, found.entry, "" if found.figure == WHOLE_ENTRY else found.figure


def _rows(found: SourcedFigure) -> Iterator[Row]:
    for place, source in enumerate(found.sources or (Source(""),)):
        values = (
            found.section,
            found.entry,
            found.figure,
            _cell(found.value),
            found.unit,
            _cell(found.low),
            _cell(found.high),
            found.confidence,
            found.date,
            source.title,
            source.address,
            source.date,
            found.remark,
        )
        yield Row(values, key=_key(found) if place == 0 else None)


def _cell(value: Any) -> Value:
    """A number as a number, all else as text."""
    return value if value is None or (isinstance(value, int | float) and not isinstance(value, bool)) else str(value)
