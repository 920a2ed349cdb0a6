"""Sheet `Classes`: what is asked for, and what one sequence takes, term by term."""

from collections.abc import Iterator

from sizing.report.assumed import assumed
from sizing.report.cells import Cell, added, at, check, formula, span
from sizing.report.page import Column, Page, Row
from sizing.report.reported import Reported, kept
from sizing.report.styles import Style
from sizing.units.amounts import GIB

CLASSES, SEQUENCES, KEPT, CACHE = "classes", "sequences", "kept", "cache"

CLASS_COLUMNS = (
    Column("No.", style=Style.COUNT, key="number"),
    Column("Class", most=40),
    Column("Model", most=26),
    Column("Served at", most=24),
    Column("Context", "tokens", Style.COUNT, key="context"),
    Column("Asked for", "sequences", Style.COUNT, key="concurrency"),
    Column("With headroom", "sequences", Style.COUNT, key="demand"),
    Column("Held", "sequences", Style.COUNT, key="served"),
    Column("Check", most=24, key="check"),
    Column("Tokens committed", style=Style.COUNT, key="tokens"),
)
SEQUENCE_COLUMNS = (
    Column("Deployment", "#", Style.COUNT, key="deployment"),
    Column("Class", most=40),
    Column("Model", most=26),
    Column("KV precision"),
    Column("Context", "tokens", Style.COUNT, key="context"),
    Column("One sequence", "bytes", Style.COUNT, key="bytes"),
    Column("One sequence", "GiB", Style.TWO_DECIMALS),
    Column("A pool holds alone", "sequences", Style.COUNT, key="alone"),
    Column("Limited by", "as planned"),
)
KEPT_COLUMNS = (
    Column("Deployment", "#", Style.COUNT, key="deployment"),
    Column("Kind", most=40),
    Column("Kept", most=26),
    Column("One position", "bytes", Style.DECIMALS, key="position"),
    Column("One of every", "tokens", Style.COUNT, key="every"),
    Column("At most", "positions", Style.COUNT, key="most"),
    Column("Split over", "GPUs", Style.COUNT, key="split"),
    Column("Block", "positions", Style.COUNT, key="block"),
    Column("Blocks beside", style=Style.COUNT, key="spare"),
    Column("One more token", "bytes", Style.DECIMALS, key="token"),
)
CACHE_COLUMNS = (
    Column("Deployment", "#", Style.COUNT, key="deployment"),
    Column("Class", most=40),
    Column("Kind", most=26),
    Column("Context", "tokens", Style.COUNT, key="context"),
    Column("Positions kept", style=Style.COUNT, key="positions"),
    Column("Bytes", style=Style.DECIMALS, key="bytes"),
)
POSITIONS = "{block}*(ROUNDUP(ROUNDUP(MIN(INT({context}/{every}),{most})/{split},0)/{block},0)+{spare})"


def write(page: Page, reported: Reported) -> None:
    """Classes, sequences, then the terms that make up a sequence."""
    page.title(
        "Classes",
        "Sequences are what is asked for and headroom, rounded up. A pool holds whole sequences (decision 1).",
    )
    page.table(CLASS_COLUMNS, _classes(reported), name=CLASSES)
    page.section("What one sequence takes, over a whole pool")
    page.table(SEQUENCE_COLUMNS, _sequences(reported), name=SEQUENCES)
    page.section("What a deployment keeps of a sequence, in rows that keep the same positions")
    page.table(KEPT_COLUMNS, _kept(reported), name=KEPT)
    page.section("From context to bytes")
    page.table(CACHE_COLUMNS, _cache(reported), name=CACHE)


