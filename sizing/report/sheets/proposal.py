"""Sheet `Proposal`: the answer on one page, its figures and checks alive, with charts."""

from collections.abc import Iterator
from fractions import Fraction

from sizing.report.answer import MEMORY_ONLY, headline, standing
from sizing.report.cautions import precision_sentences, rejections_in_brief
from sizing.report.cells import Cell, Formula, Input, Reference, Value, at, check, formula
from sizing.report.cost import cost_sentences, inventory_sentences
from sizing.report.holdings import gpus_decomposed, holdings
from sizing.report.native_charts import Chart, Series
from sizing.report.page import Column, Page, Row
from sizing.report.pod_use import idle_sentences, pod_sentences
from sizing.report.reported import Reported
from sizing.report.styles import Style
from sizing.report.text import NOT_GIVEN, UNKNOWN
from sizing.report.to_know import to_know_sentences
from sizing.units.amounts import GIB

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
    Column("Meaning", style=Style.RUN_ON),
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
COLOURS = (Column("Colour of a cell", most=36), Column("Example", most=30), Column("Meaning", style=Style.RUN_ON))
CHECKS = (
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
    ("Parts are in the bill", "plant", "Balance of plant: every part that is counted"),
)
IDLE, RESERVE, WEIGHTS, COMMITTED, SPARE, REST = "#94A3B8", "#CBD5E1", "#7C3AED", "#0B5CAD", "#38BDF8", "#E2E8F0"
SYSTEMS_COLOR, BALANCE_COLOR, LEFT_COLOR = "#0B5CAD", "#F59E0B", "#E2E8F0"
CHANGED = (
    'IF(ISNUMBER({now})*ISNUMBER({planned}),IF(ABS(N({now})-N({planned}))<=ABS(N({planned}))/10^9,"","changed"),'
    'IF({now}={planned},"","changed"))'
)
ALL_OK = (
    'IF(COUNTIF({each},"ok")=ROWS({each}),"ok",ROWS({each})-COUNTIF({each},"ok")&" of "&ROWS({each})&" do not hold")'
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
    page.title(plan.request.name, MEMORY_ONLY, f"As planned: {headline(plan)}", standing(plan))
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
        yield Row(values, key=what)


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
        yield "Cost, all prices at their low end", all_of("cost", "low", totals.cost_low_usd), "USD"
        yield "Cost", all_of("cost", "high", totals.cost_usd), "USD"


def _charts(reported: Reported) -> Iterator[Chart]:
    line = {name: at("budget", "gb", name) for name, _ in BUDGET_SERIES}
    yield Chart(
        "HBM budget",
        "GB",
        at("budget", "line", "HBM bought"),
        [Series(name, line[name], color) for name, color in BUDGET_SERIES],
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
    for what, table, meaning in there:
        yield Row((what, check(ALL_OK, "ok", each=Reference(table, "check")), meaning), key=what)
    cells = {f"cell_{place}": at("checks", "now", row[0]) for place, row in enumerate(there)}
    each = ",".join(f'{{{name}}}="ok"' for name in cells)
    verdict = check(f'IF(AND({each}),"ok","does not hold")', "ok", **cells)
    yield Row(("The plan holds", verdict, "all of these"), is_sum=True, key=VERDICT)


def _has_rows(reported: Reported, table: str) -> bool:
    match table:
        case "networks" | "plant":
            return any(use.pod.bill_rules is not None and use.filled.fill.systems for use in reported.runs)
        case "runs" | "standing":
            return any(use.filled.fill.systems for use in reported.runs)
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
    for limit in reported.plan.limits:
        key = (limit.name, limit.site)
        allowed: Value = NOT_GIVEN if limit.limit is None else limit.limit
        share = limit.used / limit.limit if limit.limit else ""
        yield Row(
            (
                limit.name,
                limit.site or "all sites",
                limit.unit,
                formula("{cell}", limit.used, cell=at("limits", "used", key)),
                formula("{cell}", allowed, cell=at("limits", "allowed", key)),
                formula("{cell}", share, cell=at("limits", "share", key)),
                check("{cell}", "ok", cell=at("limits", "check", key)),
                "yes: one more would exceed it" if limit.binding else "no",
            ),
            highlighted=limit.binding,
        )


def _colours() -> Iterator[Row]:
    yield Row(("Blue on yellow", Input("to change"), "a figure that somebody may know better; most are on Assumptions"))
    yield Row(("Blue on green", Input("decided", decision=True), "what the search decided; does not follow by itself"))
    yield Row(("Black", Formula('"computed"', "computed"), "a formula over the others"))
    yield Row(("Grey", "fixed", "as it was found, or a term that is not meant to change"))
    yield Row(("Red", check('"wrong"', "wrong"), "a check that does not hold"))


def _known(value: Fraction | None) -> Value:
    return UNKNOWN if value is None else value
