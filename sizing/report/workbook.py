"""The workbook: one writer a sheet, in the order of `WRITERS`; a new sheet is one writer and one line here.

The same plan gives the same bytes: no clock, no compression, no order that depends on hashing. openpyxl is told not to
use lxml, whose output differs, so that what else is installed does not matter.
"""

import os
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sizing.plan.bill import bill_of_units
from sizing.plan.cost import is_priced
from sizing.plan.plan import Plan
from sizing.report.reported import Reported

if TYPE_CHECKING:
    from sizing.report.page import Page

Writer = Callable[["Page", Reported], None]
NO_DATE = datetime(1980, 1, 1)


def writers() -> tuple[tuple[str, Writer], ...]:
    """(sheet name, writer) in the order of the sheets."""
    from sizing.report.sheets import assumptions, bill, cost, placement, power, rejected, request, summary, tokens

    return (
        ("Summary", summary.write),
        ("Bill of units", bill.write),
        ("Token budget", tokens.write),
        ("Placement", placement.write),
        ("Power and cooling", power.write),
        ("Cost", cost.write),
        ("Assumptions and sources", assumptions.write),
        ("Request", request.write),
        ("Not considered", rejected.write),
    )


def has_sheet(name: str, plan: Plan) -> bool:
    """Whether a plan has anything to say on a sheet: without a price there is no cost."""
    return name != "Cost" or is_priced(plan.request)


def workbook_bytes(plan: Plan) -> bytes:
    """The whole file of a plan."""
    os.environ.setdefault("OPENPYXL_LXML", "False")
    from openpyxl import Workbook
    from openpyxl.packaging.custom import StringProperty
    from openpyxl.writer.excel import ExcelWriter

    from sizing.report.page import Page
    from sizing.report.parts import CONTENT_PROPERTY, UNSEALED, Parts
    from sizing.report.styles import style_arrays
    from sizing.report.text import escaped_for_xml

    workbook: Any = Workbook()
    workbook.remove(workbook.worksheets[0])
    styles = style_arrays(workbook)
    reported = Reported(plan, bill_of_units(plan))
    for name, write in writers():
        if not has_sheet(name, plan):
            continue
        page = Page(workbook.create_sheet(name), styles)
        write(page, reported)
        page.finish()
    properties = workbook.properties
    properties.creator = "sizing"
    properties.title = escaped_for_xml(plan.request.name)
    properties.created = properties.modified = NO_DATE
    workbook.custom_doc_props.append(StringProperty(name=CONTENT_PROPERTY, value=UNSEALED))
    parts: Any = Parts()  # in place of a zip archive
    ExcelWriter(workbook, parts).write_data()
    content: bytes = parts.sealed()
    return content
