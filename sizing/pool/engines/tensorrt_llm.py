"""TensorRT-LLM: blocks of tokens, a pool for each window, out of a share of what is free when a model has run once.

Rules: TensorRT-LLM 1.x `_torch/pyexecutor/_util.py` (`_cal_max_memory`: (total - peak) x fraction), `KvCacheConfig` of
its API reference (`free_gpu_memory_fraction` 0.9, `tokens_per_block` 32). What a step takes at its peak is estimated as
for vLLM; no log shows it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from sizing.pool.budget import PoolBudget
from sizing.pool.engines.activations import expert_bytes, forward_bytes
from sizing.pool.engines.loaded import loaded_bytes
from sizing.pool.engines.profile import AS_SHIPPED, Memory, Outside, Printed, Settings, Start, budget_of
from sizing.pool.engines.supports import NOTHING_KNOWN, Supports
from sizing.pool.layout import Layout
from sizing.pool.precision import KvPrecision
from sizing.pool.storage import RowStorage
from sizing.sequence.attention import AttentionKind
from sizing.sequence.model import ModelShape
from sizing.sequence.sharding import Sharding
from sizing.sequence.streams import Stored
from sizing.sequence.weights import WeightBytes


@dataclass(frozen=True, slots=True, kw_only=True)
class PagedStorage(RowStorage):
    """Flat bits in blocks of `block` tokens; a window keeps its window and the block that it starts in."""

    block: int

    def stored(self, layers: Sequence[tuple[int, AttentionKind]], sharding: Sharding) -> tuple[Stored, ...]:
        return tuple(
            Stored(
                stream=stream,
                layers=count,
                row_bits=self.row_bits(stream),
                keep=stream.keep,
                block=1 if stream.is_state else self.block,
                spare_blocks=0 if stream.is_state or stream.grows else 1,
                split=sharding.dcp if stream.split else 1,
            )
            for count, kind in layers
            for stream in kind.streams(sharding.tp)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorRtEngine:
    """One range of versions. Bytes are of one GPU, `utilisation` is the share of what is free after a first run."""

    name: str
    utilisation: Fraction
    hidden_bytes: int
    batched_tokens: int
    base_bytes: int
    non_torch_bytes: int
    non_torch_bytes_in_group: int
    block: int
    supports: Supports = NOTHING_KNOWN

    def settings(self, memory: Memory, model: ModelShape, layout: Layout, start: Start = AS_SHIPPED) -> Settings:
        share = self.utilisation if start.utilisation is None else start.utilisation
        return Settings(share, "what is free after a first run", start.batched_tokens or self.batched_tokens, None)

    def hbm_bytes(self, visible_bytes: int | None, free_bytes: int | None) -> int | None:
        return None if visible_bytes is None else visible_bytes + self.hidden_bytes

    def storage(self, model: ModelShape, precision: KvPrecision) -> PagedStorage:
        return PagedStorage(bits=precision.bits.value, block=self.block)

    def outside(
        self, memory: Memory, model: ModelShape, weights: WeightBytes, layout: Layout, start: Start = AS_SHIPPED
    ) -> Outside:
        loaded = ceil(Fraction(self.loaded(model, weights, layout, start), layout.tp))
        tokens = start.batched_tokens or self.batched_tokens
        share = self.settings(memory, model, layout, start).share
        step = forward_bytes(model, tokens, layout.tp, start.element_bytes)
        activations = ceil(step + expert_bytes(model, tokens, layout.tp, start.element_bytes)) + self.base_bytes
        non_torch = self.non_torch_bytes if layout.gpus_per_replica == 1 else self.non_torch_bytes_in_group
        if start.taken_bytes is not None:
            activations, non_torch = start.taken_bytes, 0
        free = max(0, memory.hbm_bytes - self.hidden_bytes - loaded - activations - non_torch)
        return Outside(
            unused=self.hidden_bytes + ceil((1 - share) * free), activations=activations, non_torch=non_torch
        )

    def loaded(self, model: ModelShape, weights: WeightBytes, layout: Layout, start: Start = AS_SHIPPED) -> int:
        return loaded_bytes(model, weights, layout, start.element_bytes)

    def budget(
        self,
        memory: Memory,
        model: ModelShape,
        weights: WeightBytes,
        precision: KvPrecision,
        layout: Layout,
        start: Start = AS_SHIPPED,
    ) -> PoolBudget:
        return budget_of(self, memory, model, weights, layout, start)

    def printed(
        self,
        memory: Memory,
        model: ModelShape,
        precision: KvPrecision,
        layout: Layout,
        cache_bytes: int,
        start: Start = AS_SHIPPED,
    ) -> Printed:
        """Tokens of whole blocks; those of a window where all layers have one."""
        stored = self.storage(model, precision).stored(model.layers(), layout.sharding)
        kept = [each for each in stored if each.grows] or [each for each in stored if not each.stream.is_state]
        token = sum((each.token_bits for each in kept), Fraction(0)) / 8 / layout.tp
        tokens = int(cache_bytes / (token * self.block)) * self.block if token else 0
        return Printed(tokens, None, token)
