"""The linear relaxation of a formulation: patterns join it as columns, its duals price further ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np

from sizing.facility.deployment import Precisions
from sizing.plan.choice import Sequences
from sizing.program.formulation import Formulation
from sizing.program.highs_program import HighsProgram, Status
from sizing.program.objective import Stage

TOLERANCE = 1e-9

DEMAND_ROWS = ("demand_is_served", "classes_keep_one_precision")
"""Rows whose right sides are demands: the part of the objective that the values of sequences carry."""

ROWS_OF_RUNNINGS = ("models_run_once", "replicas_are_run", "pools_are_run", "served_are_run")
"""Rows about the ways to run one model, where these are what is chosen from."""

ROWS_OF_A_MODEL = (
    *DEMAND_ROWS,
    "classes_are_served_only_at",
    "served_fits_pools",
    "pools_fit_replicas",
    *ROWS_OF_RUNNINGS,
)
"""Rows about the replicas and classes of one model; all others are shared by models, or are about what is bought."""


@dataclass(frozen=True, slots=True)
class Duals:
    """An optimal dual solution of one stage's linear relaxation over some columns.

    `values[w,p]`: worth of one more sequence held; `prices[c]`: worth of one more pool. Both are at least 0, and a
    pattern has reduced cost `prices[c] - sum of values x sequences`. `demand_worth[m]` is the part of `objective` that
    the rows of model m carry; without ways to run it, it scales with the values of its classes.

    `replicas[c]` and `served[w,p]`: what one more costs in the stage and in the rows that models share.
    """

    objective: float
    demand_worth: dict[str, float]
    values: dict[tuple[str, Precisions], float]
    prices: dict[str, float]
    replicas: dict[str, float]
    served: dict[tuple[str, Precisions], float]


class LinearRelaxation:
    """The linear relaxation of one stage under the stages held so far.

    Without a stage it minimises the demand that is left unserved, so that there always is a solution.
    """

    def __init__(self, formulation: Formulation, stage: Stage | None, seconds: float = inf) -> None:
        model = formulation.model
        program = HighsProgram(model, relaxed=True)
        self._highs = program.highs
        self._highs.setOptionValue("time_limit", max(0.0, seconds))
        self._rows, self._right_sides = program.rows, program.right_sides
        self.step = stage.step(formulation) if stage else 1
        self._pairs = {pair: number for number, pair in enumerate(formulation.pairs)}
        self._precisions = {c.deployment.id: c.deployment.precisions for c in formulation.sets.candidates}
        self._models = {service.name: service.model.name for service in formulation.sets.classes}
        column = program.columns
        self._replicas = {key: column[id(variable)] for key, variable in model.replicas.items()}
        self._served = {pair: column[id(model.served[position])] for pair, position in self._pairs.items()}
        self._served_at = [(name, column[id(model.served_at[position])]) for (name, _), position in self._pairs.items()]
        pools = formulation.contents.pool_variables(model)
        self._pools: dict[tuple[str, Sequences], int] = {key: column[id(pool)] for key, pool in pools.items()}
        self._costs = program.costs(stage.terms(formulation) if stage else ())
        self._highs.changeColsCost(len(self._costs), np.arange(len(self._costs), dtype=np.int32), self._costs)
        of_a_model = {row for name in ROWS_OF_A_MODEL for row in program.rows.get(name, {}).values()}
        shared = [entry for entry in program.entries if entry[0] not in of_a_model]
        self._shared = tuple(np.array(each) for each in zip(*shared, strict=True)) if shared else None
        if stage is None:
            for row in self._rows["demand_is_served"].values():
                self._highs.addCol(1.0, 0.0, inf, 1, np.array([row], dtype=np.int32), np.array([1.0]))

    def add(self, deployment: str, pattern: Sequences) -> None:
        """One more pattern of a deployment."""
        precisions = self._precisions[deployment]
        rows = [self._rows["served_fits_pools"][self._pairs[name, precisions]] for name, _ in pattern]
        rows.append(self._rows["pools_fit_replicas"][deployment])
        entries = [*(-float(count) for _, count in pattern), 1.0]
        self._pools[deployment, pattern] = self._highs.getNumCol()
        self._highs.addCol(0.0, 0.0, inf, len(rows), np.array(rows, dtype=np.int32), np.array(entries))

    def solve(self) -> Duals | None:
        """Optimal duals; None where the relaxation over these columns has no solution, or the clock stopped it."""
        self._highs.run()
        if self._highs.getModelStatus() != Status.kOptimal:
            return None
        solution = self._highs.getSolution()
        dual: Sequence[float] = solution.row_dual
        costs = self._costs.copy()
        if self._shared is not None:
            shared, columns, coefficients = self._shared
            np.subtract.at(costs, columns, coefficients * np.array(dual)[shared])
        worth = dict.fromkeys(self._models.values(), 0.0)
        for rows in (self._rows.get(name, {}) for name in DEMAND_ROWS):
            for service, row in rows.items():
                worth[self._models[service]] += dual[row] * self._right_sides[row]
        for model, row in self._rows.get("models_run_once", {}).items():
            worth[model] += dual[row]
        reduced_costs: Sequence[float] = solution.col_dual
        for service, column in self._served_at:  # at most 1 each, which the objective counts too
            worth[self._models[service]] += min(0.0, reduced_costs[column])
        return Duals(
            objective=self._highs.getInfo().objective_function_value,
            demand_worth=worth,
            values={
                pair: max(0.0, -dual[self._rows["served_fits_pools"][number]]) for pair, number in self._pairs.items()
            },
            prices={deployment: max(0.0, -dual[row]) for deployment, row in self._rows["pools_fit_replicas"].items()},
            replicas={deployment: float(costs[column]) for deployment, column in self._replicas.items()},
            served={pair: float(costs[column]) for pair, column in self._served.items()},
        )

    def used(self) -> list[tuple[str, Sequences]]:
        """(deployment, pattern) that the last solution fills pools with, whole or in part."""
        solution = self._highs.getSolution().col_value
        return [key for key, column in self._pools.items() if solution[column] > TOLERANCE]
