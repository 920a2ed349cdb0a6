"""What the shell is told may come next: names of entries, without the entries being read."""

from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from sizing.catalog.catalog import Catalog
from sizing.catalog.folders import FILES, MODELS, catalogs_folder, names_in
from sizing.cli.main import commands


def completed(*words: str) -> list[tuple[str, str]]:
    """(value, type) of what may stand in the place of the last word."""
    asked = ShellComplete(commands, {}, "sizing", "_SIZING_COMPLETE")
    return [(item.value, item.type) for item in asked.get_completions(list(words[:-1]), words[-1])]


def names(*words: str) -> list[str]:
    return [value for value, _ in completed(*words)]


@pytest.mark.parametrize("section", [MODELS, *FILES])
def test_names_without_parsing_are_those_of_the_catalog(section: str) -> None:
    assert sorted(names_in(catalogs_folder(), section)) == sorted(Catalog().names(section))


def test_names_of_entries() -> None:
    assert names("kv", "llama-3.3") == ["llama-3.3-70b"]
    assert names("kv", "x", "--system", "gb3") == ["gb300-nvl72"]
    assert names("kv", "x", "--engine", "tensor") == ["tensorrt-llm"]
    assert names("kv", "x", "--kv-precision", "turbo") == ["turboquant-2.5", "turboquant-3.5"]
    assert names("kv", "x", "--weights", "mx") == ["mxfp4"]
    assert names("kv", "x", "--hbm", "") == ["label", "driver"]
    assert names("catalog", "pods", "") == ["podos-1mw"]
    assert names("catalog", "gpus", "gaudi") == ["gaudi3"]


def test_names_of_a_folder_that_was_named_before(tmp_path: Path) -> None:
    (tmp_path / "systems.yaml").write_text("# ours\nour-8:\n  title: Ours\n\n'quoted': {}\n", encoding="utf-8")
    (tmp_path / "gpus.yaml").write_bytes(b"\xff\xfe")
    assert names("catalog", "systems", "--catalog", str(tmp_path), "ou") == ["our-8"]
    assert names("kv", "x", "--catalog", str(tmp_path), "--system", "ou") == ["our-8"]
    assert "h200" in names("catalog", "gpus", "--catalog", str(tmp_path), "h")
    assert names("catalog", "systems", "--catalog", str(tmp_path / "none"), "ou") == []


def test_paths_are_left_to_the_shell() -> None:
    assert completed("kv", "./con") == [("./con", "file")]
    assert completed("kv", "x", "--catalog", "mi") == [("mi", "dir")]
    assert completed("verify", "x", "--catalog", "mi") == [("mi", "dir")]
    assert completed("solve", "work") == [("work", "file")]


def test_nothing_is_parsed_for_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sizing.units.document.read_document", lambda _path: pytest.fail("read"))
    monkeypatch.setattr("sizing.catalog.layers.read_document", lambda _path: pytest.fail("read"))
    for section in ("gpus", "systems", "models", "precisions", "pods", "engines"):
        assert names("catalog", section, "")


def test_a_section_that_is_none_has_no_names() -> None:
    assert isinstance(commands, click.Group)
    assert names("catalog", "nothing", "x") == []
