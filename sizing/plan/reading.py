"""A JSON document from outside, read with suspicion: strictly, within bounds, and every problem with its path."""

import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from math import isfinite
from pathlib import Path
from typing import Any

from sizing.units.document import KeyPath, key_path, shown_file
from sizing.units.errors import BadInput, Problem, shown

LARGEST_FILE_BYTES = 32 * 2**20
DEEPEST_NESTING = 64
LONGEST_NUMBER = 400
LARGEST_WHOLE = 10**15

_ABSENT = object()

Scalar = str | bool | Fraction | None


def read_content(path: Path) -> bytes:
    """The bytes of the file at `path`. Raises BadInput where it cannot be read, or is too large."""
    file = shown_file(str(path))
    try:
        with path.open("rb") as stream:
            content = stream.read(LARGEST_FILE_BYTES + 1)
    except FileNotFoundError:
        raise BadInput(Problem("no such file", file=file)) from None
    except IsADirectoryError:
        raise BadInput(Problem("is a folder", file=file, accepted="a file")) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise BadInput(Problem(f"cannot be read: {reason}", file=file)) from None
    if len(content) > LARGEST_FILE_BYTES:
        raise BadInput(Problem("too large", file=file, accepted=f"at most {LARGEST_FILE_BYTES // 2**20} MiB"))
    return content


def parse_json(content: bytes, file: str) -> Any:
    """What JSON in UTF-8 says: dict, list, text, int, float, bool and None. `file` is the name that errors carry.

    Raises BadInput for what is not UTF-8, what is no JSON (NaN and infinities too), for a key that stands twice in one
    object, nesting deeper than 64, and text that is no Unicode.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadInput(Problem("not UTF-8", file=file, line=line, accepted="JSON in UTF-8")) from None
    try:
        tree = json.loads(
            text,
            object_pairs_hook=_object,
            parse_int=_whole,
            parse_float=_real,
            parse_constant=lambda name: _refuse(f"{name} is no number of JSON"),
        )
    except json.JSONDecodeError as error:
        raise BadInput(Problem(f"no JSON: {error.msg}", file=file, line=error.lineno)) from None
    except _RefusedError as error:
        raise BadInput(Problem(str(error), file=file)) from None
    except RecursionError:
        raise BadInput(_too_deep(file)) from None
    _check_shape(tree, file)
    return tree


class _RefusedError(Exception):
    pass


def _refuse(why: str) -> Any:
    raise _RefusedError(why)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            _refuse(f"the key {shown(key)} stands twice in one object")
        found[key] = value
    return found


def _whole(text: str) -> int:
    return int(text) if len(text) <= LONGEST_NUMBER else int(_refuse(f"a number of {len(text)} digits"))


def _real(text: str) -> float:
    value = float(text)
    return value if isfinite(value) else float(_refuse(f"{shown(text)} is too large a number"))


def _too_deep(file: str) -> Problem:
    return Problem("nested too deeply", file=file, accepted=f"at most {DEEPEST_NESTING} levels")


def _check_shape(tree: Any, file: str) -> None:
    """Without recursion: what is found deeper than `DEEPEST_NESTING`, or cannot be written in UTF-8."""
    pending: list[tuple[Any, int]] = [(tree, 1)]
    while pending:
        value, depth = pending.pop()
        if isinstance(value, str) and not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise BadInput(Problem("half a surrogate pair is no text", file=file, seen=shown(value))) from None
        elif isinstance(value, dict | list):
            if depth > DEEPEST_NESTING:
                raise BadInput(_too_deep(file))
            inner = [*value, *value.values()] if isinstance(value, dict) else value
            pending.extend((each, depth + 1) for each in inner)


class Reader:
    """One value of a document and where it stands.

    What is wrong with it goes to `problems`, which all readers of a document share; reading goes on with an empty
    value of the type that was asked for, so that all problems are found at once.
    """

    def __init__(self, value: Any, file: str = "", path: KeyPath = (), problems: list[Problem] | None = None) -> None:
        self.value = value
        self.file = file
        self.path = path
        self.problems: list[Problem] = [] if problems is None else problems

    def refuse(self, what: str, accepted: str | None = None) -> None:
        """Note a problem of this value; nothing where it is absent, for that was noted already."""
        if self.value is not _ABSENT:
            seen = shown(self.value)
            self.problems.append(Problem(what, key_path(self.path), self.file or None, seen=seen, accepted=accepted))

    def key(self, name: str) -> "Reader":
        """The value of a key that must be there."""
        value = self.mapping().get(name, _ABSENT)
        inner = self._inner(name, value)
        if value is _ABSENT and isinstance(self.value, Mapping):
            self.problems.append(Problem("is missing", key_path(inner.path), self.file or None))
        return inner

    def mapping(self) -> Mapping[str, Any]:
        if isinstance(self.value, Mapping):
            return self.value
        self.refuse("is of the wrong type", "an object")
        return {}

    def entries(self) -> Iterator[tuple[str, "Reader"]]:
        """The keys of an object with their values."""
        for name, value in self.mapping().items():
            yield name, self._inner(name, value)

    def items(self) -> list["Reader"]:
        """The values of a list."""
        if isinstance(self.value, list):
            return [self._inner(index, value) for index, value in enumerate(self.value)]
        self.refuse("is of the wrong type", "a list")
        return []

    def text(self) -> str:
        if isinstance(self.value, str):
            return self.value
        self.refuse("is of the wrong type", "text")
        return ""

    def flag(self) -> bool:
        if isinstance(self.value, bool):
            return self.value
        self.refuse("is of the wrong type", "true or false")
        return False

    def scalar(self) -> "Scalar":
        """Text, a number (exact, as its digits say), true, false or null."""
        value = self.value
        if value is None or isinstance(value, str | bool):
            return value
        if isinstance(value, int | float):
            return Fraction(repr(value))
        self.refuse("is of the wrong type", "text, a number, true, false or null")
        return None

    def whole(self) -> int:
        """A whole number, `59.0` too, for JSON knows one type of number."""
        value = self.value
        if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value):
            self.refuse("is of the wrong type", "a whole number")
            return 0
        if abs(value) > LARGEST_WHOLE:
            self.refuse("is absurdly large", f"at most {LARGEST_WHOLE:,}")
            return 0
        return int(value)

    def span(self) -> tuple[int, int]:
        """[first, last], both whole numbers."""
        ends = self.items()
        if len(ends) == 2:
            return ends[0].whole(), ends[1].whole()
        if isinstance(self.value, list):
            self.refuse("is no range", "[first, last]")
        return 0, 0

    @property
    def is_null(self) -> bool:
        return self.value is None

    def _inner(self, part: str | int, value: Any) -> "Reader":
        return Reader(value, self.file, (*self.path, part), self.problems)
