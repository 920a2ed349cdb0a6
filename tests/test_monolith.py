"""The monolith that speed is measured against solves the same problem: on small requests both say the same."""

import pytest

import sizing
from benchmarks.monolith import by_monolith, by_sizing, workload


@pytest.mark.parametrize(("classes", "sequences"), [(1, 3), (2, 10), (3, 24)])
def test_both_prove_the_same_values(classes: int, sequences: int) -> None:
    request = sizing.load_workload(workload(classes, sequences))
    ours, theirs = by_sizing(request), by_monolith(request)
    assert ours.values is not None
    assert theirs.values == ours.values
    assert theirs.integers > 3 * classes
