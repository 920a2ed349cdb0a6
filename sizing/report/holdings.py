"""How deployments decompose into GPUs and replicas, and classes into sequences per pool."""

from collections.abc import Iterator
from dataclasses import dataclass

from sizing.plan.plan import ClassPlacement, Plan, PlannedDeployment, ServedClass
from sizing.report.text import plural
from sizing.request.request import ServiceClass
from sizing.units.amounts import thousands


@dataclass(frozen=True, slots=True)
class Holding:
    """A class on one deployment. `number` counts the deployments of the plan from 1."""

    service: ServiceClass
    served: ServedClass
    placement: ClassPlacement
    planned: PlannedDeployment
    number: int

    @property
    def pools(self) -> int:
        """Pools that hold the class."""
        return sum(pattern.count for pattern in self.planned.patterns if self._held(pattern.sequences))

    @property
    def most_per_pool(self) -> int:
        """Sequences of this class alone that one pool can hold: floored per pool (decision 1)."""
        return self.planned.deployment.budget.kv_bytes // self.placement.sequence_bytes

    @property
    def is_shared(self) -> bool:
        """Whether a pool holds this class together with another."""
        return any(self._held(pattern.sequences) and len(pattern.sequences) > 1 for pattern in self.planned.patterns)

    def _held(self, sequences: tuple[tuple[str, int], ...]) -> int:
        return dict(sequences).get(self.served.name, 0)

    def arithmetic(self) -> str:
        """`20 per pool x 5 pools = 100 for 97 asked`, or what each pool holds where classes share pools."""
        asked = self._asked()
        if not self.is_shared:
            room = self.most_per_pool * self.pools
            return (
                f"{thousands(self.most_per_pool)} per pool x {plural(self.pools, 'pool')} = {thousands(room)} {asked}"
            )
        parts = [
            f"{thousands(held)} per pool x {plural(pattern.count, 'pool')}"
            for pattern in self.planned.patterns
            if (held := self._held(pattern.sequences))
        ]
        return f"{' + '.join(parts)} = {thousands(self.placement.sequences)} {asked}, pools shared"

    def _asked(self) -> str:
        here, asked = self.placement.sequences, self.served.demand
        return f"for {thousands(here)} asked" if here == asked else f"for {thousands(here)} of {thousands(asked)} asked"


def holdings(plan: Plan) -> Iterator[Holding]:
    """Every class on every deployment that holds it, in the order of the plan."""
    services = {service.name: service for service in plan.request.classes}
    numbered = {planned.deployment.id: (number, planned) for number, planned in enumerate(plan.deployments, start=1)}
    for served in plan.classes:
        for placement in served.placements:
            number, planned = numbered[placement.deployment]
            yield Holding(services[served.name], served, placement, planned, number)


def gpus_decomposed(planned: PlannedDeployment) -> str:
    """`40 GPUs = 5 replicas x 8, TP 8`."""
    deployment = planned.deployment
    replicas = plural(planned.replicas, "replica")
    return f"{plural(planned.gpus, 'GPU')} = {replicas} x {deployment.gpus_per_replica}, {deployment.layout}"
