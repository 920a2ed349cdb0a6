"""What a layer keeps of a sequence, as rows: keys and values, latents, index keys, rings and recurrent states.

A kind of layer describes its cache as a few streams. How many bits a row takes and how many rows are really kept is
the storage rule's to say, so that an engine can differ without any kind knowing it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from sizing.units.amounts import whole_bytes


class CacheRole(StrEnum):
    """What a row is for. Storage rules speak of roles."""

    KEY_VALUE = "key_value"  # a row is K and V of one head
    LATENT = "latent"  # a row is (latent, rope key) of one token
    SPARSE_LATENT = "sparse_latent"  # the same, read by sparse attention, which has row layouts of its own
    COMPRESSED_LATENT = "compressed_latent"  # a row is (latent, rope key) of one token or of several in one
    INDEX_KEY = "index_key"  # keys of an indexer
    RING = "ring"  # the raw tail of what is to be compressed
    CONV_STATE = "conv_state"
    RECURRENT_STATE = "recurrent_state"


STATES = frozenset({CacheRole.CONV_STATE, CacheRole.RECURRENT_STATE})


@dataclass(frozen=True, slots=True)
class Keep:
    """How many positions are kept: one for every `every` tokens, rounded down, and never more than `most`."""

    every: int = 1
    most: int | None = None

    def positions(self, context: int) -> int:
        positions = context // self.every
        return positions if self.most is None else min(positions, self.most)


ALL = Keep()
ONE = Keep(most=1)  # a state, whatever the length


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """One kind of row that a layer keeps.

    `widths` are the elements of a row by part, `rows` the rows of one position over all GPUs of the pool, replication
    included. `own_bits` are the bits of a row that no KV precision changes; None leaves them to the precision.
    `split` says whether decode context parallel splits the positions. `flop` is what one decode step spends on one
    position, over all heads of the layer. `factors` are what the elements of a state multiply from.
    """

    role: CacheRole
    widths: tuple[int, ...]
    rows: int
    keep: Keep = ALL
    own_bits: Fraction | None = None
    split: bool = False
    flop: int = 0
    factors: tuple[int, ...] = ()

    @property
    def elements(self) -> int:
        """Elements of one position over the pool."""
        return self.rows * sum(self.widths)

    @property
    def is_state(self) -> bool:
        return self.role in STATES

    @property
    def grows(self) -> bool:
        return self.keep.most is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """One stream as it is stored: `row_bits` for each row of `layers` layers, in blocks of `block` positions.

    `keep` may be more than the stream needs (a window stored in full), `layers` more than the model has (phantom
    layers of a mixed group, told apart as `phantom`), and `spare_blocks` are held beside. `split` is the decode context
    parallel size where positions are split, else 1.
    """

    stream: Stream
    layers: int
    row_bits: Fraction
    keep: Keep
    block: int = 1
    spare_blocks: int = 0
    split: int = 1
    phantom: bool = False

    @property
    def grows(self) -> bool:
        return self.keep.most is None

    def positions(self, context: int) -> int:
        """Positions held of a sequence of `context` tokens, on each group that shares them."""
        mine = -(-self.keep.positions(context) // self.split)
        return self.block * (-(-mine // self.block) + self.spare_blocks)

    @property
    def position_bits(self) -> Fraction:
        """Bits of one position over the pool and all layers."""
        return self.layers * self.stream.rows * self.row_bits

    def bits(self, context: int) -> Fraction:
        """Bits of a sequence of `context` tokens over the pool."""
        return self.position_bits * self.positions(context)

    @property
    def token_bits(self) -> Fraction:
        """Bits that one more token costs at a long context, were it not for a window."""
        return self.position_bits / (self.keep.every * self.split)

    @property
    def token_flop(self) -> Fraction:
        """FLOP of one decode step for each token that is kept."""
        return Fraction(0 if self.phantom else self.layers * self.stream.flop, self.keep.every)

    @property
    def window(self) -> int:
        """Tokens that are held when what does not grow is full; 0 for what grows and for states."""
        return 0 if self.keep.most is None or self.stream.is_state else self.keep.most * self.keep.every

    @property
    def most_bits(self) -> Fraction:
        """Bits of what does not grow, once it is full."""
        return Fraction(0) if self.keep.most is None else self.bits(self.keep.most * self.keep.every)


def bytes_of_sequence(stored: Iterable[Stored], context: int) -> int:
    """What one sequence of `context` tokens takes of all that is stored, rounded up to a whole byte."""
    return whole_bytes(sum((each.bits(context) for each in stored), Fraction(0)))
