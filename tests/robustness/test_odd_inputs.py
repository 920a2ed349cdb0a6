"""Whatever a file says, a clear error or an answer that holds comes of it.

`SIZING_ODD_INPUTS=50000 pytest tests/robustness` tries more; `benchmarks/odd_inputs.py` also plans with all that load,
and measures. A seed tells its input; a failure prints it.
"""

import os
from collections import Counter
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from sizing.catalog.catalog import Catalog
from sizing.request.load import workload_from
from sizing.units.errors import BadInput
from tests.robustness.odd_inputs import KINDS, OddInputs, shipped_documents_kept
from tests.robustness.odd_values import nested

INPUTS = int(os.environ.get("SIZING_ODD_INPUTS", "5000"))
AT_ONCE = 250
PLANNED = 5


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OddInputs]:
    with shipped_documents_kept():
        yield OddInputs(tmp_path_factory.mktemp("odd"))


@pytest.mark.parametrize("first", range(0, INPUTS, AT_ONCE))
def test_an_odd_input_is_refused_clearly_or_loaded(first: int, odd: OddInputs) -> None:
    came: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for seed in range(first, min(first + AT_ONCE, INPUTS)):
        try:
            outcome = odd.outcome(seed)
        except Exception as error:
            raise AssertionError(f"seed {seed}") from error
        kinds[outcome.kind] += 1
        came[outcome.came] += 1
    assert set(kinds) == set(KINDS)
    assert came["refused"] >= AT_ONCE // 3
    assert came["loaded"] >= AT_ONCE // 10


@pytest.mark.parametrize("part", range(4))
def test_an_odd_input_that_loads_is_answered_rightly(part: int, odd: OddInputs) -> None:
    came: Counter[str] = Counter()
    for seed in count(100_000 + 1_000 * part):
        came[odd.outcome(seed, time_limit=2).came] += 1
        if came.total() - came["refused"] == PLANNED:
            break
    assert came["optimal"] + came["feasible"]


def test_a_mapping_nested_beyond_any_reader() -> None:
    for depth in (1_000, 100_000):
        tree: Any = {"name": "x", "classes": nested(depth)}
        with pytest.raises(BadInput):
            workload_from(tree, Catalog())


def test_a_mapping_that_holds_itself() -> None:
    tree: Any = {"name": "x", "classes": []}
    tree["classes"].append(tree)
    tree["models"] = {"own": tree}
    with pytest.raises(BadInput):
        workload_from(tree, Catalog())
