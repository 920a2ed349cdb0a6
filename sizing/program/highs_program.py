"""A program in HiGHS: Pyomo states it, its variables and rows are read once, and it is solved again and again.

Pyomo's own interfaces read every expression anew for each change, and cannot add columns; here rows are read with their
components, and what is solved after what (another stage, a start, a row more) costs no more than the change.
"""

import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from math import inf
from pathlib import Path
from typing import Any

import highspy
import numpy as np
import numpy.typing as npt
import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression
from pyomo.repn import generate_standard_repn

from sizing.program.expressions import Expression, Model

Floats = npt.NDArray[np.float64]

Status = highspy.HighsModelStatus

NO_SOLUTION = (Status.kInfeasible, Status.kUnboundedOrInfeasible)

MAY_HAVE_SOLUTION = (Status.kOptimal, Status.kTimeLimit, Status.kSolutionLimit, Status.kInterrupt)
"""Ends of a run that leave the best solution found, if there is one; `kSolutionLimit` is the limit of nodes too."""

NO_LIMIT = 2**31 - 1

NO_TREE = -1
"""Nodes that HiGHS counts where no variable is whole."""

STANDARD_OUTPUT = 1


@dataclass(frozen=True, slots=True)
class Limits:
    """Where a run may end before it has proven anything: gaps, nodes, seconds."""

    relative_gap: float = 0.0
    absolute_gap: float = 0.0
    nodes: int = NO_LIMIT
    seconds: float = inf


@dataclass(frozen=True, slots=True)
class Solved:
    """What a run gave. `values` are those of the columns in the best solution, and `value` its objective.

    None where it found no solution; `infeasible`: there is none. `bound` is None where none is known.
    """

    value: float | None
    values: Sequence[float] | None
    bound: float | None
    infeasible: bool
    out_of_time: bool


