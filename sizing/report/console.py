"""The answer on the screen: plain text of at most 120 columns, readable without colour."""

from collections.abc import Sequence
from itertools import islice

from sizing.plan.bill import bill_of_units
from sizing.plan.plan import NoPlan, Plan, Status
from sizing.report.alternatives import alternatives_section, sensitivity_section
from sizing.report.answer import MEMORY_ONLY, headline, standing
from sizing.report.cautions import precision_sentences, rejections_in_brief
from sizing.report.cost import cost_sentences, inventory_sentences
from sizing.report.grid import Column, bullets, paragraph, table
from sizing.report.holdings import deployment_rows, holdings
from sizing.report.memory_lines import MemoryLine, memory_lines
from sizing.report.no_plan import partial_sentences, way_sentences
from sizing.report.pod_use import idle_sentences, pod_sentences
from sizing.report.text import NOT_GIVEN, amount, visible
from sizing.report.to_know import to_know_sentences
from sizing.report.unsettled import not_counted, not_settled
from sizing.units.amounts import gb, gib, percent, thousands

MOST_CLASSES = 100
"""Lines of classes on the screen."""


def console_report(plan: Plan, bill: str | None = None) -> str:
    """The whole answer; `bill` is where the bill of units was written, said last."""
    rejected = rejections_in_brief(plan.rejected)
    answer = f"{plan.request.name}: {headline(plan)}", standing(plan), not_settled(plan)
    sections = [
        MEMORY_ONLY,
        "\n".join(paragraph(line) for line in answer if line),
        *what_stands(plan),
        alternatives_section(plan),
        sensitivity_section(plan),
        listed("Fewer bits", precision_sentences(plan)),
        listed("To know", to_know_sentences(plan, bill_of_units(plan))),
        listed("Not considered (in full in the workbook)", rejected),
        f"Bill of units: {visible(bill)}" if bill else "",
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def what_stands(plan: Plan) -> list[str]:
    """What runs, what it holds and uses, what is left over, and what it costs: a section each, empty where nothing."""
    return [
        _deployments(plan),
        _classes(plan),
        _tokens(plan),
        _limits(plan),
        listed("Used and stranded", [*inventory_sentences(plan), *pod_sentences(plan), *idle_sentences(plan)]),
        listed("Cost", cost_sentences(plan)),
    ]


def no_plan_report(no_plan: NoPlan) -> str:
    """Why there is no plan, and the smallest change of a limit that would give one."""
    if no_plan.status is Status.TIMEOUT:
        verdict = "no plan was found, and that there is none is not proven"
    else:
        verdict = "infeasible: no plan holds this load within its limits"
    sections = [
        MEMORY_ONLY,
        paragraph(f"{no_plan.request.name}: {verdict}"),
        listed("Why", no_plan.reasons),
        listed("What would do, each by itself", way_sentences(no_plan)),
        listed("What does fit", partial_sentences(no_plan.partial)),
        listed("Assumed", no_plan.request.assumptions),
        listed("Not considered", rejections_in_brief(no_plan.rejected)),
        "No bill of units was written.",
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def listed(heading: str, sentences: Sequence[str]) -> str:
    """A heading and its sentences; empty where there is none."""
    return f"{heading}\n{bullets(sentences)}" if sentences else ""


def _deployments(plan: Plan) -> str:
    columns = (
        Column("#", number=True),
        Column("model"),
        Column("system"),
        Column("GPUs"),
        Column("weights / KV"),
        Column("KV of one pool"),
    )
    return table(columns, deployment_rows(plan, _both))


def _classes(plan: Plan) -> str:
    columns = (
        Column("class"),
        Column("on #", number=True),
        Column("tokens each", number=True),
        Column("bytes each"),
        Column("sequences"),
        Column("limited by"),
    )
    rows = [
        (
            holding.served.name,
            str(holding.number),
            thousands(holding.service.context),
            _both(holding.placement.sequence_bytes, 2),
            holding.arithmetic(),
            holding.placement.binding,
        )
        for holding in islice(holdings(plan), MOST_CLASSES)
    ]
    left = sum(len(served.placements) for served in plan.classes) - len(rows)
    rest = f"\nand {left:,} further lines, all of them in the workbook and in the JSON of the plan" if left > 0 else ""
    return table(columns, rows) + rest


def _tokens(plan: Plan) -> str:
    columns = (
        Column("token budget"),
        Column("GiB", number=True),
        Column("GB", number=True),
        Column("of HBM", number=True),
        Column("tokens", number=True),
        Column(""),
    )
    bought = plan.memory.bought
    rows = [_token_row(line, bought) for line in memory_lines(plan)]
    if len(plan.tokens_by_model) > 1:
        rows.extend(
            (f"  of {model}", "", "", "", thousands(tokens.capacity), f"{thousands(tokens.committed)} committed")
            for model, tokens in plan.tokens_by_model.items()
        )
    return table(columns, rows)


def _token_row(line: MemoryLine, bought: int) -> tuple[str, ...]:
    return (
        line.name if line.is_sum else f"  {line.name}",
        gib(line.size_bytes).removesuffix(" GiB"),
        gb(line.size_bytes).removesuffix(" GB"),
        percent(line.share_of(bought), 1),
        "" if line.tokens is None else thousands(line.tokens),
        line.meaning,
    )


def _limits(plan: Plan) -> str:
    lacking = [not_counted(plan, limit) for limit in plan.limits]
    columns = (
        Column("limit"),
        Column("site"),
        Column("used", number=True),
        Column("limit", number=True),
        Column("unit"),
        Column("used of limit", number=True),
        Column("binds"),
        *([Column("counted")] if any(lacking) else []),
    )
    rows = [
        (
            limit.name,
            limit.site or "all sites",
            amount(limit.used),
            NOT_GIVEN if limit.limit is None else amount(limit.limit),
            limit.unit,
            percent(limit.used / limit.limit) if limit.limit else "",
            "yes: one more would exceed it" if limit.binding else "no",
            *([without] if any(lacking) else []),
        )
        for limit, without in zip(plan.limits, lacking, strict=True)
    ]
    return table(columns, rows) if rows else ""


def _both(size_bytes: int, decimals: int = 1) -> str:
    return f"{gib(size_bytes, decimals)} ({gb(size_bytes, decimals)})"
