"""Sheet `Proposal`: the answer on one page, its figures and checks alive, with charts."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from sizing.plan.cost import ENERGY, cost_lines, is_priced
from sizing.plan.inventory import to_buy
from sizing.report.answer import MEMORY_ONLY, headline, standing
from sizing.report.cautions import precision_sentences, rejections_in_brief
from sizing.report.cells import (
    NOT_SETTLED,
    OK,
    Cell,
    Formula,
    Input,
    Link,
    Reference,
    Value,
    added,
    at,
    check,
    formula,
    span,
)
from sizing.report.cost import cost_sentences, inventory_sentences
from sizing.report.holdings import gpus_decomposed, holdings
from sizing.report.native_charts import Chart, Series
from sizing.report.page import Column, Page, Row
from sizing.report.pod_use import idle_sentences, pod_sentences
from sizing.report.reported import Reported
from sizing.report.sheets.power import here, share_of, state_of_pod, states, used_of
from sizing.report.styles import Style
from sizing.report.text import NOT_GIVEN, UNKNOWN
from sizing.report.to_know import to_know_sentences
from sizing.report.unsettled import not_settled
from sizing.units.amounts import GIB

ALL_PRICED = "Sum of all that has a price: Pods, systems, parts, energy"
COUNTED_COST = "Cost as the objective counts it, without parts"
FIGURES, VERDICT = "figures now", "verdict"
FIGURE_COLUMNS = (
    Column("What", most=36),
    Column("Now", style=Style.DECIMALS, key="now", most=30),
    Column("As planned", style=Style.DECIMALS, key="planned"),
    Column("Unit"),
    Column("Changed", key="changed"),
)
CHECK_COLUMNS = (
    Column("Check", most=36),
    Column("Now", key="now", most=30),
    Column("Where", style=Style.RUN_ON),
)
DEPLOYMENTS = (
    Column("Model", most=36),
    Column("System", most=30),
    Column("Weights"),
    Column("KV precision"),
    Column("Layout"),
    Column("GPUs", style=Style.COUNT),
    Column("Replicas", style=Style.COUNT),
    Column("How it decomposes, as planned", most=60),
)
CLASSES = (
    Column("Class", most=36),
    Column("Model", most=30),
    Column("Weights"),
    Column("KV precision"),
    Column("Limited by"),
    Column("Context", "tokens", Style.COUNT),
    Column("One sequence", "GiB", Style.TWO_DECIMALS),
    Column("How it decomposes, as planned", most=60),
)
LIMITS = (
    Column("Limit", most=36),
    Column("Site", most=30),
    Column("Unit"),
    Column("Used", style=Style.DECIMALS),
    Column("Allowed", style=Style.DECIMALS),
    Column("Used of limit", style=Style.SHARE),
    Column("Check", key="check"),
    Column("Binds, as planned", most=60),
)
SHEET_COLUMNS = (Column("Sheet", most=36), Column("Holds", style=Style.RUN_ON))
COLOURS = (Column("Colour of a cell", most=36), Column("Example", most=30), Column("Meaning", style=Style.RUN_ON))
CHECKS = (
    ("Every assumption is a number", "assumptions", "Assumptions: a blank cell or other text counts as nothing"),
    ("Every class is held", "classes", "Classes: held against what is asked for"),
    ("Every pool holds its sequences", "pools", "Token budget: bytes of each way of filling a pool"),
    ("Pools are there", "deployments", "Token budget: pools against replicas"),
    (
        "GPUs are there",
        "kinds",
        "Power and cooling: GPUs against replicas, without spare systems; how replicas pack is not looked at",
    ),
    ("Pods are no fuller than planned", "standing", "Power and cooling: systems against the full population"),
    ("Pods hold what stands in them", "runs", "Power and cooling: slots, power and heat of a Pod"),
    ("Limits are kept", "limits", "Power and cooling: used against allowed"),
    ("Ports reconcile", "networks", "Balance of plant: cable ends, ports in use, ports bought"),
    ("Parts are enough for these systems", "plant", "Balance of plant: built against needed"),
    ("Parts are in the bill", "counted", "Balance of plant: every part that is counted, against the bill"),
    ("Pods to buy are in the bill", "sites", "Power and cooling: Pods of each site, against the bill"),
    ("Systems to buy are in the bill", "here", "Power and cooling: systems of each site, against the bill"),
)
IDLE, RESERVE, WEIGHTS, COMMITTED, SPARE, REST = "#94A3B8", "#CBD5E1", "#7C3AED", "#0B5CAD", "#38BDF8", "#E2E8F0"
SYSTEMS_COLOR, BALANCE_COLOR, LEFT_COLOR = "#0B5CAD", "#F59E0B", "#E2E8F0"
CHANGED = (
    'IF(ISNUMBER({now})*ISNUMBER({planned}),IF(ABS(N({now})-N({planned}))<=ABS(N({planned}))/10^9,"","changed"),'
    'IF({now}={planned},"","changed"))'
)
_SETTLED, _OPEN = f'COUNTIF({{each}},"{OK}")', f'COUNTIF({{each}},"{NOT_SETTLED}")'
_SUMMED_UP = f'IF({_SETTLED}=ROWS({{each}}),"{OK}",IF({_SETTLED}+{_OPEN}=ROWS({{each}}),"{NOT_SETTLED}",<FALSE>))'
ALL_OK = _SUMMED_UP.replace("<FALSE>", f'ROWS({{each}})-{_SETTLED}-{_OPEN}&" of "&ROWS({{each}})&" do not hold"')
HOLDS = _SUMMED_UP.replace("<FALSE>", '"does not hold"')
SHEETS = (
    ("Bill of units", "bill", "quantity", "what is to order, each part with its rule, its price and its source"),
    ("Token budget", "budget", "line", "where the HBM goes, to the byte"),
    ("Classes", "classes", "check", "what is asked for and held, and what one sequence takes"),
    ("Power and cooling", "limits", "limit", "limits, systems, sites and Pods"),
    ("Balance of plant", "plant", "part", "how parts are counted"),
    ("Cost", "cost", "quantity", "prices and energy, as the objective counts them"),
    ("Assumptions", "assumptions", "value", "every figure to change"),
    ("Sources", "figures", "source", "where the figures come from"),
)
BUDGET_SERIES = (
    ("committed", COMMITTED),
    ("spare", SPARE),
    ("weights", WEIGHTS),
    ("reserve", RESERVE),
    ("idle GPUs", IDLE),
    ("remainder", REST),
)


def write(page: Page, reported: Reported) -> None:
    """Title, headline, figures, charts, checks, deployments, classes, limits, and what a reader must know."""
    plan = reported.plan
    unsettled = not_settled(plan)
    leads = (MEMORY_ONLY, f"As planned: {headline(plan)}", standing(plan), f"As planned, {unsettled}")
    page.title(plan.request.name, *(leads if unsettled else leads[:-1]))
    page.table(FIGURE_COLUMNS, _figures(reported), name=FIGURES)
    page.charts(*_charts(reported))
    page.section("Whether the plan holds with the assumptions as they are now")
    page.table(CHECK_COLUMNS, _checks(reported), name="checks")
    page.section("Deployments")
    page.table(DEPLOYMENTS, _deployments(reported))
    page.section("Classes")
    page.table(CLASSES, _classes(reported))
    page.section("Limits")
    page.table(LIMITS, _limits(reported))
    page.notes("Used and stranded", [*inventory_sentences(plan), *pod_sentences(plan), *idle_sentences(plan)])
    page.notes("Cost", cost_sentences(plan))
    page.notes("Fewer bits", precision_sentences(plan))
    page.notes("To know", to_know_sentences(plan, reported.bill))
    page.notes("Not considered (in full on the sheet of that name)", rejections_in_brief(plan.rejected))
    page.section("Sheets")
    page.table(SHEET_COLUMNS, _sheets(reported))
    page.section("Colours")
    page.table(COLOURS, _colours())


def _figures(reported: Reported) -> Iterator[Row]:
    for what, now, unit in _now(reported):
        planned = now.value if isinstance(now, Formula) else now
        assert not isinstance(planned, Input)
        values: tuple[Cell, ...] = (
            what,
            now,
            planned if isinstance(planned, str | int | float | Fraction) else None,
            unit,
            formula(CHANGED, ""),
        )
        styles = dict.fromkeys(("now", "planned"), Style.TWO_DECIMALS) if unit == "USD" else {}
        yield Row(values, key=what, styles=styles)


def _now(reported: Reported) -> Iterator[tuple[str, Cell, str]]:
    plan = reported.plan
    totals, tokens = plan.totals, plan.tokens

    def all_of(table: str, column: str, value: Value) -> Cell:
        return formula("{cell}", value, cell=at(table, column, "all"))

    def summed(table: str, column: str, value: Value, rows: bool) -> Cell:
        return formula("SUM({each})", value, each=Reference(table, column)) if rows else value

    pods = bool(reported.runs)
    yield "Pods", summed("runs", "count", totals.pods, pods), "Pods"
    for name, count in plan.systems:
        yield f"Systems: {name}", formula("{cell}", count, cell=at("kinds", "systems", name)), "systems"
    yield from _to_buy(reported)
    yield "Domains", all_of("kinds", "domains", totals.domains), "domains"
    yield "GPUs", all_of("kinds", "gpus", totals.gpus), "GPUs"
    yield "GPUs in no replica", all_of("kinds", "idle", totals.idle_gpus), "GPUs"
    yield "Nameplate of the systems", all_of("kinds", "kw", totals.nameplate_kw), "kW"
    yield "Heat to liquid", all_of("kinds", "liquid", _known(totals.liquid_kw)), "kW"
    yield "Heat to air", all_of("kinds", "air", _known(totals.air_kw)), "kW"
    yield "Balance of plant", summed("all pods", "balance", totals.balance_kw, pods), "kW"
    yield "Of it to liquid", summed("all pods", "balance_liquid", totals.balance_liquid_kw, pods), "kW"
    yield "Tokens committed", all_of("models", "committed", tokens.committed), "tokens"
    yield "Tokens spare", all_of("models", "spare", tokens.spare), "tokens"
    yield "Stranded slots", summed("all pods", "stranded", totals.stranded_slots, pods), "GPU slots"
    yield "Free slots", summed("all pods", "free", totals.free_slots, pods), "GPU slots"
    if totals.cost_usd is not None:
        yield f"{COUNTED_COST}, all prices at their low end", all_of("cost", "low", totals.cost_low_usd), "USD"
        yield COUNTED_COST, all_of("cost", "high", totals.cost_usd), "USD"
    yield ALL_PRICED, _priced(reported), "USD"
    unpriced = sum(line.total_usd is None for line in reported.bill)
    usd = Reference("bill", "all_usd")
    yield (
        "Not in that sum: lines of the bill without a price",
        formula(f'COUNTIF({{usd}},"{UNKNOWN}")', unpriced, usd=usd),
        "lines",
    )


def _to_buy(reported: Reported) -> Iterator[tuple[str, Cell, str]]:
    """What is bought, where something is installed already."""
    plan = reported.plan
    if not inventory_sentences(plan):
        return
    pods, systems = to_buy(plan)
    yield "Pods to buy", formula("SUM({each})", pods, each=Reference("sites", "to_buy")), "Pods"
    for name, _ in plan.systems:
        cells = [at("here", "to_buy", key) for key in here(reported) if key[1] == name]
        yield f"Systems to buy: {name}", added(cells, systems.get(name, 0)), "systems"


def _priced(reported: Reported) -> Cell:
    """The bill, prices at their high end, and energy over the horizon; unknown where nothing has a price."""
    plan = reported.plan
    energy = [(place, line) for place, line in enumerate(cost_lines(plan.request, plan.pods)) if line.group == ENERGY]
    cells = {f"energy_{place}": at("cost", "high", place) for place, _ in energy}
    total = sum((line.total_usd or 0 for line in reported.bill), Fraction(0))
    total += sum((line.total.high for _, line in energy if line.total is not None), Fraction(0))
    text = f"SUM({','.join(['{bill}', *(f'{{{name}}}' for name in cells)])})"
    value: Value = total if total else UNKNOWN
    return formula(f'IF({text}>0,{text},"{UNKNOWN}")', value, bill=Reference("bill", "all_usd"), **cells)


def _charts(reported: Reported) -> Iterator[Chart]:
    line = {name: at("budget", "gb", name) for name, _ in BUDGET_SERIES}
    yield Chart(
        "HBM budget",
        "TB",
        at("budget", "line", "HBM bought"),
        [Series(name, line[name], color) for name, color in BUDGET_SERIES],
        number_format="#,##0.0,",  # the cells are in GB; a trailing comma shows thousands of them
    )
    if reported.runs:
        yield Chart(
            "Power of one Pod against what it has for IT",
            "kW",
            Reference("runs", "label"),
            [
                Series("systems", Reference("runs", "systems_kw"), SYSTEMS_COLOR),
                Series("balance of plant", Reference("runs", "balance_kw"), BALANCE_COLOR),
                Series("left", Reference("runs", "left_kw"), LEFT_COLOR),
            ],
        )
    if any(limit.limit for limit in reported.plan.limits):
        yield Chart(
            "Limits: used of what is allowed",
            "share",
            Reference("limits", "limit"),
            [Series("used of limit", Reference("limits", "share"), SYSTEMS_COLOR)],
            kind="clustered",
            number_format="0 %",
        )


def _checks(reported: Reported) -> Iterator[Row]:
    there = [row for row in CHECKS if _has_rows(reported, row[1])]
    as_planned = {"limits": [*states(reported).values()], "runs": [state_of_pod(use) for use in reported.runs]}
    told = {table: _summed_up(as_planned.get(table, []), counts=True) for _, table, _ in there}
    for what, table, meaning in there:
        state = check(ALL_OK, told[table], each=Reference(table, "check"))
        yield Row((what, state, Link(meaning, Reference(table, "check"))), key=what)
    verdict = check(HOLDS, _summed_up([*told.values()]), each=span("checks", "now", [row[0] for row in there]))
    yield Row(("The plan holds", verdict, "all of these"), is_sum=True, key=VERDICT)


def _summed_up(states: Sequence[str], counts: bool = False) -> str:
    """What checks say together: `ALL_OK` with `counts`, else `HOLDS`."""
    wrong = [state for state in states if state not in (OK, NOT_SETTLED)]
    if wrong:
        return f"{len(wrong)} of {len(states)} do not hold" if counts else "does not hold"
    return NOT_SETTLED if NOT_SETTLED in states else OK


def _has_rows(reported: Reported, table: str) -> bool:
    match table:
        case "networks" | "plant" | "counted":
            return any(use.pod.bill_rules is not None and use.filled.fill.systems for use in reported.runs)
        case "runs" | "standing":
            return any(use.filled.fill.systems for use in reported.runs)
        case "here":
            return bool(here(reported))
        case "limits":
            return bool(reported.plan.limits)
        case _:
            return True


def _deployments(reported: Reported) -> Iterator[Row]:
    for number, planned in reported.deployments:
        deployment = planned.deployment
        yield Row(
            (
                deployment.model.name,
                deployment.system.name,
                deployment.weights,
                deployment.kv_precision.name,
                str(deployment.layout),
                formula("{cell}", planned.gpus, cell=at("deployments", "gpus", number)),
                formula("{cell}", planned.replicas, cell=at("deployments", "replicas", number)),
                gpus_decomposed(planned),
            )
        )


def _classes(reported: Reported) -> Iterator[Row]:
    for holding in holdings(reported.plan):
        yield Row(
            (
                holding.served.name,
                holding.service.model.name,
                holding.planned.deployment.weights,
                holding.planned.deployment.kv_precision.name,
                holding.placement.binding,
                formula("{cell}", holding.service.context, cell=at("classes", "context", holding.served.name)),
                formula(
                    "{cell}/2^30",
                    holding.placement.sequence_bytes / GIB,
                    cell=at("sequences", "bytes", (holding.number, holding.served.name)),
                ),
                holding.arithmetic(),
            )
        )


def _limits(reported: Reported) -> Iterator[Row]:
    told = states(reported)
    for limit in reported.plan.limits:
        key = (limit.name, limit.site)
        allowed: Value = NOT_GIVEN if limit.limit is None else limit.limit
        yield Row(
            (
                limit.name,
                limit.site or "all sites",
                limit.unit,
                formula("{cell}", used_of(reported, limit), cell=at("limits", "used", key)),
                formula("{cell}", allowed, cell=at("limits", "allowed", key)),
                formula("{cell}", share_of(reported, limit), cell=at("limits", "share", key)),
                check("{cell}", told[key], cell=at("limits", "check", key)),
                "yes: one more would exceed it" if limit.binding else "no",
            ),
            highlighted=limit.binding,
        )


def _colours() -> Iterator[Row]:
    yield Row(("Blue on yellow", Input("to change"), "a figure that somebody may know better; most are on Assumptions"))
    yield Row(("Blue on green", Input("decided", decision=True), "what the search decided; does not follow by itself"))
    yield Row(("Black", Formula('"computed"', "computed"), "a formula over the others"))
    yield Row(("Grey", "fixed", "as it was found, or a term that is not meant to change"))
    yield Row(("Amber", check(f'"{NOT_SETTLED}"', NOT_SETTLED), "a check that hangs on a figure nobody has yet"))
    yield Row(("Red", check('"wrong"', "wrong"), "a check that does not hold"))


def _sheets(reported: Reported) -> Iterator[Row]:
    due = {"plant": _has_rows(reported, "plant"), "cost": is_priced(reported.plan.request)}
    for name, table, column, holds in SHEETS:
        if due.get(table, True):
            yield Row((Link(name, Reference(table, column)), holds))


def _known(value: Fraction | None) -> Value:
    return UNKNOWN if value is None else value
