"""What the answer becomes where one limit, or one choice of the policy, is another: a bounded search each.

Often there is nothing to search for: a plan that is the best where more is allowed is the best wherever it is allowed
still, as the answer where a limit falls that it does not use up, or at higher limits where it is the best without any.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

from sizing.advice.cases import ANSWER, Case, limit_cases, policy_cases, without_limits
from sizing.advice.shares import best_plan, in_turn
from sizing.plan.brief import brief_of_plan
from sizing.plan.check import check
from sizing.plan.choice import Choice
from sizing.plan.compose import compose
from sizing.plan.plan import Plan, SensitivityCase, Status
from sizing.program.deployments import Candidate, enumerate_options
from sizing.program.exact import NotFound
from sizing.program.solver import Effort
from sizing.request.objective import parse_aim

Progress = Callable[[str], None]

_PRECISION = {"precision", "weight_precision"}


@dataclass(frozen=True, slots=True)
class _Best:
    """The best plan of a case: None where there is none, or it is not known whether there is."""

    status: Status
    plan: Plan | None = None
    choice: Choice | None = None

    @property
    def values(self) -> tuple[int, ...]:
        """Of the stages."""
        return () if self.plan is None else tuple(stage.value for stage in self.plan.stages)


def sensitivity_cases(
    plan: Plan,
    choice: Choice,
    candidates: tuple[Candidate, ...],
    effort: Effort,
    progress: Progress = lambda _text: None,
) -> tuple[tuple[SensitivityCase, ...], bool]:
    """Every case, in the order of `cases.py`, and whether the clock stopped a search. `choice` is that of the plan."""
    asking = _Asking(_Best(plan.status, plan, choice), candidates, progress)
    told = [*chain.from_iterable(limit_cases(plan.request)), *policy_cases(plan)]
    for case, share in in_turn(_widest_first([without_limits(plan.request), *told]), effort):
        asking.ask(case, share)
    return tuple(_told(plan, case, asking.best[case.what]) for case in told), asking.stopped


def _widest_first(cases: Sequence[Case]) -> list[Case]:
    """Each case after those that are wider: these may answer it."""
    by_name = {case.what: case for case in cases}
    ordered: dict[str, Case] = {}

    def add(case: Case) -> None:
        for name in case.wider:
            if name in by_name and name not in ordered:
                add(by_name[name])
        ordered[case.what] = case

    for case in cases:
        if case.what not in ordered:
            add(case)
    return list(ordered.values())


class _Asking:
    """Asks about one case after the other: `best` by what is asked. `stopped`: whether the clock ended an answer."""

    def __init__(self, answer: _Best, candidates: tuple[Candidate, ...], progress: Progress) -> None:
        self.best: dict[str, _Best] = {ANSWER: answer}
        self.stopped = False
        self._candidates = candidates
        self._progress = progress

    def ask(self, case: Case, effort: Effort) -> None:
        """The best plan of a case: without a search where one is known."""
        self.best[case.what] = self._known(case) or self._searched(case, effort)

    def _known(self, case: Case) -> _Best | None:
        """A plan that is allowed here, and as good as the best of a wider case: nothing here is better."""
        for name in case.wider:
            wider = self.best[name]
            if wider.status is Status.INFEASIBLE:
                return wider
            if wider.status is Status.OPTIMAL:
                for known in (self.best[ANSWER], wider):
                    if known.values == wider.values and (best := _allowed(known, case)) is not None:
                        return best
        return None

    def _searched(self, case: Case, effort: Effort) -> _Best:
        if effort.seconds_left > 0:
            self._progress(f"what if: {case.what}")
        candidates = self._candidates if case.of_same_candidates else enumerate_options(case.request).candidates
        found = best_plan(case.request, candidates, effort, tie_breaks=())
        self.stopped = self.stopped or found.stopped
        if isinstance(found, NotFound):
            return _Best(Status.INFEASIBLE if found.proven else Status.TIMEOUT)
        plan = compose(case.request, found.choice, found.stages, ())
        return _Best(Status.TIMEOUT) if check(plan) else _Best(plan.status, plan, found.choice)


def _allowed(best: _Best, case: Case) -> _Best | None:
    """A proven plan of another case under this one, where it passes the check there; its bounds hold there."""
    if best.plan is None or best.choice is None:
        return None
    plan = compose(case.request, best.choice, best.plan.stages, ())
    return None if check(plan) else _Best(plan.status, plan, best.choice)


def _told(plan: Plan, case: Case, best: _Best) -> SensitivityCase:
    now, then = brief_of_plan(plan), None if best.plan is None else brief_of_plan(best.plan)
    changes: bool | None = None
    if best.plan is None or then is None:
        changes = True if best.status is Status.INFEASIBLE else None
    elif _purchase_is_proven(plan) and _purchase_is_proven(best.plan):
        changes = (then.pods, then.systems) != (now.pods, now.systems)
    site = None if case.limit is None else case.limit.site
    return SensitivityCase(case.what, case.key, site, case.now, case.asked, case.unit, best.status, then, changes)


def _purchase_is_proven(plan: Plan) -> bool:
    """Whether every stage is proven up to the last that counts purchases: else a difference says nothing."""
    counts = [not set(parse_aim(stage.stage).names) <= _PRECISION for stage in plan.stages]
    last = max((number for number, is_counting in enumerate(counts) if is_counting), default=-1)
    return all(stage.value == stage.bound for stage in plan.stages[: last + 1])
