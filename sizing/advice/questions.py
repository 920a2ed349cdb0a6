"""Asking the program again about one request: every question gets a share of the time that is left."""

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from sizing.plan.plan import StatedLimit
from sizing.program.deployments import Candidate
from sizing.program.elastic import ANY_PLAN, fits_in_fractions, lifted
from sizing.program.exact import NotFound
from sizing.program.objective import TIE_BREAKS, Stage, stages_of
from sizing.program.search import Found
from sizing.program.slack import RIGID, Slack
from sizing.program.solver import Effort
from sizing.program.within_limits import search_within_limits
from sizing.request.request import Request

MOST_NODES = 200
"""Nodes of one integer program: a count, so that what is settled is the same on every machine (decision 9)."""

SHARE = 4
"""A question may take this part of the time that is left: none takes it all."""


class Questions:
    """Asks about one request. `stopped` tells whether the clock ended an answer."""

    def __init__(self, request: Request, candidates: tuple[Candidate, ...], effort: Effort) -> None:
        self.request = request
        self.candidates = candidates
        self.stopped = False
        self._effort = effort

    @property
    def effort(self) -> Effort:
        """For one more question."""
        left = max(0.0, self._effort.seconds_left)
        nodes = min(MOST_NODES, self._effort.most_nodes)
        return replace(self._effort, deadline=time.monotonic() + left / SHARE, most_nodes=nodes)

    def is_out_of_time(self) -> bool:
        """Asked before anything is built for a question; what is then not asked is known to be left open."""
        self.stopped = self.stopped or self._effort.seconds_left <= 0
        return self._effort.seconds_left <= 0

    def least(self, first: Stage, slack: Slack = RIGID, about: Request | None = None) -> Found | NotFound:
        """The plan that is least in a stage, then in those of the request's policy."""
        request = about or self.request
        return self._search(request, self.candidates, (first, *stages_of(request)), slack, TIE_BREAKS)

    def best(self, about: Request) -> Found | NotFound:
        """The best plan of a changed request."""
        return self._search(about, self.candidates, (), RIGID, TIE_BREAKS)

    def any_plan(
        self,
        without: Sequence[StatedLimit] = (),
        about: Request | None = None,
        among: tuple[Candidate, ...] | None = None,
    ) -> Found | NotFound:
        """Whether there is a plan: with limits lifted, of a changed request, or among other candidates."""
        candidates = self.candidates if among is None else among
        return self._search(about or self.request, candidates, (ANY_PLAN,), lifted(without), ())

    def fits_in_fractions(self, without: Sequence[StatedLimit]) -> bool:
        """Whether fractions of Pods, systems and sequences would fit the limits that are kept."""
        if self.is_out_of_time():
            return False
        fits = fits_in_fractions(self.request, self.candidates, lifted(without), self.effort.seconds_left)
        return fits and not self.is_out_of_time()

    def _search(
        self,
        request: Request,
        candidates: tuple[Candidate, ...],
        stages: Sequence[Stage],
        slack: Slack,
        tie_breaks: Sequence[Stage],
    ) -> Found | NotFound:
        if self.is_out_of_time():
            return NotFound(proven=False, stopped=True)
        among = tuple(_holding(candidates, {service.name for service in request.classes}))
        found = search_within_limits(request, among, self.effort, stages=stages, slack=slack, tie_breaks=tie_breaks)
        self.stopped = self.stopped or found.stopped
        return found


def _holding(candidates: Iterable[Candidate], names: Collection[str]) -> Iterator[Candidate]:
    """The candidates as they are where only these classes are asked for."""
    for candidate in candidates:
        sizes = {name: size for name, size in candidate.sizes.items() if name in names}
        if sizes:
            yield replace(candidate, sizes=sizes)
