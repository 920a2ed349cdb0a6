"""What a plan says of its engine: what is assumed, what is not checked, and what of engine logs was used."""

from dataclasses import replace
from typing import Any

import pytest

from sizing.catalog.catalog import Catalog
from sizing.cli.main import run
from sizing.plan.plan import Plan
from sizing.pool.engines.measured import MeasuredEngine, Measurement
from sizing.report.cautions import assumption_sentences
from tests.plan_builders import two_sites

CATALOG = Catalog()
GOOD = two_sites()
DEPLOYMENT = GOOD.deployments[0].deployment
MEASURED = Measurement(
    profile="vllm-0.19",
    seen_in=("start.log",),
    model=DEPLOYMENT.model.name,
    gpu=DEPLOYMENT.system.gpu.name,
    gpus=DEPLOYMENT.gpus_per_replica,
    tp=DEPLOYMENT.layout.tp,
    dcp=1,
    weights=DEPLOYMENT.weights,
    kv_precision=DEPLOYMENT.kv_precision.name,
    outside_bytes=3 * 2**30,
    batched_tokens=2048,
)


def told(engine: str, measured: Measurement = MEASURED, **policy: Any) -> list[str]:
    profile = CATALOG.engine(engine)
    if engine == measured.profile:
        profile = MeasuredEngine(profile, (measured,))
    request = GOOD.request
    changed = replace(request.policy, engine=engine, profile=profile, **policy)
    plan: Plan = replace(GOOD, request=replace(request, policy=changed, measurements=(measured,)))
    return assumption_sentences(plan)


def test_a_measurement_in_use() -> None:
    (said,) = (each for each in told("vllm-0.19") if each.startswith("measured in"))
    assert "start.log: a GPU takes 3.00 GiB beside weights and cache" in said
    assert "started with 2,048 tokens a step" in said
    assert any("vllm-0.19: 90 % of total memory, 2,048 tokens a step" in each for each in told("vllm-0.19"))


@pytest.mark.parametrize(
    ("engine", "change", "why"),
    [
        ("vllm", {}, "the profile is vllm, not vllm-0.19"),
        ("vllm-0.19", {"gpu": "other"}, f"the GPU is {MEASURED.gpu}, not other"),
        ("vllm-0.19", {"tp": MEASURED.tp * 2}, f"TP is {MEASURED.tp}, not {MEASURED.tp * 2}"),
    ],
)
def test_a_measurement_that_is_not_used(engine: str, change: dict[str, Any], why: str) -> None:
    (said,) = (each for each in told(engine, replace(MEASURED, **change)) if "start.log" in each)
    assert said.endswith(f"is not used: {why}")


def test_a_measurement_of_another_model_says_nothing() -> None:
    assert not any("start.log" in each for each in told("vllm-0.19", replace(MEASURED, model="other")))


def test_without_a_profile_nothing_is_said() -> None:
    assert assumption_sentences(GOOD) == [*dict.fromkeys((*GOOD.request.assumptions, *GOOD.assumptions))]


def test_the_catalog_shows_what_an_engine_runs_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["catalog", "engines", "tensorrt-llm-1.2"]) == 0
    said = capsys.readouterr().out
    assert "- KV cache in bf16 [1], fp8 [1], nvfp4 [2]" in said
    assert "- not with nvfp4 weights on ampere [1], ada [1], hopper [1]" in said
    assert "supports." not in said
    assert run(["catalog", "engines", "vllm-0.25"]) == 0
    assert "- KV cache in: not known, and not checked" in capsys.readouterr().out
