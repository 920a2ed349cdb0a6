"""HiGHS through Pyomo's persistent interface, the one that takes a start; exact gaps, one seed."""

import logging
import time
from dataclasses import dataclass, field, replace
from math import ceil, inf, isfinite

import highspy
import pyomo.environ as pyo
from pyomo.contrib.appsi.base import Results, TerminationCondition
from pyomo.contrib.appsi.solvers.highs import Highs

from sizing.program.formulation import Formulation, whole
from sizing.program.halt import Halt
from sizing.program.objective import Stage

HALF_UNIT = 0.5
"""Stages are whole numbers: half a unit is below every difference and far above the solver's tolerances."""

logging.getLogger("pyomo.contrib.appsi").setLevel(logging.ERROR)
"""Pyomo warns, on standard output, of outcomes that are told apart here."""

BELOW_ONE_UNIT = 0.1
"""By how much the absolute gap at which a solve ends is below one step of the stage: no other value lies within it,
and tolerances do not reach the next one."""

ABSOLUTE_TOLERANCE = 1e-6
RELATIVE_TOLERANCE = 1e-9

SHARE_OF_A_SOLVE = 0.25
"""Share of the time left that one integer program may take, so that the stages after it get theirs."""

SHARE_FOR_A_PLAN = 0.9
"""The same of a program over all candidates: without a plan there is nothing for the stages after it."""

NO_LIMIT = 2**31 - 1

NO_SOLUTION = (TerminationCondition.infeasible, TerminationCondition.infeasibleOrUnbounded)


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
        self._solver = _persistent_solver(effort)

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
        model = self.formulation.model
        if model.component("objective") is not None:
            model.del_component("objective")
        model.objective = pyo.Objective(expr=stage.expression(self.formulation))
        before = [(variable, variable.value) for variable in model.component_data_objects(pyo.Var)]
        value_before = self.value(stage) if self.has_solution else None

        step = stage.step(self.formulation)
        result = self._solve(step, most_nodes, gap, with_start=self.has_solution)
        if not self._load(stage, result):
            self._solver = _persistent_solver(self.effort)
            result = self._solve(step, most_nodes, gap, with_start=False)
            self._load(stage, result)
        found = self.value(stage) if _objective(result) is not None else None
        if found is not None and (value_before is None or found <= value_before):
            self.has_solution = True
            self._drop_unused_kinds()
        elif value_before is not None:
            for variable, value in before:
                variable.set_value(value, skip_validation=True)
        bound = result.best_objective_bound
        return Minimised(
            value=found,
            bound=rounded_up(bound, step) if bound is not None and isfinite(bound) else 0,
            infeasible=result.termination_condition in NO_SOLUTION,
            stopped=self.effort.halt.asked or result.termination_condition is TerminationCondition.maxTimeLimit,
        )

    def _solve(self, step: int, most_nodes: int | None, gap: float, with_start: bool) -> Results:
        solver = self._solver
        solver.config.warmstart = with_start
        nodes = self.effort.most_nodes
        solver.highs_options["mip_max_nodes"] = nodes if most_nodes is None else min(nodes, most_nodes)
        solver.highs_options["mip_rel_gap"] = max(gap, self.effort.gap)
        solver.highs_options["mip_abs_gap"] = step - BELOW_ONE_UNIT
        if isfinite(self.effort.seconds_left):
            share = SHARE_OF_A_SOLVE if with_start else self.effort.share_for_a_plan
            solver.config.time_limit = max(0.0, share * self.effort.seconds_left)
        if self.effort.threads is not None:  # HiGHS has one pool of threads a process, and refuses another number
            highspy.Highs.resetGlobalScheduler(True)
        self.effort.halt.during(lambda: solver._solver_model.cancelSolve())  # noqa: PLW0108 - the model comes later
        try:
            return solver.solve(self.formulation.model)
        finally:
            self.effort.halt.during(None)

    def _load(self, stage: Stage, result: Results) -> bool:
        """Take over the solution if there is one; whether it has the value that was reported for it."""
        reported = _objective(result)
        if reported is None:
            return True
        result.solution_loader.load_vars()
        return abs(self.value(stage) - reported) < HALF_UNIT

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


def _persistent_solver(effort: Effort) -> Highs:
    solver = Highs(only_child_vars=True)
    solver.config.load_solution = False
    updates = solver.update_config
    updates.check_for_new_or_removed_constraints = True
    updates.check_for_new_or_removed_vars = False
    updates.check_for_new_or_removed_params = False
    updates.update_constraints = False
    updates.update_vars = False
    updates.update_params = False
    updates.update_named_expressions = False
    solver.highs_options = {"random_seed": 0}
    if effort.threads is not None:
        solver.highs_options["threads"] = effort.threads
    return solver


def _objective(result: Results) -> float | None:
    """The value of the best solution of a solve; None where it found none."""
    found: float | None = result.best_feasible_objective
    return None if found is None or not isfinite(found) or result.termination_condition in NO_SOLUTION else found


def rounded_up(bound: float, step: int = 1) -> int:
    """A lower bound of a whole number of steps, as one: rounded up, but never by a solver's tolerance."""
    return ceil((bound - max(ABSOLUTE_TOLERANCE, RELATIVE_TOLERANCE * abs(bound))) / step) * step


def stage_value(stage: Stage, formulation: Formulation) -> int:
    """A stage's value at the values that the variables have, rounded to whole numbers."""
    return sum(int(coefficient) * whole(term) for coefficient, term in stage.terms(formulation))
