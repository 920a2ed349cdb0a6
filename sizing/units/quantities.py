"""Quantities as people write them, read exactly: text to int, Fraction or bool, never to a float.

The contract is a closed list of accepted spellings, in which whatever could be read in two ways is refused, and no
algebra of units; a library of units would accept more than it allows.

Numbers are written with ASCII digits, `_` between groups of three if wanted, and a decimal point. Refused everywhere:
decimal and thousands commas, signs, exponents, leading zeros, NaN and infinity, more than 15 digits.
Blanks (also no-break ones) may stand before a unit. From Python, whole numbers (of any integer type),
`Decimal` and `Fraction` are taken as they are and a float as the decimal that its repr shows; a power, a memory, a
price or a time needs its unit from Python too. Every function raises NotAccepted, a ValueError, that says what would
be accepted.
"""

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Integral
from typing import Any, NoReturn

from sizing.units.errors import shown
from sizing.units.names import nearest

MOST_DIGITS = 15  # in all: a decimal of 15 digits survives being written as a float in JSON

TOKENS_ACCEPTED = "whole tokens such as 4096, 128k (k = K = 1,024) or 1M (M = 1,048,576)"
COUNT_ACCEPTED = "a whole number such as 2000 or 2_000, without a suffix"
SHARE_ACCEPTED = "a share such as 10 %, 10% or 0.1"
POWER_ACCEPTED = "a power with its unit, W, kW, MW or GW, such as 800 kW or 5 MW"
MEMORY_ACCEPTED = "a memory size with its unit, bytes, B, kB, MB, GB, TB, KiB, MiB, GiB or TiB, such as 141 GB"
DECIMAL_ACCEPTED = "a number such as 10.2"
PRICE_ACCEPTED = "a price with its currency, in USD, such as 415_000 USD"
TARIFF_ACCEPTED = "a price of energy with its unit, USD/kWh or USD/MWh, such as 0.08 USD/kWh"
YEARS_ACCEPTED = "a time in years, such as 4 years"
FLAG_ACCEPTED = "true or false"

_TOKEN_FACTORS = {"k": 2**10, "K": 2**10, "M": 2**20}
_KW_OF_UNIT = {"W": Fraction(1, 1000), "kW": Fraction(1), "MW": Fraction(1000), "GW": Fraction(10**6)}
_BYTES_OF_UNIT = {
    "bytes": 1,
    "B": 1,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}
_USD_OF_CURRENCY = {"USD": 1}
_USD_PER_KWH_OF_UNIT = {"USD/kWh": Fraction(1), "USD/MWh": Fraction(1, 1000)}
_YEARS_OF_UNIT = {"years": 1, "year": 1}
_FLAGS = {text: flag for flag in (True, False) for text in (str(flag), str(flag).lower(), str(flag).upper())}

_NUMBER = re.compile(r"(0|[1-9][0-9]{0,2}(?:_[0-9]{3})+|[1-9][0-9]*)(?:\.([0-9]+))?")
_AMOUNT = re.compile(r"([^\s%A-Za-z]*)(?:[ \u00a0\u202f]*(%|[A-Za-z]+(?:/[A-Za-z]+)?))?")


class NotAccepted(ValueError):
    """A value that is refused: `what` is wrong with it, and what would be `accepted`."""

    def __init__(self, what: str, accepted: str, nearest: str | None = None) -> None:
        self.what = what
        self.accepted = accepted
        self.nearest = nearest
        super().__init__(f"{what}; accepted: {accepted}")


def parse_tokens(value: Any) -> int:
    """Tokens: `128k` and `128K` are 131,072, `1M` is 1,048,576, `4.5k` is 4,608; whole tokens only, without a sign."""
    exact = _exact(value, TOKENS_ACCEPTED)
    if exact is not None:
        return _whole(exact, value, "tokens", TOKENS_ACCEPTED)
    number, suffix = _split(value, TOKENS_ACCEPTED)
    if suffix and suffix not in _TOKEN_FACTORS:
        hint = f"{number}M" if suffix == "m" else None
        raise NotAccepted(f"{shown(suffix)} is no suffix of tokens", TOKENS_ACCEPTED, hint)
    if not suffix:
        _refuse_point(number, TOKENS_ACCEPTED)
    return _whole(_decimal(number, TOKENS_ACCEPTED) * _TOKEN_FACTORS.get(suffix, 1), value, "tokens", TOKENS_ACCEPTED)


