"""How an engine stores a cache. `ideal` is pure arithmetic: flat bits per element, windows kept as windows."""

from dataclasses import dataclass
from fractions import Fraction

from sizing.sequence.attention import AttentionKind


@dataclass(frozen=True, slots=True)
class IdealStorage:
    """The arithmetic itself: `bits` for every element, only the tokens that a kind needs."""

    bits: Fraction

    def element_bits(self, kind: AttentionKind) -> Fraction:
        return self.bits

    def tokens_held(self, kind: AttentionKind, context: int) -> int:
        return kind.tokens_kept(context)
