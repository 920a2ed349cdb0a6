"""Whole sequences into whole pools: what a fractional solution of one model says, made into something that can be run.

Each class is spread over the pools of a deployment so that all are left with the same room, the largest sequences
first. Where that leaves sequences without room, pools are filled tightly, one after the other, each as full as those
that are left allow: that takes longer and needs fewer pools. Who still finds no room gets one more replica.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sizing.facility.deployment import Precisions
from sizing.plan.choice import Choice, Sequences
from sizing.program.deployments import Candidate
from sizing.program.knapsack import Knapsack
from sizing.program.patterns import topped_up

Integers = NDArray[np.int64]

LARGER_FIRST = 0.5
"""By how much more a byte counts in a sequence that fills a pool than in the smallest, where pools are filled tightly:
what is left to the end should be small."""


@dataclass(frozen=True, slots=True)
class Running:
    """One way to run a model: its replicas, what each pool holds and whom they serve, all in whole numbers.

    `pools` by (deployment id, sequences of each class), `served` by (class, precisions).
    """

    model: str
    replicas: Mapping[str, int]
    pools: Mapping[tuple[str, Sequences], int]
    served: Mapping[tuple[str, Precisions], int]


class _Pools:
    """All pools of one deployment and what they hold so far."""

    def __init__(self, candidate: Candidate, replicas: int) -> None:
        self.candidate = candidate
        self.replicas = 0
        self._names = sorted(candidate.sizes)
        self._room: Integers = np.zeros(0, dtype=np.int64)
        self._held: Integers = np.zeros((0, len(self._names)), dtype=np.int64)
        self.add_replicas(replicas)

    def add_replicas(self, count: int) -> None:
        self.replicas += count
        pools = count * self.candidate.deployment.pools_per_replica
        self._room = np.concatenate([self._room, np.full(pools, self.candidate.budget, dtype=np.int64)])
        self._held = np.concatenate([self._held, np.zeros((pools, len(self._names)), dtype=np.int64)])

    def take(self, name: str, sequences: int) -> int:
        """Take in as many sequences of a class as find room, each where most room is left; those that do not."""
        if not sequences:
            return 0
        size = self.candidate.sizes[name]
        taken = self._room // size
        left = sequences - int(taken.sum())
        if left < 0:
            taken = _evenly(self._room, size, sequences)
        self._room -= taken * size
        self._held[:, self._names.index(name)] += taken
        return max(0, left)

    def fill(self, wanted: Mapping[str, int]) -> Counter[str]:
        """Fill the pools, empty so far, one after the other as full as can be; those that find no room.

        A filling is used again until it exhausts a class, so that there are about as many fillings as classes.
        """
        left, budget = Counter({name: count for name, count in wanted.items() if count}), self.candidate.budget
        filled = 0
        while filled < len(self._room) and left:
            names = sorted(left)
            sizes = [self.candidate.sizes[name] for name in names]
            best = Knapsack(tuple(sizes), tuple(left[name] for name in names), (budget,)).patterns(
                [size * (1 + LARGER_FIRST * size / budget) for size in sizes]
            )
            counts = {name: int(count) for name, count in zip(names, best[0], strict=True) if count}
            if not counts:  # what is left fills a pool all but beyond the grid
                break
            times = min(len(self._room) - filled, *(left[name] // count for name, count in counts.items()))
            for name, count in counts.items():
                left[name] -= count * times
                self._held[filled : filled + times, self._names.index(name)] = count
                self._room[filled : filled + times] -= count * self.candidate.sizes[name]
            filled += times
            left = +left
        return left

    def patterns(self, demands: Mapping[str, int]) -> Counter[Sequences]:
        """What the pools hold, filled up."""
        most = {name: min(demands[name], self.candidate.alone(name)) for name in self._names}
        alike = Counter(map(tuple, self._held.tolist()))
        filled: Counter[Sequences] = Counter()
        for held, pools in alike.items():
            if any(held):
                filled[topped_up(self.candidate, dict(zip(self._names, held, strict=True)), most)] += pools
        return filled


def _evenly(room: Integers, size: int, sequences: int) -> Integers:
    """Sequences that each pool takes so that the least room left is as much as can be; fewer than fit in all."""
    low, high = 0, int(room.max())  # each pool keeps `low`: they take too many; `high`: too few, or just enough
    while high - low > 1:
        middle = (low + high) // 2
        if int((np.maximum(room - middle, 0) // size).sum()) >= sequences:
            low = middle
        else:
            high = middle
    taken = np.maximum(room - low, 0) // size
    surplus = int(taken.sum()) - sequences
    fullest = np.flatnonzero((taken > 0) & ((room - low) % size == 0))
    taken[fullest[:surplus]] -= 1
    return taken


def spread(
    candidates: Sequence[Candidate],
    replicas: Mapping[str, int],
    sequences: Mapping[tuple[str, str], float],
    served: Mapping[tuple[str, Precisions], int],
    costs: Mapping[str, float],
) -> Running:
    """Everybody who is `served` into the pools of `replicas`, or of more where they do not suffice.

    `sequences` are those of each class that a deployment would hold, a hint in fractions; `costs` of one more replica
    decide which deployment gets one.
    """

    def cost(running: Running) -> float:
        return sum(costs[key] * count for key, count in running.replicas.items())

    evenly = _placed(candidates, replicas, sequences, served, costs, tightly=False)
    if all(count <= replicas.get(key, 0) for key, count in evenly.replicas.items()):
        return evenly
    return min(evenly, _placed(candidates, replicas, sequences, served, costs, tightly=True), key=cost)


def _placed(
    candidates: Sequence[Candidate],
    replicas: Mapping[str, int],
    sequences: Mapping[tuple[str, str], float],
    served: Mapping[tuple[str, Precisions], int],
    costs: Mapping[str, float],
    tightly: bool,
) -> Running:
    pools = {c.deployment.id: _Pools(c, replicas.get(c.deployment.id, 0)) for c in candidates}
    offers = {
        (name, precisions): [c for c in candidates if c.deployment.precisions == precisions and name in c.sizes]
        for name, precisions in sorted(served, key=lambda pair: (-_size(candidates, pair), str(pair)))
    }
    wanted: dict[str, dict[str, int]] = {key: {} for key in pools}
    for (name, precisions), offering in offers.items():
        hints = [sequences.get((c.deployment.id, name), 0.0) for c in offering]
        for candidate, count in zip(offering, _whole(hints, served[name, precisions]), strict=True):
            wanted[candidate.deployment.id][name] = count
    tight = {key: pools[key].fill(wanted[key]) for key in pools} if tightly else None
    for (name, _), offering in offers.items():
        ids = [candidate.deployment.id for candidate in offering]
        left = sum(pools[key].take(name, wanted[key][name]) if tight is None else tight[key][name] for key in ids)
        for candidate in offering:
            left = pools[candidate.deployment.id].take(name, left)
        if left:
            held = {c.deployment.id: c.deployment.pools_per_replica * c.alone(name) for c in offering}
            more = {key: -(-left // count) for key, count in held.items()}
            cheapest = min(held, key=lambda key: (costs[key] * more[key], -held[key] * more[key], key))
            pools[cheapest].add_replicas(more[cheapest])
            pools[cheapest].take(name, left)
    demands: Counter[str] = Counter()
    for (name, _), count in served.items():
        demands[name] += count
    return Running(
        candidates[0].deployment.model.name,
        {key: each.replicas for key, each in pools.items() if each.replicas},
        {(key, held): count for key, each in pools.items() for held, count in each.patterns(demands).items()},
        {pair: count for pair, count in served.items() if count},
    )


def _size(candidates: Sequence[Candidate], pair: tuple[str, Precisions]) -> float:
    """The largest share of a pool that one sequence takes."""
    name, precisions = pair
    return max(float(c.share(name)) for c in candidates if c.deployment.precisions == precisions and name in c.sizes)


def _whole(hints: Sequence[float], total: int) -> list[int]:
    """Whole numbers in proportion to the hints whose sum is `total`, by largest remainder."""
    whole = sum(hints)
    shares = [hint / whole * total for hint in hints] if whole > 0 else [0.0] * len(hints)
    counts = [int(share) for share in shares]
    by_remainder = sorted(range(len(hints)), key=lambda number: (counts[number] - shares[number], number))
    for number in range(total - sum(counts)):
        counts[by_remainder[number % len(counts)]] += 1
    return counts


def runnings_of(choice: Choice, models: Mapping[str, str]) -> list[Running]:
    """How a choice runs each model; `models` by class."""
    return [
        Running(
            model,
            {key: count for key, count in choice.replicas.items() if choice.deployments[key].model.name == model},
            {key: count for key, count in choice.pools.items() if choice.deployments[key[0]].model.name == model},
            {pair: count for pair, count in choice.served.items() if models[pair[0]] == model},
        )
        for model in sorted(set(models.values()))
    ]