class HighsProgram:
    """The columns and rows of a Pyomo model in HiGHS, with whole variables or as its linear relaxation.

    `variables` are the columns in their order, `columns` their numbers by `id`; `rows` are the numbers of rows by
    component and index. `entries` are (row, column, coefficient) of all rows, `right_sides` one for each row.
    """

    def __init__(self, model: Model, relaxed: bool = False, threads: int | None = None) -> None:
        self.highs = _silent_highs()
        self.variables = list(model.component_data_objects(pyo.Var))
        self.columns = {id(variable): number for number, variable in enumerate(self.variables)}
        self.rows: dict[str, dict[Any, int]] = {}
        self.entries: list[tuple[int, int, float]] = []
        self.right_sides: list[float] = []
        self._some_are_fixed = any(variable.fixed for variable in self.variables)
        self._threads = threads
        self._model = model
        self._components: list[Any] = []
        self._add_columns(relaxed)
        self._add_components(self._stated())

    def holds_all(self) -> bool:
        """Read what has been stated since; False where something was taken back: then the program is another one."""
        stated = self._stated()
        known = len(self._components)
        if [id(each) for each in stated[:known]] != [id(each) for each in self._components]:
            return False
        self._add_components(stated[known:])
        return True

    def costs(self, terms: Iterable[tuple[Any, Expression]]) -> Floats:
        """The objective as one coefficient a column."""
        costs = np.zeros(len(self.variables))
        for coefficient, variable in terms:
            costs[self.columns[id(variable)]] += float(coefficient)
        return costs

    def minimise(self, costs: Floats, limits: Limits, start: list[float] | None = None) -> Solved:
        """The best solution within the limits, from a start if one is given."""
        highs = self.highs
        highs.changeColsCost(len(costs), np.arange(len(costs), dtype=np.int32), costs)
        highs.setOptionValue("mip_rel_gap", limits.relative_gap)
        highs.setOptionValue("mip_abs_gap", limits.absolute_gap)
        highs.setOptionValue("time_limit", limits.seconds)
        highs.setOptionValue("mip_max_nodes", limits.nodes)
        if start is not None:
            solution = highspy.HighsSolution()
            solution.col_value = start
            solution.value_valid = True
            highs.setSolution(solution)
        if self._threads is not None:  # one pool of threads a process, and another number is refused
            highspy.Highs.resetGlobalScheduler(True)
            highs.setOptionValue("threads", self._threads)
        highs.run()
        return self._solved()

    def cancel(self) -> None:
        """End the run, and any run to come: called from another thread, or by a signal."""
        self.highs.cancelSolve()  # type: ignore[no-untyped-call]

    def _solved(self) -> Solved:
        status, info = self.highs.getModelStatus(), self.highs.getInfo()
        solution = self.highs.getSolution()
        found = status in MAY_HAVE_SOLUTION and solution.value_valid
        value = info.objective_function_value if found else None
        proven = value if status == Status.kOptimal else None  # all there is of a linear program
        return Solved(
            value=value,
            values=solution.col_value if found else None,
            bound=proven if info.mip_node_count == NO_TREE else info.mip_dual_bound,
            infeasible=status in NO_SOLUTION,
            out_of_time=status == Status.kTimeLimit,
        )

    def _linear(self, body: Expression) -> Any:
        """Coefficients, variables and constant of a row, each variable once; one stated so tells them as it stands."""
        if isinstance(body, LinearExpression) and not self._some_are_fixed:
            variables = body.linear_vars
            if len({id(variable) for variable in variables}) == len(variables):
                return body
        return generate_standard_repn(body, quadratic=False)

    def _stated(self) -> list[Any]:
        return list(self._model.component_objects(pyo.Constraint, active=True))

    def _add_columns(self, relaxed: bool) -> None:
        count = len(self.variables)
        low = np.array([_bound(variable.lb, -inf) for variable in self.variables])
        high = np.array([_bound(variable.ub, inf) for variable in self.variables])
        self.highs.addVars(count, low, high)
        if not relaxed:
            self.highs.HandleUserInterrupt = True
            whole = [number for number, variable in enumerate(self.variables) if not variable.is_continuous()]
            kinds = np.full(len(whole), int(highspy.HighsVarType.kInteger), dtype=np.uint8)
            self.highs.changeColsIntegrality(len(whole), np.array(whole, dtype=np.int32), kinds)

    def _add_components(self, components: Sequence[Any]) -> None:
        """Rows of further components, in their order."""
        if not components:
            return
        first_row, first_entry = len(self.right_sides), len(self.entries)
        starts: list[int] = []
        low: list[float] = []
        high: list[float] = []
        for component in components:
            rows = self.rows.setdefault(component.local_name, {})
            for index, row in component.items():
                below, body, above = row.to_bounded_expression(evaluate_bounds=True)
                body = self._linear(body)
                number = rows[index] = first_row + len(starts)
                starts.append(len(self.entries) - first_entry)
                self.entries.extend(
                    (number, self.columns[id(variable)], float(coefficient))
                    for coefficient, variable in zip(body.linear_coefs, body.linear_vars, strict=True)
                )
                low.append(_bound(below, -inf) - body.constant)
                high.append(_bound(above, inf) - body.constant)
        new = self.entries[first_entry:]
        self.right_sides.extend(above if above < inf else below for below, above in zip(low, high, strict=True))
        self.highs.addRows(
            len(starts),
            np.array(low),
            np.array(high),
            len(new),
            np.array(starts, dtype=np.int32),
            np.array([column for _, column, _ in new], dtype=np.int32),
            np.array([coefficient for _, _, coefficient in new]),
        )
        self._components.extend(components)


def _silent_highs() -> highspy.Highs:
    _be_greeted()
    highs = highspy.Highs()  # type: ignore[no-untyped-call]
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("random_seed", 0)
    return highs


@cache
def _be_greeted() -> None:
    """HiGHS 1.16.0 writes its name to standard output when the first of its kind in a process is made."""
    try:
        kept = os.dup(STANDARD_OUTPUT)
    except OSError:
        return  # closed: nothing can be written there
    try:
        sys.stdout.flush()
        with Path(os.devnull).open("wb") as nothing:
            os.dup2(nothing.fileno(), STANDARD_OUTPUT)
        highspy.Highs()  # type: ignore[no-untyped-call]
    finally:
        os.dup2(kept, STANDARD_OUTPUT)
        os.close(kept)


def _bound(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else float(value)
