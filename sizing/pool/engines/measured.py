"""A profile with what was measured: a log of the same model on as many GPUs goes before the rules."""

from collections.abc import Sequence
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
        predicted = self.engine.outside(memory, model, weights, layout, start)
        found = _of(self.measured, model, layout)
        return predicted if found is None else Outside(unused=predicted.unused, activations=found.outside_bytes)

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
        predicted = self.engine.budget(memory, model, weights, precision, layout, start)
        of_rules = self.engine.outside(memory, model, weights, layout, start)
        more = self.outside(memory, model, weights, layout, start).total - of_rules.total
        return replace(predicted, reserve_bytes=predicted.reserve_bytes + layout.tp * more)

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


def _of(measured: Sequence[Measurement], model: ModelShape, layout: Layout) -> Measurement | None:
    return next((each for each in measured if each.model == model.name and each.gpus == layout.gpus_per_replica), None)
