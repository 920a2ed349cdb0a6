"""The workbook: one writer a sheet, in the order of `SHEETS`; a new sheet is one writer and one line here.

The same plan gives the same bytes: no clock, no compression, no order that depends on hashing. XlsxWriter writes it,
because it stores the value of a formula beside it, so that what does not calculate shows numbers too (decision 14);
openpyxl only reads, where a spreadsheet is read.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from sizing.plan.bill import bill_of_units
from sizing.plan.cost import is_priced
from sizing.plan.plan import NoPlan, Plan
from sizing.report.reported import Reported

if TYPE_CHECKING:
    from sizing.report.page import Page

Writer = Callable[["Page", Reported], None]
Answer = TypeVar("Answer", Reported, NoPlan)
NO_DATE = datetime(1980, 1, 1)


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet by its name; it is left out where the plan has nothing to say on it."""

    name: str
    write: Writer
    is_due: Callable[[Reported], bool] = lambda _reported: True


def sheets() -> tuple[Sheet, ...]:
    """Every sheet that a workbook may have, in order."""
    from sizing.report.sheets import (
        alternatives,
        assumptions,
        audit,
        balance,
        bill,
        classes,
        cost,
        placement,
        power,
        proposal,
        rejected,
        sources,
        tokens,
    )

    return (
        Sheet("Proposal", proposal.write),
        Sheet("Bill of units", bill.write),
        Sheet("Token budget", tokens.write),
        Sheet("Classes", classes.write),
        Sheet("Placement", placement.write),
        Sheet("Power and cooling", power.write),
        Sheet("Balance of plant", balance.write, lambda reported: any(balance.balanced(reported))),
        Sheet("Cost", cost.write, lambda reported: is_priced(reported.plan.request)),
        Sheet("Alternatives and sensitivity", alternatives.write, lambda reported: alternatives.has_any(reported.plan)),
        Sheet("Assumptions", assumptions.write),
        Sheet("Sources", sources.write),
        Sheet("Audit", audit.write),
        Sheet("Not considered", rejected.write, lambda reported: bool(reported.plan.rejected)),
    )


def workbook_bytes(plan: Plan) -> bytes:
    """The whole file of a plan."""
    reported = Reported(plan, bill_of_units(plan))
    due = [sheet for sheet in sheets() if sheet.is_due(reported)]
    return _written(plan.request.name, [(sheet.name, _about(sheet.write, reported)) for sheet in due])


def no_plan_workbook_bytes(no_plan: NoPlan) -> bytes:
    """The whole file of an answer without a plan: why, what was asked, and how that was answered."""
    from sizing.report.sheets import assumptions, audit, unplanned

    writers = (
        ("Proposal", unplanned.write),
        ("Assumptions", assumptions.write_without_plan),
        ("Audit", audit.write_without_plan),
    )
    return _written(no_plan.request.name, [(name, _about(write, no_plan)) for name, write in writers])


def _about(write: Callable[["Page", Answer], None], answer: Answer) -> Callable[["Page"], None]:
    return lambda page: write(page, answer)


def _written(title: str, writers: Sequence[tuple[str, Callable[["Page"], None]]]) -> bytes:
    """Lays out every sheet, so that formulas know where all cells stand, then writes them."""
    from io import BytesIO

    from xlsxwriter import Workbook

    from sizing.report.page import Page
    from sizing.report.parts import CONTENT_PROPERTY, UNSEALED, sealed
    from sizing.report.places import Places
    from sizing.report.styles import Formats
    from sizing.report.text import visible

    places = Places()
    pages = []
    for name, write in writers:
        pages.append(Page(name, places))
        write(pages[-1])
    content = BytesIO()
    workbook = Workbook(content, {"in_memory": True})
    formats = Formats(workbook)
    for page in pages:
        page.write(workbook, workbook.add_worksheet(page.name), formats)
    for name, address in places.defined():
        workbook.define_name(name, f"={address}")
    workbook.set_properties({"title": visible(title), "author": "sizing", "created": NO_DATE})
    workbook.set_custom_property(CONTENT_PROPERTY, UNSEALED, "text")
    workbook.close()
    return sealed(content)
