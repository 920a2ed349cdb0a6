"""Sheet `Assumptions`: every figure to change, with unit, range, confidence and source; formulas read them here."""

from collections.abc import Set

from sizing.plan.plan import NoPlan
from sizing.report.assumed import TABLE, Assumption, FigureKey, assumptions, assumptions_of_request
from sizing.report.cautions import assumption_sentences, policy_sentence
from sizing.report.cells import OK, Accepts, Cell, Input, Link, at, check
from sizing.report.page import Column, Page, Row
from sizing.report.reported import Reported
from sizing.report.sheets.sources import FIGURES, figure_keys
from sizing.report.styles import Style
from sizing.report.text import NOT_GIVEN, UNKNOWN

COLUMNS = (
    Column("Of", most=26),
    Column("Assumption", most=26),
    Column("Value", style=Style.DECIMALS, most=20, key="value"),
    Column("Unit", most=10),
    Column("Check", most=14, key="check"),
    Column("Range from", style=Style.DECIMALS, most=12),
    Column("Range to", style=Style.DECIMALS, most=12),
    Column("Confidence", most=12),
    Column("Source", most=34),
    Column("Basis and note", most=56),
    Column("In full", most=8),
    Column("Name in formulas", most=34),
)


def write(page: Page, reported: Reported) -> None:
    """The assumptions, and in words what was assumed."""
    page.title(
        "Assumptions",
        "Change what is blue: every sheet follows. What the search decided is green, on the other sheets: "
        "it does not change by itself, and what no longer fits says so.",
    )
    known = figure_keys(reported)
    page.table(COLUMNS, (_row(line, known) for line in assumptions(reported)), name=TABLE, main=True)
    page.notes("In words", [policy_sentence(reported.plan), *assumption_sentences(reported.plan)])


def write_without_plan(page: Page, no_plan: NoPlan) -> None:
    """What was asked, where there is no plan."""
    page.title("Assumptions", "What was asked. Change it in the workload and search again: there is no plan to follow.")
    lines = assumptions_of_request(no_plan.request)
    page.table(COLUMNS, (_row(line, frozenset()) for line in lines), name=TABLE, main=True)
    page.notes("In words", no_plan.request.assumptions)


def _is_a_number(accepts: Accepts) -> str:
    """The text of the check of a value: a number that is not below 0, or the word that it may be instead."""
    word = {Accepts.FIGURE: UNKNOWN, Accepts.LIMIT: NOT_GIVEN, Accepts.POSITIONS: NOT_GIVEN}.get(accepts)
    otherwise = '"not a number"' if word is None else f'IF({{value}}="{word}","{OK}","not a number")'
    return f'IF(ISNUMBER({{value}}),IF({{value}}<0,"below 0","{OK}"),{otherwise})'


def _row(line: Assumption, known: Set[FigureKey]) -> Row:
    style = Style.TWO_DECIMALS if line.unit == "USD" else Style.DECIMALS
    if line.accepts in (Accepts.SHARE, Accepts.EXTRA):
        style = Style.SHARE
    in_full: Cell = None
    if line.figure in known:
        in_full = Link("source", at(FIGURES, "source", line.figure))
    values: tuple[Cell, ...] = (
        line.of,
        line.what,
        Input(line.value, line.accepts, line.name),
        line.unit,
        check(_is_a_number(line.accepts), OK),
        line.low,
        line.high,
        line.confidence,
        line.source,
        line.note,
        in_full,
        line.name,
    )
    return Row(values, key=line.key, styles={"value": style})
