from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing.units.quantities import (
    NotAccepted,
    parse_count,
    parse_decimal,
    parse_flag,
    parse_memory_bytes,
    parse_power_kw,
    parse_price_usd,
    parse_share,
    parse_tariff_usd_per_kwh,
    parse_tokens,
    parse_years,
)

Parser = Callable[[Any], Any]
PRICES = [parse_price_usd, parse_tariff_usd_per_kwh, parse_years]
ALL = [parse_tokens, parse_count, parse_share, parse_power_kw, parse_memory_bytes, parse_decimal, *PRICES]


def refusal(parse: Parser, value: Any) -> NotAccepted:
    with pytest.raises(NotAccepted) as caught:
        parse(value)
    assert caught.value.accepted
    return caught.value


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (parse_tokens, "4096", 4096),
        (parse_tokens, "131_072", 131072),
        (parse_tokens, "128k", 131072),
        (parse_tokens, "128K", 131072),
        (parse_tokens, "128 k", 131072),
        (parse_tokens, "1M", 1048576),
        (parse_tokens, "4.5k", 4608),
        (parse_tokens, "0.5M", 524288),
        (parse_tokens, "0", 0),
        (parse_count, "2000", 2000),
        (parse_count, "2_000", 2000),
        (parse_count, "0", 0),
        (parse_share, "10 %", Fraction(1, 10)),
        (parse_share, "10%", Fraction(1, 10)),
        (parse_share, "0.1", Fraction(1, 10)),
        (parse_share, "12.5 %", Fraction(1, 8)),
        (parse_share, "0", Fraction(0)),
        (parse_share, "0 %", Fraction(0)),
        (parse_share, "150 %", Fraction(3, 2)),
        (parse_power_kw, "5 MW", Fraction(5000)),
        (parse_power_kw, "800 kW", Fraction(800)),
        (parse_power_kw, "10.2kW", Fraction(51, 5)),
        (parse_power_kw, "700 W", Fraction(7, 10)),
        (parse_power_kw, "1 GW", Fraction(10**6)),
        (parse_power_kw, "5\u00a0MW", Fraction(5000)),
        (parse_power_kw, "5\u202fMW", Fraction(5000)),
        (parse_power_kw, "1_500 kW", Fraction(1500)),
        (parse_power_kw, "0 kW", Fraction(0)),
        (parse_memory_bytes, "141 GB", 141 * 10**9),
        (parse_memory_bytes, "64 GiB", 64 * 2**30),
        (parse_memory_bytes, "0.5 kB", 500),
        (parse_memory_bytes, "80 TB", 80 * 10**12),
        (parse_memory_bytes, "7 bytes", 7),
        (parse_memory_bytes, "7 B", 7),
        (parse_price_usd, "415_000 USD", Fraction(415_000)),
        (parse_price_usd, "0.05USD", Fraction(1, 20)),
        (parse_price_usd, "0 USD", Fraction(0)),
        (parse_tariff_usd_per_kwh, "0.08 USD/kWh", Fraction(2, 25)),
        (parse_tariff_usd_per_kwh, "80 USD/MWh", Fraction(2, 25)),
        (parse_years, "4 years", Fraction(4)),
        (parse_years, "1 year", Fraction(1)),
        (parse_years, "2.5\u00a0years", Fraction(5, 2)),
        (parse_decimal, "10.2", Fraction(51, 5)),
        (parse_decimal, "4", Fraction(4)),
        (parse_flag, "true", True),
        (parse_flag, "False", False),
    ],
)
def test_accepted(parse: Parser, text: str, value: Any) -> None:
    parsed = parse(text)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ("parse", "text", "readings"),
    [
        (parse_count, "2k", ("2,000", "2,048")),
        (parse_count, "2.5k", ("2,500", "2,560")),
        (parse_count, "1M", ("1,000,000", "1,048,576")),
        (parse_count, "2.000", ("fraction", "2000")),
        (parse_tokens, "4.096", ("fraction", "4096")),
        (parse_tokens, "131,072", ("131.072", "131072")),
        (parse_share, "10", ("10 %", "1,000 %")),
        (parse_share, "1", ("1 %", "100 %")),
        (parse_share, "0,26", ("0.26",)),
        (parse_power_kw, "5", ("5 kW", "5 MW")),
        (parse_power_kw, "1,5 MW", ("1.5", "15")),
        (parse_memory_bytes, "80", ("80 bytes", "80 GB")),
        (parse_memory_bytes, "80 KB", ("1,000", "1,024")),
    ],
)
def test_ambiguous_is_refused_with_its_readings(parse: Parser, text: str, readings: tuple[str, ...]) -> None:
    what = refusal(parse, text).what
    assert all(reading in what for reading in readings)


@pytest.mark.parametrize(
    ("parse", "text", "what"),
    [
        (parse_tokens, "4.4k", "no whole number of tokens"),
        (parse_tokens, "128Ki", "no suffix"),
        (parse_tokens, "128 tokens", "no suffix"),
        (parse_count, "2 GPUs", "takes no unit"),
        (parse_share, "50 kW", "no unit of a share"),
        (parse_memory_bytes, "0.5 bytes", "no whole number of bytes"),
        (parse_decimal, "4 kW", "no unit is written here"),
    ],
)
def test_refused_with_the_reason(parse: Parser, text: str, what: str) -> None:
    assert what in refusal(parse, text).what


