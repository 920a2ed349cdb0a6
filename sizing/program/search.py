"""The search for a plan: each stage of the objective in turn gets a value and a lower bound, and is held for the next.

Each kind of system is searched by itself first: a small program each, and most answers are of one kind. The best of
them is the plan to start from; and once the stages held leave only one kind, the kinds by themselves are the whole
search.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf

from sizing.plan.choice import Choice
from sizing.plan.plan import StageResult
from sizing.program.deployments import Candidate
from sizing.program.exact import ExactSearch, NotFound
from sizing.program.objective import STAGES, TIE_BREAKS, Stage
from sizing.program.sets import Sets, sets_of
from sizing.program.solver import Effort
from sizing.request.request import Request

TIE_BREAK_NODES = 200
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
) -> Found | NotFound:
    """Minimise stages in order, those of the request's policy unless others are given."""
    sets = sets_of(request, candidates)
    if not sets.can_serve_all():
        return NotFound(proven=True, stopped=False)
    progress(f"{len(sets.candidates)} deployments on {len(sets.systems)} kinds of system")
    kinds = KindsApart(sets, effort)
    results: list[StageResult] = []
    for stage in stages or [STAGES[name] for name in request.policy.objective]:
        bound = kinds.minimise(stage)
        if isinstance(bound, NotFound):
            return bound
        value = kinds.value(stage)
        conditional = any(result.value != result.bound for result in results)
        result = StageResult(stage.name, stage.unit, value, min(bound, value), conditional)
        results.append(result)
        known = "proven" if result.bound == value else f"at least {result.bound:,}"
        progress(f"{stage.name}: {value:,} {stage.unit}, {known}")
        kinds.hold(stage, value)
    return Found(kinds.choice(), tuple(results), kinds.stopped)


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
        return self._best(stage).value(stage)

    def minimise(self, stage: Stage) -> int | NotFound:
        """Improve the plan in one stage; the best bound found, or that there is no plan at all."""
        bounds = self._minimise_alone(stage)
        if self._one_kind_left:
            return min(bounds)
        if self._alone and (self._together.plan is None or self.value(stage) < self._together.value(stage)):
            self._together.plan = self._best(stage).plan
        return self._together.minimise(stage)

    def hold(self, stage: Stage, value: int) -> None:
        """From now on the stage is at most `value`. Kinds that do not reach it by themselves are dropped."""
        self._alone = [kind for kind in self._alone if kind.value(stage) <= value]
        for each in (self._together, *self._alone):
            each.hold(stage, value)
        if stage is STAGES["system_kinds"] and value == 1 and self._alone and not self._dropped_unproven:
            self._one_kind_left = True

    def choice(self) -> Choice:
        """The best plan, ties broken: of kinds that are equal in every stage, the first by name."""
        best = self._alone[0] if self._one_kind_left else self._together
        for stage in TIE_BREAKS:
            best.improve(stage, TIE_BREAK_NODES)
            best.hold(stage, best.value(stage))
        assert best.plan is not None
        return best.plan.choice()

    def _best(self, stage: Stage) -> ExactSearch:
        searches = [] if self._one_kind_left else [self._together]
        with_plan = [each for each in (*searches, *self._alone) if each.plan is not None]
        return min(with_plan, key=lambda each: each.value(stage))

    def _minimise_alone(self, stage: Stage) -> list[int]:
        """Bounds of the kinds by themselves; those that no longer can be the answer alone are dropped."""
        bounds, remaining = [], []
        best = inf
        for kind in self._alone:
            bound = kind.minimise(stage, cutoff=best)
            if isinstance(bound, NotFound):
                self._dropped_unproven |= not bound.proven
                continue
            bounds.append(bound)
            if kind.plan is not None:
                remaining.append(kind)
                best = min(best, kind.value(stage))
        self._alone = remaining
        return bounds
