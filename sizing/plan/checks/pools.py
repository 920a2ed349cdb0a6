"""Sequences into pools, pools into replicas: layouts are legal, bytes fit, every class is served exactly."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from sizing.facility.deployment import Precisions
from sizing.plan.checks.case import Case, gpus_of_replica, unequal


def layouts_are_legal(case: Case) -> Iterator[str]:
    """Heads divide, the replica is on the ladder of its domain (decision 3), experts shard over all its GPUs."""
    for name, planned in case.deployments.items():
        deployment = planned.deployment
        layout, model, domain_gpus = deployment.layout, deployment.model, deployment.system.domain_gpus
        refused = model.refusal(layout.sharding)
        if refused:
            yield f"{name}: {refused}"
        gpus = gpus_of_replica(deployment)
        if gpus > domain_gpus:
            yield f"{name}: a replica of {gpus} GPUs leaves its domain of {domain_gpus}"
        elif gpus != domain_gpus and gpus & (gpus - 1):
            yield f"{name}: a replica of {gpus} GPUs is off the ladder of a domain of {domain_gpus}"
        if layout.dcp > 1 and not case.request.policy.dcp:
            yield f"{name}: decode context parallel is not asked for"
        yield from unequal(f"{name}: expert parallel", layout.ep, gpus if model.has_routed_experts else 1)


def precisions_are_supported(case: Case) -> Iterator[str]:
    """The GPU can hold the KV precision (decision 4), and the engine runs on it with these precisions."""
    rules = case.request.policy.rules
    for name, planned in case.deployments.items():
        gpu, precision = planned.deployment.system.gpu, planned.deployment.kv_precision
        if not precision.runs_on(gpu.generation):
            yield f"{name}: {gpu.generation} GPUs cannot hold a KV cache in {precision.name}"
        weights = planned.deployment.weights
        refused = rules.supports.refusal(rules.name, gpu.vendor, gpu.generation, weights, precision)
        if refused:
            yield f"{name}: {refused}"


def budgets_are_right(case: Case) -> Iterator[str]:
    """HBM, reserve and weights of a pool, and the storage rule."""
    for name, planned in case.deployments.items():
        told, found = planned.deployment.budget, case.budget(planned.deployment)
        yield from unequal(f"{name}: HBM bytes of a pool", told.hbm_bytes, found.hbm_bytes)
        yield from unequal(f"{name}: reserve bytes of a pool", told.reserve_bytes, found.reserve_bytes)
        yield from unequal(f"{name}: weight bytes of a pool", told.weight_bytes, found.weight_bytes)
        storage = case.storage(planned.deployment)
        if planned.deployment.storage != storage:
            precision = planned.deployment.kv_precision.name
            yield f"{name}: its cache is not stored as {case.request.policy.engine} does at {precision}"


def sequences_fit_pools(case: Case) -> Iterator[str]:
    """What a pool holds is within its KV budget, pool by pool (decision 1); an empty pool has room for its weights."""
    for name, planned in case.deployments.items():
        for contents in case.contents(planned):
            if contents.free_bytes < 0:
                held = _listed(dict(contents.pattern.sequences))
                yield f"{name}: a pool with {held} needs {-contents.free_bytes:,} bytes more than it has"


def classes_stay_with_their_model(case: Case) -> Iterator[str]:
    """A pool holds only classes of its model that accept its precisions."""
    for name, service in case.held():
        deployment, asked = case.deployments[name].deployment, case.classes[service]
        if asked.model != deployment.model:
            yield f"{name}: class {service!r} runs on {asked.model.name}"
        elif deployment.precisions not in asked.precisions:
            yield f"{name}: class {service!r} does not accept {deployment.precisions}"


def pools_make_replicas(case: Case) -> Iterator[str]:
    """Every replica has `attention_dp` pools, and every pool is told, empty ones too."""
    for name, planned in case.deployments.items():
        pools = sum(pattern.count for pattern in planned.patterns)
        needed = planned.replicas * planned.deployment.layout.attention_dp
        if pools != needed:
            yield f"{name}: {planned.replicas} replicas make {needed} pools, {pools} are told"


def classes_are_served(case: Case) -> Iterator[str]:
    """Demand with headroom, no sequence less and, the plan being trimmed, none more."""
    in_all: Counter[str] = Counter()
    for (_, service), number in case.held().items():
        in_all[service] += number
    for served in case.plan.classes:
        demand = case.demand(served.name)
        yield from unequal(f"class {served.name!r}: demand", served.demand, demand)
        yield from unequal(f"class {served.name!r}: sequences served", served.served, demand)
        in_pools = in_all[served.name]
        if in_pools != demand:
            yield f"class {served.name!r}: the pools hold {in_pools:,} of {demand:,} sequences"


def classes_keep_one_precision(case: Case) -> Iterator[str]:
    """Decision 4, unless the policy lets a class be split."""
    pairs: dict[str, set[Precisions]] = defaultdict(set)
    for name, service in case.held():
        pairs[service].add(case.deployments[name].deployment.precisions)
    for served in case.plan.classes:
        used = pairs[served.name]
        if len(used) > 1 and not case.request.policy.split_precision:
            yield f"class {served.name!r} runs at {len(used)} pairs of precisions: {_joined(used)}"
        if set(served.precisions) != used or len(served.precisions) != len(used):
            yield f"class {served.name!r}: the plan says {_joined(served.precisions)}, it runs at {_joined(used)}"


def placements_are_told(case: Case) -> Iterator[str]:
    """Where a class is held, how much of it, what one sequence takes, and what limits it there.

    Memory limits it where no pool takes one more sequence, else its own demand.
    """
    held: dict[str, dict[str, int]] = defaultdict(dict)
    for (name, service), number in case.held().items():
        held[service][name] = number
    most_free = {
        name: max((contents.free_bytes for contents in case.contents(planned)), default=-1)
        for name, planned in case.deployments.items()
    }
    for served in case.plan.classes:
        told = {place.deployment: place.sequences for place in served.placements}
        found = held[served.name]
        yield from unequal(f"class {served.name!r} by deployment", _listed(told), _listed(found))
        for place in served.placements:
            planned = case.deployments[place.deployment]
            size = case.sequence_bytes(planned.deployment, served.name)
            full = most_free[place.deployment] < size
            where = f"class {served.name!r} on {place.deployment}"
            yield from unequal(f"{where}: bytes of a sequence", place.sequence_bytes, size)
            yield from unequal(f"{where}: what limits it", place.binding, "memory" if full else "demand")


def _joined(pairs: Iterable[Precisions]) -> str:
    return "; ".join(sorted(map(str, pairs))) or "nothing"


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in sorted(counts.items())) or "nothing"
