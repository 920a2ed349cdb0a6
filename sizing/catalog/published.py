"""An entry as plain data for reports and JSON: numbers as numbers, each figure with its unit, sources written out."""

from collections.abc import Callable
from enum import Enum
from fractions import Fraction
from typing import Any

from sizing.catalog.border import Entry
from sizing.catalog.figures import UNITS, FigureEntry, SourceKey
from sizing.units.amounts import number

Resolve = Callable[[SourceKey], dict[str, Any]]


def published(entry: Entry, resolve: Resolve) -> dict[str, Any]:
    """`entry` as nested dict, list, text, number and None. `resolve` gives {title, address, date} of a source."""
    return {key: _plain(key, value, resolve) for key, value in entry if value not in ("", {}, ())}


def _plain(key: str, value: Any, resolve: Resolve) -> Any:
    """One value under `key`; keys without a unit of their own take that of the key around them."""
    match value:
        case FigureEntry():
            return _figure(key, value, resolve)
        case Entry():
            return {
                inner: _plain(inner if inner in UNITS else key, part, resolve)
                for inner, part in value
                if part not in ("", {}, (), None)
            }
        case SourceKey():
            return resolve(value)
        case dict():
            return {inner: _plain(inner if inner in UNITS else key, part, resolve) for inner, part in value.items()}
        case tuple():
            return [_plain(key, part, resolve) for part in value]
        case bool():
            return value
        case Enum():
            return value.value
        case Fraction() | int():
            return number(value)
    return value


def _figure(key: str, figure: FigureEntry[Any], resolve: Resolve) -> dict[str, Any]:
    plain = {name: _plain(name, part, resolve) for name, part in figure if part not in ("", None)}
    return {"value": plain.pop("value"), "unit": UNITS[key], **plain}


def source_keys(value: Any) -> set[SourceKey]:
    """Every source that an entry names."""
    match value:
        case SourceKey():
            return {value}
        case Entry():
            return {key for _, part in value for key in source_keys(part)}
        case dict():
            return {key for part in value.values() for key in source_keys(part)}
        case tuple():
            return {key for part in value for key in source_keys(part)}
    return set()
