"""What a workload says that figures of the catalog, or other parts of it, contradict: problems of the file."""

from collections.abc import Iterator, Mapping, Sequence

from sizing.facility.fills import PodRoom
from sizing.facility.site import Site
from sizing.facility.system import System
from sizing.request.candidates import hindrance
from sizing.request.objective import COST, aims_at
from sizing.request.request import Policy
from sizing.units.amounts import kw
from sizing.units.document import Document, KeyPath
from sizing.units.errors import BadInput, Problem


def contradictions(
    document: Document,
    sites: Sequence[Site],
    systems: Sequence[System],
    policy: Policy,
    missing: Mapping[str, Mapping[str, str]],
) -> Iterator[Problem]:
    """Problems with what is installed and with prices. `sites` stand in the order of the file.

    `missing` gives the catalog's reason, by system and figure, why a figure is unknown.
    """
    several = _several(document)
    for number, site in enumerate(sites):
        yield from _installed(document, ("sites", number) if several else ("site",), site, systems, policy, missing)
    for site in {site.pod.name: site for site in sites}.values():
        yield from _prices_of_pod(document, site, policy)


def unbuildable(
    document: Document, sites: Sequence[Site], systems: Sequence[System], policy: Policy
) -> Iterator[Problem]:
    """Pods that bill rules have no balance of plant for, full of any one of `systems`: a network too small for them."""
    seen: set[tuple[object, ...]] = set()
    for number, site in enumerate(sites):
        room = PodRoom(site, systems)
        limits = (site.pod.name, site.liquid_kw_per_pod, site.air_kw_per_pod)
        if limits in seen:
            continue
        seen.add(limits)
        for system in (each for each in systems if hindrance(each, site, policy) is None):
            try:
                room.most(system.name, {})
            except BadInput as error:
                here = ("sites", number, "pod") if _several(document) else ("site", "pod")
                rules = "" if site.pod.bill_rules is None else f" by the bill rules {site.pod.bill_rules.name}"
                for problem in error.problems:
                    what = f"a Pod {site.pod.name} full of {system.name} cannot be built{rules}: {problem.what}"
                    yield document.problem(here, what, problem.seen, problem.accepted)


def _several(document: Document) -> bool:
    return isinstance(document.tree, Mapping) and "sites" in document.tree


def _installed(
    document: Document,
    path: KeyPath,
    site: Site,
    systems: Sequence[System],
    policy: Policy,
    missing: Mapping[str, Mapping[str, str]],
) -> Iterator[Problem]:
    """What stands there must be known to the figure: it takes a part of every limit."""
    for system in systems:
        if site.installed(system.name):
            why = hindrance(system, site, policy, missing.get(system.name))
            if why is None and PodRoom(site, (system,)).most(system.name, {}) < 1:
                why = f"no Pod {site.pod.name} holds one with the balance of plant that it needs"
            if why is not None:
                accepted = "systems that can stand in a Pod of the site, with figures in the catalog or an overlay"
                here = (*path, "installed", "systems", system.name)
                yield document.problem(here, f"cannot be planned with: {why}", accepted=accepted)
    if site.installed_pods and not PodRoom(site, ()).holds({}):
        extra = PodRoom(site, ()).balance({})
        yield document.problem(
            (*path, "installed", "pods"),
            f"no Pod {site.pod.name} can stand there, even empty: its balance of plant takes {kw(extra.kw)}, of which "
            f"{kw(extra.air_kw)} go to air",
            accepted="higher limits of a Pod, or no installed Pods",
        )
    if site.pods is not None and site.installed_pods > site.pods:
        yield document.problem(
            (*path, "installed", "pods"),
            "more Pods than there are positions",
            str(site.installed_pods),
            f"at most {site.pods:,}",
        )


def _prices_of_pod(document: Document, site: Site, policy: Policy) -> Iterator[Problem]:
    pod, energy = site.pod, policy.prices.energy
    if aims_at(policy, COST) and policy.prices.of_pod(pod) is None:
        yield document.problem(
            ("policy", "prices", "pods", pod.name),
            f"missing: stage {COST} needs the price of a Pod {pod.name}",
            accepted="a price such as 1_500_000 USD, 0 USD where it is paid for already",
        )
    if energy is not None and energy.pue_of(pod) is None:
        yield document.problem(
            ("policy", "prices", "energy", "pue"),
            f"missing: the PUE of a Pod {pod.name} is unknown to the catalog",
            accepted="a number such as 1.2",
        )
