"""Whether the choice of systems stands wherever in their published ranges the nameplates truly are (decision 8).

The stage `power` compares single figures. Another plan, of other kinds and as good in the stages before, could be the
better one where its least kW does not exceed the most kW of the plan.
"""

from collections.abc import Iterator
from dataclasses import replace
from math import lcm

from sizing.advice.bounds import least
from sizing.plan.brief import brief_of_choice, brief_of_plan, kw_range
from sizing.plan.inventory import installed_systems
from sizing.plan.plan import Plan, PlanInBrief, PowerRanges, StageResult, Status
from sizing.program.deployments import Candidate
from sizing.program.formulation import Formulation
from sizing.program.objective import Stage, Terms, stage_of
from sizing.program.search import Found
from sizing.program.sets import Sets, sets_of
from sizing.program.solver import Effort
from sizing.program.within_limits import search_within_limits
from sizing.request.objective import parse_aim
from sizing.request.request import Request


def power_ranges(plan: Plan, candidates: tuple[Candidate, ...], effort: Effort) -> tuple[PowerRanges, bool]:
    """The plans of other kinds that the ranges leave open, and whether the clock stopped the search for them."""
    own = brief_of_plan(plan)
    others: list[PlanInBrief] = []
    settled, stopped = not _is_blended(plan, candidates), False
    for among in _alternatives(plan, candidates):
        if _is_excluded(plan, own, sets_of(plan.request, among)):
            continue
        if plan.status is not Status.OPTIMAL:
            settled = False  # where the plan itself is not proven, a further search would settle nothing
            continue
        other, is_settled, was_stopped = _other(plan, own, among, effort)
        settled, stopped = settled and is_settled, stopped or was_stopped
        if other is not None and other not in others:
            others.append(other)
    others.sort(key=lambda other: (other.nameplate_kw, other.systems))
    decided = False if others else True if settled else None
    return PowerRanges(decided, own.nameplate_range_kw, tuple(others)), stopped


def _before_power(plan: Plan) -> tuple[StageResult, ...]:
    names = [stage.stage for stage in plan.stages]
    return plan.stages[: names.index("power")] if "power" in names else plan.stages


def _alternatives(plan: Plan, candidates: tuple[Candidate, ...]) -> Iterator[tuple[Candidate, ...]]:
    """Candidates without the plan's kinds: each other kind by itself where one kind was the least, before power.

    Else all but one of the plan's kinds. None where power is no stage.
    """
    if all(stage.stage != "power" for stage in plan.stages):
        return
    own = {name for name, _ in plan.systems}
    kinds = sorted({candidate.deployment.system.name for candidate in candidates})
    installed = installed_systems(plan.request).keys()
    one_kind = any(stage.stage == "system_kinds" and stage.value == 1 for stage in _before_power(plan))
    if one_kind:
        sets_of_kinds = [{kind} | installed for kind in kinds if kind not in own]
    else:
        sets_of_kinds = [set(kinds) - {kind} for kind in sorted(own)]
    for members in sets_of_kinds:
        among = tuple(candidate for candidate in candidates if candidate.deployment.system.name in members)
        if among:
            yield among


def _is_blended(plan: Plan, candidates: tuple[Candidate, ...]) -> bool:
    """Whether ranges of kW enter a blended stage, which is not looked at."""
    blends = [aim for stage in plan.stages if (aim := parse_aim(stage.stage)).is_blend]
    ranges = [kw_range(candidate.deployment.system) for candidate in candidates]
    return any("power" in aim.names for aim in blends) and any(low < high for low, high in ranges)


def _is_excluded(plan: Plan, own: PlanInBrief, sets: Sets) -> bool:
    """Whether arithmetic shows that no plan on these kinds is as good in the stages before, and overlaps in kW."""
    low, high = own.nameplate_range_kw
    ranges = [kw_range(system) for system in sets.systems.values()]
    if low == high and all(least_kw == most_kw for least_kw, most_kw in ranges):
        return True
    needs = least(sets, lambda system: kw_range(system)[0])
    if needs is None or needs.kw > high:
        return True
    most = {stage.stage: stage.value for stage in _before_power(plan)}
    return needs.pods > most.get("pods", needs.pods) or needs.gpus > most.get("gpus", needs.gpus)


def _other(
    plan: Plan, own: PlanInBrief, among: tuple[Candidate, ...], effort: Effort
) -> tuple[PlanInBrief | None, bool, bool]:
    """(the plan of least kW at the low ends, where it leaves the choice open; whether that is settled; stopped)."""
    before = _before_power(plan)
    stages = [no_better_than(plan.request, result) for result in before]
    least_power = _least_power(plan.request)
    found = search_within_limits(plan.request, among, effort, stages=(*stages, least_power))
    if not isinstance(found, Found):
        return None, found.proven, found.stopped
    for theirs, ours in zip(found.stages, before, strict=False):
        if theirs.value > ours.value:
            return None, theirs.bound is not None and theirs.bound > ours.value, found.stopped
    other = brief_of_choice(plan.request, found.choice)
    if other.nameplate_range_kw[0] <= own.nameplate_range_kw[1]:
        return other, True, found.stopped
    return None, found.stages[-1].value == found.stages[-1].bound, found.stopped


def no_better_than(request: Request, result: StageResult) -> Stage:
    """A stage that need not be better than in the plan: only whether others are as good is asked."""
    stage = stage_of(request, result.stage)
    return stage if stage.floor >= result.value else replace(stage, floor=result.value)


def _least_power(request: Request) -> Stage:
    """Installed nameplate with every figure at the low end of its range, in whole parts of a kW."""
    low = {system.name: kw_range(system)[0] for system in request.candidates}
    parts = lcm(*(kw.denominator for kw in low.values()))

    def terms(formulation: Formulation) -> Terms:
        return [
            (int(low[system.name] * parts), bought)
            for site in formulation.sets.sites
            for system, bought in formulation.systems_at(site)
        ]

    return Stage("least_power", f"1/{parts} kW", terms)
