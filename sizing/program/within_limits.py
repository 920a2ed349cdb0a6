"""A search from outside the limits, where none from inside finds a plan: what exceeds them is the first stage."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from sizing.plan.limits import exceeded, stated_limits
from sizing.program.deployments import Candidate
from sizing.program.elastic import EXCESS, priced
from sizing.program.exact import NotFound
from sizing.program.merging import search_merged
from sizing.program.objective import TIE_BREAKS, Stage, stages_of
from sizing.program.search import Found
from sizing.program.slack import RIGID, Slack
from sizing.program.solver import Effort
from sizing.request.request import Request


def search_within_limits(
    request: Request,
    candidates: tuple[Candidate, ...],
    effort: Effort,
    progress: Callable[[str], None] = lambda _text: None,
    stages: Sequence[Stage] = (),
    slack: Slack = RIGID,
    tie_breaks: Sequence[Stage] = TIE_BREAKS,
) -> Found | NotFound:
    """`search_merged`; where it finds no plan and cannot say that there is none, once more from outside the limits.

    Limits may then be exceeded, and the excess over all of them is the first stage: a plan to start from is soon found,
    and improved until nothing is exceeded. A bound above that proves that there is no plan. Where `slack` lets
    something give way already, there is no second search.
    """
    found = search_merged(request, candidates, effort, progress, stages, slack, tie_breaks)
    limits = stated_limits(request)
    if isinstance(found, Found) or found.proven or found.stopped or not limits or slack != RIGID:
        return found
    progress("no plan yet: looking for one that exceeds limits, and from there for one that does not")
    outside = search_merged(
        request,
        candidates,
        effort,
        progress,
        (EXCESS, *(stages or stages_of(request))),
        priced(request, candidates, limits),
        tie_breaks,
    )
    if isinstance(outside, NotFound):
        return outside
    if exceeded(request, outside.choice, limits):
        return NotFound(proven=bool(outside.stages[0].bound), stopped=outside.stopped)
    # a later stage may have led inside the limits though its own was held at an excess
    return replace(outside, stages=outside.later())
