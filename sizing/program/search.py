"""The search: each stage of the objective in turn gets a lower bound and a plan, and is held for the next.

For every stage: the fractional relaxation with whole Pods and systems gives a bound; if the plan at hand does not
meet it, column generation on the stage's own linear relaxation finds the patterns that matter and a second bound; the
integer program over them improves the plan; and where the two still differ, the column set is *closed*, all patterns
that a better plan could use are added, and the integer program decides the stage (the rule of bounds).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TypeVar

from sizing.plan.choice import Choice
from sizing.plan.plan import StageResult
from sizing.program.constraints import STATEMENTS
from sizing.program.contents import Contents, FractionalContents, PatternContents
from sizing.program.deployments import Candidate
from sizing.program.formulation import Formulation, declare
from sizing.program.linear_program import Duals, LinearRelaxation
from sizing.program.objective import STAGES, TIE_BREAKS, Stage
from sizing.program.patterns import starting_columns
from sizing.program.pricing import closing_patterns, knapsack_groups, price
from sizing.program.sets import Sets, sets_of
from sizing.program.solver import Effort, Minimised, Minimiser, whole
from sizing.request.request import Request

TIE_BREAK_NODES = 200
"""The tie-break improves nothing that is bought: it may not take long, and a count of nodes is the same everywhere."""

MOST_CLOSING = 20_000
"""Patterns up to which a stage's column set is closed."""

MOST_ROUNDS = 200
"""Rounds of column generation in one stage; it converges in fewer, or hardly moves any more."""

TOLERANCE = 1e-6

Progress = Callable[[str], None]
Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Found:
    """The best choice found, and what each stage of the objective is known to be. `stopped` by the clock."""

    choice: Choice
    stages: tuple[StageResult, ...]
    stopped: bool


@dataclass(frozen=True, slots=True)
class NotFound:
    """No choice: `proven` when the relaxation, or the program over all patterns, has no solution."""

    proven: bool
    stopped: bool


@dataclass(frozen=True, slots=True)
class Converged:
    """What column generation showed of a stage: a bound over all patterns, and the duals that closing needs.

    Values times `scale` are dual feasible over all patterns; `bound` is what they then prove, unrounded.
    """

    duals: Duals
    scale: float
    bound: float


def search(
    request: Request,
    candidates: tuple[Candidate, ...],
    effort: Effort,
    progress: Progress = lambda _text: None,
    stages: Sequence[Stage] = (),
) -> Found | NotFound:
    """Minimise stages in order, those of the request's policy unless others are given."""
    sets = sets_of(request, candidates)
    offered = {name for name, _ in sets.served_pairs()}
    if any(service.name not in offered for service in sets.classes) or not any(sets.fills.values()):
        return NotFound(proven=True, stopped=False)
    return _Search(sets, effort, progress).run(stages or [STAGES[name] for name in request.policy.objective])


def formulate(sets: Sets, contents: Contents) -> Formulation:
    """The whole program: variables, and every statement about them."""
    formulation = declare(sets, contents)
    for state in STATEMENTS:
        state(formulation)
    return formulation