@pytest.mark.parametrize(
    ("parse", "text", "nearest"),
    [
        (parse_tokens, "1m", "1M"),
        (parse_power_kw, "5 mw", "5 MW"),
        (parse_power_kw, "5 KW", "5 kW"),
        (parse_memory_bytes, "80 gb", "80 GB"),
        (parse_share, ".5", "0.5"),
    ],
)
def test_nearest_spelling(parse: Parser, text: str, nearest: str) -> None:
    assert refusal(parse, text).nearest == nearest


@pytest.mark.parametrize("parse", ALL)
@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("-5", "negative"),
        ("\u22125", "negative"),
        ("+5", "sign"),
        ("1e3", "exponents"),
        ("1E+3 kW", "exponents"),
        ("NaN", "finite"),
        (".inf", "finite"),
        ("-Infinity", "finite"),
        ("007", "leading zero"),
        ("1,2,3", "commas"),
        ("1_0", "no number"),
        ("0x10", "no number"),
        ("\u0663", "no number"),
        ("five", "no number"),
        ("", "empty"),
        (" ", "empty"),
        ("kW", "no number"),
        ("5 ", "no number"),
        (" 5", "no number"),
        ("9" * 16, "digits"),
        ("9" * 1_000_000, "digits"),
    ],
)
def test_refused_everywhere(parse: Parser, text: str, what: str) -> None:
    problem = refusal(parse, text)
    assert what in problem.what
    assert len(str(problem)) < 400


@pytest.mark.parametrize("parse", ALL)
@pytest.mark.parametrize(
    "value",
    [None, True, [], {}, object(), float("nan"), float("inf"), -1, -0.5, 10**16, Decimal("1e999999"), 5e-324, 1j],
)
def test_refused_from_python(parse: Parser, value: Any) -> None:
    refusal(parse, value)


def test_numbers_from_python() -> None:
    assert parse_tokens(4096) == 4096
    assert parse_count(np.int64(7)) == 7
    assert type(parse_count(np.int64(7))) is int
    assert parse_count(7.0) == 7
    assert parse_share(0.1) == Fraction(1, 10)
    assert parse_share(np.float64(0.1)) == Fraction(1, 10)
    assert parse_share(Decimal("0.25")) == Fraction(1, 4)
    assert parse_share(Fraction(1, 3)) == Fraction(1, 3)
    assert parse_decimal(10.2) == Fraction(51, 5)
    assert parse_flag(True) is True


def test_numbers_from_python_obey_the_same_rules() -> None:
    assert "no whole number" in refusal(parse_count, 2.5).what
    assert "could be 10 % or 1,000 %" in refusal(parse_share, 10).what
    assert "needs a unit" in refusal(parse_power_kw, 5).what
    assert "needs a unit" in refusal(parse_memory_bytes, 80.0).what


@pytest.mark.parametrize("value", ["yes", "no", "on", "1", "", None, 1, 0])
def test_what_is_no_flag(value: Any) -> None:
    refusal(parse_flag, value)


WHOLE = st.integers(0, 10**15 - 1)
DECIMALS = st.builds(lambda whole, places: Decimal(whole).scaleb(-places), st.integers(0, 10**9), st.integers(0, 6))


def written(value: Decimal) -> str:
    return format(value, "f")


@given(WHOLE, st.sampled_from(["{}", "{:_}"]))
def test_whole_numbers_are_read_exactly(value: int, form: str) -> None:
    assert parse_count(form.format(value)) == value
    assert parse_tokens(form.format(value)) == value
    assert parse_decimal(form.format(value)) == value


@given(st.integers(0, 10**9), st.sampled_from([("k", 1024), ("K", 1024), ("M", 1048576)]), st.sampled_from(["", " "]))
def test_tokens_are_multiples_of_powers_of_two(value: int, suffix: tuple[str, int], blank: str) -> None:
    assert parse_tokens(f"{value}{blank}{suffix[0]}") == value * suffix[1]


@given(DECIMALS)
def test_decimals_are_exact(value: Decimal) -> None:
    assert parse_decimal(written(value)) == Fraction(value)
    assert parse_power_kw(f"{written(value)} MW") == 1000 * Fraction(value)
    assert parse_share(f"{written(value)} %") == Fraction(value) / 100


@given(DECIMALS.filter(lambda value: value < 100))
def test_the_three_ways_to_write_a_share_agree(percent: Decimal) -> None:
    share = parse_share(f"{written(percent)}%")
    assert parse_share(f"{written(percent)} %") == share
    assert parse_share(written(percent / 100)) == share
    assert parse_share(float(percent / 100)) == share


@given(st.integers(0, 10**6), st.sampled_from([("kB", "KiB", 1), ("MB", "MiB", 2), ("GB", "GiB", 3), ("TB", "TiB", 4)]))
def test_decimal_and_binary_memory(value: int, unit: tuple[str, str, int]) -> None:
    assert parse_memory_bytes(f"{value} {unit[0]}") == value * 1000 ** unit[2]
    assert parse_memory_bytes(f"{value} {unit[1]}") == value * 1024 ** unit[2]


@given(
    st.text(max_size=12) | st.text("0123456789.,_+-eEkKMW% \u00a0nNaAiIfF", max_size=12),
    st.sampled_from([*ALL, parse_flag]),
)
def test_any_text_is_a_value_or_not_accepted(text: str, parse: Parser) -> None:
    try:
        value = parse(text)
    except NotAccepted:
        return
    assert isinstance(value, int | Fraction)
    assert value >= 0
