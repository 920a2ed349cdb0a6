"""What Pyomo states, in HiGHS: read once, with what is stated later; its ends; and its silence."""

from math import inf

import pyomo.environ as pyo
import pytest

from sizing.program.expressions import Model, linear
from sizing.program.highs_program import HighsProgram, Limits
from tests.program.processes import in_a_process


def bins(least: float = 2.5) -> Model:
    """x + y >= `least`, x <= 2 whole, y real."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(domain=pyo.NonNegativeIntegers, bounds=(0, 2))
    model.y = pyo.Var(domain=pyo.NonNegativeReals)
    model.enough = pyo.Constraint(expr=linear([(1, model.x), (1, model.y)]) >= least)
    return model


def test_whole_variables_are_whole_and_relaxed_ones_are_not() -> None:
    model = bins()
    model.none_of_y = pyo.Constraint(expr=linear([(1, model.y)]) <= 1)
    for relaxed, value in ((False, 2), (True, 1.5)):
        program = HighsProgram(model, relaxed)
        solved = program.minimise(program.costs([(1, model.x)]), Limits())
        assert (solved.value, solved.bound) == (pytest.approx(value), pytest.approx(value))
        assert solved.values is not None
        assert sum(solved.values) >= 2.5 - 1e-9


def test_what_is_stated_later_joins() -> None:
    model = bins()
    program = HighsProgram(model)
    costs = program.costs([(1, model.x), (3, model.y)])
    assert program.minimise(costs, Limits()).value == pytest.approx(3.5)
    model.x_is_held = pyo.Constraint(expr=linear([(1, model.x)]) <= 1)
    assert program.holds_all()
    assert program.rows == {"enough": {None: 0}, "x_is_held": {None: 1}}
    assert program.right_sides == [2.5, 1]
    assert program.entries == [(0, 0, 1.0), (0, 1, 1.0), (1, 0, 1.0)]
    assert program.minimise(costs, Limits()).value == pytest.approx(1 + 3 * 1.5)


def test_what_is_taken_back_makes_it_another_program() -> None:
    model = bins()
    model.none_of_y = pyo.Constraint(expr=linear([(1, model.y)]) <= 0)
    program = HighsProgram(model)
    assert program.minimise(program.costs([(1, model.x)]), Limits()).infeasible
    model.del_component("none_of_y")
    model.some_of_y = pyo.Constraint(expr=linear([(1, model.y)]) <= 1)
    assert not program.holds_all()
    assert HighsProgram(model).minimise(program.costs([(1, model.x)]), Limits()).value == pytest.approx(2)


def test_a_variable_that_is_named_twice_in_a_row_counts_once_with_both() -> None:
    model = bins()
    model.twice = pyo.Constraint(expr=linear([(1, model.y), (1, model.x), (2, model.y)]) >= 3)
    program = HighsProgram(model)
    assert sorted(entry for entry in program.entries if entry[0] == 1) == [(1, 0, 1.0), (1, 1, 3.0)]
    assert program.minimise(program.costs([(1, model.y), (1, model.y), (9, model.x)]), Limits()).value == pytest.approx(
        5
    )


def test_a_fixed_variable_is_a_number() -> None:
    model = bins()
    model.x.fix(1)
    program = HighsProgram(model)
    assert program.minimise(program.costs([(1, model.y)]), Limits()).value == pytest.approx(1.5)


def test_a_solution_that_is_handed_in_is_kept_where_no_node_may_be_searched() -> None:
    model = bins()
    program = HighsProgram(model)
    solved = program.minimise(program.costs([(1, model.x)]), Limits(nodes=0), start=[2.0, 0.5])
    assert solved.value is not None
    assert not solved.infeasible


def test_without_time_nothing_is_claimed() -> None:
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(30), domain=pyo.NonNegativeIntegers)
    for row in range(10):
        terms = [(17 + (7 * row + 13 * number) % 89, model.x[number]) for number in range(30)]
        model.add_component(f"row_{row}", pyo.Constraint(expr=linear(terms) >= 4001 + 97 * row))
    program = HighsProgram(model)
    costs = program.costs((11 + (5 * number) % 17, variable) for number, variable in model.x.items())
    stopped = program.minimise(costs, Limits(seconds=0))
    assert stopped.out_of_time
    assert not stopped.infeasible
    whole = program.minimise(costs, Limits())
    assert whole.value is not None
    assert whole.bound == pytest.approx(whole.value)
    assert stopped.bound in (None, -inf) or stopped.bound <= whole.value


def test_standard_output_may_be_closed() -> None:
    code = "import os; os.close(1); from tests.program.test_highs_program import *; HighsProgram(bins())"
    assert in_a_process(code) == (0, b"", b"")
