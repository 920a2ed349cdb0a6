"""Many questions under one time limit: each may take a part of what is left, and what it leaves others get."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from sizing.program.deployments import Candidate
from sizing.program.exact import NotFound
from sizing.program.objective import TIE_BREAKS, Stage
from sizing.program.search import Found
from sizing.program.solver import Effort
from sizing.program.within_limits import search_within_limits
from sizing.request.request import Request

MOST_NODES = 500
"""Nodes of one integer program: a count, so that what is settled is the same on every machine (decision 9)."""

SHARE_OF_MORE = 3
"""What comes after the answer gets at least this part of the time limit where more than the answer is asked for."""

MOST_PARTS = 8
"""A question may take at least such a part of what is left: where time is short, some are answered rather than none."""

Item = TypeVar("Item")


def first_part(effort: Effort) -> Effort:
    """For the answer itself, where more is asked for: something is left of the time limit."""
    left = max(0.0, effort.seconds_left)
    return replace(effort, deadline=time.monotonic() + left * (1 - 1 / SHARE_OF_MORE))


def in_turn(items: Sequence[Item], effort: Effort) -> Iterator[tuple[Item, Effort]]:
    """Each item with the effort that it may take."""
    for number, item in enumerate(items):
        left = max(0.0, effort.seconds_left) / min(len(items) - number, MOST_PARTS)
        nodes = min(MOST_NODES, effort.most_nodes)
        yield item, replace(effort, deadline=time.monotonic() + left, most_nodes=nodes)


def best_plan(
    request: Request,
    candidates: tuple[Candidate, ...],
    effort: Effort,
    tie_breaks: Sequence[Stage] = TIE_BREAKS,
    stages: Sequence[Stage] = (),
) -> Found | NotFound:
    """The best plan among candidates, by other `stages` and `tie_breaks` if they are given; not looked for where no
    time is left.
    """
    if effort.seconds_left <= 0:
        return NotFound(proven=False, stopped=True)
    return search_within_limits(request, candidates, effort, stages=stages, tie_breaks=tie_breaks)
