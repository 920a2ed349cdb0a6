"""The maximal fillings of pools, by depth first: all of them, or those that are worth so much."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import inf

from sizing.plan.choice import Sequences
from sizing.program.deployments import Candidate

MOST_CLASSES_LISTED = 100
"""Classes of a deployment up to which its fillings are walked through, one class inside the other."""

MOST_STEPS = 100_000
"""Steps of the walks of one listing: most lead to no filling where sequences are of many sizes."""

TOLERANCE = 1e-12
"""Share of all worth by which sums of it may be off."""


class Fillings:
    """Lists the fillings of pools one after the other, `most` of them in all and in so many `steps`.

    Each is within the demands, and no sequence can be added to it.
    """

    def __init__(self, most: int, steps: int = MOST_STEPS) -> None:
        self._left = most
        self._steps = steps

    def of(
        self,
        candidate: Candidate,
        demands: Mapping[str, int],
        values: Mapping[str, float] | None = None,
        least: float = -inf,
    ) -> list[Sequences] | None:
        """Those of one pool that are worth at least `least`; None where fillings or steps would be too many."""
        if len(candidate.sizes) > MOST_CLASSES_LISTED:
            return None
        names = sorted(candidate.sizes, key=lambda name: (-_density(candidate, values, name), name))
        worth = [0.0 if values is None else values.get(name, 0.0) for name in names]
        sizes = [candidate.sizes[name] for name in names]
        most = [min(demands[name], candidate.alone(name)) for name in names]
        walk = _Walk(sizes, worth, most, least, self._left, self._steps)
        if not walk.fill(0, candidate.budget, 0.0):
            return None
        self._left -= len(walk.found)
        self._steps = walk.steps
        return [
            tuple(sorted((n, count) for n, count in zip(names, counts, strict=True) if count)) for counts in walk.found
        ]


def _density(candidate: Candidate, values: Mapping[str, float] | None, name: str) -> float:
    """Large sequences come first where none is worth more than another, else those worth most for their bytes."""
    return candidate.sizes[name] if values is None else values.get(name, 0.0) / candidate.sizes[name]


class _Walk:
    """One pool: the classes in their order, each as often as it can, then less often."""

    def __init__(
        self, sizes: Sequence[int], worth: Sequence[float], most: Sequence[int], least: float, left: int, steps: int
    ) -> None:
        self.found: list[tuple[int, ...]] = []
        self.steps = steps
        self._sizes, self._worth, self._most, self._least, self._left = sizes, worth, most, least, left
        bytes_of_all = [size * limit for size, limit in zip(sizes, most, strict=True)]
        self._bytes = list(accumulate(bytes_of_all, initial=0))
        self._values = list(accumulate((value * limit for value, limit in zip(worth, most, strict=True)), initial=0.0))
        self._prunes_below = least - TOLERANCE * self._values[-1]
        self._counts = [0] * len(sizes)

    def fill(self, index: int, room: int, gained: float) -> bool:
        """Go through all fillings from one class on; False where they, or the steps to them, are too many."""
        self.steps -= 1
        if self.steps < 0:
            return False
        if index == len(self._sizes):
            if gained >= self._least and self._is_maximal(room):
                self.found.append(tuple(self._counts))
            return len(self.found) <= self._left
        size, value = self._sizes[index], self._worth[index]
        highest = min(self._most[index], room // size)
        # with fewer there would be room for one more even if all classes after it were filled up
        lowest = max(0, min(highest, (room - self._bytes[-1] + self._bytes[index + 1]) // size))
        for count in range(highest, lowest - 1, -1):
            left, now = room - count * size, gained + count * value
            if now + self._best_of_rest(index + 1, left) < self._prunes_below:
                break  # fewer of a denser class can only be worth less
            self._counts[index] = count
            if not self.fill(index + 1, left, now):
                return False
        self._counts[index] = 0
        return True

    def _best_of_rest(self, index: int, room: int) -> float:
        """The most that classes from `index` on are worth in `room`, in fractions."""
        end = bisect_left(self._bytes, self._bytes[index] + room, lo=index + 1)
        if end == len(self._bytes):
            return self._values[-1] - self._values[index]
        whole, rest = end - 1, room - (self._bytes[end - 1] - self._bytes[index])
        return self._values[whole] - self._values[index] + self._worth[whole] * rest / self._sizes[whole]

    def _is_maximal(self, room: int) -> bool:
        return not any(
            count < limit and size <= room
            for count, limit, size in zip(self._counts, self._most, self._sizes, strict=True)
        )
