"""From a choice to a plan: trimmed to the demand, stood in Pods, summed up, limits that bind."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sizing.facility.deployment import Deployment, Precisions
from sizing.facility.pod import Balance, Fill
from sizing.facility.site import Site
from sizing.plan.check import check
from sizing.plan.choice import Choice, Sequences
from sizing.plan.compose import compose, filled_pods, planned_deployments
from sizing.plan.placement import MOST_PLACED
from sizing.plan.plan import Limit, Plan, StageResult, Status
from sizing.request.request import Policy, Rejection
from sizing.units.errors import BadInput
from tests.plan_builders import (
    BF16,
    DENSE_70B,
    FP8,
    LATENT_671B,
    NODE,
    RACK,
    TEST_POD,
    deployment,
    policy,
    request,
    service_class,
    system,
    two_sites,
)

MIXED = Fill((("node-8", 7), ("rack-72", 1)), Balance())
NODES = Fill((("node-8", 16),), Balance())

DENSE = deployment(NODE, DENSE_70B, tp=8)
HALVES = deployment(NODE, DENSE_70B, kv=FP8, tp=4)
LATENT = deployment(RACK, LATENT_671B, weights="fp8", tp=1, attention_dp=8)

CHOICE = Choice(
    pods={("south", MIXED): 1, ("north", MIXED): 1},
    systems={("north", "node-8"): 2, ("north", "rack-72"): 1, ("south", "node-8"): 1, ("south", "rack-72"): 1},
    deployments={each.id: each for each in (DENSE, HALVES, LATENT)},
    replicas={DENSE.id: 1, HALVES.id: 2, LATENT.id: 1},
    pools={
        (DENSE.id, (("chat", 11), ("long", 20))): 1,
        (HALVES.id, (("notes", 68),)): 2,
        (LATENT.id, (("agents", 34),)): 6,
    },
    served={
        ("agents", LATENT.precisions): 201,
        ("chat", DENSE.precisions): 11,
        ("long", DENSE.precisions): 20,
        ("notes", HALVES.precisions): 110,
    },
)
"""What `two_sites` was made of: 136 notes and 204 agents would fit."""


def test_a_choice_becomes_the_plan_that_was_written_by_hand() -> None:
    plan = two_sites()
    composed = compose(plan.request, CHOICE, plan.stages, ())
    assert composed == plan
    assert check(composed) == ()


def test_a_stage_above_its_bound_makes_a_plan_feasible_only() -> None:
    plan = two_sites()
    stages = (replace(plan.stages[0], bound=1), *plan.stages[1:])
    told = Rejection("node-8", "dense-70b", "a reason")
    composed = compose(plan.request, CHOICE, stages, (told,), reproducible=False)
    assert composed.status is Status.FEASIBLE
    assert composed.rejected == (told,)
    assert not composed.reproducible


# Trimming


def choice_of(
    pools: Mapping[tuple[str, Sequences], int],
    served: Mapping[tuple[str, Precisions], int],
    replicas: Mapping[str, int],
    deployments: tuple[Deployment, ...] = (DENSE, HALVES, LATENT),
) -> Choice:
    return Choice({}, {}, {each.id: each for each in deployments}, replicas, pools, served)


def contents(choice: Choice) -> dict[str, list[tuple[int, Sequences]]]:
    return {
        planned.deployment.id: [(pattern.count, pattern.sequences) for pattern in planned.patterns]
        for planned in planned_deployments(choice)
    }


def test_whole_pools_are_emptied_first_then_a_part_of_one() -> None:
    choice = choice_of({(DENSE.id, (("long", 20),)): 5}, {("long", DENSE.precisions): 47}, {DENSE.id: 5})
    assert contents(choice) == {DENSE.id: [(2, (("long", 20),)), (1, (("long", 7),)), (2, ())]}


def test_pools_of_replicas_that_hold_nothing_are_told() -> None:
    choice = choice_of({(LATENT.id, (("agents", 34),)): 3}, {("agents", LATENT.precisions): 102}, {LATENT.id: 2})
    assert contents(choice) == {LATENT.id: [(3, (("agents", 34),)), (13, ())]}


def test_surplus_of_one_class_leaves_the_others_in_their_pools() -> None:
    pattern: Sequences = (("chat", 11), ("long", 20))
    choice = choice_of(
        {(DENSE.id, pattern): 3},
        {("chat", DENSE.precisions): 12, ("long", DENSE.precisions): 60},
        {DENSE.id: 3},
    )
    assert contents(choice) == {
        DENSE.id: [(1, (("long", 20),)), (1, pattern), (1, (("chat", 1), ("long", 20)))],
    }


def test_what_is_served_at_one_precision_is_no_surplus_of_another() -> None:
    choice = choice_of(
        {(DENSE.id, (("notes", 81),)): 1, (HALVES.id, (("notes", 68),)): 1},
        {("notes", DENSE.precisions): 80, ("notes", HALVES.precisions): 10},
        {DENSE.id: 1, HALVES.id: 1},
    )
    assert contents(choice) == {DENSE.id: [(1, (("notes", 80),))], HALVES.id: [(1, (("notes", 10),))]}


@st.composite
def choices(draw: st.DrawFn) -> Choice:
    """Any pools of two deployments at one pair of precisions and one at another, and any part of them served."""
    other = deployment(NODE, DENSE_70B, tp=4)
    deployments = (DENSE, HALVES, other)
    names = ("a", "b", "c")
    pools: dict[tuple[str, Sequences], int] = {}
    for each in deployments:
        for _ in range(draw(st.integers(0, 3))):
            counts = {name: draw(st.integers(0, 5)) for name in names}
            pattern = tuple((name, count) for name, count in counts.items() if count)
            if pattern:
                pools[each.id, pattern] = draw(st.integers(1, 6))
    held = held_in(pools, deployments)
    served = {key: draw(st.integers(0, number)) for key, number in sorted(held.items(), key=str)}
    replicas = {
        each.id: total + draw(st.integers(0, 2))
        for each in deployments
        if (total := sum(count for (name, _), count in pools.items() if name == each.id))
    }
    return choice_of(pools, served, replicas, deployments)


def held_in(
    pools: Mapping[tuple[str, Sequences], int], deployments: tuple[Deployment, ...]
) -> Counter[tuple[str, Precisions]]:
    precisions = {each.id: each.precisions for each in deployments}
    held: Counter[tuple[str, Precisions]] = Counter()
    for (name, pattern), count in pools.items():
        for service, number in pattern:
            held[service, precisions[name]] += number * count
    return held


@given(choices(), st.randoms(use_true_random=False))
@settings(max_examples=200, deadline=None)
def test_trimming_leaves_what_is_served_and_no_more(choice: Choice, random: object) -> None:
    planned = planned_deployments(choice)
    held: Counter[tuple[str, Precisions]] = Counter()
    for each in planned:
        assert sum(pattern.count for pattern in each.patterns) == each.pools
        assert all(pattern.count > 0 for pattern in each.patterns)
        before = [dict(pattern) for name, pattern in choice.pools if name == each.deployment.id]
        for pattern in each.patterns:
            now = dict(pattern.sequences)
            assert all(now.values())
            assert any(all(now[name] <= old.get(name, 0) for name in now) for old in before) or not now
            for name, number in now.items():
                held[name, each.deployment.precisions] += number * pattern.count
    assert held == Counter({key: number for key, number in choice.served.items() if number})


@given(choices())
@settings(max_examples=50, deadline=None)
def test_the_order_of_a_choice_changes_nothing(choice: Choice) -> None:
    backwards = replace(
        choice,
        pools=dict(reversed(list(choice.pools.items()))),
        replicas=dict(reversed(list(choice.replicas.items()))),
        served=dict(reversed(list(choice.served.items()))),
    )
    assert planned_deployments(backwards) == planned_deployments(choice)


# Pods


def standing(pods: Mapping[tuple[str, Fill], int], systems: Mapping[tuple[str, str], int]) -> list[object]:
    asked = request([service_class("chat")], sites=[Site("north", TEST_POD), Site("south", TEST_POD)])
    choice = Choice(pods, systems, {}, {}, {}, {})
    return [(filled.site, filled.count, dict(filled.systems)) for filled in filled_pods(asked, choice)]


def test_pods_are_filled_one_after_the_other() -> None:
    assert standing({("north", NODES): 3}, {("north", "node-8"): 37}) == [
        ("north", 2, {"node-8": 16}),
        ("north", 1, {"node-8": 5}),
    ]


def test_mixed_pods_are_filled_first_and_every_site_has_its_own() -> None:
    pods = {("south", NODES): 1, ("north", NODES): 1, ("north", MIXED): 2}
    systems = {("north", "node-8"): 20, ("north", "rack-72"): 1, ("south", "node-8"): 3}
    assert standing(pods, systems) == [
        ("north", 1, {"node-8": 7, "rack-72": 1}),
        ("north", 1, {"node-8": 7}),
        ("north", 1, {"node-8": 6}),
        ("south", 1, {"node-8": 3}),
    ]


def test_a_pod_that_nothing_is_left_for_stays_empty() -> None:
    assert standing({("north", NODES): 2}, {("north", "node-8"): 16}) == [
        ("north", 1, {"node-8": 16}),
        ("north", 1, {}),
    ]


# Sums and limits


def nodes(site: Site, count: int = 1, rules: Policy | None = None, fill: Fill = NODES) -> Plan:
    """`count` nodes, each with one replica that holds 20 long sequences."""
    asked = request([service_class("long", context=131_072, concurrency=20 * count)], [NODE], [site], rules)
    choice = Choice(
        pods={("site", fill): -(-count // fill.count("node-8"))},
        systems={("site", "node-8"): count},
        deployments={DENSE.id: DENSE},
        replicas={DENSE.id: count},
        pools={(DENSE.id, (("long", 20),)): count},
        served={("long", DENSE.precisions): 20 * count},
    )
    return compose(asked, choice, (StageResult("pods", "Pods", 1, 1),), ())


def limits(plan: Plan) -> dict[str, Limit]:
    return {limit.name: limit for limit in plan.limits}


def test_slots_are_used_free_or_stranded() -> None:
    """128 slots; a Pod that takes seven nodes by its power strands the nine places of the others."""
    totals = nodes(Site("site", TEST_POD), count=17).totals
    assert (totals.free_slots, totals.stranded_slots) == (15 * 8, 0)
    seven = Fill((("node-8", 7),), Balance())
    totals = nodes(Site("site", TEST_POD), count=9, fill=seven).totals
    assert (totals.free_slots, totals.stranded_slots) == (5 * 8, 2 * 9 * 8)


def test_balance_of_plant_is_apart_and_counts_against_limits() -> None:
    fill = Fill((("node-8", 16),), Balance(Fraction(5), Fraction(3), Fraction(2)))
    site = Site("site", TEST_POD, power_kw=Fraction(400), air_kw=Fraction(300))
    plan = nodes(site, 17, policy(power_basis="installed"), fill)
    totals = plan.totals
    assert [totals.nameplate_kw, totals.air_kw, totals.liquid_kw] == [Fraction("173.4"), Fraction("173.4"), 0]
    assert [totals.balance_kw, totals.balance_air_kw, totals.balance_liquid_kw] == [10, 4, 6]
    told = limits(plan)
    assert told["power"].used == Fraction("183.4")
    assert told["air_heat"].used == Fraction("177.4")
    assert told["liquid_heat"].used == 6
    assert told["pods"].used == 2


@pytest.mark.parametrize(
    ("site", "rules", "name", "used", "binds"),
    [
        (Site("site", TEST_POD, power_kw=Fraction(1999)), {}, "power", 1000, True),
        (Site("site", TEST_POD, power_kw=Fraction(2000)), {}, "power", 1000, False),
        (Site("site", TEST_POD, power_kw=Fraction("20.3")), {"power_basis": "installed"}, "power", "10.2", True),
        (Site("site", TEST_POD, power_kw=Fraction("20.4")), {"power_basis": "installed"}, "power", "10.2", False),
        (Site("site", TEST_POD, air_kw=Fraction("20.3")), {}, "air_heat", "10.2", True),
        (Site("site", TEST_POD, air_kw=Fraction("20.4")), {}, "air_heat", "10.2", False),
        (Site("site", TEST_POD, liquid_kw=Fraction(0)), {}, "liquid_heat", 0, False),
        (Site("site", TEST_POD, pods=1), {}, "pods", 1, True),
        (Site("site", TEST_POD, pods=2), {}, "pods", 1, False),
        (Site("site", TEST_POD), {}, "pods", 1, False),
        (Site("site", TEST_POD), {"supply": {"node-8": 1}}, "supply:node-8", 1, True),
        (Site("site", TEST_POD), {"supply": {"node-8": 2}}, "supply:node-8", 1, False),
    ],
)
def test_a_limit_binds_where_one_more_would_exceed_it(
    site: Site, rules: dict[str, object], name: str, used: int | str, binds: bool
) -> None:
    limit = limits(nodes(site, rules=policy(**rules)))[name]
    assert limit.used == Fraction(used)
    assert limit.binding is binds


def test_supply_of_what_is_no_candidate_is_not_told() -> None:
    plan = nodes(Site("site", TEST_POD), rules=policy(supply={"node-8": 3, "rack-72": 1}))
    assert [limit.name for limit in plan.limits if limit.site is None] == ["supply:node-8"]


def test_heat_that_is_not_known_is_no_number() -> None:
    unknown = system("unknown-8", liquid_kw=None)
    dense = deployment(unknown, DENSE_70B, tp=8)
    asked = request([service_class("long", context=131_072, concurrency=20)], [unknown])
    choice = Choice(
        pods={("site", Fill((("unknown-8", 16),), Balance())): 1},
        systems={("site", "unknown-8"): 1},
        deployments={dense.id: dense},
        replicas={dense.id: 1},
        pools={(dense.id, (("long", 20),)): 1},
        served={("long", dense.precisions): 20},
    )
    plan = compose(asked, choice, (), ())
    assert plan.totals.liquid_kw is None
    assert plan.totals.air_kw is None
    assert [limit.name for limit in plan.limits] == ["power", "pods"]


@pytest.mark.parametrize(("concurrency", "binding"), [(20, "memory"), (19, "demand")])
def test_what_limits_a_class_is_memory_or_its_own_demand(concurrency: int, binding: str) -> None:
    asked = request([service_class("long", context=131_072, concurrency=concurrency)], [NODE])
    choice = Choice(
        pods={("site", NODES): 1},
        systems={("site", "node-8"): 1},
        deployments={DENSE.id: DENSE},
        replicas={DENSE.id: 1},
        pools={(DENSE.id, (("long", 20),)): 1},
        served={("long", DENSE.precisions): concurrency},
    )
    plan = compose(asked, choice, (), ())
    ((placement,),) = [service.placements for service in plan.classes]
    assert (placement.sequences, placement.binding) == (concurrency, binding)
    assert plan.tokens.committed == concurrency * 131_072
    assert (
        plan.memory.bought
        == sum((plan.memory.idle, plan.memory.reserve, plan.memory.weights, plan.memory.committed, plan.memory.spare))
        + plan.memory.remainder
    )
    assert plan.memory.committed == concurrency * 131_072 * 327_680


def test_a_class_that_is_split_tells_its_precisions_best_first() -> None:
    service = service_class("notes", context=32_768, concurrency=90, kv=(FP8, BF16))
    asked = request([service], [NODE], rules=policy(split_precision=True))
    choice = Choice(
        pods={("site", NODES): 1},
        systems={("site", "node-8"): 2},
        deployments={DENSE.id: DENSE, HALVES.id: HALVES},
        replicas={DENSE.id: 1, HALVES.id: 1},
        pools={(DENSE.id, (("notes", 81),)): 1, (HALVES.id, (("notes", 68),)): 1},
        served={("notes", DENSE.precisions): 80, ("notes", HALVES.precisions): 10},
    )
    (served,) = compose(asked, choice, (), ()).classes
    assert served.served == 90
    assert served.precisions == (HALVES.precisions, DENSE.precisions)
    assert [placement.sequences for placement in served.placements] == [80, 10]


@pytest.mark.parametrize(
    ("pods", "systems", "said"),
    [
        (1, MOST_PLACED + 1, "the plan takes 200,003 domains of systems, at most 200,000 are planned"),
        (MOST_PLACED, 2, "the plan takes 200,001 Pods, at most 200,000 are planned"),
    ],
)
def test_a_plan_too_large_to_be_placed_is_refused(pods: int, systems: int, said: str) -> None:
    choice = replace(
        CHOICE,
        pods={**CHOICE.pods, ("north", MIXED): pods},
        systems={**CHOICE.systems, ("north", "node-8"): systems - 1},
    )
    with pytest.raises(BadInput, match=said):
        compose(two_sites().request, choice, (), ())
