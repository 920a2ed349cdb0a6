"""The largest multiple of a workload, against an oracle that tries everything; and what must hold of any."""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import ceil
from typing import Any

import pytest

import sizing.advice.capacity as capacity_module
from sizing.advice.answer import answer
from sizing.advice.capacity import capacity
from sizing.advice.multiples import Multiples
from sizing.facility.site import Site
from sizing.plan.capacity import Capacity, capacity_document, in_print
from sizing.plan.check import check
from sizing.plan.document import to_json
from sizing.plan.plan import NoPlan, Plan, Status
from sizing.program.exact import NotFound
from sizing.program.halt import Halt
from sizing.program.solver import Effort
from sizing.report.capacity import capacity_report
from sizing.units.errors import BadInput
from tests.plan_builders import NODE, RACK, TEST_POD, policy, request, service_class
from tests.program.brute_force import best_values, size_of
from tests.program.instances import Instance, random_instance, request_of

SMALL = 300
"""Combinations that the oracle has to look at."""

MOST_DEMAND = 24
ZERO = Fraction(0)
NUMBERS = range(10)
SEEDS_OF_A_NUMBER = 100


@cache
def has_plan(instance: Instance) -> bool:
    return best_values(replace(instance, objective=("pods",))) is not None


def at(instance: Instance, multiple: Fraction) -> Instance:
    """The instance at a multiple of its demands."""
    classes = [replace(each, demand=ceil(each.demand * multiple)) for each in instance.classes]
    return replace(instance, classes=tuple(classes))


def after(instance: Instance, multiple: Fraction) -> Instance:
    """The instance at the next larger multiple at which a demand differs."""
    return at(instance, min(Fraction(int(each.demand * multiple) + 1, each.demand) for each in instance.classes))


def is_small(instance: Instance) -> bool:
    return max(each.demand for each in instance.classes) <= MOST_DEMAND and size_of(instance) <= SMALL


def scarce(seed: int) -> Instance:
    """Few systems in few Pods of one site."""
    instance = random_instance(seed)
    supply = tuple((system.name, 1 + (seed + number) % 2) for number, system in enumerate(instance.systems))
    return replace(instance, sites=(replace(instance.sites[0], pods=1 + seed % 3),), supply=supply)


def asked(instance: Instance) -> Capacity:
    return capacity(request_of(instance), instance.sites[0].pods or 0, Effort())


@pytest.mark.parametrize("number", NUMBERS)
def test_it_is_the_largest_that_trying_everything_finds(number: int) -> None:
    """The oracle finds a plan at the multiple, and none at the next; more is never easier."""
    for seed in range(number * SEEDS_OF_A_NUMBER, (number + 1) * SEEDS_OF_A_NUMBER):
        instance = scarce(seed)
        if not is_small(instance):
            continue
        found = asked(instance)
        if is_small(after(instance, found.multiple)):
            break
    else:
        raise AssertionError("no instance of this number is small")
    assert found.proven
    assert not has_plan(after(instance, found.multiple))
    if found.multiple:
        assert has_plan(at(instance, found.multiple))
        assert isinstance(found.plan, Plan)
        assert check(found.plan) == ()
        assert found.served == {each.name: each.demand for each in at(instance, found.multiple).classes}
    else:
        assert isinstance(found.plan, NoPlan)
        assert found.status is Status.INFEASIBLE
        assert found.plan.reasons


def test_more_pods_never_serve_less() -> None:
    classes = (service_class("long", context=131_072, concurrency=37), service_class("short", concurrency=150))
    multiples = [capacity(request(classes, [NODE, RACK]), pods, Effort()).multiple for pods in (1, 2, 3)]
    assert multiples == sorted(multiples)
    assert multiples[0] > 1


@pytest.mark.parametrize("seed", range(6_000, 6_006))
def test_the_pods_of_a_plan_serve_what_it_was_made_for(seed: int) -> None:
    wanted = request_of(replace(random_instance(seed), supply=(), spare=0))
    plan = answer(replace(wanted, sites=wanted.sites[:1]), Effort())
    if isinstance(plan, Plan):
        found = capacity(plan.request, plan.totals.pods, Effort())
        assert found.multiple >= 1


def test_a_pod_of_one_kind_is_filled() -> None:
    """16 nodes of 20 long sequences in bf16 are 320: 10 times 32, with 10 % headroom on 30 as 33 are 9.69 times."""
    long = service_class("long", context=131_072, concurrency=32)
    found = capacity(request([long], [NODE, RACK]), 1, Effort(), system="node-8")
    assert (found.multiple, found.proven, found.served) == (Fraction(10), True, {"long": 320})
    assert isinstance(found.plan, Plan)
    assert found.plan.systems == (("node-8", 16),)
    with_headroom = replace(long, concurrency=30, demand=33)
    found = capacity(request([with_headroom], [NODE], rules=policy(headroom=Fraction(1, 10))), 1, Effort())
    assert (found.multiple, found.served) == (Fraction(320, 33), {"long": 320})
    assert found.plan.request.policy.headroom == 0
    assert "headroom 10 %" in capacity_report(found)


def test_less_than_the_workload_is_told_as_a_share() -> None:
    found = capacity(request([service_class("long", context=131_072, concurrency=960)], [NODE]), 1, Effort())
    assert (found.multiple, found.proven) == (Fraction(1, 3), True)
    assert "1 Pod serves 0.333 times the workload, 33.333 % of it" in capacity_report(found)


