"""Exact amounts and how they are written: bytes in GB (10^9) and GiB (2^30), counts, shares, kW."""

import re
from fractions import Fraction
from math import ceil

GB = 10**9
GIB = 2**30

MOST_DIGITS = 9
_STEP = re.compile(r"([0-9]+(?:\.[0-9]+)?) (.+)")


def whole_bytes(bits: Fraction | int) -> int:
    """Bytes that hold `bits`, rounded up to a whole byte."""
    return ceil(Fraction(bits) / 8)


def number(value: Fraction | int) -> int | float:
    """The JSON form of an exact amount: an integer where it is one, else the nearest float."""
    exact = Fraction(value)
    return exact.numerator if exact.denominator == 1 else float(exact)


def thousands(value: Fraction | int, decimals: int = 0) -> str:
    """`1234567` as `1,234,567`; further decimals only where asked for."""
    return f"{float(value):,.{decimals}f}" if decimals else f"{round(value):,}"


def gib(value: Fraction | int, decimals: int = 1) -> str:
    """Bytes written in GiB."""
    return f"{float(Fraction(value, GIB)):,.{decimals}f} GiB"


def gb(value: Fraction | int, decimals: int = 1) -> str:
    """Bytes written in decimal GB."""
    return f"{float(Fraction(value, GB)):,.{decimals}f} GB"


def kw(value: Fraction | int) -> str:
    """kW as published: no trailing zeros beyond the first decimal."""
    return f"{float(value):,.1f} kW"


def percent(share: Fraction, decimals: int = 0) -> str:
    """A share written in percent."""
    return f"{float(share * 100):.{decimals}f} %"


def in_steps(count: int, unit: str) -> str:
    """A whole number of a unit, or of steps of one: `3 Pods`, `1 kind`; 5,109 of `0.1 kW` are `510.9 kW`."""
    step = _STEP.fullmatch(unit)
    if step is None:
        return f"{count:,} {unit.removesuffix('s') if count == 1 else unit}"
    value = count * Fraction(step[1])
    return kw(value) if step[2] == "kW" else plain(value, step[2])


def in_whole_units(unit: str) -> tuple[Fraction | int, str]:
    """(how much a step is, its unit): `0.1 kW` is 0.1 of kW, `Pods` 1 of Pods."""
    step = _STEP.fullmatch(unit)
    return (1, unit) if step is None else (Fraction(step[1]), step[2])


def plain(value: Fraction | int, unit: str) -> str:
    """An amount as people write it, to the last digit: `4.5 MW`, `650 kW`, `5 Pods`; kW from a thousand on in MW.

    What is no decimal of `MOST_DIGITS` digits is rounded up.
    """
    exact = Fraction(value)
    if unit == "kW" and exact >= 1000:
        exact, unit = exact / 1000, "MW"
    whole, rest = divmod(ceil(exact * 10**MOST_DIGITS), 10**MOST_DIGITS)
    digits = f"{rest:0{MOST_DIGITS}}".rstrip("0")
    return f"{whole:,}" + (f".{digits}" if digits else "") + f" {unit}"
