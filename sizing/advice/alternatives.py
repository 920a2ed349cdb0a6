"""The next best plans that buy something else: the best under each restriction that the answer does not keep."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction

from sizing.advice.conflicts import Conflicts
from sizing.advice.questions import Questions
from sizing.advice.restrictions import Restriction, restrictions
from sizing.advice.shares import best_plan, in_turn
from sizing.facility.deployment import Precisions
from sizing.plan.check import check
from sizing.plan.compose import compose
from sizing.plan.limits import stated_limits
from sizing.plan.plan import Alternative, Alternatives, NoAlternative, Plan, Status
from sizing.plan.words import signed, stated_in_words
from sizing.program.deployments import Candidate
from sizing.program.exact import NotFound
from sizing.program.search import Found
from sizing.program.solver import Effort

Progress = Callable[[str], None]

MOST_NAMES = 3
"""Classes up to which they are named one by one."""

NOT_SETTLED = "not reached, or cut short by the work or the time that one question gets"


def alternatives(
    plan: Plan, candidates: tuple[Candidate, ...], number: int, effort: Effort, progress: Progress = lambda _text: None
) -> tuple[Alternatives, bool]:
    """At most `number` plans, best first, and whether the clock stopped a search for one.

    Each passes the check that the answer passes. Those that buy the same are one, under all their names.
    """
    found: list[Alternative] = []
    none: list[NoAlternative] = []
    stopped = False
    for restriction, share in in_turn(restrictions(plan, candidates), effort):
        if share.seconds_left > 0:
            progress(f"an alternative: {restriction.name}")
        best = best_plan(restriction.request, restriction.candidates, share)
        stopped = stopped or best.stopped
        if isinstance(best, NotFound):
            status = Status.INFEASIBLE if best.proven else Status.TIMEOUT
            none.append(NoAlternative(restriction.name, _why(restriction, best, share), status))
            continue
        other = _composed(restriction, best)
        if check(other):
            none.append(NoAlternative(restriction.name, "the plan found does not pass the check", Status.TIMEOUT))
        elif _purchase(other) != _purchase(plan) and _is_better_by_its_own(other, plan):
            found.append(Alternative(restriction.name, tuple(_differences(plan, other)), other))
    found.sort(key=lambda each: _rank(plan, each))
    return Alternatives(tuple(_merged(found)[:number]), tuple(none)), stopped


def _composed(restriction: Restriction, best: Found) -> Plan:
    return compose(restriction.request, best.choice, best.stages, (), not best.stopped, best.notes)


def _purchase(plan: Plan) -> tuple[object, ...]:
    return plan.totals.pods, plan.systems


def _is_better_by_its_own(other: Plan, plan: Plan) -> bool:
    """Whether a plan of other stages, or of another order, is better by those than the answer, which is one of them.

    A search that was cut short may say less. Where the stages are the same ones, the answer is best by them anyway.
    """
    if other.request.policy.objective == plan.request.policy.objective:
        return True
    ours = {stage.stage: stage.value for stage in plan.stages}
    return tuple(stage.value for stage in other.stages) < tuple(ours[stage.stage] for stage in other.stages)


def _rank(plan: Plan, alternative: Alternative) -> tuple[tuple[int, ...], str]:
    """By the stages in the order of the plan's own objective."""
    values = {stage.stage: stage.value for stage in alternative.plan.stages}
    return tuple(values[stage.stage] for stage in plan.stages), alternative.name


def _merged(ranked: list[Alternative]) -> list[Alternative]:
    """Each purchase once: the best plan that makes it, under the names of all."""
    merged: dict[tuple[object, ...], Alternative] = {}
    for each in ranked:
        best = merged.setdefault(_purchase(each.plan), each)
        if best is not each:
            merged[_purchase(each.plan)] = replace(best, name=f"{best.name}, or {each.name}")
    return list(merged.values())


def _why(restriction: Restriction, nothing: NotFound, effort: Effort) -> str:
    """Why there is no plan, in brief: classes that nothing holds, else the limits that cannot be kept."""
    request = restriction.request
    held = {name for each in restriction.candidates for name in each.sizes}
    homeless = sorted({service.name for service in request.classes} - held)
    if homeless:
        return f"it cannot hold {', '.join(f'`{name}`' for name in homeless)}"
    if not nothing.proven:
        return NOT_SETTLED
    limits = stated_limits(request)
    conflicts = Conflicts(Questions(request, restriction.candidates, effort), limits)
    if conflicts.fits_nowhere:
        return "no Pod can hold the classes together"
    said = [[stated_in_words(request, limit) for limit in conflict] for conflict in conflicts.found]
    return "; ".join(
        f"{each[0]} is too little" if len(each) == 1 else f"{' and '.join(each)} cannot be kept together"
        for each in said
    )


def _differences(plan: Plan, other: Plan) -> Iterator[str]:
    """What is other than in the plan, in words: `+1 Pod`, `+12.3 kW`, `` `chat` at bf16 in place of fp8``."""
    ours, theirs = plan.totals, other.totals
    amounts = [
        (Fraction(theirs.pods - ours.pods), "Pods"),
        (Fraction(len(other.systems) - len(plan.systems)), "kinds"),
        (Fraction(theirs.gpus - ours.gpus), "GPUs"),
        (theirs.nameplate_kw - ours.nameplate_kw, "kW"),
    ]
    if theirs.cost_usd is not None and ours.cost_usd is not None:
        amounts.append((theirs.cost_usd - ours.cost_usd, "USD"))
    yield from (signed(amount, unit) for amount, unit in amounts if amount)
    before = {served.name: served.precisions for served in plan.classes}
    others: dict[str, list[str]] = {}
    for served in other.classes:
        if served.precisions != before[served.name]:
            others.setdefault(_precisions(served.precisions, before[served.name]), []).append(f"`{served.name}`")
    for precisions, names in others.items():
        yield f"{', '.join(names) if len(names) <= MOST_NAMES else f'{len(names):,} classes'} at {precisions}"


def _precisions(now: tuple[Precisions, ...], before: tuple[Precisions, ...]) -> str:
    """`bf16 in place of fp8`: of KV alone where the weights are the same."""
    same_weights = {pair.weights for pair in now} == {pair.weights for pair in before}
    said = [" and ".join(pair.kv if same_weights else str(pair) for pair in pairs) for pairs in (now, before)]
    return f"{said[0]} in place of {said[1]}"
