"""The arithmetic itself: flat bits per element, and a reserve as a share of HBM beside one copy of the weights."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from sizing.pool.budget import PoolBudget, pool_budget
from sizing.pool.engines.profile import AS_SHIPPED, Memory, Outside, Printed, Start
from sizing.pool.engines.supports import NOTHING_KNOWN, Supports
from sizing.pool.layout import Layout
from sizing.pool.precision import KvPrecision
from sizing.pool.storage import IdealStorage
from sizing.sequence.model import ModelShape
from sizing.sequence.weights import WeightBytes

IDEAL = "ideal"


@dataclass(frozen=True, slots=True)
class IdealEngine:
    """No engine: nothing is rounded, copied or taken beside the `reserve`."""

    reserve: Fraction

    @property
    def name(self) -> str:
        return IDEAL

    @property
    def supports(self) -> Supports:
        return NOTHING_KNOWN

    def settings(self, memory: Memory, model: ModelShape, layout: Layout, start: Start = AS_SHIPPED) -> None:
        return None

    def hbm_bytes(self, visible_bytes: int | None, free_bytes: int | None) -> int | None:
        return visible_bytes

    def storage(self, model: ModelShape, precision: KvPrecision) -> IdealStorage:
        return IdealStorage(precision.bits.value)

    def outside(
        self, memory: Memory, model: ModelShape, weights: WeightBytes, layout: Layout, start: Start = AS_SHIPPED
    ) -> Outside:
        return Outside(unused=ceil(self.reserve * memory.hbm_bytes))

    def loaded(self, model: ModelShape, weights: WeightBytes, layout: Layout, start: Start = AS_SHIPPED) -> int:
        return weights.on_pool(layout.tp, layout.gpus_per_replica)

    def budget(
        self,
        memory: Memory,
        model: ModelShape,
        weights: WeightBytes,
        precision: KvPrecision,
        layout: Layout,
        start: Start = AS_SHIPPED,
    ) -> PoolBudget:
        return pool_budget(memory.hbm_bytes, self.reserve, weights, layout)

    def printed(
        self,
        memory: Memory,
        model: ModelShape,
        precision: KvPrecision,
        layout: Layout,
        cache_bytes: int,
        start: Start = AS_SHIPPED,
    ) -> Printed:
        """As many of the longest sequences as fit, in tokens."""
        longest = start.longest or model.context_limit
        size = model.sequence_bytes(longest, layout.sharding, self.storage(model, precision))
        concurrency = Fraction(cache_bytes * layout.tp, size)
        tokens = int(concurrency * longest)
        return Printed(tokens, concurrency, Fraction(cache_bytes, max(1, tokens)))
