"""Sheet `Placement`: which replicas on which GPUs of which system of which Pod, and what their pools hold."""

from collections import Counter
from collections.abc import Iterator, Mapping

from sizing.plan.plan import PlacedReplicas, PlannedDeployment
from sizing.report.page import Column, Page, Row
from sizing.report.reported import Reported
from sizing.report.styles import Style
from sizing.units.amounts import thousands

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
    Column("Holds", most=50),
    Column("Deployment", "#", Style.COUNT, key="deployment"),
    Column("Replicas in each domain", style=Style.COUNT),
    Column("GPUs of a replica", style=Style.COUNT),
    Column("Replicas in all", style=Style.COUNT),
    Column("Pools", "first", Style.COUNT),
    Column("Pools", "last", Style.COUNT),
    Column("What these pools hold", most=60),
)


def write(page: Page, reported: Reported) -> None:
    """Ranges are counted from 1: Pods in their site, systems of a kind in their Pod, domains and GPUs in theirs."""
    page.title(
        "Placement",
        "A row holds for every domain in its ranges. Counted from 1: Pods in their site, systems of a kind in their "
        "Pod, domains in their system, GPUs in their domain, pools in their deployment. Deployment # is the number on "
        "the screen. As the search placed it: it does not follow changes on other sheets.",
    )
    numbers = {planned.deployment.id: (number, planned) for number, planned in reported.deployments}
    dealt: Counter[str] = Counter()
    rows = [row for placed in reported.plan.placement for row in _rows(placed, numbers, dealt)]
    page.table(COLUMNS, rows, main=True, split="deployment")


def _rows(
    placed: PlacedReplicas, numbers: Mapping[str, tuple[int, PlannedDeployment]], dealt: Counter[str]
) -> Iterator[Row]:
    """Pools are dealt to replicas in the order of the ways in which they are filled: `dealt` counts those before."""
    ranges = (placed.pods, placed.systems, placed.domains)
    domains = 1
    for first, last in ranges:
        domains *= last - first + 1
    where = (placed.site, *placed.pods, placed.system, *placed.systems, *placed.domains)
    next_gpu = 1
    for name, count, gpus in placed.replicas:
        last_gpu = next_gpu + count * gpus - 1
        number, planned = numbers[name]
        first_pool = dealt[name] + 1
        dealt[name] += count * domains * planned.deployment.pools_per_replica
        what = (number, count, gpus, count * domains, first_pool, dealt[name])
        yield Row((*where, next_gpu, last_gpu, name, *what, _held(planned, first_pool, dealt[name])))
        next_gpu = last_gpu + 1
    if placed.idle_gpus:
        yield Row((*where, next_gpu, next_gpu + placed.idle_gpus - 1, "idle", *(None,) * 7))


def _held(planned: PlannedDeployment, first: int, last: int) -> str:
    """What pools `first` to `last` hold: `5 x (34 x agents), 1 x (31 x agents)`."""
    parts = []
    passed = 0
    for pattern in planned.patterns:
        here = min(last, passed + pattern.count) - max(first, passed + 1) + 1
        passed += pattern.count
        if here > 0:
            held = " + ".join(f"{thousands(number)} x {name}" for name, number in pattern.sequences) or "nothing"
            parts.append(f"{thousands(here)} x ({held})")
    return ", ".join(parts)
