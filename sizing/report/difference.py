"""What `diff` found, in lines: why first, then units, then every figure that changed."""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

from sizing.plan.compared import NO_PLAN, Amount, Basis, Ordered
from sizing.plan.difference import Cause, Change, Difference, UnitChange, Why
from sizing.plan.reading import Scalar
from sizing.report.grid import Column, bullets, paragraph, table
from sizing.report.text import ENDED_EARLY, plural, share, visible
from sizing.units.amounts import GIB, MOST_DIGITS, percent

MOST_SHOWN = 200
"""Lines of a kind; the rest stand in the JSON."""

_SECTIONS = {
    "systems": "system",
    "gpus": "GPU",
    "models": "model",
    "precisions": "precision",
    "pods": "Pod",
    "engines": "engine",
    "bill_rules": "bill rules",
}
_UNITS = {"_kw": "kW", "_tokens": "tokens", "_usd": "USD", "_share": ""}
_NO_LINE = "none"


def difference_report(found: Difference) -> str:
    """The whole answer; one line where nothing differs."""
    names = f"{found.a.file} -> {found.b.file}"
    if found.is_identical:
        sections = [paragraph(f"{found.a.file} and {found.b.file} are identical: {_compared(found)}")]
    else:
        sections = [
            "\n".join(paragraph(line) for line in (names, *_headline(found))),
            _listed("Why", [_because(cause) for cause in found.causes] or list(_no_cause(found))),
            _units(found.units),
            _changes(found.changes),
        ]
        if found.elsewhere:
            sections.append(paragraph(f"Different too, without a figure: {', '.join(found.elsewhere)}"))
    sections.append(_listed("To know", list(_cautions(found))))
    return "\n\n".join(section for section in sections if section) + "\n"


def _compared(found: Difference) -> str:
    lines = plural(len(found.a.items), "line")
    return f"bills of {lines}" if found.of_bills else "plans, the order of classes left aside"


def _headline(found: Difference) -> Iterator[str]:
    """What is bought, before and after; of bills, how much of them differs."""
    if found.of_bills:
        yield f"bills: {plural(len(found.units), 'line')} of the bill of units changed"
        return
    yield f"{_bought(found.a.figures)} -> {_bought(found.b.figures)}"
    before, after = _kinds(found.a.figures), _kinds(found.b.figures)
    if before and after and before != after:
        yield f"the search chose other kinds of system: {', '.join(before)} -> {', '.join(after)}"


def _bought(figures: Mapping[tuple[str, str], Amount]) -> str:
    pods = figures.get(("Pods", "Pods in all"))
    if pods is None:
        return f"no plan ({_value(figures['standing', 'status'].value)})"
    systems = [
        f"{_value(amount.value)} x {name}" for (subject, name), amount in figures.items() if _is_kind(subject, name)
    ]
    gpus, power = figures["GPUs", "GPUs in all"], figures["power", "nameplate of the systems"]
    parts = [
        f"{_value(pods.value)} {'Pod' if pods.value == 1 else 'Pods'}",
        *systems,
        f"{_value(gpus.value)} GPUs",
        f"{_value(power.value)} kW nameplate",
    ]
    return ", ".join(parts)


def _kinds(figures: Mapping[tuple[str, str], Amount]) -> list[str]:
    return sorted(name for subject, name in figures if _is_kind(subject, name))


def _is_kind(subject: str, name: str) -> bool:
    return subject == "systems" and name != "systems in all"


def _because(cause: Cause) -> str:
    before, after = _written(cause.path, cause.before), _written(cause.path, cause.after)
    unit = f" {cause.unit}" if cause.unit and isinstance(cause.after, int | float) else _unit(cause)
    if cause.why is Why.SEARCH:
        return f"search: {'A' if cause.before is False else 'B'} alone {ENDED_EARLY}"
    return f"{cause.why}: {_place(cause)} {before} -> {after}{unit}{_source(cause)}"


def _place(cause: Cause) -> str:
    """`class chat: concurrency`, `system hgx-b300-8: nameplate_kw`."""
    keys = cause.path
    if cause.why is Why.VERSION:
        return "sizing"
    if cause.why is Why.CATALOG:
        _, _, section, name, *rest = keys
        return " ".join([_SECTIONS.get(section, section), name]) + (f": {'.'.join(rest)}" if rest else "")
    _, *rest = keys
    if rest and rest[0] in ("classes", "sites", "models") and len(rest) > 1:
        kind = {"classes": "class", "sites": "site", "models": "model"}[rest[0]]
        return f"{kind} {rest[1]}" + (f": {_key('.'.join(rest[2:]))}" if rest[2:] else "")
    return _key(".".join(rest[1:] if rest[0] == "policy" else rest))


def _key(key: str) -> str:
    """A key without its unit, which stands beside the value."""
    ending = next((ending for ending in _UNITS if key.endswith(ending)), "")
    return key.removesuffix(ending)


def _unit(cause: Cause) -> str:
    if cause.why not in (Why.INPUT, Why.POLICY) or not any(
        isinstance(value, int | float) for value in (cause.before, cause.after)
    ):
        return ""
    unit = next((unit for ending, unit in _UNITS.items() if cause.path[-1].endswith(ending)), "")
    return f" {unit}" if unit else ""


def _written(path: tuple[str, ...], value: Any) -> str:
    """A value of a request or a catalog in one line."""
    if value is None:
        return "not given"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        amount = Fraction(repr(value))
        return share(amount) if path[-1:] and path[-1].endswith("_share") else _value(amount)
    if isinstance(value, str):
        return value or "nothing"
    if isinstance(value, list):
        return f"[{', '.join(_written((), item) if not path else _written(path, item) for item in value)}]"
    if isinstance(value.get("title"), str):
        return str(value["title"])
    parts = [f"{key} {_written((key,), part)}" for key, part in value.items() if not isinstance(part, Mapping)]
    return f"{{{', '.join(parts)}}}"


