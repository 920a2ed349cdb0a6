"""The Python interface, and the plans that were worked out by hand before there was a program.

Memory only, label HBM, 10 % reserve, exact weights; a Pod without balance of plant, so that figures are round.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import sizing
from sizing.plan.document import no_plan_document, plan_document, to_json
from sizing.plan.plan import NoPlan, Plan

ROOT = Path(__file__).resolve().parent.parent

FIGURE = "sources: [test], date: 2026-01-01, confidence: high"
POD = f"""\
test-pod:
  title: A Pod without balance of plant
  gpu_slots: {{value: 128, {FIGURE}}}
  power_kw: {{value: 1000, {FIGURE}}}
  cooling: direct-to-chip liquid
"""
SOURCES = "test: {title: Made for a test, address: none, date: 2026-01-01}\n"

H200, B300, GB300 = "hgx-h200-8", "hgx-b300-8", "gb300-nvl72"
DENSE, LATENT = "llama-3.1-70b", "deepseek-v3"

Ask = Callable[..., Plan | NoPlan]


@pytest.fixture(scope="session")
def overlay(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("catalog")
    (folder / "pods.yaml").write_text(POD, encoding="utf-8")
    (folder / "sources.yaml").write_text(SOURCES, encoding="utf-8")
    return folder


def workload(
    classes: Sequence[dict[str, Any]],
    systems: Sequence[str],
    site: dict[str, Any] | None = None,
    **policy: Any,
) -> dict[str, Any]:
    return {
        "name": "Test",
        "classes": list(classes),
        "site": {"pod": "test-pod", **(site or {})},
        "policy": {"systems": list(systems), **policy},
    }


def live(concurrency: int, context: int | str, model: str = DENSE, name: str = "long", **more: Any) -> dict[str, Any]:
    return {"name": name, "model": model, "context": context, "concurrency": concurrency, **more}


@pytest.fixture
def ask(overlay: Path) -> Ask:
    def ask(*arguments: Any, **policy: Any) -> Plan | NoPlan:
        request = sizing.load_workload(workload(*arguments, **policy), catalog=[overlay])
        return sizing.solve(request)

    return ask


def bought(answer: Plan | NoPlan) -> tuple[dict[str, int], str, int]:
    """Systems, kW and Pods of a plan that is proven to be the best."""
    assert isinstance(answer, Plan)
    assert answer.status == "optimal"
    assert all(stage.value == stage.bound and stage.gap == 0 for stage in answer.stages)
    assert answer.totals.nameplate_kw.denominator in (1, 2, 5, 10)
    return dict(answer.systems), f"{float(answer.totals.nameplate_kw):.1f}", answer.totals.pods


def reasons(answer: Plan | NoPlan) -> str:
    assert isinstance(answer, NoPlan)
    assert answer.status == "infeasible"
    return "\n".join(answer.reasons)


# The plans that must come out


@pytest.mark.parametrize(("short", "system", "kw"), [(11, H200, "10.2"), (12, B300, "14.5")])
def test_a_pool_of_20_long_sequences_has_room_for_11_short_ones(ask: Ask, short: int, system: str, kw: str) -> None:
    answer = ask([live(20, 131_072), live(short, 4_096, name="short")], [H200, B300])
    assert bought(answer) == ({system: 1}, kw, 1)
    assert isinstance(answer, Plan)
    if system == H200:
        (planned,) = answer.deployments
        assert [(pattern.count, pattern.sequences) for pattern in planned.patterns] == [
            (1, (("long", 20), ("short", 11)))
        ]


@pytest.mark.parametrize(("sequences", "systems", "pods"), [(60, 3, 1), (61, 4, 1), (320, 16, 1), (321, 17, 2)])
def test_sequences_are_floored_per_pool_and_systems_fill_pods(
    ask: Ask, sequences: int, systems: int, pods: int
) -> None:
    answer = ask([live(sequences, 131_072)], [H200])
    assert bought(answer) == ({H200: systems}, f"{10.2 * systems:.1f}", pods)
    assert isinstance(answer, Plan)
    assert [filled.count * dict(filled.systems)[H200] for filled in answer.pods] == (
        [16, 1] if pods == 2 else [systems]
    )


def test_provisioned_power_counts_whole_megawatts(ask: Ask) -> None:
    answer = ask([live(1_281, 131_072)], [H200], {"power": "4.5 MW"})
    assert "5 MW needed" in reasons(answer)
    assert isinstance(answer, NoPlan)
    limits = {(change.limit, change.now, change.needed) for change in answer.relaxations}
    assert ("power", Fraction(4_500), Fraction(5_000)) in limits


def test_installed_power_counts_nameplates(ask: Ask) -> None:
    answer = ask([live(1_281, 131_072)], [H200], {"power": "4.5 MW"}, power_basis="installed")
    assert bought(answer) == ({H200: 65}, "663.0", 5)


def test_air_heat_lets_so_many_systems_stand(ask: Ask) -> None:
    answer = ask([live(1_281, 131_072)], [H200], {"air_heat": "650 kW"})
    assert "63 systems fit" in reasons(answer)
    assert isinstance(answer, NoPlan)
    limits = {(change.limit, change.now, change.needed) for change in answer.relaxations}
    assert ("air_heat", Fraction(650), Fraction(663)) in limits


@pytest.mark.parametrize(
    ("sequences", "mixed", "systems", "kw", "pods"),
    [
        (5_400, True, {GB300: 1, B300: 7}, "243.5", 1),
        (5_400, False, {GB300: 2}, "284.0", 2),
        (5_000, True, {GB300: 1, B300: 6}, "229.0", 1),
        (5_000, False, {B300: 19}, "275.5", 2),
    ],
)
def test_a_rack_and_seven_nodes_fill_a_mixed_pod(
    ask: Ask, sequences: int, mixed: bool, systems: dict[str, int], kw: str, pods: int
) -> None:
    answer = ask([live(sequences, 65_536, LATENT, weights="fp8")], [GB300, B300], mixed_pods=mixed)
    assert bought(answer) == (systems, kw, pods)


def test_two_models_and_a_choice_of_precision(ask: Ask) -> None:
    chat = live(2_000, 4_096, name="chat", weights="bf16", kv_precision=["bf16", "fp8"])
    agents = live(400, 65_536, LATENT, name="agents", weights="fp8")
    answer = ask([chat, agents], [H200, B300, GB300])
    assert bought(answer) == ({B300: 3}, "43.5", 1)
    assert isinstance(answer, Plan)
    assert answer.totals.gpus == 24
    served = {service.name: service for service in answer.classes}
    assert [(pair.weights, pair.kv) for pair in served["chat"].precisions] == [("bf16", "fp8")]
    assert served["chat"].served == 2_000
    assert {stage.stage: stage.value for stage in answer.stages}["precision"] == 2_000


def test_no_pods_no_plan(ask: Ask) -> None:
    told = reasons(ask([live(1, 4_096)], [H200], {"pods": 0}))
    assert "0 allowed, 1 needed" in told


def test_weights_that_do_not_fit_are_missing_to_the_byte(ask: Ask) -> None:
    told = reasons(ask([live(1, 4_096, "llama-3.1-405b", weights="bf16")], ["l40s-8"]))
    assert "466,106,777,600 bytes are missing" in told


# The interface


def test_a_mapping_and_a_file_are_the_same_request(overlay: Path, tmp_path: Path) -> None:
    asked = workload([live(3, "128k")], [H200], {"power": "4.5 MW"}, headroom="10 %")
    file = tmp_path / "test.yaml"
    file.write_text(json.dumps(asked), encoding="utf-8")  # JSON is YAML
    one, other = (sizing.load_workload(each, catalog=[overlay]) for each in (asked, file))
    assert one == other
    assert one.input_sha256 == other.input_sha256
    assert sizing.load_workload(str(file), catalog=[str(overlay)]) == one
    assert one.classes[0].demand == 4


def test_stages_may_be_given_beside_the_workload(overlay: Path) -> None:
    asked = workload([live(3, "128k")], [H200], objective=["pods"])
    request = sizing.load_workload(asked, catalog=[overlay], objective=["gpus", "power"])
    plan = sizing.solve(request)
    assert isinstance(plan, Plan)
    assert [(stage.stage, stage.value, stage.unit) for stage in plan.stages] == [
        ("gpus", 8, "GPUs"),
        ("power", 102, "0.1 kW"),
    ]


def test_bad_input_is_raised_with_all_its_problems(overlay: Path) -> None:
    asked = workload([live(0, "128k"), live(3, "129k")], ["hgx-h200-9"])
    with pytest.raises(sizing.BadInput) as caught:
        sizing.load_workload(asked, catalog=[overlay])
    assert issubclass(sizing.BadInput, sizing.SizingError)
    paths = {problem.path for problem in caught.value.problems}
    assert paths >= {"classes[0].concurrency", "classes[1].name", "policy.systems[0]"}


def test_a_plan_says_what_it_is(ask: Ask) -> None:
    plan = ask([live(61, 131_072)], [H200], {"power": "2 MW", "pods": 2})
    assert isinstance(plan, sizing.Plan)
    assert plan.reproducible
    assert plan.request.name == "Test"
    assert plan.totals.idle_gpus == 0
    assert plan.totals.free_slots == 128 - 32
    assert plan.totals.stranded_slots == 0
    assert plan.tokens.committed == 61 * 131_072
    assert plan.tokens.capacity == plan.tokens.committed + plan.tokens.spare
    assert plan.memory.bought == 32 * 141 * 10**9
    spent = plan.memory.idle + plan.memory.reserve + plan.memory.weights
    assert plan.memory.bought == spent + plan.memory.committed + plan.memory.spare + plan.memory.remainder
    assert {(limit.name, limit.used, limit.limit) for limit in plan.limits} == {
        ("power", Fraction(1000), Fraction(2000)),
        ("pods", Fraction(1), Fraction(2)),
        ("liquid_heat", Fraction(0), None),
        ("air_heat", Fraction("40.8"), None),
    }
    assert list(plan.data_frame("deployments")["replicas"]) == [4]


def test_progress_is_told(overlay: Path) -> None:
    told: list[str] = []
    request = sizing.load_workload(workload([live(3, "128k")], [H200]), catalog=[overlay])
    sizing.solve(request, progress=told.append)
    assert any("pods: 1 Pod, proven" in line for line in told)


def test_the_interface_has_what_it_names_and_no_more() -> None:
    assert set(dir(sizing)) == set(sizing.__all__)
    for name in sizing.__all__:
        assert getattr(sizing, name).__name__ == name
    with pytest.raises(AttributeError, match="nothing"):
        sizing.nothing  # noqa: B018 - asking for it is the test


# The same answer every time

SCRIPT = """
import json, sys
import sizing
from sizing.plan.document import no_plan_document, plan_document, to_json

