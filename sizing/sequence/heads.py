"""Attention that caches K and V heads: full (MHA, GQA, MQA) and sliding window.

Rules: `R = max(1, kv // TP) x (d + d_v)` elements per token and rank; heads are replicated past `tp = kv_heads`
(vLLM 0.32.0 `v1/kv_cache_interface.py`, `config/model.py:get_num_kv_heads`; SGLang 0.5.23 `pool_configurator.py`).
"""

from dataclasses import dataclass

from sizing.sequence.attention import AttentionKind, attention_kind, head_refusal
from sizing.sequence.sharding import Sharding
from sizing.sequence.tensors import Role, Tensors


@attention_kind("full")
@dataclass(frozen=True, slots=True, kw_only=True)
class FullAttention(AttentionKind):
    """Every token is kept: K of `head_dim` and V of `value_head_dim` (default the same) per KV head.

    `qk_norm` is the number of weights of the query and key norms together, `bias` the projections that carry one.
    """

    kv_heads: int
    head_dim: int
    value_head_dim: int | None = None
    qk_norm: int = 0
    qkv_bias: bool = False
    output_bias: bool = False
    sinks: bool = False

    @property
    def v_head_dim(self) -> int:
        return self.head_dim if self.value_head_dim is None else self.value_head_dim

    def heads_per_rank(self, tp: int) -> int:
        return max(1, self.kv_heads // tp)

    def elements_per_token(self, tp: int) -> int:
        return tp * self.heads_per_rank(tp) * (self.head_dim + self.v_head_dim)

    def tokens_kept(self, context: int) -> int:
        return context

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

    def flop_per_token(self) -> int:
        return 2 * self.query_heads * (self.head_dim + self.v_head_dim)

    def tensors(self, hidden: int) -> tuple[Tensors, ...]:
        query = self.query_heads * self.head_dim
        key, value = self.kv_heads * self.head_dim, self.kv_heads * self.v_head_dim
        output = self.query_heads * self.v_head_dim
        small = (query + key + value) * self.qkv_bias + hidden * self.output_bias + self.query_heads * self.sinks
        return (
            Tensors(Role.ATTENTION, hidden * (query + key + value) + output * hidden),
            Tensors(Role.NORM, self.qk_norm),
            Tensors(Role.SMALL, small),
        )


@attention_kind("sliding")
@dataclass(frozen=True, slots=True, kw_only=True)
class SlidingAttention(FullAttention):
    """The last `window` tokens are kept. Windows are not split by decode context parallel (vLLM 0.32.0)."""

    window: int

    @property
    def grows(self) -> bool:
        return False

    def tokens_kept(self, context: int) -> int:
        return min(context, self.window)
