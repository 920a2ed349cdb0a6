"""How an engine stores a cache. `ideal` is pure arithmetic: flat bits per element, windows kept as windows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from sizing.sequence.attention import AttentionKind
from sizing.sequence.sharding import Sharding
from sizing.sequence.streams import CacheRole, Stored, Stream

RowLayout = Callable[[Stream], Fraction]


@dataclass(frozen=True, slots=True)
class IdealStorage:
    """The arithmetic itself: `bits` for every element, only the positions that a kind needs.

    A stream with bits of its own (index keys, states, rings) keeps them.
    """

    bits: Fraction

    def row_bits(self, stream: Stream) -> Fraction:
        """Bits of one row, block scales included."""
        return self.bits * sum(stream.widths) if stream.own_bits is None else stream.own_bits

    def stored(self, layers: Sequence[tuple[int, AttentionKind]], sharding: Sharding) -> tuple[Stored, ...]:
        """Every stream of every layer, as the kind states it."""
        return tuple(
            Stored(
                stream=stream,
                layers=count,
                row_bits=self.row_bits(stream),
                keep=stream.keep,
                split=sharding.dcp if stream.split else 1,
            )
            for count, kind in layers
            for stream in kind.streams(sharding.tp)
        )


@dataclass(frozen=True, slots=True)
class RowStorage(IdealStorage):
    """The same with row layouts of an engine for the roles in `rows`."""

    rows: Mapping[CacheRole, RowLayout] = field(default_factory=dict, hash=False)

    def row_bits(self, stream: Stream) -> Fraction:
        layout = self.rows.get(stream.role)
        return IdealStorage.row_bits(self, stream) if layout is None else layout(stream)


def fp8_ds_mla(stream: Stream) -> Fraction:
    """Latent in 8 bits with a 32-bit scale per 128, rope key in 16: 656 bytes for 512 + 64 (vLLM `fp8_ds_mla`)."""
    latent, rope = stream.widths
    return Fraction(8 * latent) + 32 * Fraction(latent, 128) + 16 * rope


def nvfp4_ds_mla(stream: Stream) -> Fraction:
    """Latent in 4 bits with an 8-bit scale per 16, rope key in 8: 352 bytes for 512 + 64 (vLLM `nvfp4_ds_mla`)."""
    latent, rope = stream.widths
    return Fraction(4 * latent) + 8 * Fraction(latent, 16) + 8 * rope


def fp8_deepseek_v4(stream: Stream) -> Fraction:
    """Latent in 8 bits with an 8-bit scale per 64, rope key in 16, filled up to 8 bytes: 584 bytes for 448 + 64."""
    latent, rope = stream.widths
    bits = Fraction(8 * latent) + 8 * Fraction(latent, 64) + 16 * rope
    return Fraction(64 * -(-bits // 64))


def per_head(bits: int) -> RowLayout:
    """Elements of `bits` with a 32-bit scale for K and for V of each token and head (vLLM `int8_per_token_head`)."""

    def row_bits(stream: Stream) -> Fraction:
        return Fraction(bits * sum(stream.widths) + 32 * len(stream.widths))

    return row_bits


FP8_ROWS: Mapping[CacheRole, RowLayout] = {
    CacheRole.SPARSE_LATENT: fp8_ds_mla,
    CacheRole.COMPRESSED_LATENT: fp8_deepseek_v4,
}
NVFP4_ROWS: Mapping[CacheRole, RowLayout] = {CacheRole.SPARSE_LATENT: nvfp4_ds_mla}
