"""A request with everything resolved: names to entries, defaults to values. Program and check read only this."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import Any

from sizing.facility.deployment import Precisions
from sizing.facility.loads import PowerBasis
from sizing.facility.prices import Prices
from sizing.facility.site import Site
from sizing.facility.system import System
from sizing.pool.engines.ideal import IdealEngine
from sizing.pool.engines.measured import Measurement
from sizing.pool.engines.profile import Engine
from sizing.pool.gpu import HbmBasis
from sizing.pool.precision import KvPrecision
from sizing.sequence.model import ModelShape


@dataclass(frozen=True, slots=True)
class ServiceClass:
    """Live sequences of one length on one model. Precisions are what the customer accepts, best first."""

    name: str
    model: ModelShape
    context: int
    concurrency: int
    demand: int
    weights: tuple[str, ...]
    kv_precisions: tuple[KvPrecision, ...]

    @property
    def precisions(self) -> tuple[Precisions, ...]:
        """Accepted pairs, in the order of the class's lists."""
        return tuple(Precisions(weights, kv.name) for weights in self.weights for kv in self.kv_precisions)

    def kv_steps_below_best(self, precisions: Precisions) -> int:
        return [kv.name for kv in self.kv_precisions].index(precisions.kv)

    def weight_steps_below_best(self, precisions: Precisions) -> int:
        return self.weights.index(precisions.weights)


def demand(concurrency: int, headroom: Fraction) -> int:
    """Sequences to provide: `ceil(concurrency x (1 + headroom))`, exact (50 x 1.1 is 55, never 56)."""
    return ceil(concurrency * (1 + headroom))


@dataclass(frozen=True, slots=True)
class Policy:
    """How to plan. `systems` None: all on sale that the Pod can cool. `supply` is per system, over all sites.

    `objective` are stages as `request/objective.py` reads them. `profile` is the one that `engine` names; None is the
    arithmetic itself, with the reserve (decision 2).
    """

    reserve: Fraction
    headroom: Fraction
    spare_systems: int
    systems: tuple[str, ...] | None
    supply: Mapping[str, int]
    objective: tuple[str, ...]
    mixed_pods: bool
    split_precision: bool
    dcp: bool
    engine: str
    hbm: HbmBasis
    power_basis: PowerBasis
    prices: Prices = field(default_factory=Prices)
    profile: Engine | None = None

    @property
    def rules(self) -> Engine:
        """How caches are stored, and what a pool has left for them."""
        return self.profile or IdealEngine(self.reserve)


@dataclass(frozen=True, slots=True)
class Rejection:
    """Something that is no candidate, and why. `model` is None where the reason holds for every model."""

    system: str
    model: str | None
    why: str


@dataclass(frozen=True, slots=True)
class Request:
    """`candidates` may be bought or are installed; `rejected` neither. `assumptions` are sentences for the report.

    `document` is the canonical form that is hashed: every default written out, no path, classes sorted by name.
    `entries` are the catalog entries in use, in full, by section and name. `kv_precisions` are all of the catalog, in
    its order: what classes could accept beside those that they do. `measurements` are what the user's folders hold of
    engine logs, of every profile.
    """

    name: str
    classes: tuple[ServiceClass, ...]
    sites: tuple[Site, ...]
    policy: Policy
    candidates: tuple[System, ...]
    rejected: tuple[Rejection, ...]
    assumptions: tuple[str, ...]
    document: Mapping[str, Any]
    entries: Mapping[str, Mapping[str, Any]]
    catalog_sha256: str
    input_sha256: str
    kv_precisions: tuple[KvPrecision, ...] = ()
    measurements: tuple[Measurement, ...] = ()
