"""What a plan costs: prices of what is bought, and energy over the horizon; USD, exact, with both ends of ranges.

Counted is what depends on the plan: Pods and systems that are bought, their energy, and the energy of the balance of
plant of all Pods, for what an installed Pod is filled with decides its balance of plant. What is installed is paid for,
and the energy of installed systems is the same in every plan.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sizing.facility.loads import known, nameplate_kw
from sizing.facility.prices import FREE, HOURS_PER_YEAR, Energy, Price
from sizing.facility.site import Site
from sizing.plan.inventory import bought_pods, bought_systems
from sizing.plan.plan import FilledPods
from sizing.request.request import Request
from sizing.units.amounts import plain

PODS, SYSTEMS, ENERGY = "Pods", "Systems", "Energy"
FROM_WORKLOAD = "policy.prices of the workload"


@dataclass(frozen=True, slots=True)
class CostLine:
    """One part of the cost: `quantity` of `item` at `each`; None where the price is unknown."""

    group: str
    item: str
    site: str
    quantity: Fraction
    unit: str
    each: Price | None
    rule: str
    source: str

    @property
    def total(self) -> Price | None:
        return None if self.each is None else self.each.times(self.quantity)


def is_priced(request: Request) -> bool:
    """Whether any price is known, so that there is something to say of cost."""
    prices = request.policy.prices
    return (
        prices.energy is not None
        or any(prices.of_pod(site.pod) is not None for site in request.sites)
        or any(prices.of_system(system) is not None for system in request.candidates)
    )


def cost_lines(request: Request, pods: Sequence[FilledPods]) -> tuple[CostLine, ...]:
    """Every part of the cost of a plan that has these Pods, site by site."""
    return tuple(
        line
        for site in sorted(request.sites, key=lambda site: site.name)
        for line in (*_purchases(request, site, pods), *_energy(request, site, pods))
    )


def total_cost(request: Request, lines: Sequence[CostLine]) -> Price | None:
    """The sum of the lines; None where a price among them is unknown, and where none is known at all."""
    totals = [line.total for line in lines]
    if not is_priced(request) or None in totals:
        return None
    return sum((total for total in totals if total is not None), FREE)


def unpriced(lines: Sequence[CostLine]) -> tuple[str, ...]:
    """What is bought and has no price."""
    return tuple(dict.fromkeys(line.item for line in lines if line.each is None))


def source_of_price(request: Request, section: str, name: str) -> str:
    """Where the price of a Pod or system comes from: the workload, or the sources of the catalog's figure."""
    stated: Mapping[str, Price] = getattr(request.policy.prices, section)
    if name in stated:
        return FROM_WORKLOAD
    figure: Mapping[str, Any] = request.entries.get(section, {}).get(name, {}).get("price_usd") or {}
    return "; ".join(str(source["title"]) for source in figure.get("sources", ()))


def _purchases(request: Request, site: Site, pods: Sequence[FilledPods]) -> Iterator[CostLine]:
    prices = request.policy.prices
    count = bought_pods(request, pods)[site.name]
    if count:
        pod = site.pod
        source = source_of_price(request, "pods", pod.name)
        yield CostLine(PODS, pod.name, site.name, Fraction(count), "Pods", prices.of_pod(pod), "price of one", source)
    kinds = {system.name: system for system in request.candidates}
    for (place, name), count in sorted(bought_systems(request, pods).items()):
        if place == site.name:
            source = source_of_price(request, "systems", name)
            price = prices.of_system(kinds[name])
            yield CostLine(SYSTEMS, name, site.name, Fraction(count), "systems", price, "price of one", source)


def _energy(request: Request, site: Site, pods: Sequence[FilledPods]) -> Iterator[CostLine]:
    energy = request.policy.prices.energy
    if energy is None:
        return
    kinds = {system.name: system for system in request.candidates}
    systems_kw = sum(
        (
            known(nameplate_kw(kinds[name])) * count
            for (place, name), count in bought_systems(request, pods).items()
            if place == site.name
        ),
        Fraction(0),
    )
    balance_kw = sum((each.fill.balance.kw * each.count for each in pods if each.site == site.name), Fraction(0))
    for item, kw in (("of the systems", systems_kw), ("of the balance of plant", balance_kw)):
        if kw:
            pue = known(energy.pue_of(site.pod))
            yield CostLine(
                ENERGY,
                item,
                site.name,
                kw * pue * energy.hours,
                "kWh",
                energy.tariff_usd_per_kwh,
                energy_rule(energy, site, kw),
                FROM_WORKLOAD,
            )


def energy_rule(energy: Energy, site: Site, kw: Fraction) -> str:
    """How an energy comes about, in words: the place where PUE enters, once."""
    whose = "as stated" if energy.pue is not None else f"of a Pod {site.pod.name}"
    years = plain(energy.horizon_years, "year" if energy.horizon_years == 1 else "years")
    pue = plain(known(energy.pue_of(site.pod)), "").rstrip()
    return f"{plain(kw, 'kW')} at nameplate x PUE {pue} ({whose}) x {years} of {HOURS_PER_YEAR:,} hours"
