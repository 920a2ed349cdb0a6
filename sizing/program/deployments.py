"""The deployments a request may choose from: enumerated, refused with a reason, and freed of dominated ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sizing.facility.deployment import Deployment, Precisions
from sizing.facility.system import System
from sizing.pool.engines.profile import Memory
from sizing.pool.layout import Layout, layouts
from sizing.pool.precision import KvPrecision
from sizing.request.request import Rejection, Request, ServiceClass
from sizing.sequence.model import ModelShape
from sizing.sequence.weights import FORMATS, weight_bytes
from sizing.units.amounts import gib


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
    """Why no deployment of `model` on `system` holds one sequence of `services`.

    `missing_bytes` is what the best layout lacks; None where it is not memory that is missing.
    """

    system: str
    model: str
    services: frozenset[str]
    why: str
    missing_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Options:
    """Everything the program may choose from; what is not among it; and what stands in the way of whole classes."""

    candidates: tuple[Candidate, ...]
    rejected: tuple[Rejection, ...]
    obstacles: tuple[Obstacle, ...]


def enumerate_options(request: Request) -> Options:
    """All deployments of the request's candidates, dominated ones dropped; sorted by name."""
    models = {service.model.name: service.model for service in request.classes}
    found = [
        offers.on(system)
        for offers in (_Offers(request, models[name]) for name in sorted(models))
        for system in sorted(request.candidates, key=lambda system: system.name)
    ]
    candidates = (candidate for options in found for candidate in options.candidates)
    return Options(
        tuple(sorted(candidates, key=lambda candidate: candidate.deployment.id)),
        tuple(rejection for options in found for rejection in options.rejected),
        tuple(obstacle for options in found for obstacle in options.obstacles),
    )


class _Offers:
    """One model of a request, and how systems may carry it."""

    def __init__(self, request: Request, model: ModelShape) -> None:
        self.request = request
        self.model = model
        self.classes = [service for service in request.classes if service.model.name == model.name]
        self.weights = {
            weights: weight_bytes(model, FORMATS[weights])
            for weights in sorted({weights for service in self.classes for weights in service.weights})
        }
        self.kv_precisions = {kv.name: kv for service in self.classes for kv in service.kv_precisions}
        self._bytes: dict[tuple[str, Layout, int], int] = {}

    def on(self, system: System) -> Options:
        """Every layout at every pair of precisions that some class accepts and the GPU supports."""
        found: list[Candidate] = []
        refused: list[str] = []
        obstacles: list[Obstacle] = []

        def obstruct(why: str, services: Sequence[ServiceClass], missing_bytes: int | None = None) -> None:
            names = frozenset(service.name for service in services)
            obstacles.append(Obstacle(system.name, self.model.name, names, why, missing_bytes))
            refused.append(why)

        offered, dropped = layouts(self.model, system.domain_gpus, self.request.policy.dcp)
        refused.extend(f"{drop.layout}: {drop.why}" for drop in dropped)
        if not offered:
            obstruct("no layout that its heads allow is on the ladder", self.classes)
        for kv in (self.kv_precisions[name] for name in sorted(self.kv_precisions) if offered):
            if not kv.runs_on(system.gpu.generation):
                takers = [service for service in self.classes if kv in service.kv_precisions]
                obstruct(f"no KV cache in {kv.name} on {system.gpu.generation} GPUs", takers)
                continue
            for weights in self.weights:
                takers = [service for service in self.classes if Precisions(weights, kv.name) in service.precisions]
                if not takers:
                    continue
                rules, gpu = self.request.policy.rules, system.gpu
                unsupported = rules.supports.refusal(rules.name, gpu.vendor, gpu.generation, weights, kv)
                if unsupported:
                    obstruct(unsupported, takers)
                    continue
                candidates = [self._candidate(system, weights, kv, layout, takers) for layout in offered]
                if all(candidate.budget <= 0 for candidate in candidates):
                    missing, layout = min(
                        (-c.budget * c.deployment.pools_per_replica, c.deployment.layout) for c in candidates
                    )
                    lack = f"{missing:,} bytes are missing ({gib(missing)}) on {layout}"
                    obstruct(f"the weights in {weights} do not fit: {lack}", takers, missing)
                    continue
                for service in takers:
                    if not any(service.name in candidate.sizes for candidate in candidates):
                        obstruct(*_too_long(service, candidates))
                undominated, reasons = drop_dominated([candidate for candidate in candidates if candidate.sizes])
                found.extend(undominated)
                refused.extend(reasons)
        rejected = tuple(Rejection(system.name, self.model.name, why) for why in refused)
        return Options(tuple(found), rejected, tuple(obstacles))

    def _candidate(
        self, system: System, weights: str, kv: KvPrecision, layout: Layout, classes: Sequence[ServiceClass]
    ) -> Candidate:
        """One deployment with the bytes of each class that fits a pool of it."""
        hbm = system.gpu.hbm_bytes(self.request.policy.hbm)
        assert hbm is not None  # a system without it is no candidate (decision 6)
        rules, memory = self.request.policy.rules, Memory(hbm, system.gpu.vendor, system.gpu.name)
        budget = rules.budget(memory, self.model, self.weights[weights], kv, layout)
        deployment = Deployment(system, self.model, weights, kv, layout, budget, rules.storage(self.model, kv))
        sizes = {service.name: self._sequence_bytes(deployment, service.context) for service in classes}
        return Candidate(deployment, {name: size for name, size in sizes.items() if size <= budget.kv_bytes})

    def _sequence_bytes(self, deployment: Deployment, context: int) -> int:
        """The same on every system, and at all weights: worked out once."""
        key = deployment.kv_precision.name, deployment.layout, context
        if key not in self._bytes:
            self._bytes[key] = deployment.sequence_bytes(context)
        return self._bytes[key]


def _too_long(service: ServiceClass, candidates: Sequence[Candidate]) -> tuple[str, list[ServiceClass], int]:
    """(why, the class, bytes that are missing) in the layout that comes nearest to holding one sequence."""
    best = max(candidates, key=lambda c: c.budget - c.deployment.sequence_bytes(service.context))
    size, room = best.deployment.sequence_bytes(service.context), max(0, best.budget)
    deployment = best.deployment
    why = (
        f"one sequence of `{service.name}` needs {gib(size, 0)}; {deployment.system.name} leaves {gib(room, 0)} "
        f"({service.context:,} tokens at {deployment.precisions} on {deployment.layout}; "
        f"{size - room:,} bytes are missing)"
    )
    return why, [service], size - room


def drop_dominated(candidates: Sequence[Candidate]) -> tuple[list[Candidate], list[str]]:
    """(kept, reasons for the dropped) among deployments of one system, model and pair of precisions.

    c is dropped for c' only if c' needs no more GPUs, offers no fewer pools, and one pool of it holds at least as
    much of every class, whole and fractional: then every use of c is a use of c'.
    """
    ordered = sorted(candidates, key=_order)
    kept: list[Candidate] = []
    dropped: list[Candidate] = []
    for number, candidate in enumerate(ordered):
        before, after = ordered[:number], ordered[number + 1 :]
        is_covered = any(_covers(other, candidate) for other in before) or any(
            _covers(other, candidate) and not _covers(candidate, other) for other in after
        )
        (dropped if is_covered else kept).append(candidate)
    reasons = []
    for candidate in dropped:
        layout, precisions = candidate.deployment.layout, candidate.deployment.precisions
        rival = next(other for other in kept if _covers(other, candidate)).deployment.layout
        reasons.append(f"{layout} at {precisions}: dominated by {rival}, which needs no more GPUs and holds no less")
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
