"""Asking for a plan: options, search, plan, check; and where there is no plan, why."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from sizing.advice.second_look import second_look
from sizing.advice.shares import first_part
from sizing.plan.check import check
from sizing.plan.choice import Choice
from sizing.plan.compose import compose
from sizing.plan.plan import NoPlan, Plan
from sizing.program.deployments import Candidate, enumerate_options
from sizing.program.search import Found
from sizing.program.solver import Effort
from sizing.program.within_limits import search_within_limits
from sizing.request.request import Request
from sizing.units.errors import CheckFailed

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Extras:
    """What is asked for beside the answer: at most so many `alternatives` (0: none), and the cases of `sensitivity`."""

    alternatives: int = 0
    sensitivity: bool = False

    @property
    def any(self) -> bool:
        return self.sensitivity or self.alternatives > 0


ANSWER_ALONE = Extras()


def answer(
    request: Request, effort: Effort, progress: Progress = lambda _text: None, extras: Extras = ANSWER_ALONE
) -> Plan | NoPlan:
    """The plan of a request, checked by something that shares no code with the program; or why there is none.

    Raises CheckFailed where a finished plan does not hold: such a plan is never shown.
    """
    options = enumerate_options(request)
    found = search_within_limits(request, options.candidates, first_part(effort) if extras.any else effort, progress)
    if not isinstance(found, Found):
        from sizing.advice.explain import explain

        return explain(request, options, found, effort, progress)
    plan = compose(request, found.choice, found.stages, options.rejected, not found.stopped, found.notes)
    progress("checking the plan")
    findings = check(plan)
    if findings:
        raise CheckFailed("the plan found does not pass the check:\n" + "\n".join(findings))
    progress("looking again, with other figures")
    plan = second_look(plan, options.candidates, first_part(effort) if extras.any else effort)
    return _with_extras(plan, found.choice, options.candidates, extras, effort, progress)


def _with_extras(
    plan: Plan, choice: Choice, candidates: tuple[Candidate, ...], extras: Extras, effort: Effort, progress: Progress
) -> Plan:
    """Alternatives first; where sensitivity is asked for too, something is left of the time for it."""
    if extras.alternatives:
        from sizing.advice.alternatives import alternatives

        share = first_part(effort) if extras.sensitivity else effort
        others, stopped = alternatives(plan, candidates, extras.alternatives, share, progress)
        plan = replace(plan, alternatives=others, reproducible=plan.reproducible and not stopped)
    if extras.sensitivity and plan.sensitivity is not None:
        from sizing.advice.sensitivity import sensitivity_cases

        cases, stopped = sensitivity_cases(plan, choice, candidates, effort, progress)
        looked = replace(plan.sensitivity, cases=cases)
        plan = replace(plan, sensitivity=looked, reproducible=plan.reproducible and not stopped)
    return plan
