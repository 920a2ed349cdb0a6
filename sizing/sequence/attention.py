"""What one attention layer keeps of a sequence: the interface of every kind, and their registry.

A kind answers in *elements* of the cache; how many bits an element takes, and how many tokens an engine really keeps,
is the storage rule's to say. A new kind is one registered class in a module of this package.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol, TypeVar

from sizing.sequence.sharding import Sharding
from sizing.sequence.tensors import Tensors


class Storage(Protocol):
    """How an engine stores a cache. The profiles of `pool/` implement it; `ideal` is flat bits per element."""

    def element_bits(self, kind: "AttentionKind") -> Fraction:
        """Bits of one cached element of this kind, block scales included."""
        ...

    def tokens_held(self, kind: "AttentionKind", context: int) -> int:
        """Tokens of a sequence of `context` tokens that this kind keeps in the cache."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionKind(ABC):
    """One kind of attention layer. Field names are the keys of a catalog entry."""

    name: ClassVar[str]
    query_heads: int

    @abstractmethod
    def elements_per_token(self, tp: int) -> int:
        """Cached elements of one token over all `tp` GPUs of a pool, replication included."""

    @abstractmethod
    def tokens_kept(self, context: int) -> int:
        """Tokens kept of a sequence of `context` tokens: all of them, or at most a window."""

    @abstractmethod
    def refusal(self, sharding: Sharding) -> str | None:
        """Why this layer cannot be sharded so, as the end of a sentence; None where it can."""

    @abstractmethod
    def flop_per_token(self) -> int:
        """FLOP of one decode step per cached token: scores and weighted sum, over all query heads."""

    @abstractmethod
    def tensors(self, hidden: int) -> tuple[Tensors, ...]:
        """Weights of one layer for a model `hidden` wide."""

    @property
    def grows(self) -> bool:
        """Whether one more token at a long context costs more cache."""
        return True

    @property
    def shards_tokens(self) -> bool:
        """Whether decode context parallel splits this layer's tokens (windows are not split)."""
        return self.grows

    def constant_bytes(self, tp: int) -> int:
        """Recurrent state of one sequence over the pool, in bytes; no token cache."""
        return 0

    def token_bits(self, sharding: Sharding, storage: Storage) -> Fraction:
        """Bits of one cached token over the whole pool."""
        return Fraction(self.elements_per_token(sharding.tp)) * storage.element_bits(self)

    def sequence_bits(self, context: int, sharding: Sharding, storage: Storage) -> Fraction:
        """Bits of one sequence of `context` tokens in this layer, over all GPUs of the pool."""
        tokens = storage.tokens_held(self, context)
        if self.shards_tokens:
            tokens = -(-tokens // sharding.dcp)
        return self.token_bits(sharding, storage) * tokens + 8 * self.constant_bytes(sharding.tp)


Kind = TypeVar("Kind", bound=AttentionKind)
KINDS: dict[str, type[AttentionKind]] = {}


def attention_kind(name: str) -> Callable[[type[Kind]], type[Kind]]:
    """Register a kind under the name that catalogs use for it."""

    def register(cls: type[Kind]) -> type[Kind]:
        cls.name = name
        KINDS[name] = cls
        return cls

    return register


def head_refusal(query_heads: int, tp: int) -> str | None:
    """TP must divide the query heads (known-faults 6)."""
    return None if query_heads % tp == 0 else f"{query_heads} query heads cannot be split over TP {tp}"
