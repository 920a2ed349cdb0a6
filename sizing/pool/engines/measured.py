"""A profile with what was measured: a log of the same model on as many GPUs goes before the rules."""

from dataclasses import dataclass, replace

from sizing.pool.budget import PoolBudget
from sizing.pool.engines.profile import AS_SHIPPED, Engine, Memory, Outside, Printed, Start
from sizing.pool.layout import Layout
from sizing.pool.precision import KvPrecision
from sizing.sequence.attention import Storage
from sizing.sequence.model import ModelShape
from sizing.sequence.weights import WeightBytes


@dataclass(frozen=True, slots=True)
class Measurement:
    """`outside_bytes` of one GPU beside the cache and the weights as predicted, of `model` on a replica of `gpus`."""

    model: str
    gpus: int
    outside_bytes: int


@dataclass(frozen=True, slots=True)
class MeasuredEngine:
    """`engine` with `measured` in place of its activations, libraries and graphs."""

    engine: Engine
    measured: tuple[Measurement, ...]

    @property
    def name(self) -> str:
        return self.engine.name

    def hbm_bytes(self, visible_bytes: int | None, free_bytes: int | None) -> int | None:
        return self.engine.hbm_bytes(visible_bytes, free_bytes)

    def storage(self, model: ModelShape, precision: KvPrecision) -> Storage:
        return self.engine.storage(model, precision)

    def outside(
        self, memory: Memory, model: ModelShape, weights: WeightBytes, layout: Layout, start: Start = AS_SHIPPED
    ) -> Outside:
        return self.engine.outside(memory, model, weights, layout, self._measured(model, layout, start))

    def loaded(self, model: ModelShape, weights: WeightBytes, layout: Layout, start: Start = AS_SHIPPED) -> int:
        return self.engine.loaded(model, weights, layout, start)

    def budget(
        self,
        memory: Memory,
        model: ModelShape,
        weights: WeightBytes,
        precision: KvPrecision,
        layout: Layout,
        start: Start = AS_SHIPPED,
    ) -> PoolBudget:
        return self.engine.budget(memory, model, weights, precision, layout, self._measured(model, layout, start))

    def printed(
        self,
        memory: Memory,
        model: ModelShape,
        precision: KvPrecision,
        layout: Layout,
        cache_bytes: int,
        start: Start = AS_SHIPPED,
    ) -> Printed:
        return self.engine.printed(memory, model, precision, layout, cache_bytes, start)

    def _measured(self, model: ModelShape, layout: Layout, start: Start) -> Start:
        """`start` with what was measured of this model on as many GPUs, if anything was and nothing else is said."""
        of_this = (model.name, layout.gpus_per_replica)
        found = [each.outside_bytes for each in self.measured if (each.model, each.gpus) == of_this]
        return replace(start, taken_bytes=found[0]) if found and start.taken_bytes is None else start
