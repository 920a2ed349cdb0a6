"""Multi-head latent attention: one latent and one rope key per token and layer, dense or sparse.

Rule: `kv_lora_rank + qk_rope_head_dim` elements, no factor 2, replicated on every TP rank
(vLLM 0.32.0 `layers/attention/mla_attention.py`, `max_tp_shards = 1`).
"""

from dataclasses import dataclass
from fractions import Fraction

from sizing.sequence.attention import AttentionKind, attention_kind, head_refusal
from sizing.sequence.sharding import Sharding
from sizing.sequence.streams import CacheRole, Keep, Stream
from sizing.sequence.tensors import Role, Tensors, copied


@attention_kind("latent")
@dataclass(frozen=True, slots=True, kw_only=True)
class LatentAttention(AttentionKind):
    """MLA (DeepSeek V2/V3/R1, Kimi K2). `query_lora_rank` is None where queries are not compressed.

    `bias` is on the projections into the latents and out of the layer. `gate_width` is the width of a gate on the
    output. `absorbed` is off where engines expand the latent into heads before they cache it (MiniCPM3 in vLLM).
    """

    query_heads: int
    kv_lora_rank: int
    rope_head_dim: int
    nope_head_dim: int
    value_head_dim: int
    query_lora_rank: int | None = None
    bias: bool = False
    gate_width: int = 0
    absorbed: bool = True

    @property
    def latent_elements(self) -> int:
        return self.kv_lora_rank + self.rope_head_dim

    @property
    def cache_role(self) -> CacheRole:
        return CacheRole.LATENT

    def streams(self, tp: int) -> tuple[Stream, ...]:
        return (
            Stream(
                role=self.cache_role,
                widths=(self.kv_lora_rank, self.rope_head_dim),
                rows=tp,
                split=True,
                flop=2 * self.query_heads * (self.latent_elements + self.kv_lora_rank),
            ),
        )

    def refusal(self, sharding: Sharding) -> str | None:
        refused = head_refusal(self.query_heads, sharding.tp)
        if refused:
            return refused
        if sharding.tp % sharding.dcp:
            return f"DCP {sharding.dcp} does not divide TP {sharding.tp}"
        return None

    def tensors(self, hidden: int) -> tuple[Tensors, ...]:
        query_width = self.query_heads * (self.nope_head_dim + self.rope_head_dim)
        down, norms, query = hidden * self.latent_elements, self.kv_lora_rank, hidden * query_width
        biases = self.latent_elements + hidden
        if self.query_lora_rank is not None:
            down += hidden * self.query_lora_rank
            norms += self.query_lora_rank
            query = self.query_lora_rank * query_width
            biases += self.query_lora_rank
        expand = self.kv_lora_rank * self.query_heads * (self.nope_head_dim + self.value_head_dim)
        output = self.query_heads * self.value_head_dim * hidden
        heads = query + expand + output + hidden * self.gate_width
        return (
            Tensors(Role.ATTENTION, heads, most_shards=self.query_heads),
            copied(Role.ATTENTION, down),
            copied(Role.NORM, norms),
            copied(Role.SMALL, biases * self.bias),
        )


@attention_kind("sparse_latent")
@dataclass(frozen=True, slots=True, kw_only=True)
class SparseLatentAttention(LatentAttention):
    """MLA whose tokens are chosen by an indexer (DeepSeek-V3.2, GLM-5). All are kept; the top ones are read.

    A layer with an `indexer` of its own also keeps a key of `index_head_dim` per token on every rank: 8 bits an
    element and a 32-bit scale per 128, whatever the KV precision (vLLM 0.32.0 `models/deepseek_v2.py`; SGLang 0.5.23
    `_compute_dsa_indexer_cell_size`). Other layers use the choice of an earlier one (GLM-5.2).
    """

    index_heads: int
    index_head_dim: int
    indexer: bool = True

    @property
    def cache_role(self) -> CacheRole:
        return CacheRole.SPARSE_LATENT

    def streams(self, tp: int) -> tuple[Stream, ...]:
        latent = LatentAttention.streams(self, tp)
        return (*latent, index_keys(self.index_heads, self.index_head_dim, tp)) if self.indexer else latent

    def tensors(self, hidden: int) -> tuple[Tensors, ...]:
        attention = LatentAttention.tensors(self, hidden)
        if not self.indexer:
            return attention
        query = (self.query_lora_rank or hidden) * self.index_heads * self.index_head_dim
        return (
            *attention,
            copied(Role.INDEXER, query + hidden * self.index_head_dim),
            copied(Role.SMALL, hidden * self.index_heads),  # weights of the heads, which no checkpoint quantises
            copied(Role.NORM, 2 * self.index_head_dim),
        )


def index_keys(heads: int, head_dim: int, tp: int, every: int = 1) -> Stream:
    """Keys of an indexer with `heads` index queries, one row per `every` tokens, copied on every rank."""
    return Stream(
        role=CacheRole.INDEX_KEY,
        widths=(head_dim,),
        rows=tp,
        keep=Keep(every),
        own_bits=Fraction(8 * head_dim) + 32 * Fraction(head_dim, 128),
        flop=2 * heads * head_dim,
    )
