"""A YAML file as a tree of text in which every value still knows its line.

Nothing is constructed: every scalar stays the text that was written, and what it means is said by the field that it
is read into. So `no` and `007` are names, `2026-11-01` is no clock, and no tag can run code. Read as YAML 1.2.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from sizing.units.errors import MOST_PROBLEMS, BadInput, Problem, shown
from sizing.units.names import nearest

KeyPath = tuple[str | int, ...]

LARGEST_FILE_BYTES = 4 * 2**20
MOST_VALUES = 200_000  # counted with every alias written out, which is what stops aliases that explode
DEEPEST_NESTING = 64

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})  # YAML 1.2, core schema
# Not printable in YAML 1.2, or (NEL, U+2028, U+2029) a line break to a YAML 1.1 parser and none to a YAML 1.2 one.
_REFUSED_CHARACTER = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
_LOADER = yaml.CBaseLoader if yaml.__with_libyaml__ else yaml.BaseLoader
_PLAIN_KEY = re.compile(r"[^\W\d][\w\-]*")
_DIGITS = re.compile(r"[0-9][0-9_]*")
_AMOUNT = re.compile(r"[0-9][0-9_.]*( ?[A-Za-z%]+)?")  # what stands behind the comma of `1,5 MW`


def key_path(path: KeyPath) -> str:
    """`("classes", 0, "context")` as a user would point at it: `classes[0].context`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        elif _PLAIN_KEY.fullmatch(part) and len(part) <= 60:
            text += f".{part}" if text else part
        else:
            text += f"[{shown(part)}]"
    return text


@dataclass(slots=True)
class _Lines:
    """The line of a value (from 1), and those of what is in it."""

    line: int
    children: dict[str | int, "_Lines"] | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """What a file says: `tree` of dict, list, text and None. `file` is empty for a tree that came from no file."""

    file: str
    tree: Any
    _lines: _Lines | None = field(default=None, repr=False, compare=False)

    def line(self, path: KeyPath) -> int | None:
        """The line of the value at `path`, or of the nearest value around it; None where no file was read."""
        lines = self._lines
        for part in path:
            inner = lines.children.get(part) if lines and lines.children else None
            if inner is None:
                break
            lines = inner
        return lines.line if lines else None

    def problem(
        self,
        path: KeyPath,
        what: str,
        seen: str | None = None,
        accepted: str | None = None,
        nearest: str | None = None,
    ) -> Problem:
        """A fault of the value at `path`, with file and line."""
        return Problem(what, key_path(path), self.file or None, self.line(path), seen, accepted, nearest)


def read_document(path: Path) -> Document:
    """The YAML file at `path`, in UTF-8, with or without a byte order mark.

    Raises BadInput for a file that is missing or cannot be read, and for everything that `parse_document` refuses.
    """
    file = shown_file(str(path))
    try:
        with path.open("rb") as stream:
            content = stream.read(LARGEST_FILE_BYTES + 1)
    except FileNotFoundError:
        raise BadInput(Problem("no such file", file=file, nearest=_nearest_file(path))) from None
    except IsADirectoryError:
        raise BadInput(Problem("is a folder", file=file, accepted="a YAML file")) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise BadInput(Problem(f"cannot be read: {reason}", file=file)) from None
    if len(content) > LARGEST_FILE_BYTES:
        raise BadInput(Problem("too large", file=file, accepted=f"at most {LARGEST_FILE_BYTES // 2**20} MiB"))
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        seen = f"byte 0x{content[error.start]:02x}"
        raise BadInput(Problem("not UTF-8", file=file, line=line, seen=seen, accepted="text in UTF-8")) from None
    return parse_document(text, file)


def shown_file(file: str) -> str:
    """A path that can be printed."""
    return file if file.isprintable() else shown(file)


def _nearest_file(path: Path) -> str | None:
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except (OSError, ValueError):
        return None
    name = nearest(path.name, names)
    return None if name is None else str(path.parent / name)


