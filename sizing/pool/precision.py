"""KV precisions: bits of one cached element and the GPU generations that can hold it."""

from dataclasses import dataclass
from fractions import Fraction

from sizing.units.figures import Figure


@dataclass(frozen=True, slots=True)
class Evidence:
    """A published finding on what a precision does to quality; `verdict` is "for" or "against"."""

    verdict: str
    finding: str
    source: str
    weight: str


FULL_BITS = 16
"""Bits of a cached element that is not quantised."""


@dataclass(frozen=True, slots=True)
class KvPrecision:
    """`bits` per cached element, block scales included (flat, as the `ideal` profile counts)."""

    name: str
    title: str
    aliases: tuple[str, ...]
    bits: Figure[Fraction]
    generations: frozenset[str]
    evidence: tuple[Evidence, ...]

    def runs_on(self, generation: str) -> bool:
        return generation in self.generations
