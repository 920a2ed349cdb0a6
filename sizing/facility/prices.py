"""Prices as data: of systems, of Pods, and of the energy that they take. USD, exact; a range is its two ends.

Where a price comes from: what the workload states (`policy.prices`) goes before the figure `price_usd` of a catalog
entry. Energy is nameplate kW x PUE x hours x tariff: no derating, as everywhere. PUE enters here, once, because a
tariff is paid at the meter; nameplates do not contain it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from sizing.facility.pod import PodType
from sizing.facility.system import System
from sizing.units.figures import Figure

HOURS_PER_YEAR = 8760
"""365 x 24."""


@dataclass(frozen=True, slots=True)
class Price:
    """USD, or USD/kWh, between two ends; a price that is one number has equal ends."""

    low: Fraction
    high: Fraction

    @property
    def is_range(self) -> bool:
        return self.low < self.high

    def __add__(self, other: "Price") -> "Price":
        return Price(self.low + other.low, self.high + other.high)

    def times(self, factor: Fraction | int) -> "Price":
        """So many of it; `factor` is not negative."""
        return Price(self.low * factor, self.high * factor)


FREE = Price(Fraction(0), Fraction(0))


@dataclass(frozen=True, slots=True)
class Energy:
    """What energy costs over `horizon_years`. `pue` None: that of the Pod."""

    tariff_usd_per_kwh: Price
    horizon_years: Fraction
    pue: Fraction | None = None

    @property
    def hours(self) -> Fraction:
        return self.horizon_years * HOURS_PER_YEAR

    def pue_of(self, pod: PodType) -> Fraction | None:
        """As the workload states it or else the Pod's own; None is unknown, which is not 1."""
        if self.pue is not None:
            return self.pue
        return pod.pue.value if pod.pue else None

    def price_of(self, kw: Fraction, pod: PodType) -> Price:
        """The energy of `kw` that run in a Pod all the time. Raises ValueError where its PUE is unknown."""
        pue = self.pue_of(pod)
        if pue is None:
            raise ValueError(f"the PUE of a Pod {pod.name} is unknown")
        return self.tariff_usd_per_kwh.times(kw * pue * self.hours)


@dataclass(frozen=True, slots=True)
class Prices:
    """What a workload states of prices, by name. `energy` None: energy is not counted."""

    systems: Mapping[str, Price] = field(default_factory=dict)
    pods: Mapping[str, Price] = field(default_factory=dict)
    energy: Energy | None = None

    def of_system(self, system: System) -> Price | None:
        """Of one system, without its energy; None is unknown."""
        return self.systems.get(system.name) or _published(system.price_usd)

    def of_pod(self, pod: PodType) -> Price | None:
        """Of one Pod without what stands in it; None is unknown."""
        return self.pods.get(pod.name) or _published(pod.price_usd)

    def of_energy(self, kw: Fraction, pod: PodType) -> Price:
        """The energy of `kw` that run in a Pod over the horizon; nothing where energy is not counted."""
        return FREE if self.energy is None else self.energy.price_of(kw, pod)


def _published(figure: Figure[Fraction] | None) -> Price | None:
    return None if figure is None else Price(*(figure.range or (figure.value, figure.value)))
