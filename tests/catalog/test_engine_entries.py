"""Engine profiles in the catalog: which version has which, and what an overlay can say."""

from pathlib import Path
from typing import Any

import pytest

from sizing.catalog.catalog import Catalog
from sizing.catalog.engines import as_version, is_for, profile_of
from sizing.pool.engines.ideal import IdealEngine
from sizing.pool.engines.measured import MeasuredEngine
from sizing.pool.engines.profile import Engine
from sizing.units.errors import BadInput

CATALOG = Catalog()


@pytest.mark.parametrize(
    ("engine", "version", "profile"),
    [
        ("vllm", "0.32.0", "vllm"),
        ("vllm", "0.27", "vllm"),
        ("vllm", "0.26.1", "vllm-0.25"),
        ("vllm", "0.20.2rc1.dev249+gb6bbf29dd", "vllm-0.19"),
        ("vllm", "v0.19.0", "vllm-0.19"),
        ("vllm", "0.9.1", "vllm-0.11"),
        ("vllm", "0.8.5", "vllm-0.6"),
        ("vllm", "0.99", "vllm"),
        ("vllm", None, "vllm"),
        ("vllm", "nightly", "vllm"),
        ("sglang", "0.4.6.post2", "sglang-0.4"),
        ("sglang", "0.5.17.dev20260819", "sglang"),
        ("vllm", "0.1.dev19262+gb6bbf29dd", "vllm"),
        ("vllm", "0.2.5", "vllm-0.6"),
        ("sglang", "0.1", "sglang-0.4"),
        ("sglang", "0.4.10.post2", "sglang-0.4"),
        ("tensorrt-llm", "1.2.1", "tensorrt-llm"),
        ("tensorrt-llm", "0.18.0", "tensorrt-llm"),
    ],
)
def test_the_profile_of_a_version(engine: str, version: str | None, profile: str) -> None:
    assert profile_of(CATALOG, engine, version) == profile


@pytest.mark.parametrize(
    ("version", "generation", "profile"),
    [("0.8.2", 1, "vllm-0.11"), ("0.8.2", 0, "vllm-0.6"), ("0.10.1", 0, "vllm-0.6"), (None, 0, "vllm-0.6")],
)
def test_the_generation_of_the_engine_decides(version: str | None, generation: int, profile: str) -> None:
    assert profile_of(CATALOG, "vllm", version, generation) == profile


def test_whether_a_profile_is_for_a_version() -> None:
    assert is_for(CATALOG, "vllm-0.19", "0.20.2rc1.dev249")
    assert not is_for(CATALOG, "vllm-0.6", "0.2.5-dev")
    assert not is_for(CATALOG, "vllm", "0.99.0")
    assert not is_for(CATALOG, "tensorrt-llm", "0.18.0")
    assert is_for(CATALOG, "vllm", "nightly")
    assert is_for(CATALOG, "ideal", "0.1")


def test_versions_are_compared_by_number() -> None:
    assert as_version("9" * 5000) > as_version("0.9")
    assert as_version("0.9") < as_version("0.19") < as_version("0.20.2rc1") < as_version("0.32.0")


def test_every_profile_answers() -> None:
    for name in CATALOG.names("engines"):
        engine: Engine = CATALOG.engine(name)
        assert engine.name == name
        entry = CATALOG.entry("engines", name)
        assert entry["title"]
        assert entry["rules"] in ("ideal", "vllm", "sglang", "tensorrt-llm")
    assert isinstance(CATALOG.engine("ideal"), IdealEngine)


def test_every_figure_has_its_sources() -> None:
    def figures(value: Any) -> Any:
        if isinstance(value, dict):
            if "value" in value:
                yield value
            for part in value.values():
                yield from figures(part)

    for name in CATALOG.names("engines"):
        found = list(figures(CATALOG.entry("engines", name)))
        assert all(figure["sources"] and figure["confidence"] for figure in found)
        assert bool(found) is (name != "ideal")


MEASURED = """\
vllm:
  measured:
    m-on-1: {model: m, gpus: 1, outside_memory: {value: 3 GiB, sources: [vllm_032], date: 2026-11-29, confidence: high}}
"""


def overlay(folder: Path, text: str) -> Catalog:
    (folder / "engines.yaml").write_text(text, encoding="utf-8")
    return Catalog([folder])


def test_what_was_measured_lies_over_a_profile(tmp_path: Path) -> None:
    engine = overlay(tmp_path, MEASURED).engine("vllm")
    assert isinstance(engine, MeasuredEngine)
    assert engine.engine == CATALOG.engine("vllm")
    assert [(each.model, each.gpus, each.outside_bytes) for each in engine.measured] == [("m", 1, 3 * 2**30)]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("vllm: {versions: {first: newest, last: '0.32'}}", "vllm.versions.first: is no version"),
        ("vllm: {utilisation: 90 %}", "vllm.utilisation"),
        (
            "sglang-0.4: {shares: {eight: {value: 88 %, sources: [sglang_04], date: '2025', confidence: low}}}",
            "is no number of GPUs",
        ),
        ("mine: {title: t, explanation: e, rules: vllm}", "mine.utilisation: missing"),
        ("mine: {title: t, explanation: e, rules: vlm}", "mine.rules"),
    ],
)
def test_wrong_entries_are_named(tmp_path: Path, text: str, what: str) -> None:
    with pytest.raises(BadInput) as raised:
        overlay(tmp_path, text)
    assert what in str(raised.value)
