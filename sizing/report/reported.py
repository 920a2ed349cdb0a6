"""What a sheet reads: the plan and its bill, counted once for all sheets."""

from dataclasses import dataclass

from sizing.plan.bill import BillLine
from sizing.plan.plan import Plan


@dataclass(frozen=True, slots=True)
class Reported:
    """A plan with the lines of its bill of units."""

    plan: Plan
    bill: tuple[BillLine, ...]