given = json.loads(sys.stdin.read())
request = sizing.load_workload(given["workload"], catalog=given["catalog"])
plan = sizing.solve(request, threads=given["threads"], **given["more"])
document = plan_document(plan) if isinstance(plan, sizing.Plan) else no_plan_document(plan)
sys.stdout.write(to_json(document))
"""


def in_a_process(
    asked: dict[str, Any], overlay: Path, seed: str = "0", threads: int | None = None, **more: int | bool
) -> str:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        input=json.dumps({"workload": asked, "catalog": [str(overlay)], "threads": threads, "more": more}),
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": seed},
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


TWO_MODELS = workload(
    [
        live(2_000, 4_096, name="chat", weights="bf16", kv_precision=["bf16", "fp8"]),
        live(400, 65_536, LATENT, name="agents", weights="fp8"),
        live(7, 131_072, name="long"),
    ],
    [H200, B300, GB300],
    {"pods": 3},
    mixed_pods=True,
)
TOO_LITTLE = workload([live(1_281, 131_072)], [H200], {"power": "4.5 MW", "pods": 4})


@pytest.mark.parametrize("asked", [TWO_MODELS, TOO_LITTLE], ids=["a plan", "no plan"])
def test_the_answer_is_the_same_byte_for_byte(asked: dict[str, Any], overlay: Path) -> None:
    """Whatever the seed of hashes, the number of threads and the order in which classes and systems are written."""
    first = in_a_process(asked, overlay)
    assert in_a_process(asked, overlay, seed="1", threads=1) == first
    reordered = {
        **asked,
        "classes": list(reversed(asked["classes"])),
        "policy": {**asked["policy"], "systems": list(reversed(asked["policy"]["systems"]))},
    }
    assert in_a_process(reordered, overlay, seed="2", threads=2) == first


def test_alternatives_and_sensitivity_are_the_same_byte_for_byte(overlay: Path) -> None:
    classes = [live(20, "128k"), live(11, "4k", name="short", kv_precision=["bf16", "fp8"])]
    asked = workload(classes, [H200, B300], {"pods": 2})
    first = in_a_process(asked, overlay, alternatives=2, sensitivity=True)
    assert len(json.loads(first)["alternatives"]) == 1
    reordered = {**asked, "classes": list(reversed(classes))}
    assert in_a_process(reordered, overlay, "1", 2, alternatives=2, sensitivity=True) == first


def test_capacity_is_what_the_command_finds(overlay: Path) -> None:
    request = sizing.load_workload(workload([live(30, "128k")], [H200, B300]), catalog=[overlay])
    held = sizing.capacity(request, pods=1, system=H200)
    assert isinstance(held, sizing.Capacity)
    assert (held.multiple, held.at_most, held.served) == (Fraction(32, 3), Fraction(32, 3), {"long": 320})
    assert isinstance(held.plan, Plan)
    assert dict(held.plan.systems) == {H200: 16}
    with pytest.raises(sizing.BadInput, match="not among the systems"):
        sizing.capacity(request, pods=1, system=GB300)


def test_one_process_answers_as_a_fresh_one_does(overlay: Path) -> None:
    """No search leaves anything behind that changes the next."""
    for asked in (TOO_LITTLE, TWO_MODELS, TOO_LITTLE):
        answer = sizing.solve(sizing.load_workload(asked, catalog=[overlay]))
        document = plan_document(answer) if isinstance(answer, Plan) else no_plan_document(answer)
        assert to_json(document) == in_a_process(asked, overlay)
