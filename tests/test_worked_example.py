"""The example of CONTRIBUTING as it stands there: a kind of attention and a model, and nothing else is touched."""

import re
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

import sizing
from sizing.catalog.catalog import Catalog
from sizing.pool.storage import IdealStorage
from sizing.sequence.attention import KINDS
from sizing.sequence.sharding import WHOLE

PAGE = Path(__file__).resolve().parent.parent / "CONTRIBUTING.md"


@pytest.fixture
def overlay(tmp_path: Path) -> Iterator[Path]:
    """A folder of catalogs with the model of the example, while its kind is known."""
    text = PAGE.read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    (entry,) = re.findall(r"```yaml\n(title: Stride.*?)```", text, re.DOTALL)
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "stride-8b.yaml").write_text(entry, encoding="utf-8")
    source = "stride_config:\n  title: Its configuration\n  address: example\n  date: null\n"
    (tmp_path / "sources.yaml").write_text(source, encoding="utf-8")
    exec(compile(code, "strided.py", "exec"), {"__name__": "strided"})
    yield tmp_path
    del KINDS["strided"]


def test_the_example_gives_what_it_says(overlay: Path) -> None:
    model = Catalog([overlay]).model("stride-8b")
    assert model.bytes_per_token(WHOLE, IdealStorage(Fraction(16))) == 57_344
    assert "57,344 bytes a token" in PAGE.read_text(encoding="utf-8")


def test_a_workload_can_be_planned_with_it(overlay: Path) -> None:
    workload = {
        "name": "Strides",
        "classes": [{"name": "chat", "model": "stride-8b", "context": 4096, "concurrency": 8}],
        "policy": {"systems": ["hgx-h200-8"]},
    }
    plan = sizing.solve(sizing.load_workload(workload, catalog=[overlay]))
    assert isinstance(plan, sizing.Plan)
    assert plan.request.classes[0].model.layer_count == 32
