"""What the answer is, in a line or two: the same words on the screen and in the workbook."""

from fractions import Fraction

from sizing.plan.plan import Plan, PlanInBrief, StageResult, Status
from sizing.report.text import plural
from sizing.units.amounts import in_steps, in_whole_units, kw, percent, thousands

MEMORY_ONLY = "memory only: the least that can hold this load at its design peak; latencies are not checked"


def systems_bought(plan: Plan | PlanInBrief) -> str:
    """Systems by kind: `19 x hgx-b300-8, 2 x gb300-nvl72`."""
    return ", ".join(f"{thousands(count)} x {name}" for name, count in plan.systems)


def headline(plan: Plan) -> str:
    """Pods, systems by kind, GPUs and nameplate kW of the systems."""
    totals = plan.totals
    return _bought(totals.pods, systems_bought(plan), totals.gpus, totals.nameplate_kw)


def in_brief(plan: PlanInBrief) -> str:
    """The same of another plan."""
    return _bought(plan.pods, systems_bought(plan), plan.gpus, plan.nameplate_kw)


def _bought(pods: int, systems: str, gpus: int, nameplate_kw: Fraction) -> str:
    parts = [plural(pods, "Pod"), systems, plural(gpus, "GPU")]
    return ", ".join(part for part in parts if part) + f", {kw(nameplate_kw)} nameplate"


def stage_parts(stage: StageResult, amount: int) -> tuple[Fraction | int, str]:
    """(a value or bound of a stage, its unit); steps such as `0.1 kW` and `500 USD` become kW and USD."""
    step, unit = in_whole_units(stage.unit)
    return amount * step, unit


def stage_amount(stage: StageResult, amount: int) -> str:
    """A value or bound of a stage with its unit."""
    return in_steps(amount, stage.unit)


def standing(plan: Plan) -> str:
    """Optimal, or feasible with the value, bound and gap of every stage that is not proven."""
    if plan.status is Status.OPTIMAL:
        return "optimal: every stage of the objective is proven"
    unproven = [stage for stage in plan.stages if stage.bound != stage.value]
    return "; ".join([f"{plan.status}: not every stage is proven", *map(_open_stage, unproven)])


def _open_stage(stage: StageResult) -> str:
    found = f"stage {stage.stage}: {stage_amount(stage, stage.value)}"
    if not stage.bound or stage.gap is None:
        return f"{found}, no bound"
    given = ", given the stages before" if stage.conditional else ""
    return f"{found}, at least {stage_amount(stage, stage.bound)} (gap {percent(Fraction(stage.gap), 1)}{given})"