def parse_count(value: Any) -> int:
    """A count: digits only. `2k` is refused with both readings, 2,000 and 2,048."""
    exact = _exact(value, COUNT_ACCEPTED)
    if exact is not None:
        return _whole(exact, value, "number", COUNT_ACCEPTED)
    number, suffix = _split(value, COUNT_ACCEPTED)
    if suffix in _TOKEN_FACTORS and _NUMBER.fullmatch(number):
        plain = _decimal(number, COUNT_ACCEPTED)
        decimal = plain * {"k": 10**3, "K": 10**3, "M": 10**6}[suffix]
        binary = plain * _TOKEN_FACTORS[suffix]
        raise NotAccepted(
            f"{shown(value)} could be {_text(decimal)} or {_text(binary)}: a count takes no suffix", COUNT_ACCEPTED
        )
    if suffix:
        raise NotAccepted(f"a count takes no unit, not {shown(suffix)}", COUNT_ACCEPTED)
    _refuse_point(number, COUNT_ACCEPTED)
    return _whole(_decimal(number, COUNT_ACCEPTED), value, "number", COUNT_ACCEPTED)


def parse_share(value: Any) -> Fraction:
    """A share: `10 %`, `10%` and `0.1` are 1/10. A bare number of 1 or more is refused with both readings."""
    exact = _exact(value, SHARE_ACCEPTED)
    number, unit = ("", "") if exact is not None else _split(value, SHARE_ACCEPTED)
    if unit not in ("", "%"):
        raise NotAccepted(f"{shown(unit)} is no unit of a share", SHARE_ACCEPTED)
    amount = _decimal(number, SHARE_ACCEPTED) if exact is None else exact
    if unit == "%":
        return amount / 100
    if amount >= 1:
        readings = f"{_text(amount)} % or {_text(amount * 100)} %"
        raise NotAccepted(f"a bare {shown(value)} could be {readings}: write the % sign", SHARE_ACCEPTED)
    return amount


def below_all(share: Fraction) -> Fraction:
    """A share that is kept free, as it is; refused where nothing would be left."""
    if share >= 1:
        raise NotAccepted("leaves no memory", "less than 100 %")
    return share


def parse_power_kw(value: Any) -> Fraction:
    """A power in kW: `5 MW` is 5000, `10.2 kW` is 51/5. A number without a unit is refused."""
    return _with_unit(value, _KW_OF_UNIT, ("kW", "MW"), "power", POWER_ACCEPTED)


def parse_memory_bytes(value: Any) -> int:
    """A memory size in bytes: `141 GB` is 141 x 10^9, `1 GiB` is 2^30. A number without a unit is refused."""
    if isinstance(value, str) and value.endswith("KB"):
        raise NotAccepted("'KB' could be 1,000 or 1,024 bytes: write kB or KiB", MEMORY_ACCEPTED)
    amount = _with_unit(value, _BYTES_OF_UNIT, ("bytes", "GB"), "memory size", MEMORY_ACCEPTED)
    return _whole(amount, value, "bytes", MEMORY_ACCEPTED)


def parse_price_usd(value: Any) -> Fraction:
    """A price in USD: `415_000 USD`, `0 USD`. Other currencies are refused: what they are worth changes every day."""
    return _with_unit(value, _USD_OF_CURRENCY, ("USD",), "price", PRICE_ACCEPTED)


def parse_tariff_usd_per_kwh(value: Any) -> Fraction:
    """A price of energy in USD/kWh: `0.08 USD/kWh` and `80 USD/MWh` are 2/25."""
    return _with_unit(value, _USD_PER_KWH_OF_UNIT, ("USD/kWh", "USD/MWh"), "price of energy", TARIFF_ACCEPTED)


def parse_years(value: Any) -> Fraction:
    """A time in years: `4 years`, `1 year`, `2.5 years`."""
    return _with_unit(value, _YEARS_OF_UNIT, ("years",), "time", YEARS_ACCEPTED)


def parse_decimal(value: Any) -> Fraction:
    """A plain number, whole or with a decimal point, such as `10.2`; the unit stands in the name of its key."""
    exact = _exact(value, DECIMAL_ACCEPTED)
    if exact is not None:
        return exact
    number, unit = _split(value, DECIMAL_ACCEPTED)
    if unit:
        raise NotAccepted(f"no unit is written here, not {shown(unit)}", DECIMAL_ACCEPTED)
    return _decimal(number, DECIMAL_ACCEPTED)


