"""Minimal conflicts among limits, for families of conflicts that are given."""

from collections.abc import Sequence
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from sizing.advice.conflicts import Conflicts
from sizing.advice.questions import Questions
from sizing.plan.plan import StatedLimit
from sizing.program.solver import Effort
from tests.plan_builders import request

NAMES = "abcdefgh"
LIMITS = tuple(StatedLimit(name, None, Fraction(1), "systems", Fraction(1)) for name in NAMES)
Family = Sequence[frozenset[str]]


class Given(Conflicts):
    """Conflicts where those limits exclude each other that hold one of the sets of a family."""

    def __init__(self, family: Family, limits: tuple[StatedLimit, ...] = LIMITS) -> None:
        self.family = family
        self.asked = 0
        super().__init__(Questions(request([]), (), Effort()), limits)

    def _ask(self, kept: tuple[StatedLimit, ...]) -> bool:
        self.asked += 1
        return any(conflict <= {limit.name for limit in kept} for conflict in self.family)


def found(conflicts: Conflicts) -> list[set[str]]:
    return [{limit.name for limit in conflict} for conflict in conflicts.found]


families = st.lists(st.frozensets(st.sampled_from(NAMES), min_size=1, max_size=4), min_size=1, max_size=5)


@given(families)
def test_conflicts_are_minimal_disjoint_and_exhaustive(family: Family) -> None:
    conflicts = Given(family)
    together: set[str] = set()
    for conflict in found(conflicts):
        assert any(each <= conflict for each in family)
        assert not any(each < conflict for each in family)
        assert not together & conflict
        together |= conflict
    left = set(NAMES) - together
    assert len(conflicts.found) == 4 or not any(each <= left for each in family)  # four are told at most
    assert not conflicts.fits_nowhere


@given(st.sampled_from(NAMES))
def test_one_limit_among_many_is_found_with_few_questions(name: str) -> None:
    conflicts = Given([frozenset(name)])
    assert found(conflicts) == [{name}]
    assert conflicts.asked <= 2 + 2 * 3  # with none and without it; halves of 8, 4 and 2


def test_a_demand_that_fits_nowhere_is_no_conflict_of_limits() -> None:
    conflicts = Given([frozenset()])
    assert conflicts.fits_nowhere
    assert conflicts.found == ()


def test_a_single_limit_needs_one_question() -> None:
    conflicts = Given([frozenset("a")], LIMITS[:1])
    assert found(conflicts) == [{"a"}]
    assert conflicts.asked == 1