class _Search:
    def __init__(self, sets: Sets, effort: Effort, progress: Progress) -> None:
        self.sets = sets
        self.effort = effort
        self.progress = progress
        self.demands = {service.name: service.demand for service in sets.classes}
        self.columns = starting_columns(sets.candidates, self.demands)
        self.groups = knapsack_groups(sets.candidates, self.demands)
        self.relaxed = Minimiser(formulate(sets, FractionalContents()), effort)
        self.exact = Minimiser(formulate(sets, PatternContents(self.columns)), effort)
        self.held: list[tuple[Stage, int]] = []
        self.stopped = False
        all_there_are = " (all there are)" if self.columns.complete else ""
        progress(f"{len(sets.candidates)} deployments, {len(self.columns):,} patterns to begin with{all_there_are}")

    @property
    def has_plan(self) -> bool:
        return self.exact.has_solution

    def run(self, stages: Sequence[Stage]) -> Found | NotFound:
        results: list[StageResult] = []
        for stage in stages:
            bound = self._minimise_stage(stage)
            if isinstance(bound, NotFound):
                return bound
            value = self.exact.value(stage)
            conditional = any(result.value != result.bound for result in results)
            result = StageResult(stage.name, stage.unit, value, min(bound, value), conditional)
            results.append(result)
            self.progress(
                f"{stage.name}: {value:,} {stage.unit}"
                + (", proven" if result.bound == value else f", at least {result.bound:,}")
            )
            self._hold(stage, value)
        for stage in TIE_BREAKS:
            if self.exact.value(stage) > stage.floor:
                self.exact.minimise(stage, most_nodes=TIE_BREAK_NODES)
            self.exact.hold(stage, self.exact.value(stage))
        return Found(self._choice(), tuple(results), self.stopped)

    def _minimise_stage(self, stage: Stage) -> int | NotFound:
        """Improve the plan in one stage; the best bound found, or that there is no plan at all."""
        if self._is_met(stage, stage.floor):
            return stage.floor
        relaxed = self._minimise(self.relaxed, stage)
        if relaxed.infeasible and not self.has_plan:
            return NotFound(proven=True, stopped=False)
        bound = max(relaxed.bound, stage.floor)
        if self._is_met(stage, bound):
            return bound
        if self.columns.complete:
            return self._decide(stage, bound)
        if not self.has_plan and not self._serve_all():
            return NotFound(proven=not self.stopped, stopped=self.stopped)
        converged = self._generate(stage)
        self._minimise(self.exact, stage)
        if not self.has_plan:
            return NotFound(proven=False, stopped=self.stopped)
        if converged is None:
            return bound
        bound = max(bound, ceil(converged.bound - TOLERANCE))
        if self._is_met(stage, bound) or not self._close(stage, converged):
            return bound
        return self._decide(stage, bound)

    def _decide(self, stage: Stage, bound: int) -> int | NotFound:
        """The integer program over a column set that lacks nothing: its value is the stage's, its bound valid."""
        exact = self._minimise(self.exact, stage)
        if not self.has_plan:
            return NotFound(proven=exact.infeasible, stopped=exact.stopped)
        return max(bound, exact.bound)

    def _is_met(self, stage: Stage, bound: int) -> bool:
        return self.has_plan and self.exact.value(stage) <= bound

    def _minimise(self, minimiser: Minimiser, stage: Stage) -> Minimised:
        minimised = minimiser.minimise(stage)
        self.stopped = self.stopped or minimised.stopped
        return minimised

    def _hold(self, stage: Stage, value: int) -> None:
        self.held.append((stage, value))
        self.relaxed.hold(stage, value)
        self.exact.hold(stage, value)

    def _serve_all(self) -> bool:
        """Patterns with which the linear relaxation serves everybody; False where no patterns do."""
        converged = self._generate(None)
        return converged is not None and converged.duals.objective <= TOLERANCE * max(1, sum(self.demands.values()))

    def _generate(self, stage: Stage | None) -> Converged | None:
        """Column generation on one stage's objective; the new patterns then join the integer program."""
        relaxation = LinearRelaxation(self.exact.formulation, stage, self.effort.seconds_left)
        converged: Converged | None = None
        before = len(self.columns)
        for _ in range(MOST_ROUNDS):
            duals = relaxation.solve()
            if duals is None or self.effort.seconds_left <= 0:
                self.stopped = self.stopped or self.effort.seconds_left <= 0
                break
            priced = price(self.groups, duals)
            bound = duals.objective - (1 - priced.scale) * max(0.0, duals.demand_worth)
            if converged is None or bound > converged.bound:
                converged = Converged(duals, priced.scale, bound)
            new = self.columns.add(priced.patterns)
            if not new:
                converged = Converged(duals, priced.scale, bound)
                break
            for deployment, pattern in new:
                relaxation.add(deployment, pattern)
        if len(self.columns) > before:
            self._rebuild()
        return converged

    def _close(self, stage: Stage, converged: Converged) -> bool:
        """Add every pattern that a plan better by one unit could use; False where they are too many."""
        margin = self.exact.value(stage) - 1 - converged.bound
        patterns = closing_patterns(self.groups, converged.duals, converged.scale, margin, self.demands, MOST_CLOSING)
        if patterns is None:
            return False
        if self.columns.add(patterns):
            self._rebuild()
        return True

    def _rebuild(self) -> None:
        """The integer program over the columns there are now, at the plan there is."""
        before = self.exact.formulation
        formulation = formulate(self.sets, PatternContents(self.columns))
        if self.has_plan:
            formulation.start_from(before)
        self.exact = Minimiser(formulation, self.effort, self.has_plan)
        for stage, value in self.held:
            self.exact.hold(stage, value)

    def _choice(self) -> Choice:
        formulation = self.exact.formulation
        model, sets = formulation.model, self.sets
        return Choice(
            pods=_positive(
                {(site, sets.fills[site][number]): model.pods[site, number] for site, number in formulation.fills()}
            ),
            systems=_positive(
                {(site, system): model.systems[site, system] for site in sets.sites for system in sets.systems}
            ),
            deployments={c.deployment.id: c.deployment for c in sets.candidates},
            replicas=_positive({c.deployment.id: model.replicas[c.deployment.id] for c in sets.candidates}),
            pools=_positive(formulation.contents.pool_variables(model)),
            served=_positive({pair: model.served[number] for number, pair in enumerate(formulation.pairs)}),
        )


def _positive(variables: Mapping[Key, object]) -> dict[Key, int]:
    return {key: count for key, variable in variables.items() if (count := whole(variable)) > 0}
