"""What of a plan document or of a bill is compared with another: figures by name, units, and what they rest on."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sizing.plan.document import SCHEMA, is_untouched
from sizing.plan.plan import Status
from sizing.plan.reading import Reader, Scalar
from sizing.units.amounts import in_whole_units
from sizing.units.errors import BadInput

Named = tuple[str, str]
"""(subject, name): `("tokens", "committed")`."""


@dataclass(frozen=True, slots=True)
class Amount:
    """A figure; text, true and false, and what is not known (None) have no unit."""

    value: Scalar
    unit: str = ""


@dataclass(frozen=True, slots=True, order=True)
class Item:
    """What makes two lines of a bill the same line."""

    group: str
    manufacturer: str
    part: str
    description: str
    unit: str


@dataclass(frozen=True, slots=True)
class Ordered:
    """How much of an item is to order, spares included, its kW and USD in all; None where that is unknown."""

    quantity: Fraction
    kw: Fraction | None
    usd: Fraction | None

    def __add__(self, more: "Ordered") -> "Ordered":
        return Ordered(
            self.quantity + more.quantity,
            None if self.kw is None or more.kw is None else self.kw + more.kw,
            None if self.usd is None or more.usd is None else self.usd + more.usd,
        )


@dataclass(frozen=True, slots=True)
class Basis:
    """What a plan rests on, as its document tells it. `others` are parts of it that no figure stands for."""

    request: Mapping[str, Any]
    entries: Mapping[str, Any]
    version: str
    reproducible: bool
    untouched: bool
    others: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Compared:
    """One side of a comparison. `basis` None: a bill, which tells nothing of what it rests on."""

    file: str
    figures: Mapping[Named, Amount]
    items: Mapping[Item, Ordered]
    basis: Basis | None = None

    @property
    def as_bill(self) -> "Compared":
        """Its units and their sums alone."""
        return bill(self.file, self.items.items())


def bill(file: str, lines: Iterable[tuple[Item, Ordered]]) -> Compared:
    """A bill from its lines, in any order; equal items are added up."""
    items: dict[Item, Ordered] = {}
    for item, ordered in lines:
        items[item] = items[item] + ordered if item in items else ordered
    known_kw = [each.kw for each in items.values() if each.kw is not None]
    known_usd = [each.usd for each in items.values() if each.usd is not None]
    figures = {
        ("totals", "power of all lines where it is known"): Amount(sum(known_kw, Fraction(0)), "kW"),
        ("totals", "price of all lines where it is known"): Amount(sum(known_usd, Fraction(0)), "USD"),
        ("totals", "lines of unknown power"): Amount(Fraction(len(items) - len(known_kw)), "lines"),
        ("totals", "lines without a price"): Amount(Fraction(len(items) - len(known_usd)), "lines"),
    }
    return Compared(file, figures, items)


def plan(tree: Any, file: str) -> Compared:
    """A plan document, of an answer without a plan too, from its JSON. Raises BadInput with all that makes it none."""
    root = Reader(tree, file)
    schema = root.key("schema")
    if schema.value != SCHEMA:
        schema.refuse("is no plan document", SCHEMA)
        raise BadInput(*root.problems)
    figures: dict[Named, Amount] = {}
    for subject, name, amount in _figures(root):
        figures.setdefault((subject, name), amount)
    items = bill(file, map(_line, root.key("bill").items())).items
    basis = Basis(
        request=root.key("request").mapping(),
        entries=root.key("catalog").key("entries").mapping(),
        version=root.key("version").text(),
        reproducible=root.key("reproducible").flag(),
        untouched=not root.problems and is_untouched(root.mapping()),
        others={key: in_order(value) for key, value in root.mapping().items() if key not in SHOWN}
        | {"objective": [_unproven(stage) for stage in root.key("objective").items()]},
    )
    if root.problems:
        raise BadInput(*dict.fromkeys(root.problems))
    return Compared(file, figures, items, basis)


SHOWN = frozenset(
    {
        *("schema", "status", "reasons", "relaxations", "partial", "pods", "systems", "to_buy", "totals", "tokens"),
        *("memory", "limits", "bill", "reproducible", "request", "catalog", "version", "objective"),
        *("input_sha256", "sha256", "content_sha256"),
    }
)
"""Keys of a document that are compared figure by figure, and hashes."""

_NUMBERED = ("name", "id")


def in_order(value: Any) -> Any:
    """A value of a document in an order that its kind gives: what has a name by that, sets of sentences by themselves.

    The order in which a workload lists its classes is no difference. `59.0` is 59.
    """
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {key: in_order(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        items = [in_order(item) for item in value]
        for key in _NUMBERED:
            if items and all(isinstance(item, Mapping) and isinstance(item.get(key), str) for item in items):
                return sorted(items, key=lambda item: str(item[key]))
        if all(isinstance(item, str) for item in items):
            return sorted(items)
        if all(isinstance(item, Mapping) for item in items):
            return sorted(items, key=repr)
        return items
    return value


NO_PLAN = "no plan"
"""The subject of what the document of an answer without a plan tells."""

_Found = Iterator[tuple[str, str, Amount]]

_TOTALS = {
    "pods": ("Pods", "Pods in all", "Pods"),
    "systems": ("systems", "systems in all", "systems"),
    "domains": ("GPUs", "scale-up domains", "domains"),
    "gpus": ("GPUs", "GPUs in all", "GPUs"),
    "idle_gpus": ("GPUs", "GPUs in no replica", "GPUs"),
    "stranded_slots": ("GPUs", "stranded slots", "slots"),
    "free_slots": ("GPUs", "free slots", "slots"),
    "nameplate_kw": ("power", "nameplate of the systems", "kW"),
    "balance_kw": ("power", "balance of plant", "kW"),
    "liquid_kw": ("heat", "systems, to liquid", "kW"),
    "air_kw": ("heat", "systems, to air", "kW"),
    "balance_liquid_kw": ("heat", "balance of plant, to liquid", "kW"),
    "balance_air_kw": ("heat", "balance of plant, to air", "kW"),
    "cost_usd": ("cost", "cost, prices at their high end", "USD"),
    "cost_low_usd": ("cost", "cost, prices at their low end", "USD"),
}
"""Keys of `totals` as they are compared: subject, name, unit."""


def _figures(root: Reader) -> _Found:
    status = root.key("status")
    if status.text() not in {*map(str, Status)}:
        status.refuse("is no status", ", ".join(Status))
    yield "standing", "status", Amount(status.text())
    yield from _no_plan(root)
    for stage in root.key("objective").items():
        yield _stage(stage)
    totals = root.key("totals")
    if not totals.is_null:
        for key, (subject, name, unit) in _TOTALS.items():
            yield subject, name, Amount(totals.key(key).scalar(), unit)
    for filled in root.key("pods").items():
        systems = (f"{count.whole():,} x {name}" for name, count in sorted(filled.key("fill").entries()))
        contents = " + ".join(systems) or "nothing"
        place = f"at {filled.key('site').text()} with {contents}"
        yield "Pods", place, Amount(filled.key("count").scalar(), "Pods")
    for name, count in root.key("systems").entries():
        yield "systems", name, Amount(count.scalar(), "systems")
    yield from _to_buy(root.key("to_buy"))
    yield from _tokens(root.key("tokens"))
    memory = root.key("memory")
    if not memory.is_null:
        for name, size in memory.entries():
            yield "memory", f"HBM {name}", Amount(size.scalar(), "bytes")
    for served in root.key("classes").items():
        yield from _class(served)
    for limit in root.key("limits").items():
        yield from _limit(limit)
    for planned in root.key("deployments").items():
        yield "replicas", planned.key("id").text(), Amount(planned.key("replicas").scalar(), "replicas")


def _stage(stage: Reader) -> tuple[str, str, Amount]:
    """The value of a stage of the objective, steps such as `0.1 kW` in kW."""
    value = stage.key("value").scalar()
    step, unit = in_whole_units(stage.key("unit").text())
    counted = value * step if isinstance(value, Fraction) else value
    return "stages", stage.key("stage").text(), Amount(counted, unit)


def _unproven(stage: Reader) -> Any:
    """What a stage has beside its value: nothing where that is proven."""
    told = stage.mapping()
    if told.get("bound") == told.get("value"):
        return told.get("stage")
    return in_order({key: told.get(key) for key in ("stage", "bound", "conditional")})


def _no_plan(root: Reader) -> _Found:
    """What the document of an answer without a plan has beside."""
    found = root.mapping()
    if "reasons" in found:
        for reason in root.key("reasons").items():
            yield NO_PLAN, f"why there is none: {reason.text()}", Amount(True)
    if "relaxations" in found:
        for change in root.key("relaxations").items():
            site = change.key("site").scalar()
            where = "" if site is None else f" at {site}"
            name = f"option {change.key('option').whole()}: {change.key('limit').text()}{where}"
            yield NO_PLAN, name, Amount(change.key("needed").scalar(), change.key("unit").text())
    if found.get("partial") is not None:
        partial = root.key("partial")
        yield NO_PLAN, "share of every class that fits", Amount(partial.key("share").scalar())
        for key, unit in (("pods", "Pods"), ("gpus", "GPUs"), ("nameplate_kw", "kW")):
            yield NO_PLAN, f"{unit} of what fits", Amount(partial.key(key).scalar(), unit)
        for name, count in partial.key("systems").entries():
            yield NO_PLAN, f"{name} of what fits", Amount(count.scalar(), "systems")


def _to_buy(to_buy: Reader) -> _Found:
    if not to_buy.is_null:
        yield "to buy", "Pods", Amount(to_buy.key("pods").scalar(), "Pods")
        for name, count in to_buy.key("systems").entries():
            yield "to buy", name, Amount(count.scalar(), "systems")


def _tokens(tokens: Reader) -> _Found:
    if tokens.is_null:
        return
    for key in ("committed", "spare", "capacity"):
        yield "tokens", key, Amount(tokens.key(key).scalar(), "tokens")
    for model, count in tokens.key("by_model").entries():
        for key in ("committed", "spare"):
            yield "tokens", f"{key} of {model}", Amount(count.key(key).scalar(), "tokens")


def _class(served: Reader) -> _Found:
    name = served.key("name").text()
    yield "sequences", f"{name}: asked for", Amount(served.key("demand").scalar(), "sequences")
    precision = served.key("precision")
    pairs = [precision] if isinstance(precision.value, Mapping) else precision.items()
    told = sorted(f"{pair.key('weights').text()} weights, {pair.key('kv_precision').text()} KV" for pair in pairs)
    yield "precisions", name, Amount(" and ".join(told))


def _limit(limit: Reader) -> _Found:
    site = limit.key("site").scalar()
    name = limit.key("name").text() + ("" if site is None else f" at {site}")
    unit = limit.key("unit").text()
    yield "limits", f"{name}: used", Amount(limit.key("used").scalar(), unit)
    yield "limits", f"{name}: allowed", Amount(limit.key("limit").scalar(), unit)
    yield "limits", f"{name}: binds", Amount(limit.key("binding").flag())


def _line(line: Reader) -> tuple[Item, Ordered]:
    item = Item(*(line.key(key).text() for key in ("group", "manufacturer", "part", "description", "unit")))
    return item, Ordered(
        Fraction(line.key("ordered").whole()), _known(line.key("total_kw")), _known(line.key("total_usd"))
    )


def _known(amount: Reader) -> Fraction | None:
    value = amount.scalar()
    if isinstance(value, str | bool):
        amount.refuse("is of the wrong type", "a number or null")
        return None
    return value
