"""What the page draws, as data: bars of parts, each a share of the bar; the template lays them out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sizing.plan.plan import Plan, PlannedDeployment
from sizing.report.pod_use import PodUse, pod_uses
from sizing.report.text import amount, plural
from sizing.units.amounts import gb, kw, percent, thousands

COLOURS = {
    "weights": "#33485e",
    "reserve": "#6a7380",
    "committed": "#0f6b63",
    "spare": "#9fd3cb",
    "remainder": "#8a5300",
    "idle": "#dfe4ea",
    "system-0": "#0f6b63",
    "system-1": "#2550a8",
    "system-2": "#8a5300",
    "system-3": "#6b2f86",
    "balance": "#6a7380",
    "free": "#dfe4ea",
    "stranded": "#f0b7b0",
    "used": "#0f6b63",
    "binding": "#8a5300",
}
"""Of a kind of part. White text on the dark ones, black on the light ones: contrast of at least 4.5 (WCAG 2, AA)."""

LIGHT = frozenset({"spare", "idle", "free", "stranded"})

WIDTH = 1000
"""Of a bar, in units of its drawing."""

_CHARACTER, _CHARACTER_OF_HALF = 9, 23
"""Units that a character of a part's label takes, in a bar over the page and in one over half of it."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a bar from `start` on; `kind` picks its colour. `label` is empty where it does not fit."""

    kind: str
    name: str
    start: float
    width: float
    label: str
    title: str


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar with its name, a remark on what it is, and in one sentence what it shows."""

    name: str
    remark: str
    parts: tuple[Part, ...]
    said: str


@dataclass(frozen=True, slots=True)
class PodBars:
    """Equal Pods, drawn once: their GPU slots, and their power."""

    name: str
    contents: str
    slots: Bar
    power: Bar


def _bar(
    name: str,
    remark: str,
    whole: Fraction | int,
    parts: Sequence[tuple[str, str, Fraction | int, str]],
    character: int = _CHARACTER,
) -> Bar:
    """`parts` are (kind, name, amount, amount in words); their amounts add up to `whole` at most."""
    drawn = []
    start = Fraction(0)
    for kind, part, size, words in parts:
        width = Fraction(size) / whole * WIDTH if whole else Fraction(0)
        label = next((text for text in (f"{part} {words}", words) if len(text) * character < width), "")
        if width:
            drawn.append(Part(kind, part, round(float(start), 2), round(float(width), 2), label, f"{part}: {words}"))
        start += width
    said = f"{name}: " + ", ".join(f"{part.title}" for part in drawn)
    return Bar(name, remark, tuple(drawn), said)


def budget_bars(plan: Plan) -> tuple[Bar, ...]:
    """HBM of one GPU: of all on average, then of each deployment's."""
    memory, gpus = plan.memory, plan.totals.gpus
    parts = [
        (name, name, size, percent(Fraction(size, memory.bought), 1) if memory.bought else "")
        for name, size in (
            ("weights", memory.weights),
            ("reserve", memory.reserve),
            ("committed", memory.committed),
            ("spare", memory.spare),
            ("remainder", memory.remainder),
            ("idle", memory.idle),
        )
    ]
    each = Fraction(memory.bought, gpus) if gpus else Fraction(0)
    average = _bar("All GPUs, on average", f"{thousands(gpus)} GPUs, {gb(each, 0)} each", memory.bought, parts)
    contexts = {service.name: service.context for service in plan.request.classes}
    return (average, *(_of_deployment(number, planned, contexts) for number, planned in _numbered(plan)))


def _numbered(plan: Plan) -> Iterator[tuple[int, PlannedDeployment]]:
    yield from enumerate(plan.deployments, start=1)


def _of_deployment(number: int, planned: PlannedDeployment, contexts: dict[str, int]) -> Bar:
    """Over all its pools; what is free is spare but for less than one token a pool."""
    deployment, budget = planned.deployment, planned.deployment.budget
    committed = sum(
        pattern.count * held * deployment.sequence_bytes(contexts[name])
        for pattern in planned.patterns
        for name, held in pattern.sequences
    )
    pools, whole = planned.pools, planned.pools * budget.hbm_bytes
    sizes = {
        "weights": pools * budget.weight_bytes,
        "reserve": pools * budget.reserve_bytes,
        "committed": committed,
        "spare": pools * budget.kv_bytes - committed,
    }
    parts = [(name, name, size, percent(Fraction(size, whole), 1)) for name, size in sizes.items()]
    remark = f"{plural(planned.gpus, 'GPU')} of {deployment.system.name}"
    return _bar(f"#{number} {deployment.model.name}", remark, whole, parts)


def class_bars(plan: Plan) -> tuple[Bar, ...]:
    """Tokens that each class asks for, beside the most that one does."""
    contexts = {service.name: service.context for service in plan.request.classes}
    tokens = {served.name: served.served * contexts[served.name] for served in plan.classes}
    most = max(tokens.values(), default=0)
    return tuple(
        _bar(
            served.name,
            f"{thousands(served.served)} x {thousands(contexts[served.name])} tokens",
            most,
            [("committed", "tokens", tokens[served.name], thousands(tokens[served.name]))],
        )
        for served in plan.classes
    )


def pod_bars(plan: Plan) -> tuple[PodBars, ...]:
    """Equal Pods once, with their number; systems of a kind have one colour in all of them."""
    kinds = {name: f"system-{number % 4}" for number, (name, _) in enumerate(plan.systems)}
    several = len(plan.request.sites) > 1
    return tuple(_pod(use, kinds, several) for use in pod_uses(plan))


def _pod(use: PodUse, kinds: dict[str, str], name_site: bool) -> PodBars:
    count = use.last - use.first + 1
    where = f" at {use.site.name}" if name_site else ""
    slots = [
        *(
            (kinds[system.name], system.name, system.gpus * number, str(system.gpus * number))
            for system, number in use.systems
        ),
        ("free", "free", use.free_slots, thousands(use.free_slots)),
        ("stranded", "stranded", use.stranded_slots, thousands(use.stranded_slots)),
    ]
    available, balance = use.pod.it_power_kw, use.filled.fill.balance.kw
    left = max(Fraction(0), available - use.systems_kw - balance)
    drawn = [
        ("system-0", "systems", use.systems_kw, kw(use.systems_kw)),
        ("balance", "balance of plant", balance, kw(balance)),
        ("free", "not used", left, kw(left)),
    ]
    return PodBars(
        f"{use.numbers}{where}" + (f", {thousands(count)} alike" if count > 1 else ""),
        use.contents or "nothing",
        _bar("GPU slots", f"{use.slots} slots", use.slots, slots, _CHARACTER_OF_HALF),
        _bar("Power", f"{kw(available)} for IT", max(available, use.systems_kw + balance), drawn, _CHARACTER_OF_HALF),
    )


def limit_bars(plan: Plan) -> tuple[Bar | None, ...]:
    """How much of every limit is used; None where there is none to use."""
    return tuple(
        None
        if not limit.limit
        else _bar(
            limit.name.replace("_", " ") + (f" at {limit.site}" if limit.site else ""),
            f"{amount(limit.used)} of {amount(limit.limit)} {limit.unit}" + (", binds" if limit.binding else ""),
            max(limit.limit, limit.used),
            [("binding" if limit.binding else "used", "used", limit.used, percent(limit.used / limit.limit))],
        )
        for limit in plan.limits
    )
