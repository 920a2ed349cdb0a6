"""Sheet `Not considered`: every system that is no candidate, alone or for a model, and why."""

from sizing.report.page import Column, Page, Row
from sizing.report.reported import Reported

COLUMNS = (Column("System", most=30), Column("Model", most=30), Column("Why", most=100))


def write(page: Page, reported: Reported) -> None:
    """One row for each reason."""
    plan = reported.plan
    page.title("Not considered", "Systems that were no candidates. A row without a model holds for every model.")
    rows = [Row((rejection.system, rejection.model, rejection.why)) for rejection in plan.rejected]
    page.table(COLUMNS, rows, main=True)
