"""What a plan says of itself in sum: totals, tokens, memory to the byte."""

from collections.abc import Iterator
from dataclasses import fields
from fractions import Fraction
from math import floor

from sizing.facility.loads import liquid_kw, nameplate_kw
from sizing.plan.checks.case import Case, gpus_of_replica, unequal
from sizing.plan.checks.costs import cost
from sizing.plan.plan import Memory, PlannedDeployment, TokenCount, Totals

ZERO = Fraction(0)


def totals_add_up(case: Case) -> Iterator[str]:
    """Counts, slots, kW and heat of all that stands; the cost of what is bought.

    A slot is stranded where a Pod's fill leaves it empty, free where a system may still come: one of the fill, or any
    where the Pod is empty.
    """
    systems = [(case.systems[name], count) for name, count in case.standing().items()]
    pods = case.plan.pods
    gpus = sum(system.gpus * count for system, count in systems)
    slots = sum(filled.count * case.sites[filled.site].pod.gpu_slots.value for filled in pods)
    full = sum(filled.count * case.systems[name].gpus * count for filled in pods for name, count in filled.fill.systems)
    full += sum(
        filled.count * case.sites[filled.site].pod.gpu_slots.value for filled in pods if not filled.fill.systems
    )
    high, low = cost(case)
    nameplate = sum(((nameplate_kw(system) or ZERO) * count for system, count in systems), ZERO)
    liquid = sum(((liquid_kw(system) or ZERO) * count for system, count in systems), ZERO)
    split_is_known = all(liquid_kw(system) is not None for system, _ in systems)
    found = Totals(
        pods=sum(filled.count for filled in pods),
        systems=sum(count for _, count in systems),
        domains=sum(system.domains_per_system * count for system, count in systems),
        gpus=gpus,
        idle_gpus=gpus - sum(gpus_of_replica(each.deployment) * each.replicas for each in case.plan.deployments),
        stranded_slots=slots - full,
        free_slots=full - gpus,
        nameplate_kw=nameplate,
        liquid_kw=liquid if split_is_known else None,
        air_kw=nameplate - liquid if split_is_known else None,
        balance_kw=sum((filled.fill.balance.kw * filled.count for filled in pods), ZERO),
        balance_liquid_kw=sum((filled.fill.balance.liquid_kw * filled.count for filled in pods), ZERO),
        balance_air_kw=sum((filled.fill.balance.air_kw * filled.count for filled in pods), ZERO),
        cost_usd=high,
        cost_low_usd=low,
    )
    for field in fields(Totals):
        yield from unequal(f"totals: {field.name}", getattr(case.plan.totals, field.name), getattr(found, field.name))


def tokens_add_up(case: Case) -> Iterator[str]:
    """Committed: sequences served times context. Spare: whole tokens that the free bytes of each pool still hold."""
    committed: dict[str, int] = {}
    spare: dict[str, int] = {}
    for planned in case.plan.deployments:
        name = planned.deployment.model.name
        contents = case.contents(planned)
        committed[name] = committed.get(name, 0) + sum(each.pattern.count * each.tokens for each in contents)
        spare[name] = spare.get(name, 0) + _spare_tokens(planned, case)
    by_model = case.plan.tokens_by_model
    for name in sorted(committed.keys() | by_model):
        told = by_model.get(name, TokenCount(0, 0))
        yield from unequal(f"tokens of {name}: committed", told.committed, committed.get(name, 0))
        yield from unequal(f"tokens of {name}: spare", told.spare, spare.get(name, 0))
    yield from unequal("tokens: committed", case.plan.tokens.committed, sum(committed.values()))
    yield from unequal("tokens: spare", case.plan.tokens.spare, sum(spare.values()))


def memory_adds_up(case: Case) -> Iterator[str]:
    """To the byte: HBM bought = idle GPUs + reserve + weights + committed + spare + remainder.

    Each part is summed up by itself, so that the equation is a finding of its own.
    """
    bought = sum(case.systems[name].gpus * count * case.hbm_bytes(name) for name, count in case.standing().items())
    at_work = reserve = weights = committed = spare = free = 0
    for planned in case.plan.deployments:
        deployment, budget = planned.deployment, case.budget(planned.deployment)
        pools = planned.replicas * deployment.layout.attention_dp
        contents = case.contents(planned)
        at_work += planned.replicas * gpus_of_replica(deployment) * case.hbm_bytes(deployment.system.name)
        reserve += pools * budget.reserve_bytes
        weights += pools * budget.weight_bytes
        committed += sum(each.pattern.count * each.held_bytes for each in contents)
        free += sum(each.pattern.count * each.free_bytes for each in contents)
        spare += floor(_spare_tokens(planned, case) * case.bytes_per_token(deployment))
    found = Memory(bought, bought - at_work, reserve, weights, committed, spare, free - spare)
    told = case.plan.memory
    for field in fields(Memory):
        yield from unequal(f"memory: {field.name}", getattr(told, field.name), getattr(found, field.name))
    parts = told.idle + told.reserve + told.weights + told.committed + told.spare + told.remainder
    if told.bought != parts:
        yield f"memory: {told.bought:,} bytes are bought, their parts make {parts:,}"


def _spare_tokens(planned: PlannedDeployment, case: Case) -> int:
    """Floored per pool; none where a token costs nothing, for then any number would do."""
    per_token = case.bytes_per_token(planned.deployment)
    if not per_token:
        return 0
    return sum(each.pattern.count * floor(each.free_bytes / per_token) for each in case.contents(planned))


def request_is_repeated(case: Case) -> Iterator[str]:
    """What the request rejected and assumed is told with the plan."""
    for rejection in case.request.rejected:
        if rejection not in case.plan.rejected:
            yield f"the plan does not tell why {rejection.system} was rejected: {rejection.why}"
    for assumption in case.request.assumptions:
        if assumption not in case.plan.assumptions:
            yield f"the plan does not tell an assumption: {assumption}"
