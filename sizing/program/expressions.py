"""Linear expressions, built in one piece: Pyomo's operators would make one object a term."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from pyomo.core.expr.numeric_expr import LinearExpression

Model = Any
"""A Pyomo ConcreteModel; Pyomo carries no types."""

Expression = Any
"""A Pyomo variable, expression or relation."""


def linear(terms: Iterable[tuple[int | float | Fraction, Expression]]) -> Expression:
    """The sum of coefficient x variable, built without intermediate expressions."""
    pairs = list(terms)
    return LinearExpression(
        constant=0,
        linear_coefs=[_coefficient(coefficient) for coefficient, _ in pairs],
        linear_vars=[term for _, term in pairs],
    )


def _coefficient(exact: int | float | Fraction) -> int | float:
    return float(exact) if isinstance(exact, Fraction) else exact
