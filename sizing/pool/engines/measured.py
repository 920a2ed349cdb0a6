"""A profile with what was measured: a log of the same model, started so on the same GPUs, goes before the rules."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from sizing.pool.budget import PoolBudget
from sizing.pool.engines.profile import AS_SHIPPED, Engine, Memory, Outside, Printed, Settings, Start
from sizing.pool.engines.supports import Supports
from sizing.pool.layout import Layout
from sizing.pool.precision import KvPrecision
from sizing.sequence.attention import Storage
from sizing.sequence.model import ModelShape
from sizing.sequence.weights import FORMATS, WeightBytes, weight_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """`outside_bytes` of one GPU beside the cache and the weights as predicted, as a log of `profile` showed them.

    They hold for `model` in these precisions on `gpus` of `gpu` in this layout. `utilisation`, `batched_tokens`,
    `sequences` and `longest` are what the start was given, None where it was not; `eager` starts capture no graphs.
    `seen_in` are the logs, by name.
    """

    profile: str
    seen_in: tuple[str, ...]
    model: str
    gpu: str
    gpus: int
    tp: int
    dcp: int
    weights: str
    kv_precision: str
    outside_bytes: int
    utilisation: Fraction | None = None
    batched_tokens: int | None = None
    sequences: int | None = None
    longest: int | None = None
    eager: bool = False

    def differences(
        self,
        profile: str,
        memory: Memory,
        model: ModelShape,
        weights: WeightBytes,
        precision: KvPrecision | None,
        layout: Layout,
    ) -> Iterator[str]:
        """What keeps it from a replica, as ends of a sentence; nothing where it holds. `precision` None: any."""
        if model.name != self.model:
            yield f"the model is {model.name}, not {self.model}"
            return
        if profile != self.profile:
            yield f"the profile is {profile}, not {self.profile}"
        if memory.gpu != self.gpu:
            yield f"the GPU is {memory.gpu or 'not named'}, not {self.gpu}"
        if layout.gpus_per_replica != self.gpus:
            yield f"a replica has {layout.gpus_per_replica} GPUs, not {self.gpus}"
        if layout.tp != self.tp:
            yield f"TP is {layout.tp}, not {self.tp}"
        if layout.dcp != self.dcp:
            yield f"DCP is {layout.dcp}, not {self.dcp}"
        if precision is not None and precision.name != self.kv_precision:
            yield f"the cache is in {precision.name}, not {self.kv_precision}"
        if self.weights not in FORMATS or weights != weight_bytes(model, FORMATS[self.weights]):
            yield f"the weights are not in {self.weights}"

    def started(self, start: Start) -> Start | None:
        """`start` as it was measured; None where it says otherwise. The share changes nothing of what is taken."""
        said = ((start.batched_tokens, self.batched_tokens), (start.sequences, self.sequences))
        if any(asked is not None and asked != seen for asked, seen in said) or (
            start.graphs_inside is False and not self.eager
        ):
            return None
        return replace(
            start,
            utilisation=self.utilisation if start.utilisation is None else start.utilisation,
            batched_tokens=self.batched_tokens,
            sequences=self.sequences,
            longest=start.longest or self.longest,
            taken_bytes=self.outside_bytes,
        )


@dataclass(frozen=True, slots=True)
class MeasuredEngine:
    """`engine` with `measured` in place of its activations, libraries and graphs, where they hold."""

    engine: Engine
    measured: tuple[Measurement, ...]

    @property
    def name(self) -> str:
        return self.engine.name

    @property
    def supports(self) -> Supports:
        return self.engine.supports

    def of(
        self,
        memory: Memory,
        model: ModelShape,
        weights: WeightBytes,
        precision: KvPrecision | None,
        layout: Layout,
    ) -> Measurement | None:
        """What was measured of such a replica; None where nothing was."""
        case = (self.name, memory, model, weights, precision, layout)
        return next((each for each in self.measured if not any(each.differences(*case))), None)

    def settings(self, memory: Memory, model: ModelShape, layout: Layout, start: Start = AS_SHIPPED) -> Settings | None:
        return self.engine.settings(memory, model, layout, start)

    def hbm_bytes(self, visible_bytes: int | None, free_bytes: int | None) -> int | None:
        return self.engine.hbm_bytes(visible_bytes, free_bytes)

    def storage(self, model: ModelShape, precision: KvPrecision) -> Storage:
        return self.engine.storage(model, precision)

    def outside(
        self, memory: Memory, model: ModelShape, weights: WeightBytes, layout: Layout, start: Start = AS_SHIPPED
    ) -> Outside:
        """That of any precision of the cache."""
        start = self._started(self.of(memory, model, weights, None, layout), start)
        return self.engine.outside(memory, model, weights, layout, start)

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
        start = self._started(self.of(memory, model, weights, precision, layout), start)
        return self.engine.budget(memory, model, weights, precision, layout, start)

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

    def _started(self, found: Measurement | None, start: Start) -> Start:
        if found is None or start.taken_bytes is not None:
            return start
        return found.started(start) or start
