"""A search from outside the limits, where none from inside finds a plan: what exceeds them is the first stage."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from sizing.advice.limits import stated_limits
from sizing.program.deployments import Candidate
from sizing.program.elastic import EXCESS, priced
from sizing.program.exact import NotFound
from sizing.program.merging import search_merged
from sizing.program.objective import TIE_BREAKS, Stage, stages_of
from sizing.program.search import Found
from sizing.program.solver import Effort
from sizing.request.request import Request


def search_within_limits(
    request: Request,
    candidates: tuple[Candidate, ...],
    effort: Effort,
    progress: Callable[[str], None] = lambda _text: None,
    stages: Sequence[Stage] = (),
    tie_breaks: Sequence[Stage] = TIE_BREAKS,
) -> Found | NotFound:
    """`search_merged`; where it finds no plan and cannot say that there is none, once more from outside the limits.

    Limits may then be exceeded, and the excess over all of them is the first stage: a plan to start from is soon found,
    and improved until nothing is exceeded. A bound above that proves that there is no plan.
    """
    found = search_merged(request, candidates, effort, progress, stages, tie_breaks=tie_breaks)
    limits = stated_limits(request)
    if isinstance(found, Found) or found.proven or found.stopped or not limits:
        return found
    progress("no plan yet: looking for one that exceeds limits, and from there for one that does not")
    slack = priced(request, candidates, limits)
    outside = search_merged(
        request, candidates, effort, progress, (EXCESS, *(stages or stages_of(request))), slack, tie_breaks
    )
    if isinstance(outside, NotFound):
        return outside
    excess, *inside = outside.stages
    if excess.value:
        return NotFound(proven=bool(excess.bound), stopped=outside.stopped)
    return replace(outside, stages=tuple(inside))
