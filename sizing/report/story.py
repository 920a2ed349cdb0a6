"""The proposal as sections in the order in which it is told: what the page, its PDF and the Markdown have in common."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sizing.plan.bill import BillLine
from sizing.plan.inventory import to_buy
from sizing.plan.plan import Plan, SensitivityCase, Status
from sizing.report.answer import in_brief, stage_amount, systems_bought
from sizing.report.cautions import precision_sentences, rejections_in_brief
from sizing.report.cost import cost_sentences, inventory_sentences
from sizing.report.grid import Column
from sizing.report.holdings import deployment_rows, holdings
from sizing.report.memory_lines import memory_lines
from sizing.report.pod_use import PodUse, idle_sentences, pod_uses
from sizing.report.reported import Reported
from sizing.report.sources import SourcedFigure, entries_in_plan, sourced_figures
from sizing.report.text import NOT_GIVEN, UNKNOWN, amount, cents
from sizing.report.to_know import to_know_sentences
from sizing.report.unsettled import not_counted
from sizing.units.amounts import gb, gib, kw, percent, thousands
from sizing.units.version import version

WEIGHTED = "weights / KV"


@dataclass(frozen=True, slots=True)
class Fact:
    """A figure that the proposal leads with."""

    name: str
    value: str
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of text, each as long as the columns."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with a table, sentences, or both. `key` is its name in the page; an appendix is set apart."""

    key: str
    heading: str
    table: Table | None = None
    sentences: tuple[str, ...] = ()
    lead: str = ""
    is_appendix: bool = False


def facts(plan: Plan) -> tuple[Fact, ...]:
    """Pods, systems, GPUs, power, tokens, what binds; cost where it is known."""
    totals, tokens = plan.totals, plan.tokens
    binding = [limit.name.replace("_", " ") for limit in plan.limits if limit.binding]
    new_pods, new_systems = to_buy(plan)
    pods_to_buy, systems_to_buy = (
        f"{thousands(new)} to buy, {thousands(all_ - new)} installed already; " if new != all_ else ""
        for new, all_ in ((new_pods, totals.pods), (sum(new_systems.values()), totals.systems))
    )
    listed = [
        Fact("Pods", thousands(totals.pods), f"{pods_to_buy}{thousands(totals.stranded_slots)} GPU slots stranded"),
        Fact("Systems", thousands(totals.systems), f"{systems_to_buy}{systems_bought(plan)}"),
        Fact("GPUs", thousands(totals.gpus), f"{thousands(totals.idle_gpus)} in no replica"),
        Fact("Nameplate", kw(totals.nameplate_kw), f"systems; balance of plant {kw(totals.balance_kw)}"),
        Fact("Tokens committed", thousands(tokens.committed), "what the classes ask for"),
        Fact("Tokens spare", thousands(tokens.spare), "what the same purchase holds beside"),
        Fact("Binds", ", ".join(dict.fromkeys(binding)), "one more Pod or system would exceed it")
        if binding
        else Fact("Binds", "nothing", "one more Pod or system would exceed no limit"),
    ]
    if totals.cost_usd is not None:
        listed.append(Fact("Cost", f"{cents(totals.cost_usd)} USD", "prices that are ranges at their high end"))
    return tuple(listed)


def sections(reported: Reported) -> tuple[Section, ...]:
    """All that a plan has something to say on, appendices last."""
    return tuple(section for write in _SECTIONS for section in write(reported) if section.table or section.sentences)


def _budget(reported: Reported) -> Iterator[Section]:
    plan = reported.plan
    columns = (
        Column("line"),
        *(Column(name, number=True) for name in ("GiB", "GB", "share of HBM", "tokens")),
        Column("meaning"),
    )
    bought = plan.memory.bought
    rows = [
        (
            line.name,
            gib(line.size_bytes).removesuffix(" GiB"),
            gb(line.size_bytes).removesuffix(" GB"),
            percent(line.share_of(bought), 1),
            "" if line.tokens is None else thousands(line.tokens),
            line.meaning,
        )
        for line in memory_lines(plan)
    ]
    lead = "HBM bought = idle GPUs + reserve + weights + committed + spare + remainder, to the byte."
    yield Section("budget", "HBM budget", Table(columns, tuple(rows)), lead=lead)


def _classes(reported: Reported) -> Iterator[Section]:
    columns = (
        Column("class"),
        Column("model"),
        Column(WEIGHTED),
        *(Column(name, number=True) for name in ("tokens each", "asked for", "tokens committed")),
        Column("sequences"),
        Column("limited by"),
    )
    rows = [
        (
            holding.served.name,
            holding.service.model.name,
            f"{holding.planned.deployment.weights} / {holding.planned.deployment.kv_precision.name}",
            thousands(holding.service.context),
            thousands(holding.served.demand),
            thousands(holding.placement.sequences * holding.service.context),
            f"#{holding.number}: {holding.arithmetic()}",
            holding.placement.binding,
        )
        for holding in holdings(reported.plan)
    ]
    yield Section("classes", "Sequences and tokens per class", Table(columns, tuple(rows)))


