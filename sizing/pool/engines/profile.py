"""What a profile answers: how a cache is stored, and what one pool has left for it. `ideal` is the arithmetic itself.

A profile other than `ideal` replaces the reserve (decision 2): what it counts outside weights and cache stands where
the reserve does in a `PoolBudget`.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from sizing.pool.budget import PoolBudget, pool_budget
from sizing.pool.layout import Layout
from sizing.pool.precision import KvPrecision
from sizing.pool.storage import IdealStorage
from sizing.sequence.attention import Storage
from sizing.sequence.model import ModelShape
from sizing.sequence.weights import WeightBytes

IDEAL = "ideal"


class Engine(Protocol):
    """A profile by name. Both answers hold for every GPU of a pool alike."""

    @property
    def name(self) -> str: ...

    def storage(self, model: ModelShape, precision: KvPrecision) -> Storage:
        """How the cache of `model` is stored at a precision."""
        ...

    def budget(
        self, hbm_bytes: int, model: ModelShape, weights: WeightBytes, precision: KvPrecision, layout: Layout
    ) -> PoolBudget:
        """What one pool of `layout.tp` GPUs of `hbm_bytes` each has left for the cache."""
        ...


@dataclass(frozen=True, slots=True)
class IdealEngine:
    """Flat bits per element, and a reserve as a share of HBM beside one copy of the weights."""

    reserve: Fraction

    @property
    def name(self) -> str:
        return IDEAL

    def storage(self, model: ModelShape, precision: KvPrecision) -> IdealStorage:
        return IdealStorage(precision.bits.value)

    def budget(
        self, hbm_bytes: int, model: ModelShape, weights: WeightBytes, precision: KvPrecision, layout: Layout
    ) -> PoolBudget:
        return pool_budget(hbm_bytes, self.reserve, weights, layout)


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """How an engine is started, where it is not by default. Tokens and sequences are whole, the share is of memory.

    `longest` is the longest sequence that it accepts (the model's limit by default), `batched_tokens` the most tokens
    of one step, `sequences` the most that run together, `element_bytes` the width of an activation.
    """

    utilisation: Fraction | None = None
    longest: int | None = None
    batched_tokens: int | None = None
    sequences: int | None = None
    element_bytes: int = 2
    graphs_inside: bool | None = None


AS_SHIPPED = Start()


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """Bytes of one GPU that are neither weights nor cache, by cause.

    `unused` is what the engine leaves alone by its share of utilisation, `in_flight` what the tokens of running steps
    hold of windows beyond the windows themselves.
    """

    unused: int = 0
    activations: int = 0
    non_torch: int = 0
    graphs: int = 0
    in_flight: int = 0

    @property
    def total(self) -> int:
        return self.unused + self.taken + self.in_flight

    @property
    def taken(self) -> int:
        """What an engine subtracts from the memory that it may use, beside the weights."""
        return self.activations + self.non_torch + self.graphs
