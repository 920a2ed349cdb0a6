"""`sizing solve --format`: which files are written, and which are never overwritten."""

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from sizing.cli.main import run
from sizing.report.formats import FORMATS
from sizing.report.reported import Reported
from sizing.units.errors import BadInput, Problem

WORKLOAD = """\
name: Small
classes:
  - {name: chat, model: llama-3.1-8b, context: 4k, concurrency: 10}
policy:
  systems: [hgx-h200-8]
"""
WRITTEN = [name for name in FORMATS if name != "pdf"]

Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def solve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(WORKLOAD, encoding="utf-8")

    def call(*arguments: str) -> tuple[int, str, str]:
        code = run(["solve", "small.yaml", *arguments])
        told = capsys.readouterr()
        return code, told.out, told.err

    return call


def options(*names: str) -> list[str]:
    return [part for name in names for part in ("--format", name)]


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_every_format_is_written_once_and_again(solve: Call, tmp_path: Path) -> None:
    code, out, _ = solve(*options(*WRITTEN, "csv"))
    assert code == 0
    paths = [f"reports/small{FORMATS[name].suffix}" for name in WRITTEN]
    assert out.endswith(f"Bill of units: {', '.join(paths)}\n")
    assert names(tmp_path / "reports") == {Path(path).name for path in paths}
    before = {path: (tmp_path / path).read_bytes() for path in paths}
    assert solve(*options(*WRITTEN))[0] == 0
    assert {path: (tmp_path / path).read_bytes() for path in paths} == before


def test_the_workbook_is_the_default_and_is_left_out_where_others_are_asked_for(solve: Call, tmp_path: Path) -> None:
    assert solve("--out", "one")[0] == 0
    assert names(tmp_path / "one") == {"small.xlsx"}
    assert solve("--out", "two", "--format", "json", "--json", "three.json")[0] == 0
    assert names(tmp_path / "two") == {"small.json"}
    assert (tmp_path / "two" / "small.json").read_bytes() == (tmp_path / "three.json").read_bytes()


def test_an_unknown_format_is_bad_input(solve: Call, tmp_path: Path) -> None:
    code, out, err = solve("--format", "docx")
    assert (code, out) == (2, "")
    assert "'docx' is not one of 'xlsx', 'html'" in err
    assert not (tmp_path / "reports").exists()


@pytest.mark.parametrize("name", WRITTEN)
def test_what_somebody_changed_is_kept_before_anything_is_written(name: str, solve: Call, tmp_path: Path) -> None:
    assert solve(*options(name))[0] == 0
    file = tmp_path / "reports" / f"small{FORMATS[name].suffix}"
    ours = file.read_bytes()
    if name == "json":
        document = json.loads(ours)
        document["pods"][0]["count"] = 7
        changed = json.dumps(document).encode()
    else:
        changed = ours.replace(b"hgx-h200-8", b"hgx-h200-9")
    for content in (changed, b"mine"):
        file.write_bytes(content)
        code, _, err = solve(*options("html" if name != "html" else "csv", name))
        assert code == 2
        assert f"{file.name}: this file was changed since it was written, or is none that sizing wrote" in err
        assert file.read_bytes() == content
        assert names(tmp_path / "reports") == {file.name}
    assert solve(*options(name), "--force")[0] == 0
    assert file.read_bytes() == ours


def test_two_names_of_one_file_are_refused(solve: Call, tmp_path: Path) -> None:
    code, _, err = solve("--out", ".", "--format", "json", "--json", "small.json")
    assert code == 2
    assert "--json is the same file as --format json" in err
    (tmp_path / "plan.json").write_text(WORKLOAD, encoding="utf-8")
    assert run(["solve", "plan.json", "--out", ".", "--format", "json", "--force"]) == 2
    assert (tmp_path / "plan.json").read_text(encoding="utf-8") == WORKLOAD


def test_without_a_plan_the_formats_that_can_say_why_do(solve: Call, tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(WORKLOAD + "site: {pods: 0}\n", encoding="utf-8")
    code, out, err = solve(*options(*WRITTEN))
    assert code == 3
    assert "No bill of units was written." in out
    assert "written: reports/small.xlsx, reports/small.html, reports/small.json, reports/small.md" in err
    assert names(tmp_path / "reports") == {"small.xlsx", "small.html", "small.json", "small.md"}


def test_what_an_earlier_answer_left_is_named_and_kept(solve: Call, tmp_path: Path) -> None:
    assert solve(*options("csv", "html"))[2].count("warning") == 0
    before = (tmp_path / "reports" / "small.csv").read_bytes()
    (tmp_path / "reports" / "small.md").write_text("mine", encoding="utf-8")
    (tmp_path / "small.yaml").write_text(WORKLOAD + "site: {pods: 0}\n", encoding="utf-8")
    code, _, err = solve(*options("csv", "html"), "--json", "reports/small.json")
    assert code == 3
    assert "warning: reports/small.csv is of an earlier answer, not of this one" in err
    assert err.count("warning") == 1
    assert (tmp_path / "reports" / "small.csv").read_bytes() == before


def test_a_format_that_fails_takes_nothing_with_it(
    solve: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(_reported: Reported) -> bytes:
        raise BadInput(Problem("could not be drawn"))

    pdf = replace(FORMATS["pdf"], write=fails, check=lambda: None)
    monkeypatch.setattr("sizing.report.formats.FORMATS", FORMATS | {"pdf": pdf})
    monkeypatch.setattr("sizing.cli.solve.FORMATS", FORMATS | {"pdf": pdf})
    code, out, err = solve(*options("pdf", "csv", "json"))
    assert code == 2
    assert "could not be drawn" in err
    assert out.endswith("Bill of units: reports/small.csv, reports/small.json\n")
    assert names(tmp_path / "reports") == {"small.csv", "small.json"}


def test_pdf_that_cannot_be_written_is_told_before_the_search(
    solve: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    code, _, err = solve(*options("pdf", "csv"))
    assert code == 2
    assert "pip install 'sizing[pdf]'" in err
    assert "proven" not in err
    assert not (tmp_path / "reports").exists()
