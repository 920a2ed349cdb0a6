"""The answer under an engine profile and under the arithmetic itself, side by side."""

from typing import Any

import pytest

from sizing.advice.answer import answer
from sizing.catalog.catalog import Catalog
from sizing.plan.check import check
from sizing.plan.document import plan_document
from sizing.plan.plan import Plan
from sizing.plan.verify import verify_document
from sizing.pool.engines.ideal import IdealEngine
from sizing.program.solver import Effort
from sizing.report.console import console_report
from sizing.report.sensitivity import sensitivity_sentences
from sizing.request.load import workload_from

CATALOG = Catalog()


def planned(**policy: Any) -> Plan:
    workload = {
        "name": "test",
        "classes": [
            {"name": "chat", "model": "llama-3.1-8b", "context": "32k", "concurrency": 900},
            {"name": "windows", "model": "gpt-oss-120b", "context": "8k", "concurrency": 100},
        ],
        "policy": {"systems": ["hgx-h200-8"], **policy},
    }
    plan = answer(workload_from(workload, CATALOG), Effort())
    assert isinstance(plan, Plan)
    return plan


@pytest.fixture(scope="module")
def by_vllm() -> Plan:
    return planned(engine="vllm")


def test_a_plan_by_a_profile_passes_the_check(by_vllm: Plan) -> None:
    assert check(by_vllm) == ()
    assert by_vllm.request.policy.rules is CATALOG.engine("vllm")


def test_its_deployments_are_stored_and_budgeted_by_the_profile(by_vllm: Plan) -> None:
    engine = CATALOG.engine("vllm")
    for planned_deployment in by_vllm.deployments:
        deployment = planned_deployment.deployment
        assert deployment.storage == engine.storage(deployment.model, deployment.kv_precision)
        share = deployment.budget.reserve_bytes / deployment.budget.hbm_bytes
        assert 0.08 < share < 0.25


def test_ideal_stands_beside(by_vllm: Plan) -> None:
    assert by_vllm.sensitivity is not None
    beside = by_vllm.sensitivity.ideal
    assert beside is not None
    assert beside.proven
    ideal = planned()
    assert beside.plan is not None
    assert (beside.plan.pods, dict(beside.plan.systems)) == (ideal.totals.pods, dict(ideal.systems))
    (sentence,) = [each for each in sensitivity_sentences(by_vllm) if each.startswith("as vllm")]
    assert "by the arithmetic itself with a reserve of 10 % (ideal): 1 Pod" in sentence


def test_no_profile_has_nothing_beside() -> None:
    plan = planned()
    assert isinstance(plan.request.policy.rules, IdealEngine)
    assert plan.sensitivity is not None
    assert plan.sensitivity.ideal is None


def test_the_document_holds_both_and_verifies(by_vllm: Plan) -> None:
    document = plan_document(by_vllm)
    assert document["sensitivity"]["ideal"]["proven"] is True
    assert document["request"]["policy"]["engine"] == "vllm"
    assert document["request"]["policy"]["reserve_share"] is None
    assert list(document["catalog"]["entries"]["engines"]) == ["vllm"]
    verdict = verify_document(document, CATALOG)
    assert verdict.findings == ()


def test_the_report_says_what_the_profile_takes(by_vllm: Plan) -> None:
    said = " ".join(console_report(by_vllm).split())
    assert "what vllm leaves unused or takes beside weights and cache" in said
    assert "as vllm stores and starts it: 1 Pod" in said
