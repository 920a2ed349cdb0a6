"""The packing rows hold if and only if a packing exists, on every ladder."""

from collections.abc import Iterator, Mapping

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from sizing.facility.packing import piece_sizes, pieces, pieces_in_domain
from sizing.pool.layout import ladder
from tests.bin_packing import packs


def rows_hold(counts: Mapping[int, int], domains: int, domain_gpus: int) -> bool:
    """The rows as the program states them: pieces taken <= pieces offered, for each size of piece."""
    return all(
        sum(pieces(gpus, piece, domain_gpus) * count for gpus, count in counts.items())
        <= pieces_in_domain(piece, domain_gpus) * domains
        for piece in piece_sizes(domain_gpus)
    )


def replica_counts(sizes: tuple[int, ...], gpus: int) -> Iterator[dict[int, int]]:
    """Every number of replicas of each size that takes at most `gpus` in all."""
    if not sizes:
        yield {}
        return
    for count in range(gpus // sizes[0] + 1):
        for rest in replica_counts(sizes[1:], gpus - count * sizes[0]):
            yield {sizes[0]: count, **rest}


def listed(counts: Mapping[int, int]) -> list[int]:
    return [gpus for gpus, count in counts.items() for _ in range(count)]


@pytest.mark.parametrize("domain_gpus", [1, 2, 3, 4, 5, 6, 7, 8, 9, 12])
def test_rows_are_exact_for_every_small_case(domain_gpus: int) -> None:
    both = set()
    for domains in (1, 2, 3):
        for counts in replica_counts(ladder(domain_gpus)[::-1], domain_gpus * domains + 1):
            held = rows_hold(counts, domains, domain_gpus)
            assert held == packs(listed(counts), domains, domain_gpus), (counts, domains)
            both.add(held)
    assert both == {True, False}


@settings(max_examples=300, deadline=None)
@given(
    st.integers(2, 4),
    st.lists(st.sampled_from((64, 32, 16)), min_size=2, max_size=12),
    st.lists(st.sampled_from(ladder(72)), max_size=20),
)
def test_rows_are_exact_on_racks_of_72_that_are_nearly_full(
    domains: int, large: list[int], any_size: list[int]
) -> None:
    """Replicas are taken as drawn while their GPUs are not more than there are: whether they pack is then open."""
    counts: dict[int, int] = {}
    room = 72 * domains
    for gpus in (*large, *any_size):
        if gpus <= room:
            counts[gpus] = counts.get(gpus, 0) + 1
            room -= gpus
    held = rows_hold(counts, domains, 72)
    event("packs" if held else "does not pack")
    assert held == packs(listed(counts), domains, 72)


@pytest.mark.parametrize(
    ("counts", "holds"),
    [
        ({64: 1, 8: 1}, True),
        ({32: 2, 8: 1}, True),
        ({64: 1, 16: 1}, False),  # 80 GPUs
        ({16: 4, 8: 1}, True),
        ({16: 5}, False),  # 80 GPUs
        ({32: 1, 16: 2, 4: 2}, True),
        ({72: 1}, True),
        ({72: 1, 1: 1}, False),
    ],
)
def test_what_one_rack_of_72_holds(counts: dict[int, int], holds: bool) -> None:
    assert rows_hold(counts, 1, 72) is holds


def test_a_hole_of_8_in_each_rack_takes_no_replica_of_16() -> None:
    assert not rows_hold({64: 2, 16: 1}, 2, 72)  # 144 GPUs in 2 x 72, and yet they do not fit
    assert rows_hold({64: 2, 8: 2}, 2, 72)
