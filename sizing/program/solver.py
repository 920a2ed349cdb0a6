"""HiGHS through Pyomo's persistent interface, the one that takes a start; exact gaps, one seed."""

import time
from dataclasses import dataclass
from math import ceil, inf, isfinite

import pyomo.environ as pyo
from pyomo.contrib.appsi.base import TerminationCondition
from pyomo.contrib.appsi.solvers.highs import Highs

from sizing.program.formulation import Formulation
from sizing.program.objective import Stage

HALF_UNIT = 0.5
"""Stages are whole numbers: half a unit is below every difference and far above the solver's tolerances."""

BELOW_ONE_UNIT = 0.9
"""Absolute gap at which a solve ends: no other whole number lies within it, and tolerances do not reach one unit."""

INTEGRALITY = 1e-6


@dataclass(frozen=True, slots=True)
class Effort:
    """How long and how hard to search. `deadline` is on the monotonic clock; `gap` is a share per stage."""

    deadline: float = inf
    gap: float = 0.0
    threads: int | None = None

    @property
    def seconds_left(self) -> float:
        return self.deadline - time.monotonic()


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
    """Minimises one formulation stage after stage; each finished stage is held."""

    def __init__(self, formulation: Formulation, effort: Effort) -> None:
        self.formulation = formulation
        self.effort = effort
        self._solver = Highs()
        self._solver.config.load_solution = False
        self._solver.config.warmstart = True
        updates = self._solver.update_config
        updates.check_for_new_or_removed_constraints = True
        updates.check_for_new_or_removed_vars = False
        updates.check_for_new_or_removed_params = False
        updates.update_constraints = False
        updates.update_vars = False
        updates.update_params = False
        updates.update_named_expressions = False
        self._solver.highs_options = {"mip_rel_gap": 0.0, "mip_abs_gap": BELOW_ONE_UNIT, "random_seed": 0}
        if effort.threads is not None:
            self._solver.highs_options["threads"] = effort.threads

    def minimise(self, stage: Stage, most_nodes: int | None = None) -> Minimised:
        """Minimise a stage under the stages held so far, from the values that the variables have."""
        model = self.formulation.model
        if model.component("objective") is not None:
            model.del_component("objective")
        model.objective = pyo.Objective(expr=stage.expression(self.formulation))
        options = self._solver.highs_options
        options["mip_max_nodes"] = most_nodes if most_nodes is not None else 2**31 - 1
        if isfinite(self.effort.deadline):
            self._solver.config.time_limit = max(0.0, self.effort.seconds_left)
        options["mip_rel_gap"] = self.effort.gap
        result = self._solver.solve(model)
        infeasible = result.termination_condition in (
            TerminationCondition.infeasible,
            TerminationCondition.infeasibleOrUnbounded,
        )
        found = result.best_feasible_objective
        has_solution = found is not None and isfinite(found) and not infeasible
        if has_solution:
            result.solution_loader.load_vars()
            self._drop_unused_kinds()
        bound = result.best_objective_bound
        return Minimised(
            value=round(found) if has_solution else None,
            bound=ceil(bound - INTEGRALITY * max(1.0, abs(bound))) if bound is not None and isfinite(bound) else 0,
            infeasible=infeasible,
            stopped=result.termination_condition is TerminationCondition.maxTimeLimit,
        )

    def _drop_unused_kinds(self) -> None:
        """A kind of which no system is bought is not used, even where no stage asked."""
        model, sets = self.formulation.model, self.formulation.sets
        for system in sets.systems:
            bought = sum(whole(model.systems[site, system]) for site in sets.sites)
            model.kind_is_used[system].set_value(1 if bought else 0, skip_validation=True)

    def hold(self, stage: Stage, value: int) -> None:
        """From now on the stage is at most `value`."""
        held = pyo.Constraint(expr=stage.expression(self.formulation) <= value + HALF_UNIT)
        self.formulation.model.add_component(f"{stage.name}_is_held", held)

    def value(self, stage: Stage) -> int:
        """The stage's value at the values that the variables have, rounded to whole numbers."""
        return sum(int(coefficient) * whole(term) for coefficient, term in stage.terms(self.formulation))


def whole(variable: object) -> int:
    """The value of an integer variable, rounded: the answer never depends on the solver's tolerance."""
    value = getattr(variable, "value", None)
    return 0 if value is None else round(value)
