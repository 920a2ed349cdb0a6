"""The linear relaxation of a formulation in highspy: patterns join it as columns, its duals price further ones.

Pyomo states the program; here its rows are read once into HiGHS, because columns are added many times.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

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


@dataclass(frozen=True, slots=True)
class Duals:
    """An optimal dual solution of one stage's linear relaxation over some columns.

    `values[w,p]`: worth of one more sequence held; `prices[c]`: worth of one more pool. Both are at least 0, and a
    pattern has reduced cost `prices[c] - sum of values x sequences`. `demand_worth` is the part of `objective` that
    scales with the values.
    """

    objective: float
    demand_worth: float
    values: dict[tuple[str, Precisions], float]
    prices: dict[str, float]


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
        self._rows: dict[str, dict[object, int]] = {}
        self._right_sides: list[float] = []
        self._pools: dict[tuple[str, Sequences], int] = {}
        self._load(formulation, stage)

    def _load(self, formulation: Formulation, stage: Stage | None) -> None:
        model = formulation.model
        variables = list(model.component_data_objects(pyo.Var))
        number = {id(variable): position for position, variable in enumerate(variables)}
        pools = formulation.contents.pool_variables(model)
        self._pools.update((key, number[id(variable)]) for key, variable in pools.items())
        costs = np.zeros(len(variables))
        for coefficient, variable in stage.terms(formulation) if stage else ():
            costs[number[id(variable)]] += float(coefficient)
        lower = np.array([_bound(variable.lb, -inf) for variable in variables])
        upper = np.array([_bound(variable.ub, inf) for variable in variables])
        empty = np.array([], dtype=np.int32)
        self._highs.addCols(
            len(variables), costs, lower, upper, 0, np.zeros(len(variables), dtype=np.int32), empty, np.array([])
        )
        starts: list[int] = []
        columns: list[int] = []
        coefficients: list[float] = []
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
                low.append(_bound(pyo.value(row.lower), -inf) - body.constant)
                high.append(_bound(pyo.value(row.upper), inf) - body.constant)
                self._right_sides.append(high[-1] if high[-1] < inf else low[-1])
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
        dual: Sequence[float] = self._highs.getSolution().row_dual
        worth = sum(
            dual[row] * self._right_sides[row] for name in DEMAND_ROWS for row in self._rows.get(name, {}).values()
        )
        return Duals(
            objective=self._highs.getInfo().objective_function_value,
            demand_worth=worth,
            values={
                pair: max(0.0, -dual[self._rows["served_fits_pools"][number]]) for pair, number in self._pairs.items()
            },
            prices={
                deployment: max(0.0, -dual[row])  # type: ignore[misc]
                for deployment, row in self._rows["pools_fit_replicas"].items()
            },
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
