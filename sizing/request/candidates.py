"""Which systems may be bought, where, and why the others may not (decisions 6 and 7).

What is installed already may be used whatever its status, as long as its figures are known; more of it may be bought
only where that is not refused.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sizing.facility.loads import air_kw, liquid_kw, nameplate_kw
from sizing.facility.site import Site
from sizing.facility.system import Status, System
from sizing.request.objective import COST, aims_at
from sizing.request.request import Policy, Rejection
from sizing.units.amounts import kw, plain

LIQUID_POD = "direct-to-chip liquid"
AIR_POD = "air"


@dataclass(frozen=True, slots=True)
class Candidates:
    """What may be bought or is installed at one site at least, what neither, and the assumptions that this rests on."""

    systems: tuple[System, ...]
    rejected: tuple[Rejection, ...]
    assumptions: tuple[str, ...]


def choose_candidates(
    systems: Sequence[System], sites: Sequence[Site], policy: Policy, missing: Mapping[str, Mapping[str, str]]
) -> Candidates:
    """Judge `systems`: those that `policy.systems` names or, where it names none, the whole catalog; and the installed.

    `missing` gives the catalog's reason, by system and figure, why a figure is unknown.
    """
    taken: list[System] = []
    rejected: list[Rejection] = []
    unsold: list[str] = []
    for system in sorted(systems, key=lambda system: system.name):
        why = [refusal(system, site, policy, missing.get(system.name, {})) for site in sites]
        reasons = list(dict.fromkeys(reason for reason in why if reason is not None))
        if None in why:
            taken.append(system)
        elif any(site.installed(system.name) for site in sites):
            taken.append(system)
            why_no_more = "; ".join(reasons)
            unsold.append(f"{system.name} is installed and may be used; no more of it may be bought: {why_no_more}.")
        else:
            rejected.append(Rejection(system.name, None, "; ".join(reasons)))
    return Candidates(tuple(taken), tuple(rejected), (*_assumptions(taken, sites, policy), *unsold))


def refusal(system: System, site: Site, policy: Policy, missing: Mapping[str, str] | None = None) -> str | None:
    """Why no (more) `system` may be bought for `site`, as the end of a sentence; None where it may.

    A system that `policy.systems` names is taken whatever its status, but not without a figure that is needed.
    """
    named = policy.systems is not None and system.name in policy.systems
    if not named and system.status is not Status.ON_SALE:
        return f"it is {system.status} and not named in policy.systems; only what is on sale is a candidate by itself"
    if policy.systems is not None and not named:
        return "policy.systems does not name it"
    hindered = hindrance(system, site, policy, missing)
    if hindered is not None:
        return hindered
    medium = _unknown_cooling(system, site)
    if medium is not None and not named:
        return (
            f"it is mainly cooled by {medium}, and how much heat to {medium} a Pod {site.pod.name} "
            f"({site.pod.cooling}) takes is unknown; name the system in policy.systems or state pod_{medium}_heat "
            "(decision 7)"
        )
    if aims_at(policy, COST) and policy.prices.of_system(system) is None:
        return f"it has no price, and {COST} is a stage of the objective; state it in policy.prices.systems"
    return None


def hindrance(system: System, site: Site, policy: Policy, missing: Mapping[str, str] | None = None) -> str | None:
    """Why `system` cannot stand in a Pod of `site`, or nobody could say what it does there; None where it can."""
    reasons = missing or {}
    unknown = _unknown_figure(system, site, policy)
    if unknown is not None:
        figure, what = unknown
        return what + (f": {reasons[figure]}" if figure in reasons else "") + " (decision 6)"
    pod = site.pod
    if system.gpus > pod.gpu_slots.value:
        return f"it has {system.gpus} GPUs, a Pod {pod.name} has {pod.gpu_slots.value} slots"
    for what, of_system, limit in (
        ("a nameplate", nameplate_kw(system), pod.it_power_kw),
        ("heat to liquid", liquid_kw(system), site.liquid_kw_per_pod),
        ("heat to air", air_kw(system), site.air_kw_per_pod),
    ):
        if of_system is not None and limit is not None and of_system > limit:
            return f"it has {what} of {kw(of_system)}, a Pod {pod.name} takes {kw(limit)}"
    return None


def _unknown_figure(system: System, site: Site, policy: Policy) -> tuple[str, str] | None:
    """(figure, sentence) of the first figure that is needed and unknown."""
    if system.gpu.hbm_bytes(policy.hbm) is None:
        figure = {"label": "hbm_label_gb", "driver": "hbm_driver_bytes"}[policy.hbm]
        return figure, f"the HBM of its GPU {system.gpu.name} by {policy.hbm} is unknown"
    if system.nameplate_kw is None:
        return "nameplate_kw", "its nameplate power is unknown"
    limits = (site.liquid_kw, site.air_kw, site.liquid_kw_per_pod, site.air_kw_per_pod)
    if system.liquid_kw is None and any(limit is not None for limit in limits):
        return "liquid_kw", "a heat limit applies, and the split of its heat between liquid and air is unknown"
    return None


def _unknown_cooling(system: System, site: Site) -> str | None:
    """What mainly cools the system where the Pod is not made for it and nobody knows how much of it there is."""
    if site.pod.cooling == LIQUID_POD and system.mainly_air and site.air_kw_per_pod is None:
        return "air"
    if site.pod.cooling == AIR_POD and not system.mainly_air and site.liquid_kw_per_pod is None:
        return "liquid"
    return None


def _assumptions(systems: Sequence[System], sites: Sequence[Site], policy: Policy) -> Iterator[str]:
    """Sentences for the report; what the workload says in place of the catalog, and what nobody knows."""
    for system in systems:
        if system.status is not Status.ON_SALE and policy.systems is not None and system.name in policy.systems:
            yield f"{system.name} is {system.status}; it is a candidate because policy.systems names it."
    for name in sorted(set(policy.supply).difference(system.name for system in systems)):
        yield f"policy.supply says how many {name} there are, which is no candidate: that limits nothing."
    seen: set[str] = set()
    for site in sites:
        for sentence in _site_assumptions(systems, site, policy):
            if sentence not in seen:
                seen.add(sentence)
                yield sentence


def _site_assumptions(systems: Sequence[System], site: Site, policy: Policy) -> Iterator[str]:
    pod = site.pod
    trusting = [system for system in systems if _unknown_cooling(system, site)]
    named = [system.name for system in trusting if refusal(system, site, policy) is None]
    installed = [system.name for system in trusting if site.installed(system.name) and system.name not in named]
    for why, names in (("policy.systems names them", named), (f"they are installed at {site.name!r}", installed)):
        if names:
            yield (
                f"That a Pod {pod.name} ({pod.cooling}) cools {', '.join(names)}, which its published figures do not "
                f"say, is assumed because {why} (decision 7)."
            )
    if pod.pue is None:
        yield f"The PUE of a Pod {pod.name} is unknown: its {plain(pod.power_kw.value, 'kW')} counts in full for IT."
    for medium, stated, figure in (
        ("liquid", site.pod_liquid_kw, pod.liquid_kw),
        ("air", site.pod_air_kw, pod.air_kw),
    ):
        if stated is not None:
            yield f"A Pod {pod.name} takes {kw(stated)} of heat to {medium}, as the workload states."
        elif figure is None:
            yield f"What heat to {medium} a Pod {pod.name} takes is unknown, and is not checked Pod by Pod."
