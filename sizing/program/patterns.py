"""Patterns: the ways to fill one pool that enter the program as columns.

All maximal patterns of a deployment are listed where they are few; the column set is then closed: nothing that a pool
could hold is missing, and the integer program over it decides. Where they are many, each class alone and greedy
mixtures stand for them, and the bound comes from the fractional relaxation alone.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, permutations
from typing import Protocol

from sizing.plan.choice import Sequences
from sizing.program.deployments import Candidate

MOST_LISTED = 200
"""Maximal patterns of one deployment up to which all are listed."""

MOST_LEADERS = 24
"""Steps in which a leading class is thinned out in greedy mixtures."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Patterns by deployment id. `closed`: no maximal pattern of any deployment is missing."""

    patterns: Mapping[str, tuple[Sequences, ...]]
    closed: bool


class PatternSource(Protocol):
    """Where the program's columns come from."""

    def columns(self, candidates: Sequence[Candidate], demands: Mapping[str, int]) -> Columns:
        """Patterns for every candidate; no pattern holds more of a class than is asked for."""
        ...


class ListedPatterns:
    """Every maximal pattern where they are few, greedy mixtures where they are many."""

    def columns(self, candidates: Sequence[Candidate], demands: Mapping[str, int]) -> Columns:
        found: dict[str, tuple[Sequences, ...]] = {}
        closed = True
        for candidate in candidates:
            listed = tuple(islice(maximal_patterns(candidate, demands), MOST_LISTED + 1))
            if len(listed) > MOST_LISTED:
                closed = False
                listed = tuple(sorted(set(greedy_patterns(candidate, demands))))
            found[candidate.deployment.id] = listed
        return Columns(found, closed)


def maximal_patterns(candidate: Candidate, demands: Mapping[str, int]) -> Iterator[Sequences]:
    """All fillings of one pool to which no sequence can be added, each within the demand."""
    names = sorted(candidate.sizes, key=lambda name: (-candidate.sizes[name], name))
    sizes = [candidate.sizes[name] for name in names]
    most = [min(demands[name], candidate.alone(name)) for name in names]

    def fill(index: int, room: int, counts: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        if index == len(names):
            yield counts
            return
        for count in range(min(most[index], room // sizes[index]), -1, -1):
            yield from fill(index + 1, room - count * sizes[index], (*counts, count))

    for counts in fill(0, candidate.budget, ()):
        room = candidate.budget - sum(size * count for size, count in zip(sizes, counts, strict=True))
        if all(count == limit or size > room for count, limit, size in zip(counts, most, sizes, strict=True)):
            yield _pattern(dict(zip(names, counts, strict=True)))


def greedy_patterns(candidate: Candidate, demands: Mapping[str, int]) -> Iterator[Sequences]:
    """Each class alone, and mixtures led by so many of one class and filled up with the others in some order."""
    names = sorted(candidate.sizes, key=lambda name: (-candidate.sizes[name], name))
    most = {name: min(demands[name], candidate.alone(name)) for name in names}
    for leader in names:
        yield _pattern({leader: most[leader]})
        others = [name for name in names if name != leader]
        orders = list(islice(permutations(others), 6))
        step = max(1, most[leader] // MOST_LEADERS)
        for count in range(most[leader], -1, -step):
            for order in orders:
                yield _pattern(_topped_up(candidate, {leader: count}, order, most))
    total = sum(candidate.sizes[name] * demands[name] for name in names)
    even = {name: min(most[name], demands[name] * candidate.budget // total) for name in names}
    yield _pattern(_topped_up(candidate, even, names, most))


def _topped_up(
    candidate: Candidate, start: Mapping[str, int], order: Iterable[str], most: Mapping[str, int]
) -> dict[str, int]:
    counts = dict(start)
    room = candidate.budget - sum(candidate.sizes[name] * count for name, count in counts.items())
    for name in order:
        more = min(most[name] - counts.get(name, 0), room // candidate.sizes[name])
        counts[name] = counts.get(name, 0) + more
        room -= more * candidate.sizes[name]
    return counts


def _pattern(counts: Mapping[str, int]) -> Sequences:
    return tuple(sorted((name, count) for name, count in counts.items() if count))
