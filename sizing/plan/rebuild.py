"""From what a document tells to a plan: every budget and every figure worked out anew from request and physics."""

from collections import Counter
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from sizing.facility.deployment import Deployment, Precisions
from sizing.facility.fills import PodRoom
from sizing.facility.pod import Fill
from sizing.plan.checks.case import Case
from sizing.plan.checks.stages import is_measured, measured
from sizing.plan.choice import Choice, Sequences
from sizing.plan.compare import Finding, differences
from sizing.plan.compose import compose
from sizing.plan.document import deployment_document
from sizing.plan.placement import place
from sizing.plan.plan import FilledPods, PlacedReplicas, Plan, PlannedDeployment, StageResult, Status
from sizing.plan.told import Told, ToldBox, ToldDeployment, ToldPods
from sizing.pool.engines.profile import Memory
from sizing.pool.layout import layout_for
from sizing.request.request import Request
from sizing.sequence.weights import FORMATS, weight_bytes
from sizing.units.document import KeyPath, key_path
from sizing.units.errors import shown

Item = TypeVar("Item")

FROM = {"systems": "pods hold", "classes": "request and deployments give"}
"""What a key follows from, where that is not plain."""


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """`plan` as told, with figures worked out anew; `placement` is one that holds, as the tool itself chooses it."""

    plan: Plan
    placement: tuple[PlacedReplicas, ...]


def rebuild(told: Told, request: Request) -> Rebuilt | tuple[Finding, ...]:
    """The plan of a document; or why its parts make no whole, of which no sum would say anything.

    Budgets, bytes and sums are never the document's: they follow from what it buys, runs and holds.
    """
    findings = tuple(_Names(request).unknown_in(told))
    if findings:
        return findings
    pods, planned = _filled_pods(told, request), _planned_deployments(told, request)
    findings = tuple(_disorder(told, request, pods, planned))
    if findings:
        systems: Counter[str] = Counter()
        for (_, name), count in _choice(pods, planned).systems.items():
            systems[name] += count
        right = [deployment_document(each) for each in planned]
        return (
            *differences(told.tree["systems"], systems, ("systems",), FROM["systems"]),
            *differences(told.tree["deployments"], right, ("deployments",)),
            *findings,
        )
    composed = compose(request, _choice(pods, planned), (), (), told.reproducible)
    plan = replace(
        composed,
        pods=pods,
        deployments=planned,
        placement=_placement(told, request, planned),
        rejected=_with_others(request.rejected, told.rejected),
        assumptions=_with_others(request.assumptions, told.assumptions),
    )
    stages = tuple(_stages(told, Case(plan)))
    proven = all(stage.value == stage.bound for stage in stages)
    status = Status.OPTIMAL if proven else Status.FEASIBLE
    return Rebuilt(replace(plan, stages=stages, status=status), composed.placement)


