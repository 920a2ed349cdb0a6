"""Sheet `Cost`: prices of what is bought, and energy over the horizon, each with both ends of its range."""

from collections.abc import Iterator

from sizing.facility.prices import Price
from sizing.plan.cost import CostLine, cost_lines, total_cost
from sizing.report.answer import MEMORY_ONLY, headline
from sizing.report.cost import cost_sentences, inventory_sentences
from sizing.report.page import Column, Page, Row, Value
from sizing.report.reported import Reported
from sizing.report.styles import Style
from sizing.report.text import UNKNOWN

COLUMNS = (
    Column("Group", most=14),
    Column("Item", most=30),
    Column("Site", most=20),
    Column("Quantity", style=Style.DECIMALS),
    Column("Unit", most=10),
    Column("Each, low", "USD", Style.DECIMALS),
    Column("Each, high", "USD", Style.DECIMALS),
    Column("Total, low", "USD", Style.TWO_DECIMALS),
    Column("Total, high", "USD", Style.TWO_DECIMALS),
    Column("Rule", most=60),
    Column("Source", most=40),
)


def write(page: Page, reported: Reported) -> None:
    """One row a part of the cost, then their sum."""
    plan = reported.plan
    lines = cost_lines(plan.request, plan.pods)
    page.title(
        "Cost",
        headline(plan),
        MEMORY_ONLY,
        "What is bought, and its energy. A price that is one number has equal ends; stages take the high end.",
    )
    total = _ends(total_cost(plan.request, lines))
    everything = Row(("All", None, None, None, None, None, None, *total, None, None), is_sum=True)
    page.table(COLUMNS, [*_rows(lines), everything], main=True)
    page.notes("Installed", inventory_sentences(plan))
    page.notes("How it comes about", cost_sentences(plan))


def _rows(lines: tuple[CostLine, ...]) -> Iterator[Row]:
    for line in lines:
        ends = (*_ends(line.each), *_ends(line.total))
        yield Row((line.group, line.item, line.site, line.quantity, line.unit, *ends, line.rule, line.source))


def _ends(price: Price | None) -> tuple[Value, Value]:
    return (UNKNOWN, UNKNOWN) if price is None else (price.low, price.high)
