"""The cost of a plan and what of it is to buy: by hand, and held by the check against a plan that says otherwise."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from sizing.facility.prices import Energy, Price, Prices
from sizing.facility.site import Site
from sizing.plan.bill import bill_of_units
from sizing.plan.check import check
from sizing.plan.compose import compose
from sizing.plan.cost import cost_lines, total_cost, unpriced
from sizing.plan.document import plan_document
from sizing.plan.inventory import to_buy
from sizing.plan.plan import Plan, StageResult
from sizing.plan.rebuild import _choice
from tests.plan_builders import TEST_POD, filled, policy, request, service_class, two_sites


def usd(low: int | str, high: int | str | None = None) -> Price:
    return Price(Fraction(low), Fraction(low if high is None else high))


ENERGY = Energy(usd("0.08", "0.1"), Fraction(1), Fraction("1.25"))
PRICES = Prices({"node-8": usd(300_000), "rack-72": usd(3_500_000, 4_000_000)}, {"test-pod": usd(1_000_000)}, ENERGY)

KWH = Fraction("314.6") * Fraction("1.25") * 8760
COST = 2 * 1_000_000 + 3 * 300_000 + 2 * 4_000_000 + KWH / 10
COST_LOW = 2 * 1_000_000 + 3 * 300_000 + 2 * 3_500_000 + KWH * Fraction("0.08")

IN_STEPS = 2 * 2_000 + 3 * 622 + 2 * 8_311
"""Steps of 500 USD: with energy a node costs 311,169 and a rack 4,155,490, a ten-thousandth of which is 415.5."""


def priced(prices: Prices = PRICES, objective: tuple[str, ...] | None = None) -> Plan:
    """`two_sites` with prices; its stages as they are unless others are given."""
    plan = two_sites()
    asked = replace(plan.request, policy=replace(plan.request.policy, prices=prices))
    if objective is not None:
        asked = replace(asked, policy=replace(asked.policy, objective=objective))
    return replace(plan, request=asked, totals=replace(plan.totals, cost_usd=COST, cost_low_usd=COST_LOW))


def with_stages(plan: Plan, *stages: tuple[str, str, int]) -> Plan:
    rules = replace(plan.request.policy, objective=tuple(name for name, _, _ in stages))
    results = tuple(StageResult(name, unit, value, value) for name, unit, value in stages)
    return replace(plan, request=replace(plan.request, policy=rules), stages=results)


def installed(plan: Plan, pods: int = 1, **systems: int) -> Plan:
    """The plan where so much stands in the north already."""
    there = {name.replace("_", "-"): count for name, count in systems.items()}
    north, south = plan.request.sites
    north = replace(north, installed_systems=there, installed_pods=pods)
    return replace(plan, request=replace(plan.request, sites=(north, south)))


STAGES: Mapping[str, tuple[str, int]] = {
    "pods": ("Pods", 1),
    "system_kinds": ("kinds", 1),
    "power": ("0.1 kW", 3044),
    "gpus": ("GPUs", 160),
    "precision": ("sequence steps", 110),
    "weight_precision": ("sequence steps", 201),
}
"""What is to buy of `two_sites` where one Pod and one node stand in the north already."""


def partly_installed() -> Plan:
    plan = installed(two_sites(), node_8=1)
    return with_stages(plan, *((name, unit, value) for name, (unit, value) in STAGES.items()))


def test_the_cost_adds_up_by_hand() -> None:
    plan = priced()
    lines = cost_lines(plan.request, plan.pods)
    assert [(line.group, line.item, line.site, line.quantity, line.unit) for line in lines] == [
        ("Pods", "test-pod", "north", 1, "Pods"),
        ("Systems", "node-8", "north", 2, "systems"),
        ("Systems", "rack-72", "north", 1, "systems"),
        ("Energy", "of the systems", "north", Fraction("162.4") * Fraction("1.25") * 8760, "kWh"),
        ("Pods", "test-pod", "south", 1, "Pods"),
        ("Systems", "node-8", "south", 1, "systems"),
        ("Systems", "rack-72", "south", 1, "systems"),
        ("Energy", "of the systems", "south", Fraction("152.2") * Fraction("1.25") * 8760, "kWh"),
    ]
    assert lines[3].rule == "162.4 kW at nameplate x PUE 1.25 (as stated) x 1 year of 8,760 hours"
    assert total_cost(plan.request, lines) == Price(COST_LOW, COST)
    assert check(plan) == ()


def test_compose_says_the_same() -> None:
    plan = priced()
    totals = compose(plan.request, _choice(plan.pods, plan.deployments), (), ()).totals
    assert (totals.cost_usd, totals.cost_low_usd) == (COST, COST_LOW)


def test_without_any_price_nothing_is_said_of_cost() -> None:
    plan = two_sites()
    assert total_cost(plan.request, cost_lines(plan.request, plan.pods)) is None
    assert plan.totals.cost_usd is None
    assert check(plan) == ()


def test_where_one_price_is_missing_the_cost_is_unknown() -> None:
    plan = priced(replace(PRICES, systems={"rack-72": usd(5)}))
    lines = cost_lines(plan.request, plan.pods)
    assert total_cost(plan.request, lines) is None
    assert unpriced(lines) == ("node-8",)
    assert check(replace(plan, totals=two_sites().totals)) == ()
    assert any("totals: cost_usd: the plan says" in finding for finding in check(plan))


def test_stage_cost_counts_in_whole_steps() -> None:
    plan = with_stages(priced(), ("cost", "500 USD", IN_STEPS))
    assert check(plan) == ()
    assert abs(IN_STEPS * 500 - COST) <= 7 * 250  # seven amounts, each rounded to the nearest


def test_a_blend_adds_up_what_people_count_in() -> None:
    """0.1 points: 314.6 kW and twice 168 GPUs."""
    assert check(with_stages(two_sites(), ("power + 2 gpus", "0.1 points", 3146 + 20 * 168))) == ()
    (finding,) = check(with_stages(two_sites(), ("power + 2 gpus", "0.1 points", 3146)))
    assert finding == "stage power + 2 gpus: the plan says 3,146, the request gives 6,506"


@pytest.mark.parametrize(
    ("changed", "finding"),
    [
        ({"cost_usd": COST + 1}, "totals: cost_usd: the plan says"),
        ({"cost_low_usd": COST}, "totals: cost_low_usd: the plan says"),
        ({"cost_usd": None}, "totals: cost_usd: the plan says nothing"),
    ],
)
def test_a_wrong_cost_is_named(changed: Mapping[str, Any], finding: str) -> None:
    plan = priced()
    (found,) = check(replace(plan, totals=replace(plan.totals, **changed)))
    assert found.startswith(finding)


@pytest.mark.parametrize(
    ("stage", "finding"),
    [
        (("cost", "500 USD", IN_STEPS - 1), "stage cost: the plan says"),
        (("cost", "1000 USD", IN_STEPS), "stage cost: unit: the plan says 1000 USD, the request gives 500 USD"),
    ],
)
def test_a_wrong_stage_is_named(stage: tuple[str, str, int], finding: str) -> None:
    (found,) = check(with_stages(priced(), stage))
    assert found.startswith(finding)


def test_what_is_installed_is_not_bought_again() -> None:
    plan = partly_installed()
    assert check(plan) == ()
    assert to_buy(plan) == (1, {"node-8": 2, "rack-72": 2})
    document = plan_document(plan)
    assert document["systems"] == {"node-8": 3, "rack-72": 2}
    assert document["to_buy"] == {"pods": 1, "systems": {"node-8": 2, "rack-72": 2}}
    assert document["totals"]["nameplate_kw"] == 314.6


def test_what_is_installed_costs_nothing() -> None:
    """One Pod, one node and the energy of that node less."""
    plan = installed(priced(), node_8=1)
    total = total_cost(plan.request, cost_lines(plan.request, plan.pods))
    assert total is not None
    assert total.high == COST - 1_000_000 - 300_000 - Fraction("10.2") * Fraction("1.25") * 8760 / 10


@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_counts_what_is_to_buy(stage: str) -> None:
    plan = partly_installed()
    off = tuple(replace(each, value=each.value + 1) if each.stage == stage else each for each in plan.stages)
    found = check(replace(plan, stages=off))
    assert f"stage {stage}: the plan says {STAGES[stage][1] + 1:,}, the request gives {STAGES[stage][1]:,}" in found


def test_supply_counts_what_is_to_buy() -> None:
    plan = partly_installed()
    rules = replace(plan.request.policy, supply={"rack-72": 1})
    asked = replace(installed(plan, rack_72=1).request, policy=rules)
    found = check(replace(plan, request=asked))
    assert "limit supply:rack-72: the plan says 2 of 2 systems, binding, the request gives 1 of 1 systems, binding" in (
        said.replace(".0", "") for said in found
    )
    assert not any("supply:rack-72 takes" in said for said in found)


def test_what_is_installed_stays_where_it_is() -> None:
    found = check(installed(two_sites(), pods=2, node_8=3))
    assert "site 'north': 3 node-8 are installed, the plan has 2" in found
    assert "site 'north': 2 Pods are installed, the plan has 1" in found


def test_what_is_only_installed_is_not_bought() -> None:
    plan = installed(two_sites(), pods=0, node_8=2)
    asked = replace(plan.request, policy=replace(plan.request.policy, systems=("rack-72",)))
    found = check(replace(plan, request=asked))
    assert "site 'south': 1 node-8 are bought, yet policy.systems does not name it" in found
    assert not any("site 'north'" in said for said in found)


def test_an_installed_pod_may_stand_empty() -> None:
    """It takes its megawatt and its position; its slots are free."""
    site = Site("site", TEST_POD, power_kw=Fraction(2000), pods=3, installed_pods=2)
    asked = request([service_class("chat")], sites=[site], rules=policy(objective=("pods", "gpus")))
    source = two_sites()
    mixed = next(each for each in source.deployments if each.deployment.layout.tp == 8)
    one = replace(mixed, patterns=(replace(mixed.patterns[0], sequences=(("chat", 1),)),))
    pods = (filled("site", {"node-8": 1}, {"node-8": 16}), filled("site", {}, {}))
    stages = (StageResult("pods", "Pods", 0, 0), StageResult("gpus", "GPUs", 8, 8))
    plan = compose(asked, _choice(pods, (one,)), stages, ())
    assert check(plan) == ()
    assert [(each.systems, each.count) for each in plan.pods] == [((("node-8", 1),), 1), ((), 1)]
    assert (plan.totals.stranded_slots, plan.totals.free_slots) == (0, 248)
    assert {limit.name: limit.used for limit in plan.limits} == {
        "power": 2000,
        "liquid_heat": 0,
        "air_heat": Fraction("10.2"),
        "pods": 2,
    }


def test_the_bill_prices_what_is_to_buy_and_lists_what_is_there() -> None:
    lines = bill_of_units(installed(priced(), node_8=1))
    shown = [(line.group, line.part, line.quantity, line.total_kw, line.total_usd) for line in lines[:5]]
    assert shown == [
        ("Pods", "test-pod", 1, 0, 1_000_000),
        ("Systems", "node-8", 2, Fraction("20.4"), 600_000),
        ("Systems", "rack-72", 2, 284, 8_000_000),
        ("Installed already", "test-pod", 1, 0, 0),
        ("Installed already", "node-8", 1, Fraction("10.2"), 0),
    ]
    rack = lines[2]
    assert "price 3,500,000 USD to 4,000,000 USD, its high end counts" in rack.remark
    assert "price: policy.prices of the workload" in rack.source
    assert "unpriced" not in rack.remark
