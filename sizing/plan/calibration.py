"""What a start-up log says beside what a profile predicts. Data; `advice/calibrate.py` compares, `report/` tells it."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from sizing.pool.engines.measured import Measurement

Quantity = Literal["weights", "token", "outside", "cache", "tokens", "sequences"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One figure of one GPU (`tokens` and `sequences`: of one pool). None is not printed, or does not follow.

    Bytes of weights, of one token, outside weights and cache, and of the cache; tokens as the engine counts them, and
    how many of its longest sequences fit. `why` explains the difference.
    """

    quantity: Quantity
    measured: Fraction | None
    predicted: Fraction | None
    ideal: Fraction | None
    why: str

    @property
    def error(self) -> Fraction | None:
        """Predicted over measured, less 1."""
        if self.measured is None or self.predicted is None or self.measured == 0:
            return None
        return self.predicted / self.measured - 1

    @property
    def ideal_error(self) -> Fraction | None:
        """The same of the arithmetic itself with a reserve of 10 %."""
        if self.measured is None or self.ideal is None or self.measured == 0:
            return None
        return self.ideal / self.measured - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """One log against one profile. `outside_bytes` is what one GPU was seen to take beside the cache, the share left
    alone, and the weights as predicted. `measured` is what an overlay of the catalog can hold of it, and `unwritten`
    why it can hold nothing: one of the two is None. `system` is the one that was named, if any was. `taken` are
    sentences on what was taken as said nowhere in the log."""

    file: str
    engine: str
    version: str | None
    profile: str
    model: str
    weights: str
    kv_precision: str
    gpus: int
    layout: str
    comparisons: tuple[Comparison, ...]
    outside_bytes: int | None
    measured: Measurement | None
    unwritten: str | None
    system: str | None
    taken: tuple[str, ...]

    def of(self, quantity: Quantity) -> Comparison:
        return next(each for each in self.comparisons if each.quantity == quantity)
