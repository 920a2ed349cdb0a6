"""The Python interface: what the commands themselves use.

import sizing
plan = sizing.solve(sizing.load_workload("workloads/customer.yaml"))
plan.data_frame("deployments")
"""

import time
from collections.abc import Callable, Mapping, Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sizing.catalog.catalog import Catalog
from sizing.request.load import load_workload as _load_workload
from sizing.request.load import workload_from
from sizing.request.request import Request

if TYPE_CHECKING:
    from sizing.plan.capacity import Capacity
    from sizing.plan.plan import NoPlan, Plan
    from sizing.program.halt import Halt

Progress = Callable[[str], None]


def load_workload(
    workload: Path | str | Mapping[str, Any],
    *,
    catalog: Sequence[Path | str] = (),
    objective: Sequence[str] | None = None,
) -> Request:
    """A workload file, or the same as nested mappings, with every name resolved and every default written out.

    Paths of models are relative to the file, or to the current folder. `catalog` are overlay folders, `objective`
    replaces the stages of the policy. Raises BadInput with all that is wrong.
    """
    entries = Catalog([Path(folder) for folder in catalog])
    if isinstance(workload, Mapping):
        return workload_from(workload, entries, objective=objective, folder=Path())
    return _load_workload(Path(workload), entries, objective=objective)


def solve(
    request: Request,
    *,
    time_limit: float | None = None,
    gap: float = 0.0,
    threads: int | None = None,
    alternatives: int = 0,
    sensitivity: bool = False,
    halt: "Halt | None" = None,
    progress: Progress = lambda _text: None,
) -> "Plan | NoPlan":
    """The smallest facility that serves a request, checked; or why there is none.

    `time_limit` in seconds; `gap` is the relative gap per stage at which a search may stop; `halt.ask()`, from another
    thread or a signal, ends it with the best plan so far. `alternatives`: so many of the next best plans that buy
    something else, at most; `sensitivity`: what the answer becomes where a limit or a choice of the policy is another.
    Raises CheckFailed where a finished plan does not hold.
    """
    from sizing.advice.answer import Extras, answer
    from sizing.program.halt import Halt
    from sizing.program.solver import Effort

    deadline = inf if time_limit is None else time.monotonic() + time_limit
    effort = Effort(deadline, gap, threads, halt=halt or Halt())
    return answer(request, effort, progress, Extras(alternatives, sensitivity))


def capacity(
    request: Request,
    *,
    pods: int,
    system: str | None = None,
    site: str | None = None,
    time_limit: float | None = None,
    gap: float = 0.0,
    threads: int | None = None,
    halt: "Halt | None" = None,
    progress: Progress = lambda _text: None,
) -> "Capacity":
    """The largest multiple of a workload that `pods` Pods of a site serve, its other limits kept, and the plan for it.

    `system` is the only kind to buy; `site` must be named where the workload has several. The rest as for `solve`.
    Raises BadInput where one of these is none of the workload's.
    """
    from sizing.advice.capacity import capacity as largest_multiple
    from sizing.program.halt import Halt
    from sizing.program.solver import Effort

    deadline = inf if time_limit is None else time.monotonic() + time_limit
    effort = Effort(deadline, gap, threads, halt=halt or Halt())
    return largest_multiple(request, pods, effort, system, site, progress)
