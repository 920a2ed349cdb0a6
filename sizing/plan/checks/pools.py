"""Sequences into pools, pools into replicas: layouts are legal, bytes fit, every class is served exactly."""

from collections.abc import Iterable, Iterator, Mapping

from sizing.facility.deployment import Precisions
from sizing.plan.checks.facts import Facts, free_bytes, pools_of, sequences_held, unequal
from sizing.plan.plan import Plan


def layouts_are_legal(plan: Plan, facts: Facts) -> Iterator[str]:
    """Heads divide, the replica is on the ladder of its domain (decision 3), experts shard over all its GPUs."""
    for planned in plan.deployments:
        layout, name = planned.deployment.layout, planned.deployment.id
        model, domain_gpus = planned.deployment.model, planned.deployment.system.domain_gpus
        refused = model.refusal(layout.sharding)
        if refused:
            yield f"{name}: {refused}"
        gpus = layout.tp * layout.attention_dp
        if gpus > domain_gpus:
            yield f"{name}: a replica of {gpus} GPUs leaves its domain of {domain_gpus}"
        elif gpus != domain_gpus and gpus & (gpus - 1):
            yield f"{name}: a replica of {gpus} GPUs is off the ladder of a domain of {domain_gpus}"
        if layout.dcp > 1 and not facts.request.policy.dcp:
            yield f"{name}: decode context parallel is not asked for"
        yield from unequal(f"{name}: expert parallel", layout.ep, gpus if model.has_routed_experts else 1)


def precisions_are_supported(plan: Plan, facts: Facts) -> Iterator[str]:
    """The GPU can hold the KV precision, and some class of the model accepts the pair (decision 4)."""
    for planned in plan.deployments:
        deployment = planned.deployment
        generation = deployment.system.gpu.generation
        if not deployment.kv_precision.runs_on(generation):
            yield f"{deployment.id}: {generation} GPUs cannot hold a KV cache in {deployment.kv_precision.name}"
        classes = [service for service in facts.classes.values() if service.model == deployment.model]
        if not any(deployment.precisions in service.precisions for service in classes):
            yield f"{deployment.id}: no class of {deployment.model.name} accepts {deployment.precisions}"


def budgets_are_right(plan: Plan, facts: Facts) -> Iterator[str]:
    """HBM less reserve less weights, and the storage rule, from the request."""
    if facts.request.policy.engine != "ideal":
        yield f"engine profile {facts.request.policy.engine!r} cannot be checked"
    for planned in plan.deployments:
        deployment = planned.deployment
        told, found = deployment.budget, facts.budget(deployment)
        yield from unequal(f"{deployment.id}: HBM bytes of a pool", told.hbm_bytes, found.hbm_bytes)
        yield from unequal(f"{deployment.id}: reserve bytes of a pool", told.reserve_bytes, found.reserve_bytes)
        yield from unequal(f"{deployment.id}: weight bytes of a pool", told.weight_bytes, found.weight_bytes)
        yield from unequal(f"{deployment.id}: storage rule", deployment.storage, facts.storage(deployment))
        if found.kv_bytes < 0:
            yield f"{deployment.id}: the weights do not fit: {-found.kv_bytes:,} bytes of a pool are missing"


def sequences_fit_pools(plan: Plan, facts: Facts) -> Iterator[str]:
    """The bytes of what a pool holds are within its KV budget (decision 1)."""
    for planned in plan.deployments:
        for pattern, free in free_bytes(planned, facts):
            if free < 0:
                held = _listed(dict(pattern.sequences))
                yield f"{planned.deployment.id}: a pool with {held} needs {-free:,} bytes more than it has"


def classes_stay_with_their_model(plan: Plan, facts: Facts) -> Iterator[str]:
    """A pool holds only classes of its model that accept its precisions."""
    for planned, _, sequences in pools_of(plan):
        deployment = planned.deployment
        for service in map(facts.classes.__getitem__, sequences):
            if service.model != deployment.model:
                yield f"{deployment.id}: class {service.name!r} runs on {service.model.name}"
            elif deployment.precisions not in service.precisions:
                yield f"{deployment.id}: class {service.name!r} does not accept {deployment.precisions}"


def pools_make_replicas(plan: Plan, facts: Facts) -> Iterator[str]:
    """Every replica has `attention_dp` pools, and every pool is told, empty ones too."""
    for planned in plan.deployments:
        pools = sum(pattern.count for pattern in planned.patterns)
        needed = planned.replicas * planned.deployment.layout.attention_dp
        if pools != needed:
            yield f"{planned.deployment.id}: {planned.replicas} replicas make {needed} pools, {pools} are told"


def classes_are_served(plan: Plan, facts: Facts) -> Iterator[str]:
    """Demand with headroom, no sequence less and, the plan being trimmed, none more."""
    held = sequences_held(plan)
    for served in plan.classes:
        demand = facts.demand(served.name)
        yield from unequal(f"class {served.name!r}: demand", served.demand, demand)
        yield from unequal(f"class {served.name!r}: sequences served", served.served, demand)
        in_pools = sum(number for (_, service), number in held.items() if service == served.name)
        if in_pools != demand:
            yield f"class {served.name!r}: the pools hold {in_pools:,} of {demand:,} sequences"


def classes_keep_one_precision(plan: Plan, facts: Facts) -> Iterator[str]:
    """Decision 4, unless the policy lets a class be split."""
    for served in plan.classes:
        used = {planned.deployment.precisions for planned, _, held in pools_of(plan) if served.name in held}
        if len(used) > 1 and not facts.request.policy.split_precision:
            yield f"class {served.name!r} runs at {len(used)} pairs of precisions: {_joined(used)}"
        if set(served.precisions) != used or len(served.precisions) != len(used):
            yield f"class {served.name!r}: the plan says {_joined(served.precisions)}, it runs at {_joined(used)}"


def placements_are_told(plan: Plan, facts: Facts) -> Iterator[str]:
    """Where a class is held, how much of it, what one sequence takes, and what limits it there."""
    held = sequences_held(plan)
    for served in plan.classes:
        told = {place.deployment: place.sequences for place in served.placements}
        found = {name: number for (name, service), number in held.items() if service == served.name}
        yield from unequal(f"class {served.name!r}: sequences by deployment", _listed(told), _listed(found))
        for place in served.placements:
            planned = next(planned for planned in plan.deployments if planned.deployment.id == place.deployment)
            size = facts.sequence_bytes(planned.deployment, served.name)
            full = all(size > free for _, free in free_bytes(planned, facts))
            where = f"class {served.name!r} on {place.deployment}"
            yield from unequal(f"{where}: bytes of a sequence", place.sequence_bytes, size)
            yield from unequal(f"{where}: what limits it", place.binding, "memory" if full else "demand")


def _joined(pairs: Iterable[Precisions]) -> str:
    return "; ".join(sorted(map(str, pairs))) or "none"


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in sorted(counts.items())) or "nothing"
