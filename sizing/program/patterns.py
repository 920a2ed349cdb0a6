"""Patterns: the ways to fill one pool that enter the program as columns.

Only maximal patterns are needed: a pool may always hold less. Where they are few, all are listed. Where they are many,
some are listed to begin with, and `pricing.py` finds the others that matter.
"""

from collections.abc import Iterable, Mapping, Sequence

from sizing.plan.choice import Sequences
from sizing.program.deployments import Candidate
from sizing.program.fillings import Fillings

MOST_LISTED = 2_000
"""Maximal patterns of all deployments together up to which all are listed."""


class Columns:
    """The patterns of every deployment, in the order in which they came; they are only ever added.

    `complete`: no maximal pattern of any deployment is missing, so that the integer program decides every stage.
    """

    def __init__(self, patterns: Mapping[str, Iterable[Sequences]], complete: bool) -> None:
        self._patterns = {deployment: dict.fromkeys(each) for deployment, each in patterns.items()}
        self.complete = complete

    def of(self, deployment: str) -> tuple[Sequences, ...]:
        return tuple(self._patterns.get(deployment, ()))

    def keys(self) -> list[tuple[str, Sequences]]:
        """Every (deployment, pattern)."""
        return [(deployment, pattern) for deployment, patterns in self._patterns.items() for pattern in patterns]

    def add(self, patterns: Iterable[tuple[str, Sequences]]) -> list[tuple[str, Sequences]]:
        """Add (deployment, pattern) and return those that were not there."""
        new = []
        for deployment, pattern in patterns:
            if pattern not in self._patterns[deployment]:
                self._patterns[deployment][pattern] = None
                new.append((deployment, pattern))
        return new

    def restricted(self, keys: Iterable[tuple[str, Sequences]]) -> "Columns":
        """Only these (deployment, pattern)."""
        chosen: dict[str, list[Sequences]] = {}
        for deployment, pattern in keys:
            chosen.setdefault(deployment, []).append(pattern)
        return Columns(chosen, complete=False)

    def __len__(self) -> int:
        return sum(map(len, self._patterns.values()))


def starting_columns(candidates: Sequence[Candidate], demands: Mapping[str, int]) -> Columns:
    """Every maximal pattern where they are few in all, else an even mixture for each candidate."""
    columns = all_columns(candidates, demands, MOST_LISTED)
    if columns is None:
        columns = Columns({c.deployment.id: [even_pattern(c, demands)] for c in candidates}, complete=False)
    return columns


def all_columns(candidates: Sequence[Candidate], demands: Mapping[str, int], most: int) -> Columns | None:
    """Every maximal pattern of all candidates; None where they are more than `most`."""
    fillings = Fillings(most)
    listed: dict[str, list[Sequences]] = {}
    for candidate in candidates:
        patterns = fillings.of(candidate, demands)
        if patterns is None:
            return None
        listed[candidate.deployment.id] = patterns
    return Columns(listed, complete=True)


def even_pattern(candidate: Candidate, demands: Mapping[str, int]) -> Sequences:
    """A mixture in proportion to the demands, filled up."""
    most = {name: min(demands[name], candidate.alone(name)) for name in candidate.sizes}
    total = sum(size * demands[name] for name, size in candidate.sizes.items())
    even = {name: min(most[name], demands[name] * candidate.budget // total) for name in candidate.sizes}
    return topped_up(candidate, even, most)


def topped_up(candidate: Candidate, start: Mapping[str, int], most: Mapping[str, int]) -> Sequences:
    """A filling with every further sequence that fits, the largest first, within `most` of each class."""
    counts = dict(start)
    room = candidate.budget - sum(candidate.sizes[name] * count for name, count in counts.items())
    for name in sorted(candidate.sizes, key=lambda name: (-candidate.sizes[name], name)):
        more = min(most[name] - counts.get(name, 0), room // candidate.sizes[name])
        counts[name] = counts.get(name, 0) + more
        room -= more * candidate.sizes[name]
    return tuple(sorted((name, count) for name, count in counts.items() if count))
