"""A plan beside its request: what it holds, counted out, and what the request and the physics say about it."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from sizing.facility.deployment import Deployment
from sizing.facility.site import Site
from sizing.facility.system import System
from sizing.plan.plan import Pattern, Plan, PlannedDeployment
from sizing.pool.budget import PoolBudget
from sizing.pool.engines.profile import Memory
from sizing.pool.precision import KvPrecision
from sizing.request.request import Request, ServiceClass
from sizing.sequence.attention import Storage
from sizing.sequence.model import ModelShape
from sizing.sequence.weights import FORMATS, weight_bytes


class Case:
    """What every check reads. Systems, models and precisions are the request's, never those that the plan carries."""

    def __init__(self, plan: Plan) -> None:
        request = plan.request
        self.plan: Plan = plan
        self.request: Request = request
        self.systems: dict[str, System] = {system.name: system for system in request.candidates}
        self.sites: dict[str, Site] = {site.name: site for site in request.sites}
        self.classes: dict[str, ServiceClass] = {service.name: service for service in request.classes}
        self.models: dict[str, ModelShape] = {service.model.name: service.model for service in request.classes}
        self.kv_precisions: dict[str, KvPrecision] = {
            kv.name: kv for service in request.classes for kv in service.kv_precisions
        }
        self.deployments: dict[str, PlannedDeployment] = {
            planned.deployment.id: planned for planned in plan.deployments
        }

    def demand(self, service: str) -> int:
        return ceil(self.classes[service].concurrency * (1 + self.request.policy.headroom))

    def hbm_bytes(self, system: str) -> int:
        """HBM of one GPU on the policy's basis; 0 where it is unknown, which no weights fit."""
        return self.systems[system].gpu.hbm_bytes(self.request.policy.hbm) or 0

    def budget(self, deployment: Deployment) -> PoolBudget:
        """Of one pool, worked out anew."""
        model, system = self.models[deployment.model.name], self.systems[deployment.system.name]
        weights = weight_bytes(model, FORMATS[deployment.weights])
        memory = Memory(self.hbm_bytes(system.name), system.gpu.vendor, system.gpu.name)
        precision = self.kv_precisions[deployment.kv_precision.name]
        return self.request.policy.rules.budget(memory, model, weights, precision, deployment.layout)

    def storage(self, deployment: Deployment) -> Storage:
        precision = self.kv_precisions[deployment.kv_precision.name]
        return self.request.policy.rules.storage(self.models[deployment.model.name], precision)

    def bytes_per_token(self, deployment: Deployment) -> Fraction:
        model = self.models[deployment.model.name]
        return model.bytes_per_token(deployment.layout.sharding, self.storage(deployment))

    def sequence_bytes(self, deployment: Deployment, service: str) -> int:
        """Bytes of one sequence of a class over a pool of the deployment."""
        asked = self.classes[service]
        return asked.model.sequence_bytes(asked.context, deployment.layout.sharding, self.storage(deployment))

    def contents(self, planned: PlannedDeployment) -> list["Contents"]:
        """What the pools of a deployment hold, pattern by pattern."""
        deployment = planned.deployment
        names = {name for pattern in planned.patterns for name, _ in pattern.sequences}
        sizes = {name: self.sequence_bytes(deployment, name) for name in names}
        budget = self.budget(deployment).kv_bytes
        found = []
        for pattern in planned.patterns:
            held = sum(sizes[name] * number for name, number in pattern.sequences)
            tokens = sum(self.classes[name].context * number for name, number in pattern.sequences)
            found.append(Contents(pattern, held, tokens, budget - held))
        return found

    def held(self) -> Counter[tuple[str, str]]:
        """Sequences in the pools by (deployment id, class)."""
        held: Counter[tuple[str, str]] = Counter()
        for name, planned in self.deployments.items():
            for pattern in planned.patterns:
                for service, number in pattern.sequences:
                    held[name, service] += pattern.count * number
        return held

    def standing(self, site: str | None = None) -> Counter[str]:
        """Systems by kind as they stand in the Pods of one site, or of all."""
        standing: Counter[str] = Counter()
        for filled in self.plan.pods:
            if site is None or filled.site == site:
                for system, count in filled.systems:
                    standing[system] += filled.count * count
        return standing

    def bought(self, site: str | None = None) -> Counter[str]:
        """What stands beyond what is installed, by kind, at one site or over all; below 0 where some is missing."""
        bought = self.standing(site)
        for place in self.sites.values():
            if site in (None, place.name):
                bought.subtract(place.installed_systems)
        return bought

    def bought_pods(self, site: str | None = None) -> int:
        """Pods beyond those that are installed, likewise."""
        places = [place for place in self.sites.values() if site in (None, place.name)]
        pods = sum(filled.count for filled in self.plan.pods if site in (None, filled.site))
        return pods - sum(place.installed_pods for place in places)

    def stands(self) -> Iterator[tuple[str, int, str, int]]:
        """(site, Pod, kind, systems of it); Pods are counted from 1 within their site, in the order of the plan."""
        pods: Counter[str] = Counter()
        for filled in self.plan.pods:
            for _ in range(filled.count):
                pods[filled.site] += 1
                for name, count in filled.systems:
                    yield filled.site, pods[filled.site], name, count


@dataclass(frozen=True, slots=True)
class Contents:
    """One of `pattern.count` equal pools: bytes and tokens of its sequences, bytes left free (negative: too full)."""

    pattern: Pattern
    held_bytes: int
    tokens: int
    free_bytes: int


def gpus_of_replica(deployment: Deployment) -> int:
    """`tp x attention_dp`."""
    return deployment.layout.tp * deployment.layout.attention_dp


def unequal(what: str, told: object, found: object) -> Iterator[str]:
    """A finding where the plan tells something else than the request gives."""
    if told != found:
        yield f"{what}: the plan says {_written(told)}, the request gives {_written(found)}"


def _written(value: object) -> str:
    if isinstance(value, Fraction | int):
        return f"{value.numerator:,}" if value.denominator == 1 else f"{float(value):,}"
    return "nothing" if value is None else str(value)