def parse_document(text: str, file: str) -> Document:
    """The one YAML document in `text`. `file` is the name that errors carry.

    Raises BadInput for syntax, duplicate keys (with both lines), keys that are no text, tags, merge keys, aliases
    that recurse or explode, nesting deeper than 64, control characters, several documents, and for an empty file.
    """
    text = text.removeprefix("\ufeff")
    refused = _REFUSED_CHARACTER.search(text)
    if refused:
        line = text.count("\n", 0, refused.start()) + 1
        seen = f"U+{ord(refused.group()):04X}"
        raise BadInput(Problem("a control character", file=file, line=line, seen=seen, accepted="printable text"))
    reader = _Reader(file)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            reader.take(event)
    except yaml.MarkedYAMLError as error:
        reader.problems.append(_syntax_problem(error, file, len(text.splitlines()) or 1))
    except yaml.YAMLError as error:
        reader.problems.append(Problem(f"YAML syntax: {error}", file=file))
    return reader.document()


def _syntax_problem(error: yaml.MarkedYAMLError, file: str, last_line: int) -> Problem:
    """A scanner stumbles far behind what it could not finish, so there the beginning is the line to look at."""
    began, stumbled = ((mark.line + 1 if mark else None) for mark in (error.context_mark, error.problem_mark))
    scanning = (error.context or "").startswith("while scanning")
    line = (began if scanning else stumbled) or stumbled or began
    context = error.context or ""
    if context and not scanning and began not in (None, line):
        context += f" that begins on line {began}"
    said = ", ".join(part for part in (context, error.problem) if part)
    return Problem(f"YAML syntax: {said}", file=file, line=None if line is None else min(line, last_line))


@dataclass(slots=True)
class _Open:
    """A mapping or list that is being read. `key` is the key whose value comes next; None: a key comes next."""

    value: dict[str, Any] | list[Any]
    lines: _Lines
    children: dict[str | int, _Lines]
    anchor: str | None
    values_before: int
    key: str | None = None
    drops: bool = False


