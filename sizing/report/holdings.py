"""How deployments decompose into GPUs and replicas, and classes into sequences per pool."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sizing.plan.plan import ClassPlacement, Plan, PlannedDeployment, ServedClass
from sizing.report.text import plural
from sizing.request.request import ServiceClass
from sizing.units.amounts import thousands


@dataclass(frozen=True, slots=True)
class Share:
    """`pools` equal pools that hold `sequences` of a class, together with other classes or not."""

    sequences: int
    pools: int
    is_shared: bool


@dataclass(frozen=True, slots=True)
class Holding:
    """A class on one deployment, pattern by pattern. `number` counts the deployments of the plan from 1."""

    service: ServiceClass
    served: ServedClass
    placement: ClassPlacement
    planned: PlannedDeployment
    number: int
    shares: Sequence[Share]

    @property
    def pools(self) -> int:
        """Pools that hold the class."""
        return sum(share.pools for share in self.shares)

    @property
    def most_per_pool(self) -> int:
        """Sequences of this class alone that one pool can hold: floored per pool (decision 1)."""
        return self.planned.deployment.budget.kv_bytes // self.placement.sequence_bytes

    @property
    def is_shared(self) -> bool:
        """Whether a pool holds this class together with another."""
        return any(share.is_shared for share in self.shares)

    def arithmetic(self) -> str:
        """`20 per pool x 5 pools = 100 for 97 asked`, or what each pool holds where classes share pools."""
        asked = self._asked()
        if not self.is_shared:
            room = self.most_per_pool * self.pools
            return (
                f"{thousands(self.most_per_pool)} per pool x {plural(self.pools, 'pool')} = {thousands(room)} {asked}"
            )
        parts = [f"{thousands(share.sequences)} per pool x {plural(share.pools, 'pool')}" for share in self.shares]
        return f"{' + '.join(parts)} = {thousands(self.placement.sequences)} {asked}, pools shared"

    def _asked(self) -> str:
        here, asked = self.placement.sequences, self.served.demand
        return f"for {thousands(here)} asked" if here == asked else f"for {thousands(here)} of {thousands(asked)} asked"


def holdings(plan: Plan) -> Iterator[Holding]:
    """Every class on every deployment that holds it, in the order of the plan."""
    services = {service.name: service for service in plan.request.classes}
    numbered = {
        planned.deployment.id: (number, planned, _shares(planned))
        for number, planned in enumerate(plan.deployments, start=1)
    }
    for served in plan.classes:
        for placement in served.placements:
            number, planned, shares = numbered[placement.deployment]
            yield Holding(services[served.name], served, placement, planned, number, shares[served.name])


def _shares(planned: PlannedDeployment) -> Mapping[str, Sequence[Share]]:
    """By class, in the order of the patterns."""
    shares: dict[str, list[Share]] = defaultdict(list)
    for pattern in planned.patterns:
        for name, sequences in pattern.sequences:
            if sequences:
                shares[name].append(Share(sequences, pattern.count, len(pattern.sequences) > 1))
    return shares


def deployment_rows(plan: Plan, kv_of_pool: Callable[[int], str]) -> list[tuple[str, ...]]:
    """Number, model, system, GPUs, precisions and the KV budget of one pool of each deployment, as text."""
    return [
        (
            str(number),
            planned.deployment.model.name,
            planned.deployment.system.name,
            gpus_decomposed(planned),
            f"{planned.deployment.weights} / {planned.deployment.kv_precision.name}",
            kv_of_pool(planned.deployment.budget.kv_bytes),
        )
        for number, planned in enumerate(plan.deployments, start=1)
    ]


def gpus_decomposed(planned: PlannedDeployment) -> str:
    """`40 GPUs = 5 replicas x 8, TP 8`."""
    deployment = planned.deployment
    replicas = plural(planned.replicas, "replica")
    return f"{plural(planned.gpus, 'GPU')} = {replicas} x {deployment.gpus_per_replica}, {deployment.layout}"
