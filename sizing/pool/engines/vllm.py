"""vLLM: storage in a pool of equal blocks, and a share of total memory less weights, activations and libraries.

Rules: vLLM 0.32.0 `v1/worker/gpu_worker.py` (`determine_available_memory`), `v1/worker/utils.py` (`request_memory`),
`v1/kv_cache_interface.py` (blocks of a sequence), `model_executor/layers/fused_moe` (workspaces). What activations
take beyond the tensors that these rules name is a fit over start-up logs; `docs/engines.md` has its spread.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from sizing.pool.budget import PoolBudget
from sizing.pool.engines.activations import (
    expert_bytes,
    forward_bytes,
    hidden_bytes,
    indexer_bytes,
    sampling_bytes,
)
from sizing.pool.engines.blocks import Pool, Unit, pool_of
from sizing.pool.engines.loaded import loaded_bytes
from sizing.pool.engines.packed import packed_pool
from sizing.pool.engines.profile import AS_SHIPPED, Memory, Outside, Printed, Settings, Start, budget_of
from sizing.pool.engines.supports import NOTHING_KNOWN, Supports
from sizing.pool.layout import Layout
from sizing.pool.precision import KvPrecision
from sizing.pool.storage import FP8_ROWS, NVFP4_ROWS, RowStorage, per_head
from sizing.sequence.attention import AttentionKind
from sizing.sequence.compressed import CompressedAttention
from sizing.sequence.heads import ChunkedAttention
from sizing.sequence.model import ModelShape
from sizing.sequence.sharding import Sharding
from sizing.sequence.streams import ALL, CacheRole, Keep, Stored
from sizing.sequence.weights import WeightBytes

CHUNKED_FROM = 32_768  # without the scheduler of version 1, longer prompts are cut into chunks
CHUNK = 2_048
ROWS = {
    "fp8": FP8_ROWS,
    "nvfp4": NVFP4_ROWS,
    "int8": {CacheRole.KEY_VALUE: per_head(8)},
    "int4": {CacheRole.KEY_VALUE: per_head(4)},
}
"""Row layouts by KV precision; where none is named, flat bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockStorage(RowStorage):
    """Storage in equal blocks.

    `block` and `sparse_block` are tokens of a block (the second where an indexer chooses), `in_flight` the tokens of
    running steps that a window holds beside its own, `state_copies` the states of one sequence. `chunks_in_full` and
    `windows_in_full` store such layers like full ones.
    """

    block: int = 16
    sparse_block: int = 64
    in_flight: int = 1
    state_copies: int = 1
    chunks_in_full: bool = True
    windows_in_full: bool = False

    def stored(self, layers: Sequence[tuple[int, AttentionKind]], sharding: Sharding) -> tuple[Stored, ...]:
        return self.pool(layers, sharding).stored

    def pool(self, layers: Sequence[tuple[int, AttentionKind]], sharding: Sharding) -> Pool:
        """The pool of one GPU for these layers."""
        if any(isinstance(kind, CompressedAttention) for _, kind in layers):
            rows = [
                (count, stream, self.row_bits(stream)) for count, kind in layers for stream in kind.streams(sharding.tp)
            ]
            return packed_pool(rows, self.in_flight)
        return pool_of([unit for count, kind in layers for unit in self._units(count, kind, sharding)], sharding.tp)

    def _units(self, count: int, kind: AttentionKind, sharding: Sharding) -> list[Unit]:
        streams = tuple((stream, self.row_bits(stream)) for stream in kind.streams(sharding.tp))
        if not streams:
            return []
        first = streams[0][0]
        keep, spare, block = first.keep, 0, self.block
        if first.is_state:
            spare, block = self.state_copies - 1, 1
        elif keep.most is not None:
            keep, spare = self._window(kind, keep.most)
        if first.role is CacheRole.SPARSE_LATENT:
            block = self.sparse_block
        return [
            Unit(
                layers=count,
                streams=streams,
                bits=sum((stream.rows * bits for stream, bits in streams), Fraction(0)) / sharding.tp,
                keep=keep,
                block=block,
                spare=spare,
                split=sharding.dcp if first.split else 1,  # index keys with their latents
                is_latent=first.role in (CacheRole.LATENT, CacheRole.SPARSE_LATENT),
            )
        ]

    def _window(self, kind: AttentionKind, most: int) -> tuple[Keep, int]:
        """A window holds its last tokens but one, those in flight, and one block more where it starts inside one."""
        chunked = isinstance(kind, ChunkedAttention)
        if self.windows_in_full or (chunked and self.chunks_in_full):
            return ALL, 0
        return (Keep(most=most + self.in_flight), 0) if chunked else (Keep(most=most - 1 + self.in_flight), 1)


