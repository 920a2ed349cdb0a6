"""The deployments a request may choose from: enumerated, refused with a reason, and freed of dominated ones."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sizing.facility.deployment import Deployment, Precisions
from sizing.facility.system import System
from sizing.pool.budget import pool_budget
from sizing.pool.layout import Layout, layouts
from sizing.pool.precision import KvPrecision
from sizing.pool.storage import IdealStorage
from sizing.request.request import Rejection, Request, ServiceClass
from sizing.sequence.model import ModelShape
from sizing.sequence.weights import FORMATS, weight_bytes


@dataclass(frozen=True, slots=True)
class Candidate:
    """A deployment and what one pool of it holds of each class that it may serve.

    `sizes` are bytes of one sequence by class name; a class of which not even one fits is left out.
    """

    deployment: Deployment
    sizes: dict[str, int]

    @property
    def budget(self) -> int:
        return self.deployment.budget.kv_bytes

    def alone(self, name: str) -> int:
        """Sequences of one class that fill a pool by themselves: floor per pool (decision 1)."""
        return self.budget // self.sizes[name]

    def share(self, name: str) -> Fraction:
        """Share of a pool that one sequence takes."""
        return Fraction(self.sizes[name], self.budget)


@dataclass(frozen=True, slots=True)
class Obstacle:
    """Why no deployment of `model` on `system` holds one sequence of a class (`service` None: of any)."""

    system: str
    model: str
    service: str | None
    why: str


@dataclass(frozen=True, slots=True)
class Options:
    """Everything the program may choose from; what is not among it; and what stands in the way of whole classes."""

    candidates: tuple[Candidate, ...]
    rejected: tuple[Rejection, ...]
    obstacles: tuple[Obstacle, ...]


def enumerate_options(request: Request) -> Options:
    """All deployments of the request's candidates, dominated ones dropped; sorted by name."""
    kept: list[Candidate] = []
    rejected: list[Rejection] = []
    obstacles: list[Obstacle] = []
    models = {service.model.name: service.model for service in request.classes}
    for system in sorted(request.candidates, key=lambda system: system.name):
        for name in sorted(models):
            classes = [service for service in request.classes if service.model.name == name]
            found = _on_system(request, system, models[name], classes)
            kept.extend(found.candidates)
            rejected.extend(found.rejected)
            obstacles.extend(found.obstacles)
    return Options(tuple(kept), tuple(rejected), tuple(obstacles))


def _on_system(request: Request, system: System, model: ModelShape, classes: Sequence[ServiceClass]) -> Options:
    found: list[Candidate] = []
    rejected: list[Rejection] = []
    obstacles: list[Obstacle] = []

    def refuse(why: str) -> None:
        rejected.append(Rejection(system.name, model.name, why))

    def obstruct(why: str, service: str | None = None) -> None:
        obstacles.append(Obstacle(system.name, model.name, service, why))
        refuse(why)

    offered, dropped = layouts(model, system.domain_gpus, request.policy.dcp)
    for drop in dropped:
        refuse(f"{drop.layout}: {drop.why}")
    for kv_name in sorted({kv.name for service in classes for kv in service.kv_precisions}):
        kv = next(kv for service in classes for kv in service.kv_precisions if kv.name == kv_name)
        if not kv.runs_on(system.gpu.generation):
            obstruct(f"no KV cache in {kv.name} on {system.gpu.generation} GPUs")
            continue
        for weights in sorted({weights for service in classes for weights in service.weights}):
            pair = Precisions(weights, kv.name)
            takers = [service for service in classes if pair in service.precisions]
            if not takers:
                continue
            candidates = [candidate_of(request, system, model, weights, kv, layout, takers) for layout in offered]
            best = max(candidates, key=lambda candidate: candidate.budget, default=None)
            if best is None:
                obstruct("no layout that its heads allow is on the ladder")
                continue
            if best.budget <= 0:
                missing = f"{-best.budget:,} bytes are missing"
                obstruct(f"the weights in {weights} do not fit: {missing} on {best.deployment.layout}")
                continue
            holding = [candidate for candidate in candidates if candidate.sizes]
            for service in takers:
                if not any(service.name in candidate.sizes for candidate in holding):
                    obstruct(_too_long(service, candidates), service.name)
            undominated, refused = drop_dominated(holding)
            found.extend(undominated)
            for why in refused:
                refuse(why)
    return Options(tuple(found), tuple(rejected), tuple(obstacles))


def candidate_of(
    request: Request,
    system: System,
    model: ModelShape,
    weights: str,
    kv: KvPrecision,
    layout: Layout,
    classes: Iterable[ServiceClass],
) -> Candidate:
    """One deployment with the bytes of each class that fits a pool of it."""
    hbm = system.gpu.hbm_bytes(request.policy.hbm)
    assert hbm is not None  # a system without it is no candidate (decision 6)
    budget = pool_budget(hbm, request.policy.reserve, weight_bytes(model, FORMATS[weights]), layout)
    deployment = Deployment(system, model, weights, kv, layout, budget, IdealStorage(kv.bits.value))
    sizes = {service.name: deployment.sequence_bytes(service.context) for service in classes}
    return Candidate(deployment, {name: size for name, size in sizes.items() if size <= budget.kv_bytes})


def _too_long(service: ServiceClass, candidates: Sequence[Candidate]) -> str:
    best = max(candidates, key=lambda c: c.budget - c.deployment.sequence_bytes(service.context))
    size = best.deployment.sequence_bytes(service.context)
    return (
        f"one sequence of {service.name!r} ({service.context:,} tokens) needs {size:,} bytes; "
        f"a pool of {best.deployment.layout} leaves {max(0, best.budget):,}"
    )


def drop_dominated(candidates: Sequence[Candidate]) -> tuple[list[Candidate], list[str]]:
    """(kept, reasons for the dropped) among deployments of one system, model and pair of precisions.

    c is dropped for c' only if c' needs no more GPUs, offers no fewer pools, and one pool of it holds at least as
    much of every class, whole and fractional: then every use of c is a use of c'.
    """
    kept: list[Candidate] = []
    reasons: list[str] = []
    for candidate in sorted(candidates, key=_order):
        rival = next((other for other in kept if _covers(other, candidate)), None)
        if rival is None:
            kept.append(candidate)
        else:
            deployment = candidate.deployment
            reasons.append(
                f"{deployment.layout} at {deployment.precisions}: dominated by {rival.deployment.layout}, "
                f"which needs no more GPUs and holds no less"
            )
    return kept, reasons


def _order(candidate: Candidate) -> tuple[int, int, int, str]:
    deployment = candidate.deployment
    return deployment.gpus_per_replica, -deployment.pools_per_replica, -candidate.budget, deployment.id


def _covers(rival: Candidate, candidate: Candidate) -> bool:
    if rival.deployment.gpus_per_replica > candidate.deployment.gpus_per_replica:
        return False
    if rival.deployment.pools_per_replica < candidate.deployment.pools_per_replica:
        return False
    return all(
        name in rival.sizes and rival.budget * size >= candidate.budget * rival.sizes[name]
        for name, size in candidate.sizes.items()
    )
