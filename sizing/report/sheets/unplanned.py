"""Sheet `Proposal` of an answer without a plan: why, what would do, and what does fit."""

from collections.abc import Iterator
from fractions import Fraction

from sizing.plan.plan import NoPlan, Partial
from sizing.report.assumed import assumed
from sizing.report.cautions import rejections_in_brief
from sizing.report.cells import formula
from sizing.report.no_plan import partial_sentences, way_sentences
from sizing.report.page import Column, Page, Row
from sizing.report.styles import Style

CLASSES = (
    Column("Class", most=36),
    Column("Concurrency", "sequences", Style.COUNT, key="concurrency"),
    Column("With headroom", "sequences", Style.COUNT, key="demand"),
    Column("Of it fits", "sequences", Style.COUNT, key="served"),
    Column("Share", style=Style.SHARE, key="share"),
)
BOUGHT = (Column("What serves it", most=36), Column("Amount", style=Style.DECIMALS), Column("Unit", most=10))


def write(page: Page, no_plan: NoPlan) -> None:
    """Reasons, ways out, and the partial plan; nothing is bought."""
    page.title(no_plan.request.name, "infeasible: no plan holds this load")
    page.notes("Why", no_plan.reasons)
    page.notes("What would do, each by itself", way_sentences(no_plan))
    page.notes("What does fit", partial_sentences(no_plan.partial))
    partial = no_plan.partial
    if partial is not None:
        page.table(CLASSES, _classes(no_plan, partial), name="partial")
        page.table(BOUGHT, _bought(partial))
    page.notes("Not considered", rejections_in_brief(no_plan.rejected))


def _classes(no_plan: NoPlan, partial: Partial) -> Iterator[Row]:
    concurrency = {service.name: service.concurrency for service in no_plan.request.classes}
    for name, demand, served in partial.served:
        yield Row(
            (
                name,
                formula("{asked}", concurrency[name], asked=assumed("class", name, "concurrency")),
                formula(
                    "ROUNDUP(ROUND({concurrency}*(1+{headroom}),6),0)", demand, headroom=assumed("policy", "headroom")
                ),
                served,
                formula("{served}/{demand}", Fraction(served, demand)),
            )
        )


def _bought(partial: Partial) -> Iterator[Row]:
    bought = partial.bought
    yield Row(("Pods", bought.pods, "Pods"))
    for name, count in bought.systems:
        yield Row((f"Systems: {name}", count, "systems"))
    yield Row(("GPUs", bought.gpus, "GPUs"))
    yield Row(("Nameplate of the systems", bought.nameplate_kw, "kW"))
