"""How limits and changes of them are said."""

from fractions import Fraction

import pytest

from sizing.facility.site import Site
from sizing.plan.plan import Relaxation, StatedLimit
from sizing.plan.words import amount_in_words, change_in_words, limit_in_words, stated_in_words
from tests.plan_builders import TEST_POD, request

ONE_SITE = request([])
TWO_SITES = request([], sites=[Site("north", TEST_POD), Site("south", TEST_POD)])


@pytest.mark.parametrize(
    ("amount", "unit", "text"),
    [
        (Fraction(4500), "kW", "4.5 MW"),
        (Fraction("999.9"), "kW", "999.9 kW"),
        (Fraction("1234.56789"), "kW", "1.23456789 MW"),
        (Fraction("0.094"), "kW", "0.094 kW"),
        (Fraction(1, 3), "kW", "0.333333334 kW"),  # never less than what is needed
        (Fraction(0), "Pods", "0 Pods"),
        (1, "Pods", "1 Pod"),
        (Fraction(1), "systems", "1 system"),
        (12_345, "systems", "12,345 systems"),
    ],
)
def test_amounts_lose_no_digit(amount: Fraction | int, unit: str, text: str) -> None:
    assert amount_in_words(amount, unit) == text


def test_a_site_is_named_where_there_are_several() -> None:
    assert limit_in_words(ONE_SITE, "liquid_heat", "site") == "site liquid heat"
    assert limit_in_words(TWO_SITES, "liquid_heat", "north") == "liquid heat of site `north`"
    assert limit_in_words(TWO_SITES, "supply:rack-72", None) == "supply of rack-72"
    assert stated_in_words(ONE_SITE, StatedLimit("pods", "site", Fraction(2), "Pods", Fraction(2))) == "site Pods 2"


def test_changes_say_from_where_to_where() -> None:
    power = Relaxation("power", "site", Fraction(3000), Fraction(5000), "kW")
    assert change_in_words(ONE_SITE, power) == "site power 3 MW -> 5 MW"
    open_pods = Relaxation("pods", "south", Fraction(0), Fraction(4), "Pods", proven=False)
    assert change_in_words(TWO_SITES, open_pods) == "Pods of site `south` 0 -> at most 4"
    fewer_bits = Relaxation("kv_precision:documents", None, "bf16", "fp8", "KV precision")
    assert change_in_words(ONE_SITE, fewer_bits) == "allow fp8 for `documents`"
    less = Relaxation("concurrency", None, Fraction(100), Fraction(86), "%")
    assert change_in_words(ONE_SITE, less) == "14 % less concurrency"
    open_less = Relaxation("concurrency", None, Fraction(100), Fraction(86), "%", proven=False)
    assert change_in_words(ONE_SITE, open_less) == "at most 14 % less concurrency"
