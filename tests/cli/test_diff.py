"""`sizing diff` from the command line: plans and bills, what is said, and what is refused."""

import json
import sys
from collections.abc import Callable
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest

from sizing.cli.main import run

WORKLOAD = """\
name: Two lengths
classes:
  - {name: long, model: llama-3.1-70b, context: 128k, concurrency: 20}
  - {name: short, model: llama-3.1-70b, context: 4k, concurrency: 11, kv_precision: [bf16, fp8]}
site:
  pods: 2
policy:
  systems: [hgx-h200-8, hgx-b300-8]
"""
REORDERED = """\
name: Two lengths
classes:
  - {name: short, model: llama-3.1-70b, context: 4k, concurrency: 11, kv_precision: [bf16, fp8]}
  - {name: long, model: llama-3.1-70b, context: 128k, concurrency: 20}
site:
  pods: 2
policy:
  systems: [hgx-h200-8, hgx-b300-8]
"""

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with plans and bills: a, b with more sequences, c the classes in another order, none without one."""
    folder = tmp_path_factory.mktemp("solved")
    texts = {
        "a": WORKLOAD,
        "b": WORKLOAD.replace("concurrency: 20", "concurrency: 100"),
        "c": REORDERED,
        "none": WORKLOAD.replace("pods: 2", "pods: 0"),
    }
    for name, text in texts.items():
        file = folder / f"{name}.yaml"
        file.write_text(text, encoding="utf-8")
        formats = ["--format", "json"] + (["--format", "csv", "--format", "xlsx"] if name in "ab" else [])
        assert run(["solve", str(file), "--out", str(folder), *formats]) == (3 if name == "none" else 0)
    return folder


@pytest.fixture
def diff(solved: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    monkeypatch.chdir(solved)

    def call(*arguments: str) -> tuple[int, str, str]:
        code = run(["diff", *arguments])
        told = capsys.readouterr()
        return code, told.out, told.err

    return call


@pytest.mark.parametrize(("a", "b"), [("a.json", "a.json"), ("a.json", "c.json"), ("none.json", "none.json")])
def test_identical_plans_are_said_to_be_so(diff: Call, a: str, b: str) -> None:
    code, out, err = diff(a, b)
    assert (code, err) == (0, "")
    assert out == f"{a} and {b} are identical: plans, the order of classes left aside\n"


@pytest.mark.parametrize(
    ("a", "b"), [("a.csv", "a.csv"), ("a.json", "a.csv"), ("a.xlsx", "a.csv"), ("a.xlsx", "a.json")]
)
def test_a_bill_is_the_same_in_every_format(diff: Call, a: str, b: str) -> None:
    code, out, _ = diff(a, b)
    assert code == 0
    assert out.startswith(f"{a} and {b} are identical: bills of ")


def test_what_changed_and_why(diff: Call) -> None:
    code, out, err = diff("a.json", "b.json")
    assert (code, err) == (0, "")
    assert out.startswith("a.json -> b.json\n1 Pod, 1 x hgx-h200-8, 8 GPUs, 10.2 kW nameplate -> 1 Pod, ")
    assert "\n- input: class long: concurrency 20 -> 100\n" in out
    assert "tokens committed" not in out
    (systems,) = [line for line in out.splitlines() if line.startswith("Systems ") and "hgx-h200-8" in line]
    assert "-> " not in systems
    assert all(len(line) <= 120 for line in out.splitlines())


def test_another_choice_of_the_search_is_told_with_the_stages_that_changed(diff: Call, solved: Path) -> None:
    text = (solved / "a.yaml").read_text(encoding="utf-8").replace("systems: [hgx-h200-8, ", "systems: [")
    (solved / "b300.yaml").write_text(text, encoding="utf-8")
    assert run(["solve", str(solved / "b300.yaml"), "--out", str(solved), "--format", "json"]) == 0
    code, out, _ = diff("a.json", "b300.json")
    assert code == 0
    assert "\nthe search chose other kinds of system: hgx-h200-8 -> hgx-b300-8\n" in out
    assert [line.split()[:3] for line in out.splitlines() if line.startswith("stages ")] == [
        ["stages", "power", "10.2"]
    ]
    assert "other kinds of system" not in diff("b300.json", "b.json")[1]


def test_json_goes_to_a_file_or_alone_to_standard_output(diff: Call, solved: Path) -> None:
    code, out, err = diff("a.json", "b.json", "--json", "-")
    assert (code, err) == (0, "")
    document = json.loads(out)
    assert document["schema"] == "sizing.diff/1"
    assert document["why"] == [
        {"why": "input", "path": ["request", "classes", "long", "concurrency"], "before": 20, "after": 100}
    ]
    code, out, _ = diff("a.json", "b.json", "--json", "d.json")
    assert code == 0
    assert out.startswith("a.json -> b.json\n")
    assert json.loads((solved / "d.json").read_text(encoding="utf-8")) == document
    assert diff("a.json", "b.json", "--json", "d.json")[0] == 0  # a document of ours


def test_a_plan_comes_in_on_standard_input(diff: Call, solved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(BytesIO((solved / "b.json").read_bytes())))
    code, out, _ = diff("b.json", "-")
    assert code == 0
    assert out.startswith("b.json and standard input are identical")


def test_with_and_without_a_plan(diff: Call) -> None:
    code, out, _ = diff("a.json", "none.json")
    assert code == 0
    assert "10.2 kW nameplate -> no plan (infeasible)" in out
    assert "- input: site site: pods 2 -> 0" in out
    assert "B alone says why there is none: " in out


def test_a_plan_that_was_changed_by_hand_is_told(diff: Call, solved: Path) -> None:
    document: dict[str, Any] = json.loads((solved / "a.json").read_text(encoding="utf-8"))
    document["totals"]["gpus"] = 9
    (solved / "by-hand.json").write_text(json.dumps(document), encoding="utf-8")
    code, out, _ = diff("a.json", "by-hand.json")
    assert code == 0
    assert "request, catalog and version are the same" in out
    assert "- B was changed since it was written: `sizing verify by-hand.json` says what is wrong with it" in out


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"{", "no JSON"),
        (b"{}", "schema: is missing"),
        (b'[{"schema": "sizing.kv/1"}]', "is of the wrong type"),
        (b'{"schema": "sizing.kv/1"}', "is no plan document"),
        (b"PK\x03\x04 nothing", "is no workbook that can be read"),
        (b"a,b\n1,2\n", "is no bill of sizing"),
        (b"name: Example\n", "is no bill of sizing"),
        (b"\x00\xff\x00", "not UTF-8"),
    ],
)
def test_what_is_neither_plan_nor_bill_is_bad_input(diff: Call, solved: Path, content: bytes, said: str) -> None:
    (solved / "junk").write_bytes(content)
    for arguments in (("a.json", "junk"), ("junk", "a.json")):
        code, out, err = diff(*arguments)
        assert (code, out) == (2, "")
        assert said in err
        assert "junk" in err


def test_all_that_is_wrong_is_told_at_once(diff: Call, solved: Path) -> None:
    code, out, err = diff("missing.json", str(solved))
    assert (code, out) == (2, "")
    assert "missing.json: no such file" in err
    assert "is a folder" in err
    assert diff("-", "-")[0] == 2
    assert diff("a.json")[0] == 2


def test_no_file_is_lost(diff: Call, solved: Path) -> None:
    before = (solved / "a.json").read_bytes()
    code, _, err = diff("a.json", "b.json", "--json", "a.json", "--force")
    assert code == 2
    assert "a file that is compared" in err
    (solved / "mine.txt").write_text("mine", encoding="utf-8")
    assert diff("a.json", "b.json", "--json", "mine.txt")[0] == 2
    assert (solved / "mine.txt").read_text(encoding="utf-8") == "mine"
    assert (solved / "a.json").read_bytes() == before