def _deployments(reported: Reported) -> Iterator[Section]:
    columns = (
        Column("#", number=True),
        Column("model"),
        Column("system"),
        Column("GPUs"),
        Column(WEIGHTED),
        Column("KV of one pool", number=True),
    )
    yield Section("deployments", "Deployments", Table(columns, tuple(deployment_rows(reported.plan, gib))))


def _pods(reported: Reported) -> Iterator[Section]:
    plan = reported.plan
    columns = (
        Column("Pods"),
        Column("site"),
        Column("each holds"),
        *(Column(name, number=True) for name in ("GPUs", "free", "stranded", "of slots", "systems kW", "balance kW")),
        *(Column(name, number=True) for name in ("kW for IT", "used")),
    )
    rows = [_pod(use) for use in pod_uses(plan)]
    sentences = (*inventory_sentences(plan), *idle_sentences(plan))
    yield Section("pods", "Pod by Pod", Table(columns, tuple(rows)), sentences)


def _pod(use: PodUse) -> tuple[str, ...]:
    balance = use.filled.fill.balance.kw
    return (
        use.numbers,
        use.site.name,
        use.contents or "nothing",
        *(thousands(slots) for slots in (use.gpus, use.free_slots, use.stranded_slots, use.slots)),
        *(amount(each) for each in (use.systems_kw, balance, use.pod.it_power_kw)),
        percent((use.systems_kw + balance) / use.pod.it_power_kw),
    )


def _limits(reported: Reported) -> Iterator[Section]:
    plan = reported.plan
    columns = (
        Column("limit"),
        Column("site"),
        *(Column(name, number=True) for name in ("used", "allowed")),
        Column("unit"),
        Column("used of limit", number=True),
        Column("binds"),
        Column("counted"),
    )
    rows = [
        (
            limit.name.replace("_", " "),
            limit.site or "all sites",
            amount(limit.used),
            NOT_GIVEN if limit.limit is None else amount(limit.limit),
            limit.unit,
            percent(limit.used / limit.limit) if limit.limit else "",
            "yes: one more would exceed it" if limit.binding else "no",
            not_counted(plan, limit),
        )
        for limit in plan.limits
    ]
    yield Section("limits", "Limits", Table(columns, tuple(rows)))


def _alternatives(reported: Reported) -> Iterator[Section]:
    alternatives = reported.plan.alternatives
    if alternatives is None:
        return
    columns = (Column("alternative"), Column("what it buys"), Column("against the answer"))
    rows = [(each.name, _plan_in_brief(each.plan), ", ".join(each.differs)) for each in alternatives.plans]
    rows += [(each.name, each.standing, each.why) for each in alternatives.none]
    nothing = () if rows else ("no other purchase was found that would do",)
    yield Section("alternatives", "Alternatives", Table(columns, tuple(rows)) if rows else None, nothing)


def _plan_in_brief(plan: Plan) -> str:
    totals = plan.totals
    pods = f"{thousands(totals.pods)} Pods, {systems_bought(plan)}"
    return f"{pods}, {thousands(totals.gpus)} GPUs, {kw(totals.nameplate_kw)}; {plan.status}"


def _sensitivity(reported: Reported) -> Iterator[Section]:
    sensitivity = reported.plan.sensitivity
    if sensitivity is None or sensitivity.cases is None:
        return
    columns = (Column("change"), Column("what is bought then"))
    rows = [(case.what, _of_case(case)) for case in sensitivity.cases if case.changes is not False]
    same = [case.what for case in sensitivity.cases if case.changes is False]
    table = Table(columns, tuple(rows)) if rows else None
    sentences = (f"the same systems in as many Pods: {'; '.join(same)}",) if same else ()
    yield Section("sensitivity", "Sensitivity: what the answer becomes", table, sentences)


def _of_case(case: SensitivityCase) -> str:
    if case.plan is None:
        return "no plan" if case.status is Status.INFEASIBLE else "not settled within its share of work and time"
    return in_brief(case.plan) + ("" if case.changes is not None else " (not proven to be the best)")


def _cost(reported: Reported) -> Iterator[Section]:
    yield Section("cost", "Cost", sentences=tuple(cost_sentences(reported.plan)))


def _to_know(reported: Reported) -> Iterator[Section]:
    plan = reported.plan
    yield Section("to-know", "To know", sentences=tuple(to_know_sentences(plan, reported.bill)))
    yield Section("fewer-bits", "Fewer bits", sentences=tuple(precision_sentences(plan)))


