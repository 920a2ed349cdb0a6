"""`sizing capacity` from the command line: exit codes, what goes where, and what is refused."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from sizing.cli.main import run

WORKLOAD = """\
name: Two lengths
classes:
  - {name: long, model: llama-3.1-70b, context: 128k, concurrency: 200}
  - {name: short, model: llama-3.1-70b, context: 4k, concurrency: 110, kv_precision: [bf16, fp8]}
site:
  pods: 2
policy:
  headroom: 10 %
  systems: [hgx-h200-8, hgx-b300-8]
"""

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two.yaml").write_text(WORKLOAD, encoding="utf-8")
    return tmp_path


@pytest.fixture
def capacity(folder: Path, capsys: pytest.CaptureFixture[str]) -> Call:
    """Exit code, standard output and standard error of one call."""

    def call(*arguments: str) -> tuple[int, str, str]:
        code = run(["capacity", *arguments])
        told = capsys.readouterr()
        return code, told.out, told.err

    return call


def changed(folder: Path, old: str, new: str) -> None:
    text = (folder / "two.yaml").read_text(encoding="utf-8")
    assert old in text
    (folder / "two.yaml").write_text(text.replace(old, new), encoding="utf-8")


def test_the_answer_is_on_the_screen_and_no_file_is_written(capacity: Call, folder: Path) -> None:
    code, out, err = capacity("two.yaml", "--pods", "1", "--system", "hgx-h200-8")
    assert code == 0
    assert "Two lengths: 1 Pod with hgx-h200-8 serves 1." in out
    assert "proven: no larger multiple has a plan" in out
    assert "tokens are left" in out
    assert "headroom 10 %" in out
    assert "times the workload" in err
    assert [path.name for path in folder.iterdir()] == ["two.yaml"]


def test_pods_that_are_asked_for_and_cannot_be_used_are_told(capacity: Call, folder: Path) -> None:
    """The power of a site counts whole Pods here, and 1 MW is one of them."""
    changed(folder, "  pods: 2\n", "  pods: 2\n  power: 1 MW\n")
    code, out, _ = capacity("two.yaml", "--pods", "2", "--system", "hgx-h200-8")
    assert code == 0
    assert "2 Pods with hgx-h200-8 serve 1." in out
    assert "; 1 of them is used: with more, power would be exceeded" in " ".join(out.split())


def test_the_plan_in_the_document_holds_on_its_own(
    capacity: Call, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = capacity("two.yaml", "--pods", "1", "--json", "-")
    assert code == 0
    document = json.loads(out)
    assert (document["schema"], document["proven"], document["pods"]) == ("sizing.capacity/1", True, 1)
    assert document["plan"]["request"]["policy"]["headroom_share"] == 0
    assert document["plan"]["request"]["sites"][0]["pods"] == 1
    assert [each["served"] for each in document["classes"]] == [each["demand"] for each in document["plan"]["classes"]]
    (folder / "plan.json").write_text(json.dumps(document["plan"]), encoding="utf-8")
    assert run(["verify", "plan.json"]) == 0
    assert "holds" in capsys.readouterr().out


def test_the_document_of_one_kind_of_system_holds_too(
    capacity: Call, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed(folder, "  systems: [hgx-h200-8, hgx-b300-8]\n", "")
    assert capacity("two.yaml", "--pods", "1", "--system", "gb300-nvl72", "--json", "held.json")[0] == 0
    document = json.loads((folder / "held.json").read_text(encoding="utf-8"))
    assert document["plan"]["systems"] == {"gb300-nvl72": 1}
    assert document["plan"]["request"]["policy"]["systems"] == ["gb300-nvl72"]
    (folder / "plan.json").write_text(json.dumps(document["plan"]), encoding="utf-8")
    assert run(["verify", "plan.json"]) == 0
    assert "holds" in capsys.readouterr().out


def test_where_nothing_fits_the_exit_code_is_3(capacity: Call, folder: Path) -> None:
    changed(folder, "  headroom: 10 %\n", "  supply: {hgx-h200-8: 0, hgx-b300-8: 0}\n")
    code, out, _ = capacity("two.yaml", "--pods", "1", "--json", "held.json")
    assert code == 3
    assert "not even one sequence of each class fits" in out
    assert "supply of hgx-" in out
    document = json.loads((folder / "held.json").read_text(encoding="utf-8"))
    assert (document["multiple"], document["at_most"], document["status"]) == (0, 0, "infeasible")


def test_without_time_nothing_is_found(capacity: Call) -> None:
    code, out, _ = capacity("two.yaml", "--pods", "1", "--time-limit", "0.000001")
    assert code == 4
    assert "is not proven" in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "Missing option '--pods'"),
        (("--pods", "0"), "0 is not in the range"),
        (("--pods", "1000000000"), "1000000000 is not in the range"),
        (("--pods", "nan"), "'nan' is not a valid integer"),
        (("--pods", "1", "--system", "hgx-h200-9"), "did you mean 'hgx-h200-8'?"),
        (("--pods", "1", "--system", "gb300-nvl72"), "not among the systems that the workload may buy"),
        (("--pods", "1", "--site", "north"), "is no site of the workload"),
        (("--pods", "1", "--time-limit", "nan"), "is not a finite number"),
        (("--pods", "1", "--json", "two.yaml"), "is no document of sizing"),
        (("--pods", "1000000"), "more sequences than are counted"),
    ],
)
def test_what_cannot_be_asked_is_refused(capacity: Call, arguments: tuple[str, ...], says: str) -> None:
    code, out, err = capacity("two.yaml", *arguments)
    assert (code, out) == (2, "")
    assert says in err
