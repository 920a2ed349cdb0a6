"""Engine profiles in the catalog: which version has which, and what an overlay can say."""

import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from sizing.catalog.catalog import Catalog
from sizing.catalog.engines import as_version, engine_named, is_for, measurements, profile_of
from sizing.pool.engines.ideal import IdealEngine
from sizing.pool.engines.measured import MeasuredEngine
from sizing.pool.engines.profile import Engine, Memory, Settings
from sizing.pool.layout import Layout
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
    m-on-1:
      {model: m, gpu: h100, gpus: 1, tp: 1, weights: bf16, kv_precision: fp8, share: 95 %, logs: [a.log],
       outside_memory: {value: 3 GiB, sources: [vllm_032], date: 2026-11-29, confidence: high}}
"""


def overlay(folder: Path, text: str) -> Catalog:
    (folder / "engines.yaml").write_text(text, encoding="utf-8")
    return Catalog([folder])


def test_what_was_measured_lies_over_a_profile(tmp_path: Path) -> None:
    engine = overlay(tmp_path, MEASURED).engine("vllm")
    assert isinstance(engine, MeasuredEngine)
    assert engine.engine == CATALOG.engine("vllm")
    (found,) = engine.measured
    assert (found.profile, found.seen_in, found.model, found.gpu, found.gpus) == ("vllm", ("a.log",), "m", "h100", 1)
    assert (found.utilisation, found.batched_tokens, found.outside_bytes) == (Fraction(95, 100), None, 3 * 2**30)
    assert measurements(Catalog([tmp_path])) == engine.measured
    assert measurements(CATALOG) == ()


def test_a_replica_is_measured_once(tmp_path: Path) -> None:
    again = MEASURED.partition("measured:\n")[2].replace("m-on-1", "again")
    with pytest.raises(BadInput, match=r"measured.m-on-1 and measured.again are of the same replica"):
        overlay(tmp_path, MEASURED + again)
    engine = overlay(tmp_path, MEASURED + again.replace("h100", "h200")).engine("vllm")
    assert isinstance(engine, MeasuredEngine)
    assert [each.gpu for each in engine.measured] == ["h100", "h200"]


@pytest.mark.parametrize(
    ("name", "profile"),
    [("vllm-0.31", "vllm"), ("vllm-0.19", "vllm-0.19"), ("vllm-0.18.2", "vllm-0.19"), ("sglang-0.5.11", "sglang"),
     ("tensorrt-llm-1.2", "tensorrt-llm"), ("ideal", "ideal")],
)  # fmt: skip
def test_a_version_names_the_profile_that_is_for_it(name: str, profile: str) -> None:
    assert engine_named(CATALOG, name) == profile


@pytest.mark.parametrize(
    ("name", "what", "near"),
    [
        ("vllm-0.41", "no profile is for vllm 0.41", "vllm"),
        ("tensorrt-llm-0.9", "no profile is for tensorrt-llm 0.9", "tensorrt-llm"),
        ("vlm", "engine 'vlm' is not known", "vllm"),
        ("sglang-new", "engine 'sglang-new' is not known", "sglang"),
    ],
)
def test_other_names_are_refused(name: str, what: str, near: str) -> None:
    with pytest.raises(BadInput, match=what) as raised:
        engine_named(CATALOG, name)
    assert raised.value.problems[0].nearest == near


def test_the_overlay_of_the_documentation_is_one(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "engines.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    source = "our_launch: {title: Our launch script, address: serve.sh, date: 2026}"
    assert source in text
    (tmp_path / "sources.yaml").write_text(source, encoding="utf-8")
    catalog = overlay(tmp_path, example)
    memory, model, layout = Memory(80 * 10**9, "NVIDIA"), CATALOG.model("llama-3.1-8b"), Layout(1)
    given = catalog.engine("vllm").settings(memory, model, layout)
    assert given == Settings(Fraction(95, 100), "total memory", 4096, 256)
    shared = catalog.engine("sglang").settings(memory, model, layout)
    assert shared is not None
    assert shared.share == Fraction(85, 100)


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
