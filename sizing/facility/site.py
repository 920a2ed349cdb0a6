"""Where Pods stand: what the site gives them. A limit left out is unlimited; a limit of 0 is zero (decision 7)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from sizing.facility.pod import PodType


@dataclass(frozen=True, slots=True)
class Site:
    """`pods` of one type, utility power, heat rejection; kW. `pod_liquid_kw` and `pod_air_kw` are per Pod.

    `installed_systems`, by name, and `installed_pods` stand there already: limits count them, purchases do not.
    """

    name: str
    pod: PodType
    power_kw: Fraction | None = None
    liquid_kw: Fraction | None = None
    air_kw: Fraction | None = None
    pods: int | None = None
    pod_liquid_kw: Fraction | None = None
    pod_air_kw: Fraction | None = None
    installed_systems: Mapping[str, int] = field(default_factory=dict)
    installed_pods: int = 0

    def installed(self, system: str) -> int:
        """Systems of a kind that stand here already."""
        return self.installed_systems.get(system, 0)

    @property
    def liquid_kw_per_pod(self) -> Fraction | None:
        """The Pod's liquid cooling, as the workload states it or else the catalog; None is unknown."""
        if self.pod_liquid_kw is not None:
            return self.pod_liquid_kw
        return self.pod.liquid_kw.value if self.pod.liquid_kw else None

    @property
    def air_kw_per_pod(self) -> Fraction | None:
        """The Pod's air cooling, as the workload states it or else the catalog; None is unknown."""
        if self.pod_air_kw is not None:
            return self.pod_air_kw
        return self.pod.air_kw.value if self.pod.air_kw else None
