"""The figures behind a plan with their sources, read from the catalog entries that its request carries."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

from sizing.report.reported import Reported
from sizing.report.text import UNKNOWN

Entries = Mapping[str, Mapping[str, Any]]

WHOLE_ENTRY = "the whole entry"
ORDER = ("systems", "gpus", "models", "precisions", "pods", "bill_rules")
_REMARKS = ("basis", "finding", "weight", "note", "remark")


@dataclass(frozen=True, slots=True)
class Source:
    """Where a figure was published. Empty where the catalog says nothing."""

    title: str
    address: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True)
class SourcedFigure:
    """One figure of a catalog entry. `value`, `low` and `high` are numbers, text or None, as the entry has them.

    `remark` is its basis and note, a finding and its weight, or why the figure is unknown.
    """

    section: str
    entry: str
    figure: str
    value: Any = None
    unit: str = ""
    low: Any = None
    high: Any = None
    confidence: str = ""
    date: str = ""
    remark: str = ""
    sources: tuple[Source, ...] = ()


def entries_in_plan(reported: Reported) -> Entries:
    """Of the catalog entries that a request carries, those of what its plan buys and runs."""
    plan = reported.plan
    kinds = {system.name: system for system in plan.request.candidates}
    bought = [kinds[name] for name, _ in plan.systems]
    deployments = [planned.deployment for planned in plan.deployments]
    in_plan = {
        "systems": {system.name for system in bought},
        "gpus": {system.gpu.name for system in bought},
        "models": {deployment.model.name for deployment in deployments},
        "precisions": {deployment.kv_precision.name for deployment in deployments},
    }
    parts = {(line.part, line.description) for line in reported.bill}
    return {
        section: {
            name: _lines_in_bill(entry, parts) if section == "bill_rules" else entry
            for name, entry in entries.items()
            if name in in_plan.get(section, entries)
        }
        for section, entries in plan.request.entries.items()
    }


def _lines_in_bill(entry: Mapping[str, Any], parts: Set[tuple[str, str]]) -> Mapping[str, Any]:
    """A rule set without the lines that count nothing in this plan."""
    lines = entry.get("lines", {})
    counted = {key: line for key, line in lines.items() if (line.get("part"), line.get("description")) in parts}
    return {**entry, "lines": counted}


def sourced_figures(entries: Entries) -> Iterator[SourcedFigure]:
    """Every figure, finding and sourced statement of every entry, and what is missing, in the order of the entries."""
    for section in sorted(entries, key=_place):
        for name in sorted(entries[section]):
            yield from _figures(section, name, "", entries[section][name])


def _figures(section: str, name: str, path: str, node: Any) -> Iterator[SourcedFigure]:
    if isinstance(node, Mapping):
        if "sources" in node or "source" in node:
            yield _figure(section, name, path, node)
        for key, part in node.items():
            if key == "missing" and isinstance(part, Mapping):
                for lacking, why in part.items():
                    yield SourcedFigure(section, name, _joined(path, lacking), UNKNOWN, remark=str(why))
            elif key not in ("sources", "source"):
                yield from _figures(section, name, _joined(path, key), part)
    elif isinstance(node, Sequence) and not isinstance(node, str):
        if node and all(isinstance(part, Mapping) and "address" in part for part in node):
            yield SourcedFigure(section, name, path, sources=tuple(map(_source, node)))
        else:
            for position, part in enumerate(node, start=1):
                yield from _figures(section, name, f"{path} {position}", part)


def _place(section: str) -> tuple[int, str]:
    return ORDER.index(section) if section in ORDER else len(ORDER), section


def _joined(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _figure(section: str, name: str, path: str, node: Mapping[str, Any]) -> SourcedFigure:
    low, high = node.get("range") or (None, None)
    return SourcedFigure(
        section=section,
        entry=name,
        figure=": ".join(part for part in (path, node.get("verdict")) if part) or WHOLE_ENTRY,
        value=node.get("value"),
        unit=str(node.get("unit") or "") if "value" in node else "",
        low=low,
        high=high,
        confidence=str(node.get("confidence") or ""),
        date=str(node.get("date") or ""),
        remark="; ".join(str(node[key]) for key in _REMARKS if node.get(key)),
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