def _bill(reported: Reported) -> Iterator[Section]:
    priced = any(line.total_usd for line in reported.bill)
    orders_other = any(line.ordered != line.quantity for line in reported.bill)
    columns = (
        Column("no.", number=True),
        Column("group"),
        Column("part"),
        Column("description"),
        Column("quantity", number=True),
        *((Column("to order", number=True),) if orders_other else ()),
        Column("unit"),
        Column("kW each", number=True),
        Column("kW", number=True),
        *((Column("USD each", number=True), Column("USD", number=True)) if priced else ()),
        Column("rule"),
        Column("confidence"),
    )
    rows = [_bill_row(line, orders_other, priced) for line in reported.bill]
    known_kw, known_usd = (
        sum((value for line in reported.bill if (value := read(line)) is not None), Fraction(0)) for read in _TOTALS
    )
    sums = ("", amount(known_kw), *(("", cents(known_usd)) if priced else ()))
    rows.append(("", "", "", "sum of what is known", "", *([""] if orders_other else []), "", *sums, "", ""))
    lead = "The balance of plant is ordered for full Pods. Lines without a number are contained in the systems."
    if any(line.installed for line in reported.bill):
        lead += " What stands already is in the quantity and in its kW, and is not to order."
    yield Section("bill", "Bill of units", Table(columns, tuple(rows)), lead=lead)


_TOTALS: tuple[Callable[[BillLine], Fraction | None], ...] = (lambda line: line.total_kw, lambda line: line.total_usd)


def _bill_row(line: BillLine, orders_other: bool, priced: bool) -> tuple[str, ...]:
    prices = (_known(line.unit_usd, cents), _known(line.total_usd, cents)) if priced else ()
    return (
        "" if line.number is None else str(line.number),
        line.group,
        " ".join(part for part in (line.manufacturer, line.part) if part),
        line.description,
        thousands(line.quantity),
        *((thousands(line.ordered),) if orders_other else ()),
        line.unit,
        _known(line.unit_kw),
        _known(line.total_kw),
        *prices,
        line.rule,
        line.confidence,
    )


def _known(value: Fraction | None, written: Callable[[Fraction], str] = amount) -> str:
    """Nothing where a part adds none."""
    return UNKNOWN if value is None else written(value) if value else ""


def _sources(reported: Reported) -> Iterator[Section]:
    columns = (
        Column("entry"),
        Column("figure"),
        Column("value", number=True),
        Column("range"),
        Column("confidence"),
        Column("date"),
        Column("source"),
        Column("remark"),
    )
    rows = [_sourced(figure) for figure in sourced_figures(entries_in_plan(reported))]
    lead = "Every figure of a catalog that the plan rests on."
    yield Section("sources", "Assumptions and sources", Table(columns, tuple(rows)), lead=lead, is_appendix=True)


def _sourced(figure: SourcedFigure) -> tuple[str, ...]:
    span = "" if figure.low is None else f"{_written(figure.low)} to {_written(figure.high)}"
    return (
        figure.entry,
        figure.figure,
        " ".join(part for part in (_written(figure.value), figure.unit) if part),
        span,
        figure.confidence,
        figure.date,
        "; ".join(" ".join(part for part in (each.title, each.address) if part) for each in figure.sources),
        figure.remark,
    )


def _written(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return amount(Fraction(str(value)))


def _rejected(reported: Reported) -> Iterator[Section]:
    sentences = tuple(rejections_in_brief(reported.plan.rejected))
    yield Section("rejected", "Not considered", sentences=sentences, is_appendix=True)


def _audit(reported: Reported) -> Iterator[Section]:
    plan = reported.plan
    stages = Column("stage"), Column("value", number=True), Column("lower bound", number=True), Column("standing")
    rows = [
        (
            stage.stage,
            stage_amount(stage, stage.value),
            UNKNOWN if stage.bound is None else stage_amount(stage, stage.bound),
            "given the stages before" if stage.conditional else "proven" if stage.gap == 0 else "open",
        )
        for stage in plan.stages
    ]
    sentences = (
        f"sizing {version()}; the plan passed the independent check, without which nothing is printed",
        f"SHA-256 of the request: {plan.request.input_sha256}",
        f"SHA-256 of the catalog: {plan.request.catalog_sha256}",
        "sizing verify checks the plan as JSON (--format json) on another machine",
    )
    yield Section("audit", "Audit", Table(stages, tuple(rows)), sentences, is_appendix=True)


_SECTIONS: Sequence[Callable[[Reported], Iterator[Section]]] = (
    *(_budget, _classes, _deployments, _pods, _limits, _alternatives, _sensitivity, _cost, _to_know, _bill),
    *(_audit, _rejected, _sources),
)
