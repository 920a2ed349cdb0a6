"""The index sets of the program: classes, sites, systems, fills and deployments, sorted by name."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sizing.facility.deployment import Precisions
from sizing.facility.fills import fills
from sizing.facility.pod import Fill
from sizing.facility.site import Site
from sizing.facility.system import System
from sizing.program.deployments import Candidate
from sizing.request.request import Request, ServiceClass


@dataclass(frozen=True, slots=True)
class Sets:
    """The index sets of the program, sorted by name. `systems` are kinds that some candidate and some Pod can use."""

    request: Request
    candidates: tuple[Candidate, ...]
    systems: Mapping[str, System]
    fills: Mapping[str, tuple[Fill, ...]]

    @property
    def sites(self) -> Mapping[str, Site]:
        return {site.name: site for site in sorted(self.request.sites, key=lambda site: site.name)}

    @property
    def classes(self) -> tuple[ServiceClass, ...]:
        return tuple(sorted(self.request.classes, key=lambda service: service.name))

    def served_pairs(self) -> list[tuple[str, Precisions]]:
        """(class, precisions) that some candidate offers."""
        offered = {(name, c.deployment.precisions) for c in self.candidates for name in c.sizes}
        return [(w.name, pair) for w in self.classes for pair in w.precisions if (w.name, pair) in offered]

    def most_systems(self, system: str) -> int:
        """No plan needs more systems of a kind: those that hold every class by itself, where each pool is least full.

        More could be exchanged for these at the same precisions, with no other container touched.
        """
        best: dict[tuple[str, Precisions], int] = {}
        for candidate in self.candidates:
            deployment = candidate.deployment
            if deployment.system.name != system:
                continue
            replicas = deployment.system.domain_gpus // deployment.gpus_per_replica
            pools = replicas * deployment.pools_per_replica * deployment.system.domains_per_system
            for name in candidate.sizes:
                key = name, deployment.precisions
                best[key] = max(best.get(key, 0), pools * candidate.alone(name))
        systems = 0
        for service in self.classes:
            held = [best[service.name, pair] for pair in service.precisions if (service.name, pair) in best]
            systems += -(-service.demand // min(held)) if held else 0
        most = systems + self.request.policy.spare_systems
        return min(most, self.request.policy.supply.get(system, most))


def sets_of(request: Request, candidates: Sequence[Candidate]) -> Sets:
    """The index sets: systems that carry a candidate, and the fills of each site with them."""
    systems = {c.deployment.system.name: c.deployment.system for c in candidates}
    members = [systems[name] for name in sorted(systems)]
    return Sets(
        request,
        tuple(candidates),
        {system.name: system for system in members},
        {site.name: fills(site, members, request.policy.mixed_pods) for site in request.sites},
    )
