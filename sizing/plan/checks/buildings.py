"""Systems into Pods, Pods onto sites: slots, power, heat, positions and supply, each summed up from the request."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from sizing.facility.bill_rules import balance
from sizing.facility.pod import Balance
from sizing.facility.site import Site
from sizing.facility.system import System
from sizing.plan.checks.facts import Facts, systems_standing, unequal
from sizing.plan.plan import FilledPods, Limit, Plan

OF_TWO_KINDS = 2


def systems_stand_in_pods(plan: Plan, facts: Facts) -> Iterator[str]:
    """What is bought stands in the Pods, and nothing else does."""
    bought, standing = dict(plan.systems), systems_standing(plan)
    for name in sorted(bought.keys() | standing):
        yield from unequal(f"systems {name!r}", bought.get(name, 0), standing[name])


def fills_fit_pods(plan: Plan, facts: Facts) -> Iterator[str]:
    """A Pod's full population fits it with its balance of plant, and no further system of its kinds does.

    The balance of plant is counted at the full population: it covers every smaller one.
    """
    for filled in plan.pods:
        site = facts.sites[filled.site]
        where = _named(filled)
        fill = dict(filled.fill.systems)
        for reason in _excesses(site, fill, facts):
            yield f"{where}: {reason}"
        for name in fill:
            if not any(_excesses(site, {**fill, name: fill[name] + 1}, facts)):
                yield f"{where}: not the full population, one more {name} fits"
        yield from unequal(f"{where}: balance of plant", filled.fill.balance, _balance(site, fill, facts))


def pods_hold_their_fill(plan: Plan, facts: Facts) -> Iterator[str]:
    """A Pod holds at most its full population, of one kind, or of two where Pods may be mixed."""
    kinds = OF_TWO_KINDS if facts.request.policy.mixed_pods else 1
    for filled in plan.pods:
        if len(filled.fill.systems) > kinds:
            yield f"{_named(filled)}: holds {len(filled.fill.systems)} kinds of system, {kinds} may stand together"
        for name, count in filled.systems:
            if count > filled.fill.count(name):
                yield f"{_named(filled)}: {count} of {name} stand in it, {filled.fill.count(name)} are its fill"


@dataclass(frozen=True, slots=True)
class _SiteLimit:
    """One limit: what the site grants, what one system takes of it, what one Pod with its balance of plant takes."""

    name: str
    unit: str
    granted: Callable[[Site], Fraction | int | None]
    of_system: Callable[[System], Fraction | None]
    of_pod: Callable[[Site, Balance], Fraction | int]


def _site_limits(facts: Facts) -> tuple[_SiteLimit, ...]:
    """Decision 5: provisioned, a Pod counts its whole electrical input; installed, what is in it at nameplate."""
    if facts.request.policy.power_basis == "provisioned":
        power = _SiteLimit("power", "kW", lambda site: site.power_kw, _none, lambda site, _: site.pod.power_kw.value)
    else:
        power = _SiteLimit("power", "kW", lambda site: site.power_kw, _nameplate_kw, lambda _, extra: extra.kw)
    return (
        power,
        _SiteLimit("liquid_heat", "kW", lambda site: site.liquid_kw, _liquid_kw, lambda _, extra: extra.liquid_kw),
        _SiteLimit("air_heat", "kW", lambda site: site.air_kw, _air_kw, lambda _, extra: extra.air_kw),
        _SiteLimit("pods", "Pods", lambda site: site.pods, _none, lambda _site, _extra: 1),
    )


def sites_are_kept(plan: Plan, facts: Facts) -> Iterator[str]:
    """No limit of a site or of supply is exceeded, whatever the plan tells of it."""
    for limit in _limits(plan, facts):
        if limit.limit is not None and limit.used > limit.limit:
            where = "" if limit.site is None else f"site {limit.site!r}: "
            yield f"{where}{limit.name} takes {float(limit.used):,} of {float(limit.limit):,} {limit.unit}"


def heat_is_known_where_limited(plan: Plan, facts: Facts) -> Iterator[str]:
    """Decision 6: a system without nameplate stands nowhere, one without heat split only where no heat is limited."""
    for name in systems_standing(plan):
        if facts.systems[name].nameplate_kw is None:
            yield f"system {name!r} has no nameplate"
    for site in facts.sites.values():
        limited = (site.liquid_kw, site.air_kw, site.liquid_kw_per_pod, site.air_kw_per_pod)
        if any(limit is not None for limit in limited):
            for name in systems_standing(plan, site.name):
                if facts.systems[name].air_kw is None:
                    yield f"site {site.name!r} limits heat, and system {name!r} has no heat split"


def limits_are_told(plan: Plan, facts: Facts) -> Iterator[str]:
    """Every limit once, with what is used of it and whether it binds."""
    found = {(limit.name, limit.site): limit for limit in _limits(plan, facts)}
    told = {(limit.name, limit.site): limit for limit in plan.limits}
    if len(told) != len(plan.limits):
        yield "a limit is told twice"
    for key in [*found, *(key for key in told if key not in found)]:
        name, site = key
        yield from unequal(f"limit {name} of {'the request' if site is None else site}", told.get(key), found.get(key))


def _limits(plan: Plan, facts: Facts) -> Iterator[Limit]:
    """All limits anew; one whose use is unknown is left out.

    A limit binds where not even the least purchase of what the plan buys, one system or else one Pod, still fits.
    """
    kinds = [facts.systems[name] for name in systems_standing(plan)]
    for name in sorted(facts.sites):
        site = facts.sites[name]
        pods = [
            (filled, _balance(site, dict(filled.fill.systems), facts)) for filled in plan.pods if filled.site == name
        ]
        here = systems_standing(plan, name)
        for limit in _site_limits(facts):
            taken = [(limit.of_system(facts.systems[kind]), count) for kind, count in here.items()]
            if any(each is None for each, _ in taken):
                continue
            used = Fraction(sum((each or 0) * count for each, count in taken))
            used += sum(limit.of_pod(site, extra) * filled.count for filled, extra in pods)
            granted = limit.granted(site)
            steps = [step for kind in kinds if (step := limit.of_system(kind))]
            steps = steps or [Fraction(step) for _, extra in pods if (step := limit.of_pod(site, extra))]
            binding = granted is not None and bool(steps) and used + min(steps) > granted
            yield Limit(limit.name, name, used, None if granted is None else Fraction(granted), limit.unit, binding)
    standing = systems_standing(plan)
    for name, most in facts.request.policy.supply.items():
        if name in facts.systems:
            count = standing[name]
            yield Limit(f"supply:{name}", None, Fraction(count), Fraction(most), "systems", 0 < count >= most)


def _excesses(site: Site, population: Mapping[str, int], facts: Facts) -> Iterator[str]:
    """Why one Pod cannot hold these systems; a cooling that is unknown limits nothing here (decision 7)."""
    systems = [(facts.systems[name], count) for name, count in population.items()]
    extra = _balance(site, population, facts)
    for what, granted, taken in (
        ("GPU slots", site.pod.gpu_slots.value, [system.gpus * count for system, count in systems]),
        ("kW", site.pod.it_power_kw, [(_nameplate_kw(system) or 0) * count for system, count in systems] + [extra.kw]),
        (
            "kW of liquid heat",
            site.liquid_kw_per_pod,
            [(_liquid_kw(system) or 0) * count for system, count in systems] + [extra.liquid_kw],
        ),
        (
            "kW of air heat",
            site.air_kw_per_pod,
            [(_air_kw(system) or 0) * count for system, count in systems] + [extra.air_kw],
        ),
    ):
        if granted is not None and sum(taken) > granted:
            yield f"its systems take {float(sum(taken)):,} of {float(granted):,} {what}"


def _balance(site: Site, population: Mapping[str, int], facts: Facts) -> Balance:
    rules = site.pod.bill_rules
    if rules is None:
        return Balance()
    return balance(rules, [(facts.systems[name], population[name]) for name in sorted(population)])


def _nameplate_kw(system: System) -> Fraction | None:
    return None if system.nameplate_kw is None else system.nameplate_kw.value


def _liquid_kw(system: System) -> Fraction | None:
    return None if system.liquid_kw is None else system.liquid_kw.value


def _air_kw(system: System) -> Fraction | None:
    nameplate, liquid = _nameplate_kw(system), _liquid_kw(system)
    return None if nameplate is None or liquid is None else nameplate - liquid


def _none(_system: System) -> Fraction:
    return Fraction(0)


def _named(filled: FilledPods) -> str:
    held = " + ".join(f"{count} {name}" for name, count in filled.systems) or "no system"
    return f"Pod at {filled.site!r} with {held}"
