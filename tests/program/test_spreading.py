"""Whole sequences in whole pools: everybody is held, nothing is too full, and no replica is added without need."""

from collections import Counter
from random import Random

import pytest

from sizing.program.spreading import spread
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


def test_who_finds_no_room_gets_the_replica_that_is_cheapest() -> None:
    classes = [service_class("long", context=131_072)]
    candidates = candidates_of(classes, [deployment(NODE, DENSE_70B, tp=4), deployment(NODE, DENSE_70B, tp=8)])
    half, whole = (c.deployment for c in candidates)
    served = {("long", half.precisions): candidates[1].alone("long") + 1}
    costs = {half.id: 4.0, whole.id: 100.0}
    running = spread(candidates, {whole.id: 1}, {(whole.id, "long"): 1.0}, served, costs)
    assert running.replicas == {whole.id: 1, half.id: 1}


def test_every_pool_of_a_replica_counts() -> None:
    """Eight pools a replica: so many sequences as two pools hold need one replica, not two."""
    classes = [service_class("agents", LATENT_671B, 65_536, weights=("fp8",))]
    candidates = candidates_of(classes, [deployment(NODE, LATENT_671B, weights="fp8", tp=1, attention_dp=8)])
    only = candidates[0].deployment
    served = {("agents", only.precisions): 2 * candidates[0].alone("agents")}
    running = spread(candidates, {}, {}, served, {only.id: 8.0})
    assert running.replicas == {only.id: 1}
