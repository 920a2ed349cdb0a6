"""`sizing verify` on plans that `sizing solve` wrote: exit codes, what is printed, speed and imports."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

import sizing
from sizing.catalog.catalog import Catalog
from sizing.cli.main import run
from sizing.plan.document import no_plan_document, plan_document, to_json
from sizing.plan.plan import NoPlan, Plan
from sizing.plan.verify import verify_document

ROOT = Path(__file__).resolve().parent.parent.parent
LONG_70B = {"name": "long", "model": "llama-3.1-70b", "context": "128k", "concurrency": 20}

MIXED: dict[str, Any] = {
    "name": "Mixed",
    "classes": [{"name": "agents", "model": "deepseek-v3", "weights": "fp8", "context": "64k", "concurrency": 5000}],
    "site": {"power": "3 MW", "pod_air_heat": "250 kW"},
    "policy": {"systems": ["gb300-nvl72", "hgx-b300-8"], "mixed_pods": True, "supply": {"hgx-b300-8": 20}},
}
"""A Pod that holds a rack and fewer nodes than it might."""

TWO_CLASSES: dict[str, Any] = {
    "name": "Two classes",
    "classes": [
        LONG_70B,
        {
            "name": "short",
            "model": "llama-3.1-70b",
            "context": 4096,
            "concurrency": 11,
            "kv_precision": ["bf16", "fp8"],
        },
    ],
    "sites": [{"name": "b", "power": "2 MW"}, {"name": "a", "pods": 0}],
    "policy": {"systems": ["hgx-h200-8"], "headroom": "10 %", "spare_systems": 1, "split_precision": True},
}


def solved(workload: dict[str, Any]) -> dict[str, Any]:
    """The document of the plan of a workload, as its JSON says it."""
    plan = sizing.solve(sizing.load_workload(workload))
    assert isinstance(plan, Plan)
    document = json.loads(to_json(plan_document(plan)))
    assert isinstance(document, dict)
    return document


@pytest.fixture(scope="module")
def mixed() -> dict[str, Any]:
    return solved(MIXED)


@pytest.fixture(scope="module")
def two_classes() -> dict[str, Any]:
    return solved(TWO_CLASSES)


def written(document: Any, folder: Path) -> str:
    file = folder / "plan.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    return str(file)


def test_a_plan_that_holds_is_one_line(
    mixed: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert mixed["pods"][0]["fill"] != mixed["pods"][0]["planned"]
    assert set(mixed["pods"][0]["planned"]) == {"gb300-nvl72", "hgx-b300-8"}
    file = written(mixed, tmp_path)
    assert run(["verify", file]) == 0
    told = capsys.readouterr()
    assert told.err == ""
    assert told.out.startswith(f"{file} holds: 1 Pod, ")
    assert told.out.count("\n") == 1


def test_what_solve_writes_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    workload, file = tmp_path / "w.yaml", tmp_path / "plan.json"
    workload.write_text(
        "name: Small\nclasses: [{name: chat, model: llama-3.1-8b, context: 4k, concurrency: 10}]\n"
        "policy: {systems: [hgx-h200-8]}\n"
    )
    assert run(["solve", str(workload), "--out", str(tmp_path), "--json", str(file)]) == 0
    capsys.readouterr()
    assert run(["verify", str(file)]) == 0
    assert capsys.readouterr().out.startswith(
        f"{file} holds: 1 Pod, 1 x hgx-h200-8, 8 GPUs, 10.2 kW nameplate, optimal"
    )


def test_a_plan_that_does_not_hold_says_what_is_wrong_and_where(
    two_classes: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = deepcopy(two_classes)
    document["systems"]["hgx-h200-8"] += 1
    document["totals"]["gpus"] += 8
    file = written(document, tmp_path)
    assert run(["verify", file]) == 5
    told = capsys.readouterr()
    assert told.err == ""
    gpus, count = two_classes["totals"]["gpus"], two_classes["systems"]["hgx-h200-8"]
    assert told.out.splitlines() == [
        f"{file} does not hold: 2 findings",
        f"systems.hgx-h200-8: says {count + 1}, pods hold {count}",
        f"totals.gpus: says {gpus + 8}, right is {gpus}",
    ]


def test_no_more_than_a_hundred_lines(
    two_classes: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = {**two_classes, **{f"more{number}": 1 for number in range(120)}}
    assert run(["verify", written(document, tmp_path)]) == 5
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("plan.json does not hold: 120 findings")
    assert len(lines) == 102
    assert lines[-1] == "and 20 more"


@pytest.mark.parametrize(
    ("content", "said"),
    [("", "no JSON"), ("{}", "schema: is missing"), ('{"schema": "sizing.plan/1"}', "status: is missing")],
)
def test_no_plan_document_is_bad_input(
    content: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "plan.json"
    file.write_text(content)
    assert run(["verify", str(file)]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert said in told.err
    assert str(file) in told.err


def test_a_missing_file_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", str(tmp_path / "none.json")]) == 2
    assert "no such file" in capsys.readouterr().err


def test_an_answer_without_a_plan_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    workload = {"name": "None", "classes": [LONG_70B], "site": {"pods": 0}, "policy": {"systems": ["hgx-h200-8"]}}
    answer = sizing.solve(sizing.load_workload(workload))
    assert isinstance(answer, NoPlan)
    assert run(["verify", written(no_plan_document(answer), tmp_path)]) == 2
    assert "status: there is no plan to verify (seen: 'infeasible'" in capsys.readouterr().err


@pytest.fixture
def other_catalog(tmp_path: Path) -> str:
    """A folder in which an hgx-h200-8 takes more power, and a model of one's own lies."""
    folder = tmp_path / "mine"
    (folder / "models").mkdir(parents=True)
    (folder / "systems.yaml").write_text(
        "hgx-h200-8:\n  nameplate_kw: {value: 11, sources: [mine], date: 2026-01-01, confidence: high}\n"
    )
    (folder / "sources.yaml").write_text("mine: {title: Measured, address: https://example.org/, date: 2026-01-01}\n")
    shipped = (ROOT / "catalogs" / "models" / "llama-3.1-8b.yaml").read_text(encoding="utf-8")
    without_aliases = "".join(line for line in shipped.splitlines(True) if not line.startswith("aliases"))
    (folder / "models" / "ours.yaml").write_text(without_aliases, encoding="utf-8")
    return str(folder)


