"""What may give way in the program: limits that may be exceeded, and demand that may be left unserved."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

LimitKey = tuple[str, str | None]
"""Name of a limit and its site; None for supply, which counts over all sites."""


@dataclass(frozen=True, slots=True)
class Slack:
    """`limits` may be exceeded in steps of so much of their unit.

    With `demand_parts` every class may be left short of the same number of equal parts of its demand, though not of
    all of them; 0: none may.
    """

    limits: Mapping[LimitKey, Fraction] = field(default_factory=dict)
    demand_parts: int = 0

    def number(self, key: LimitKey) -> int | None:
        """The index of the variable `excess` of a limit; None where it may not be exceeded."""
        return list(self.limits).index(key) if key in self.limits else None


RIGID = Slack()
"""Nothing gives way: the program of a plan."""
