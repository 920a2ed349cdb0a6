"""Prices and energy by hand: where a price comes from, and what energy costs to the last digit."""

from dataclasses import replace
from fractions import Fraction

import pytest

from sizing.facility.prices import FREE, Energy, Price, Prices
from tests.plan_builders import NODE, TEST_POD, figure

TARIFF = Price(Fraction("0.08"), Fraction("0.1"))


def usd(low: int, high: int | None = None) -> Price:
    return Price(Fraction(low), Fraction(low if high is None else high))


def test_a_price_is_what_the_workload_states_or_else_the_catalog() -> None:
    listed = replace(NODE, price_usd=figure(Fraction(300_000), "USD"))
    assert Prices().of_system(NODE) is None
    assert Prices().of_system(listed) == usd(300_000)
    assert Prices(systems={"node-8": usd(5, 7)}).of_system(listed) == usd(5, 7)
    assert Prices(systems={"node-8": FREE}).of_system(listed) == FREE
    assert Prices(pods={"other": usd(1)}).of_pod(TEST_POD) is None
    assert Prices(pods={"test-pod": usd(1)}).of_pod(TEST_POD) == usd(1)


def test_a_figure_with_a_range_is_a_range() -> None:
    ranging = replace(figure(Fraction(310), "USD"), range=(Fraction(290), Fraction(320)))
    assert Prices().of_system(replace(NODE, price_usd=ranging)) == usd(290, 320)
    assert Prices().of_pod(replace(TEST_POD, price_usd=ranging)) == usd(290, 320)


def test_energy_is_nameplate_times_pue_times_hours_times_tariff() -> None:
    """10.2 kW x 1.12 x 4 x 8,760 h = 400,296.96 kWh."""
    energy = Energy(TARIFF, Fraction(4), Fraction("1.12"))
    kwh = Fraction("400296.96")
    assert energy.price_of(Fraction("10.2"), TEST_POD) == Price(kwh * Fraction("0.08"), kwh * Fraction("0.1"))
    assert Prices().of_energy(Fraction("10.2"), TEST_POD) == FREE


def test_pue_is_the_stated_one_or_else_that_of_the_pod() -> None:
    own = replace(TEST_POD, pue=figure(Fraction("1.25")))
    assert Energy(TARIFF, Fraction(1)).pue_of(own) == Fraction("1.25")
    assert Energy(TARIFF, Fraction(1), Fraction("1.1")).pue_of(own) == Fraction("1.1")
    assert Energy(TARIFF, Fraction(1)).pue_of(TEST_POD) is None
    with pytest.raises(ValueError, match="the PUE of a Pod test-pod is unknown"):
        Energy(TARIFF, Fraction(1)).price_of(Fraction(1), TEST_POD)


def test_prices_add_up_end_by_end() -> None:
    assert usd(1, 3) + usd(10) == usd(11, 13)
    assert usd(1, 3).times(5) == usd(5, 15)
    assert not usd(3).is_range
    assert usd(3, 4).is_range
