"""What a plan costs, counted anew: prices, energy and the ends of ranges, part by part."""

from collections.abc import Iterator
from fractions import Fraction

from sizing.facility.loads import nameplate_kw
from sizing.facility.pod import PodType
from sizing.facility.prices import HOURS_PER_YEAR, Price
from sizing.plan.checks.case import Case

ZERO = Fraction(0)
Part = tuple[Price | None, int]
"""(price of one, how many)."""


def cost(case: Case) -> tuple[Fraction | None, Fraction | None]:
    """The cost with every range at its high end, and at its low end.

    None where something bought has no price, or where nobody states a price of anything.
    """
    prices = case.request.policy.prices
    stated = [
        prices.energy,
        *(prices.of_pod(site.pod) for site in case.sites.values()),
        *(prices.of_system(system) for system in case.systems.values()),
    ]
    found = list(parts(case))
    if all(price is None for price in stated) or any(price is None for price, _ in found):
        return None, None
    known = [(price, count) for price, count in found if price is not None]
    return (
        sum((price.high * count for price, count in known), ZERO),
        sum((price.low * count for price, count in known), ZERO),
    )


def parts(case: Case) -> Iterator[Part]:
    """Every kind of system and every Pod that is bought, with energy; the energy of every Pod's balance of plant."""
    prices = case.request.policy.prices
    for name, site in case.sites.items():
        for kind, count in case.bought(name).items():
            if count > 0:
                price, energy = prices.of_system(case.systems[kind]), _energy(case, kind, site.pod)
                yield None if price is None else Price(price.low + energy.low, price.high + energy.high), count
        bought_pods = case.bought_pods(name)
        if bought_pods > 0:
            yield prices.of_pod(site.pod), bought_pods
    for filled in case.plan.pods:
        yield _of_kw(case, filled.fill.balance.kw, case.sites[filled.site].pod), filled.count


def _energy(case: Case, kind: str, pod: PodType) -> Price:
    return _of_kw(case, nameplate_kw(case.systems[kind]) or ZERO, pod)


def _of_kw(case: Case, kw: Fraction, pod: PodType) -> Price:
    """kW at nameplate x PUE x hours x tariff: what is paid at the meter."""
    energy = case.request.policy.prices.energy
    if energy is None:
        return Price(ZERO, ZERO)
    pue = energy.pue if energy.pue is not None else pod.pue.value if pod.pue else None
    assert pue is not None  # a request that counts energy has it
    kwh = kw * pue * energy.horizon_years * HOURS_PER_YEAR
    return Price(kwh * energy.tariff_usd_per_kwh.low, kwh * energy.tariff_usd_per_kwh.high)
