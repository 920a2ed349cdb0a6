"""The shape of a model: blocks of layers, and what one sequence of it costs."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from sizing.sequence.attention import AttentionKind, Storage
from sizing.sequence.feed_forward import FeedForward
from sizing.sequence.sharding import Sharding
from sizing.sequence.tensors import Role, Tensors
from sizing.units.amounts import whole_bytes


@dataclass(frozen=True, slots=True)
class Block:
    """`count` equal layers: an attention, a feed-forward, and `norms` vectors of the model's width."""

    count: int
    attention: AttentionKind
    feed_forward: FeedForward
    norms: int = 2


@dataclass(frozen=True, slots=True)
class ModelShape:
    """Everything about a model that its memory depends on.

    `native_weights` is the checkpoint's own weight precision, `nominal_parameters` the rounded count of its name
    (70e9 for a "70B"), `context_limit` the longest sequence in tokens that it was made for.
    """

    name: str
    title: str
    hidden: int
    vocabulary: int
    tied_embeddings: bool
    blocks: tuple[Block, ...]
    native_weights: str
    context_limit: int
    nominal_parameters: int | None = None
    aliases: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()

    @property
    def layer_count(self) -> int:
        return sum(block.count for block in self.blocks)

    @property
    def has_routed_experts(self) -> bool:
        return any(tensors.experts > 1 for _, tensors in self.tensors())

    def tensors(self) -> Iterator[tuple[int, Tensors]]:
        """(layers, tensors of one layer) of every class of weights, embeddings and head included."""
        embedding = self.vocabulary * self.hidden
        yield 1, Tensors(Role.EMBEDDING, embedding)
        if not self.tied_embeddings:
            yield 1, Tensors(Role.HEAD, embedding)
        yield 1, Tensors(Role.NORM, self.hidden)
        for block in self.blocks:
            yield block.count, Tensors(Role.NORM, block.norms * self.hidden)
            for part in (block.attention, block.feed_forward):
                for tensors in part.tensors(self.hidden):
                    yield block.count, tensors

    @property
    def parameters(self) -> int:
        """All weights; experts that a token does not use included."""
        return sum(layers * tensors.total for layers, tensors in self.tensors())

    @property
    def active_parameters(self) -> int:
        """Weights that one token multiplies with: the input embedding is a lookup and does not count unless tied."""
        lookup = 0 if self.tied_embeddings else self.vocabulary * self.hidden
        return sum(layers * tensors.active for layers, tensors in self.tensors()) - lookup

    def refusal(self, sharding: Sharding) -> str | None:
        """Why the model cannot be sharded so; None where it can."""
        for block in self.blocks:
            refused = block.attention.refusal(sharding)
            if refused:
                return refused
        return None

    def bytes_per_token(self, sharding: Sharding, storage: Storage) -> Fraction:
        """What one more token costs at a long context, over all GPUs of a pool."""
        bits = sum(
            (
                Fraction(block.count) * block.attention.token_bits(sharding, storage) / self._split(block, sharding)
                for block in self.blocks
                if storage.tokens_held(block.attention, 2**62) == 2**62
            ),
            Fraction(0),
        )
        return bits / 8

    @staticmethod
    def _split(block: Block, sharding: Sharding) -> int:
        return sharding.dcp if block.attention.shards_tokens else 1

    def sequence_bytes(self, context: int, sharding: Sharding, storage: Storage) -> int:
        """What one sequence of `context` tokens costs over all GPUs of a pool, rounded up to a whole byte."""
        return whole_bytes(
            sum(
                (block.count * block.attention.sequence_bits(context, sharding, storage) for block in self.blocks),
                Fraction(0),
            )
        )

    def constant_bytes(self, tp: int) -> int:
        """Recurrent state of one sequence over a pool of `tp` GPUs."""
        return sum(block.count * block.attention.constant_bytes(tp) for block in self.blocks)

    def window_bytes(self, sharding: Sharding, storage: Storage) -> int:
        """What the windows hold when they are full, over a pool."""
        return whole_bytes(
            sum(
                (
                    block.count * block.attention.token_bits(sharding, storage) * held
                    for block in self.blocks
                    if (held := storage.tokens_held(block.attention, 2**62)) < 2**62
                ),
                Fraction(0),
            )
        )

    def intensity(self, sharding: Sharding, storage: Storage) -> Fraction | None:
        """FLOP of one decode step's attention per cache byte that it reads; None where nothing is cached.

        Taken over the layers that grow, or over the windows where none does.
        """
        grows = any(block.attention.grows for block in self.blocks)
        flop = bits = Fraction(0)
        for block in self.blocks:
            if block.attention.grows is grows:
                flop += block.count * block.attention.flop_per_token()
                bits += block.count * block.attention.token_bits(sharding, storage) / self._split(block, sharding)
        return flop * 8 / bits if bits else None
