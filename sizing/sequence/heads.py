"""Attention that caches K and V heads: full (MHA, GQA, MQA), sliding, chunked, indexed; shared and cross attention.

Rules: `R = max(1, kv // TP) x (d + d_v)` elements per token and rank; heads are replicated past `tp = kv_heads`
(vLLM 0.32.0 `v1/kv_cache_interface.py`, `config/model.py:get_num_kv_heads`; SGLang 0.5.23 `pool_configurator.py`).
"""

from dataclasses import dataclass
from fractions import Fraction

from sizing.sequence.attention import AttentionKind, attention_kind, head_refusal
from sizing.sequence.sharding import Sharding
from sizing.sequence.streams import ALL, CacheRole, Keep, Stream
from sizing.sequence.tensors import Role, Tensors, copied


@attention_kind("full")
@dataclass(frozen=True, slots=True, kw_only=True)
class FullAttention(AttentionKind):
    """Every token is kept: K of `head_dim` and V of `value_head_dim` (default the same) per KV head.

    `qk_norm` is the number of weights of the query and key norms together, `qkv_bias` and `output_bias` the
    projections that carry one, `sinks` one learned weight per query head. `gate_width` is the width of a gate on the
    output, a projection of the layer's input. `value_projection` is off where values are read off the keys (Gemma 4);
    both are cached all the same. `own_weights` is off where the weights belong to the model and serve several layers.
    """

    query_heads: int
    kv_heads: int
    head_dim: int
    value_head_dim: int | None = None
    qk_norm: int = 0
    qkv_bias: bool = False
    output_bias: bool = False
    sinks: bool = False
    gate_width: int = 0
    value_projection: bool = True
    own_weights: bool = True

    @property
    def v_head_dim(self) -> int:
        return self.head_dim if self.value_head_dim is None else self.value_head_dim

    @property
    def keep(self) -> Keep:
        return ALL

    def heads_per_rank(self, tp: int) -> int:
        return max(1, self.kv_heads // tp)

    def streams(self, tp: int) -> tuple[Stream, ...]:
        keep = self.keep
        return (
            Stream(
                role=CacheRole.KEY_VALUE,
                widths=(self.head_dim, self.v_head_dim),
                rows=tp * self.heads_per_rank(tp),
                keep=keep,
                split=keep.most is None,
                flop=2 * self.query_heads * (self.head_dim + self.v_head_dim),
            ),
        )

    def refusal(self, sharding: Sharding) -> str | None:
        tp, dcp = sharding.tp, sharding.dcp
        refused = head_refusal(self.query_heads, tp)
        if refused:
            return refused
        if self.kv_heads % tp and tp % self.kv_heads:
            return f"TP {tp} neither divides {self.kv_heads} KV heads nor is a multiple of them"
        if dcp == 1:
            return None
        if tp % dcp:
            return f"DCP {dcp} does not divide TP {tp}"
        if tp <= self.kv_heads or dcp > tp // self.kv_heads:
            return f"DCP {dcp} needs TP of at least {self.kv_heads * dcp} with {self.kv_heads} KV heads"
        if (self.query_heads // self.kv_heads) % dcp:
            return f"DCP {dcp} does not divide {self.query_heads // self.kv_heads} query heads per KV head"
        return None

    def tensors(self, hidden: int) -> tuple[Tensors, ...]:
        if not self.own_weights:
            return ()
        query = self.query_heads * self.head_dim
        key, value = self.kv_heads * self.head_dim, self.kv_heads * self.v_head_dim * self.value_projection
        output = self.query_heads * self.v_head_dim
        small = (query + key + value) * self.qkv_bias + hidden * self.output_bias + self.query_heads * self.sinks
        return (
            Tensors(Role.ATTENTION, hidden * (query + self.gate_width) + output * hidden, most_shards=self.query_heads),
            Tensors(Role.ATTENTION, hidden * (key + value), most_shards=self.kv_heads),
            copied(Role.NORM, self.qk_norm),
            Tensors(Role.SMALL, small),
        )


@attention_kind("sliding")
@dataclass(frozen=True, slots=True, kw_only=True)
class SlidingAttention(FullAttention):
    """The last `window` tokens are kept. Windows are not split by decode context parallel (vLLM 0.32.0)."""

    window: int

    @property
    def keep(self) -> Keep:
        return Keep(most=self.window)


@attention_kind("chunked")
@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkedAttention(FullAttention):
    """The tokens of the current chunk are kept, at most `chunk`; those of earlier chunks are freed (Llama 4)."""

    chunk: int

    @property
    def keep(self) -> Keep:
        return Keep(most=self.chunk)


@attention_kind("indexed")
@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedAttention(FullAttention):
    """Full attention beside one index key of `index_head_dim` per token, 16 bits an element, on every rank.

    The keys choose the blocks that are read; everything is kept (MiniMax-M3; vLLM 0.32.0
    `models/minimax_m3/common/indexer.py`). `index_heads` are the heads of the index queries.
    """

    index_heads: int
    index_head_dim: int

    def streams(self, tp: int) -> tuple[Stream, ...]:
        index = Stream(
            role=CacheRole.INDEX_KEY,
            widths=(self.index_head_dim,),
            rows=tp,
            own_bits=Fraction(16 * self.index_head_dim),
            flop=2 * self.index_heads * self.index_head_dim,
        )
        return (*FullAttention.streams(self, tp), index)

    def tensors(self, hidden: int) -> tuple[Tensors, ...]:
        return (
            *FullAttention.tensors(self, hidden),
            copied(Role.INDEXER, hidden * self.index_head_dim * (self.index_heads + 1)),
            copied(Role.NORM, 2 * self.index_head_dim),
        )


@attention_kind("shared")
@dataclass(frozen=True, slots=True, kw_only=True)
class SharedAttention(FullAttention):
    """Attends to the cache of an earlier layer and keeps nothing: queries and output only (Gemma 3n, Gemma 4, CLA).

    `kv_heads` are those of the layer that it reads; they still limit TP.
    """

    def streams(self, tp: int) -> tuple[Stream, ...]:
        return ()

    def tensors(self, hidden: int) -> tuple[Tensors, ...]:
        query, output = self.query_heads * self.head_dim, self.query_heads * self.v_head_dim
        small = query * self.qkv_bias + hidden * self.output_bias
        return (
            Tensors(Role.ATTENTION, hidden * (query + self.gate_width) + output * hidden, most_shards=self.query_heads),
            copied(Role.NORM, self.qk_norm),
            Tensors(Role.SMALL, small),
        )


@attention_kind("cross")
@dataclass(frozen=True, slots=True, kw_only=True)
class CrossAttention(FullAttention):
    """Attends to image tokens, which are cached once and do not grow with the text (Llama 3.2 Vision).

    What the images keep depends on them and is not counted here.
    """

    def streams(self, tp: int) -> tuple[Stream, ...]:
        return ()


@attention_kind("none")
@dataclass(frozen=True, slots=True, kw_only=True)
class NoAttention(AttentionKind):
    """A layer that looks at no other token: a feed-forward alone, or with `linear` one square matrix (Nemotron-NAS)."""

    linear: bool = False

    def streams(self, tp: int) -> tuple[Stream, ...]:
        return ()

    def refusal(self, sharding: Sharding) -> str | None:
        return None

    def tensors(self, hidden: int) -> tuple[Tensors, ...]:
        return (Tensors(Role.ATTENTION, hidden * hidden * self.linear),)
