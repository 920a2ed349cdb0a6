"""A plan as tables: the figures of its JSON, one pandas data frame a subject, each column with one type.

pandas is imported when a table is asked for, and by no command. A table has the same columns and types whatever the
plan, empty or not: counts, bytes and tokens `int64` (`Int64` where one may be missing), kW and shares `float64` (NaN:
unknown, or no limit), names `string`, flags `bool` (`boolean` where one may be missing). Ranges are first and
last, counted from 1.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sizing.plan.bill import bill_of_units
from sizing.plan.plan import Memory, Plan, Setting, Totals
from sizing.units.amounts import number
from sizing.units.errors import BadInput, Problem, shown
from sizing.units.names import nearest

if TYPE_CHECKING:
    from pandas import DataFrame, Series

Row = Sequence[Any]

WHOLE, MAYBE_WHOLE, REAL, TEXT, FLAG, MAYBE_FLAG = "int64", "Int64", "float64", "string", "bool", "boolean"


@dataclass(frozen=True, slots=True)
class Table:
    """`columns` are (name, type); `rows` gives the values of each row in their order."""

    columns: Mapping[str, str]
    rows: Callable[[Plan], Iterable[Row]]


def data_frame(plan: Plan, name: str) -> "DataFrame":
    """The table of that name, of `TABLES`. Raises BadInput for another, with the nearest."""
    if name not in TABLES:
        raise BadInput(Problem("no such table", "", None, None, shown(name), ", ".join(TABLES), nearest(name, TABLES)))
    from pandas import DataFrame

    table = TABLES[name]
    rows = [tuple(map(_plain, row)) for row in table.rows(plan)]
    columns = zip(*rows, strict=True) if rows else ((),) * len(table.columns)
    return DataFrame(
        {column: _series(values, kind) for (column, kind), values in zip(table.columns.items(), columns, strict=True)}
    )


def data_frames(plan: Plan) -> "dict[str, DataFrame]":
    """Every table by its name."""
    return {name: data_frame(plan, name) for name in TABLES}


def _series(values: Sequence[Any], kind: str) -> "Series[Any]":
    """A column; whole numbers beyond 64 bits stay Python's."""
    from pandas import Series

    wide = kind in (WHOLE, MAYBE_WHOLE) and any(value is not None and abs(value) >= 2**63 for value in values)
    return Series(list(values), dtype="object" if wide else kind)


def _plain(value: Any) -> Any:
    return number(value) if isinstance(value, Fraction) else value


def _objective(plan: Plan) -> Iterator[Row]:
    for stage in plan.stages:
        yield stage.stage, stage.value, stage.unit, stage.bound, stage.gap, stage.conditional


def _pods(plan: Plan) -> Iterator[Row]:
    """One row a kind of system that may stand in these Pods, one without where none is planned.

    Pods are counted within their site.
    """
    last: dict[str, int] = {}
    for filled in plan.pods:
        first = last.get(filled.site, 0) + 1
        last[filled.site] = first - 1 + filled.count
        standing = dict(filled.systems)
        for system, planned in filled.fill.systems or ((None, 0),):
            span = first, last[filled.site]
            stands = 0 if system is None else standing.get(system, 0)
            yield filled.site, filled.pod, *span, filled.count, system, stands, planned


def _systems(plan: Plan) -> Iterator[Row]:
    systems = {system.name: system for system in plan.request.candidates}
    for name, count in plan.systems:
        system = systems[name]
        each = None if system.nameplate_kw is None else system.nameplate_kw.value
        total = None if each is None else each * count
        yield name, system.gpu.name, count, count * system.domains_per_system, count * system.gpus, each, total


def _deployments(plan: Plan) -> Iterator[Row]:
    for planned in plan.deployments:
        each = planned.deployment
        yield (
            *(each.id, each.system.name, each.system.gpu.name, each.system.domain_gpus),
            *(each.model.name, each.weights, each.kv_precision.name),
            *(each.layout.tp, each.layout.dcp, each.layout.attention_dp, each.layout.ep),
            *(each.gpus_per_replica, planned.replicas, planned.pools, planned.gpus),
            *(each.budget.hbm_bytes, each.budget.reserve_bytes, each.budget.weight_bytes, each.budget.kv_bytes),
            each.bytes_per_token,
        )


