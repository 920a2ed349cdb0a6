"""What one layer keeps of a sequence: the interface of every kind, and their registry.

A kind answers in streams of rows (`streams.py`); how many bits a row takes, and how many rows an engine really keeps,
is the storage rule's to say. A new kind is one registered class in a module of this package.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol, TypeVar

from sizing.sequence.sharding import Sharding
from sizing.sequence.streams import Stored, Stream
from sizing.sequence.tensors import Tensors


class Storage(Protocol):
    """How an engine stores a cache. The profiles of `pool/` implement it; `ideal` is flat bits per element."""

    def stored(self, layers: Sequence[tuple[int, "AttentionKind"]], sharding: Sharding) -> tuple[Stored, ...]:
        """The streams of a model whose `layers` are (layers, kind), as they are stored over a pool."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionKind(ABC):
    """One kind of layer that looks back. Field names are the keys of a catalog entry.

    A kind without queries (a recurrent state, no attention at all) has 0 query heads.
    """

    name: ClassVar[str]
    query_heads: int = 0

    @abstractmethod
    def streams(self, tp: int) -> tuple[Stream, ...]:
        """What one layer keeps of a sequence, over all `tp` GPUs of a pool."""

    @abstractmethod
    def refusal(self, sharding: Sharding) -> str | None:
        """Why this layer cannot be sharded so, as the end of a sentence; None where it can."""

    @abstractmethod
    def tensors(self, hidden: int) -> tuple[Tensors, ...]:
        """Weights of one layer for a model `hidden` wide."""

    def token_streams(self, tp: int) -> tuple[Stream, ...]:
        """The streams that hold tokens: all but the recurrent states."""
        return tuple(stream for stream in self.streams(tp) if not stream.is_state)

    def elements_per_token(self, tp: int) -> int:
        """Cached elements of one token over all `tp` GPUs of a pool, replication included."""
        return sum(stream.elements for stream in self.token_streams(tp))

    def tokens_kept(self, context: int) -> int:
        """The most positions that a stream keeps of a sequence of `context` tokens: all of them, or a window."""
        return max((stream.keep.positions(context) for stream in self.token_streams(1)), default=0)

    def flop_per_token(self) -> int:
        """FLOP of one decode step per cached token: scores and weighted sum, over all query heads."""
        return sum(stream.flop for stream in self.token_streams(1))

    @property
    def grows(self) -> bool:
        """Whether one more token at a long context costs more cache."""
        return any(stream.grows for stream in self.streams(1))

    @property
    def shards_tokens(self) -> bool:
        """Whether decode context parallel splits this layer's tokens (windows are not split)."""
        return any(stream.split for stream in self.streams(1))

    def sequence_bits(self, context: int, sharding: Sharding, storage: Storage) -> Fraction:
        """Bits of one sequence of `context` tokens in one such layer, over all GPUs of the pool."""
        return sum((stored.bits(context) for stored in storage.stored(((1, self),), sharding)), Fraction(0))


Kind = TypeVar("Kind", bound=AttentionKind)
KINDS: dict[str, type[AttentionKind]] = {}


def attention_kind(name: str) -> Callable[[type[Kind]], type[Kind]]:
    """Register a kind under the name that catalogs use for it."""

    def register(cls: type[Kind]) -> type[Kind]:
        cls.name = name
        KINDS[name] = cls
        return cls

    return register


def head_refusal(query_heads: int, tp: int, what: str = "query heads") -> str | None:
    """TP must divide the heads (known-faults 6)."""
    return None if query_heads % tp == 0 else f"{query_heads} {what} cannot be split over TP {tp}"
