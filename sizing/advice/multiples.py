"""Multiples of a workload. Class w has `ceil(c_w x m)` sequences at the multiple m, c_w = concurrency x (1 + headroom).

All exact. Demands change only at the multiples k / c_w, so that a search over multiples is one over whole numbers.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from sizing.request.request import Request

Demands = tuple[int, ...]
"""Sequences of each class, in the order of the request."""


@dataclass(frozen=True, slots=True)
class Multiples:
    """`rates` are c_w of each class."""

    rates: tuple[Fraction, ...]

    def at(self, multiple: Fraction) -> Demands:
        """The demands at a multiple; at least one sequence of each class."""
        return tuple(max(1, ceil(rate * multiple)) for rate in self.rates)

    def served_by(self, served: Demands) -> Fraction:
        """The largest multiple whose demands are at most `served`."""
        return min(number / rate for number, rate in zip(served, self.rates, strict=True))

    def below(self, demands: Demands) -> Fraction:
        """The largest multiple at which some class has fewer sequences than `demands`."""
        return max((number - 1) / rate for number, rate in zip(demands, self.rates, strict=True))

    def after(self, multiple: Fraction) -> Demands:
        """The demands right above a multiple."""
        return tuple(int(rate * multiple // 1) + 1 for rate in self.rates)


def multiples_of(request: Request) -> Multiples:
    """The multiples of a request's classes."""
    return Multiples(tuple(service.concurrency * (1 + request.policy.headroom) for service in request.classes))
