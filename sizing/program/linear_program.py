"""The linear relaxation of a formulation in highspy: patterns join it as columns, its duals price further ones.

Pyomo states the program; here its rows are read once into HiGHS, because columns are added many times.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import highspy
import numpy as np
import pyomo.environ as pyo
from pyomo.common.tee import capture_output
from pyomo.repn import generate_standard_repn

from sizing.facility.deployment import Precisions
from sizing.plan.choice import Sequences
from sizing.program.formulation import Formulation
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
        self._pairs = {pair: number for number, pair in enumerate(formulation.pairs)}
        self._precisions = {c.deployment.id: c.deployment.precisions for c in formulation.sets.candidates}
        self._highs = _silent_solver()
        if seconds < inf:
            self._highs.setOptionValue("time_limit", max(0.0, seconds))
        self._rows: dict[str, dict[Any, int]] = {}
        self._right_sides: list[float] = []
        self._pools: dict[tuple[str, Sequences], int] = {}
        self.step = stage.step(formulation) if stage else 1
        self._load(formulation, stage)

    def _load(self, formulation: Formulation, stage: Stage | None) -> None:
        model = formulation.model
        variables = list(model.component_data_objects(pyo.Var))
        number = {id(variable): position for position, variable in enumerate(variables)}
        self._replicas = {key: number[id(variable)] for key, variable in model.replicas.items()}
        self._served = {pair: number[id(model.served[position])] for pair, position in self._pairs.items()}
        self._models = {service.name: service.model.name for service in formulation.sets.classes}
        self._served_at = [(name, number[id(model.served_at[position])]) for (name, _), position in self._pairs.items()]
        pools = formulation.contents.pool_variables(model)
        self._pools.update((key, number[id(variable)]) for key, variable in pools.items())
        costs = np.zeros(len(variables))
        for coefficient, variable in stage.terms(formulation) if stage else ():
            costs[number[id(variable)]] += float(coefficient)
        self._costs = costs
        lower = np.array([_bound(variable.lb, -inf) for variable in variables])
        upper = np.array([_bound(variable.ub, inf) for variable in variables])
        empty = np.array([], dtype=np.int32)
        self._highs.addCols(
            len(variables), costs, lower, upper, 0, np.zeros(len(variables), dtype=np.int32), empty, np.array([])
        )
        starts: list[int] = []
        columns: list[int] = []
        coefficients: list[float] = []
        shared: list[tuple[int, int, float]] = []
        low: list[float] = []
        high: list[float] = []
        for component in model.component_objects(pyo.Constraint, active=True):
            rows = self._rows.setdefault(component.local_name, {})
            for index in component:
                row = component[index]
                body = generate_standard_repn(row.body, quadratic=False)
                rows[index] = len(starts)
                starts.append(len(columns))
                columns.extend(number[id(variable)] for variable in body.linear_vars)
                coefficients.extend(float(coefficient) for coefficient in body.linear_coefs)
                if component.local_name not in ROWS_OF_A_MODEL:
                    entries = zip(columns[starts[-1] :], coefficients[starts[-1] :], strict=True)
                    shared.extend((rows[index], column, coefficient) for column, coefficient in entries)
                low.append(_bound(pyo.value(row.lower), -inf) - body.constant)
                high.append(_bound(pyo.value(row.upper), inf) - body.constant)
                self._right_sides.append(high[-1] if high[-1] < inf else low[-1])
        self._shared = tuple(np.array(each) for each in zip(*shared, strict=True)) if shared else None
        self._highs.addRows(
            len(starts),
            np.array(low),
            np.array(high),
            len(columns),
            np.array(starts, dtype=np.int32),
            np.array(columns, dtype=np.int32),
            np.array(coefficients),
        )
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
        if self._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
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


def _silent_solver() -> highspy.Highs:
    """HiGHS 1.16.0 writes its name to standard output when the first of its kind in a process is made."""
    with capture_output(capture_fd=True):
        highs = highspy.Highs()  # type: ignore[no-untyped-call]
    highs.setOptionValue("output_flag", False)
    return highs


def _bound(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else float(value)
