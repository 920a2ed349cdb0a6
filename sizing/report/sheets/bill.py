"""Sheet `Bill of units`: what procurement orders, each line with the rule that counts it and its source."""

from collections.abc import Iterator
from fractions import Fraction

from sizing.plan.bill import BillLine
from sizing.report.answer import MEMORY_ONLY, headline
from sizing.report.cautions import balance_sentences
from sizing.report.page import Column, Page, Row, Value
from sizing.report.reported import Reported
from sizing.report.styles import Style
from sizing.report.text import UNKNOWN

COLUMNS = (
    Column("No.", style=Style.COUNT),
    Column("Group", most=16),
    Column("Manufacturer", most=12),
    Column("Part", most=20),
    Column("Description", most=28),
    Column("Quantity", style=Style.COUNT),
    Column("Needed by these systems", style=Style.COUNT),
    Column("Contained in them", style=Style.COUNT),
    Column("Unit", most=8),
    Column("Power each", "kW", Style.TWO_DECIMALS),
    Column("Power", "kW", Style.TWO_DECIMALS),
    Column("Price each", "USD", Style.TWO_DECIMALS),
    Column("Price", "USD", Style.TWO_DECIMALS),
    Column("Rule", most=26),
    Column("Confidence", most=11),
    Column("Source", most=36),
    Column("Remark", most=36),
)

INDENT = "    "


def write(page: Page, reported: Reported) -> None:
    """One row a line, then the sum of what is known."""
    plan = reported.plan
    page.title(
        f"Bill of units: {plan.request.name}",
        headline(plan),
        MEMORY_ONLY,
        "Quantity is what is ordered: the balance of plant for full Pods. Needed by these systems is what those of "
        "this plan would take by the same rules. What the systems contain has no number and is not ordered.",
    )
    page.table(COLUMNS, [*_rows(reported.bill), _sum(reported.bill)], main=True)
    page.notes("Power", balance_sentences(plan, reported.bill))


def _rows(lines: tuple[BillLine, ...]) -> Iterator[Row]:
    for line in lines:
        yield Row(
            (
                line.number,
                line.group,
                line.manufacturer,
                line.part,
                f"{INDENT}{line.description}" if line.contained else line.description,
                None if line.contained else line.quantity,
                None if line.contained else line.needed,
                line.quantity if line.contained else None,
                line.unit,
                _known(line.unit_kw),
                _known(line.total_kw),
                _known(line.unit_usd),
                _known(line.total_usd),
                line.rule,
                line.confidence,
                line.source,
                line.remark,
            )
        )


def _sum(lines: tuple[BillLine, ...]) -> Row:
    """The sums of the lines whose figure is known; where none is, the sum is unknown too."""
    kw = [line.total_kw for line in lines if line.total_kw]
    usd = [line.total_usd for line in lines if line.total_usd]
    label = "Sum of what is known"
    sums = (None, _total(kw), None, _total(usd))
    return Row((None, label, None, None, None, None, None, None, None, *sums, None, None, None, None), is_sum=True)


def _known(value: Fraction | None) -> Value:
    return UNKNOWN if value is None else value


def _total(values: list[Fraction]) -> Value:
    return sum(values, Fraction(0)) if values else UNKNOWN
