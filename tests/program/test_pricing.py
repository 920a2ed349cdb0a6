"""Patterns that pricing and closing find, against every filling of a pool."""

from itertools import product
from random import Random

import pytest

from sizing.plan.choice import Sequences
from sizing.program import knapsack
from sizing.program.deployments import Candidate
from sizing.program.fillings import Fillings
from sizing.program.linear_program import Duals
from sizing.program.patterns import all_columns, even_pattern, starting_columns
from sizing.program.pricing import closing_patterns, knapsack_groups, price
from tests.plan_builders import BF16, DENSE_70B, FP8, NODE, deployment, service_class, system
from tests.program.formulations import candidates_of

BOTH = (BF16, FP8)


def case(seed: int) -> tuple[list[Candidate], dict[str, int], Duals]:
    """Three deployments of one model, two of which hold sequences in the same proportions, at random duals."""
    random = Random(seed)
    contexts = [random.randint(20_000, 131_072) for _ in range(random.randint(1, 4))]
    classes = [
        service_class(f"class-{number}", context=context, concurrency=random.randint(1, 9), kv=BOTH)
        for number, context in enumerate(contexts)
    ]
    deployments = [deployment(NODE, DENSE_70B, tp=4), deployment(NODE, DENSE_70B, tp=8)]
    deployments.append(deployment(NODE, DENSE_70B, kv=FP8, tp=4))
    candidates = candidates_of(classes, deployments)
    candidates = [Candidate(c.deployment, {n: s for n, s in c.sizes.items() if s <= c.budget}) for c in candidates]
    values = {
        (service.name, candidate.deployment.precisions): random.choice((0.0, random.random()))
        for candidate in candidates
        for service in classes
    }
    prices = {candidate.deployment.id: random.uniform(0.1, 6) for candidate in candidates}
    duals = Duals(1.0, {DENSE_70B.name: 1.0}, values, prices, replicas={}, served={})
    return candidates, {service.name: service.demand for service in classes}, duals


def fillings(candidate: Candidate, demands: dict[str, int]) -> list[dict[str, int]]:
    names = list(candidate.sizes)
    return [
        counts
        for numbers in product(*(range(demands[name] + 1) for name in names))
        if room_left(candidate, counts := dict(zip(names, numbers, strict=True))) >= 0
    ]


def room_left(candidate: Candidate, counts: dict[str, int]) -> int:
    return candidate.budget - sum(candidate.sizes[name] * count for name, count in counts.items())


def maximal(candidate: Candidate, demands: dict[str, int]) -> set[Sequences]:
    """Fillings to which no sequence that is still wanted can be added."""
    return {
        tuple(sorted((name, count) for name, count in counts.items() if count))
        for counts in fillings(candidate, demands)
        if all(
            counts[name] == demands[name] or size > room_left(candidate, counts)
            for name, size in candidate.sizes.items()
        )
    }


def worth(candidate: Candidate, pattern: Sequences, duals: Duals) -> float:
    return sum(duals.values[name, candidate.deployment.precisions] * count for name, count in pattern)


@pytest.mark.parametrize("seed", range(30))
def test_all_maximal_patterns_are_listed(seed: int) -> None:
    candidates, demands, _ = case(seed)
    for candidate in candidates:
        listed = Fillings(10_000).of(candidate, demands)
        assert listed is not None
        assert set(listed) == maximal(candidate, demands)
        assert len(set(listed)) == len(listed)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("share", [0.0, 0.7, 0.95, 1.0])
