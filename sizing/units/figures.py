"""A published figure and where it comes from (decision 8)."""

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

Value_co = TypeVar("Value_co", covariant=True)
Confidence = Literal["high", "medium", "low"]


@dataclass(frozen=True, slots=True)
class Figure(Generic[Value_co]):
    """One figure of a catalog. `sources` are keys of `catalogs/sources.yaml`; `range` is (low, high)."""

    value: Value_co
    unit: str
    sources: tuple[str, ...]
    date: str
    confidence: Confidence
    range: tuple[Value_co, Value_co] | None = None
    basis: str = ""
    note: str = ""
