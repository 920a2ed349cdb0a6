"""The engine profiles against start-up logs: the numbers that docs/engines.md reports."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

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
def rows(script: ModuleType) -> list:  # type: ignore[type-arg]
    logs = script.Logs(DATA)
    return [script.judged(row, logs.catalog) for row in logs.read()]


def test_bytes_of_a_token(script: ModuleType, rows: list) -> None:  # type: ignore[type-arg]
    told = [each for each in rows if each.token is not None]
    assert len(told) >= 69
    assert {each.row.id for each in told if abs(each.token) > 0.005} == set(script.INCONSISTENT)


def test_tokens_of_the_cache(rows: list) -> None:  # type: ignore[type-arg]
    counted = [each for each in rows if each.apart is None and each.tokens is not None]
    within = [each for each in counted if abs(each.tokens) <= 0.05]
    assert len(counted) >= 69
    assert len(within) / len(counted) >= 0.9


def test_rows_apart_have_a_reason_in_the_row(script: ModuleType, rows: list) -> None:  # type: ignore[type-arg]
    known = {row["id"] for row in script.Logs(DATA).rows}
    assert set(script.UNDERDETERMINED) | set(script.INCONSISTENT) | set(script.CONTRADICTS) <= known


def test_the_documentation_has_these_tables(script: ModuleType, rows: list) -> None:  # type: ignore[type-arg]
    documented = (ROOT / "docs" / "engines.md").read_text(encoding="utf-8")
    for line in script.report(rows):
        assert line in documented, line
