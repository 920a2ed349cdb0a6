"""What the answer becomes where a limit or a choice of the policy is another: each case against a search of its own."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import pytest

from sizing.advice.answer import Extras, answer
from sizing.advice.cases import Case, limit_cases, policy_cases
from sizing.facility.site import Site
from sizing.plan.brief import brief_of_plan
from sizing.plan.document import plan_document, to_json
from sizing.plan.plan import NoPlan, Plan, PlanInBrief, SensitivityCase, Status
from sizing.pool.engines.ideal import IdealEngine
from sizing.program.halt import Halt
from sizing.program.solver import Effort
from sizing.report.console import console_report
from sizing.request.request import Request
from tests.plan_builders import BF16, FP8, NODE, TEST_POD, policy, request, service_class, system
from tests.program.instances import random_instance, request_of

BIG = system("big-8", hbm_gb=288, kw="14.5", generation="new")
ANSWERED = Extras(sensitivity=True)


def planned(asked: Request, effort: Effort | None = None) -> Plan:
    plan = answer(asked, effort or Effort(), extras=ANSWERED)
    assert isinstance(plan, Plan)
    return plan


def cases_of(plan: Plan) -> Mapping[str, SensitivityCase]:
    assert plan.sensitivity is not None
    assert plan.sensitivity.cases is not None
    return {case.what: case for case in plan.sensitivity.cases}


def long(concurrency: int) -> Request:
    """20 to a node: so many of them."""
    many = service_class("long", context=131_072, concurrency=concurrency)
    return request([many], [NODE], [Site("site", TEST_POD, power_kw=Fraction(2000), pods=2)])


def bought(plan: PlanInBrief | None) -> tuple[int, dict[str, int]] | None:
    return None if plan is None else (plan.pods, dict(plan.systems))


def test_more_demand_takes_more_systems_up_to_the_limit() -> None:
    cases = cases_of(planned(long(500)))
    assert {what: bought(cases[what].plan) for what in cases if "demand" in what} == {
        "10 % more demand": (2, {"node-8": 28}),
        "25 % more demand": (2, {"node-8": 32}),
        "50 % more demand": None,
    }
    worst = cases["50 % more demand"]
    assert (worst.status, worst.changes, worst.key, worst.now, worst.asked) == ("infeasible", True, "demand", 100, 150)


def test_a_limit_that_binds_changes_the_answer_where_it_falls() -> None:
    """500 need 25 nodes: two Pods of 16, at 2 MW provisioned."""
    cases = cases_of(planned(long(500)))
    told = {what: (case.status.value, case.changes) for what, case in cases.items() if case.site == "site"}
    assert told == {
        "site power 2 MW -> 1.8 MW": ("infeasible", True),
        "site power 2 MW -> 2.2 MW": ("optimal", False),
        "site power 2 MW -> 2.5 MW": ("optimal", False),
        "no limit of site power": ("optimal", False),
        "site Pods 2 -> 1": ("infeasible", True),
        "site Pods 2 -> 3": ("optimal", False),
        "no limit of site Pods": ("optimal", False),
    }
    assert cases["no limit of site Pods"].asked is None


def test_every_choice_of_the_policy_is_asked_about() -> None:
    asked = request([service_class("short", concurrency=50, kv=[BF16, FP8])], [NODE, BIG])
    keys = [case.key for case in cases_of(planned(replace(asked, kv_precisions=(BF16, FP8)))).values()]
    assert keys == [
        *(["reserve"] * 3),
        *(["kv_precision:short"] * 2),
        *(["headroom"] * 3),
        *(["demand"] * 3),
        *("mixed_pods", "split_precision", "spare_systems"),
    ]


def test_the_reserve_is_not_asked_about_under_an_engine_profile() -> None:
    plan = planned(long(20))
    by_engine = replace(plan.request, policy=replace(plan.request.policy, profile=IdealEngine(Fraction(1, 10))))
    assert all(case.key != "reserve" for case in policy_cases(replace(plan, request=by_engine)))
    assert any(case.key == "reserve" for case in policy_cases(plan))


def test_a_further_precision_is_asked_about_class_by_class() -> None:
    classes = [service_class(name, context=131_072, concurrency=20) for name in ("one", "other")]
    asked = replace(request(classes, [NODE]), kv_precisions=(BF16, FP8))
    cases = cases_of(planned(asked))
    case = cases["allow fp8 for `one` too"]
    assert (case.now, case.asked, bought(case.plan)) == ("bf16", "bf16, fp8", (1, {"node-8": 2}))
    assert case.changes is False
    assert "allow fp8 for `other` too" in cases


def test_whole_limits_change_by_one_at_least_and_keep_what_is_installed() -> None:
    site = Site("site", TEST_POD, pods=2, installed_pods=2)
    (cases,) = limit_cases(request([service_class("short")], [NODE], [site]))
    assert [case.asked for case in cases] == [3, None]
    (cases,) = limit_cases(request([service_class("short")], [NODE], rules=policy(supply={"node-8": 40})))
    assert [case.asked for case in cases] == [36, 44, 50, None]
    assert "node-8" not in cases[-1].request.policy.supply


def search_of_its_own(case: Case) -> tuple[int, int, Fraction, int] | None:
    plan = answer(case.request, Effort())
    if isinstance(plan, NoPlan):
        assert plan.status is Status.INFEASIBLE
        return None
    assert plan.status is Status.OPTIMAL
    return of_stages(brief_of_plan(plan))


def of_stages(plan: PlanInBrief) -> tuple[int, int, Fraction, int]:
    return plan.pods, len(plan.systems), plan.nameplate_kw, plan.gpus


@pytest.mark.parametrize("seed", [8_000, 8_002, 8_003, 8_005, 8_008, 8_013])
def test_what_is_told_without_a_search_is_what_one_finds(seed: int) -> None:
    asked = request_of(random_instance(seed))
    asked = replace(asked, policy=replace(asked.policy, objective=policy().objective))
    plan = answer(asked, Effort(), extras=ANSWERED)
    if not isinstance(plan, Plan):
        return
    told = cases_of(plan)
    asked_about = [case for cases in limit_cases(asked) for case in cases]
    asked_about += [case for case in policy_cases(plan) if case.wider]
    for case in asked_about:
        found = told[case.what]
        right = search_of_its_own(case)
        assert (None if found.plan is None else of_stages(found.plan)) == right, case.what
        assert found.status is (Status.INFEASIBLE if right is None else Status.OPTIMAL)


def test_what_is_not_reached_in_time_is_told_as_such() -> None:
    halt = Halt()

    def stop(text: str) -> None:
        if text.startswith("what if"):
            halt.ask()

    plan = answer(long(500), Effort(halt=halt), stop, ANSWERED)
    assert isinstance(plan, Plan)
    assert (plan.status, plan.reproducible) == ("optimal", False)
    cases = cases_of(plan)
    late = cases["mixed Pods allowed"]
    assert (late.status, late.plan, late.changes) == (Status.TIMEOUT, None, None)
    assert "mixed Pods allowed" in console_report(plan)


def test_the_document_and_the_screen_tell_them() -> None:
    plan = planned(long(500))
    document = plan_document(plan)
    first = document["sensitivity"]["cases"][0]
    assert first == {
        "what": "site power 2 MW -> 1.8 MW",
        "key": "power",
        "site": "site",
        "now": 2000,
        "asked": 1800,
        "unit": "kW",
        "status": "infeasible",
        "plan": None,
        "changes": True,
    }
    assert to_json(document)
    shown = console_report(plan)
    assert "Sensitivity: what the answer becomes" in shown
    assert "no plan" in shown
    unasked = answer(long(500), Effort())
    assert isinstance(unasked, Plan)
    assert plan_document(unasked)["sensitivity"]["cases"] is None
    assert "Sensitivity: what" not in console_report(unasked)
