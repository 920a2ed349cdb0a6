"""A model's shape as a catalog entry: as plain data, and as the YAML file that `sizing import` writes.

What is written reads back as an equal shape. Keys with their default are left out.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from fractions import Fraction
from typing import Any

from sizing.sequence.model import Block, ModelShape, RoleBits
from sizing.sequence.tensors import Tensors

LINE_LENGTH = 120
_PLAIN = re.compile(r"[A-Za-z0-9](?:[\w ./+()=-]*[\w./+()=-])?", re.ASCII)
_NULLS = frozenset({"null", "Null", "NULL"})


def entry_of(model: ModelShape, told: Mapping[str, Any]) -> dict[str, Any]:
    """The entry of a model: numbers, text, flags, lists and mappings, which JSON and YAML both hold.

    `told` are keys that no shape has: `confidence`, and `date`, `note` or `imported` where there are any.
    """
    entry: dict[str, Any] = {
        "title": model.title,
        "aliases": list(model.aliases),
        "hidden": model.hidden,
        "vocabulary": model.vocabulary,
        "tied_embeddings": model.tied_embeddings,
        "weights": model.native_weights,
        "context_limit": model.context_limit,
        "nominal_parameters": model.nominal_parameters,
        "sources": [str(source) for source in model.sources],
        **told,
        "layers": _blocks(model.blocks),
        "final_norms": None if model.final_norms == 1 else model.final_norms,
        "extra": _tensors(model.extra),
        "mtp": _blocks(model.mtp),
        "mtp_extra": _tensors(model.mtp_extra),
        "encoders": _tensors(model.encoders),
        "native_bits": _bits(model.native_bits),
    }
    return _without_empty(entry)


def told_of(entry: Any) -> dict[str, Any]:
    """The keys of a checked entry that no shape has, as `entry_of` takes them."""
    told = {key: getattr(entry, key) for key in ("date", "confidence", "note")}
    if entry.imported is not None:
        parts = {key: list(part) if isinstance(part, tuple) else part for key, part in entry.imported}
        told["imported"] = _without_empty(parts)
    return told


def notes_of(defaults: Iterable[str], notes: Iterable[str]) -> tuple[str, ...]:
    """What a reader of an imported shape must know, as sentences: the keys that its file leaves out, then its notes."""
    left = ", ".join(defaults)
    return (*([f"Its file leaves out {left}: taken as its architecture has it by default."] if left else []), *notes)


def _without_empty(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if value is not None and value not in ("", [], {})}


def _blocks(blocks: Iterable[Block]) -> list[dict[str, Any]]:
    return [
        _without_empty(
            {
                "count": block.count,
                "attention": _kind(block.attention),
                "also": [_kind(kind) for kind in block.also],
                "feed_forward": _kind(block.feed_forward),
                "norms": None if block.norms == 2 else block.norms,
                "extra": _tensors(block.extra),
                "native_bits": _bits(block.native_bits),
            }
        )
        for block in blocks
    ]


def _kind(kind: Any) -> dict[str, Any]:
    return {"kind": kind.name, **_stated(kind)}


def _tensors(several: Iterable[Tensors]) -> list[dict[str, Any]]:
    return [_stated(tensors) for tensors in several]


def _stated(item: Any) -> dict[str, Any]:
    """The fields of a data class that do not have their default."""
    values = {field.name: (getattr(item, field.name), field.default) for field in fields(item)}
    return {
        name: _digits(value) if isinstance(value, Fraction) else str(value) if isinstance(value, str) else value
        for name, (value, default) in values.items()
        if default is MISSING or value != default
    }


def _bits(bits: RoleBits) -> dict[str, Any]:
    return {str(role): _digits(width) for role, width in bits}


def _digits(value: Fraction) -> int | str:
    """A whole number, else all digits of a decimal, else a fraction: nothing is rounded."""
    if value.denominator == 1:
        return value.numerator
    for places in range(1, 20):
        scaled = value * 10**places
        if scaled.denominator == 1:
            whole, rest = divmod(scaled.numerator, 10**places)
            return f"{whole}.{rest:0{places}}"
    return f"{value.numerator}/{value.denominator}"


def as_yaml(entry: Mapping[str, Any], comments: Iterable[str] = ()) -> str:
    """An entry as a file of `models/`: one line a key, layers in flow style, equal parts by reference."""
    lines = [f"# {line}" for comment in comments for line in _wrapped(comment, LINE_LENGTH - 2)]
    anchors = _Anchors(entry)
    for key, value in entry.items():
        if key in ("layers", "mtp"):
            lines.append(f"{key}:")
            for block in value:
                lines += _item(block, anchors)
        elif isinstance(value, Mapping):
            lines.append(f"{key}:")
            lines += [line for inner, part in value.items() for line in _inner(inner, part)]
        elif key == "context_limit":
            lines.append(f"{key}: {value // 1024}k" if value % 1024 == 0 else f"{key}: {value}")
        else:
            lines += _line(f"{key}: ", value, None)
    return "\n".join(lines) + "\n"


def _inner(key: str, value: Any) -> list[str]:
    """A key of a mapping; sentences stand on a line each."""
    if isinstance(value, list) and any(" " in str(part) for part in value):
        return [f"  {key}:", *(f"    - {_flow(part)}" for part in value)]
    return _line(f"  {key}: ", value, None)


def _item(block: Mapping[str, Any], anchors: "_Anchors") -> list[str]:
    """One block of layers as an item of a list."""
    return [
        line
        for number, (key, value) in enumerate(block.items())
        for line in _line(f"{'    ' if number else '  - '}{key}: ", value, anchors)
    ]


class _Anchors:
    """Names for the parts of layers that are written once and referred to."""

    def __init__(self, entry: Mapping[str, Any]) -> None:
        blocks = [*entry.get("layers", ()), *entry.get("mtp", ())]
        parts = [json.dumps(part) for block in blocks for part in block.values() if isinstance(part, Mapping)]
        self._repeated = {part for part in parts if parts.count(part) > 1}
        self._names: dict[str, str] = {}

    def of(self, part: Mapping[str, Any]) -> tuple[str, bool]:
        """(name, whether the part was written before); no name for a part that occurs once."""
        text = json.dumps(part)
        if text not in self._repeated:
            return "", False
        if text in self._names:
            return self._names[text], True
        taken = self._names.values()
        first = str(part.get("kind", "bits"))
        name = next(name for name in (first, *(f"{first}_{n}" for n in range(2, 1000))) if name not in taken)
        self._names[text] = name
        return name, False


def _line(start: str, value: Any, anchors: _Anchors | None) -> list[str]:
    """`key: value`, wrapped at commas where it is too long for a line."""
    if anchors is not None and isinstance(value, Mapping):
        name, known = anchors.of(value)
        if known:
            return [f"{start}*{name}"]
        start = f"{start}&{name} " if name else start
    text = start + _flow(value)
    indent = " " * (len(start) - len(start.lstrip(" -")) + 2)
    return _wrapped(text, LINE_LENGTH, indent, ", ") if isinstance(value, Mapping | list) else [text]


def _flow(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return f"{value:_}" if value >= 10**7 else str(value)
        case Mapping():
            return "{" + ", ".join(f"{key}: {_flow(part)}" for key, part in value.items()) + "}"
        case list():
            return "[" + ", ".join(_flow(part) for part in value) + "]"
    return value if _PLAIN.fullmatch(value) and value not in _NULLS else json.dumps(value, ensure_ascii=False)


def _wrapped(text: str, width: int, indent: str = "", behind: str = " ") -> list[str]:
    """Lines of at most `width` characters, broken `behind` a mark where no quotation is open."""
    lines: list[str] = []
    line, quoted = "", False
    for part in text.split(behind):
        if line and len(line) + len(part) > width - 1 and not quoted:
            lines.append(line.rstrip())
            line = indent
        line += part + behind
        quoted ^= len(re.findall(r'(?<!\\)"', part)) % 2 == 1
    return [*lines, line.removesuffix(behind)]