class _Names:
    """What a document may name, and that what it counts is there."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._sites = {site.name for site in request.sites}
        self._systems = {system.name for system in request.candidates}
        self._model_of = {service.name: service.model.name for service in request.classes}
        self._models = set(self._model_of.values())
        self._precisions = {kv.name for service in request.classes for kv in service.kv_precisions}

    def unknown_in(self, told: Told) -> Iterator[Finding]:
        for number, stage in enumerate(told.stages):
            if not is_measured(stage.stage, self._request):
                yield _unknown(("objective", number, "stage"), stage.stage)
        for number, pods in enumerate(told.pods):
            yield from self._pods(("pods", number), pods)
        for number, deployment in enumerate(told.deployments):
            yield from self._deployment(("deployments", number), deployment)
        for number, box in enumerate(told.placement):
            yield from self._box(("placement", number), box)

    def _pods(self, path: KeyPath, told: ToldPods) -> Iterator[Finding]:
        yield from _known((*path, "site"), told.site, self._sites)
        for key, systems in (("fill", told.fill), ("planned", told.planned)):
            for name, count in systems.items():
                yield from _known((*path, key, name), name, self._systems)
                yield from _counted((*path, key, name), count)
        yield from _counted((*path, "count"), told.count)

    def _deployment(self, path: KeyPath, told: ToldDeployment) -> Iterator[Finding]:
        yield from _known((*path, "system"), told.system, self._systems)
        yield from _known((*path, "model"), told.model, self._models)
        yield from _known((*path, "weights"), told.weights, FORMATS)
        yield from _known((*path, "kv_precision"), told.kv_precision, self._precisions)
        for key, size in (("tp", told.tp), ("dcp", told.dcp), ("attention_dp", told.attention_dp)):
            yield from _counted((*path, "layout", key), size)
        yield from _counted((*path, "replicas"), told.replicas)
        for number, pattern in enumerate(told.patterns):
            yield from _counted((*path, "patterns", number, "count"), pattern.count)
            for name, sequences in pattern.sequences:
                here = (*path, "patterns", number, "sequences", name)
                yield from _counted(here, sequences)
                yield from _known(here, name, self._model_of)
                if self._model_of.get(name, told.model) != told.model:
                    yield Finding(key_path(here), f"its model is {self._model_of[name]}, not {shown(told.model)}")

    def _box(self, path: KeyPath, told: ToldBox) -> Iterator[Finding]:
        yield from _known((*path, "site"), told.site, self._sites)
        yield from _known((*path, "system"), told.system, self._systems)
        for number, (_, count) in enumerate(told.replicas):
            yield from _counted((*path, "replicas", number, "count"), count)


def _known(path: KeyPath, name: str, known: Container[str]) -> Iterator[Finding]:
    if name not in known:
        yield _unknown(path, name)


def _unknown(path: KeyPath, name: str) -> Finding:
    return Finding(key_path(path), f"{shown(name)} is not known to the request")


def _counted(path: KeyPath, count: int) -> Iterator[Finding]:
    if count < 1:
        yield Finding(key_path(path), f"says {count}, the least is 1")


def _disorder(
    told: Told, request: Request, pods: tuple[FilledPods, ...], planned: tuple[PlannedDeployment, ...]
) -> Iterator[Finding]:
    """Pods that hold more than planned, deployments told twice or not at all, pools that make no replicas, no room."""
    for number, filled in enumerate(pods):
        for name, count in filled.systems:
            if count > filled.fill.count(name):
                path = key_path(("pods", number, "fill", name))
                yield Finding(path, f"says {count}, more than the {filled.fill.count(name)} that are planned")
    ids = Counter(each.deployment.id for each in planned)
    for number, each in enumerate(planned):
        if ids[each.deployment.id] > 1:
            yield Finding(key_path(("deployments", number)), f"{each.deployment.id} is told twice")
        pools = sum(pattern.count for pattern in each.patterns)
        if pools != each.pools:
            whole = f"{each.replicas} x {each.deployment.pools_per_replica}"
            path = key_path(("deployments", number, "patterns"))
            yield Finding(path, f"count {pools} pools, replicas with their pools are {whole}")
    for number, box in enumerate(told.placement):
        for index, (name, _) in enumerate(box.replicas):
            if name not in ids:
                path = key_path(("placement", number, "replicas", index, "deployment"))
                yield Finding(path, f"{shown(name)} is no deployment of this plan")
    try:
        place(request, pods, planned)
    except ValueError as error:
        yield Finding("deployments", str(error))


def _filled_pods(told: Told, request: Request) -> tuple[FilledPods, ...]:
    sites = {site.name: site for site in request.sites}
    rooms = {site.name: PodRoom(site, request.candidates) for site in request.sites}
    return tuple(
        FilledPods(
            site=each.site,
            pod=sites[each.site].pod.name,
            systems=tuple(each.fill.items()),
            fill=rooms[each.site].fill(each.planned),
            count=each.count,
        )
        for each in told.pods
    )


def _planned_deployments(told: Told, request: Request) -> tuple[PlannedDeployment, ...]:
    systems = {system.name: system for system in request.candidates}
    models = {service.model.name: service.model for service in request.classes}
    precisions = {kv.name: kv for service in request.classes for kv in service.kv_precisions}
    planned = []
    for each in told.deployments:
        system, model, kv = systems[each.system], models[each.model], precisions[each.kv_precision]
        layout = layout_for(model, each.tp, each.attention_dp, each.dcp)
        hbm = system.gpu.hbm_bytes(request.policy.hbm)
        assert hbm is not None  # a system without it is no candidate (decision 6)
        rules, memory = request.policy.rules, Memory(hbm, system.gpu.vendor, system.gpu.name)
        budget = rules.budget(memory, model, weight_bytes(model, FORMATS[each.weights]), kv, layout)
        deployment = Deployment(system, model, each.weights, kv, layout, budget, rules.storage(model, kv))
        planned.append(PlannedDeployment(deployment, each.replicas, each.patterns))
    return tuple(planned)


def _choice(pods: tuple[FilledPods, ...], planned: tuple[PlannedDeployment, ...]) -> Choice:
    """What a search would have decided; all that the pools hold is served, so that nothing is trimmed."""
    fills: Counter[tuple[str, Fill]] = Counter()
    systems: Counter[tuple[str, str]] = Counter()
    for filled in pods:
        fills[filled.site, filled.fill] += filled.count
        for name, count in filled.systems:
            systems[filled.site, name] += filled.count * count
    pools: Counter[tuple[str, Sequences]] = Counter()
    served: Counter[tuple[str, Precisions]] = Counter()
    for each in planned:
        for pattern in each.patterns:
            pools[each.deployment.id, pattern.sequences] += pattern.count
            for name, sequences in pattern.sequences:
                served[name, each.deployment.precisions] += pattern.count * sequences
    deployments = {each.deployment.id: each.deployment for each in planned}
    replicas = {each.deployment.id: each.replicas for each in planned}
    return Choice(fills, systems, deployments, replicas, pools, served)


def _placement(told: Told, request: Request, planned: tuple[PlannedDeployment, ...]) -> tuple[PlacedReplicas, ...]:
    """The boxes as told; GPUs of a replica and idle GPUs follow."""
    gpus = {each.deployment.id: each.deployment.gpus_per_replica for each in planned}
    domain_gpus: Mapping[str, int] = {system.name: system.domain_gpus for system in request.candidates}
    return tuple(
        PlacedReplicas(
            site=box.site,
            pods=box.pods,
            system=box.system,
            systems=box.systems,
            domains=box.domains,
            replicas=tuple((name, count, gpus[name]) for name, count in box.replicas),
            idle_gpus=domain_gpus[box.system] - sum(count * gpus[name] for name, count in box.replicas),
        )
        for box in told.placement
    )


def _stages(told: Told, case: Case) -> Iterator[StageResult]:
    """Values worked out anew; bounds as told, for only a search can find them."""
    for each in told.stages:
        value, unit = measured(each.stage, case)
        yield StageResult(each.stage, unit, value, each.bound, each.conditional)


def _with_others(required: tuple[Item, ...], told: tuple[Item, ...]) -> tuple[Item, ...]:
    """What the request requires, then what else is told."""
    return (*required, *(each for each in told if each not in required))
