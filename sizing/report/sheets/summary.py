"""Sheet `Summary`: the answer on one page."""

from sizing.plan.plan import Plan
from sizing.report.answer import MEMORY_ONLY, headline, stage_parts, standing
from sizing.report.cautions import precision_sentences, rejections_in_brief
from sizing.report.cost import cost_sentences, inventory_sentences
from sizing.report.holdings import gpus_decomposed, holdings
from sizing.report.page import Column, Page, Row
from sizing.report.pod_use import idle_sentences, pod_sentences
from sizing.report.reported import Reported
from sizing.report.styles import Style
from sizing.report.text import NOT_GIVEN, UNKNOWN
from sizing.report.to_know import to_know_sentences
from sizing.report.unsettled import not_counted
from sizing.units.amounts import GIB

FIGURES = (Column("What", most=30), Column("Value", style=Style.DECIMALS), Column("Unit", style=Style.RUN_ON))
DEPLOYMENTS = (
    Column("Model", most=30),
    Column("System", most=20),
    Column("Weights"),
    Column("KV precision"),
    Column("Layout"),
    Column("GPUs", style=Style.COUNT),
    Column("Replicas", style=Style.COUNT),
    Column("Pools", style=Style.COUNT),
    Column("How it decomposes", most=60),
)
CLASSES = (
    Column("Class", most=30),
    Column("Model", most=20),
    Column("Weights"),
    Column("KV precision"),
    Column("Limited by"),
    Column("Context", "tokens", Style.COUNT),
    Column("Asked for", "sequences", Style.COUNT),
    Column("One sequence", "GiB", Style.TWO_DECIMALS),
    Column("How it decomposes", most=60),
)
STAGES = (
    Column("Stage of the objective", most=30),
    Column("Value", style=Style.DECIMALS),
    Column("Unit"),
    Column("Lower bound", style=Style.DECIMALS),
    Column("Gap", style=Style.SHARE),
    Column("Standing", style=Style.RUN_ON),
)
LIMITS = (
    Column("Limit", most=30),
    Column("Site", most=20),
    Column("Unit"),
    Column("Used", style=Style.DECIMALS),
    Column("Allowed", style=Style.DECIMALS),
    Column("Used of limit", style=Style.SHARE),
    Column("Binds"),
    Column("Remark", style=Style.RUN_ON),
)

ONE_MORE = "one more would exceed it"


def write(page: Page, reported: Reported) -> None:
    """Title, headline, key figures, deployments, classes, stages, limits, and what a reader must know."""
    plan = reported.plan
    page.title(plan.request.name, MEMORY_ONLY, headline(plan), standing(plan))
    page.table(FIGURES, _figures(plan))
    page.section("Deployments")
    page.table(DEPLOYMENTS, _deployments(plan))
    page.section("Classes")
    page.table(CLASSES, _classes(plan))
    page.section("Objective")
    page.table(STAGES, _stages(plan))
    page.section("Limits")
    page.table(LIMITS, limit_rows(plan))
    page.notes("Used and stranded", [*inventory_sentences(plan), *pod_sentences(plan), *idle_sentences(plan)])
    page.notes("Cost", cost_sentences(plan))
    page.notes("Fewer bits", precision_sentences(plan))
    page.notes("To know", to_know_sentences(plan, reported.bill))
    page.notes("Not considered (in full on the sheet of that name)", rejections_in_brief(plan.rejected))


def _figures(plan: Plan) -> list[Row]:
    totals, tokens = plan.totals, plan.tokens
    rows = [
        Row(("Pods", totals.pods, "Pods")),
        *(Row((f"Systems: {name}", count, "systems")) for name, count in plan.systems),
        Row(("Domains", totals.domains, "domains")),
        Row(("GPUs", totals.gpus, "GPUs")),
        Row(("GPUs in no replica", totals.idle_gpus, "GPUs")),
        Row(("Nameplate of the systems", totals.nameplate_kw, "kW")),
        Row(("Balance of plant", totals.balance_kw, "kW")),
        Row(("Tokens committed", tokens.committed, "tokens")),
        Row(("Tokens spare", tokens.spare, "tokens")),
        Row(("Stranded slots", totals.stranded_slots, "GPU slots")),
        Row(("Free slots", totals.free_slots, "GPU slots")),
    ]
    if totals.cost_usd is not None:
        if totals.cost_low_usd != totals.cost_usd:
            rows.append(Row(("Cost, all prices at their low end", totals.cost_low_usd, "USD")))
        rows.append(Row(("Cost", totals.cost_usd, "USD")))
    return rows


def _deployments(plan: Plan) -> list[Row]:
    return [
        Row(
            (
                planned.deployment.model.name,
                planned.deployment.system.name,
                planned.deployment.weights,
                planned.deployment.kv_precision.name,
                str(planned.deployment.layout),
                planned.gpus,
                planned.replicas,
                planned.pools,
                gpus_decomposed(planned),
            )
        )
        for planned in plan.deployments
    ]


def _classes(plan: Plan) -> list[Row]:
    return [
        Row(
            (
                holding.served.name,
                holding.service.model.name,
                holding.planned.deployment.weights,
                holding.planned.deployment.kv_precision.name,
                holding.placement.binding,
                holding.service.context,
                holding.served.demand,
                holding.placement.sequence_bytes / GIB,
                holding.arithmetic(),
            )
        )
        for holding in holdings(plan)
    ]


def _stages(plan: Plan) -> list[Row]:
    rows = []
    for stage in plan.stages:
        value, unit = stage_parts(stage, stage.value)
        bound = UNKNOWN if stage.bound is None else stage_parts(stage, stage.bound)[0]
        gap = UNKNOWN if stage.gap is None else stage.gap
        standing_of = "given the stages before" if stage.conditional else "proven" if stage.gap == 0 else "open"
        rows.append(Row((stage.stage, value, unit, bound, gap, standing_of)))
    return rows


def limit_rows(plan: Plan) -> list[Row]:
    """Every limit: used, limit, share, whether it binds, and what is not counted."""
    return [
        Row(
            (
                limit.name,
                limit.site or "all sites",
                limit.unit,
                limit.used,
                NOT_GIVEN if limit.limit is None else limit.limit,
                limit.used / limit.limit if limit.limit else None,
                "yes" if limit.binding else "no",
                "; ".join(filter(None, (ONE_MORE if limit.binding else "", not_counted(plan, limit)))),
            ),
            is_sum=limit.binding,
        )
        for limit in plan.limits
    ]
