"""The engine profiles against start-up logs: the numbers that docs/engines.md reports."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "benchmarks" / "engine_logs.py"
DATA = ROOT.parent / "shared" / "data"

pytestmark = pytest.mark.skipif(not (DATA / "engine_logs.json").is_file(), reason="the logs are not at hand")


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("engine_logs", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["engine_logs"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def logs(script: ModuleType) -> Any:
    return script.Logs(DATA)


@pytest.fixture(scope="module")
def rows(script: ModuleType, logs: Any) -> list[Any]:
    return [script.judged(row, logs.catalog) for row in logs.read()]


def test_bytes_of_a_token(rows: list[Any]) -> None:
    told = [each for each in rows if each.token is not None]
    assert len(told) >= 69
    assert {each.row.id for each in told if abs(each.token) > 0.005} == {
        each.row.id for each in rows if "inconsistent" in each.row.facts
    }


def test_tokens_in_the_memory_that_is_printed(rows: list[Any]) -> None:
    stored = [each for each in rows if each.stored is not None and each.contradicts is None]
    assert len(stored) >= 68
    assert all(abs(each.stored) <= 0.05 for each in stored)
    assert {each.row.engine for each in stored} == {"vllm", "sglang", "tensorrt-llm"}


def test_tokens_from_the_gpu(rows: list[Any]) -> None:
    counted = [each for each in rows if each.from_gpu]
    within = [each for each in counted if abs(each.tokens) <= 0.05]
    assert len(counted) >= 75
    assert len(within) / len(counted) >= 0.9


def test_every_row_beyond_and_apart_has_a_reason(rows: list[Any]) -> None:
    for each in rows:
        if each.from_gpu and abs(each.tokens) > 0.05:
            assert each.row.facts["why"]
        assert each.from_gpu or each.apart or each.contradicts


def test_facts_are_of_rows_and_name_where_they_stand(logs: Any) -> None:
    assert set(logs.facts) <= {row["id"] for row in logs.rows}
    reasons = {"why", "apart", "inconsistent", "contradicts"}
    for facts in logs.facts.values():
        assert set(facts) <= reasons or facts["source"]


def test_other_rows_are_read_too(script: ModuleType, tmp_path: Path) -> None:
    """A file of other rows: a model of the catalog, one that nobody knows, and no word more than needed."""
    known = {"id": "a", "engine": "vllm", "model": "meta-llama/Llama-3.1-8B-Instruct", "gpu": "NVIDIA H100 80GB"}
    rows = [known | {"kv_tokens": 430_000}, {"id": "b", "engine": "sglang", "model": "org/none"}]
    (tmp_path / "engine_logs.json").write_text(json.dumps(rows), encoding="utf-8")
    logs = script.Logs(tmp_path)
    (found,) = [script.judged(row, logs.catalog) for row in logs.read()]
    assert (found.row.profile, logs.unknown) == ("vllm", ["b"])
    assert found.from_gpu
    assert any("org" not in line and "b." in line for line in script.report([found], logs.unknown))


def test_the_documentation_has_these_tables(script: ModuleType, logs: Any, rows: list[Any]) -> None:
    documented = (ROOT / "docs" / "engines.md").read_text(encoding="utf-8")
    for line in script.report(rows, logs.unknown):
        assert line in documented, line
