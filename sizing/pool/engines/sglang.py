"""SGLang: a pool of tokens, one of windows for some models and one of states, out of a share of free memory.

Rules: SGLang 0.5.23 `srt/mem_cache/kv_cache_configurator.py` (`_profile_available_bytes`, `_handle_max_mamba_cache`),
`model_executor/pool_configurator.py`, `configs/model_config.py` (`is_hybrid_swa_model`), `arg_groups/memory_hook.py`
(the share by default) and `attention_hook.py` (AMD); `server_args.py` of 0.4 (the share by TP).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from sizing.pool.budget import PoolBudget
from sizing.pool.engines.loaded import loaded_bytes
from sizing.pool.engines.profile import AS_SHIPPED, Memory, Outside, Printed, Settings, Start, budget_of
from sizing.pool.engines.supports import NOTHING_KNOWN, Supports
from sizing.pool.layout import Layout
from sizing.pool.precision import KvPrecision
from sizing.pool.storage import FP8_ROWS, RowStorage
from sizing.sequence.attention import AttentionKind
from sizing.sequence.heads import ChunkedAttention, FullAttention, SlidingAttention
from sizing.sequence.model import ModelShape
from sizing.sequence.sharding import Sharding
from sizing.sequence.streams import ALL, CacheRole, Stored, Stream
from sizing.sequence.weights import WeightBytes

ROTARY_BYTES = 4  # of an element of the table of positions
STATE_BITS = 32  # of an element of a recurrent state
AMD = "AMD"
FREE = "what is free before weights are loaded"
MANY = 4  # TP from which more sequences are captured
LARGE = 60 * 2**30
AMD_FROM = 8_192  # tokens of the longest sequence, from which attention on AMD needs a workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenStorage(RowStorage):
    """Storage by the token. `window_share` tokens of windows for each token of the full layers, where the model is
    among those whose windows have a pool of their own; other windows are stored in full. `state_copies` of each state.
    """

    window_share: Fraction
    state_copies: int

    def row_bits(self, stream: Stream) -> Fraction:
        if stream.role is CacheRole.RECURRENT_STATE:
            return Fraction(STATE_BITS * sum(stream.widths))
        return RowStorage.row_bits(self, stream)

    def stored(self, layers: Sequence[tuple[int, AttentionKind]], sharding: Sharding) -> tuple[Stored, ...]:
        own_pool = windows_have_a_pool([kind for _, kind in layers])
        found = []
        for count, kind in layers:
            for stream in kind.streams(sharding.tp):
                bits, keep = self.row_bits(stream), stream.keep
                if not stream.is_state and keep.most is not None and stream.role is CacheRole.KEY_VALUE:
                    keep, bits = ALL, bits * (self.window_share if own_pool else 1)
                found.append(
                    Stored(
                        stream=stream,
                        layers=count,
                        row_bits=bits,
                        keep=keep,
                        spare_blocks=self.state_copies - 1 if stream.is_state else 0,
                        split=sharding.dcp if stream.split else 1,
                    )
                )
        return tuple(found)


def windows_have_a_pool(kinds: Sequence[AttentionKind]) -> bool:
    """SGLang lists by name the architectures whose windows have a pool of their own. Their shapes tell them apart:
    chunks (Llama 4), sinks (gpt-oss), or windows of other heads than the full layers (Gemma 4, MiMo-V2, Step 3.5);
    Gemma 2 and 3, Cohere 2, OLMo 3, EXAONE 4 and Mistral have none of these and are not on the list.
    """
    windows = [kind for kind in kinds if isinstance(kind, SlidingAttention)]
    full = {_heads(kind) for kind in kinds if type(kind) is FullAttention}
    chunks = any(isinstance(kind, ChunkedAttention) for kind in kinds)
    return chunks or any(kind.sinks or (full and _heads(kind) not in full) for kind in windows)


def _heads(kind: FullAttention) -> tuple[int, int, int, int]:
    return kind.query_heads, kind.kv_heads, kind.head_dim, kind.v_head_dim


@dataclass(frozen=True, slots=True)
class Captures:
    """What is captured by default on GPUs of at least `least_bytes`: tokens of a prefill step, sequences of a decode
    step with TP below 4 and from 4."""

    least_bytes: int
    tokens: int
    sequences: int
    sequences_of_many: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SglangEngine:
    """One range of versions. Bytes are of one GPU.

    `hidden_bytes` is what the driver keeps of the memory that it reports, `context_bytes` what the process holds before
    it counts what is free, `loading_bytes` what loading takes beside the weights by one GPU alone, and
    `loading_bytes_in_group` by one of several. The share of free memory for weights
    and cache is stated by GPUs of a replica in `shares` (descending), or where that is empty follows from `captures`:
    `token_bytes` a token, `sequence_bytes` a sequence, `group_bytes` a GPU of the replica and `base_bytes`, but not
    below `least_outside_bytes` on GPUs above 60 GiB.
    """

    name: str
    hidden_bytes: int
    context_bytes: int
    loading_bytes: int
    loading_bytes_in_group: int
    shares: tuple[tuple[int, Fraction], ...]
    captures: tuple[Captures, ...]
    token_bytes: int
    sequence_bytes: int
    group_bytes: int
    base_bytes: int
    least_outside_bytes: int
    amd_share: Fraction
    window_share: Fraction
    state_copies: int
    state_pool_share: Fraction
    supports: Supports = NOTHING_KNOWN

    def settings(self, memory: Memory, model: ModelShape, layout: Layout, start: Start = AS_SHIPPED) -> Settings:
        """The share alone decides; what is captured is told where the share follows from it."""
        share = self.share(memory, model, layout, start)
        if self.shares or start.utilisation is not None:
            return Settings(share, FREE, None, None)
        return Settings(share, FREE, *self._steps(memory, layout))

    def hbm_bytes(self, visible_bytes: int | None, free_bytes: int | None) -> int | None:
        return None if free_bytes is None else free_bytes + self.context_bytes + self.hidden_bytes

    def storage(self, model: ModelShape, precision: KvPrecision) -> TokenStorage:
        return TokenStorage(
            bits=precision.bits.value,
            rows=FP8_ROWS if precision.name == "fp8" else {},
            window_share=self.window_share,
            state_copies=self.state_copies,
        )

    def share(self, memory: Memory, model: ModelShape, layout: Layout, start: Start) -> Fraction:
        """The share of free memory for weights and cache together."""
        share = start.utilisation
        if share is None and self.shares:
            share = next(share for tp, share in self.shares if layout.gpus_per_replica >= tp)
        elif share is None:
            share = 1 - Fraction(self._captured(memory, layout), memory.hbm_bytes)
        longest = start.longest or model.context_limit
        return share * self.amd_share if memory.vendor == AMD and longest > AMD_FROM else share

    def _captured(self, memory: Memory, layout: Layout) -> int:
        tokens, sequences = self._steps(memory, layout)
        outside = (
            self.base_bytes
            + tokens * self.token_bytes
            + sequences * self.sequence_bytes
            + layout.gpus_per_replica * self.group_bytes
        )
        return max(outside, self.least_outside_bytes) if memory.hbm_bytes > LARGE else outside

    def _steps(self, memory: Memory, layout: Layout) -> tuple[int, int]:
        """(tokens, sequences) of the steps that are captured."""
        captured = next(each for each in self.captures if memory.hbm_bytes >= each.least_bytes)
        return captured.tokens, captured.sequences if layout.tp < MANY else captured.sequences_of_many

    def outside(
        self, memory: Memory, model: ModelShape, weights: WeightBytes, layout: Layout, start: Start = AS_SHIPPED
    ) -> Outside:
        free = memory.hbm_bytes - self.hidden_bytes - self.context_bytes
        unused = ceil((1 - self.share(memory, model, layout, start)) * free)
        loading = self.loading_bytes if layout.gpus_per_replica == 1 else self.loading_bytes_in_group
        if start.taken_bytes is not None:
            loading = start.taken_bytes
        return Outside(unused=unused + self.hidden_bytes + self.context_bytes, non_torch=loading)

    def loaded(self, model: ModelShape, weights: WeightBytes, layout: Layout, start: Start = AS_SHIPPED) -> int:
        return loaded_bytes(model, weights, layout, start.element_bytes, rotary_bytes=ROTARY_BYTES)

    def budget(
        self,
        memory: Memory,
        model: ModelShape,
        weights: WeightBytes,
        precision: KvPrecision,
        layout: Layout,
        start: Start = AS_SHIPPED,
    ) -> PoolBudget:
        """Tokens and states share what is left, as they do where `mamba_full_memory_ratio` is set for the load."""
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
        """Tokens of the pool of tokens, beside the pool of states where there is one."""
        token = model.bytes_per_token(layout.sharding, self.storage(model, precision)) / layout.tp
        if any(stream.is_state for _, kind in model.layers() for stream in kind.streams(1)):
            token *= 1 + self.state_pool_share
        return Printed(int(cache_bytes / token) if token else 0, None, token)