def _classes(reported: Reported) -> Iterator[Row]:
    served = {served.name: served for served in reported.plan.classes}
    for name, (number, service) in reported.classes.items():
        held = [
            ("held", (at_number, way, name))
            for at_number, planned in reported.deployments
            for way, pattern in enumerate(planned.patterns, start=1)
            if name in dict(pattern.sequences)
        ]
        yield Row(
            (
                number,
                name,
                service.model.name,
                "; ".join(map(str, served[name].precisions)),
                formula("{asked}", service.context, asked=assumed("class", name, "context")),
                formula("{asked}", service.concurrency, asked=assumed("class", name, "concurrency")),
                formula(
                    "ROUNDUP(ROUND({concurrency}*(1+{headroom}),6),0)",
                    served[name].demand,
                    headroom=assumed("policy", "headroom"),
                ),
                added([at(table, "all", key) for table, key in held], served[name].served),
                check('IF({served}>={demand},"ok","short by "&({demand}-{served}))', "ok"),
                added([at(table, "all_tokens", key) for table, key in held], served[name].served * service.context),
            ),
            key=name,
        )


def pairs(reported: Reported) -> Iterator[tuple[int, str]]:
    """(deployment, class) of every class that a deployment holds."""
    for number, planned in reported.deployments:
        held = {name for pattern in planned.patterns for name, _ in pattern.sequences}
        yield from ((number, name) for name in reported.classes if name in held)


def _sequences(reported: Reported) -> Iterator[Row]:
    placed = {
        (placement.deployment, served.name): placement
        for served in reported.plan.classes
        for placement in served.placements
    }
    for number, name in pairs(reported):
        deployment = reported.plan.deployments[number - 1].deployment
        context = reported.classes[name][1].context
        size = deployment.sequence_bytes(context)
        terms = [(number, name, place) for place, _ in enumerate(kept(deployment), start=1)]
        yield Row(
            (
                number,
                name,
                deployment.model.name,
                deployment.kv_precision.name,
                formula("{asked}", context, asked=assumed("class", name, "context")),
                formula("ROUNDUP(ROUND(SUM({terms}),3),0)", size, terms=span(CACHE, "bytes", terms)) if terms else size,
                formula("{bytes}/2^30", size / GIB),
                formula(
                    'IF({bytes}>0,MAX(0,INT({budget}/{bytes})),"unlimited")',
                    max(0, deployment.budget.kv_bytes // size) if size else "unlimited",
                    budget=at("pool budgets", "budget", number),
                ),
                placed[deployment.id, name].binding if (deployment.id, name) in placed else None,
            ),
            key=(number, name),
        )


def _kept(reported: Reported) -> Iterator[Row]:
    for number, planned in reported.deployments:
        for place, rows in enumerate(kept(planned.deployment), start=1):
            keep = rows.keep
            most = "" if keep.most is None else f", at most {keep.most:,}"
            yield Row(
                (
                    number,
                    f"kind {place}",
                    ("all positions" if keep.every == 1 else f"one of every {keep.every:,} tokens") + most,
                    formula("{size}", rows.position_bytes, size=assumed("deployment", number, "kept", place)),
                    keep.every,
                    keep.most,
                    rows.split,
                    rows.block,
                    rows.spare_blocks,
                    formula("IF(ISNUMBER({most}),0,{position}/({every}*{split}))", rows.token_bytes),
                ),
                key=(number, place),
            )


def _cache(reported: Reported) -> Iterator[Row]:
    for number, name in pairs(reported):
        context = reported.classes[name][1].context
        for place, rows in enumerate(kept(reported.plan.deployments[number - 1].deployment), start=1):
            columns = {key: at(KEPT, key, (number, place)) for key in ("every", "most", "split", "block", "spare")}
            positions = rows.positions(context)
            values: tuple[Cell, ...] = (
                number,
                name,
                f"kind {place}",
                formula("{asked}", context, asked=assumed("class", name, "context")),
                formula(POSITIONS, positions, **columns),
                formula(
                    "{positions}*{position}",
                    positions * rows.position_bytes,
                    position=at(KEPT, "position", (number, place)),
                ),
            )
            yield Row(values, key=(number, name, place))
