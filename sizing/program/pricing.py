"""Column generation (Gilmore and Gomory 1961): patterns that the linear relaxation of a stage would pay for.

Candidates of one model and pair of precisions whose pools hold sequences in the same proportions share one knapsack.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import gcd
from typing import NamedTuple

from sizing.facility.deployment import Precisions
from sizing.plan.choice import Sequences
from sizing.program.contents import Worth
from sizing.program.deployments import Candidate
from sizing.program.fillings import Fillings
from sizing.program.knapsack import Knapsack
from sizing.program.linear_program import Duals
from sizing.program.patterns import topped_up

IMPROVES = 1e-7
"""A pattern is paid for when it is worth more than its pool by this share: beyond the solver's tolerance."""

MOST_OF_A_GROUP = 6
"""Patterns that one group of candidates may add in a round: the others are priced anew once these are in."""

ALIKE = 4
"""Pools whose capacities differ by no more than this factor share a grid."""


@dataclass(frozen=True, slots=True)
class KnapsackGroup:
    """Candidates priced together; `names` are the classes in the order of the knapsack."""

    names: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    knapsack: Knapsack

    @property
    def model(self) -> str:
        return self.candidates[0].deployment.model.name

    @property
    def most(self) -> dict[str, int]:
        return dict(zip(self.names, self.knapsack.most, strict=True))

    def values(self, duals: Duals) -> list[float]:
        precisions = self.candidates[0].deployment.precisions
        return [duals.values.get((name, precisions), 0.0) for name in self.names]


def knapsack_groups(candidates: Sequence[Candidate], demands: Mapping[str, int]) -> tuple[KnapsackGroup, ...]:
    """Candidates by the sizes of their sequences, up to a common factor, and by the magnitude of their pools."""
    groups: dict[_Likeness, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        names = tuple(sorted(candidate.sizes))
        divisor = _common_divisor(candidate)
        magnitude = ((candidate.budget // divisor).bit_length() - 1) // (ALIKE.bit_length() - 1)
        proportions = tuple(candidate.sizes[name] // divisor for name in names)
        deployment = candidate.deployment
        likeness = _Likeness(deployment.model.name, deployment.precisions, names, proportions, magnitude)
        groups[likeness].append(candidate)
    return tuple(
        KnapsackGroup(
            likeness.names,
            tuple(members),
            Knapsack(
                likeness.proportions,
                tuple(demands[name] for name in likeness.names),
                tuple(member.budget // _common_divisor(member) for member in members),
            ),
        )
        for likeness, members in groups.items()
    )


class _Likeness(NamedTuple):
    model: str
    precisions: Precisions
    names: tuple[str, ...]
    proportions: tuple[int, ...]
    magnitude: int


def _common_divisor(candidate: Candidate) -> int:
    return gcd(*candidate.sizes.values())


@dataclass(frozen=True, slots=True)
class Priced:
    """Patterns that improve the relaxation, with their deployment ids.

    The values of each model times its scale are dual feasible over all patterns; where all are 1 the relaxation has
    converged.
    """

    patterns: tuple[tuple[str, Sequences], ...]
    scales: Mapping[str, float]


def price(groups: Sequence[KnapsackGroup], duals: Duals) -> Priced:
    """The best pattern of every candidate that is worth more than its pool costs."""
    found: list[tuple[str, Sequences]] = []
    scales = {group.model: 1.0 for group in groups}
    for group in groups:
        values = group.values(duals)
        if not any(values):
            continue
        prices = [duals.prices[candidate.deployment.id] for candidate in group.candidates]
        if not _worth_more(group.knapsack.quick_bounds(values), prices):
            continue
        bounds = group.knapsack.bounds(values)
        wanted = _worth_more(bounds, prices)
        if not wanted:
            continue
        scales[group.model] = min(scales[group.model], *(prices[number] / float(bounds[number]) for number in wanted))
        wanted.sort(key=lambda number: prices[number] / float(bounds[number]))
        del wanted[MOST_OF_A_GROUP:]
        narrowed = Knapsack(
            group.knapsack.sizes, group.knapsack.most, tuple(group.knapsack.capacities[number] for number in wanted)
        )
        for number, counts in zip(wanted, narrowed.patterns(values), strict=True):
            worth = sum(value * int(count) for value, count in zip(values, counts, strict=True))
            if _worth_more([worth], [prices[number]]):
                candidate = group.candidates[number]
                pattern = topped_up(candidate, dict(zip(group.names, counts.tolist(), strict=True)), group.most)
                found.append((candidate.deployment.id, pattern))
    return Priced(tuple(found), scales)


def _worth_more(worth: Iterable[float], prices: Iterable[float]) -> list[int]:
    """Numbers of the pools that are worth more than they cost, beyond the solver's tolerance."""
    pairs = enumerate(zip(worth, prices, strict=True))
    return [number for number, (bound, paid) in pairs if bound > paid * (1 + IMPROVES) + IMPROVES**2]


def most_worth(groups: Sequence[KnapsackGroup], duals: Duals) -> Worth:
    """The most that a pool of each candidate can be worth at the values of the duals."""
    most: dict[str, float] = {}
    for group in groups:
        bounds = group.knapsack.bounds(group.values(duals))
        most.update((c.deployment.id, float(bound)) for c, bound in zip(group.candidates, bounds, strict=True))
    return Worth(duals.values, most)


def closing_patterns(
    groups: Sequence[KnapsackGroup],
    duals: Duals,
    scales: Mapping[str, float],
    margin: float,
    demands: Mapping[str, int],
    most: int,
) -> list[tuple[str, Sequences]] | None:
    """All maximal patterns whose reduced cost is at most `margin`; None where they are too many, or hard to list.

    Values are scaled so that no pattern has a negative reduced cost. A plan that is better by more than the margin
    leaves room for uses none but these.
    """
    fillings = Fillings(most)
    found: list[tuple[str, Sequences]] = []
    for group in groups:
        values = [value * scales[group.model] for value in group.values(duals)]
        worth = dict(zip(group.names, values, strict=True))
        for candidate, bound in zip(group.candidates, group.knapsack.bounds(values), strict=True):
            least = duals.prices[candidate.deployment.id] - margin - IMPROVES
            if bound < least:
                continue
            patterns = fillings.of(candidate, demands, worth, least)
            if patterns is None:
                return None
            found.extend((candidate.deployment.id, pattern) for pattern in patterns)
    return found
