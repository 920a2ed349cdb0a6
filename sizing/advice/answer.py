"""Asking for a plan: options, search, plan, check; and where there is no plan, why."""

from collections.abc import Callable

from sizing.advice.second_look import second_look
from sizing.plan.check import check
from sizing.plan.compose import compose
from sizing.plan.plan import NoPlan, Plan
from sizing.program.deployments import enumerate_options
from sizing.program.search import Found, search
from sizing.program.solver import Effort
from sizing.request.request import Request
from sizing.units.errors import CheckFailed

Progress = Callable[[str], None]


def answer(request: Request, effort: Effort, progress: Progress = lambda _text: None) -> Plan | NoPlan:
    """The plan of a request, checked by something that shares no code with the program; or why there is none.

    Raises CheckFailed where a finished plan does not hold: such a plan is never shown.
    """
    options = enumerate_options(request)
    found = search(request, options.candidates, effort, progress)
    if not isinstance(found, Found):
        from sizing.advice.explain import explain

        return explain(request, options, found, effort, progress)
    plan = compose(request, found.choice, found.stages, options.rejected, reproducible=not found.stopped)
    progress("checking the plan")
    findings = check(plan)
    if findings:
        raise CheckFailed("the plan found does not pass the check:\n" + "\n".join(findings))
    progress("looking again, with other figures")
    return second_look(plan, options.candidates, effort)