def test_worthwhile_patterns_are_all_that_are_worth_so_much(seed: int, share: float) -> None:
    candidates, demands, duals = case(seed)
    for candidate in candidates:
        values = {name: duals.values[name, candidate.deployment.precisions] for name in candidate.sizes}
        all_there_are = maximal(candidate, demands)
        least = share * max(worth(candidate, pattern, duals) for pattern in all_there_are) - 1e-9
        found = Fillings(10_000).of(candidate, demands, values, least)
        assert found is not None
        assert set(found) == {pattern for pattern in all_there_are if worth(candidate, pattern, duals) >= least}
        assert len(set(found)) == len(found)


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("steps", [40, knapsack.MOST_STEPS])
def test_pricing_finds_what_is_worth_more_than_its_pool(seed: int, steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing is found on a fine grid nothing exists, and the scaled values pay for no pool too much."""
    monkeypatch.setattr(knapsack, "MOST_STEPS", steps)
    candidates, demands, duals = case(seed)
    priced = price(knapsack_groups(candidates, demands), duals)
    by_id = {candidate.deployment.id: candidate for candidate in candidates}
    for name, pattern in priced.patterns:
        assert pattern in maximal(by_id[name], demands)
        assert worth(by_id[name], pattern, duals) > duals.prices[name]
    for candidate in candidates:
        best = max(worth(candidate, pattern, duals) for pattern in maximal(candidate, demands))
        paid = duals.prices[candidate.deployment.id]
        assert priced.scales[DENSE_70B.name] * best <= paid * (1 + 1e-6)
        if steps == knapsack.MOST_STEPS and best > paid * 1.01:
            assert candidate.deployment.id in dict(priced.patterns)
    if priced.scales[DENSE_70B.name] == 1:
        assert not priced.patterns


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("margin", [0.0, 0.5, 100.0])
def test_closing_adds_every_pattern_within_the_margin(seed: int, margin: float) -> None:
    candidates, demands, duals = case(seed)
    groups = knapsack_groups(candidates, demands)
    scales = price(groups, duals).scales
    found = closing_patterns(groups, duals, scales, margin, demands, most=10_000)
    assert found is not None
    for candidate in candidates:
        name = candidate.deployment.id
        for pattern in maximal(candidate, demands):
            reduced_cost = duals.prices[name] - scales[DENSE_70B.name] * worth(candidate, pattern, duals)
            assert reduced_cost >= -1e-6  # or the linear program would have used it
            if reduced_cost <= margin:
                assert (name, pattern) in found
            elif (name, pattern) in found:
                assert reduced_cost <= margin + 1e-6


def test_closing_gives_up_where_patterns_are_too_many() -> None:
    candidates, demands, duals = case(3)
    groups = knapsack_groups(candidates, demands)
    everything = sum(len(maximal(candidate, demands)) for candidate in candidates)
    none = {DENSE_70B.name: 0.0}
    found = closing_patterns(groups, duals, none, 100.0, demands, most=everything)
    assert found is not None
    assert len(found) == everything
    assert closing_patterns(groups, duals, none, 100.0, demands, most=everything - 1) is None


def test_a_listing_gives_up_after_so_many_fillings_or_steps_in_all() -> None:
    candidates, demands, _ = case(3)
    counts = [len(maximal(candidate, demands)) for candidate in candidates]
    fillings = Fillings(sum(counts))
    assert [len(fillings.of(candidate, demands) or ()) for candidate in candidates] == counts
    fewer = Fillings(sum(counts) - 1)
    assert [fewer.of(candidate, demands) is None for candidate in candidates][-1]
    assert Fillings(sum(counts), steps=len(candidates[0].sizes)).of(candidates[0], demands) is None
    assert Fillings(0).of(candidates[0], demands) is None


def test_candidates_of_the_same_proportions_share_a_knapsack() -> None:
    """A somewhat larger GPU, and half the bits: the same contexts in the same proportions; precisions stay apart."""
    classes = [service_class("long", context=65_536, kv=BOTH), service_class("short", context=4_096, kv=BOTH)]
    larger = system("larger", hbm_gb=150)
    deployments = [deployment(NODE, DENSE_70B, tp=8), deployment(larger, DENSE_70B, tp=8)]
    deployments += [deployment(NODE, DENSE_70B, kv=FP8, tp=8), deployment(NODE, DENSE_70B, tp=2)]
    candidates = candidates_of(classes, deployments)
    groups = knapsack_groups(candidates, {"long": 3, "short": 70})
    together = [[candidate.deployment.id for candidate in group.candidates] for group in groups]
    assert together == [[d.id for d in deployments[:2]], [deployments[2].id], [deployments[3].id]]
    for group in groups:
        assert group.knapsack.sizes == (16, 1)
        assert group.most == {"long": 3, "short": 70}
        for candidate, capacity in zip(group.candidates, group.knapsack.capacities, strict=True):
            assert capacity == candidate.budget // candidate.sizes["short"]


@pytest.mark.parametrize("seed", range(30))
def test_an_even_pattern_fits_and_is_full(seed: int) -> None:
    candidates, demands, _ = case(seed)
    for candidate in candidates:
        assert even_pattern(candidate, demands) in maximal(candidate, demands)


def test_columns_are_complete_only_where_all_patterns_are_in(monkeypatch: pytest.MonkeyPatch) -> None:
    candidates, demands, _ = case(3)
    everything = sum(len(maximal(candidate, demands)) for candidate in candidates)
    listed = all_columns(candidates, demands, everything)
    assert listed is not None
    assert listed.complete
    assert len(listed) == everything
    assert all_columns(candidates, demands, everything - 1) is None
    monkeypatch.setattr("sizing.program.patterns.MOST_LISTED", everything - 1)
    few = starting_columns(candidates, demands)
    assert not few.complete
    assert all(len(few.of(candidate.deployment.id)) == 1 for candidate in candidates)


def test_columns_keep_the_order_in_which_they_came() -> None:
    candidates, demands, _ = case(3)
    columns = all_columns(candidates, demands, 10_000)
    assert columns is not None
    name = candidates[0].deployment.id
    before = columns.of(name)
    new = (("class-0", 1),)
    assert columns.add([(name, before[0]), (name, new), (name, new)]) == [(name, new)]
    assert columns.of(name) == (*before, new)
    assert columns.restricted([(name, new)]).of(name) == (new,)
