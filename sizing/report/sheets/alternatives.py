"""Sheet `Alternatives and sensitivity`: the next best plans, and what the answer becomes where one thing is another."""

from collections.abc import Iterator

from sizing.plan.plan import Plan, PlanInBrief, SensitivityCase
from sizing.report.answer import systems_bought
from sizing.report.cells import Value
from sizing.report.page import Column, Page, Row
from sizing.report.reported import Reported
from sizing.report.sensitivity import sensitivity_sentences
from sizing.report.styles import Style
from sizing.report.text import UNKNOWN

BOUGHT = (
    Column("Pods", style=Style.COUNT),
    Column("GPUs", style=Style.COUNT),
    Column("Nameplate", "kW", Style.ONE_DECIMAL),
)
ALTERNATIVES = (
    Column("Alternative", most=40),
    *BOUGHT,
    Column("Systems", most=40),
    Column("Standing", most=14),
    Column("What differs", most=80),
)
CASES = (
    Column("Case", most=40),
    *BOUGHT,
    Column("Systems", most=40),
    Column("Standing", most=14),
    Column("Against the answer", most=80),
)


def has_any(plan: Plan) -> bool:
    """Whether there is anything to tell."""
    return plan.alternatives is not None or bool(sensitivity_sentences(plan)) or bool(_asked(plan))


def write(page: Page, reported: Reported) -> None:
    """The answer and its alternatives, cases, then what figures leave open."""
    plan = reported.plan
    page.title(
        "Alternatives and sensitivity",
        "Each is a search of its own, as it was found: these rows do not follow changes on other sheets.",
    )
    page.table(ALTERNATIVES, _alternatives(plan))
    if _asked(plan):
        page.section("What the answer becomes where one thing is another")
        page.table(CASES, [_case(case) for case in _asked(plan)])
    page.notes("What the plan hangs on", sensitivity_sentences(plan))


def _asked(plan: Plan) -> tuple[SensitivityCase, ...]:
    return (plan.sensitivity.cases if plan.sensitivity is not None else None) or ()


def _alternatives(plan: Plan) -> Iterator[Row]:
    yield Row(("The answer", *_bought(plan), systems_bought(plan), plan.status.value, None), highlighted=True)
    if plan.alternatives is None:
        return
    for other in plan.alternatives.plans:
        told = other.plan
        yield Row((other.name, *_bought(told), systems_bought(told), told.status.value, "; ".join(other.differs)))
    for none in plan.alternatives.none:
        yield Row((none.name, None, None, None, None, none.standing, none.why))


def _bought(plan: Plan) -> tuple[Value, Value, Value]:
    return plan.totals.pods, plan.totals.gpus, plan.totals.nameplate_kw


def _case(case: SensitivityCase) -> Row:
    changes = {True: "other systems or Pods", False: "the same systems and Pods", None: UNKNOWN}[case.changes]
    return Row((case.what, *_in_brief(case.plan), case.status.value, changes))


def _in_brief(plan: PlanInBrief | None) -> tuple[Value, ...]:
    if plan is None:
        return None, None, None, None
    return plan.pods, plan.gpus, plan.nameplate_kw, systems_bought(plan)