def _patterns(plan: Plan) -> Iterator[Row]:
    """One row a class that the pools of a pattern hold; a row without a class for empty pools."""
    for planned in plan.deployments:
        for index, pattern in enumerate(planned.patterns, start=1):
            for service, sequences in pattern.sequences or ((None, 0),):
                yield planned.deployment.id, index, pattern.count, service, sequences


def _classes(plan: Plan) -> Iterator[Row]:
    asked = {service.name: service for service in plan.request.classes}
    for served in plan.classes:
        service = asked[served.name]
        tokens = served.served * service.context
        yield (
            served.name,
            service.model.name,
            service.context,
            service.concurrency,
            served.demand,
            served.served,
            tokens,
        )


def _placements(plan: Plan) -> Iterator[Row]:
    """One row a class and deployment that holds some of it."""
    deployments = {planned.deployment.id: planned.deployment for planned in plan.deployments}
    for served in plan.classes:
        for held in served.placements:
            pair = deployments[held.deployment].precisions
            yield served.name, held.deployment, pair.weights, pair.kv, held.sequences, held.sequence_bytes, held.binding


def _limits(plan: Plan) -> Iterator[Row]:
    for limit in plan.limits:
        yield limit.name, limit.site, limit.used, limit.limit, limit.unit, limit.binding


def _placement(plan: Plan) -> Iterator[Row]:
    """One row a deployment in a run of equal domains; a row without one where these are empty."""
    for box in plan.placement:
        where = box.site, *box.pods, box.system, *box.systems, *box.domains
        for name, count, gpus in box.replicas or ((None, 0, 0),):
            yield *where, name, count, gpus, box.idle_gpus


def _tokens(plan: Plan) -> Iterator[Row]:
    for model, count in sorted(plan.tokens_by_model.items()):
        yield model, count.committed, count.spare, count.capacity


def _rejected(plan: Plan) -> Iterator[Row]:
    for rejection in plan.rejected:
        yield rejection.system, rejection.model, rejection.why


def _bill(plan: Plan) -> Iterator[Row]:
    for line in bill_of_units(plan):
        needed = line.quantity if line.needed is None else line.needed
        yield (
            *(line.number or 0, line.group, line.manufacturer, line.part, line.description, line.quantity, line.unit),
            *(line.unit_kw, line.total_kw, line.unit_usd, line.total_usd),
            *(line.rule, line.source, line.confidence, line.remark, line.contained, needed),
            *(line.installed, line.spares, line.ordered),
        )


def _alternatives(plan: Plan) -> Iterator[Row]:
    """One row a kind of system that an alternative buys; none where alternatives were not asked for."""
    for rank, each in enumerate(plan.alternatives.plans if plan.alternatives else (), start=1):
        totals = each.plan.totals
        for system, count in each.plan.systems or ((None, 0),):
            yield (
                *(rank, each.name, each.plan.status.value, "; ".join(each.differs), system, count),
                *(totals.pods, totals.gpus, totals.nameplate_kw, each.plan.tokens.spare, totals.cost_usd),
            )


def _sensitivity(plan: Plan) -> Iterator[Row]:
    """One row a case; what is bought is in words."""
    for case in (plan.sensitivity.cases or ()) if plan.sensitivity else ():
        bought: tuple[Any, ...] = (None, None, None, None)
        if case.plan is not None:
            systems = ", ".join(f"{count} x {name}" for name, count in case.plan.systems)
            bought = case.plan.pods, systems, case.plan.gpus, case.plan.nameplate_kw
        now, asked = map(_setting, (case.now, case.asked))
        yield case.what, case.key, case.site, now, asked, case.unit, case.status.value, case.changes, *bought


def _setting(setting: Setting) -> str | None:
    """As text: a column has one type."""
    return str(number(setting)) if isinstance(setting, Fraction) else None if setting is None else str(setting)


def _of(kind: str, *names: str) -> dict[str, str]:
    return dict.fromkeys(names, kind)


def _totals_columns() -> dict[str, str]:
    """The fields of `Totals`: kW and cost are real, the rest are counts."""
    return {field.name: REAL if field.name.endswith(("_kw", "_usd")) else WHOLE for field in fields(Totals)}


