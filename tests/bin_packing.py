"""Bin packing by trying everything: what the rows of the program and the placement are held against."""

from collections.abc import Sequence
from functools import cache


def packs(sizes: Sequence[int], bins: int, capacity: int) -> bool:
    """Whether items of these sizes fit into so many bins; knows nothing of ladders or of orders that are clever."""
    items = tuple(sorted(sizes, reverse=True))

    @cache
    def fits(index: int, room: tuple[int, ...]) -> bool:
        if index == len(items):
            return True
        if sum(items[index:]) > sum(room):
            return False
        for number, free in enumerate(room):
            if free >= items[index] and (number == 0 or room[number - 1] != free):
                left = tuple(sorted((*room[:number], free - items[index], *room[number + 1 :]), reverse=True))
                if fits(index + 1, left):
                    return True
        return False

    return fits(0, (capacity,) * bins)
