"""`sizing catalog`: lists, single entries with their sources, JSON."""

import json
from pathlib import Path
from typing import Any

import pytest

from sizing.catalog.catalog import Catalog
from sizing.cli.catalog import SECTIONS
from sizing.cli.main import run
from sizing.report.catalog import LISTS


@pytest.fixture
def text(capsys: pytest.CaptureFixture[str]):
    def call(*arguments: str) -> str:
        assert run(["catalog", *arguments]) == 0
        told = capsys.readouterr()
        assert told.err == ""
        return told.out

    return call


def document(said: str) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(said)
    return read


def test_every_section_has_a_list() -> None:
    assert set(LISTS) == set(SECTIONS)


@pytest.mark.parametrize("section", SECTIONS)
def test_a_list_has_one_line_for_every_entry(text, section: str) -> None:
    heading, rule, *lines = text(section).splitlines()
    assert heading.startswith("name")
    assert set(rule) == {"-", " "}
    names = [line.split()[0] for line in lines if line and not line.startswith(" ")]
    assert names[: len(names) - 1] == list(Catalog().names(section))
    assert max(map(len, (heading, *lines))) <= 120


@pytest.mark.parametrize("section", SECTIONS)
def test_every_entry_can_be_shown(text, section: str) -> None:
    for name in Catalog().names(section):
        said = text(section, name)
        assert said.startswith(name)
        assert max(map(len, said.splitlines())) <= 120


def test_a_list_has_key_figures_status_and_what_is_missing(text) -> None:
    lines = {line.split()[0]: line for line in text("systems").splitlines() if line.strip()}
    assert lines["hgx-h200-8"].split() == ["hgx-h200-8", "8", "h200", "10.2", "0", "on", "sale"]
    assert "4 x 2" in lines["h100-nvl-8"]
    assert "unknown" in lines["vr-nvl72"]
    assert "announced" in lines["vr-nvl72"]
    assert "liquid_kw" in lines["vr-nvl72"]


def test_models_are_listed_with_what_they_cost(text) -> None:
    lines = {line.split()[0]: line.split() for line in text("models").splitlines() if line.strip()}
    assert lines["llama-3.1-70b"][1:] == ["70,553,706,496", "69,503,033,344", "327,680", "131,072", "bf16"]
    assert lines["deepseek-v3"][3] == "70,272"


def test_an_entry_shows_figures_with_source_date_and_confidence(text) -> None:
    said = " ".join(text("systems", "hgx-h200-8-liquid").split())
    assert "nameplate_kw 8.8 kW 8.2 to 8.8 low 2026-11-29 [1]" in said
    entry = Catalog().entry("systems", "hgx-h200-8-liquid")
    sources = [source for figure in entry.values() if isinstance(figure, dict) for source in figure.get("sources", ())]
    assert sources
    for source in sources:
        assert source["title"] in said


def test_sources_are_numbered_once(text) -> None:
    said = text("gpus", "h200")
    listed = [line for line in said.splitlines() if line.startswith("- [")]
    assert [line.split()[1] for line in listed] == [f"[{number}]" for number in range(1, len(listed) + 1)]
    assert len({line.split("] ", 1)[1] for line in listed}) == len(listed)


def test_what_is_missing_is_said_with_the_reason(text) -> None:
    said = " ".join(text("pods", "podos-1mw").split())
    entry = Catalog().entry("pods", "podos-1mw")
    assert set(entry["missing"]) == {"liquid_kw", "air_kw"}
    assert said.count("unknown") >= 2
    assert "no rating of it is published" in said


def test_a_precision_shows_evidence_for_and_against(text) -> None:
    said = " ".join(text("precisions", "fp8").split())
    for finding in Catalog().entry("precisions", "fp8")["evidence"]:
        assert finding["verdict"] in said
        assert finding["source"]["title"] in said


def test_an_alias_finds_its_entry(text) -> None:
    assert text("models", "openai/gpt-oss-120b").startswith("gpt-oss-120b\n")
    assert text("precisions", "fp16").startswith("bf16: ")


@pytest.mark.parametrize("section", SECTIONS)
def test_json_has_the_whole_entries(text, section: str) -> None:
    listed = document(text(section, "--json", "-"))
    assert listed["schema"] == "sizing.catalog/1"
    assert listed["section"] == section
    assert list(listed["entries"]) == list(Catalog().names(section))
    name = next(iter(listed["entries"]))
    assert document(text(section, name, "--json", "-"))["entries"] == {name: listed["entries"][name]}
    assert listed["entries"][name].items() >= Catalog().entry(section, name).items()


def test_an_unknown_name_is_refused_with_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["catalog", "systems", "hgx-h200"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "system 'hgx-h200' is not known" in told.err
    assert "did you mean 'hgx-h200-8'?" in told.err


def test_a_catalog_of_ones_own(text, tmp_path: Path) -> None:
    (tmp_path / "systems.yaml").write_text("hgx-h200-8:\n  status: announced\n", encoding="utf-8")
    assert "- status: announced" in text("systems", "hgx-h200-8", "--catalog", str(tmp_path))


def test_a_missing_catalog_folder_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["catalog", "systems", "--catalog", str(tmp_path / "nowhere")]) == 2
    assert "no such folder" in capsys.readouterr().err
