"""Whether the choice turns inside ranges of prices: against every plan of a small case, by hand."""

from dataclasses import replace
from fractions import Fraction

import pytest

from sizing.advice.answer import answer
from sizing.facility.prices import Energy, Price, Prices
from sizing.plan.document import plan_document
from sizing.plan.plan import Plan, PriceRanges
from sizing.program.solver import Effort
from sizing.request.request import Policy
from tests.plan_builders import NODE, policy, request, service_class, system

BIG = system("big-8", hbm_gb=288, kw="14.5", generation="new")
"""Holds 45 long sequences, a node 20: 60 take three nodes or, of one kind, two of these."""

LONG = service_class("long", context=131_072, concurrency=60)


def usd(low: int | str, high: int | str | None = None) -> Price:
    return Price(Fraction(low), Fraction(low if high is None else high))


def planned(node: Price, big: Price, energy: Energy | None = None, **changes: object) -> Plan:
    prices = Prices({"node-8": node, "big-8": big}, {"test-pod": usd(100)}, energy)
    rules: Policy = policy(objective=("system_kinds", "cost"), prices=prices)
    rules = replace(rules, **changes)
    plan = answer(request([LONG], (NODE, BIG), rules=rules), Effort())
    assert isinstance(plan, Plan)
    return plan


def looked(plan: Plan) -> PriceRanges | None:
    assert plan.sensitivity is not None
    return plan.sensitivity.prices


def test_without_ranges_there_is_nothing_to_ask() -> None:
    plan = planned(usd(300), usd(500))
    assert (plan.systems, plan.totals.cost_usd) == ((("node-8", 3),), 1000)
    assert looked(plan) is None


def test_where_cost_is_no_stage_there_is_nothing_to_ask() -> None:
    assert looked(planned(usd(300), usd(100, 500), objective=("power",))) is None


def test_a_range_that_changes_nothing_is_decided() -> None:
    assert looked(planned(usd(300), usd(451, 600))) == PriceRanges(True, (Fraction(1000), Fraction(1000)))


def test_a_range_in_which_another_is_cheaper_leaves_the_choice_open() -> None:
    found = looked(planned(usd(300), usd(449, 600)))
    assert found is not None
    assert (found.decided, found.cost_range_usd) == (False, (1000, 1000))
    (other,) = found.others
    assert (other.plan.systems, other.cost_range_usd) == ((("big-8", 2),), (998, 1300))


def test_the_range_of_what_the_plan_buys_counts_at_its_high_end() -> None:
    """At the low ends of both the node is cheaper still, at their high ends too."""
    found = looked(planned(usd(200, 300), usd(440, 500)))
    assert found is not None
    assert (found.decided, found.cost_range_usd) == (False, (700, 1000))


def test_stages_before_cost_are_kept() -> None:
    """16 GPUs come before any price of 24."""
    stages = ("system_kinds", "gpus", "cost")
    assert planned(usd(300), usd(1, 600), objective=stages).systems == (("big-8", 2),)
    found = looked(planned(usd(1, 300), usd(600), objective=stages))
    assert found is not None
    assert found.decided is True


def test_the_tariff_of_energy_may_turn_the_choice() -> None:
    """Three nodes draw 30.6 kW, two of the others 29: dear energy speaks for these."""
    energy = Energy(usd(0, 1), Fraction(1), Fraction(1))
    plan = planned(usd(1000), usd(5000), energy)
    assert plan.systems == (("big-8", 2),)
    found = looked(plan)
    assert found is not None
    assert found.decided is False
    (other,) = found.others
    assert other.plan.systems == (("node-8", 3),)
    assert other.cost_range_usd == (3100, 3100 + Fraction("30.6") * 8760)


def test_a_blend_that_counts_cost_is_looked_at() -> None:
    found = looked(planned(usd(300), usd(440, 600), objective=("system_kinds", "cost + 2 gpus")))
    assert found is not None
    assert found.decided is False


@pytest.mark.parametrize("big", [usd(500), usd(449, 600)])
def test_the_document_carries_it(big: Price) -> None:
    plan = planned(usd(300), big)
    document = plan_document(plan)["sensitivity"]["prices"]
    if looked(plan) is None:
        assert document is None
    else:
        assert document["cost_range_usd"] == [1000, 1000]
        assert document["others"][0]["systems"] == {"big-8": 2}
        assert document["others"][0]["cost_range_usd"] == [998, 1300]
