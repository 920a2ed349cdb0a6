"""One stage of the objective over one set of candidates: a plan, and a lower bound that is valid (rule of bounds).

The fractional relaxation with whole Pods and systems gives a bound. If the plan at hand does not meet it, column
generation on the stage's own linear relaxation finds the patterns that matter and a second bound; the integer program
over them improves the plan. Where the two still differ, the column set is *closed*: all patterns that a better plan
could use are added, and the integer program decides the stage.
"""

from dataclasses import dataclass
from functools import cached_property
from math import ceil, inf

from sizing.program.constraints import STATEMENTS
from sizing.program.contents import Contents, FractionalContents, PatternContents
from sizing.program.formulation import Formulation, declare
from sizing.program.linear_program import Duals, LinearRelaxation
from sizing.program.objective import Stage
from sizing.program.patterns import Columns, starting_columns
from sizing.program.pricing import KnapsackGroup, closing_patterns, knapsack_groups, price
from sizing.program.sets import Sets
from sizing.program.solver import Effort, Minimised, Minimiser, stage_value

MOST_CLOSING = 4_000
"""Patterns up to which a stage's column set is closed."""

MOST_NODES_OF_A_BOUND = 500
"""Nodes spent on the stronger relaxation: its bound is valid wherever it is stopped."""

MOST_ROUNDS = 200
"""Rounds of column generation in one stage; it converges in fewer, or hardly moves any more."""

TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class NotFound:
    """No plan: `proven` where the relaxation, or the program over all patterns, has no solution."""

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


def formulate(sets: Sets, contents: Contents) -> Formulation:
    """The whole program: variables, and every statement about them."""
    formulation = declare(sets, contents)
    for state in STATEMENTS:
        state(formulation)
    return formulation


