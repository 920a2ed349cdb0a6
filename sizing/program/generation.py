"""Column generation: the patterns of a search, those at hand and those that a stage would pay for.

Patterns join a linear program until none would improve it. What its duals then say of all patterns, those that were
never looked at among them, is a bound of the stage, and tells which patterns a better plan could use at all.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from sizing.plan.choice import Sequences
from sizing.program.contents import Worth
from sizing.program.deployments import Candidate
from sizing.program.linear_program import Duals, LinearRelaxation
from sizing.program.patterns import Columns, all_columns, starting_columns
from sizing.program.pricing import KnapsackGroup, closing_patterns, knapsack_groups, most_worth, price
from sizing.program.solver import rounded_up

MOST_ROUNDS = 200
"""Rounds of column generation in one stage; it converges in fewer, or hardly moves any more."""

MOST_HALVED = 10
"""Times that a margin is halved until what lies within it is few."""

CHOSEN_FROM = 4
"""Times as many patterns as are wanted, among which the nearest are chosen evenly."""

CLOSE = 1e-4
"""Share by which the bound of column generation may stay below what it could still become."""


@dataclass(frozen=True, slots=True)
class Converged:
    """What column generation showed of a stage: a bound over all patterns, and the duals that closing needs.

    The values of each model times its scale are dual feasible over all patterns; `bound` is what they then prove,
    unrounded. The stage's values are multiples of `step`.
    """

    duals: Duals
    scales: Mapping[str, float]
    bound: float
    step: int

    def margin(self, value: int) -> float:
        """Reduced cost up to which a plan may use patterns that is better than `value` by one step (rule of bounds)."""
        return value - self.step - self.bound


class Generation:
    """The patterns of some candidates; `columns` are those at hand, and only ever more."""

    def __init__(self, candidates: Sequence[Candidate], demands: Mapping[str, int]) -> None:
        self._candidates = candidates
        self._demands = demands
        self.columns: Columns = starting_columns(candidates, demands)

    @cached_property
    def _groups(self) -> tuple[KnapsackGroup, ...]:
        return knapsack_groups(self._candidates, self._demands)

    def list_all(self, most: int) -> bool:
        """Have every pattern at hand, unless they are more than `most`; whether that is so now."""
        columns = all_columns(self._candidates, self._demands, most)
        if columns is None:
            return False
        self.columns = columns
        return True

    def converge(self, relaxation: LinearRelaxation, is_out_of_time: Callable[[], bool]) -> Converged | None:
        """Add patterns until none would improve the relaxation; None where it has no solution, or no time."""
        converged: Converged | None = None
        for _ in range(MOST_ROUNDS):
            duals = relaxation.solve()
            if is_out_of_time() or duals is None:
                break
            priced = price(self._groups, duals)
            lost = sum((1 - priced.scales[model]) * max(0.0, worth) for model, worth in duals.demand_worth.items())
            bound = duals.objective - lost
            new = self.columns.add(priced.patterns)
            if converged is None or bound > converged.bound or not new:
                converged = Converged(duals, priced.scales, bound, relaxation.step)
            if not new or _is_close(converged.bound, duals.objective, relaxation.step):
                break
            for deployment, pattern in new:
                relaxation.add(deployment, pattern)
        return converged

    def worth(self, duals: Duals) -> Worth:
        """The most that a pool can be worth at the values of the duals."""
        return most_worth(self._groups, duals)

    def within(self, margin: float, converged: Converged, most: int) -> list[tuple[str, Sequences]] | None:
        """Every maximal pattern whose reduced cost is within a margin; None where they are too many or hard to list."""
        return closing_patterns(self._groups, converged.duals, converged.scales, margin, self._demands, most)

    def nearest(self, margin: float, converged: Converged, most: int) -> list[tuple[str, Sequences]]:
        """At most so many of those within half of the margin, or a quarter, and so on, until they are few enough.

        Where many are equally near, as often none costs anything, every second or third of them is taken, or fourth.
        """

        @cache
        def halved(times: int) -> list[tuple[str, Sequences]] | None:
            return self.within(margin / 2**times, converged, CHOSEN_FROM * most)

        times = bisect_left(range(MOST_HALVED), True, lo=1, key=lambda times: halved(times) is not None)
        patterns = (halved(times) if times < MOST_HALVED else None) or []
        return patterns[:: max(1, -(-len(patterns) // max(1, most)))]


def _is_close(bound: float, objective: float, step: int) -> bool:
    """Whether converging further could raise the bound of a whole number, or by more than a trifle."""
    return rounded_up(bound, step) >= rounded_up(objective, step) or objective - bound <= CLOSE * objective
