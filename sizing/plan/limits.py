"""The limits that a request states, what a plan uses of them, and the request with one of them changed."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from sizing.facility.loads import site_loads
from sizing.facility.site import Site
from sizing.plan.choice import Choice
from sizing.plan.compose import limits_of
from sizing.plan.plan import StatedLimit
from sizing.plan.words import SUPPLY
from sizing.request.request import Request

ONE = Fraction(1)


def stated_limits(request: Request) -> tuple[StatedLimit, ...]:
    """Every finite limit of the request, site by site, then supply. A limit of 0 is measured by one Pod or system."""
    of_sites = [
        StatedLimit(load.name, site.name, load.limit, load.unit, load.limit or _one_pod(site, load.unit))
        for site in sorted(request.sites, key=lambda site: site.name)
        for load in site_loads(site, request.policy.power_basis)
        if load.limit is not None
    ]
    candidates = {system.name for system in request.candidates}
    of_supply = [
        StatedLimit(f"{SUPPLY}{name}", None, Fraction(most), "systems", Fraction(most) or ONE)
        for name, most in sorted(request.policy.supply.items())
        if name in candidates
    ]
    return (*of_sites, *of_supply)


def _one_pod(site: Site, unit: str) -> Fraction:
    """One Pod, or what one draws and turns to heat."""
    return ONE if unit == "Pods" else site.pod.power_kw.value


def uses(request: Request, choice: Choice, limits: Sequence[StatedLimit]) -> dict[StatedLimit, Fraction]:
    """What a choice uses of limits, exactly."""
    told = {(each.name, each.site): each.used for each in limits_of(request, choice)}
    return {limit: told[limit.key] for limit in limits}


def exceeded(request: Request, choice: Choice, limits: Sequence[StatedLimit]) -> tuple[StatedLimit, ...]:
    """The limits that a choice does not keep."""
    return tuple(limit for limit, used in uses(request, choice, limits).items() if used > limit.value)


def with_limit(request: Request, limit: StatedLimit, value: Fraction | None) -> Request:
    """The request with another value of one limit, or without it (None)."""
    if limit.site is None:
        name = limit.name.removeprefix(SUPPLY)
        others = {kind: most for kind, most in request.policy.supply.items() if kind != name}
        supply = others if value is None else {**others, name: int(value)}
        return replace(request, policy=replace(request.policy, supply=supply))
    sites = tuple(_changed(site, limit.name, value) if site.name == limit.site else site for site in request.sites)
    return replace(request, sites=sites)


def _changed(site: Site, name: str, value: Fraction | None) -> Site:
    return replace(
        site,
        power_kw=value if name == "power" else site.power_kw,
        liquid_kw=value if name == "liquid_heat" else site.liquid_kw,
        air_kw=value if name == "air_heat" else site.air_kw,
        pods=(None if value is None else int(value)) if name == "pods" else site.pods,
    )
