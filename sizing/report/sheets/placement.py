"""Sheet `Placement`: which replicas on which GPUs of which system of which Pod, one row a run of equal domains."""

from collections.abc import Iterator, Mapping

from sizing.plan.plan import PlacedReplicas
from sizing.report.page import Column, Page, Row
from sizing.report.reported import Reported
from sizing.report.styles import Style

COLUMNS = (
    Column("Site", most=20),
    Column("Pods", "first", Style.COUNT),
    Column("Pods", "last", Style.COUNT),
    Column("System", most=20),
    Column("Systems", "first", Style.COUNT),
    Column("Systems", "last", Style.COUNT),
    Column("Domains", "first", Style.COUNT),
    Column("Domains", "last", Style.COUNT),
    Column("GPUs", "first", Style.COUNT),
    Column("GPUs", "last", Style.COUNT),
    Column("Holds", most=60),
    Column("Deployment", "#", Style.COUNT),
    Column("Replicas in each domain", style=Style.COUNT),
    Column("GPUs of a replica", style=Style.COUNT),
    Column("Replicas in all", style=Style.COUNT),
)


def write(page: Page, reported: Reported) -> None:
    """Ranges are counted from 1: Pods in their site, systems of a kind in their Pod, domains and GPUs in theirs."""
    plan = reported.plan
    page.title(
        "Placement",
        "A row holds for every domain in its ranges. Counted from 1: Pods in their site, systems of a kind in their "
        "Pod, domains in their system, GPUs in their domain. Deployment # is the number on the screen.",
    )
    numbers = {planned.deployment.id: number for number, planned in enumerate(plan.deployments, start=1)}
    page.table(COLUMNS, [row for placed in plan.placement for row in _rows(placed, numbers)], main=True)


def _rows(placed: PlacedReplicas, numbers: Mapping[str, int]) -> Iterator[Row]:
    ranges = (placed.pods, placed.systems, placed.domains)
    domains = 1
    for first, last in ranges:
        domains *= last - first + 1
    where = (placed.site, *placed.pods, placed.system, *placed.systems, *placed.domains)
    next_gpu = 1
    for deployment, count, gpus in placed.replicas:
        last_gpu = next_gpu + count * gpus - 1
        yield Row((*where, next_gpu, last_gpu, deployment, numbers[deployment], count, gpus, count * domains))
        next_gpu = last_gpu + 1
    if placed.idle_gpus:
        yield Row((*where, next_gpu, next_gpu + placed.idle_gpus - 1, "idle", None, None, None, None))
