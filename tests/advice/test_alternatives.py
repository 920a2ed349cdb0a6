"""The next best plans that buy something else: against an oracle that tries everything, and in what they say."""

from dataclasses import replace

import pytest

from sizing.advice.alternatives import NOT_SETTLED
from sizing.advice.answer import Extras, answer
from sizing.facility.site import Site
from sizing.plan.check import check
from sizing.plan.document import plan_document, to_json
from sizing.plan.plan import Alternatives, NoAlternative, Plan
from sizing.program.halt import Halt
from sizing.program.solver import Effort
from sizing.report.console import console_report
from sizing.request.request import Request
from tests.plan_builders import BF16, FP8, NODE, RACK, TEST_POD, policy, request, service_class, system
from tests.program.brute_force import best_values, size_of
from tests.program.instances import Instance, random_instance, request_of

BIG = system("big-8", hbm_gb=288, kw="14.5", generation="new")
LONG = service_class("long", context=131_072, concurrency=61)
ALL = 99
SMALL = 500
ENOUGH = 4


def planned(asked: Request, number: int = ALL, effort: Effort | None = None) -> Plan:
    plan = answer(asked, effort or Effort(), extras=Extras(alternatives=number))
    assert isinstance(plan, Plan)
    return plan


def others(asked: Request, number: int = ALL) -> Alternatives:
    found = planned(asked, number).alternatives
    assert found is not None
    return found


def values(plan: Plan) -> tuple[int, ...]:
    return tuple(stage.value for stage in plan.stages)


def test_each_other_kind_by_itself_is_told_with_what_it_takes_more() -> None:
    found = others(request([LONG], [NODE, BIG, RACK]))
    assert [(each.name, each.plan.systems, each.differs) for each in found.plans] == [
        ("only node-8, or without big-8", (("node-8", 4),), ("+16 GPUs", "+11.8 kW")),
        ("only rack-72", (("rack-72", 1),), ("+56 GPUs", "+113 kW")),
    ]
    assert found.none == ()
    assert [each.name for each in others(request([LONG], [NODE, BIG, RACK]), 1).plans] == [found.plans[0].name]


def test_what_has_no_plan_is_told_apart_with_the_limit_that_is_too_little() -> None:
    many = service_class("long", context=131_072, concurrency=330)
    found = others(request([many], [NODE, RACK], [Site("site", TEST_POD, pods=1)]))
    assert found.plans == ()
    assert found.none == (NoAlternative("only node-8, or without rack-72", "site Pods 1 is too little"),)


def test_what_holds_no_sequence_of_a_class_is_told_apart_too() -> None:
    """3 M tokens of the 70B are 915 GiB in bf16, and a node leaves 815 GiB."""
    found = others(request([service_class("huge", context=3_000_000)], [NODE, BIG, RACK]))
    assert [each.name for each in found.plans] == ["only rack-72, or without big-8"]
    assert found.none == (NoAlternative("only node-8", "it cannot hold `huge`"),)


def test_a_precision_for_all_that_accept_it() -> None:
    """20 long sequences and 11 short ones fill a node in bf16, so that 12 take one more, or fp8 for a class."""
    long = service_class("long", context=131_072, concurrency=20, kv=[BF16, FP8])
    short = service_class("short", concurrency=12, kv=[BF16, FP8])
    plan = planned(request([long, short], [NODE]))
    assert plan.systems == (("node-8", 1),)
    assert plan.alternatives is not None
    (other,) = plan.alternatives.plans
    assert (other.name, other.plan.systems) == ("KV bf16 only", (("node-8", 2),))
    assert other.differs == ("+8 GPUs", "+10.2 kW", "`long` at bf16 in place of fp8")
    assert {pair.kv for served in other.plan.classes for pair in served.precisions} == {"bf16"}


def test_what_is_installed_may_be_used_whatever_is_bought() -> None:
    """One node stands there and holds 20 of the 40: another node or a big one is bought."""
    long = service_class("long", context=131_072, concurrency=40)
    site = Site("site", TEST_POD, installed_systems={"node-8": 1}, installed_pods=1)
    plan = planned(request([long], [NODE, BIG], [site]))
    assert plan.systems == (("node-8", 2),)
    assert plan.alternatives is not None
    (other,) = plan.alternatives.plans
    assert (other.name, other.plan.systems) == ("only big-8, or without node-8", (("big-8", 1), ("node-8", 1)))


