"""What systems and Pods ask of a site, limit by limit: power, liquid heat, air heat, Pod positions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from sizing.facility.pod import Fill
from sizing.facility.site import Site
from sizing.facility.system import System

PowerBasis = Literal["provisioned", "installed"]


@dataclass(frozen=True, slots=True)
class SiteLoad:
    """One limit of a site in `unit` (None: unlimited), what a system takes of it, and what a Pod takes beside.

    `of_system` is None where the figure is unknown. A Pod takes what its balance of plant does, or itself.
    """

    name: str
    unit: str
    limit: Fraction | None
    of_system: Callable[[System], Fraction | None]
    of_pod: Callable[[Fill], Fraction]

    def of_installed(self, site: Site, systems: Mapping[str, System]) -> Fraction:
        """What the systems installed at a site take; their figures are known (decision 6)."""
        taken = (known(self.of_system(systems[name])) * count for name, count in site.installed_systems.items())
        return sum(taken, Fraction(0))


def nameplate_kw(system: System) -> Fraction | None:
    """Nameplate without derating; None where unknown."""
    return system.nameplate_kw.value if system.nameplate_kw else None


def liquid_kw(system: System) -> Fraction | None:
    """Heat to liquid at nameplate; None where unknown."""
    return system.liquid_kw.value if system.liquid_kw else None


def air_kw(system: System) -> Fraction | None:
    """Heat to air at nameplate; None where unknown."""
    return system.air_kw


def known(kw: Fraction | None) -> Fraction:
    """A figure that candidates are sure to have where it is limited (decision 6)."""
    if kw is None:
        raise ValueError("a candidate lacks a figure that a limit needs")
    return kw


def site_loads(site: Site, power_basis: PowerBasis) -> tuple[SiteLoad, ...]:
    """Every limit that a site may state. Provisioned, a Pod counts its full electrical input (decision 5)."""
    if power_basis == "provisioned":
        power = SiteLoad("power", "kW", site.power_kw, _nothing, lambda _fill: site.pod.power_kw.value)
    else:
        power = SiteLoad("power", "kW", site.power_kw, nameplate_kw, lambda fill: fill.balance.kw)
    positions = None if site.pods is None else Fraction(site.pods)
    return (
        power,
        SiteLoad("liquid_heat", "kW", site.liquid_kw, liquid_kw, lambda fill: fill.balance.liquid_kw),
        SiteLoad("air_heat", "kW", site.air_kw, air_kw, lambda fill: fill.balance.air_kw),
        SiteLoad("pods", "Pods", positions, _nothing, lambda _fill: Fraction(1)),
    )


def _nothing(_system: System) -> Fraction:
    return Fraction(0)
