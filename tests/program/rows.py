"""Rows of a formulation in a form that people read: `name[index]: coefficient variable + ... <= number`."""

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any

import pyomo.environ as pyo
from pyomo.repn import generate_standard_repn

from sizing.program.formulation import Formulation

Statement = Callable[[Formulation], None]


def rows_of(formulation: Formulation, *statements: Statement) -> str:
    """The rows that statements add to what is declared, one a line."""
    before = {row.name for row in _rows(formulation)}
    for state in statements:
        state(formulation)
    return "\n".join(_written(row) for row in _rows(formulation) if row.name not in before)


def all_rows(formulation: Formulation) -> str:
    """Every row there is, one a line."""
    return "\n".join(_written(row) for row in _rows(formulation))


def variables_of(formulation: Formulation) -> str:
    """Every variable with its bounds and whether it is whole, one a line."""
    return "\n".join(
        f"{variable.name}: {'whole' if variable.is_integer() or variable.is_binary() else 'real'}, "
        f"{_plain(variable.lb)}..{'' if variable.ub is None else _plain(variable.ub)}"
        for variable in formulation.model.component_data_objects(pyo.Var)
    )


def terms(pairs: Iterable[tuple[Any, Any]]) -> str:
    """(coefficient, variable) as a sum; terms of none are left out."""
    return " ".join(_terms((coefficient, variable.name) for coefficient, variable in pairs if coefficient))


def _rows(formulation: Formulation) -> Iterator[Any]:
    yield from formulation.model.component_data_objects(pyo.Constraint)


def _written(row: Any) -> str:
    return f"{row.name}: {_body(row)} {_sense(row)}"


def _body(row: Any) -> str:
    body = generate_standard_repn(row.body, quadratic=False)
    pairs = zip(body.linear_coefs, body.linear_vars, strict=True)
    return " ".join(_terms((coefficient, variable.name) for coefficient, variable in pairs))


def _terms(pairs: Iterable[tuple[Any, str]]) -> Iterator[str]:
    for number, (coefficient, name) in enumerate(pairs):
        sign = "-" if coefficient < 0 else "+" if number else ""
        size = "" if abs(coefficient) == 1 else f"{_plain(abs(coefficient))} "
        yield f"{sign} {size}{name}" if number else f"{sign}{size}{name}"


def _sense(row: Any) -> str:
    constant = generate_standard_repn(row.body, quadratic=False).constant
    if row.equality:
        return f"= {_plain(pyo.value(row.upper) - constant)}"
    if row.upper is not None:
        return f"<= {_plain(pyo.value(row.upper) - constant)}"
    return f">= {_plain(pyo.value(row.lower) - constant)}"


def _plain(value: Any) -> str:
    """A number without what binary fractions add to it."""
    exact = Fraction(value).limit_denominator(10**6)
    return str(exact.numerator) if exact.denominator == 1 else f"{float(exact):g}"