def test_where_nothing_fits_it_says_why() -> None:
    long = service_class("long", context=131_072, concurrency=9)
    found = capacity(request([long], [NODE], rules=policy(supply={"node-8": 0})), 2, Effort())
    assert isinstance(found.plan, NoPlan)
    assert (found.multiple, found.at_most, found.status) == (ZERO, ZERO, Status.INFEASIBLE)
    assert found.served == {"long": 0}
    assert "not even one sequence of each class fits" in capacity_report(found)
    document = capacity_document(found)
    assert (document["multiple"], document["tokens"], document["plan"]["status"]) == (0, None, "infeasible")
    assert to_json(document)


def test_the_document_has_the_keys_of_the_contract() -> None:
    found = capacity(request([service_class("long", context=131_072, concurrency=30)], [NODE]), 1, Effort())
    document = capacity_document(found)
    assert list(document) == [
        *("schema", "multiple", "multiple_exact", "at_most", "at_most_exact", "proven", "pods", "site", "system"),
        *("classes", "tokens", "limits", "status", "plan"),
    ]
    assert (document["schema"], document["multiple_exact"], document["status"]) == (
        "sizing.capacity/1",
        "32/3",
        "optimal",
    )
    assert document["classes"] == [{"name": "long", "concurrency": 30, "demand": 30, "served": 320}]
    assert document["plan"]["classes"][0]["demand"] == 320
    assert document["tokens"]["committed"] == 320 * 131_072


def test_a_search_that_is_stopped_says_what_it_knows() -> None:
    halt = Halt()
    wanted = request([service_class("long", context=131_072, concurrency=30), service_class("short")], [NODE, RACK])

    def stop(text: str) -> None:
        if text == "what then stands":
            halt.ask()

    found = capacity(wanted, 1, Effort(halt=halt), progress=stop)
    assert isinstance(found.plan, Plan)
    assert (found.status, found.plan.status, found.plan.reproducible) == (Status.FEASIBLE, Status.FEASIBLE, False)
    assert check(found.plan) == ()
    halt.ask()
    nothing = capacity(wanted, 1, Effort(halt=halt))
    assert (nothing.status, nothing.multiple, nothing.at_most) == (Status.TIMEOUT, ZERO, None)
    assert "not proven" in capacity_report(nothing)


def test_a_first_question_that_the_clock_ends_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = request([service_class("long", context=131_072, concurrency=30), service_class("short")], [NODE, RACK])
    whole, ask, asked = capacity(wanted, 1, Effort()), capacity_module.best_plan, list[object]()

    def first_is_stopped(*question: Any) -> Any:
        asked.append(question)
        return NotFound(proven=False, stopped=True) if len(asked) == 1 else ask(*question)

    monkeypatch.setattr(capacity_module, "best_plan", first_is_stopped)
    told: list[str] = []
    found = capacity(wanted, 1, Effort(), progress=told.append)
    assert "the largest share of that" in told
    assert (found.multiple, found.at_most) == (whole.multiple, whole.at_most)


def test_what_is_none_of_the_workload_is_refused() -> None:
    wanted = request([service_class("long")], [NODE, RACK], [*two_sites()])
    with pytest.raises(BadInput, match="several sites"):
        capacity(wanted, 1, Effort())
    with pytest.raises(BadInput, match=r"no site of the workload.*did you mean 'north'"):
        capacity(wanted, 1, Effort(), site="nort")
    with pytest.raises(BadInput, match=r"not among the systems.*did you mean 'node-8'"):
        capacity(wanted, 1, Effort(), system="node-9", site="north")
    with pytest.raises(BadInput, match="more Pods are installed"):
        capacity(wanted, 1, Effort(), site="south")
    with pytest.raises(BadInput, match="more sequences than are counted"):
        capacity(wanted, 10**6, Effort(), site="north")


def test_only_the_pods_of_the_site_count() -> None:
    wanted = request([service_class("long", context=131_072, concurrency=20)], [NODE], [*two_sites()])
    found = capacity(wanted, 2, Effort(), site="south")
    assert (found.site, found.multiple, found.plan.request.sites[0].pods) == ("south", Fraction(32), 2)


def two_sites() -> tuple[Site, Site]:
    return Site("north", TEST_POD, pods=9), Site("south", TEST_POD, pods=9, installed_pods=2)


def test_demands_change_at_multiples_of_one_over_a_rate() -> None:
    multiples = Multiples((Fraction(21, 2), Fraction(4)))
    assert multiples.at(Fraction(1)) == (11, 4)
    assert multiples.at(Fraction(0)) == (1, 1)
    assert multiples.served_by((11, 5)) == Fraction(22, 21)
    assert multiples.after(Fraction(22, 21)) == (12, 5)
    assert multiples.below((12, 5)) == Fraction(22, 21)


def test_in_print_a_multiple_is_rounded_down_and_a_bound_up() -> None:
    assert in_print(Fraction(2, 3)) == "0.666"
    assert in_print(Fraction(2, 3), is_bound=True) == "0.667"
    assert in_print(Fraction(2)) == in_print(Fraction(2), is_bound=True) == "2.000"