@dataclass(frozen=True, slots=True)
class Batch:
    """What an engine runs at once by default on GPUs of at least `least_bytes`."""

    least_bytes: int
    tokens: int
    sequences: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VllmEngine:
    """One range of versions. Bytes are of one GPU.

    `hidden_bytes` is what the driver keeps of the memory that it reports. `logit_bytes` are taken for every logit of
    the sampler beside the logit itself, `base_bytes` beside all that the rules name. `non_torch_bytes` are taken by one
    GPU alone, `non_torch_bytes_in_group` by one of several. Graphs take `graph_bytes` and `graph_bytes_per_layer`, of
    what the cache may have where `graphs_inside`. `steps_in_flight` steps run at once. Buffers of experts stay while
    others come and go where `buffers_stay`. `whole_prompts` is the time before chunked prefill: one step holds a whole
    prompt. `prints_concurrency`: the tokens that a log prints are concurrency x longest sequence, and not blocks /
    groups x tokens of a block.
    """

    name: str
    utilisation: Fraction
    hidden_bytes: int
    batches: tuple[Batch, ...]
    logit_bytes: Fraction
    base_bytes: int
    non_torch_bytes: int
    non_torch_bytes_in_group: int
    graph_bytes: int
    graph_bytes_per_layer: int
    graphs_inside: bool
    steps_in_flight: int
    block: int
    sparse_block: int
    mxfp4_multiple: int
    state_copies: int
    chunks_in_full: bool
    windows_in_full: bool
    buffers_stay: bool
    whole_prompts: bool
    prints_concurrency: bool
    supports: Supports = NOTHING_KNOWN

    def settings(self, memory: Memory, model: ModelShape, layout: Layout, start: Start = AS_SHIPPED) -> Settings:
        share = self.utilisation if start.utilisation is None else start.utilisation
        return Settings(share, "total memory", *self.batch(memory, model, start))

    def hbm_bytes(self, visible_bytes: int | None, free_bytes: int | None) -> int | None:
        return None if visible_bytes is None else visible_bytes + self.hidden_bytes

    def storage(self, model: ModelShape, precision: KvPrecision) -> BlockStorage:
        return self._storage(precision, 1, self.state_copies)

    def _storage(self, precision: KvPrecision, in_flight: int, state_copies: int) -> BlockStorage:
        return BlockStorage(
            bits=precision.bits.value,
            rows=ROWS.get(precision.name, {}),
            block=self.block,
            sparse_block=self.sparse_block,
            in_flight=in_flight,
            state_copies=state_copies,
            chunks_in_full=self.chunks_in_full,
            windows_in_full=self.windows_in_full,
        )

    def batch(self, memory: Memory, model: ModelShape, start: Start) -> tuple[int, int]:
        """(tokens, sequences) of one step."""
        found = next(batch for batch in self.batches if memory.hbm_bytes >= batch.least_bytes)
        tokens = found.tokens
        if self.whole_prompts:
            longest = start.longest or model.context_limit
            tokens = CHUNK if longest > CHUNKED_FROM else max(longest, CHUNK)
        return start.batched_tokens or tokens, start.sequences or found.sequences

    def outside(
        self, memory: Memory, model: ModelShape, weights: WeightBytes, layout: Layout, start: Start = AS_SHIPPED
    ) -> Outside:
        share = self.settings(memory, model, layout, start).share
        unused = memory.hbm_bytes - ceil(share * (memory.hbm_bytes - self.hidden_bytes))
        if start.taken_bytes is not None:
            return Outside(unused=unused, activations=start.taken_bytes)
        inside = self.graphs_inside if start.graphs_inside is None else start.graphs_inside
        graphs = self.graph_bytes + self.graph_bytes_per_layer * model.layer_count
        alone = layout.gpus_per_replica == 1
        return Outside(
            unused=unused,
            activations=ceil(self._activations(memory, model, layout, start)),
            non_torch=self.non_torch_bytes if alone else self.non_torch_bytes_in_group,
            graphs=graphs if inside else 0,
        )

    def _activations(self, memory: Memory, model: ModelShape, layout: Layout, start: Start) -> Fraction:
        """The greater of sampling and of a layer's work, beside the buffers that stay."""
        width = start.element_bytes
        tokens, sequences = self.batch(memory, model, start)
        sampling = sampling_bytes(model, sequences, self.logit_bytes + width) + hidden_bytes(model, tokens, width)
        forward = forward_bytes(model, tokens, layout.tp, width)
        experts = expert_bytes(model, tokens, layout.tp, width)
        busiest = max(sampling, forward) + experts if self.buffers_stay else max(sampling, forward + experts)
        return busiest + indexer_bytes(model, start.longest or model.context_limit) + self.base_bytes

    def loaded(self, model: ModelShape, weights: WeightBytes, layout: Layout, start: Start = AS_SHIPPED) -> int:
        return loaded_bytes(model, weights, layout, start.element_bytes, self.mxfp4_multiple)

    def budget(
        self,
        memory: Memory,
        model: ModelShape,
        weights: WeightBytes,
        precision: KvPrecision,
        layout: Layout,
        start: Start = AS_SHIPPED,
    ) -> PoolBudget:
        """Tokens in flight are once in a pool, whatever the sequences, and counted with what is outside the cache."""
        longest = start.longest or model.context_limit
        steady, busy = (
            model.sequence_bytes(longest, layout.sharding, storage)
            for storage in (self.storage(model, precision), self._storage_at_start(memory, model, precision, start))
        )
        return budget_of(self, memory, model, weights, layout, start, busy - steady)

    def printed(
        self,
        memory: Memory,
        model: ModelShape,
        precision: KvPrecision,
        layout: Layout,
        cache_bytes: int,
        start: Start = AS_SHIPPED,
    ) -> Printed:
        """Whole blocks over those that the longest sequence takes, with the tokens in flight in its windows."""
        storage = self._storage_at_start(memory, model, precision, start)
        longest = start.longest or model.context_limit
        pool = storage.pool(model.layers(), layout.sharding)
        block_bytes = pool.block_bits / 8
        blocks = cache_bytes // block_bytes
        sequence = sum((stored.bits(longest) for stored in pool.stored), Fraction(0)) / 8 / layout.tp
        concurrency = blocks * block_bytes / sequence
        tokens = int(concurrency * longest)
        if not self.prints_concurrency:
            tokens = blocks // pool.groups * pool.block_tokens * layout.dcp
        return Printed(tokens, concurrency, Fraction(cache_bytes, max(1, tokens)))

    def _storage_at_start(
        self, memory: Memory, model: ModelShape, precision: KvPrecision, start: Start
    ) -> BlockStorage:
        tokens, _ = self.batch(memory, model, start)
        return self._storage(precision, self.steps_in_flight * tokens, start.state_copies or self.state_copies)
