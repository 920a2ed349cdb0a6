"""What an engine does not run is no candidate, says why, and does not pass the check."""

from dataclasses import replace
from typing import Any

import pytest

from sizing.catalog.catalog import Catalog
from sizing.plan.check import check
from sizing.pool.engines.supports import Supports
from sizing.program.deployments import enumerate_options
from sizing.request.load import workload_from
from tests.plan_builders import two_sites

CATALOG = Catalog()


def options(system: str, engine: str, **service: Any) -> Any:
    workload = {
        "name": "T",
        "classes": [{"name": "chat", "model": "llama-3.1-8b", "context": 4096, "concurrency": 10, **service}],
        "site": {"pod": "podos-1mw", "power": "5 MW"},
        "policy": {"engine": engine, "systems": [system]},
    }
    return enumerate_options(workload_from(workload, CATALOG))


@pytest.mark.parametrize(
    ("system", "service", "why"),
    [
        ("mi300x-8", {}, "tensorrt-llm does not run on GPUs of AMD"),
        ("hgx-h200-8", {"kv_precision": ["int4"]}, "tensorrt-llm keeps no KV cache in int4"),
        ("hgx-h200-8", {"weights": "nvfp4"}, "tensorrt-llm does not run nvfp4 weights on hopper GPUs"),
    ],
)
def test_what_an_engine_does_not_run_is_no_candidate(system: str, service: dict[str, Any], why: str) -> None:
    found = options(system, "tensorrt-llm", **service)
    assert not found.candidates
    assert [each.why for each in found.obstacles] == [why]
    assert why in [each.why for each in found.rejected]
    assert options(system, "ideal", **service).candidates


def test_what_it_does_run_stays() -> None:
    found = options("hgx-h200-8", "tensorrt-llm", kv_precision=["int4", "fp8"])
    assert {each.deployment.kv_precision.name for each in found.candidates} == {"fp8"}


def test_the_check_refuses_it() -> None:
    plan = two_sites()
    engine = CATALOG.engine("tensorrt-llm")
    profile = replace(engine, supports=Supports(vendors=frozenset({"nobody"})))  # type: ignore[type-var]
    policy = replace(plan.request.policy, engine="tensorrt-llm", profile=profile)
    found = check(replace(plan, request=replace(plan.request, policy=policy)))
    assert any("tensorrt-llm does not run on GPUs of" in each for each in found)


def test_a_version_names_its_profile() -> None:
    workload = {
        "name": "T",
        "classes": [{"name": "chat", "model": "llama-3.1-8b", "context": 4096, "concurrency": 10}],
        "policy": {"engine": "vllm-0.31"},
    }
    request = workload_from(workload, CATALOG)
    assert (request.policy.engine, request.document["policy"]["engine"]) == ("vllm", "vllm")