class ExactSearch:
    """Minimises stage after stage over one set of candidates.

    `plan` is a formulation whose variables have the values of the best plan known: of this search's own program, or
    of another's over some of the same candidates.
    """

    def __init__(self, sets: Sets, effort: Effort) -> None:
        self.sets = sets
        self.effort = effort
        self.plan: Formulation | None = None
        self.stopped = False
        self._demands = {service.name: service.demand for service in sets.classes}
        self._held: list[tuple[Stage, int]] = []

    def value(self, stage: Stage) -> int:
        """The stage's value in the best plan known."""
        assert self.plan is not None
        return stage_value(stage, self.plan)

    def minimise(self, stage: Stage, cutoff: float = inf) -> int | NotFound:
        """Improve the plan in one stage; the best bound found, or that there is no plan at all.

        Where a bound is above `cutoff`, nothing better can come of it and the search ends there.
        """
        bound = stage.floor
        if self._is_met(stage, bound):
            return bound
        if len(self.sets.systems) == 1 and self._columns.complete:
            return self._decide(stage, bound)  # so small that a relaxation would only cost time
        relaxed = self._minimise(self._relaxed, stage)
        if relaxed.infeasible and self.plan is None:
            return NotFound(proven=True, stopped=False)
        bound = max(bound, relaxed.bound)
        if self._is_met(stage, bound) or bound > cutoff:
            return bound
        if self._columns.complete:
            return self._decide(stage, bound)
        bound = max(bound, self._minimise(self._relaxed_whole, stage, MOST_NODES_OF_A_BOUND).bound)
        if self._is_met(stage, bound) or bound > cutoff:
            return bound
        if self.plan is None and not self._serve_all():
            return NotFound(proven=not self.stopped, stopped=self.stopped)
        converged = self._generate(stage)
        self._improve(stage)
        if self.plan is None:
            return NotFound(proven=False, stopped=self.stopped)
        if converged is None:
            return bound
        bound = max(bound, ceil(converged.bound - TOLERANCE))
        if self._is_met(stage, bound) or bound > cutoff or not self._close(stage, converged):
            return bound
        return self._decide(stage, bound)

    def improve(self, stage: Stage, most_nodes: int) -> None:
        """Improve the plan a little in a stage that proves nothing; how far is a count of nodes, not of seconds."""
        if self.value(stage) > stage.floor:
            self._improve(stage, most_nodes)

    def hold(self, stage: Stage, value: int) -> None:
        """From now on the stage is at most `value`."""
        self._held.append((stage, value))
        for name in ("_relaxed", "_relaxed_whole", "_exact"):
            if name in vars(self):
                getattr(self, name).hold(stage, value)

    @cached_property
    def _columns(self) -> Columns:
        return starting_columns(self.sets.candidates, self._demands)

    @cached_property
    def _groups(self) -> tuple[KnapsackGroup, ...]:
        return knapsack_groups(self.sets.candidates, self._demands)

    @cached_property
    def _relaxed(self) -> Minimiser:
        return self._minimiser(FractionalContents())

    @cached_property
    def _relaxed_whole(self) -> Minimiser:
        return self._minimiser(FractionalContents(whole_replicas=True))

    @cached_property
    def _exact(self) -> Minimiser:
        return self._minimiser(PatternContents(self._columns))

    def _minimiser(self, contents: Contents) -> Minimiser:
        minimiser = Minimiser(formulate(self.sets, contents), self.effort)
        for stage, value in self._held:
            minimiser.hold(stage, value)
        return minimiser

    def _is_met(self, stage: Stage, bound: int) -> bool:
        return self.plan is not None and self.value(stage) <= bound

    def _decide(self, stage: Stage, bound: int) -> int | NotFound:
        """The integer program over a column set that lacks nothing: its value is the stage's, its bound valid."""
        exact = self._improve(stage)
        if self.plan is None:
            return NotFound(proven=exact.infeasible, stopped=exact.stopped)
        return max(bound, exact.bound)

    def _improve(self, stage: Stage, most_nodes: int | None = None) -> Minimised:
        """The integer program over the columns there are, from the best plan known."""
        if self.plan is not None and self.plan is not self._exact.formulation:
            if self._columns.add(self.plan.patterns_used()):
                del self._exact
            self._exact.start_from(self.plan)
        minimised = self._minimise(self._exact, stage, most_nodes)
        if self._exact.has_solution:
            self.plan = self._exact.formulation
        return minimised

    def _minimise(self, minimiser: Minimiser, stage: Stage, most_nodes: int | None = None) -> Minimised:
        minimised = minimiser.minimise(stage, most_nodes)
        self.stopped = self.stopped or minimised.stopped
        return minimised

    def _serve_all(self) -> bool:
        """Patterns with which the linear relaxation serves everybody; False where no patterns do."""
        converged = self._generate(None)
        return converged is not None and converged.duals.objective <= TOLERANCE * max(1, sum(self._demands.values()))

    def _generate(self, stage: Stage | None) -> Converged | None:
        """Column generation on one stage's objective, or to serve everybody; the new patterns join the program."""
        relaxation = LinearRelaxation(self._exact.formulation, stage, self.effort.seconds_left)
        converged: Converged | None = None
        before = len(self._columns)
        for _ in range(MOST_ROUNDS):
            duals = relaxation.solve()
            if duals is None or self.effort.seconds_left <= 0:
                self.stopped = self.stopped or self.effort.seconds_left <= 0
                break
            priced = price(self._groups, duals)
            bound = duals.objective - (1 - priced.scale) * max(0.0, duals.demand_worth)
            new = self._columns.add(priced.patterns)
            if converged is None or bound > converged.bound or not new:
                converged = Converged(duals, priced.scale, bound)
            if not new:
                break
            for deployment, pattern in new:
                relaxation.add(deployment, pattern)
        if len(self._columns) > before:
            del self._exact
        return converged

    def _close(self, stage: Stage, converged: Converged) -> bool:
        """Add every pattern that a plan better by one unit could use; False where they are too many."""
        margin = self.value(stage) - 1 - converged.bound
        patterns = closing_patterns(self._groups, converged.duals, converged.scale, margin, self._demands, MOST_CLOSING)
        if patterns is None:
            return False
        if self._columns.add(patterns):
            del self._exact
        return True
