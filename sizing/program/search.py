"""The search for a plan: each stage of the objective in turn gets a value and a lower bound, and is held for the next.

Each kind of system is searched by itself first: a small program each, and most answers are of one kind. The best of
them is the plan to start from; and once the stages held leave only one kind, the kinds by themselves are the whole
search. Of a large program the kind that promises most comes first, so that there soon is a plan.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import ceil, inf, isfinite

from sizing.plan.choice import Choice
from sizing.plan.plan import StageResult
from sizing.program.deployments import Candidate
from sizing.program.exact import ExactSearch, NotFound
from sizing.program.formulation import Formulation
from sizing.program.objective import STAGES, TIE_BREAKS, Stage, stages_of
from sizing.program.promise import Promise
from sizing.program.sets import Sets, sets_of
from sizing.program.slack import RIGID, Slack
from sizing.program.solver import SHARE_FOR_A_PLAN, Effort, stage_value
from sizing.request.request import Request
from sizing.units.amounts import in_steps

TIE_BREAK_GAP = 0.05
TIE_BREAK_NODES = 1
"""The tie-break improves nothing that is bought: it may not take long, and a count of nodes is the same everywhere."""

TWO_KINDS = 2

TOLERANCE = 1e-6

MOST_PAIRS = 12
"""Pairs of kinds up to which each is searched by itself."""

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Found:
    """The best choice found, and what each stage of the objective is known to be. `stopped` by the clock.

    `notes` are sentences for the report on how it was found.
    """

    choice: Choice
    stages: tuple[StageResult, ...]
    stopped: bool
    notes: tuple[str, ...] = ()

    def later(self) -> tuple[StageResult, ...]:
        """The stages after the first, as if it had never been one: they are conditional on each other only."""
        _, *stages = self.stages
        proven = [stage.value == stage.bound for stage in stages]
        return tuple(replace(stage, conditional=not all(proven[:number])) for number, stage in enumerate(stages))

    def is_within(self, gap: float) -> bool:
        """Whether every stage is known to be within a gap of its bound; 0: whether all is proven."""
        return all(stage.gap is not None and stage.gap <= gap for stage in self.stages)


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
    kinds = KindsApart(sets, effort, progress)
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
    """All kinds of system together, and few of them by themselves as long as they can still be the answer.

    `_apart` are searches of one kind each; or of two, once the stages held leave none alone and just two together.
    """

    def __init__(self, sets: Sets, effort: Effort, progress: Progress) -> None:
        self._progress = progress
        self._told: tuple[str, int] | None = None
        self._effort = effort
        self._together = ExactSearch(sets, replace(effort, share_for_a_plan=SHARE_FOR_A_PLAN), self._tell)
        self._promise = Promise(sets)
        parts = sets.kinds_apart() if len(sets.systems) > 1 else []
        self._apart = [ExactSearch(part, effort, self._tell) for part in parts]
        self._pairs: dict[tuple[str, ...], ExactSearch] = {}
        self._held: list[tuple[Stage, int]] = []
        self._dropped_unproven = False
        self._apart_suffices = False

    @property
    def stopped(self) -> bool:
        """Whether the clock stopped any part of the search."""
        return any(each.stopped for each in (self._together, *self._apart, *self._pairs.values()))

    def value(self, stage: Stage) -> int:
        best = self._best(stage)
        assert best is not None
        return best.value(stage)

    def minimise(self, stage: Stage) -> int | NotFound:
        """Improve the plan in one stage; the best bound found, or that there is no plan at all."""
        bound = self._minimise_apart(stage)
        if self._apart_suffices:
            return bound
        best = self._best(stage)
        if best is not None:
            self._together.plan = best.plan
            if stage is STAGES["system_kinds"] and self._takes_two and best.value(stage) == TWO_KINDS:
                return TWO_KINDS
        return self._together.minimise(stage)

    def hold(self, stage: Stage, value: int) -> None:
        """From now on the stage is at most `value`. Kinds whose bound is above it can no longer be the answer alone."""
        best = self._best(stage)
        kept = []
        for part in self._apart:
            bound = part.quick_bound(stage, cutoff=value)
            if not isinstance(bound, NotFound) and bound <= value:
                kept.append(part)
        self._apart = kept
        self._held.append((stage, value))
        for each in (self._together, *self._apart, *self._pairs.values()):
            each.hold(stage, value)
        if stage is STAGES["system_kinds"] and not self._dropped_unproven:
            if value == 1:
                self._apart_suffices = any(part.plan is not None for part in self._apart)
            elif value == TWO_KINDS and self._takes_two and self._together.is_large and best is not None:
                self._leave_pairs(best)

    @property
    def _takes_two(self) -> bool:
        """Whether no kind alone can be the answer."""
        return len(self._together.sets.systems) > 1 and not self._apart and not self._dropped_unproven

    def _leave_pairs(self, best: ExactSearch) -> None:
        """Search on in pairs of kinds, where those that the Pods held leave are few."""
        pods = next((value for stage, value in self._held if stage is STAGES["pods"]), None)
        if pods is None or self._together.sets.request.policy.mixed_pods:
            return
        pairs = [pair for pair in self._all_pairs() if self._promise.pods(pair) <= pods + TOLERANCE]
        if len(pairs) > MOST_PAIRS:
            return
        self._apart = [self._pair(pair) for pair in pairs]
        self._pairs.clear()
        assert best.plan is not None
        used = best.plan.kinds_used()
        for pair in self._apart:
            if used <= set(pair.sets.systems):
                pair.plan = best.plan
        self._apart_suffices = any(pair.plan is not None for pair in self._apart)

    def _all_pairs(self) -> list[tuple[str, ...]]:
        return list(combinations(self._together.sets.systems, TWO_KINDS))

    def _pair(self, kinds: tuple[str, ...]) -> ExactSearch:
        if kinds not in self._pairs:
            search = ExactSearch(self._together.sets.of_kinds(kinds), self._effort, self._tell)
            if self._held:  # a plan of its own to start from, which may be good enough for what is held
                search.minimise(self._held[0][0], roughly=True)
            for stage, value in self._held:
                search.hold(stage, value)
            self._pairs[kinds] = search
        return self._pairs[kinds]

    def plan(self, last: Stage, tie_breaks: Sequence[Stage] = TIE_BREAKS) -> Formulation:
        """The best plan, ties broken: of kinds that are equal in every stage, the first by name."""
        best = self._together
        if self._apart_suffices:
            for kind in self._apart:
                if kind.plan is None:
                    kind.minimise(last)
            best = next(kind for kind in self._apart if kind.plan is not None)
        for stage in tie_breaks:
            best.improve(stage, TIE_BREAK_NODES, TIE_BREAK_GAP)
            best.hold(stage, best.value(stage))
        assert best.plan is not None
        return best.plan

    def _start(self, stage: Stage) -> None:
        """A first plan of a large program, of the kind that promises most, or of two where these promise fewer Pods."""
        alone = [tuple(part.sets.systems) for part in self._apart]
        pods = {kinds: self._promise.pods(kinds) for kinds in (*alone, *self._all_pairs())}
        whole = {kinds: ceil(each) for kinds, each in pods.items() if isfinite(each)}
        if whole:
            best = min(whole, key=lambda kinds: (whole[kinds], len(kinds), pods[kinds], kinds))
            search = self._pair(best) if best not in alone else self._apart[alone.index(best)]
            search.minimise(stage, roughly=True)

    def _tell(self, stage: Stage, value: int) -> None:
        """Progress, where a plan is better in the stage than all before it."""
        if stage not in TIE_BREAKS and (self._told is None or self._told[0] != stage.name or value < self._told[1]):
            self._told = stage.name, value
            self._progress(f"{stage.name}: a plan of {in_steps(value, stage.unit)}")

    def _best(self, stage: Stage) -> ExactSearch | None:
        searches = self._apart if self._apart_suffices else [self._together, *self._apart, *self._pairs.values()]
        with_plan = [each for each in searches if each.plan is not None]
        return min(with_plan, key=lambda each: each.value(stage), default=None)

    def _minimise_apart(self, stage: Stage) -> int:
        """Improve the kinds that can be better than the best; a bound of all of them. Those without a plan are dropped.

        A kind that could only be as good as the best is left for the stages to come.
        """
        if self._together.is_large and self._best(stage) is None:
            self._start(stage)
        with_plan = [each for each in (*self._apart, *self._pairs.values()) if each.plan is not None]
        best = min((each.value(stage) for each in with_plan), default=inf)
        quick: list[tuple[int, ExactSearch]] = []
        for kind in self._apart:
            bound = kind.quick_bound(stage, cutoff=best)
            if isinstance(bound, NotFound):
                self._dropped_unproven |= not bound.proven
            else:
                quick.append((bound, kind))
        self._apart = [kind for _, kind in quick]
        bounds = []
        for bound, kind in sorted(quick, key=lambda each: each[0]):
            if bound < best:
                roughly = self._together.is_large and not self._apart_suffices
                improved = kind.minimise(stage, cutoff=best, roughly=roughly)
                if isinstance(improved, NotFound):
                    if self._apart_suffices and not improved.proven:
                        bounds.append(bound)  # no other search covers what this one leaves open
                    else:
                        self._dropped_unproven |= not improved.proven
                        self._apart.remove(kind)
                    continue
                bounds.append(improved)
                if kind.plan is not None:
                    best = min(best, kind.value(stage))
            else:
                bounds.append(bound)
        return min(bounds, default=stage.floor)