def _source(cause: Cause) -> str:
    """Where a figure comes from: what both name in brief, else what one names alone."""
    before, after = cause.sources_before, cause.sources_after
    if before == after:
        more = f" and {len(before) - 1} more" if len(before) > 1 else ""
        return f" [source: {before[0]}{more}]" if before else ""
    gone = "; ".join(title for title in before if title not in after) or _NO_LINE
    new = "; ".join(title for title in after if title not in before) or _NO_LINE
    return f" [source: {gone} -> {new}]"


def _no_cause(found: Difference) -> Iterator[str]:
    if found.of_bills:
        yield "a bill does not tell what it rests on: compare two plans (`solve --json`) to see why"
        return
    yield "request, catalog and version are the same: a search that ends at another place, or a change by hand"


def _cautions(found: Difference) -> Iterator[str]:
    for name, side in (("A", found.a), ("B", found.b)):
        yield from _of_side(name, side.file, side.basis)


def _of_side(name: str, file: str, basis: Basis | None) -> Iterator[str]:
    if basis is None:
        return
    if not basis.untouched:
        yield f"{name} was changed since it was written: `sizing verify {file}` says what is wrong with it"
    if not basis.reproducible:
        yield f"{name} {ENDED_EARLY}: another run may come to another answer"


def _units(changes: tuple[UnitChange, ...]) -> str:
    """A table; kW and USD only where those of a changed line are known."""
    if not changes:
        return ""
    pairs = {
        "kW": [_both(change, lambda side: side.kw) for change in changes],
        "USD": [_both(change, lambda side: side.usd) for change in changes],
    }
    known = {heading: listed for heading, listed in pairs.items() if any(any(pair) for pair in listed)}
    columns = (
        *(Column(heading) for heading in ("bill of units", "part")),
        *(Column(heading, number=True) for heading in ("A", "B", "change")),
        Column("unit"),
        *(Column(f"{heading}, {side}", number=True) for heading in known for side in "AB"),
    )
    rows = [
        (*_unit_row(change), *(_known(amount) for listed in known.values() for amount in listed[number]))
        for number, change in enumerate(changes[:MOST_SHOWN])
    ]
    return table(columns, rows) + _more(len(changes))


def _unit_row(change: UnitChange) -> tuple[str, ...]:
    item = change.item
    quantities = _both(change, lambda side: side.quantity)
    return (
        item.group,
        ": ".join(part for part in (item.part, item.description) if part),
        *(map(_value, quantities)),
        _step(*quantities),
        item.unit,
    )


def _both(change: UnitChange, read: Callable[[Ordered], Fraction | None]) -> tuple[Fraction | None, Fraction | None]:
    before, after = change.before, change.after
    return None if before is None else read(before), None if after is None else read(after)


def _known(amount: Fraction | None) -> str:
    return _value(amount) if amount else ""


def _changes(changes: tuple[Change, ...]) -> str:
    if not changes:
        return ""
    columns = (
        Column("subject"),
        Column("figure"),
        *(Column(heading, number=True) for heading in ("A", "B", "change")),
        Column("unit"),
    )
    words = [change for change in changes if _is_worded(change)]
    rows = [(change.subject, change.name, *_measured(change)) for change in changes if change not in words]
    said = [_in_words(change) for change in words]
    shown = table(columns, rows[:MOST_SHOWN]) + _more(len(rows)) if rows else ""
    return "\n\n".join(part for part in (shown, _listed("In words", said[:MOST_SHOWN]) + _more(len(said))) if part)


def _in_words(change: Change) -> str:
    """A sentence stands in one of the two or in both: which, where it is one alone."""
    if change.subject == NO_PLAN and True in (change.before, change.after):
        return f"{'A' if change.after is None else 'B'} alone says {change.name}"
    return f"{change.subject}: {change.name} {_value(change.before)} -> {_value(change.after)}"


def _measured(change: Change) -> tuple[str, ...]:
    """Before, after, step and unit; bytes in GiB."""
    amounts, unit = _amounts(change), change.unit
    if unit == "bytes":
        amounts, unit = tuple(None if each is None else Fraction(round(each / GIB * 10), 10) for each in amounts), "GiB"
    return (*map(_value, amounts), _step(*amounts), unit)


def _is_worded(change: Change) -> bool:
    return any(isinstance(value, str | bool) for value in (change.before, change.after))


def _amounts(change: Change) -> tuple[Fraction | None, ...]:
    before, after = change.before, change.after
    return before if isinstance(before, Fraction) else None, after if isinstance(after, Fraction) else None


def _step(before: Fraction | None, after: Fraction | None) -> str:
    """`+12 (+4.0 %)`; what is not there counts nothing, and has no percentage."""
    step = (after or Fraction(0)) - (before or Fraction(0))
    sign = "+" if step >= 0 else "-"
    relative = f" ({sign}{percent(abs(step / before), 1)})" if before and after is not None else ""
    return f"{sign}{_value(abs(step))}{relative}"


def _value(value: Scalar) -> str:
    if value is None:
        return _NO_LINE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return value
    if value.denominator == 1:
        return f"{value.numerator:,}"
    return f"{float(value):,.{MOST_DIGITS}f}".rstrip("0").rstrip(".")


def _listed(heading: str, sentences: list[str]) -> str:
    if not sentences:
        return ""
    more = _more(len(sentences))
    return f"{heading}\n{bullets([visible(sentence) for sentence in sentences[:MOST_SHOWN]])}{more}"


def _more(count: int) -> str:
    return f"\nand {count - MOST_SHOWN:,} more" if count > MOST_SHOWN else ""
