"""The knapsack against every filling: what it proposes fits, what it bounds is bounded, and round sizes are exact."""

from collections.abc import Iterator, Sequence
from itertools import product

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sizing.program import knapsack
from sizing.program.knapsack import Knapsack

FEW_STEPS = 50


def fillings(sizes: Sequence[int], most: Sequence[int], room: int) -> Iterator[tuple[int, ...]]:
    for counts in product(*(range(limit + 1) for limit in most)):
        if sum(size * count for size, count in zip(sizes, counts, strict=True)) <= room:
            yield counts


def worth(values: Sequence[float], counts: Sequence[int]) -> float:
    return sum(value * count for value, count in zip(values, counts, strict=True))


def best(sizes: Sequence[int], most: Sequence[int], values: Sequence[float], room: int) -> float:
    return max(worth(values, counts) for counts in fillings(sizes, most, room))


@st.composite
def cases(draw: st.DrawFn, largest: int) -> tuple[Knapsack, list[float]]:
    classes = draw(st.integers(1, 4))
    sizes = draw(st.lists(st.integers(1, largest), min_size=classes, max_size=classes))
    most = draw(st.lists(st.integers(1, 5), min_size=classes, max_size=classes))
    values = draw(st.lists(st.integers(0, 40).map(lambda tenths: tenths / 10), min_size=classes, max_size=classes))
    capacities = draw(st.lists(st.integers(min(sizes), 6 * largest), min_size=1, max_size=4))
    return Knapsack(tuple(sizes), tuple(most), tuple(capacities)), values


@given(cases(largest=12))
@settings(max_examples=200, deadline=None)
def test_round_sizes_are_exact(case: tuple[Knapsack, list[float]]) -> None:
    """No pool has more steps than the grid: patterns are best, and bounds are their worth where nothing is split."""
    packs, values = case
    for number, (counts, bound) in enumerate(zip(packs.patterns(values), packs.bounds(values), strict=True)):
        exact = best(packs.sizes, packs.most, values, packs.capacities[number])
        assert worth(values, counts.tolist()) == pytest.approx(exact)
        assert bound == pytest.approx(exact)


@given(cases(largest=10**6))
@example((Knapsack((999_983, 1), (1, 5), (999_984,)), [1.0, 0.1]))
@settings(max_examples=200, deadline=None)
def test_a_coarse_grid_errs_on_the_safe_side(case: tuple[Knapsack, list[float]]) -> None:
    """Patterns really fit and are wanted, and no filling is worth more than the bound."""
    packs, values = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(knapsack, "MOST_STEPS", FEW_STEPS)
        proposed, bounds = packs.patterns(values), packs.bounds(values)
    for room, counts, bound in zip(packs.capacities, proposed.tolist(), bounds, strict=True):
        assert sum(size * count for size, count in zip(packs.sizes, counts, strict=True)) <= room
        assert all(0 <= count <= most for count, most in zip(counts, packs.most, strict=True))
        assert worth(values, counts) <= best(packs.sizes, packs.most, values, room) + 1e-9
        assert bound >= best(packs.sizes, packs.most, values, room) - 1e-9


@given(cases(largest=10**6))
@settings(max_examples=50, deadline=None)
def test_a_common_divisor_changes_nothing(case: tuple[Knapsack, list[float]]) -> None:
    """Sizes of whole blocks of 4,096 bytes, and pools that are none: as if blocks were counted."""
    packs, values = case
    blocks = Knapsack(
        tuple(4096 * size for size in packs.sizes),
        packs.most,
        tuple(4096 * capacity + 4095 for capacity in packs.capacities),
    )
    assert blocks.patterns(values).tolist() == packs.patterns(values).tolist()
    assert blocks.bounds(values).tolist() == packs.bounds(values).tolist()


def test_many_small_sequences_are_rounded_together() -> None:
    """A pool of 3,000 sequences on the grid of 2^15 steps: rounding each one up would lose hundreds of them."""
    packs = Knapsack((1_000_003, 1_500_007), (3_000, 1), (3_000 * 1_000_003,))
    counts = packs.patterns([1.0, 0.0])[0].tolist()
    assert counts[0] >= 2_990
    assert packs.bounds([1.0, 0.0])[0] == pytest.approx(3_000)


def test_what_is_worth_nothing_is_left_out() -> None:
    packs = Knapsack((3, 2), (4, 4), (10,))
    assert packs.patterns([0.0, 0.0]).tolist() == [[0, 0]]
    assert packs.bounds([0.0, 0.0]).tolist() == [0.0]
