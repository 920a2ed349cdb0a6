"""The figures behind a plan with their sources, read from the catalog entries that its request carries."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Entries = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Source:
    """Where a figure was published. Empty where the catalog says nothing."""

    title: str
    address: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True)
class SourcedFigure:
    """One figure of a catalog entry. `value`, `low` and `high` are numbers, text or None, as the entry has them."""

    section: str
    entry: str
    figure: str
    value: Any
    unit: str
    low: Any
    high: Any
    confidence: str
    basis: str
    date: str
    note: str
    sources: tuple[Source, ...]


def sourced_figures(entries: Entries) -> Iterator[SourcedFigure]:
    """Every figure of every entry, in order of section, entry and key."""
    for section in sorted(entries):
        for name in sorted(entries[section]):
            yield from _figures(section, name, "", entries[section][name])


def _figures(section: str, name: str, path: str, node: Any) -> Iterator[SourcedFigure]:
    if isinstance(node, Mapping):
        if "sources" in node or "source" in node:
            yield _figure(section, name, path, node)
        for key in sorted(node):
            if key not in ("sources", "source"):
                yield from _figures(section, name, f"{path}.{key}" if path else str(key), node[key])
    elif isinstance(node, Sequence) and not isinstance(node, str):
        for position, part in enumerate(node):
            yield from _figures(section, name, f"{path}[{position}]", part)


def _figure(section: str, name: str, path: str, node: Mapping[str, Any]) -> SourcedFigure:
    low, high = node.get("range") or (None, None)
    return SourcedFigure(
        section=section,
        entry=name,
        figure=path,
        value=node.get("value"),
        unit=str(node.get("unit") or ""),
        low=low,
        high=high,
        confidence=str(node.get("confidence") or ""),
        basis=str(node.get("basis") or ""),
        date=str(node.get("date") or ""),
        note=str(node.get("note") or ""),
        sources=sources_of(node),
    )


def sources_of(node: Mapping[str, Any]) -> tuple[Source, ...]:
    """The sources of a figure or finding: under `sources` a list, under `source` a single one."""
    listed = node.get("sources", node.get("source")) or ()
    if isinstance(listed, str | Mapping):
        listed = (listed,)
    return tuple(_source(source) for source in listed)


def _source(source: Any) -> Source:
    if isinstance(source, Mapping):
        return Source(*(str(source.get(key) or "") for key in ("title", "address", "date")))
    return Source(str(source))
