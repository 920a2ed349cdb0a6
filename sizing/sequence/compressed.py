"""Compressed latents: a short window of single tokens beside one row for every few tokens (DeepSeek-V4).

Rules: vLLM 0.32.0 `models/deepseek_v4/compressor.py` and its cache specs; weights as transformers 5.24 has them.
"""

from dataclasses import dataclass
from fractions import Fraction

from sizing.sequence.attention import AttentionKind, attention_kind, head_refusal
from sizing.sequence.latent import index_keys
from sizing.sequence.sharding import Sharding
from sizing.sequence.streams import CacheRole, Keep, Stream
from sizing.sequence.tensors import Role, Tensors, copied

OVERLAPPING = 4  # at this ratio windows overlap and an indexer chooses among the compressed rows
RING_BITS = 32


@attention_kind("compressed")
@dataclass(frozen=True, slots=True, kw_only=True)
class CompressedAttention(AttentionKind):
    """One latent of `head_dim` per token in a window of `window` tokens, and one per `ratio` tokens of all that came.

    A `ratio` of 0 or 1 compresses nothing: the window is all there is. Until a row is complete its raw parts lie in a
    ring in 32 bits. Rows, rings and index keys are copied on every rank. `rope_head_dim` of the `head_dim` elements
    are rotated. The output goes through `output_groups` groups of rank `output_lora_rank`.
    """

    query_heads: int
    head_dim: int
    rope_head_dim: int
    query_lora_rank: int
    output_lora_rank: int
    output_groups: int
    window: int
    ratio: int = 0
    index_heads: int
    index_head_dim: int

    @property
    def compresses(self) -> bool:
        return self.ratio > 1

    @property
    def has_indexer(self) -> bool:
        return self.ratio == OVERLAPPING

    @property
    def overlap(self) -> int:
        return 2 if self.ratio == OVERLAPPING else 1

    def streams(self, tp: int) -> tuple[Stream, ...]:
        window = self._rows(tp, Keep(most=self.window))
        if not self.compresses:
            return (window,)
        streams = (window, self._rows(tp, Keep(self.ratio)), self._ring(tp, self.head_dim))
        if not self.has_indexer:
            return streams
        keys = index_keys(self.index_heads, self.index_head_dim, tp, self.ratio)
        return (*streams, keys, self._ring(tp, self.index_head_dim))

    def _rows(self, tp: int, keep: Keep) -> Stream:
        return Stream(
            role=CacheRole.COMPRESSED_LATENT,
            widths=(self.head_dim - self.rope_head_dim, self.rope_head_dim),
            rows=tp,
            keep=keep,
            flop=4 * self.query_heads * self.head_dim,
        )

    def _ring(self, tp: int, width: int) -> Stream:
        """The raw tail: a key and a gate of every token that no finished row holds, doubled where windows overlap."""
        raw = 2 * self.overlap * width
        return Stream(
            role=CacheRole.RING,
            widths=(raw,),
            rows=tp,
            keep=Keep(most=self.overlap * self.ratio),
            own_bits=Fraction(RING_BITS * raw),
        )

    def refusal(self, sharding: Sharding) -> str | None:
        if sharding.dcp > 1:
            return "compressed latents cannot be split by decode context parallel"
        return head_refusal(self.query_heads, sharding.tp)

    def tensors(self, hidden: int) -> tuple[Tensors, ...]:
        width = self.query_heads * self.head_dim
        output = self.output_lora_rank * (width + self.output_groups * hidden)
        return (
            Tensors(Role.ATTENTION, self.query_lora_rank * width + output, most_shards=self.query_heads),
            copied(Role.ATTENTION, hidden * (self.query_lora_rank + self.head_dim)),
            copied(Role.NORM, self.query_lora_rank + self.head_dim),
            Tensors(Role.SMALL, self.query_heads),
            *(self._compressor(hidden, self.head_dim) if self.compresses else ()),
            *(self._indexer(hidden) if self.has_indexer else ()),
        )

    def _compressor(self, hidden: int, width: int) -> tuple[Tensors, ...]:
        """Key and gate projections, a bias per position, a norm; no checkpoint quantises them."""
        raw = self.overlap * width
        return (copied(Role.SMALL, raw * (2 * hidden + self.ratio)), copied(Role.NORM, width))

    def _indexer(self, hidden: int) -> tuple[Tensors, ...]:
        return (
            copied(Role.INDEXER, self.query_lora_rank * self.index_heads * self.index_head_dim),
            copied(Role.SMALL, hidden * self.index_heads),
            *self._compressor(hidden, self.index_head_dim),
        )
