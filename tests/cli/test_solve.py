"""`sizing solve` from the command line: exit codes, what goes where, and what is never overwritten."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook

from sizing.cli.main import run
from sizing.plan.plan import NoPlan, Status
from sizing.units.errors import CheckFailed

ROOT = Path(__file__).resolve().parent.parent.parent

WORKLOAD = """\
name: Two lengths
classes:
  - {name: long, model: llama-3.1-70b, context: 128k, concurrency: 20}
  - {name: short, model: llama-3.1-70b, context: 4k, concurrency: 11, kv_precision: [bf16, fp8]}
site:
  pods: 2
policy:
  systems: [hgx-h200-8, hgx-b300-8]
  supply: {hgx-h200-8: 5}
"""

PLAN_KEYS = {
    *("schema", "status", "objective", "pods", "systems", "totals", "deployments", "classes", "tokens", "limits"),
    *("placement", "rejected", "request", "catalog", "input_sha256", "version"),
}
"""Keys of the contract; others may stand beside them."""

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current folder with one workload."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.yaml").write_text(WORKLOAD, encoding="utf-8")
    return tmp_path


@pytest.fixture
def solve(folder: Path, capsys: pytest.CaptureFixture[str]) -> Call:
    """Exit code, standard output and standard error of one call."""

    def call(*arguments: str) -> tuple[int, str, str]:
        code = run(["solve", *arguments])
        told = capsys.readouterr()
        return code, told.out, told.err

    return call


def changed(folder: Path, old: str, new: str) -> None:
    text = (folder / "two.yaml").read_text(encoding="utf-8")
    assert old in text
    (folder / "two.yaml").write_text(text.replace(old, new), encoding="utf-8")


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} - {"two.yaml"}


@pytest.fixture(scope="module")
def document(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The plan as JSON on standard output, from a process of its own."""
    place = tmp_path_factory.mktemp("process")
    (place / "two.yaml").write_text(WORKLOAD, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", "from sizing.cli.main import main; main()", "solve", "two.yaml", "--json", "-"],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=place,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert b"pods: 1 Pod, proven" in done.stderr
    assert files(place) == {"reports/two.xlsx"}
    parsed = json.loads(done.stdout)  # one document and nothing else
    assert isinstance(parsed, dict)
    return parsed


def test_the_document_has_every_key_of_the_contract(document: dict[str, Any]) -> None:
    assert document.keys() >= PLAN_KEYS
    assert document["schema"] == "sizing.plan/1"
    assert document["status"] == "optimal"
    assert document["objective"][0].keys() >= {"stage", "value", "bound", "gap", "conditional"}
    assert [stage["stage"] for stage in document["objective"]] == [
        *("pods", "system_kinds", "power", "gpus", "precision"),
    ]
    (pod,) = document["pods"]
    assert {key: pod[key] for key in ("site", "pod", "fill", "count")} == {
        "site": "site",
        "pod": "podos-1mw",
        "fill": {"hgx-h200-8": 1},
        "count": 1,
    }
    assert document["systems"] == {"hgx-h200-8": 1}
    assert document["totals"].keys() >= {
        *("pods", "systems", "domains", "gpus", "idle_gpus", "stranded_slots", "free_slots", "nameplate_kw"),
        *("liquid_kw", "air_kw", "balance_kw", "balance_liquid_kw", "balance_air_kw", "cost_usd"),
    }
    (planned,) = document["deployments"]
    assert planned.keys() >= {
        *("id", "system", "gpu", "domain_gpus", "model", "weights", "kv_precision", "layout", "gpus_per_replica"),
        *("replicas", "pools", "kv_budget_bytes_per_pool", "bytes_per_token", "patterns"),
    }
    assert planned["layout"].keys() == {"tp", "dcp", "attention_dp", "ep"}
    assert planned["patterns"] == [{"count": 1, "sequences": {"long": 20, "short": 11}}]
    for service in document["classes"]:
        assert service.keys() >= {"name", "demand", "served", "precision", "placements"}
        assert service["served"] == service["demand"]
        assert service["placements"][0].keys() >= {"deployment", "sequences", "sequence_bytes", "binding"}
    assert document["tokens"].keys() >= {"committed", "spare", "capacity", "by_model"}
    assert document["tokens"]["committed"] == 20 * 131_072 + 11 * 4_096
    limits = {limit["name"]: limit for limit in document["limits"]}
    assert limits.keys() == {"power", "liquid_heat", "air_heat", "pods", "supply:hgx-h200-8"}
    assert limits["pods"].keys() >= {"name", "site", "used", "limit", "unit", "binding"}
    assert document["placement"]
    assert all(each.keys() >= {"system", "model", "why"} for each in document["rejected"])
    assert document["catalog"].keys() >= {"sha256", "entries"}
    assert set(document["catalog"]["entries"]["systems"]) >= {"hgx-h200-8"}
    assert document["request"]["policy"]["reserve_share"] == 0.1
    assert len(document["input_sha256"]) == 64


def test_the_answer_on_the_screen(solve: Call, folder: Path) -> None:
    code, out, err = solve("two.yaml")
    assert code == 0
    assert "memory only" in out
    assert "hgx-h200-8" in out
    assert "two.xlsx" in out
    assert "pods: 1 Pod, proven" in err
    assert "pods: 1 Pod" not in out
    assert files(folder) == {"reports/two.xlsx"}
    book = load_workbook(folder / "reports" / "two.xlsx")
    assert len(book.sheetnames) >= 6


def test_json_to_a_file_beside_the_answer(solve: Call, folder: Path, document: dict[str, Any]) -> None:
    code, out, _ = solve("two.yaml", "--json", "plan.json", "--out", "bills/here")
    assert code == 0
    assert "memory only" in out
    assert files(folder) == {"bills/here/two.xlsx", "plan.json"}
    assert json.loads((folder / "plan.json").read_text(encoding="utf-8")) == document


@pytest.mark.parametrize(
    ("old", "new", "where", "said"),
    [
        ("pods: 2", "pods: -1", "two.yaml:6", "site.pods"),
        ("supply:", "suply:", "two.yaml:9", "did you mean 'supply'?"),
        ("context: 4k", "context: 4x", "two.yaml:4", "classes[1].context"),
        ("name: short", "name: long", "two.yaml:4", "duplicate name"),
    ],
)
def test_bad_input_is_told_and_nothing_is_written(
    solve: Call, folder: Path, old: str, new: str, where: str, said: str
) -> None:
    changed(folder, old, new)
    code, out, err = solve("two.yaml", "--json", "plan.json")
    assert code == 2
    assert out == ""
    assert where in err
    assert said in err
    assert "Traceback" not in err
    assert files(folder) == set()


def test_all_mistakes_are_told_at_once(solve: Call, folder: Path) -> None:
    for old, new in (("pods: 2", "pods: none"), ("context: 4k", "context: 4x"), ("hgx-b300-8]", "hgx-b301-8]")):
        changed(folder, old, new)
    code, out, err = solve("two.yaml", "--json", "-")
    assert code == 2
    assert out == ""
    assert [line.split(": ")[1] for line in err.splitlines()] == [
        *("classes[1].context", "site.pods", "policy.systems[1]"),
    ]


def test_a_workload_that_is_not_there(solve: Call, folder: Path) -> None:
    code, out, err = solve("three.yaml")
    assert (code, out) == (2, "")
    assert "three.yaml" in err
    assert files(folder) == set()


def test_no_plan_is_an_answer_whose_workbook_says_why(solve: Call, folder: Path) -> None:
    changed(folder, "pods: 2", "pods: 0")
    code, out, _ = solve("two.yaml")
    assert code == 3
    assert "0 allowed" in out
    assert files(folder) == {"reports/two.xlsx"}
    assert load_workbook(folder / "reports" / "two.xlsx").sheetnames == ["Proposal", "Assumptions", "Audit"]


def test_no_plan_as_json(solve: Call, folder: Path) -> None:
    changed(folder, "pods: 2", "pods: 0")
    code, out, _ = solve("two.yaml", "--json", "-")
    told = json.loads(out)
    assert code == 3
    assert told["status"] == "infeasible"
    assert told.keys() >= PLAN_KEYS | {"reasons", "relaxations", "partial"}
    assert told["reasons"]
    (change,) = [each for each in told["relaxations"] if each["limit"] == "pods"]
    assert change.keys() >= {"limit", "now", "needed", "unit"}
    assert (change["now"], change["needed"]) == (0, 1)
    assert files(folder) == {"reports/two.xlsx"}


def test_time_is_up_before_a_plan(solve: Call, folder: Path) -> None:
    """A clock that leaves nothing: either no plan and exit code 4, or a plan whose gaps are told."""
    code, out, _ = solve("two.yaml", "--json", "-", "--time-limit", "0.000001")
    told = json.loads(out)
    if code == 4:
        assert told["status"] == "timeout"
        assert told["reasons"]
        assert files(folder) == set()
    else:
        assert code == 0
        assert told["status"] in ("optimal", "feasible")
        assert files(folder) == {"reports/two.xlsx"}
    assert not (told["reproducible"] and told["status"] == "timeout")


def test_alternatives_and_sensitivity_are_told_where_they_are_asked_for(
    solve: Call, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = solve("two.yaml", "--alternatives", "1", "--sensitivity", "--json", "plan.json")
    assert code == 0
    assert "only hgx-b300-8, or without hgx-h200-8" in out
    assert "+4.3 kW" in out
    assert "Sensitivity: what the answer becomes" in out
    assert "what if: reserve 10 % -> 5 %" in err
    told = json.loads((folder / "plan.json").read_text(encoding="utf-8"))
    assert [each["plan"]["systems"] for each in told["alternatives"]] == [{"hgx-b300-8": 1}]
    assert told["no_alternatives"] == []
    assert {case["key"] for case in told["sensitivity"]["cases"]} >= {"pods", "supply:hgx-h200-8", "hbm", "demand"}
    assert run(["verify", "plan.json"]) == 0
    told["alternatives"][0]["plan"]["pods"] = 2
    (folder / "plan.json").write_text(json.dumps(told), encoding="utf-8")
    assert run(["verify", "plan.json"]) == 5
    assert "alternatives: is not as it was written" in capsys.readouterr().out


@pytest.mark.parametrize("number", ["-1", "101", "1000000000", "nan", "two"])
def test_a_number_of_alternatives_that_is_none_is_refused(solve: Call, folder: Path, number: str) -> None:
    code, out, err = solve("two.yaml", "--alternatives", number)
    assert (code, out) == (2, "")
    assert "--alternatives" in err
    assert files(folder) == set()


def test_exit_code_of_a_search_without_a_plan(solve: Call, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def out_of_time(request: Any, **_: Any) -> NoPlan:
        return NoPlan(request, Status.TIMEOUT, ("time",), (), (), reproducible=False)

    monkeypatch.setattr("sizing.cli.solve.find_plan", out_of_time)
    code, out, _ = solve("two.yaml", "--json", "-")
    assert code == 4
    assert json.loads(out)["status"] == "timeout"
    assert files(folder) == set()


def test_a_plan_that_fails_the_check_is_never_shown(solve: Call, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sizing.advice.answer.check", lambda _plan: ("a pool holds more than it has",))
    code, out, err = solve("two.yaml", "--json", "plan.json")
    assert (code, out) == (CheckFailed.exit_code, "")
    assert code == 1
    assert "a pool holds more than it has" in err
    assert files(folder) == set()


@pytest.mark.parametrize("in_the_way", ["reports/two.xlsx", "plan.json"])
def test_a_file_in_the_way_is_kept(solve: Call, folder: Path, in_the_way: str) -> None:
    """Refused before the search, not after it; with --force it is replaced."""
    path = folder / in_the_way
    path.parent.mkdir(exist_ok=True)
    path.write_text("mine", encoding="utf-8")
    code, out, err = solve("two.yaml", "--json", "plan.json")
    assert (code, out) == (2, "")
    assert in_the_way.rsplit("/", maxsplit=1)[-1] in err
    assert "--force" in err
    assert "proven" not in err
    assert files(folder) == {in_the_way}
    assert path.read_text(encoding="utf-8") == "mine"
    assert solve("two.yaml", "--json", "plan.json", "--force")[0] == 0
    assert path.read_bytes() != b"mine"
    assert files(folder) == {"reports/two.xlsx", "plan.json"}


def test_its_own_files_are_overwritten(solve: Call, folder: Path) -> None:
    assert solve("two.yaml", "--json", "plan.json")[0] == 0
    before = {name: (folder / name).read_bytes() for name in files(folder)}
    assert solve("two.yaml", "--json", "plan.json")[0] == 0
    assert {name: (folder / name).read_bytes() for name in files(folder)} == before
    changed(folder, "concurrency: 11", "concurrency: 12")
    assert solve("two.yaml", "--json", "plan.json")[0] == 0
    assert all((folder / name).read_bytes() != content for name, content in before.items())


def test_a_workbook_that_was_changed_is_kept(solve: Call, folder: Path) -> None:
    assert solve("two.yaml")[0] == 0
    path = folder / "reports" / "two.xlsx"
    book = load_workbook(path)
    book.create_sheet("Mine")
    book.save(path)
    before = path.read_bytes()
    assert solve("two.yaml")[0] == 2
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("order", "values", "system"),
    [
        ("power,gpus,precision", {"power": 102, "gpus": 8, "precision": 700}, "hgx-h200-8"),
        ("precision, power", {"precision": 0, "power": 145}, "hgx-b300-8"),
    ],
)
def test_the_order_of_stages_may_be_given(
    solve: Call, folder: Path, order: str, values: dict[str, int], system: str
) -> None:
    """700 short sequences: one H200 node holds them at fp8, one B300 node at bf16."""
    changed(folder, "  - {name: long, model: llama-3.1-70b, context: 128k, concurrency: 20}\n", "")
    changed(folder, "concurrency: 11", "concurrency: 700")
    code, out, _ = solve("two.yaml", "--json", "-", "--objective", order)
    assert code == 0
    told = json.loads(out)
    assert [(stage["stage"], stage["value"]) for stage in told["objective"]] == list(values.items())
    assert told["systems"] == {system: 1}


@pytest.mark.parametrize("stages", ["pods,nothing", "", "pods,pods"])
def test_stages_that_are_none(solve: Call, folder: Path, stages: str) -> None:
    code, out, err = solve("two.yaml", "--objective", stages)
    assert (code, out) == (2, "")
    assert "objective" in err
    assert files(folder) == set()


@pytest.mark.parametrize("option", [["--time-limit", "0"], ["--gap", "1"], ["--threads", "0"], ["--time-limit", "x"]])
def test_options_out_of_range(solve: Call, folder: Path, option: list[str]) -> None:
    code, out, err = solve("two.yaml", *option)
    assert (code, out) == (2, "")
    assert option[0] in err
    assert files(folder) == set()


def test_an_overlay_changes_the_answer(solve: Call, folder: Path) -> None:
    """A B300 node that took 7.7 kW instead of 14.5 would be chosen where an H200 node holds everything too."""
    figure = "{value: 7.7, sources: [quotation], date: 2026-12-01, confidence: high}"
    (folder / "mine").mkdir()
    (folder / "mine" / "systems.yaml").write_text(f"hgx-b300-8:\n  nameplate_kw: {figure}\n", encoding="utf-8")
    source = "quotation: {title: A quotation, address: mail, date: 2026-12-01}\n"
    (folder / "mine" / "sources.yaml").write_text(source, encoding="utf-8")
    code, out, _ = solve("two.yaml", "--json", "-", "--catalog", "mine")
    assert code == 0
    told = json.loads(out)
    assert told["systems"] == {"hgx-b300-8": 1}
    assert told["totals"]["nameplate_kw"] == 7.7
    code, out, err = solve("two.yaml", "--catalog", "not-there")
    assert (code, out) == (2, "")
    assert "not-there" in err
