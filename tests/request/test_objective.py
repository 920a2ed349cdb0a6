"""Stages as they are written, blends, and the steps in which they count."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing.facility.prices import Energy, Price, Prices
from sizing.request.objective import (
    LARGEST_COEFFICIENT,
    STAGES,
    aims_at,
    parse_aim,
    steps,
    system_cost,
    unit_of,
    unit_text,
)
from sizing.request.request import Request
from sizing.units.quantities import NotAccepted
from tests.plan_builders import NODE, RACK, policy, request, service_class


def usd(amount: int | str) -> Price:
    return Price(Fraction(amount), Fraction(amount))


def priced(node: int | str, rack: int | str, pod: int | str, energy: Energy | None = None) -> Request:
    prices = Prices({"node-8": usd(node), "rack-72": usd(rack)}, {"test-pod": usd(pod)}, energy)
    return request([service_class("chat")], (NODE, RACK), rules=policy(prices=prices))


def unit(text: str, asked: Request) -> str:
    aim = parse_aim(text)
    return unit_text(aim, unit_of(aim, asked))


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("pods", "pods"),
        (" cost ", "cost"),
        ("power + 2 gpus", "power + 2 gpus"),
        ("2 gpus + power", "power + 2 gpus"),
        ("500 power+cost", "cost + 500 power"),
        ("1 pods + 1_000 system_kinds", "pods + 1000 system_kinds"),
        ("gpus + pods", "pods + gpus"),
    ],
)
def test_a_stage_is_written_in_one_way(text: str, canonical: str) -> None:
    assert str(parse_aim(text)) == canonical
    assert str(parse_aim(canonical)) == canonical


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("podds", "unknown stage 'podds'"),
        ("", "unknown stage ''"),
        ("power + gpu", "unknown stage 'gpu'"),
        ("power - gpus", "unknown stage 'power - gpus'"),
        ("2 power", "a weight without a second stage"),
        ("power + 2 power", "names 'power' twice"),
        ("power + 0 gpus", "weighs 'gpus' with 0"),
        ("power + -2 gpus", "must not be negative"),
        ("power + 1.5 gpus", "is no whole weight: multiply all weights of the sum"),
        ("power +", "nothing stands on one side of"),
        ("+ power", "nothing stands on one side of"),
        ("power + 1,5 gpus", "commas are not read"),
        ("cost + 2k power", "unknown stage '2k power'"),
    ],
)
def test_what_is_no_stage(text: str, what: str) -> None:
    with pytest.raises(NotAccepted) as caught:
        parse_aim(text)
    assert what in caught.value.what


def test_plain_stages_count_in_their_own_unit() -> None:
    asked = priced(300_000, 4_000_000, 50_000)
    assert [unit(name, asked) for name in STAGES[:-1]] == [
        "Pods",
        "kinds",
        "0.1 kW",
        "GPUs",
        "sequence steps",
        "sequence steps",
    ]


def test_cost_counts_in_the_greatest_common_divisor_of_the_prices() -> None:
    assert unit("cost", priced(300_000, 4_000_000, 50_000)) == "50000 USD"
    assert unit("cost", priced(310_500, 3_712_000, 0)) == "500 USD"
    assert unit("cost", priced("0.75", "1.25", 0)) == "0.25 USD"
    assert unit("cost", priced(0, 0, 0)) == "1 USD"


def test_cost_counts_in_a_round_step_where_the_divisor_is_too_small() -> None:
    assert unit("cost", priced(310_501, 3_712_003, 0)) == "500 USD"  # 3,712,003 / 10,000 is 371.2
    assert unit("cost", priced(10_001, 10_000, 0)) == "2 USD"
    assert unit("cost", priced(10_000, 9_999, 0)) == "1 USD"
    energy = Energy(usd("0.083"), Fraction(4), Fraction("1.12"))
    assert unit("cost", priced(300_000, 3_500_000, 0, energy)) == "500 USD"  # 3,962,554 with energy


def test_blends_count_in_parts_of_a_point() -> None:
    asked = priced(300_000, 4_000_000, 50_000)
    assert unit("power + 2 gpus", asked) == "0.1 points"
    assert unit("5 gpus + 10 pods", asked) == "5 points"
    assert unit("cost + 500 power", asked) == "500 points"  # 50 would make 81,420 steps of a rack
    assert unit("cost + 30_000 gpus", asked) == "10000 points"


@given(st.fractions(0, 10**6, max_denominator=1000), st.integers(1, 1000).map(Fraction))
def test_steps_round_to_the_nearest_halves_up(amount: Fraction, unit: Fraction) -> None:
    count = steps(amount, unit)
    assert -unit / 2 < count * unit - amount <= unit / 2
    assert steps(count * unit, unit) == count


@given(
    st.integers(1, 10**7),
    st.integers(1, 10**7),
    st.integers(0, 10**7),
    st.none()
    | st.builds(Energy, st.decimals(0, 1, places=3).map(str).map(usd), st.just(Fraction(3)), st.just(Fraction(2))),
)
def test_coefficients_of_cost_stay_in_scale(node: int, rack: int, pod: int, energy: Energy | None) -> None:
    """The largest is between a tenth and the whole of what a solver's tolerance allows, or all are exact."""
    asked = priced(node, rack, pod, energy)
    aim = parse_aim("cost")
    step = unit_of(aim, asked)
    (site,) = asked.sites
    amounts = [Fraction(pod)]
    for system in asked.candidates:
        cost = system_cost(system, site, asked.policy)
        assert cost is not None
        amounts.append(cost.high)
    exact = all((amount / step).denominator == 1 for amount in amounts)
    largest = steps(max(amounts), step)
    assert largest <= LARGEST_COEFFICIENT
    assert exact or largest >= LARGEST_COEFFICIENT // 3


def test_aims_at_looks_into_blends() -> None:
    rules = policy(objective=("pods", "gpus + 2 cost"))
    assert aims_at(rules, "cost")
    assert not aims_at(rules, "power")
    assert not aims_at(replace(rules, objective=("pods",)), "cost")
