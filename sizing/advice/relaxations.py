"""The smallest changes of limits that make a request feasible: each by itself, and the cheapest combination."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sizing.advice.questions import Questions
from sizing.plan.check import check
from sizing.plan.compose import compose
from sizing.plan.limits import uses, with_limit
from sizing.plan.plan import Plan, Relaxation, StatedLimit
from sizing.program.elastic import EXCESS, lifted, priced, use_of
from sizing.program.exact import NotFound
from sizing.program.search import Found


@dataclass(frozen=True, slots=True)
class WayOut:
    """Limits to be raised together to `needed`, and the plan that then fits: `plan.request` has the raised limits.

    `share` is the sum of what each is exceeded by, in shares of its measure.
    """

    needed: tuple[tuple[StatedLimit, Fraction], ...]
    share: Fraction
    proven: bool
    plan: Plan

    @property
    def changes(self) -> tuple[Relaxation, ...]:
        return tuple(
            Relaxation(limit.name, limit.site, limit.value, needed, limit.unit, proven=self.proven)
            for limit, needed in self.needed
        )


def alone(questions: Questions, limit: StatedLimit) -> WayOut | None:
    """The least that one limit must allow when all others are kept; None where that is not known to suffice."""
    if questions.is_out_of_time():
        return None
    use = use_of(questions.request, questions.candidates, limit)
    return _way_out(questions, questions.least(use, lifted([limit])), [limit])


def together(questions: Questions, limits: Sequence[StatedLimit]) -> WayOut | None:
    """The changes of several limits whose shares add up to the least."""
    if questions.is_out_of_time():
        return None
    slack = priced(questions.request, questions.candidates, limits)
    return _way_out(questions, questions.least(EXCESS, slack), limits)


def _way_out(questions: Questions, found: Found | NotFound, limits: Sequence[StatedLimit]) -> WayOut | None:
    if isinstance(found, NotFound):
        return None
    first = found.stages[0]
    request = questions.request
    needed = tuple((limit, used) for limit, used in uses(request, found.choice, limits).items() if used > limit.value)
    for limit, used in needed:
        request = with_limit(request, limit, used)
    plan = compose(request, found.choice, found.later(), ())
    if not needed or check(plan):
        return None  # an amount that fails the check is not told
    share = sum(((used - limit.value) / limit.measure for limit, used in needed), Fraction(0))
    return WayOut(needed, share, first.value == first.bound, plan)
