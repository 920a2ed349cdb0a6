"""What is other in one plan or bill than in another, and why: input, policy, catalog, version, or the search itself."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Any

from sizing.plan.compared import Amount, Basis, Compared, Item, Ordered, in_order
from sizing.plan.reading import Scalar
from sizing.units.amounts import number

SCHEMA = "sizing.diff/1"
_ABSENT = Amount(None)


class Why(StrEnum):
    """Where the cause of a change lies."""

    INPUT = "input"
    POLICY = "policy"
    CATALOG = "catalog"
    VERSION = "version"
    SEARCH = "search"


@dataclass(frozen=True, slots=True)
class Change:
    """A figure that is another in B. None: not known, or not there."""

    subject: str
    name: str
    before: Scalar
    after: Scalar
    unit: str


@dataclass(frozen=True, slots=True)
class UnitChange:
    """A line of the bill whose quantity, kW or USD is another in B. None: the bill has no such line."""

    item: Item
    before: Ordered | None
    after: Ordered | None


@dataclass(frozen=True, slots=True)
class Cause:
    """What the two rest on and is another in B: values as JSON has them, None where there is none.

    `path` are the keys from the root of the document down; a class or site stands in it by its name. `sources` are
    titles, of a figure of a catalog.
    """

    why: Why
    path: tuple[str, ...]
    before: Any
    after: Any
    unit: str = ""
    sources_before: tuple[str, ...] = ()
    sources_after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """B beside A. `elsewhere` are keys of the documents that differ too, and that no figure stands for."""

    a: Compared
    b: Compared
    units: tuple[UnitChange, ...]
    changes: tuple[Change, ...]
    causes: tuple[Cause, ...]
    elsewhere: tuple[str, ...]

    @property
    def is_identical(self) -> bool:
        """Whether nothing differs, but for the order of what has names."""
        return not (self.units or self.changes or self.causes or self.elsewhere)

    @property
    def of_bills(self) -> bool:
        """Whether units and totals alone were compared, as one of the two is a bill."""
        return self.a.basis is None or self.b.basis is None


def difference(a: Compared, b: Compared) -> Difference:
    """What is other in `b` than in `a`; where one of them is a bill, both are compared as bills."""
    if a.basis is None or b.basis is None:
        a, b = a.as_bill, b.as_bill
    causes: tuple[Cause, ...] = ()
    elsewhere: tuple[str, ...] = ()
    if a.basis is not None and b.basis is not None:
        causes = tuple(_causes(a.basis, b.basis))
        elsewhere = tuple(
            key for key in _either(a.basis.others, b.basis.others) if a.basis.others.get(key) != b.basis.others.get(key)
        )
    return Difference(a, b, tuple(_units(a, b)), tuple(_changes(a, b)), causes, elsewhere)


def difference_document(found: Difference) -> dict[str, Any]:
    """The JSON form of a difference."""
    return {
        "schema": SCHEMA,
        "a": _side(found.a),
        "b": _side(found.b),
        "compared": "bills" if found.of_bills else "plans",
        "identical": found.is_identical,
        "why": [_cause(cause) for cause in found.causes],
        "units": [_unit_change(change) for change in found.units],
        "changes": [
            {
                "subject": change.subject,
                "name": change.name,
                "before": _plain(change.before),
                "after": _plain(change.after),
                "unit": change.unit,
            }
            for change in found.changes
        ],
        "elsewhere": list(found.elsewhere),
    }


def _units(a: Compared, b: Compared) -> Iterator[UnitChange]:
    """Group by group, in the order in which they first come."""
    items = _either(a.items, b.items)
    groups = list(dict.fromkeys(item.group for item in items))
    for item in sorted(items, key=lambda each: groups.index(each.group)):
        before, after = a.items.get(item), b.items.get(item)
        if before != after:
            yield UnitChange(item, before, after)


def _changes(a: Compared, b: Compared) -> Iterator[Change]:
    """Subject by subject, in the order in which they first come."""
    names = _either(a.figures, b.figures)
    subjects = list(dict.fromkeys(subject for subject, _ in names))
    for subject, name in sorted(names, key=lambda each: subjects.index(each[0])):
        before, after = a.figures.get((subject, name), _ABSENT), b.figures.get((subject, name), _ABSENT)
        if before.value != after.value:
            yield Change(subject, name, before.value, after.value, after.unit or before.unit)


def _causes(a: Basis, b: Basis) -> Iterator[Cause]:
    yield from _of_request(a, b)
    yield from _of_catalog(a, b)
    if a.version != b.version:
        yield Cause(Why.VERSION, ("version",), a.version, b.version)
    if a.reproducible != b.reproducible:
        yield Cause(Why.SEARCH, ("reproducible",), a.reproducible, b.reproducible)


def _of_request(a: Basis, b: Basis) -> Iterator[Cause]:
    for path, before, after in _differing(a.request, b.request, ("request",)):
        if path[1:2] == ("classes",) and path[-1] == "demand":
            continue  # follows from concurrency and headroom
        yield Cause(Why.POLICY if path[1] == "policy" else Why.INPUT, path, before, after)


def _of_catalog(a: Basis, b: Basis) -> Iterator[Cause]:
    """Figures of entries that both use; entries that one uses alone only where the request does not say why."""
    same_request = in_order(a.request) == in_order(b.request)
    for section in _either(a.entries, b.entries):
        ours, theirs = _mapping(a.entries.get(section)), _mapping(b.entries.get(section))
        for name in _either(ours, theirs):
            path = ("catalog", "entries", section, name)
            if name in ours and name in theirs:
                yield from _figures(ours[name], theirs[name], path)
            elif same_request:
                yield Cause(Why.CATALOG, path, ours.get(name), theirs.get(name))


def _figures(before: Any, after: Any, path: tuple[str, ...]) -> Iterator[Cause]:
    """Figure by figure: a figure has a value and sources, told by their titles. All else is compared part by part."""
    if before == after:
        return
    if _is_figure(before) and _is_figure(after):
        units = dict.fromkeys(str(figure["unit"]) for figure in (before, after) if figure.get("unit"))
        sources = _titles(before), _titles(after)
        if before["value"] != after["value"] or len(units) > 1:
            yield Cause(Why.CATALOG, path, before["value"], after["value"], " -> ".join(units), *sources)
        elif sources[0] != sources[1]:
            yield Cause(Why.CATALOG, (*path, "sources"), [*sources[0]], [*sources[1]])
        for key in _either(before, after):
            if key not in ("value", "unit", "source", "sources") and before.get(key) != after.get(key):
                yield Cause(Why.CATALOG, (*path, key), before.get(key), after.get(key))
    elif isinstance(before, Mapping) and isinstance(after, Mapping):
        for key in _either(before, after):
            yield from _figures(before.get(key), after.get(key), (*path, key))
    else:
        yield Cause(Why.CATALOG, path, before, after)


def _is_figure(node: Any) -> bool:
    return isinstance(node, Mapping) and "value" in node and ("sources" in node or "source" in node)


def _titles(figure: Mapping[str, Any]) -> tuple[str, ...]:
    listed = figure.get("sources", figure.get("source"))
    items = listed if isinstance(listed, list) else [listed]
    return tuple(str(item.get("title") if isinstance(item, Mapping) else item) for item in items if item is not None)


def _differing(before: Any, after: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any, Any]]:
    """Every value that is another, deep down; what a list holds by name is looked up by it."""
    ours, theirs = _by_name(before), _by_name(after)
    if ours is not None and theirs is not None:
        for key in _either(ours, theirs):
            yield from _differing(ours.get(key), theirs.get(key), (*path, key))
    elif before != after:
        yield path, before, after


def _by_name(value: Any) -> Mapping[str, Any] | None:
    if isinstance(value, Mapping):
        return value
    if isinstance(value, list) and value and all(isinstance(item, Mapping) and "name" in item for item in value):
        return {str(item["name"]): item for item in value}
    return None


def _either(ours: Iterable[Any], theirs: Iterable[Any]) -> list[Any]:
    """Keys of both, in the order of A, then what B alone has."""
    return list(dict.fromkeys((*ours, *theirs)))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _side(side: Compared) -> dict[str, Any]:
    basis = side.basis
    told = {"file": side.file, "kind": "bill" if basis is None else "plan"}
    return told if basis is None else told | {"untouched": basis.untouched, "reproducible": basis.reproducible}


def _cause(cause: Cause) -> dict[str, Any]:
    told: dict[str, Any] = {
        "why": cause.why.value,
        "path": list(cause.path),
        "before": cause.before,
        "after": cause.after,
    }
    if cause.sources_before or cause.sources_after:
        told |= {"unit": cause.unit, "sources": {"before": [*cause.sources_before], "after": [*cause.sources_after]}}
    return told


def _unit_change(change: UnitChange) -> dict[str, Any]:
    item = change.item
    return {
        "group": item.group,
        "manufacturer": item.manufacturer,
        "part": item.part,
        "description": item.description,
        "unit": item.unit,
        "before": _ordered(change.before),
        "after": _ordered(change.after),
    }


def _ordered(ordered: Ordered | None) -> dict[str, Any] | None:
    if ordered is None:
        return None
    return {"quantity": _plain(ordered.quantity), "kw": _plain(ordered.kw), "usd": _plain(ordered.usd)}


def _plain(value: Scalar) -> Any:
    return number(value) if isinstance(value, Fraction) else value
