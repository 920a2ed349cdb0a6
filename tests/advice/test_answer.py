"""An answer is a plan that was checked, or the reasons why there is none."""

import json

import pytest

from sizing import load_workload
from sizing.advice.answer import answer
from sizing.plan.check import check
from sizing.plan.document import no_plan_document, plan_document, to_json
from sizing.plan.plan import NoPlan, Plan, Status
from sizing.program.deployments import enumerate_options
from sizing.program.search import Found, search
from sizing.program.solver import Effort
from sizing.report.console import console_report, no_plan_report
from sizing.units.errors import CheckFailed
from tests.plan_builders import NODE, RACK, policy, request, service_class
from tests.program.instances import random_instance, request_of

LONG = service_class("long", context=131_072, concurrency=61)


def test_a_plan_is_found_checked_and_looked_at_again() -> None:
    told: list[str] = []
    plan = answer(request([LONG], [NODE, RACK]), Effort(), told.append)
    assert isinstance(plan, Plan)
    assert plan.status is Status.OPTIMAL
    assert plan.systems == (("node-8", 4),)
    assert check(plan) == ()
    assert plan.sensitivity is not None
    assert told.index("pods: 1 Pod, proven") < told.index("checking the plan") < len(told) - 1
    assert any(rejection.system == "rack-72" for rejection in plan.rejected)


def test_a_plan_that_does_not_hold_is_never_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sizing.advice.answer.check", lambda _plan: ("one thing", "another"))
    with pytest.raises(CheckFailed, match=r"one thing\nanother"):
        answer(request([LONG], [NODE]), Effort())


def test_no_plan_is_an_answer_too() -> None:
    told = answer(request([LONG], [NODE], rules=policy(supply={"node-8": 3})), Effort())
    assert isinstance(told, NoPlan)
    assert told.status is Status.INFEASIBLE
    (change,) = [change for change in told.relaxations if change.option == 1]
    assert (change.limit, change.unit) == ("supply:node-8", "systems")
    assert [change.now, change.needed] == [3, 4]


def test_a_search_that_was_stopped_is_not_reproducible(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = request([LONG], [NODE])
    found = search(asked, enumerate_options(asked).candidates, Effort())
    assert isinstance(found, Found)
    stopped = Found(found.choice, found.stages, stopped=True)
    monkeypatch.setattr("sizing.advice.answer.search_within_limits", lambda *_: stopped)
    plan = answer(asked, Effort())
    assert isinstance(plan, Plan)
    assert not plan.reproducible


@pytest.mark.parametrize("seed", range(9_000, 9_012))
def test_every_answer_can_be_written(seed: int) -> None:
    told = answer(request_of(random_instance(seed)), Effort())
    if isinstance(told, Plan):
        assert told.status is Status.OPTIMAL
        assert to_json(plan_document(told))
        assert told.request.name in console_report(told, "a.xlsx")
    else:
        assert told.reasons
        assert json.loads(to_json(no_plan_document(told)))["reasons"] == list(told.reasons)
        assert told.reasons[0].split()[0] in no_plan_report(told)


def test_a_blend_bounds_no_stage_that_counts_only_part_of_it() -> None:
    """30 for each of 8 GPUs and 1 for each of 240 sequences in fp8, or 30 for each of 16: both 480, and 8 is fewer."""
    classes = [
        {
            "name": "a",
            "model": "qwen3-235b-a22b",
            "context": 16384,
            "concurrency": 240,
            "kv_precision": ["bf16", "fp8"],
        },
        {"name": "b", "model": "llama-3.1-70b", "context": 8192, "concurrency": 80, "kv_precision": ["bf16", "fp8"]},
    ]
    policy = {"systems": ["hgx-b300-8-liquid"], "objective": ["30 gpus + precision", "gpus"]}
    plan = answer(load_workload({"name": "Blend", "classes": classes, "policy": policy}), Effort())
    assert isinstance(plan, Plan)
    assert [(stage.value, stage.bound) for stage in plan.stages] == [(480, 480), (8, 8)]
