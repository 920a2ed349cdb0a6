"""Whole sequences in whole pools: everybody is held, nothing is too full, and no replica is added without need."""

from collections import Counter
from dataclasses import replace
from random import Random

import pytest

from sizing.plan.choice import Choice
from sizing.program.spreading import Running, runnings_of, spread
from tests.plan_builders import BF16, DENSE_70B, FP8, LATENT_671B, NODE, deployment, service_class
from tests.program.formulations import candidates_of

BOTH = (BF16, FP8)


@pytest.mark.parametrize("seed", range(40))
def test_everybody_is_held_and_no_pool_is_too_full(seed: int) -> None:
    random = Random(seed)
    classes = [
        service_class(f"class-{number}", context=random.randint(2_000, 131_072), concurrency=100, kv=BOTH)
        for number in range(random.randint(1, 4))
    ]
    deployments = [deployment(NODE, DENSE_70B, tp=4), deployment(NODE, DENSE_70B, tp=8)]
    deployments.append(deployment(NODE, DENSE_70B, kv=FP8, tp=8))
    candidates = candidates_of(classes, deployments)
    served = {(each.name, random.choice(candidates).deployment.precisions): random.randint(1, 90) for each in classes}
    hints = {
        (c.deployment.id, each.name): random.choice((0.0, random.random())) for c in candidates for each in classes
    }
    replicas = {c.deployment.id: random.randint(0, 3) for c in candidates}

    running = spread(candidates, replicas, hints, served, {c.deployment.id: 1.0 for c in candidates})

    by_id = {c.deployment.id: c for c in candidates}
    held: Counter[tuple[str, object]] = Counter()
    pools: Counter[str] = Counter()
    for (name, pattern), count in running.pools.items():
        candidate = by_id[name]
        assert sum(candidate.sizes[service] * sequences for service, sequences in pattern) <= candidate.budget
        pools[name] += count
        for service, sequences in pattern:
            held[service, candidate.deployment.precisions] += sequences * count
    assert all(held[pair] >= count for pair, count in served.items())
    assert all(pools[name] <= running.replicas[name] * by_id[name].deployment.pools_per_replica for name in pools)
    assert running.served == served


def test_three_nodes_that_are_nearly_full_suffice() -> None:
    """20 long and 11 short sequences fill a node, and 32 short ones take as much as one long one."""
    classes = [service_class("chat", concurrency=670), service_class("long", context=131_072, concurrency=40)]
    candidates = candidates_of(classes, [deployment(NODE, DENSE_70B, tp=8)])
    only = candidates[0].deployment
    served = {("chat", only.precisions): 20 * 32 + 3 * 11, ("long", only.precisions): 40}
    running = spread(candidates, {only.id: 3}, {}, served, {only.id: 8.0})
    assert running.replicas == {only.id: 3}


def test_pools_are_filled_tightly_where_an_even_spread_leaves_someone_out() -> None:
    """6 + 4 and 4 + 3 + 3 parts of ten fill two nodes; with both of 4 beside each other, a 3 finds no room."""
    part = 2 * 131_072
    contexts = {"six": 6, "four": 4, "three": 3}
    classes = [service_class(name, context=parts * part) for name, parts in contexts.items()]
    (candidate,) = candidates_of([*classes, service_class("one", context=part)], [deployment(NODE, DENSE_70B, tp=8)])
    assert 10 * candidate.sizes["one"] <= candidate.budget < 11 * candidate.sizes["one"]
    only = candidate.deployment
    served = {("six", only.precisions): 1, ("four", only.precisions): 2, ("three", only.precisions): 2}
    running = spread([candidate], {only.id: 2}, {}, served, {only.id: 8.0})
    assert running.replicas == {only.id: 2}
    held = {tuple(name for name, _ in pattern) for _, pattern in running.pools}
    assert {"six", "four"} in map(set, held)


def test_a_sequence_that_fills_a_pool_beyond_the_grid_finds_room_all_the_same() -> None:
    """On the grid of the knapsack both sizes are rounded up, and beyond the pool: no filling is found there."""
    (candidate,) = candidates_of([service_class("whole"), service_class("small")], [deployment(NODE, DENSE_70B, tp=8)])
    only = candidate.deployment
    odd = replace(candidate, sizes={"whole": candidate.budget - 1, "small": candidate.budget - 2})
    served = {("whole", only.precisions): 2, ("small", only.precisions): 1}
    running = spread([odd], {only.id: 2}, {}, served, {only.id: 8.0})
    assert running.replicas == {only.id: 3}
    assert running.served == served


def test_who_finds_no_room_gets_the_replica_that_is_cheapest() -> None:
    classes = [service_class("long", context=131_072)]
    candidates = candidates_of(classes, [deployment(NODE, DENSE_70B, tp=4), deployment(NODE, DENSE_70B, tp=8)])
    half, whole = (c.deployment for c in candidates)
    served = {("long", half.precisions): candidates[1].alone("long") + 1}
    costs = {half.id: 4.0, whole.id: 100.0}
    running = spread(candidates, {whole.id: 1}, {(whole.id, "long"): 1.0}, served, costs)
    assert running.replicas == {whole.id: 1, half.id: 1}


def test_one_sequence_too_many_takes_no_more_gpus_than_it_needs() -> None:
    """A whole node would be cheaper a sequence; one that is left needs half of one."""
    classes = [service_class("long", context=131_072)]
    candidates = candidates_of(classes, [deployment(NODE, DENSE_70B, tp=4), deployment(NODE, DENSE_70B, tp=8)])
    half, whole = (c.deployment for c in candidates)
    assert candidates[1].alone("long") > 2 * candidates[0].alone("long")
    served = {("long", half.precisions): 2 * candidates[1].alone("long") + 1}
    running = spread(candidates, {whole.id: 2}, {(whole.id, "long"): 1.0}, served, {half.id: 4.0, whole.id: 8.0})
    assert running.replicas == {whole.id: 2, half.id: 1}


def test_how_a_choice_runs_each_model_is_told_model_by_model() -> None:
    classes = [service_class("long", context=131_072), service_class("agents", LATENT_671B, 65_536, weights=("fp8",))]
    dense, latent = (
        deployment(NODE, DENSE_70B, tp=8),
        deployment(NODE, LATENT_671B, weights="fp8", tp=1, attention_dp=8),
    )
    running = [
        Running(DENSE_70B.name, {dense.id: 2}, {(dense.id, (("long", 20),)): 2}, {("long", dense.precisions): 30}),
        Running(
            LATENT_671B.name, {latent.id: 1}, {(latent.id, (("agents", 9),)): 3}, {("agents", latent.precisions): 25}
        ),
    ]
    choice = Choice(
        pods={},
        systems={},
        deployments={dense.id: dense, latent.id: latent},
        replicas=running[0].replicas | running[1].replicas,
        pools=running[0].pools | running[1].pools,
        served=running[0].served | running[1].served,
    )
    assert runnings_of(choice, {service.name: service.model.name for service in classes}) == sorted(
        running, key=lambda each: each.model
    )


def test_every_pool_of_a_replica_counts() -> None:
    """Eight pools a replica: so many sequences as two pools hold need one replica, not two."""
    classes = [service_class("agents", LATENT_671B, 65_536, weights=("fp8",))]
    candidates = candidates_of(classes, [deployment(NODE, LATENT_671B, weights="fp8", tp=1, attention_dp=8)])
    only = candidates[0].deployment
    served = {("agents", only.precisions): 2 * candidates[0].alone("agents")}
    running = spread(candidates, {}, {}, served, {only.id: 8.0})
    assert running.replicas == {only.id: 1}