def parse_flag(value: Any) -> bool:
    """`true` or `false`, as YAML 1.2 reads them: `yes`, `on` and 1 are refused."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value in _FLAGS:
        return _FLAGS[value]
    raise NotAccepted("is neither true nor false", FLAG_ACCEPTED)


def _with_unit(
    value: Any, units: Mapping[str, Fraction | int], bare: Sequence[str], kind: str, accepted: str
) -> Fraction:
    """`value` in terms of `units`. `bare` are the units that a number without one is likely meant in."""
    exact = _exact(value, accepted)
    number, unit = (shown(value), "") if exact is not None else _split(value, accepted)
    amount = _decimal(number, accepted) if exact is None else exact
    if not unit:
        readings = " or ".join(f"{number} {unit}" for unit in bare)
        raise NotAccepted(f"a {kind} needs a unit: {number} could be {readings}", accepted)
    if unit not in units:
        alike = nearest(unit, units)
        hint = f"{number} {alike}" if alike else None
        raise NotAccepted(f"{shown(unit)} is no unit of a {kind}", accepted, hint)
    return amount * units[unit]


def _split(value: str, accepted: str) -> tuple[str, str]:
    """(number, unit) as they are written; what is no number at all is refused."""
    match = _AMOUNT.fullmatch(value)
    if match is None or not re.search("[0-9]", match.group(1)):
        raise _no_number(value, accepted)
    return match.group(1), match.group(2) or ""


def _no_number(value: str, accepted: str) -> NotAccepted:
    if re.fullmatch(r"[+-]?\.?(nan|inf|infinity)", value, re.IGNORECASE):
        return NotAccepted("must be a finite number", accepted)
    if re.fullmatch(r"[0-9._]+[eE][+-]?[0-9]+.*", value):
        return NotAccepted("exponents are not read: write the number out", accepted)
    if not value.strip():
        return NotAccepted("is empty", accepted)
    return NotAccepted("is no number", accepted)


def _decimal(number: str, accepted: str) -> Fraction:
    """Digits with a decimal point, exactly. The length is bounded before any digit is converted."""
    match = _NUMBER.fullmatch(number)
    if match is None:
        _refuse(number, accepted)
    whole, decimals = match.group(1).replace("_", ""), match.group(2) or ""
    if len(whole) + len(decimals) > MOST_DIGITS:
        raise NotAccepted(f"has more than {MOST_DIGITS} digits", accepted)
    return Fraction(int(whole + decimals), 10 ** len(decimals))


def _refuse(number: str, accepted: str) -> NoReturn:
    """Say why `number` is not in the accepted form."""
    if number.startswith(("-", "\u2212")):
        raise NotAccepted("must not be negative", accepted)
    if number.startswith("+"):
        raise NotAccepted("is written without a sign", accepted)
    if re.fullmatch(r"[0-9.,_]+", number) and "," in number and len(number) <= 2 * MOST_DIGITS:
        if re.fullmatch(r"[0-9]+,[0-9]+", number):
            readings = [number.replace(",", ".")] + [number.replace(",", "")] * (number[0] != "0")
            raise NotAccepted(f"{shown(number)} could mean {' or '.join(readings)}: commas are not read", accepted)
        raise NotAccepted("commas are not read in numbers", accepted)
    if re.fullmatch(r"0[0-9_]+(\.[0-9]+)?", number):
        raise NotAccepted("a leading zero could mean octal or decimal", accepted)
    if re.fullmatch(r"\.[0-9]+", number):
        raise NotAccepted("a digit must stand before the point", accepted, nearest=f"0{number}")
    raise NotAccepted("is no number", accepted)


def _refuse_point(number: str, accepted: str) -> None:
    """A point in a count is a decimal point to some and separates thousands for others."""
    if re.fullmatch(r"[0-9]+(\.[0-9]+)+", number):
        plain = number.replace(".", "")
        raise NotAccepted(f"{shown(number)} could be a fraction or {shown(plain)}: write no point", accepted)


def _exact(value: Any, accepted: str) -> Fraction | None:
    """The amount of a number from Python; None for text, which is still to be read."""
    if isinstance(value, str):
        return None
    if value is None:
        raise NotAccepted("is empty", accepted)
    if isinstance(value, bool) or not isinstance(value, Integral | float | Decimal | Fraction):
        raise NotAccepted("is no number", accepted)
    decimal = Decimal(repr(float(value))) if isinstance(value, float) else value
    if isinstance(decimal, Decimal):
        if not decimal.is_finite():
            raise NotAccepted("must be a finite number", accepted)
        if abs(decimal.adjusted()) >= MOST_DIGITS and decimal:
            raise NotAccepted("is absurdly large or small", accepted)
    exact = Fraction(int(decimal)) if isinstance(decimal, Integral) else Fraction(decimal)
    if exact < 0:
        raise NotAccepted("must not be negative", accepted)
    if exact >= 10**MOST_DIGITS:
        raise NotAccepted(f"has more than {MOST_DIGITS} digits", accepted)
    return exact


def _whole(amount: Fraction, value: Any, unit: str, accepted: str) -> int:
    if amount.denominator != 1:
        raise NotAccepted(f"{shown(value)} is no whole number{'' if unit == 'number' else f' of {unit}'}", accepted)
    return amount.numerator


def _text(amount: Fraction) -> str:
    """An amount for a message: `2,000` or `0.5`."""
    return f"{amount.numerator:,}" if amount.denominator == 1 else f"{float(amount):g}"
