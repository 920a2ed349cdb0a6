"""A site's limits: Pod positions, power, heat to liquid and to air, and what can be supplied over all sites.

What is installed counts against the limits of its site, and not against supply. Systems that are installed are a number
that is taken off the limit; how Pods that are installed are filled is a variable, as for those that are bought.

Where a limit may be exceeded (`slack.py`), its row says `... - step x excess <= limit`.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import gcd, lcm

import pyomo.environ as pyo

from sizing.facility.loads import SiteLoad, known, site_loads
from sizing.program.expressions import Expression, Model, linear
from sizing.program.formulation import Formulation


def pods_fit_site(formulation: Formulation) -> None:
    """`sum over f of pods[z,f] <= Pod positions` for every site z that states them."""
    formulation.model.pods_fit_site = _load_fits_site(formulation, "pods")


def power_fits_site(formulation: Formulation) -> None:
    """Power of every site z that limits it (decision 5).

    Provisioned: `sum over f of Pod kW x pods[z,f] <= power`. Installed: `sum over s of nameplate x systems[z,s] +
    sum over f of balance of plant x pods[z,f] <= power`.
    """
    formulation.model.power_fits_site = _load_fits_site(formulation, "power")


def liquid_heat_fits_site(formulation: Formulation) -> None:
    """`sum over s of liquid kW x systems[z,s] + sum over f of balance liquid kW x pods[z,f] <= liquid heat`."""
    formulation.model.liquid_heat_fits_site = _load_fits_site(formulation, "liquid_heat")


def air_heat_fits_site(formulation: Formulation) -> None:
    """`sum over s of air kW x systems[z,s] + sum over f of balance air kW x pods[z,f] <= air heat`."""
    formulation.model.air_heat_fits_site = _load_fits_site(formulation, "air_heat")


def systems_are_supplied(formulation: Formulation) -> None:
    """`sum over z of systems[z,s] <= supply_s` for every system s whose supply is limited."""
    supply = formulation.sets.request.policy.supply

    def rule(_model: Model, system: str) -> Expression:
        bought = [(1, count) for count in formulation.systems_of(system)]
        return linear([*bought, *_excess(formulation, f"supply:{system}", None)]) <= supply[system]

    index = [system for system in formulation.sets.systems if system in supply and formulation.systems_of(system)]
    formulation.model.systems_are_supplied = pyo.Constraint(index, rule=rule)


def _load_fits_site(formulation: Formulation, name: str) -> pyo.Constraint:
    sets = formulation.sets
    basis = sets.request.policy.power_basis
    limited: dict[str, SiteLoad] = {}
    for site, place in sets.sites.items():
        load = next(load for load in site_loads(place, basis) if load.name == name)
        if load.limit is not None and (sets.fills[site] or place.installed_pods):
            limited[site] = load

    def rule(_model: Model, site: str) -> Expression:
        load = limited[site]
        of_systems = [(known(load.of_system(system)), bought) for system, bought in formulation.systems_at(site)]
        of_pods = [(load.of_pod(fill), pods) for fill, pods in formulation.fills_at(site)]
        taken = [(use, term) for use, term in (*of_systems, *of_pods) if use]
        left = (load.limit or 0) - load.of_installed(sets.sites[site], sets.systems)
        excess = _excess(formulation, name, site)
        return linear([*taken, *excess]) <= (float(left) if excess else between_sums(left, [use for use, _ in taken]))

    return pyo.Constraint(list(limited), rule=rule)


def between_sums(left: Fraction, uses: Sequence[Fraction]) -> float:
    """A right side that admits just the sums of whole multiples of `uses` that are at most `left`.

    All sums are multiples of the greatest common divisor of the uses. A limit that is not is moved halfway between two
    of them, where no sum is near enough for a solver's tolerance to let it through.
    """
    if not uses:
        return float(left)
    denominator = lcm(*(use.denominator for use in uses))
    step = Fraction(gcd(*(int(use * denominator) for use in uses)), denominator)
    return float(left if left % step == 0 else (left // step) * step + step / 2)


def _excess(formulation: Formulation, name: str, site: str | None) -> list[tuple[Fraction, Expression]]:
    """What a limit that may be exceeded allows more, as a term of its left side."""
    slack = formulation.sets.slack
    number = slack.number((name, site))
    return [] if number is None else [(-slack.limits[name, site], formulation.model.excess[number])]
