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
from sizing.pool.engines.blocks import Pool, Unit, pool_of
from sizing.pool.engines.loaded import loaded_bytes
from sizing.pool.engines.packed import packed_pool
from sizing.pool.engines.profile import AS_SHIPPED, Outside, Start
from sizing.pool.engines.widths import expert_widths, sparse_latent, widest_mlp
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

LOGITS_BYTES_MOST = 512 * 2**20  # VLLM_SPARSE_INDEXER_MAX_LOGITS_MB
LATENT_ROWS = 5  # rows of the workspace of sparse latents for each token of the longest sequence
INDEX_ROWS = 40  # and of index keys of 132 bytes
INDEX_ROW_BYTES = 132
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
                split=sharding.dcp,
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
    what the cache may have where `graphs_inside`. `steps_in_flight` steps run at once. `whole_prompts` is the time
    before chunked prefill: one step holds a whole prompt.
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
    state_copies: int
    chunks_in_full: bool
    windows_in_full: bool
    whole_prompts: bool
    prints_concurrency: bool

    def storage(self, model: ModelShape, precision: KvPrecision) -> BlockStorage:
        return self.storage_in_flight(precision, 1)

    def storage_in_flight(self, precision: KvPrecision, tokens: int) -> BlockStorage:
        """Storage while so many `tokens` of running steps are in flight for one sequence, as at the start."""
        return BlockStorage(
            bits=precision.bits.value,
            rows=ROWS.get(precision.name, {}),
            block=self.block,
            sparse_block=self.sparse_block,
            in_flight=tokens,
            state_copies=self.state_copies,
            chunks_in_full=self.chunks_in_full,
            windows_in_full=self.windows_in_full,
        )

    def batch(self, hbm_bytes: int, model: ModelShape, start: Start) -> tuple[int, int]:
        """(tokens, sequences) of one step."""
        found = next(batch for batch in self.batches if hbm_bytes >= batch.least_bytes)
        tokens = found.tokens
        if self.whole_prompts:
            longest = start.longest or model.context_limit
            tokens = CHUNK if longest > CHUNKED_FROM else max(longest, CHUNK)
        return start.batched_tokens or tokens, start.sequences or found.sequences

    def outside(self, hbm_bytes: int, model: ModelShape, layout: Layout, start: Start = AS_SHIPPED) -> Outside:
        """What one GPU of `hbm_bytes`, as the driver reports them, has beside weights and cache."""
        visible = hbm_bytes - self.hidden_bytes
        tokens, sequences = self.batch(hbm_bytes, model, start)
        inside = self.graphs_inside if start.graphs_inside is None else start.graphs_inside
        graphs = self.graph_bytes + self.graph_bytes_per_layer * model.layer_count
        share = self.utilisation if start.utilisation is None else start.utilisation
        alone = layout.gpus_per_replica == 1
        return Outside(
            unused=hbm_bytes - ceil(share * visible),
            activations=ceil(self._activations(model, layout, start, tokens, sequences)),
            non_torch=self.non_torch_bytes if alone else self.non_torch_bytes_in_group,
            graphs=graphs if inside else 0,
        )

    def _activations(self, model: ModelShape, layout: Layout, start: Start, tokens: int, sequences: int) -> Fraction:
        width = start.element_bytes
        one = tokens * model.hidden * width
        sampler = sequences * model.vocabulary * (self.logit_bytes + width) + one
        # gate and up projection, their product, and the layer's input, output and residual
        forward = tokens * 3 * width * Fraction(widest_mlp(model), layout.tp) + 3 * one
        return max(sampler, forward) + self._workspaces(model, layout, start, tokens) + self.base_bytes

    def _workspaces(self, model: ModelShape, layout: Layout, start: Start, tokens: int) -> Fraction:
        """Buffers that stay: two for routed experts, and those of sparse latents for the longest sequence."""
        needed = Fraction(0)
        experts = expert_widths(model)
        if experts is not None:
            inner = Fraction(experts.intermediate, layout.tp)
            widths = max(inner, Fraction(experts.hidden)) + max(2 * inner, Fraction(experts.hidden))
            needed += tokens * experts.active * start.element_bytes * widths
        sparse = sparse_latent(model)
        if sparse is not None:
            longest = start.longest or model.context_limit
            needed += longest * (LATENT_ROWS * sparse.latent_elements * 2 + INDEX_ROWS * INDEX_ROW_BYTES)
            needed += LOGITS_BYTES_MOST
        return needed

    def budget(
        self,
        hbm_bytes: int,
        model: ModelShape,
        weights: WeightBytes,
        precision: KvPrecision,
        layout: Layout,
        start: Start = AS_SHIPPED,
    ) -> PoolBudget:
        tokens, _ = self.batch(hbm_bytes, model, start)
        outside = self.outside(hbm_bytes, model, layout, start)
        return PoolBudget(
            hbm_bytes=layout.tp * hbm_bytes,
            reserve_bytes=layout.tp * outside.total + self._in_flight(model, precision, layout, tokens),
            weight_bytes=loaded_bytes(model, weights, layout, start.element_bytes),
        )

    def _in_flight(self, model: ModelShape, precision: KvPrecision, layout: Layout, tokens: int) -> int:
        """What windows hold of the tokens of running steps, once a pool whatever the sequences."""
        longest = model.context_limit
        steady, busy = (
            model.sequence_bytes(longest, layout.sharding, self.storage_in_flight(precision, held))
            for held in (1, self.steps_in_flight * tokens)
        )
        return busy - steady
