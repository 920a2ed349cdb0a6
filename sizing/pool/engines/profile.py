"""What a profile answers: how a cache is stored, and what one pool has left for it. `ideal` is the arithmetic itself.

A profile other than `ideal` replaces the reserve (decision 2): what it counts outside weights and cache stands where
the reserve does in a `PoolBudget`.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from sizing.pool.budget import PoolBudget
from sizing.pool.engines.supports import Supports
from sizing.pool.layout import Layout
from sizing.pool.precision import KvPrecision
from sizing.sequence.attention import Storage
from sizing.sequence.model import ModelShape
from sizing.sequence.weights import WeightBytes

IDEAL = "ideal"


@dataclass(frozen=True, slots=True)
class Memory:
    """One GPU as an engine finds it: the bytes that count (by label, or as the driver reports them), its vendor, and
    its name in the catalog, empty where that is not known."""

    hbm_bytes: int
    vendor: str
    gpu: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """How an engine is started, where it is not by default. Tokens and sequences are whole, the share is of memory.

    `longest` is the longest sequence that it accepts (the model's limit by default), `batched_tokens` the most tokens
    of one step, `sequences` the most that run together, `element_bytes` the width of an activation, `state_copies` the
    recurrent states that are kept of one sequence. `taken_bytes` is what one GPU was seen to take beside weights and
    cache: it goes before what a profile expects.
    """

    utilisation: Fraction | None = None
    longest: int | None = None
    batched_tokens: int | None = None
    sequences: int | None = None
    element_bytes: int = 2
    graphs_inside: bool | None = None
    state_copies: int | None = None
    taken_bytes: int | None = None


AS_SHIPPED = Start()


@dataclass(frozen=True, slots=True)
class Settings:
    """What a profile takes a start to be given: the `share` of memory and what it is `of`, and the most tokens and
    sequences of a step (None where a profile does not count them)."""

    share: Fraction
    of: str
    batched_tokens: int | None
    sequences: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outside:
    """Bytes of one GPU that are neither weights nor cache, by cause; `unused` is what the engine leaves alone by its
    share of utilisation."""

    unused: int = 0
    activations: int = 0
    non_torch: int = 0
    graphs: int = 0

    @property
    def total(self) -> int:
        return self.unused + self.taken

    @property
    def taken(self) -> int:
        """What an engine subtracts from the memory that it may use, beside the weights."""
        return self.activations + self.non_torch + self.graphs


@dataclass(frozen=True, slots=True)
class Printed:
    """What an engine prints of its cache when it has started.

    `tokens` are counted as that version counts them, and `concurrency` is how many of the longest sequences fit (None
    where it is not printed). `token_bytes` is what the memory of one GPU divided by `tokens` comes to.
    """

    tokens: int
    concurrency: Fraction | None
    token_bytes: Fraction


class Engine(Protocol):
    """A profile by name. All answers hold for every GPU of a pool alike."""

    @property
    def name(self) -> str: ...

    @property
    def supports(self) -> Supports: ...

    def settings(self, memory: Memory, model: ModelShape, layout: Layout, start: Start = AS_SHIPPED) -> Settings | None:
        """What is assumed of a start; None where nothing is."""
        ...

    def hbm_bytes(self, visible_bytes: int | None, free_bytes: int | None) -> int | None:
        """What the driver reports of a GPU of which a process sees or finds free so much; None where neither helps."""
        ...

    def storage(self, model: ModelShape, precision: KvPrecision) -> Storage:
        """How the cache of `model` is stored at a precision while sequences are decoded."""
        ...

    def outside(
        self, memory: Memory, model: ModelShape, weights: WeightBytes, layout: Layout, start: Start = AS_SHIPPED
    ) -> Outside:
        """What one GPU has beside weights and cache."""
        ...

    def loaded(self, model: ModelShape, weights: WeightBytes, layout: Layout, start: Start = AS_SHIPPED) -> int:
        """Bytes of weights on all GPUs of a pool."""
        ...

    def budget(
        self,
        memory: Memory,
        model: ModelShape,
        weights: WeightBytes,
        precision: KvPrecision,
        layout: Layout,
        start: Start = AS_SHIPPED,
    ) -> PoolBudget:
        """What one pool of `layout.tp` GPUs has left for the cache."""
        ...

    def printed(
        self,
        memory: Memory,
        model: ModelShape,
        precision: KvPrecision,
        layout: Layout,
        cache_bytes: int,
        start: Start = AS_SHIPPED,
    ) -> Printed:
        """What is printed where one GPU has `cache_bytes` for the cache."""
        ...


def budget_of(
    engine: Engine,
    memory: Memory,
    model: ModelShape,
    weights: WeightBytes,
    layout: Layout,
    start: Start,
    in_flight_bytes: int = 0,
) -> PoolBudget:
    """HBM of one pool, less what `engine` has outside weights and cache on each of its GPUs and `in_flight_bytes` of
    the pool, less the weights as it loads them."""
    return PoolBudget(
        hbm_bytes=layout.tp * memory.hbm_bytes,
        reserve_bytes=layout.tp * engine.outside(memory, model, weights, layout, start).total + in_flight_bytes,
        weight_bytes=engine.loaded(model, weights, layout, start),
    )
