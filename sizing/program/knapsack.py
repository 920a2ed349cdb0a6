"""What a pool is best filled with at given values of its sequences: a bounded knapsack for all capacities at once.

Sizes are whole bytes. They are first divided by their greatest common divisor, which loses nothing: contexts are
usually round, and then the grid is exact. Where a pool still has more than 2^15 steps, sizes are rounded to a coarser
grid, up for patterns, so that each really fits, and down for the bound, so that no better one is missed. What is
rounded is not one sequence but a power of two of them, so that a pool of many small ones is off by a few steps only.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd

import numpy as np
from numpy.typing import NDArray

MOST_STEPS = 2**15
"""Steps of the grid of one pool."""

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Knapsack:
    """Classes of `sizes` bytes, each wanted at most `most` times, into pools of the `capacities`.

    Shapes: sizes and most (classes,), capacities (pools,).
    """

    sizes: tuple[int, ...]
    most: tuple[int, ...]
    capacities: tuple[int, ...]

    def _grid(self) -> tuple[list[int], list[int], int]:
        """(sizes, capacities) over their common divisor, and the steps by which they are too fine for the grid."""
        divisor = gcd(*self.sizes)
        capacities = [capacity // divisor for capacity in self.capacities]
        return [size // divisor for size in self.sizes], capacities, -(-max(capacities) // MOST_STEPS)

    def _fitting(self, sizes: Sequence[int], capacities: Sequence[int]) -> list[int]:
        """The most of each class that is wanted and fits the largest pool."""
        return [min(most, max(capacities) // size) for most, size in zip(self.most, sizes, strict=True)]

    def patterns(self, values: Sequence[float]) -> Counts:
        """A best filling of each pool on the grid, shape (pools, classes); whole sequences that really fit."""
        sizes, capacities, coarse = self._grid()
        steps = [capacity // coarse for capacity in capacities]
        table = _Fillings(sizes, self._fitting(sizes, capacities), values, max(steps), lambda size: -(-size // coarse))
        return np.array([table.filling(step) for step in steps], dtype=np.int64).reshape(len(steps), len(sizes))

    def bounds(self, values: Sequence[float]) -> Floats:
        """No filling of a pool is worth more, shape (pools,): the least of the grid's value and the fractional one."""
        sizes, capacities, coarse = self._grid()
        steps = [capacity // coarse for capacity in capacities]
        table = _Table(sizes, self._fitting(sizes, capacities), values, max(steps), lambda size: size // coarse)
        return np.minimum(table.best[steps], self.quick_bounds(values))

    def quick_bounds(self, values: Sequence[float]) -> Floats:
        """The same by the fractional value alone, which is weaker and costs next to nothing."""
        sizes, capacities, _ = self._grid()
        return _fractional(sizes, self.most, values, capacities)


class _Table:
    """`best[room]`: the value of the best filling of `room` steps, from multiples of each class in powers of two.

    `steps` rounds the size of a multiple to the grid.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        most: Sequence[int],
        values: Sequence[float],
        room: int,
        steps: Callable[[int], int],
    ) -> None:
        self.classes = len(sizes)
        self.best: Floats = np.zeros(room + 1)
        for number, (size, limit, value) in enumerate(zip(sizes, most, values, strict=True)):
            if value <= 0:
                continue
            left = limit
            multiple = 1
            while left > 0:
                pieces = min(multiple, left)
                left -= pieces
                multiple *= 2
                if steps(size * pieces) <= room:
                    self._add(number, pieces, steps(size * pieces), value * pieces)

    def _add(self, number: int, pieces: int, size: int, value: float) -> None:
        """Allow `pieces` sequences of a class, `size` steps and `value` in all, to be taken once."""
        np.maximum(self.best[size:], self.best[: len(self.best) - size] + value, out=self.best[size:])


class _Fillings(_Table):
    """The table with what was taken, so that the fillings themselves can be told."""

    def __init__(
        self,
        sizes: Sequence[int],
        most: Sequence[int],
        values: Sequence[float],
        room: int,
        steps: Callable[[int], int],
    ) -> None:
        self._taken: list[tuple[int, int, int, NDArray[np.bool_]]] = []
        super().__init__(sizes, most, values, room, steps)

    def _add(self, number: int, pieces: int, size: int, value: float) -> None:
        before = self.best[size:].copy()
        super()._add(number, pieces, size, value)
        taken = np.zeros(len(self.best), dtype=np.bool_)
        taken[size:] = self.best[size:] > before
        self._taken.append((number, pieces, size, taken))

    def filling(self, room: int) -> list[int]:
        """Sequences of each class in the best filling of `room` steps."""
        counts = [0] * self.classes
        for number, pieces, size, taken in reversed(self._taken):
            if taken[room]:
                counts[number] += pieces
                room -= size
        return counts


def _fractional(
    sizes: Sequence[int], most: Sequence[int], values: Sequence[float], capacities: Sequence[int]
) -> Floats:
    """The value of each pool when sequences may be split: densest first. Tight where sequences are small."""
    order = sorted(range(len(sizes)), key=lambda number: -values[number] / sizes[number])
    order = [number for number in order if values[number] > 0]
    filled = np.array([0.0, *np.cumsum([float(sizes[number]) * most[number] for number in order])])
    worth = np.array([0.0, *np.cumsum([values[number] * most[number] for number in order])])
    result: Floats = np.interp(np.array([float(capacity) for capacity in capacities]), filled, worth)
    return result
