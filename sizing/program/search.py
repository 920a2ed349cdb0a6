"""The search for a plan: each stage of the objective in turn gets a value and a lower bound, and is held for the next.

Each kind of system is searched by itself first: a small program each, and most answers are of one kind. The best of
them is the plan to start from; and once the stages held leave only one kind, the kinds by themselves are the whole
search.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf

from sizing.plan.choice import Choice
from sizing.plan.plan import StageResult
from sizing.program.deployments import Candidate
from sizing.program.exact import ExactSearch, NotFound
from sizing.program.formulation import Formulation
from sizing.program.objective import STAGES, TIE_BREAKS, Stage, stages_of
from sizing.program.sets import Sets, sets_of
from sizing.program.slack import RIGID, Slack
from sizing.program.solver import Effort, stage_value
from sizing.request.request import Request
from sizing.units.amounts import in_steps

TIE_BREAK_GAP = 0.05
TIE_BREAK_NODES = 1
"""The tie-break improves nothing that is bought: it may not take long, and a count of nodes is the same everywhere."""

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Found:
    """The best choice found, and what each stage of the objective is known to be. `stopped` by the clock."""

    choice: Choice
    stages: tuple[StageResult, ...]
    stopped: bool


def search(
    request: Request,
    candidates: tuple[Candidate, ...],
    effort: Effort,
    progress: Progress = lambda _text: None,
    stages: Sequence[Stage] = (),
    slack: Slack = RIGID,
    tie_breaks: Sequence[Stage] = TIE_BREAKS,
) -> Found | NotFound:
    """Minimise stages in order, those of the request's policy unless others are given.

    `slack` is what may give way; `tie_breaks` are left out where only the values matter.
    """
    sets = sets_of(request, candidates, slack)
    if not sets.can_serve_all():
        return NotFound(proven=True, stopped=False)
    kinds_of_system = in_steps(len(sets.systems), "kinds")
    progress(f"{in_steps(len(sets.candidates), 'deployments')} on {kinds_of_system} of system")
    kinds = KindsApart(sets, effort)
    results: list[StageResult] = []
    stages = stages or stages_of(request)
    for stage in stages:
        bound = kinds.minimise(stage)
        if isinstance(bound, NotFound):
            return bound
        value = kinds.value(stage)
        conditional = any(result.value != result.bound for result in results)
        result = StageResult(stage.name, stage.unit, value, min(bound, value), conditional)
        results.append(result)
        known = "proven" if result.bound == value else f"at least {in_steps(min(bound, value), stage.unit)}"
        progress(f"{stage.name}: {in_steps(value, stage.unit)}, {known}")
        kinds.hold(stage, value)
    plan = kinds.plan(stages[-1], tie_breaks)
    values = [stage_value(stage, plan) for stage in stages]
    return Found(plan.choice(), tuple(_restated(results, values)), kinds.stopped)


def _restated(results: Sequence[StageResult], values: Sequence[int]) -> Iterator[StageResult]:
    """Results with the values of the plan: a stage that is not proven may come out better once others are minimised."""
    conditional = False
    for result, value in zip(results, values, strict=True):
        assert result.bound is not None
        yield replace(result, value=value, bound=min(result.bound, value), conditional=conditional)
        conditional = conditional or result.bound < value


class KindsApart:
    """All kinds of system together, and each by itself as long as it can still be the answer alone."""

    def __init__(self, sets: Sets, effort: Effort) -> None:
        self._together = ExactSearch(sets, effort)
        self._alone = [ExactSearch(part, effort) for part in sets.kinds_apart()] if len(sets.systems) > 1 else []
        self._dropped_unproven = False
        self._one_kind_left = False

    @property
    def stopped(self) -> bool:
        """Whether the clock stopped any part of the search."""
        return any(each.stopped for each in (self._together, *self._alone))

    def value(self, stage: Stage) -> int:
        best = self._best(stage)
        assert best is not None
        return best.value(stage)

    def minimise(self, stage: Stage) -> int | NotFound:
        """Improve the plan in one stage; the best bound found, or that there is no plan at all."""
        bound = self._minimise_alone(stage)
        if self._one_kind_left:
            return bound
        best = self._best(stage)
        if best is not None:
            self._together.plan = best.plan
        return self._together.minimise(stage)

    def hold(self, stage: Stage, value: int) -> None:
        """From now on the stage is at most `value`. Kinds whose bound is above it can no longer be the answer alone."""
        kept = []
        for kind in self._alone:
            bound = kind.quick_bound(stage)
            if not isinstance(bound, NotFound) and bound <= value:
                kept.append(kind)
        self._alone = kept
        for each in (self._together, *self._alone):
            each.hold(stage, value)
        if stage is STAGES["system_kinds"] and value == 1 and not self._dropped_unproven:
            self._one_kind_left = any(kind.plan is not None for kind in self._alone)

    def plan(self, last: Stage, tie_breaks: Sequence[Stage] = TIE_BREAKS) -> Formulation:
        """The best plan, ties broken: of kinds that are equal in every stage, the first by name."""
        best = self._together
        if self._one_kind_left:
            for kind in self._alone:
                if kind.plan is None:
                    kind.minimise(last)
            best = next(kind for kind in self._alone if kind.plan is not None)
        for stage in tie_breaks:
            best.improve(stage, TIE_BREAK_NODES, TIE_BREAK_GAP)
            best.hold(stage, best.value(stage))
        assert best.plan is not None
        return best.plan

    def _best(self, stage: Stage) -> ExactSearch | None:
        searches = self._alone if self._one_kind_left else [self._together, *self._alone]
        with_plan = [each for each in searches if each.plan is not None]
        return min(with_plan, key=lambda each: each.value(stage), default=None)

    def _minimise_alone(self, stage: Stage) -> int:
        """Improve the kinds that can be better than the best; a bound of all of them. Those without a plan are dropped.

        A kind that could only be as good as the best is left for the stages to come. Where the program is large, one
        kind is enough to start from.
        """
        quick: list[tuple[int, ExactSearch]] = []
        for kind in self._alone:
            bound = kind.quick_bound(stage)
            if isinstance(bound, NotFound):
                self._dropped_unproven |= not bound.proven
            else:
                quick.append((bound, kind))
        self._alone = [kind for _, kind in quick]
        best = min((kind.value(stage) for kind in self._alone if kind.plan is not None), default=inf)
        bounds = []
        for bound, kind in sorted(quick, key=lambda each: each[0]):
            if bound < best and (best == inf or self._one_kind_left or not self._together.is_large):
                improved = kind.minimise(stage, cutoff=best)
                if isinstance(improved, NotFound):
                    self._dropped_unproven |= not improved.proven
                    self._alone.remove(kind)
                    continue
                bounds.append(improved)
                if kind.plan is not None:
                    best = min(best, kind.value(stage))
            else:
                bounds.append(bound)
        return min(bounds, default=stage.floor)