TABLES: Mapping[str, Table] = {
    "objective": Table(
        _of(TEXT, "stage")
        | _of(WHOLE, "value")
        | _of(TEXT, "unit")
        | _of(MAYBE_WHOLE, "bound")
        | _of(REAL, "gap")
        | _of(FLAG, "conditional"),
        _objective,
    ),
    "pods": Table(
        _of(TEXT, "site", "pod")
        | _of(WHOLE, "first_pod", "last_pod", "count")
        | _of(TEXT, "system")
        | _of(WHOLE, "fill", "planned"),
        _pods,
    ),
    "systems": Table(
        _of(TEXT, "system", "gpu")
        | _of(WHOLE, "count", "domains", "gpus")
        | _of(REAL, "nameplate_kw_each", "nameplate_kw"),
        _systems,
    ),
    "totals": Table(
        _totals_columns(), lambda plan: [tuple(getattr(plan.totals, field.name) for field in fields(Totals))]
    ),
    "deployments": Table(
        _of(TEXT, "id", "system", "gpu")
        | _of(WHOLE, "domain_gpus")
        | _of(TEXT, "model", "weights", "kv_precision")
        | _of(WHOLE, "tp", "dcp", "attention_dp", "ep", "gpus_per_replica", "replicas", "pools", "gpus")
        | _of(WHOLE, *(f"{part}_bytes_per_pool" for part in ("hbm", "reserve", "weight", "kv_budget")))
        | _of(REAL, "bytes_per_token"),
        _deployments,
    ),
    "patterns": Table(
        _of(TEXT, "deployment") | _of(WHOLE, "pattern", "count") | _of(TEXT, "class") | _of(WHOLE, "sequences"),
        _patterns,
    ),
    "classes": Table(
        _of(TEXT, "name", "model")
        | _of(WHOLE, "context_tokens", "concurrency", "demand", "served", "committed_tokens"),
        _classes,
    ),
    "placements": Table(
        _of(TEXT, "class", "deployment", "weights", "kv_precision")
        | _of(WHOLE, "sequences", "sequence_bytes")
        | _of(TEXT, "binding"),
        _placements,
    ),
    "tokens": Table(_of(TEXT, "model") | _of(WHOLE, "committed", "spare", "capacity"), _tokens),
    "memory": Table(
        _of(WHOLE, *(field.name for field in fields(Memory))),
        lambda plan: [tuple(getattr(plan.memory, field.name) for field in fields(Memory))],
    ),
    "limits": Table(
        _of(TEXT, "name", "site") | _of(REAL, "used", "limit") | _of(TEXT, "unit") | _of(FLAG, "binding"), _limits
    ),
    "placement": Table(
        _of(TEXT, "site")
        | _of(WHOLE, "first_pod", "last_pod")
        | _of(TEXT, "system")
        | _of(WHOLE, "first_system", "last_system", "first_domain", "last_domain")
        | _of(TEXT, "deployment")
        | _of(WHOLE, "replicas", "gpus_per_replica", "idle_gpus"),
        _placement,
    ),
    "bill": Table(
        _of(WHOLE, "number")
        | _of(TEXT, "group", "manufacturer", "part", "description")
        | _of(WHOLE, "quantity")
        | _of(TEXT, "unit")
        | _of(REAL, "unit_kw", "total_kw", "unit_usd", "total_usd")
        | _of(TEXT, "rule", "source", "confidence", "remark")
        | _of(FLAG, "contained")
        | _of(WHOLE, "needed", "installed", "spares", "ordered"),
        _bill,
    ),
    "alternatives": Table(
        _of(WHOLE, "rank")
        | _of(TEXT, "name", "status", "differs", "system")
        | _of(WHOLE, "count", "pods", "gpus")
        | _of(REAL, "nameplate_kw")
        | _of(WHOLE, "spare_tokens")
        | _of(REAL, "cost_usd"),
        _alternatives,
    ),
    "sensitivity": Table(
        _of(TEXT, "what", "key", "site", "now", "asked", "unit", "status")
        | _of(MAYBE_FLAG, "changes")
        | _of(MAYBE_WHOLE, "pods")
        | _of(TEXT, "systems")
        | _of(MAYBE_WHOLE, "gpus")
        | _of(REAL, "nameplate_kw"),
        _sensitivity,
    ),
    "rejected": Table(_of(TEXT, "system", "model", "why"), _rejected),
}
"""Every table: its columns with their types, in their order, and its rows."""
