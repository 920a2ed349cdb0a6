"""What is bought, racked and powered: a system of one or more scale-up domains."""

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from sizing.pool.gpu import Gpu
from sizing.units.figures import Figure


class Status(StrEnum):
    """Whether a system can be bought. Only what is on sale is a candidate by itself."""

    ON_SALE = "on sale"
    RESTRICTED = "restricted"
    ANNOUNCED = "announced"
    END_OF_LIFE = "end of life"


@dataclass(frozen=True, slots=True)
class System:
    """`domains_per_system` domains of `domain_gpus` GPUs. None is unknown, never zero (decision 6).

    `nameplate_kw` is the maximum of the whole system; `liquid_kw` of it goes to liquid, the rest to air.
    `racks` is the share of a rack that one system takes where it is a rack by itself (1) or unknown.
    """

    name: str
    title: str
    vendor: str
    status: Status
    gpu: Gpu
    domain_gpus: int
    domains_per_system: int
    scale_up: str
    cooling: str
    nameplate_kw: Figure[Fraction] | None
    liquid_kw: Figure[Fraction] | None
    rack_units: Figure[int] | None
    psu_upper_bound_kw: Figure[Fraction] | None = None
    note: str = ""
    price_usd: Figure[Fraction] | None = None

    @property
    def gpus(self) -> int:
        return self.domain_gpus * self.domains_per_system

    @property
    def air_kw(self) -> Fraction | None:
        """Heat to air at nameplate; None where the nameplate or the split is unknown."""
        if self.nameplate_kw is None or self.liquid_kw is None:
            return None
        return self.nameplate_kw.value - self.liquid_kw.value

    @property
    def mainly_air(self) -> bool:
        """Whether more heat goes to air than to liquid (decision 7)."""
        return self.cooling == "air"
