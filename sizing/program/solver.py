"""A formulation minimised stage after stage, each from the plan before: exact gaps, a share of the time, nodes."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import ceil, inf, isfinite

import pyomo.environ as pyo

from sizing.program.formulation import Formulation, whole
from sizing.program.halt import Halt
from sizing.program.highs_program import NO_LIMIT, HighsProgram, Limits, Solved
from sizing.program.objective import Stage

HALF_UNIT = 0.5
"""Stages are whole numbers: half a unit is below every difference and far above the solver's tolerances."""

BELOW_ONE_UNIT = 0.1
"""By how much the absolute gap at which a solve ends is below one step of the stage: no other value lies within it,
and tolerances do not reach the next one."""

ABSOLUTE_TOLERANCE = 1e-6
RELATIVE_TOLERANCE = 1e-9

SHARE_OF_A_SOLVE = 0.25
"""Share of the time left that one integer program may take, so that the stages after it get theirs."""

SHARE_FOR_A_PLAN = 0.9
"""The same of a program over all candidates: without a plan there is nothing for the stages after it."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How long and how hard to search. `deadline` is on the monotonic clock; `gap` is a share per stage.

    `most_nodes` bounds every integer program by itself, by a count that is the same on every machine. One that has no
    plan to start from may take `share_for_a_plan` of the time left.
    """

    deadline: float = inf
    gap: float = 0.0
    threads: int | None = None
    most_nodes: int = NO_LIMIT
    share_for_a_plan: float = SHARE_OF_A_SOLVE
    halt: Halt = field(default_factory=Halt, compare=False)

    @property
    def seconds_left(self) -> float:
        return 0.0 if self.halt.asked else self.deadline - time.monotonic()

    def shared_by(self, programs: int) -> "Effort":
        """The same for one of so many programs that are still to come."""
        return replace(self, deadline=time.monotonic() + self.seconds_left / programs)


@dataclass(frozen=True, slots=True)
class Minimised:
    """What one solve of a stage showed: its best value, its lower bound, and whether the clock stopped it.

    `value` None: no solution was found; `infeasible`: there is none.
    """

    value: int | None
    bound: int
    infeasible: bool
    stopped: bool


class Minimiser:
    """Minimises one formulation stage after stage; each finished stage is held.

    `has_solution`: the variables have the values of one, from which the next solve starts and which it never worsens.
    """

    def __init__(self, formulation: Formulation, effort: Effort) -> None:
        self.formulation = formulation
        self.has_solution = False
        self.effort = effort
        self._program: HighsProgram | None = None

    def start_from(self, other: Formulation) -> None:
        """Start from the plan that another formulation holds."""
        self.formulation.start_from(other)
        self.has_solution = True

    def minimise(self, stage: Stage, most_nodes: int | None = None, gap: float = 0.0) -> Minimised:
        """Minimise a stage under the stages held so far, from the values that the variables have.

        The search ends after `most_nodes`, or within a relative `gap`.

        A start is only a hint: HiGHS 1.16.0 can report the optimal value and hand back the start in place of the
        solution. Where a solution does not have the value reported, the stage is solved again without a start.
        """
        before = [variable.value for variable in self._in_highs().variables]
        value_before = self.value(stage) if self.has_solution else None
        step = stage.step(self.formulation)
        solved = self._solve(stage, step, most_nodes, gap, with_start=self.has_solution)
        if not self._take_over(stage, solved):
            self._program = None
            solved = self._solve(stage, step, most_nodes, gap, with_start=False)
            self._take_over(stage, solved)
        found = None if solved.value is None else self.value(stage)
        if found is not None and (value_before is None or found <= value_before):
            self.has_solution = True
            self._drop_unused_kinds()
        elif value_before is not None:
            self._set_values(before)
        return Minimised(
            value=found,
            bound=rounded_up(solved.bound, step) if solved.bound is not None and isfinite(solved.bound) else 0,
            infeasible=solved.infeasible,
            stopped=self.effort.halt.asked or solved.out_of_time,
        )

    def _in_highs(self) -> HighsProgram:
        """The program with all that has been stated so far."""
        if self._program is None or not self._program.holds_all():
            self._program = HighsProgram(self.formulation.model, threads=self.effort.threads)
        return self._program

    def _solve(self, stage: Stage, step: int, most_nodes: int | None, gap: float, with_start: bool) -> Solved:
        program = self._in_highs()
        nodes = self.effort.most_nodes
        limits = Limits(
            relative_gap=max(gap, self.effort.gap),
            absolute_gap=step - BELOW_ONE_UNIT,
            nodes=nodes if most_nodes is None else min(nodes, most_nodes),
            seconds=self._seconds(with_start),
        )
        start = [variable.value or 0.0 for variable in program.variables] if with_start else None
        self.effort.halt.during(program.cancel)
        try:
            return program.minimise(program.costs(stage.terms(self.formulation)), limits, start)
        finally:
            self.effort.halt.during(None)

    def _seconds(self, with_start: bool) -> float:
        """What one solve may take of the time that is left."""
        share = SHARE_OF_A_SOLVE if with_start else self.effort.share_for_a_plan
        return max(0.0, share * self.effort.seconds_left)

    def _take_over(self, stage: Stage, solved: Solved) -> bool:
        """Take over the solution if there is one; whether it has the value that was reported for it."""
        if solved.value is None or solved.values is None:
            return True
        self._set_values(solved.values)
        return abs(self.value(stage) - solved.value) < HALF_UNIT

    def _set_values(self, values: Sequence[float | None]) -> None:
        for variable, value in zip(self._in_highs().variables, values, strict=True):
            variable.set_value(value, skip_validation=True)

    def _drop_unused_kinds(self) -> None:
        """A kind of which no system is bought is not used, even where no stage asked."""
        model, sets = self.formulation.model, self.formulation.sets
        for system in sets.systems:
            bought = sum(map(whole, self.formulation.systems_of(system)))
            model.kind_is_used[system].set_value(1 if bought else 0, skip_validation=True)

    def hold(self, stage: Stage, value: int) -> None:
        """From now on the stage is at most `value`."""
        held = pyo.Constraint(expr=stage.expression(self.formulation) <= value + HALF_UNIT)
        self.formulation.model.add_component(f"{stage.name}_is_held", held)

    def value(self, stage: Stage) -> int:
        return stage_value(stage, self.formulation)


def rounded_up(bound: float, step: int = 1) -> int:
    """A lower bound of a whole number of steps, as one: rounded up, but never by a solver's tolerance."""
    return ceil((bound - max(ABSOLUTE_TOLERANCE, RELATIVE_TOLERANCE * abs(bound))) / step) * step


def stage_value(stage: Stage, formulation: Formulation) -> int:
    """A stage's value at the values that the variables have, rounded to whole numbers."""
    return sum(int(coefficient) * whole(term) for coefficient, term in stage.terms(formulation))
