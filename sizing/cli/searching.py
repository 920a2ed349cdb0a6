"""What the commands that search have in common: their options, their exit codes, and how Ctrl-C ends them."""

import signal
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from math import isfinite
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import click

from sizing.program.halt import Halt
from sizing.units.errors import BadInput, Problem

INFEASIBLE = 3
OUT_OF_TIME = 4
INTERRUPTED = 130
MOST_THREADS = 64  # the solver has no use for more, and a million would take the machine

Command = TypeVar("Command", bound=Callable[..., Any])


def _finite(_context: click.Context, _parameter: click.Parameter, value: float | None) -> float | None:
    """NaN and infinity are read as numbers, and are none that a search can be held to."""
    if value is not None and not isfinite(value):
        raise click.BadParameter(f"{value} is not a finite number")
    return value


catalog_option = click.option(
    "--catalog",
    "catalogs",
    multiple=True,
    metavar="DIR",
    help="Entries that add to the shipped ones, or change them by name. May be repeated.",
)

_EFFORT = (
    click.option(
        "--time-limit",
        type=click.FloatRange(min=0, min_open=True),
        callback=_finite,
        metavar="S",
        help="Seconds for the search.",
    ),
    click.option(
        "--gap",
        type=click.FloatRange(0, 1, max_open=True),
        default=0.0,
        callback=_finite,
        metavar="G",
        help="Relative gap per stage at which the search may stop, such as 0.02.",
    ),
    click.option("--threads", type=click.IntRange(1, MOST_THREADS), metavar="N", help="Threads of the solver."),
)


def effort_options(command: Command) -> Command:
    """`time_limit`, `gap` and `threads`."""
    return reduce(lambda inner, option: option(inner), reversed(_EFFORT), command)


def no_plan_code(status: str, halt: Halt) -> int:
    """The exit code where there is no plan."""
    if status != "timeout":
        return INFEASIBLE
    return INTERRUPTED if halt.asked else OUT_OF_TIME


def refuse_same_file(named: Mapping[str, Path | None]) -> None:
    """Raise BadInput where two of these are one file: one would be lost, whatever `--force` says."""
    places: dict[Path, str] = {}
    for what, path in named.items():
        if path is None:
            continue
        place = path.resolve()
        if place in places:
            raise BadInput(
                Problem(f"{what} is the same file as {places[place]}", seen=str(path), accepted="another file")
            )
        places[place] = what


@contextmanager
def interrupting() -> Iterator[Halt]:
    """While it lasts, Ctrl-C ends the search with the best plan so far; a second one ends the command."""
    halt = Halt()

    def interrupted(_number: int, _frame: FrameType | None) -> None:
        if halt.asked:
            raise KeyboardInterrupt
        click.echo("stopping with the best plan so far; press Ctrl-C again to give up", err=True)
        halt.ask()

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield halt
    finally:
        signal.signal(signal.SIGINT, before)
