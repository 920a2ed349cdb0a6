"""Sheet `Token budget`: where the HBM goes, by line, by model and by pool, to the byte."""

from collections.abc import Iterator

from sizing.plan.plan import Plan, PlannedDeployment
from sizing.report.memory_lines import memory_lines
from sizing.report.page import Column, Page, Row
from sizing.report.reported import Reported
from sizing.report.styles import Style
from sizing.units.amounts import GB, GIB, thousands

BUDGET = (
    Column("Line", most=48),
    Column("Bytes", style=Style.COUNT),
    Column("Size", "GiB", Style.ONE_DECIMAL),
    Column("Size", "GB", Style.ONE_DECIMAL),
    Column("Share of HBM", style=Style.SHARE),
    Column("Tokens", style=Style.COUNT),
    Column("Meaning"),
)
MODELS = (
    Column("Model", most=48),
    Column("Committed", "tokens", Style.COUNT),
    Column("Spare", "tokens", Style.COUNT),
    Column("Capacity", "tokens", Style.COUNT),
)
POOLS = (
    Column("Deployment", most=48),
    Column("HBM of a pool", "bytes", Style.COUNT),
    Column("Reserve", "bytes", Style.COUNT),
    Column("Weights", "bytes", Style.COUNT),
    Column("Left for KV", "bytes", Style.COUNT),
    Column("One token", "bytes", Style.TWO_DECIMALS),
    Column("Held in a pool"),
    Column("Such pools", style=Style.COUNT),
    Column("Committed", "bytes a pool", Style.COUNT),
    Column("Free", "bytes a pool", Style.COUNT),
)


def write(page: Page, reported: Reported) -> None:
    """The budget, then its parts."""
    plan = reported.plan
    page.title(
        "Token budget",
        "HBM bought = idle GPUs + reserve + weights + committed + spare + remainder, to the byte",
        "GB = 10^9 bytes, GiB = 2^30 bytes",
    )
    page.table(BUDGET, _budget(plan))
    page.section("By model")
    page.table(MODELS, _models(plan))
    page.section("By pool: every way in which pools are filled")
    page.table(POOLS, [row for planned in plan.deployments for row in _pools(plan, planned)])


def _budget(plan: Plan) -> Iterator[Row]:
    bought = plan.memory.bought
    for line in memory_lines(plan):
        size = line.size_bytes
        values = (line.name, size, size / GIB, size / GB, line.share_of(bought), line.tokens, line.meaning)
        yield Row(values, is_sum=line.is_sum)


def _models(plan: Plan) -> Iterator[Row]:
    for model, tokens in plan.tokens_by_model.items():
        yield Row((model, tokens.committed, tokens.spare, tokens.capacity))
    yield Row(("All models", plan.tokens.committed, plan.tokens.spare, plan.tokens.capacity), is_sum=True)


def _pools(plan: Plan, planned: PlannedDeployment) -> Iterator[Row]:
    deployment, budget = planned.deployment, planned.deployment.budget
    contexts = {service.name: service.context for service in plan.request.classes}
    for pattern in planned.patterns:
        committed = sum(deployment.sequence_bytes(contexts[name]) * held for name, held in pattern.sequences)
        yield Row(
            (
                deployment.id,
                budget.hbm_bytes,
                budget.reserve_bytes,
                budget.weight_bytes,
                budget.kv_bytes,
                deployment.bytes_per_token,
                " + ".join(f"{thousands(held)} x {name}" for name, held in pattern.sequences) or "nothing",
                pattern.count,
                committed,
                budget.kv_bytes - committed,
            )
        )
