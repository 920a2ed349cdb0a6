"""The next best plans beside the answer, and what it becomes where something is another, as tables for a terminal."""

from collections.abc import Iterator

from sizing.plan.plan import Alternatives, Plan, PlanInBrief, SensitivityCase, Status
from sizing.plan.words import KV_PRECISION
from sizing.report.answer import systems_bought
from sizing.report.grid import Column, bullets, table
from sizing.units.amounts import thousands


def alternatives_section(plan: Plan) -> str:
    """The answer and its alternatives, one a row, then what has no plan; empty where none were asked for."""
    if plan.alternatives is None:
        return ""
    others = plan.alternatives
    priced = plan.totals.cost_usd is not None
    columns = (
        Column("plan"),
        Column("Pods", number=True),
        Column("systems"),
        Column("GPUs", number=True),
        Column("kW", number=True),
        Column("spare tokens", number=True),
        *([Column("USD", number=True)] if priced else []),
        Column("against the answer"),
    )
    rows = [_row("the answer", plan, "", priced)]
    rows += [_row(each.name, each.plan, _against(each.differs, each.plan), priced) for each in others.plans]
    said = [table(columns, rows)] if others.plans else [bullets(["no other purchase was found that would do"])]
    return "\n".join(["Alternatives", *said, *_without_plan(others)])


def _without_plan(others: Alternatives) -> Iterator[str]:
    if others.none:
        yield bullets([f"{each.name}: {each.standing}; {each.why}" for each in others.none])


def _row(name: str, plan: Plan, against: str, priced: bool) -> tuple[str, ...]:
    totals = plan.totals
    cost = [thousands(totals.cost_usd) if totals.cost_usd is not None else ""] if priced else []
    return (
        name,
        thousands(totals.pods),
        systems_bought(plan),
        thousands(totals.gpus),
        thousands(totals.nameplate_kw, 1),
        thousands(plan.tokens.spare),
        *cost,
        against,
    )


def _against(differs: tuple[str, ...], plan: Plan) -> str:
    """What differs; whether it is known to be the best of its kind."""
    said = ", ".join(differs) or "other systems, as good"
    return said if plan.status is Status.OPTIMAL else f"{said} (not proven to be the best)"


def sensitivity_section(plan: Plan) -> str:
    """The changes that change what is bought, one a row; the others in a sentence. Empty where not asked for."""
    if plan.sensitivity is None or plan.sensitivity.cases is None:
        return ""
    cases = plan.sensitivity.cases
    open_ones = [case.what for case in cases if case.status is Status.TIMEOUT]
    rows = [(case.what, *_bought(case)) for case in cases if case.changes is not False and case.what not in open_ones]
    columns = (
        Column("change"),
        Column("Pods", number=True),
        Column("systems"),
        Column("GPUs", number=True),
        Column("kW", number=True),
    )
    same = [case.what for case in cases if case.changes is False]
    said = [table(columns, rows)] if rows else []
    notes = [f"the same systems in as many Pods: {'; '.join(same)}"] if same else []
    notes += [f"not settled within their share of work and time: {'; '.join(open_ones)}"] if open_ones else []
    fewer = sorted({name for case in cases if case.changes for name in _added_precisions(case)})
    if fewer:
        where = ", ".join(f"`sizing catalog precisions {name}`" for name in fewer)
        notes.append(f"what is known of the quality of fewer bits: {where}")
    said += [bullets(notes)] if notes else []
    return "\n".join(["Sensitivity: what the answer becomes", *said])


def _added_precisions(case: SensitivityCase) -> set[str]:
    """KV precisions that a class accepts only there (decision 12)."""
    if not case.key.startswith(KV_PRECISION):
        return set()
    now, asked = (set(str(setting).split(", ")) for setting in (case.now, case.asked))
    return asked - now


def _bought(case: SensitivityCase) -> tuple[str, ...]:
    plan = case.plan
    if plan is None:
        return "", "no plan", "", ""
    return thousands(plan.pods), _systems(case, plan), thousands(plan.gpus), thousands(plan.nameplate_kw, 1)


def _systems(case: SensitivityCase, plan: PlanInBrief) -> str:
    return systems_bought(plan) + ("" if case.changes is not None else " (not proven to be the best)")
