"""The index sets of the program: classes, sites, systems, fills and deployments, sorted by name."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from sizing.facility.deployment import Precisions
from sizing.facility.fills import PodRoom, fills
from sizing.facility.pod import Fill
from sizing.facility.site import Site
from sizing.facility.system import System
from sizing.program.deployments import Candidate
from sizing.program.slack import RIGID, Slack
from sizing.request.candidates import refusal
from sizing.request.request import Request, ServiceClass


@dataclass(frozen=True)  # no slots: what is asked for once a site and row is worked out once
class Sets:
    """The index sets of the program, sorted by name.

    `systems` are kinds that carry a candidate, and those that are installed: these stand whether they are used or not.
    """

    request: Request
    candidates: tuple[Candidate, ...]
    systems: Mapping[str, System]
    fills: Mapping[str, tuple[Fill, ...]]
    slack: Slack = RIGID

    @cached_property
    def sites(self) -> Mapping[str, Site]:
        return {site.name: site for site in sorted(self.request.sites, key=lambda site: site.name)}

    @cached_property
    def classes(self) -> tuple[ServiceClass, ...]:
        return tuple(sorted(self.request.classes, key=lambda service: service.name))

    @cached_property
    def places(self) -> tuple[tuple[str, str], ...]:
        """(site, system) where a system may stand: where some fill of the site's Pods has it."""
        return tuple(
            (site, system)
            for site, fills in self.fills.items()
            for system in self.systems
            if any(system in fill.kinds for fill in fills)
        )

    @cached_property
    def installed_fills(self) -> Mapping[str, tuple[Fill, ...]]:
        """The fills that Pods installed at a site may have: those of the site, and the empty one."""
        return {
            name: (*self.fills[name], PodRoom(site, ()).fill({}))
            for name, site in self.sites.items()
            if site.installed_pods
        }

    def may_be_bought(self, site: str, system: str) -> bool:
        """Whether more systems of a kind may be bought for a site; what is only installed there may not."""
        return refusal(self.systems[system], self.sites[site], self.request.policy) is None

    def installed(self, system: str) -> int:
        """Systems of a kind that are installed, over all sites."""
        return sum(site.installed(system) for site in self.request.sites)

    def can_serve_all(self) -> bool:
        """Whether every class has a candidate, some Pod holds a system, and each installed one: else no program."""
        served = {name for name, _ in self.served_pairs()}
        places = set(self.places)
        return (
            any(self.fills.values())
            and all(service.name in served for service in self.classes)
            and all((site.name, name) in places for site in self.request.sites for name in site.installed_systems)
        )

    def restricted(self, deployments: Collection[str]) -> "Sets":
        """The same with fewer candidates, and only the kinds of system that carry them.

        Fills stay, those with other kinds too: a plan may have Pods filled so for the sake of one of the two.
        """
        candidates = tuple(c for c in self.candidates if c.deployment.id in deployments)
        return replace(self, candidates=candidates, systems=self._carrying(candidates))

    def of_kinds(self, kinds: Collection[str]) -> "Sets":
        """The same with only these kinds of system, and fills of no others but what is installed."""
        candidates = tuple(c for c in self.candidates if c.deployment.system.name in kinds)
        systems = self._carrying(candidates)
        fills = {
            site: tuple(fill for fill in fills if systems.keys() >= set(fill.kinds))
            for site, fills in self.fills.items()
        }
        return replace(self, candidates=candidates, systems=systems, fills=fills)

    def _carrying(self, candidates: Sequence[Candidate]) -> dict[str, System]:
        """The kinds of system that carry candidates or are installed."""
        kept = {c.deployment.system.name for c in candidates} | {name for name in self.systems if self.installed(name)}
        return {name: system for name, system in self.systems.items() if name in kept}

    def kinds_apart(self) -> "list[Sets]":
        """The sets of each kind of system by itself, where it can serve all classes; sorted by name."""
        return [part for part in (self.of_kinds((kind,)) for kind in self.systems) if part.can_serve_all()]

    def served_pairs(self) -> list[tuple[str, Precisions]]:
        """(class, precisions) that some candidate offers."""
        offered = {(name, c.deployment.precisions) for c in self.candidates for name in c.sizes}
        return [(w.name, pair) for w in self.classes for pair in w.precisions if (w.name, pair) in offered]

    def most_systems(self, system: str) -> int:
        """No plan needs to buy more systems of a kind: so many hold every class by itself, each pool least full.

        More could be exchanged for these at the same precisions, with no other container touched.
        """
        best = self._held_alone.get(system, {})
        systems = 0
        for service in self.classes:
            held = [best[service.name, pair] for pair in service.precisions if (service.name, pair) in best]
            systems += -(-service.demand // min(held)) if held else 0
            systems += len(held) - 1 if held and self.request.policy.split_precision else 0
        most = systems + self.request.policy.spare_systems if best else 0
        if (f"supply:{system}", None) in self.slack.limits:
            return most
        return min(most, self.request.policy.supply.get(system, most))

    @cached_property
    def _held_alone(self) -> dict[str, dict[tuple[str, Precisions], int]]:
        """By system: how many sequences of each class one of them holds at most, at each pair of precisions."""
        held: dict[str, dict[tuple[str, Precisions], int]] = defaultdict(dict)
        for candidate in self.candidates:
            deployment = candidate.deployment
            replicas = deployment.system.domain_gpus // deployment.gpus_per_replica
            pools = replicas * deployment.pools_per_replica * deployment.system.domains_per_system
            of_system = held[deployment.system.name]
            for name in candidate.sizes:
                key = name, deployment.precisions
                of_system[key] = max(of_system.get(key, 0), pools * candidate.alone(name))
        return held


def sets_of(request: Request, candidates: Sequence[Candidate], slack: Slack = RIGID) -> Sets:
    """The index sets: systems that carry a candidate or are installed, and the fills of each site with its own."""
    systems = {c.deployment.system.name: c.deployment.system for c in candidates}
    installed = {name for site in request.sites for name in site.installed_systems}
    systems.update((system.name, system) for system in request.candidates if system.name in installed)
    members = {name: systems[name] for name in sorted(systems)}

    def fills_at(site: Site) -> tuple[Fill, ...]:
        refused = {name for name, system in members.items() if refusal(system, site, request.policy) is not None}
        standing = {name: site.installed(name) for name in sorted(refused) if site.installed(name)}
        admitted = [system for name, system in members.items() if name not in refused or name in standing]
        return fills(site, admitted, request.policy.mixed_pods, at_most=standing)

    sites = sorted(request.sites, key=lambda site: site.name)
    return Sets(request, tuple(candidates), members, {site.name: fills_at(site) for site in sites}, slack)
