"""What the request says about everything that a plan names: the only source from which the check recomputes."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from sizing.facility.deployment import Deployment
from sizing.facility.site import Site
from sizing.facility.system import System
from sizing.plan.plan import Pattern, Plan, PlannedDeployment
from sizing.pool.budget import PoolBudget, pool_budget
from sizing.pool.precision import KvPrecision
from sizing.pool.storage import IdealStorage
from sizing.request.request import Request, ServiceClass
from sizing.sequence.model import ModelShape
from sizing.sequence.weights import FORMATS, weight_bytes


@dataclass(frozen=True, slots=True)
class Facts:
    """The request by name, and the physics of a deployment worked out from it anew."""

    request: Request
    systems: Mapping[str, System]
    sites: Mapping[str, Site]
    classes: Mapping[str, ServiceClass]
    models: Mapping[str, ModelShape]
    kv_precisions: Mapping[str, KvPrecision]

    def hbm_bytes(self, system: System) -> int:
        """HBM of one GPU on the policy's basis; 0 where it is unknown, which no weights fit."""
        return system.gpu.hbm_bytes(self.request.policy.hbm) or 0

    def budget(self, deployment: Deployment) -> PoolBudget:
        """Of one pool, from the request's own system and model."""
        model = self.models[deployment.model.name]
        weights = weight_bytes(model, FORMATS[deployment.weights])
        hbm = self.hbm_bytes(self.systems[deployment.system.name])
        return pool_budget(hbm, self.request.policy.reserve, weights, deployment.layout)

    def storage(self, deployment: Deployment) -> IdealStorage:
        return IdealStorage(self.kv_precisions[deployment.kv_precision.name].bits.value)

    def bytes_per_token(self, deployment: Deployment) -> Fraction:
        model = self.models[deployment.model.name]
        return model.bytes_per_token(deployment.layout.sharding, self.storage(deployment))

    def sequence_bytes(self, deployment: Deployment, service: str) -> int:
        """Bytes of one sequence of a class over a pool of the deployment."""
        asked = self.classes[service]
        return asked.model.sequence_bytes(asked.context, deployment.layout.sharding, self.storage(deployment))

    def demand(self, service: str) -> int:
        return ceil(self.classes[service].concurrency * (1 + self.request.policy.headroom))


def facts_of(request: Request) -> Facts:
    """The request by name."""
    return Facts(
        request,
        {system.name: system for system in request.candidates},
        {site.name: site for site in request.sites},
        {service.name: service for service in request.classes},
        {service.model.name: service.model for service in request.classes},
        {kv.name: kv for service in request.classes for kv in service.kv_precisions},
    )


def sequences_held(plan: Plan) -> Counter[tuple[str, str]]:
    """Sequences in the pools by (deployment id, class)."""
    held: Counter[tuple[str, str]] = Counter()
    for planned in plan.deployments:
        for pattern in planned.patterns:
            for service, number in pattern.sequences:
                held[planned.deployment.id, service] += pattern.count * number
    return held


def pools_of(plan: Plan) -> Iterator[tuple[PlannedDeployment, int, Mapping[str, int]]]:
    """(deployment, equal pools, sequences of each class in one of them)."""
    for planned in plan.deployments:
        for pattern in planned.patterns:
            yield planned, pattern.count, dict(pattern.sequences)


def free_bytes(planned: PlannedDeployment, facts: Facts) -> list[tuple[Pattern, int]]:
    """(pattern, bytes left free in each of its pools); negative where it holds too much."""
    budget = facts.budget(planned.deployment).kv_bytes
    sizes = {name: facts.sequence_bytes(planned.deployment, name) for p in planned.patterns for name, _ in p.sequences}
    return [
        (pattern, budget - sum(sizes[name] * number for name, number in pattern.sequences))
        for pattern in planned.patterns
    ]


def systems_standing(plan: Plan, site: str | None = None) -> Counter[str]:
    """Systems by kind as they stand in the Pods of one site, or of all."""
    standing: Counter[str] = Counter()
    for filled in plan.pods:
        if site is None or filled.site == site:
            for system, count in filled.systems:
                standing[system] += filled.count * count
    return standing


def systems_in_pods(plan: Plan) -> Iterator[tuple[str, int, str, int]]:
    """(site, Pod, kind, systems of it); Pods are counted from 1 within their site, in the order of the plan."""
    pods: Counter[str] = Counter()
    for filled in plan.pods:
        for _ in range(filled.count):
            pods[filled.site] += 1
            for name, count in filled.systems:
                yield filled.site, pods[filled.site], name, count


def unequal(what: str, told: object, found: object) -> Iterator[str]:
    """A finding where the plan tells something else than the request gives."""
    if told != found:
        yield f"{what}: the plan says {_written(told)}, the request gives {_written(found)}"


def _written(value: object) -> str:
    if isinstance(value, Fraction):
        return f"{float(value):,}" if value.denominator > 1 else f"{value.numerator:,}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return "unknown" if value is None else str(value)