def test_a_plan_of_another_catalog_says_what_differs(
    two_classes: dict[str, Any], other_catalog: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["verify", written(two_classes, tmp_path), "--catalog", other_catalog]) == 5
    lines = capsys.readouterr().out.splitlines()
    assert "catalog.entries.systems.hgx-h200-8.nameplate_kw.value: says 10.2, the catalog at hand says 11" in lines
    assert any(line.endswith(": the plan was made with another catalog") for line in lines)
    assert any(line.startswith("totals.nameplate_kw: says ") for line in lines)


def test_a_plan_of_ones_own_catalog_holds_with_that_catalog_alone(
    other_catalog: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workload = {
        "name": "Ours",
        "classes": [{"name": "chat", "model": "ours", "context": "4k", "concurrency": 10}],
        "policy": {"systems": ["hgx-h200-8"]},
    }
    plan = sizing.solve(sizing.load_workload(workload, catalog=[other_catalog]))
    assert isinstance(plan, Plan)
    file = written(plan_document(plan), tmp_path)
    assert run(["verify", file, "--catalog", other_catalog]) == 0
    assert run(["verify", file]) == 5
    lines = capsys.readouterr().out.splitlines()
    assert "catalog.entries.models.ours: is not in the catalog at hand" in lines
    assert any(line.startswith("request.classes[0].model: model 'ours' is not known") for line in lines)


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(inner, (*path, key))
    else:
        yield path, value


def other(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if value is None:
        return 1
    return value + "x" if isinstance(value, str) else value + 1


@pytest.mark.parametrize("name", ["mixed", "two_classes"])
def test_no_number_or_name_of_a_solved_plan_can_be_changed(name: str, request: pytest.FixtureRequest) -> None:
    """Of the catalog entries, of which there are thousands, every fiftieth."""
    document, catalog = deepcopy(request.getfixturevalue(name)), Catalog()
    assert verify_document(document, catalog).findings == ()
    entries = [each for each in leaves(document) if each[0][:2] == ("catalog", "entries")]
    apart = (("schema",), ("content_sha256",))
    others = [each for each in leaves(document) if each[0][:2] != ("catalog", "entries") and each[0] not in apart]
    assert len(others) > 180
    for path, value in others + entries[::50]:
        holder = document
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = other(value)
        assert verify_document(document, catalog).findings, path
        holder[path[-1]] = value


def test_sixty_pods_are_verified_in_well_under_a_second(tmp_path: Path) -> None:
    """960 systems, each with a replica of its own; the time is that of the work, not of imports."""
    workload = {
        "name": "Sixty",
        "classes": [{**LONG_70B, "concurrency": 60 * 16 * 20}],
        "policy": {"systems": ["hgx-h200-8"]},
    }
    document = solved(workload)
    assert document["totals"]["pods"] == 60
    catalog = Catalog()
    fastest = 1.0
    for _ in range(3):
        start = time.perf_counter()
        assert verify_document(document, catalog).findings == ()
        fastest = min(fastest, time.perf_counter() - start)
    assert fastest < 0.5


def test_no_solver_is_imported(two_classes: dict[str, Any], tmp_path: Path) -> None:
    code = (
        "import sys\nfrom sizing.cli.main import run\n"
        f"assert run(['verify', {written(two_classes, tmp_path)!r}]) == 0\n"
        "heavy = {'pyomo', 'highspy', 'numpy', 'pandas', 'openpyxl'}\n"
        "print(sorted({name.split('.')[0] for name in sys.modules} & heavy), "
        "[name for name in sys.modules if name.startswith(('sizing.program', 'sizing.advice'))])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[] []"
