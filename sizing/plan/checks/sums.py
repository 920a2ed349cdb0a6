"""What a plan says of itself in sum: totals, tokens, memory to the byte, stages and status."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from fractions import Fraction
from math import ceil, floor

from sizing.facility.deployment import Deployment
from sizing.plan.checks.facts import Facts, free_bytes, sequences_held, systems_standing, unequal
from sizing.plan.plan import Memory, Plan, Status, TokenCount, Totals


def totals_add_up(plan: Plan, facts: Facts) -> Iterator[str]:
    """Counts, slots, kW and heat of what is bought; nothing has a price yet."""
    systems = [(facts.systems[name], count) for name, count in sorted(systems_standing(plan).items())]
    gpus = sum(system.gpus * count for system, count in systems)
    full = stranded = 0
    for filled in plan.pods:
        planned = sum(facts.systems[name].gpus * count for name, count in filled.fill.systems)
        full += filled.count * planned
        stranded += filled.count * (facts.sites[filled.site].pod.gpu_slots.value - planned)
    liquid = [(system.liquid_kw.value if system.liquid_kw else None, count) for system, count in systems]
    heat_is_known = all(kw is not None for kw, _ in liquid)
    nameplate_kw = sum((system.nameplate_kw.value * n for system, n in systems if system.nameplate_kw), Fraction(0))
    liquid_kw = sum(((kw or Fraction(0)) * count for kw, count in liquid), Fraction(0))
    found = Totals(
        pods=sum(filled.count for filled in plan.pods),
        systems=sum(count for _, count in systems),
        domains=sum(system.domains_per_system * count for system, count in systems),
        gpus=gpus,
        idle_gpus=gpus - sum(planned.replicas * _gpus_of_replica(planned.deployment) for planned in plan.deployments),
        stranded_slots=stranded,
        free_slots=full - gpus,
        nameplate_kw=nameplate_kw,
        liquid_kw=liquid_kw if heat_is_known else None,
        air_kw=nameplate_kw - liquid_kw if heat_is_known else None,
        balance_kw=sum((filled.fill.balance.kw * filled.count for filled in plan.pods), Fraction(0)),
        balance_liquid_kw=sum((filled.fill.balance.liquid_kw * filled.count for filled in plan.pods), Fraction(0)),
        balance_air_kw=sum((filled.fill.balance.air_kw * filled.count for filled in plan.pods), Fraction(0)),
    )
    for field in fields(Totals):
        yield from unequal(f"totals: {field.name}", getattr(plan.totals, field.name), getattr(found, field.name))


def tokens_add_up(plan: Plan, facts: Facts) -> Iterator[str]:
    """Committed: sequences served times context. Spare: whole tokens that the free bytes of each pool still hold."""
    found: dict[str, TokenCount] = {}
    for planned in plan.deployments:
        name = planned.deployment.model.name
        before = found.get(name, TokenCount(0, 0))
        committed = sum(
            pattern.count * number * facts.classes[service].context
            for pattern in planned.patterns
            for service, number in pattern.sequences
        )
        per_token = facts.bytes_per_token(planned.deployment)
        spare = sum(
            pattern.count * floor(free / per_token) for pattern, free in free_bytes(planned, facts) if per_token
        )
        found[name] = TokenCount(before.committed + committed, before.spare + spare)
    for name in sorted(found.keys() | plan.tokens_by_model):
        yield from unequal(f"tokens of {name}", plan.tokens_by_model.get(name), found.get(name))
    yield from unequal("tokens: committed", plan.tokens.committed, sum(count.committed for count in found.values()))
    yield from unequal("tokens: spare", plan.tokens.spare, sum(count.spare for count in found.values()))


def memory_adds_up(plan: Plan, facts: Facts) -> Iterator[str]:
    """To the byte: HBM bought = idle GPUs + reserve + weights + committed + spare + remainder.

    Each part is summed up by itself, so that the equation is a finding of its own.
    """
    standing = systems_standing(plan)
    bought = {name: facts.systems[name].gpus * count for name, count in standing.items()}
    at_work = dict.fromkeys(bought, 0)
    reserve = weights = committed = spare = free = 0
    for planned in plan.deployments:
        deployment, budget = planned.deployment, facts.budget(planned.deployment)
        name, pools = deployment.system.name, planned.replicas * deployment.layout.attention_dp
        at_work[name] = at_work.get(name, 0) + planned.replicas * _gpus_of_replica(deployment)
        reserve += pools * budget.reserve_bytes
        weights += pools * budget.weight_bytes
        committed += sum(
            pattern.count * number * facts.sequence_bytes(deployment, service)
            for pattern in planned.patterns
            for service, number in pattern.sequences
        )
        per_token = facts.bytes_per_token(deployment)
        left = free_bytes(planned, facts)
        spare += floor(sum(p.count * floor(size / per_token) for p, size in left if per_token) * per_token)
        free += sum(pattern.count * size for pattern, size in left)
    hbm = {name: facts.hbm_bytes(facts.systems[name]) for name in at_work}
    found = Memory(
        bought=sum(bought.get(name, 0) * hbm[name] for name in at_work),
        idle=sum((bought.get(name, 0) - gpus) * hbm[name] for name, gpus in at_work.items()),
        reserve=reserve,
        weights=weights,
        committed=committed,
        spare=spare,
        remainder=free - spare,
    )
    for field in fields(Memory):
        yield from unequal(f"memory: {field.name}", getattr(plan.memory, field.name), getattr(found, field.name))
    told = plan.memory
    parts = told.idle + told.reserve + told.weights + told.committed + told.spare + told.remainder
    if told.bought != parts:
        yield f"memory: {told.bought:,} bytes are bought, their parts make {parts:,}"


def stages_are_reached(plan: Plan, facts: Facts) -> Iterator[str]:
    """The stages that the policy lists, in its order, each at the value that the plan really has."""
    told = tuple(stage.stage for stage in plan.stages)
    yield from unequal("stages", ", ".join(told), ", ".join(facts.request.policy.objective))
    for stage in plan.stages:
        if stage.stage not in VALUES:
            yield f"stage {stage.stage!r} cannot be checked"
            continue
        value, unit = VALUES[stage.stage]
        yield from unequal(f"stage {stage.stage}", stage.value, value(plan, facts))
        yield from unequal(f"stage {stage.stage}: unit", stage.unit, unit)


def status_is_earned(plan: Plan, facts: Facts) -> Iterator[str]:
    """No bound is above its value; optimal means that every stage meets its bound; a bound after one that does not is
    conditional."""
    proven = True
    for stage in plan.stages:
        if stage.bound is not None and stage.bound > stage.value:
            yield f"stage {stage.stage}: the bound {stage.bound:,} is above the value {stage.value:,}"
        if stage.bound is not None and stage.conditional == proven:
            yield f"stage {stage.stage}: its bound is {'not ' if proven else ''}conditional on stages before"
        proven = proven and stage.bound == stage.value
    status = Status.OPTIMAL if proven else Status.FEASIBLE
    if plan.status is not status:
        yield f"the status is {plan.status}, the bounds make it {status}"


def request_is_repeated(plan: Plan, facts: Facts) -> Iterator[str]:
    """What the request rejected and assumed is told with the plan."""
    for rejection in facts.request.rejected:
        if rejection not in plan.rejected:
            yield f"that {rejection.system} was rejected is not told: {rejection.why}"
    for assumption in facts.request.assumptions:
        if assumption not in plan.assumptions:
            yield f"an assumption is not told: {assumption}"


def _gpus_of_replica(deployment: Deployment) -> int:
    return deployment.layout.tp * deployment.layout.attention_dp


def _pods(plan: Plan, facts: Facts) -> int:
    return sum(filled.count for filled in plan.pods)


def _kinds(plan: Plan, facts: Facts) -> int:
    return len(systems_standing(plan))


def _power(plan: Plan, facts: Facts) -> int:
    """Installed nameplate, always (decision 5): tenths of a kW of each system, rounded up."""
    systems = ((facts.systems[name].nameplate_kw, count) for name, count in systems_standing(plan).items())
    return sum(ceil(kw.value * 10) * count for kw, count in systems if kw)


def _gpus(plan: Plan, facts: Facts) -> int:
    return sum(facts.systems[name].gpus * count for name, count in systems_standing(plan).items())


def _steps(plan: Plan, facts: Facts) -> Iterator[tuple[int, int, int]]:
    """(sequences, KV steps, weight steps) below the best that the class accepts."""
    deployments = {planned.deployment.id: planned.deployment for planned in plan.deployments}
    for (name, service), number in sequences_held(plan).items():
        asked, used = facts.classes[service], deployments[name]
        kv = [accepted.name for accepted in asked.kv_precisions]
        if used.kv_precision.name in kv and used.weights in asked.weights:
            yield number, kv.index(used.kv_precision.name), asked.weights.index(used.weights)


def _precision(plan: Plan, facts: Facts) -> int:
    return sum(number * steps for number, steps, _ in _steps(plan, facts))


def _weight_precision(plan: Plan, facts: Facts) -> int:
    return sum(number * steps for number, _, steps in _steps(plan, facts))


VALUES: Mapping[str, tuple[Callable[[Plan, Facts], int], str]] = {
    "pods": (_pods, "Pods"),
    "system_kinds": (_kinds, "kinds"),
    "power": (_power, "0.1 kW"),
    "gpus": (_gpus, "GPUs"),
    "precision": (_precision, "sequence steps"),
    "weight_precision": (_weight_precision, "sequence steps"),
}
