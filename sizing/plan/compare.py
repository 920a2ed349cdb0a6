"""What a document tells beside what is right, value by value."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sizing.request.canonical import canonical_json
from sizing.units.document import KeyPath, key_path
from sizing.units.errors import shown

RIGHT_IS = "right is"


@dataclass(frozen=True, slots=True)
class Finding:
    """What is wrong with a plan document, and where: `path` is the key, empty where it concerns several."""

    path: str
    what: str

    def __str__(self) -> str:
        return f"{self.path}: {self.what}" if self.path else self.what


def differences(told: Any, right: Any, path: KeyPath, right_is: str = RIGHT_IS) -> Iterator[Finding]:
    """Every value of `told` that is not that of `right`, both as JSON has them; the order of keys does not count.

    Lists of equal length are compared item by item; of others it is said what they lack and what they have too much.
    """
    if isinstance(told, Mapping) and isinstance(right, Mapping):
        for key, value in right.items():
            if key in told:
                yield from differences(told[key], value, (*path, key), right_is)
            else:
                yield Finding(key_path((*path, key)), f"is missing, {right_is} {shown(value)}")
        for key in told:
            if key not in right:
                yield Finding(key_path((*path, key)), f"says {shown(told[key])}, does not belong here")
    elif isinstance(told, list) and isinstance(right, list):
        if len(told) == len(right):
            for index, (one, other) in enumerate(zip(told, right, strict=True)):
                yield from differences(one, other, (*path, index), right_is)
        else:
            yield from _lacking(told, right, path)
    elif not _same(told, right):
        yield Finding(key_path(path), f"says {shown(told)}, {right_is} {shown(right)}")


def _lacking(told: list[Any], right: list[Any], path: KeyPath) -> Iterator[Finding]:
    yield Finding(key_path(path), f"has {len(told)} items, not {len(right)}")
    in_told, in_right = (Counter(map(canonical_json, items)) for items in (told, right))
    surplus, lacking = in_told - in_right, in_right - in_told
    for index, item in enumerate(told):
        if surplus[canonical_json(item)] > 0:
            surplus[canonical_json(item)] -= 1
            yield Finding(key_path((*path, index)), f"says {_outline(item)}, does not belong here")
    for item in right:
        if lacking[canonical_json(item)] > 0:
            lacking[canonical_json(item)] -= 1
            yield Finding(key_path(path), f"lacks {_outline(item)}")


def _outline(item: Any) -> str:
    """An object by those of its values that are text or numbers, in one line."""
    if not isinstance(item, Mapping):
        return shown(item)
    parts = [f"{key} {shown(value)}" for key, value in item.items() if not isinstance(value, Mapping | list)]
    return ", ".join(parts[:4]) or shown(item)


def _same(told: Any, right: Any) -> bool:
    """JSON has one type of number, and true is none of them."""
    numbers = [isinstance(value, int | float) and not isinstance(value, bool) for value in (told, right)]
    return told == right and (all(numbers) or type(told) is type(right))
