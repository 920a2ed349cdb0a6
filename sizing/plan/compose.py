"""From what a search decided to a plan: surplus trimmed away, systems stood in Pods, everything summed up."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from math import floor

from sizing.facility.deployment import Precisions
from sizing.facility.loads import SiteLoad, known, nameplate_kw, site_loads
from sizing.facility.pod import Fill
from sizing.facility.system import System
from sizing.plan.choice import Choice, Sequences
from sizing.plan.cost import cost_lines, total_cost
from sizing.plan.inventory import installed_systems
from sizing.plan.placement import MOST_PLACED, place
from sizing.plan.plan import (
    ClassPlacement,
    FilledPods,
    Limit,
    Memory,
    Pattern,
    Plan,
    PlannedDeployment,
    ServedClass,
    StageResult,
    Status,
    TokenCount,
    Totals,
)
from sizing.request.request import Rejection, Request
from sizing.units.errors import BadInput, Problem

ZERO = Fraction(0)


def compose(
    request: Request,
    choice: Choice,
    stages: tuple[StageResult, ...],
    rejected: tuple[Rejection, ...],
    reproducible: bool = True,
    notes: tuple[str, ...] = (),
) -> Plan:
    """The plan of a choice. `optimal` where every stage has met its bound. `notes` tell how it was found.

    Raises BadInput where it would be too large to be placed and checked.
    """
    systems = {system.name: system for system in request.candidates}
    _refuse_too_large(choice, systems)
    bought = _standing(choice)
    deployments = planned_deployments(choice)
    pods = filled_pods(request, choice)
    tokens = {deployment.deployment.id: _tokens(request, deployment) for deployment in deployments}
    by_model: dict[str, TokenCount] = {}
    for deployment in deployments:
        model = deployment.deployment.model.name
        by_model[model] = _added(by_model.get(model, TokenCount(0, 0)), tokens[deployment.deployment.id])
    return Plan(
        request=request,
        status=Status.OPTIMAL if all(stage.value == stage.bound for stage in stages) else Status.FEASIBLE,
        stages=stages,
        pods=pods,
        systems=tuple(sorted(bought.items())),
        deployments=deployments,
        classes=served_classes(request, deployments),
        totals=_totals(request, systems, bought, pods, deployments),
        tokens=_added(*by_model.values()),
        tokens_by_model=dict(sorted(by_model.items())),
        memory=_memory(request, systems, bought, deployments, tokens),
        limits=limits_of(request, choice),
        placement=place(request, pods, deployments),
        rejected=(*request.rejected, *rejected),
        assumptions=(*request.assumptions, *notes),
        reproducible=reproducible,
    )


def _refuse_too_large(choice: Choice, systems: Mapping[str, System]) -> None:
    domains = sum(count * systems[name].domains_per_system for (_, name), count in choice.systems.items())
    for number, what in ((domains, "domains of systems"), (sum(choice.pods.values()), "Pods")):
        if number > MOST_PLACED:
            least = "less demand or fewer spare systems"
            raise BadInput(
                Problem(f"the plan takes {number:,} {what}, at most {MOST_PLACED:,} are planned", accepted=least)
            )


def planned_deployments(choice: Choice) -> tuple[PlannedDeployment, ...]:
    """Replicas and their pools after trimming: no class holds more than it is served."""
    surplus = _surplus(choice)
    by_deployment: dict[str, Counter[Sequences]] = defaultdict(Counter)
    for (name, pattern), count in sorted(choice.pools.items(), reverse=True):
        precisions = choice.deployments[name].precisions
        for trimmed, pools in _trimmed(pattern, count, precisions, surplus):
            by_deployment[name][trimmed] += pools
    planned = []
    for name, replicas in sorted(choice.replicas.items()):
        patterns = {pattern: count for pattern, count in by_deployment[name].items() if pattern}
        empty = replicas * choice.deployments[name].pools_per_replica - sum(patterns.values())
        filled = [Pattern(count, pattern) for pattern, count in sorted(patterns.items(), reverse=True)]
        rest = [Pattern(empty, ())] if empty else []
        planned.append(PlannedDeployment(choice.deployments[name], replicas, (*filled, *rest)))
    return tuple(planned)


def _surplus(choice: Choice) -> Counter[tuple[str, Precisions]]:
    held: Counter[tuple[str, Precisions]] = Counter()
    for (deployment, pattern), count in choice.pools.items():
        for name, number in pattern:
            held[name, choice.deployments[deployment].precisions] += number * count
    return Counter({key: number - choice.served.get(key, 0) for key, number in held.items()})


def _trimmed(
    pattern: Sequences, count: int, precisions: Precisions, surplus: Counter[tuple[str, Precisions]]
) -> Iterator[tuple[Sequences, int]]:
    """(sequences, pools) of `count` pools of a pattern, less what is surplus: whole pools first, then a part of one."""
    for index, (name, number) in enumerate(pattern):
        extra = min(surplus[name, precisions], number * count)
        if not extra:
            continue
        surplus[name, precisions] -= extra
        cleared, part = divmod(extra, number)
        without = (*pattern[:index], *pattern[index + 1 :])
        fewer = (*pattern[:index], (name, number - part), *pattern[index + 1 :])
        for remaining, pools in (
            (without, cleared),
            (fewer, 1 if part else 0),
            (pattern, count - cleared - bool(part)),
        ):
            if pools:
                yield from _trimmed(remaining, pools, precisions, surplus)
        return
    yield pattern, count


def filled_pods(request: Request, choice: Choice) -> tuple[FilledPods, ...]:
    """Systems into the Pods of their site: mixed Pods first, each filled before the next is begun."""
    pod_types = {site.name: site.pod.name for site in request.sites}
    left = Counter(choice.systems)
    runs: list[FilledPods] = []
    for (site, fill), count in sorted(choice.pods.items(), key=_pod_order):
        for _ in range(count):
            systems = []
            for name, most in fill.systems:
                taken = min(most, left[site, name])
                left[site, name] -= taken
                if taken:
                    systems.append((name, taken))
            if runs and (runs[-1].site, runs[-1].fill, runs[-1].systems) == (site, fill, tuple(systems)):
                runs[-1] = replace(runs[-1], count=runs[-1].count + 1)
            else:
                runs.append(FilledPods(site, pod_types[site], tuple(systems), fill, 1))
    return tuple(runs)


def _pod_order(item: tuple[tuple[str, Fill], int]) -> tuple[str, int, tuple[tuple[str, int], ...]]:
    (site, fill), _ = item
    return site, -len(fill.systems), fill.systems


def served_classes(request: Request, deployments: tuple[PlannedDeployment, ...]) -> tuple[ServedClass, ...]:
    """Where each class is held. What limits it there is memory where no pool takes one more, else its own demand."""
    result = []
    holding = [
        (planned, _held(planned), max(free for _, free in _free_bytes(request, planned))) for planned in deployments
    ]
    for service in sorted(request.classes, key=lambda service: service.name):
        placements = []
        pairs = set()
        for planned, held, room in holding:
            number = held[service.name]
            if not number:
                continue
            size = planned.deployment.sequence_bytes(service.context)
            placements.append(
                ClassPlacement(planned.deployment.id, number, size, "memory" if size > room else "demand")
            )
            pairs.add(planned.deployment.precisions)
        served = sum(placement.sequences for placement in placements)
        precisions = tuple(pair for pair in service.precisions if pair in pairs)
        result.append(ServedClass(service.name, service.demand, served, precisions, tuple(placements)))
    return tuple(result)


def _held(planned: PlannedDeployment) -> Counter[str]:
    """Sequences of each class."""
    held: Counter[str] = Counter()
    for pattern in planned.patterns:
        for name, number in pattern.sequences:
            held[name] += pattern.count * number
    return held


def _free_bytes(request: Request, planned: PlannedDeployment) -> list[tuple[int, int]]:
    """(pools, free bytes in each) by pattern."""
    held = _held(planned)
    sizes = {
        service.name: planned.deployment.sequence_bytes(service.context)
        for service in request.classes
        if service.name in held
    }
    budget = planned.deployment.budget.kv_bytes
    return [
        (pattern.count, budget - sum(sizes[name] * number for name, number in pattern.sequences))
        for pattern in planned.patterns
    ]


def _tokens(request: Request, planned: PlannedDeployment) -> TokenCount:
    contexts = {service.name: service.context for service in request.classes}
    per_token = planned.deployment.bytes_per_token
    committed = sum(
        pattern.count * number * contexts[name] for pattern in planned.patterns for name, number in pattern.sequences
    )
    spare = sum(pools * floor(free / per_token) for pools, free in _free_bytes(request, planned)) if per_token else 0
    return TokenCount(committed, spare)


def _added(*counts: TokenCount) -> TokenCount:
    return TokenCount(sum(count.committed for count in counts), sum(count.spare for count in counts))


def _memory(
    request: Request,
    systems: Mapping[str, System],
    bought: Mapping[str, int],
    deployments: tuple[PlannedDeployment, ...],
    tokens: Mapping[str, TokenCount],
) -> Memory:
    total = idle = 0
    for name, count in bought.items():
        system = systems[name]
        hbm = system.gpu.hbm_bytes(request.policy.hbm)
        assert hbm is not None  # a system without it is no candidate (decision 6)
        in_replicas = sum(planned.gpus for planned in deployments if planned.deployment.system.name == name)
        total += hbm * system.gpus * count
        idle += hbm * (system.gpus * count - in_replicas)
    reserve = sum(planned.pools * planned.deployment.budget.reserve_bytes for planned in deployments)
    weights = sum(planned.pools * planned.deployment.budget.weight_bytes for planned in deployments)
    free = sum(count * size for planned in deployments for count, size in _free_bytes(request, planned))
    spare = sum(
        floor(tokens[planned.deployment.id].spare * planned.deployment.bytes_per_token) for planned in deployments
    )
    committed = total - idle - reserve - weights - free
    return Memory(total, idle, reserve, weights, committed, spare, free - spare)


def _totals(
    request: Request,
    systems: Mapping[str, System],
    bought: Mapping[str, int],
    pods: tuple[FilledPods, ...],
    deployments: tuple[PlannedDeployment, ...],
) -> Totals:
    slots = {site.name: site.pod.gpu_slots.value for site in request.sites}
    gpus = sum(systems[name].gpus * count for name, count in bought.items())
    stranded = free = 0
    for run in pods:
        planned = sum(systems[name].gpus * count for name, count in run.fill.systems) or slots[run.site]
        standing = sum(systems[name].gpus * count for name, count in run.systems)
        stranded += run.count * (slots[run.site] - planned)
        free += run.count * (planned - standing)
    heat = [(systems[name].liquid_kw, systems[name].air_kw, count) for name, count in bought.items()]
    cost = total_cost(request, cost_lines(request, pods))
    known_heat = [(liquid.value, air, count) for liquid, air, count in heat if liquid is not None and air is not None]
    split_is_known = len(known_heat) == len(heat)
    return Totals(
        pods=sum(run.count for run in pods),
        systems=sum(bought.values()),
        domains=sum(systems[name].domains_per_system * count for name, count in bought.items()),
        gpus=gpus,
        idle_gpus=gpus - sum(planned.gpus for planned in deployments),
        stranded_slots=stranded,
        free_slots=free,
        nameplate_kw=sum((known(nameplate_kw(systems[name])) * count for name, count in bought.items()), ZERO),
        liquid_kw=sum((liquid * count for liquid, _, count in known_heat), ZERO) if split_is_known else None,
        air_kw=sum((air * count for _, air, count in known_heat), ZERO) if split_is_known else None,
        balance_kw=sum((run.fill.balance.kw * run.count for run in pods), ZERO),
        balance_liquid_kw=sum((run.fill.balance.liquid_kw * run.count for run in pods), ZERO),
        balance_air_kw=sum((run.fill.balance.air_kw * run.count for run in pods), ZERO),
        cost_usd=None if cost is None else cost.high,
        cost_low_usd=None if cost is None else cost.low,
    )


def limits_of(request: Request, choice: Choice) -> tuple[Limit, ...]:
    """Every limit of every site, then supply. A limit binds where not even the least further purchase fits.

    Limits of a site count all that stands there; supply counts what is bought.
    """
    return tuple(_limits(request, {system.name: system for system in request.candidates}, choice, _standing(choice)))


def _standing(choice: Choice) -> Counter[str]:
    """Systems of each kind over all sites."""
    standing: Counter[str] = Counter()
    for (_, name), count in choice.systems.items():
        standing[name] += count
    return standing


def _limits(
    request: Request, systems: Mapping[str, System], choice: Choice, bought: Mapping[str, int]
) -> Iterator[Limit]:
    there = installed_systems(request)
    for site in sorted(request.sites, key=lambda site: site.name):
        here = [(systems[name], count) for (place, name), count in choice.systems.items() if place == site.name]
        pods = [(fill, count) for (place, fill), count in choice.pods.items() if place == site.name]
        for load in site_loads(site, request.policy.power_basis):
            used = _used(load, here, pods)
            if used is None:
                continue
            steps = [step for system in _kinds(bought, systems) if (step := load.of_system(system))]
            steps = steps or [step for fill, _ in pods if (step := load.of_pod(fill))]
            binding = load.limit is not None and bool(steps) and used + min(steps) > load.limit
            yield Limit(load.name, site.name, used, load.limit, load.unit, binding)
    for name, most in sorted(request.policy.supply.items()):
        if name in systems:
            used = Fraction(bought.get(name, 0) - there[name])
            yield Limit(f"supply:{name}", None, used, Fraction(most), "systems", name in bought and used + 1 > most)


def _used(load: SiteLoad, here: list[tuple[System, int]], pods: list[tuple[Fill, int]]) -> Fraction | None:
    of_systems = [(load.of_system(system), count) for system, count in here]
    if any(each is None for each, _ in of_systems):
        return None
    return sum((known(each) * count for each, count in of_systems), ZERO) + sum(
        (load.of_pod(fill) * count for fill, count in pods), ZERO
    )


def _kinds(bought: Mapping[str, int], systems: Mapping[str, System]) -> list[System]:
    return [systems[name] for name in sorted(bought)]
