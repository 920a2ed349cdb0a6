"""Sheet `Assumptions and sources`: every figure and finding behind the plan with its source, then what was assumed."""

from collections.abc import Iterator
from typing import Any

from sizing.report.cautions import assumption_sentences, policy_sentence
from sizing.report.page import Column, Page, Row, Value
from sizing.report.reported import Reported
from sizing.report.sources import Source, SourcedFigure, entries_in_plan, sourced_figures
from sizing.report.styles import Style

COLUMNS = (
    Column("Catalog", most=14),
    Column("Entry", most=26),
    Column("Figure", most=26),
    Column("Value", style=Style.DECIMALS, most=18),
    Column("Unit", most=12),
    Column("Range from", style=Style.DECIMALS, most=12),
    Column("Range to", style=Style.DECIMALS, most=12),
    Column("Confidence", most=12),
    Column("Read on", most=12),
    Column("Source", most=46),
    Column("Address", most=46),
    Column("Published", most=12),
    Column("Basis and note", most=46),
)


def write(page: Page, reported: Reported) -> None:
    """One row for each figure and each of its sources."""
    plan = reported.plan
    page.title(
        "Assumptions and sources",
        "Figures of what the plan buys and runs, a row for each of their sources; assumptions below them. "
        "The plan's JSON document has the figures of all other candidates too.",
    )
    page.table(
        COLUMNS, [row for found in sourced_figures(entries_in_plan(reported)) for row in _rows(found)], main=True
    )
    page.notes("Assumptions", [policy_sentence(plan), *assumption_sentences(plan)])


def _rows(found: SourcedFigure) -> Iterator[Row]:
    for source in found.sources or (Source(""),):
        yield Row(
            (
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
        )


def _cell(value: Any) -> Value:
    """A number as a number, all else as text."""
    return value if value is None or (isinstance(value, int | float) and not isinstance(value, bool)) else str(value)
