"""Multi-head latent attention (DeepSeek V2/V3/R1, Kimi K2): one latent and one rope key per token and layer.

Rule: `kv_lora_rank + qk_rope_head_dim` elements, no factor 2, replicated on every TP rank
(vLLM 0.32.0 `layers/attention/mla_attention.py`, `max_tp_shards = 1`).
"""

from dataclasses import dataclass

from sizing.sequence.attention import AttentionKind, attention_kind, head_refusal
from sizing.sequence.sharding import Sharding
from sizing.sequence.tensors import Role, Tensors


@attention_kind("latent")
@dataclass(frozen=True, slots=True, kw_only=True)
class LatentAttention(AttentionKind):
    """MLA. `query_lora_rank` is None where queries are not compressed."""

    kv_lora_rank: int
    rope_head_dim: int
    nope_head_dim: int
    value_head_dim: int
    query_lora_rank: int | None = None

    @property
    def latent_elements(self) -> int:
        return self.kv_lora_rank + self.rope_head_dim

    def elements_per_token(self, tp: int) -> int:
        return tp * self.latent_elements

    def tokens_kept(self, context: int) -> int:
        return context

    def refusal(self, sharding: Sharding) -> str | None:
        refused = head_refusal(self.query_heads, sharding.tp)
        if refused:
            return refused
        if sharding.tp % sharding.dcp:
            return f"DCP {sharding.dcp} does not divide TP {sharding.tp}"
        return None

    def flop_per_token(self) -> int:
        return 2 * self.query_heads * (self.latent_elements + self.kv_lora_rank)

    def tensors(self, hidden: int) -> tuple[Tensors, ...]:
        query_width = self.query_heads * (self.nope_head_dim + self.rope_head_dim)
        if self.query_lora_rank is None:
            query, query_norm = hidden * query_width, 0
        else:
            query, query_norm = self.query_lora_rank * (hidden + query_width), self.query_lora_rank
        key_value = hidden * self.latent_elements
        expand = self.kv_lora_rank * self.query_heads * (self.nope_head_dim + self.value_head_dim)
        output = self.query_heads * self.value_head_dim * hidden
        return (
            Tensors(Role.ATTENTION, query + key_value + expand + output),
            Tensors(Role.NORM, query_norm + self.kv_lora_rank),
        )