def test_none_are_told_unless_they_are_asked_for() -> None:
    plan = answer(request([LONG], [NODE, BIG]), Effort())
    assert isinstance(plan, Plan)
    assert plan.alternatives is None
    document = plan_document(plan)
    assert (document["alternatives"], document["no_alternatives"]) == (None, None)
    assert "Alternatives" not in console_report(plan)


@pytest.mark.parametrize("seed", range(7_000, 7_014))
def test_alternatives_are_plans_that_differ_best_first(seed: int) -> None:
    plan = answer(request_of(random_instance(seed)), Effort(), extras=Extras(alternatives=ALL))
    if not isinstance(plan, Plan):
        return
    assert plan.alternatives is not None
    found = [each.plan for each in plan.alternatives.plans]
    purchases = [(each.totals.pods, each.systems) for each in (plan, *found)]
    assert len(set(purchases)) == len(purchases)
    assert [values(each) for each in found] == sorted(values(each) for each in found)
    for each in found:
        assert check(each) == ()
        assert each.status != "optimal" or plan.status != "optimal" or values(each) >= values(plan)
    assert to_json(plan_document(plan))
    for other in plan.alternatives.plans:
        assert other.name.split()[0] in console_report(plan)


def of_one_kind(instance: Instance, name: str) -> Instance:
    return replace(
        instance,
        systems=tuple(each for each in instance.systems if each.name == name),
        supply=tuple((kind, most) for kind, most in instance.supply if kind == name),
    )


def test_each_kind_by_itself_is_the_best_that_trying_everything_finds() -> None:
    """What buys the same as another is told under the name of both, at the better values."""
    looked = 0
    for seed in range(7_100, 7_200):
        instance = replace(random_instance(seed), split=False)
        if len(instance.systems) < 2 or size_of(instance) > SMALL:
            continue
        plan = answer(request_of(instance), Effort(), extras=Extras(alternatives=ALL))
        if not isinstance(plan, Plan) or plan.alternatives is None:
            continue
        without = {name for each in plan.alternatives.none for name in each.name.split(", or ")}
        for kind in (each.name for each in instance.systems):
            best = best_values(of_one_kind(instance, kind))
            told = [each for each in plan.alternatives.plans if f"only {kind}" in each.name.split(", or ")]
            looked += len(told)
            assert not told or best is not None
            assert best is None or f"only {kind}" not in without
            for each in told:
                assert values(each.plan) == best if ", or only" not in each.name else values(each.plan) <= (best or ())
        if looked > ENOUGH:
            return
    raise AssertionError("too few instances")


def test_what_is_not_reached_in_time_is_not_settled() -> None:
    halt = Halt()

    def stop(text: str) -> None:
        if text.startswith("an alternative"):
            halt.ask()

    plan = answer(request([LONG], [NODE, BIG, RACK]), Effort(halt=halt), stop, Extras(alternatives=ALL))
    assert isinstance(plan, Plan)
    assert (plan.status, plan.reproducible) == ("optimal", False)
    assert plan.alternatives is not None
    assert {each.why for each in plan.alternatives.none} == {NOT_SETTLED}


def test_the_document_and_the_screen_tell_them() -> None:
    plan = planned(request([LONG], [NODE, BIG, RACK]))
    first, second = plan_document(plan)["alternatives"]
    assert list(first) == ["name", "differs", "status", "objective", "plan"]
    assert first["plan"] == {
        "pods": 1,
        "systems": {"node-8": 4},
        "gpus": 32,
        "nameplate_kw": 40.8,
        "nameplate_range_kw": [40.8, 40.8],
        "precisions": {"long": {"weights": "bf16", "kv_precision": "bf16"}},
        "spare_tokens": first["plan"]["spare_tokens"],
        "cost_usd": None,
    }
    assert [stage["value"] for stage in second["objective"]] == [1, 1, 1420, 72, 0]
    shown = console_report(plan)
    assert "the answer " in shown
    assert "+56 GPUs, +113 kW" in shown


def test_more_kinds_of_system_where_they_take_less() -> None:
    """61 long sequences fill two big nodes, or one big node and one small one: the fewest kinds go first."""
    plan = planned(request([LONG], [NODE, BIG], rules=policy(mixed_pods=True)))
    assert plan.systems == (("big-8", 2),)
    assert plan.alternatives is not None
    (other,) = (each for each in plan.alternatives.plans if "more kinds of system" in each.name)
    assert other.plan.systems == (("big-8", 1), ("node-8", 1))
    assert other.differs == ("+1 kind", "-4.3 kW")
