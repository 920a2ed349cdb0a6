"""The shape of a model: blocks of layers, and what one sequence of it costs."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from sizing.sequence.attention import AttentionKind, Storage
from sizing.sequence.feed_forward import FeedForward
from sizing.sequence.sharding import Sharding
from sizing.sequence.streams import CacheRole, Stored, bytes_of_sequence
from sizing.sequence.tensors import Role, Tensors
from sizing.units.amounts import whole_bytes

RoleBits = tuple[tuple[Role, Fraction], ...]


@dataclass(frozen=True, slots=True)
class Block:
    """`count` equal layers: an attention, a feed-forward, and `norms` vectors of the model's width.

    `also` are further attentions or states of the same layer (Falcon-H1 has a Mamba-2 beside its attention, LongCat
    two attentions), `extra` its other weights. `native_bits` are the bits a weight of these layers has in the
    checkpoint, by role, where they differ from those of the model.
    """

    count: int
    attention: AttentionKind
    feed_forward: FeedForward
    norms: int = 2
    also: tuple[AttentionKind, ...] = ()
    extra: tuple[Tensors, ...] = ()
    native_bits: RoleBits = ()

    @property
    def mixers(self) -> tuple[AttentionKind, ...]:
        """Everything in one layer that looks back."""
        return (self.attention, *self.also)

    def tensors(self, hidden: int) -> Iterator[Tensors]:
        """Weights of one layer, by class."""
        yield Tensors(Role.NORM, self.norms * hidden, most_shards=1)
        for kind in self.mixers:
            yield from kind.tensors(hidden)
        yield from self.feed_forward.tensors(hidden)
        yield from self.extra


@dataclass(frozen=True, slots=True)
class ModelShape:
    """Everything about a model that its memory depends on.

    `native_weights` is the checkpoint's own weight precision, `nominal_parameters` the rounded count of its name
    (70e9 for a "70B"), `context_limit` the longest sequence in tokens that it was made for. `final_norms` are vectors
    of the model's width behind the last layer, `extra` weights that belong to no layer. `mtp` are layers for
    multi-token prediction and `mtp_extra` what they bring along: in the checkpoint, but neither in `parameters` nor in
    the cache while nothing is speculated. `encoders` turn images or sound into tokens: in the checkpoint, and no part
    of the language model that is counted here. `native_bits` are the bits of a weight in the checkpoint, by role, where
    they differ from what `native_weights` says. `notes` are sentences for the reader: what the file that the shape was
    read from leaves open or asks for.
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
    final_norms: int = 1
    extra: tuple[Tensors, ...] = ()
    mtp: tuple[Block, ...] = ()
    mtp_extra: tuple[Tensors, ...] = ()
    encoders: tuple[Tensors, ...] = ()
    native_bits: RoleBits = ()
    notes: tuple[str, ...] = ()

    @property
    def layer_count(self) -> int:
        return sum(block.count for block in self.blocks)

    @property
    def query_heads(self) -> int:
        """The most query heads of a layer; 0 where no layer has any."""
        return max(kind.query_heads for _, kind in self.layers())

    @property
    def has_routed_experts(self) -> bool:
        return any(tensors.experts > 1 for _, tensors in self.tensors())

    def layers(self) -> tuple[tuple[int, AttentionKind], ...]:
        """(layers, kind) of everything that looks back; a layer with two kinds is in both."""
        return tuple((block.count, kind) for block in self.blocks for kind in block.mixers)

    def tensors(self) -> Iterator[tuple[int, Tensors]]:
        """(layers, tensors of one layer) of every class of weights, embeddings and head included."""
        for tensors in self.outer_tensors():
            yield 1, tensors
        for block in self.blocks:
            for tensors in block.tensors(self.hidden):
                yield block.count, tensors

    def outer_tensors(self) -> Iterator[Tensors]:
        """Weights outside the layers: embeddings, head, last norm and what else belongs to no layer."""
        embedding = self.vocabulary * self.hidden
        yield Tensors(Role.EMBEDDING, embedding)
        if not self.tied_embeddings:
            yield Tensors(Role.HEAD, embedding)
        yield Tensors(Role.NORM, self.final_norms * self.hidden, most_shards=1)
        yield from self.extra

    @property
    def parameters(self) -> int:
        """All weights; experts that a token does not use included, layers for multi-token prediction not."""
        return sum(layers * tensors.total for layers, tensors in self.tensors())

    @property
    def active_parameters(self) -> int:
        """Weights that one token multiplies with: the input embedding is a lookup and does not count unless tied."""
        lookup = 0 if self.tied_embeddings else self.vocabulary * self.hidden
        return sum(layers * tensors.active for layers, tensors in self.tensors()) - lookup

    @property
    def mtp_parameters(self) -> int:
        """Weights for multi-token prediction, without repeated embeddings and heads."""
        return sum(block.count * tensors.total for block in self.mtp for tensors in block.tensors(self.hidden)) + sum(
            tensors.total for tensors in self.mtp_extra if tensors.role not in (Role.EMBEDDING, Role.HEAD)
        )

    def refusal(self, sharding: Sharding) -> str | None:
        """Why the model cannot be sharded so; None where it can."""
        for _, kind in self.layers():
            refused = kind.refusal(sharding)
            if refused:
                return refused
        return None

    def _stored(self, sharding: Sharding, storage: Storage) -> tuple[Stored, ...]:
        return storage.stored(self.layers(), sharding)

    def bytes_per_token(self, sharding: Sharding, storage: Storage) -> Fraction:
        """What one more token costs at a long context, over all GPUs of a pool; index keys included."""
        return _token_bytes(stored for stored in self._stored(sharding, storage) if stored.grows)

    def bytes_per_token_within(self, context: int, sharding: Sharding, storage: Storage) -> Fraction:
        """What one more token costs as long as no window that holds `context` tokens is full."""
        return _token_bytes(
            stored for stored in self._stored(sharding, storage) if stored.grows or stored.window >= context
        )

    def windows(self, sharding: Sharding, storage: Storage) -> tuple[int, ...]:
        """The tokens that windows, chunks and rings hold when they are full, each size once, the least first."""
        return tuple(sorted({stored.window for stored in self._stored(sharding, storage) if stored.window}))

    def index_bytes_per_token(self, sharding: Sharding, storage: Storage) -> Fraction:
        """The part of `bytes_per_token` that the keys of indexers take."""
        return _token_bytes(
            stored
            for stored in self._stored(sharding, storage)
            if stored.grows and stored.stream.role is CacheRole.INDEX_KEY
        )

    def sequence_bytes(self, context: int, sharding: Sharding, storage: Storage) -> int:
        """What one sequence of `context` tokens costs over all GPUs of a pool, rounded up to a whole byte."""
        return bytes_of_sequence(self._stored(sharding, storage), context)

    def constant_bytes(self, tp: int, storage: Storage | None = None) -> int:
        """Recurrent state of one sequence over a pool of `tp` GPUs; without a storage rule as the kinds state it."""
        if storage is not None:
            states = (stored.most_bits for stored in self._stored(Sharding(tp), storage) if stored.stream.is_state)
        else:
            states = (
                count * stream.own_bits
                for count, kind in self.layers()
                for stream in kind.streams(tp)
                if stream.is_state and stream.own_bits is not None
            )
        return whole_bytes(sum(states, Fraction(0)))

    def window_bytes(self, sharding: Sharding, storage: Storage) -> int:
        """What windows, chunks and rings hold when they are full, over a pool."""
        return whole_bytes(
            sum(
                (
                    stored.most_bits
                    for stored in self._stored(sharding, storage)
                    if not stored.grows and not stored.stream.is_state
                ),
                Fraction(0),
            )
        )

    def intensity(self, sharding: Sharding, storage: Storage) -> Fraction | None:
        """FLOP of one decode step's attention per cache byte that it reads; None where no token is cached.

        Taken over what grows, or over the windows where nothing does, as if every cached token were read.
        """
        tokens = [stored for stored in self._stored(sharding, storage) if not stored.stream.is_state]
        read = [stored for stored in tokens if stored.grows] or tokens
        bits = sum((stored.token_bits for stored in read), Fraction(0))
        return sum((stored.token_flop for stored in read), Fraction(0)) * 8 / bits if bits else None


def _token_bytes(parts: Iterable[Stored]) -> Fraction:
    return sum((stored.token_bits for stored in parts), Fraction(0)) / 8
