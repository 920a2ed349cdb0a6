"""Which of the stated limits cannot be kept together: minimal sets, found by asking with the other limits lifted.

An irreducible set of the linear relaxation would not do: whether whole Pods and systems fit is not seen there.
"""

from collections.abc import Sequence

from sizing.advice.questions import Questions
from sizing.plan.limits import exceeded
from sizing.plan.plan import StatedLimit
from sizing.program.exact import NotFound

Limits = tuple[StatedLimit, ...]

MOST_CONFLICTS = 4


class Conflicts:
    """Minimal conflicts that share no limit, `found` in this order; none where the demand fits nowhere at all.

    All limits together are known to conflict. `settled` is false where an answer was left open: then a set may not be
    minimal, and further sets may be missing; those that are told are conflicts all the same.
    """

    def __init__(self, questions: Questions, limits: Limits) -> None:
        self._questions = questions
        self._all = limits
        self._known: dict[Limits, bool] = {limits: True}
        self._exceeded: list[Limits] = []
        self.settled = True
        self.found: tuple[Limits, ...] = ()
        self.fits_nowhere = self._conflict(())
        left = limits
        while not self.fits_nowhere and len(self.found) < MOST_CONFLICTS and left and self._conflict(left):
            conflict = self._minimal((), left)
            self.found = (*self.found, conflict)
            left = tuple(limit for limit in left if limit not in conflict)

    def _conflict(self, kept: Sequence[StatedLimit]) -> bool:
        """Whether these limits conflict by themselves, proven."""
        kept = tuple(limit for limit in self._all if limit in kept)
        if kept not in self._known:
            is_kept = any(not set(kept) & set(exceeded) for exceeded in self._exceeded)  # by a plan that was found
            self._known[kept] = not is_kept and self._ask(kept)
        return self._known[kept]

    def _ask(self, kept: Limits) -> bool:
        answer = self._questions.any_plan(without=[limit for limit in self._all if limit not in kept])
        if isinstance(answer, NotFound):
            self.settled = self.settled and answer.proven
            return answer.proven
        self._exceeded.append(exceeded(self._questions.request, answer.choice, self._all))
        return False

    def _minimal(self, beside: Limits, limits: Limits, changed: bool = False) -> Limits:
        """Those of `limits` that a conflict needs, where `beside` is in it (QuickXplain: Junker 2004)."""
        if changed and self._conflict(beside):
            return ()
        if len(limits) == 1:
            return limits
        first, second = limits[: len(limits) // 2], limits[len(limits) // 2 :]
        of_second = self._minimal((*beside, *first), second, changed=bool(first))
        of_first = self._minimal((*beside, *of_second), first, changed=bool(of_second))
        return (*of_first, *of_second)
