"""Errors that a user can act on: what, where, the value seen, what would be accepted, the nearest name."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

LONGEST_SHOWN = 60
MOST_PROBLEMS = 100  # of one value, one entry, one folder


def shown(value: Any) -> str:
    """A value as a message prints it: on one line, no control character in it, cut where it is long."""
    if isinstance(value, str):
        cut = value if len(value) <= LONGEST_SHOWN else value[: LONGEST_SHOWN - 3] + "..."
        return repr(cut)
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, int) and value.bit_length() > 4 * LONGEST_SHOWN:
        return f"a whole number of {value.bit_length()} bits"
    text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 3] + "..."


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault of an input.

    `path` is the key as a user would point at it, such as `classes[0].context`.
    """

    what: str
    path: str = ""
    file: str | None = None
    line: int | None = None
    seen: str | None = None
    accepted: str | None = None
    nearest: str | None = None

    def __str__(self) -> str:
        where = ":".join(str(part) for part in (self.file, self.line) if part is not None)
        lead = ": ".join(part for part in (where, self.path, self.what) if part)
        details = []
        if self.seen is not None:
            details.append(f"seen: {self.seen}")
        if self.accepted is not None:
            details.append(f"accepted: {self.accepted}")
        if self.nearest is not None:
            details.append(f"did you mean {self.nearest!r}?")
        return lead + (f" ({'; '.join(details)})" if details else "")


def cut(problems: Sequence[Problem], more: int = 0) -> list[Problem]:
    """The first `MOST_PROBLEMS`, and behind them how many there are beside: of those given, and `more`."""
    told, rest = list(problems[:MOST_PROBLEMS]), len(problems[MOST_PROBLEMS:]) + more
    if rest:
        told.append(Problem(f"and {rest:,} more problems", file=told[-1].file, line=told[-1].line))
    return told


class SizingError(Exception):
    """Base of every error that a command turns into one clean message and an exit code."""

    exit_code = 1


class BadInput(SizingError):
    """Everything that is wrong with an input, all at once."""

    exit_code = 2

    def __init__(self, *problems: Problem) -> None:
        self.problems = problems
        super().__init__("\n".join(str(problem) for problem in problems))


class CheckFailed(SizingError):
    """A finished plan did not pass the independent check; it is never printed."""

    exit_code = 1