class _Reader:
    """Builds the tree from the events of a parser, one at a time and without recursion."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []
        self._open: list[_Open] = []
        self._root: tuple[Any, _Lines] | None = None
        self._values = 0
        self._anchors: dict[str, tuple[Any, _Lines, int]] = {}
        self._documents = 0

    def document(self) -> Document:
        """The document, once every event was taken; raises BadInput with all problems."""
        if not self.problems and (self._root is None or self._root[0] is None):
            self.problems.append(Problem("the file is empty", file=self.file, accepted="one YAML document"))
        if self.problems or self._root is None:
            raise BadInput(*self.problems)
        return Document(self.file, *self._root)

    def take(self, event: Any) -> None:
        match event:
            case yaml.ScalarEvent():
                self._scalar(event)
            case yaml.MappingStartEvent():
                self._start(event, {})
            case yaml.SequenceStartEvent():
                self._start(event, [])
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                self._end()
            case yaml.AliasEvent():
                self._alias(event)
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    self._stop(event, "a second YAML document", accepted="one document in a file")

    def _refuse(self, event: Any, what: str, seen: str | None = None, accepted: str | None = None) -> None:
        path = tuple(self._path())
        line = event.start_mark.line + 1
        self.problems.append(Problem(what, key_path(path), self.file or None, line, seen, accepted))
        if len(self.problems) >= MOST_PROBLEMS:
            raise BadInput(*self.problems)

    def _stop(self, event: Any, what: str, accepted: str) -> None:
        self._refuse(event, what, accepted=accepted)
        raise BadInput(*self.problems)

    def _path(self) -> Iterator[str | int]:
        for opened in self._open:
            if isinstance(opened.value, list):
                yield len(opened.value)
            elif opened.key is not None:
                yield opened.key

    def _count(self, event: Any, values: int) -> None:
        self._values += values
        if self._values > MOST_VALUES:
            self._stop(event, "too many values, with aliases written out", accepted=f"at most {MOST_VALUES:,}")

    def _check_tag(self, event: Any) -> None:
        if event.tag is not None:
            self._refuse(event, "tags are not read", seen=shown(event.tag), accepted="the plain value")

    def _expects_key(self) -> bool:
        return bool(self._open) and isinstance(self._open[-1].value, dict) and self._open[-1].key is None

    def _scalar(self, event: Any) -> None:
        self._count(event, 1)
        self._check_tag(event)
        plain = bool(event.implicit[0])
        text = None if plain and event.value in _NULLS else str(event.value)
        if self._expects_key():
            self._key(event, text, plain)
            return
        if text is None:
            self._check_comma(event)
        lines = _Lines(event.start_mark.line + 1)
        self._place(text, lines)
        if event.anchor:
            self._anchors[event.anchor] = (text, lines, 1)

    def _check_comma(self, event: Any) -> None:
        """Refuse `{power: 1,5 MW}`, which YAML reads as a power of 1 and an empty key `5 MW`."""
        opened = self._open[-1] if self._open else None
        if opened is None or not isinstance(opened.value, dict) or opened.drops or not opened.key or not opened.value:
            return
        key, before = opened.key, next(reversed(opened.value))
        value = opened.value[before]
        if opened.children[before].line != opened.children[key].line or not _AMOUNT.fullmatch(key):
            return
        if not isinstance(value, str) or not _DIGITS.fullmatch(value):
            return
        opened.key, opened.drops = before, True
        accepted = "a decimal point, and no comma between thousands"
        self._refuse(event, "a comma ends a value inside braces", seen=shown(f"{value},{key}"), accepted=accepted)

    def _key(self, event: Any, text: str | None, plain: bool) -> None:
        """Take a key. One that is refused still takes its value, which is dropped, so that reading can go on."""
        opened = self._open[-1]
        opened.key, opened.drops = text or "", True
        if text is None:
            self._refuse(event, "an empty key", accepted="text")
        elif text == "<<" and plain:
            self._refuse(
                event, "merge keys are not read", accepted="the keys themselves, or an alias for a whole value"
            )
        elif text in opened.value:
            first = opened.children[text].line
            self._refuse(event, f"duplicate key, first on line {first}", accepted="every key once")
        else:
            opened.drops = False
            opened.children[text] = _Lines(event.start_mark.line + 1)

    def _start(self, event: Any, value: dict[str, Any] | list[Any]) -> None:
        self._count(event, 1)
        self._check_tag(event)
        if len(self._open) >= DEEPEST_NESTING:
            self._stop(event, "nested too deeply", accepted=f"at most {DEEPEST_NESTING} levels")
        if self._expects_key():
            self._refuse(event, "a key that is no text", accepted="text")
        if event.anchor:
            self._anchors.pop(event.anchor, None)
        children: dict[str | int, _Lines] = {}
        lines = _Lines(event.start_mark.line + 1, children)
        self._open.append(_Open(value, lines, children, event.anchor, self._values - 1))

    def _end(self) -> None:
        closed = self._open.pop()
        if closed.anchor:
            self._anchors[closed.anchor] = (closed.value, closed.lines, self._values - closed.values_before)
        self._place(closed.value, closed.lines)

    def _alias(self, event: Any) -> None:
        if any(opened.anchor == event.anchor for opened in self._open):
            self._stop(
                event, f"alias {shown(event.anchor)} stands inside itself", accepted="an alias of a finished value"
            )
        if event.anchor not in self._anchors:
            self._stop(
                event, f"alias {shown(event.anchor)} has no anchor before it", accepted="an anchor defined above"
            )
        value, lines, values = self._anchors[event.anchor]
        self._count(event, values)
        if self._expects_key():
            self._refuse(event, "an alias as a key", accepted="text")
        self._place(value, _Lines(event.start_mark.line + 1, lines.children))

    def _place(self, value: Any, lines: _Lines) -> None:
        """Put a finished value where it belongs."""
        if not self._open:
            self._root = (value, lines)
            return
        opened = self._open[-1]
        if isinstance(opened.value, list):
            opened.children[len(opened.value)] = lines
            opened.value.append(value)
        elif opened.key is None:
            opened.key, opened.drops = "", True
        else:
            if not opened.drops:
                opened.value[opened.key] = value
                opened.children[opened.key].children = lines.children
            opened.key, opened.drops = None, False
