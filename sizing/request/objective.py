"""Stages of the objective as they are written: a name, or a blend of weighted names such as `cost + 500 power`.

A blend adds up whole-number weights times the amounts of its stages, each in the unit that people use: Pods, kinds, kW,
GPUs, steps, USD. `cost + 500 power` pays 500 USD to save one kW.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm

from sizing.facility.loads import nameplate_kw
from sizing.facility.prices import Price
from sizing.facility.site import Site
from sizing.facility.system import System
from sizing.request.request import Policy, Request
from sizing.units.errors import shown
from sizing.units.names import nearest
from sizing.units.quantities import NotAccepted, parse_count

STAGES = ("pods", "system_kinds", "power", "gpus", "precision", "weight_precision", "cost")
COST = "cost"
PLAIN_UNITS = {
    "pods": "Pods",
    "system_kinds": "kinds",
    "power": "0.1 kW",
    "gpus": "GPUs",
    "precision": "sequence steps",
    "weight_precision": "sequence steps",
}
"""The unit in which a stage counts by itself; that of `cost` follows from the prices."""

LARGEST_COEFFICIENT = 10_000
"""Where prices share no unit in which all are whole and small, this many steps are the largest of them.

A solver's tolerance is a share of the largest number that it sees: finer steps would be decided by it, not by prices.
"""

BLEND_ACCEPTED = f"a stage ({', '.join(STAGES)}), or a sum of several with whole weights, such as cost + 500 power"
PATTERN = "^{0}(\\+{0})*$".format(f" *([0-9][0-9_]* +)?({'|'.join(STAGES)}) *")
"""What an editor marks as a stage."""

_FRACTION = re.compile(r"[0-9]*\.[0-9]+")
_TERM = re.compile(r"(?:([^a-z ]+) +)?([a-z_]+)")


@dataclass(frozen=True, slots=True)
class Aim:
    """One stage: (weight, name) of what it adds up, by weight; a plain stage is one name of weight 1."""

    parts: tuple[tuple[int, str], ...]

    @property
    def is_blend(self) -> bool:
        return len(self.parts) > 1

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for _, name in self.parts)

    def __str__(self) -> str:
        return " + ".join(name if weight == 1 else f"{weight} {name}" for weight, name in self.parts)


def parse_aim(text: str) -> Aim:
    """A stage as it is written. Raises NotAccepted for unknown names, weights that are not whole, names given twice."""
    weights: dict[str, int] = {}
    terms = text.split("+")
    for term in terms:
        match = _TERM.fullmatch(term.strip())
        weight, name = match.groups() if match else (None, term.strip())
        if not name and len(terms) > 1:
            raise NotAccepted("nothing stands on one side of +", BLEND_ACCEPTED)
        if name not in STAGES:
            raise NotAccepted(f"unknown stage {shown(name)}", BLEND_ACCEPTED, nearest(name, STAGES))
        if name in weights:
            raise NotAccepted(f"names {shown(name)} twice", BLEND_ACCEPTED)
        if weight is not None and _FRACTION.fullmatch(weight):
            raise NotAccepted(f"{shown(weight)} is no whole weight: multiply all weights of the sum", BLEND_ACCEPTED)
        weights[name] = 1 if weight is None else parse_count(weight)
        if not weights[name]:
            raise NotAccepted(f"weighs {shown(name)} with 0", BLEND_ACCEPTED)
        if len(terms) == 1 and weight is not None:
            raise NotAccepted("is a weight without a second stage", BLEND_ACCEPTED)
    return Aim(tuple(sorted(((weight, name) for name, weight in weights.items()), key=_order)))


def _order(part: tuple[int, str]) -> tuple[int, int]:
    weight, name = part
    return weight, STAGES.index(name)


def aims_at(policy: Policy, name: str) -> bool:
    """Whether some stage of the objective counts `name`, alone or in a blend."""
    return any(name in parse_aim(stage).names for stage in policy.objective)


def unit_of(aim: Aim, request: Request) -> Fraction:
    """The size of one step in which a stage counts, in natural units: 1/10 kW, 500 USD, 1/10 of a point of a blend.

    The greatest common divisor of all that it adds up, so that every amount is whole; where that would be too fine
    (energy has odd decimals), a step of 1, 2 or 5 times a power of ten, to which amounts are rounded.
    """
    if not aim.is_blend and aim.names != (COST,):
        return _GRAINS.get(aim.names[0], Fraction(1))
    grains = [weight * grain for weight, name in aim.parts for grain in _grains(name, request)]
    largest = sum((weight * _most(name, request) for weight, name in aim.parts), Fraction(0))
    divisor = _common_divisor(grains)
    if not divisor:
        return Fraction(1)
    return divisor if largest <= divisor * LARGEST_COEFFICIENT else _round_step(largest / LARGEST_COEFFICIENT)


def unit_text(aim: Aim, unit: Fraction) -> str:
    """The unit of a stage in words: `Pods`, `0.1 kW`, `500 USD`, `0.1 points`."""
    if not aim.is_blend and aim.names != (COST,):
        return PLAIN_UNITS[aim.names[0]]
    return f"{_decimal(unit)} {'points' if aim.is_blend else 'USD'}"


def steps(amount: Fraction, unit: Fraction) -> int:
    """An amount in whole steps, rounded to the nearest, halves up; exact where it is a multiple of `unit`."""
    return (2 * amount + unit) // (2 * unit)


def system_cost(system: System, site: Site, policy: Policy) -> Price | None:
    """What one more system at a site costs: its price, and its energy over the horizon; None where it has no price."""
    price, kw = policy.prices.of_system(system), nameplate_kw(system)
    return None if price is None or kw is None else price + policy.prices.of_energy(kw, site.pod)


_GRAINS = {"power": Fraction(1, 10)}
"""Of what the amounts of a stage are multiples, where that is not 1."""


def _grains(name: str, request: Request) -> Iterator[Fraction]:
    """Numbers of which every amount of a stage is a sum of multiples."""
    yield from _costs(request) if name == COST else (_GRAINS.get(name, Fraction(1)),)


def _most(name: str, request: Request) -> Fraction:
    """About the most that one variable adds to a stage."""
    if name == COST:
        return max(_costs(request), default=Fraction(0))
    if name == "power":
        return max((nameplate_kw(system) or Fraction(0) for system in request.candidates), default=Fraction(0))
    if name == "gpus":
        return Fraction(max((system.gpus for system in request.candidates), default=0))
    return Fraction(1)


def _costs(request: Request) -> Iterator[Fraction]:
    """What one system or Pod costs at most, wherever it stands."""
    for site in request.sites:
        pod = request.policy.prices.of_pod(site.pod)
        costs = [system_cost(system, site, request.policy) for system in request.candidates]
        yield from (cost.high for cost in (pod, *costs) if cost is not None and cost.high)


def _common_divisor(numbers: list[Fraction]) -> Fraction:
    """The largest number of which all are multiples; 0 for none."""
    denominator = lcm(*(number.denominator for number in numbers))
    return Fraction(gcd(*(int(number * denominator) for number in numbers)), denominator)


def _round_step(least: Fraction) -> Fraction:
    """The smallest of 1, 2 or 5 times a power of ten that is not below `least`."""
    power = Fraction(1)
    while power > least:
        power /= 10
    while 10 * power <= least:
        power *= 10
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least)


def _decimal(number: Fraction) -> str:
    """A number as decimal digits; units are decimals."""
    if number.denominator == 1:
        return str(number.numerator)
    places = next(places for places in range(1, 40) if (number * 10**places).denominator == 1)
    digits = str(int(number * 10**places)).rjust(places + 1, "0")
    return f"{digits[:-places]}.{digits[-places:]}"
