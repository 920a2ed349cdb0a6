"""Sheet `Power and cooling`: nameplate and heat by limit, by kind of system and by Pod."""

from collections.abc import Iterator
from fractions import Fraction

from sizing.facility.system import System
from sizing.plan.plan import Plan
from sizing.report.cautions import balance_sentences
from sizing.report.page import Column, Page, Row, Value
from sizing.report.pod_use import PodUse, pod_uses
from sizing.report.reported import Reported
from sizing.report.sheets.summary import LIMITS, limit_rows
from sizing.report.styles import Style
from sizing.report.text import UNKNOWN

SYSTEMS = (
    Column("System", most=24),
    Column("Cooling", most=20),
    Column("Bought", style=Style.COUNT),
    Column("Nameplate each", "kW", Style.TWO_DECIMALS),
    Column("Range from", "kW", Style.TWO_DECIMALS),
    Column("Range to", "kW", Style.TWO_DECIMALS),
    Column("Nameplate", "kW", Style.ONE_DECIMAL),
    Column("Heat to liquid", "kW", Style.ONE_DECIMAL),
    Column("Heat to air", "kW", Style.ONE_DECIMAL),
    Column("Confidence", most=14),
    Column("Basis", most=40),
)
PODS = (
    Column("Site", most=24),
    Column("Pods", most=20),
    Column("GPU slots", style=Style.COUNT),
    Column("GPUs", style=Style.COUNT),
    Column("Slots free", style=Style.COUNT),
    Column("Slots stranded", style=Style.COUNT),
    Column("Systems", "kW", Style.ONE_DECIMAL),
    Column("Balance of plant", "kW", Style.ONE_DECIMAL),
    Column("Power for IT", "kW", Style.ONE_DECIMAL),
    Column("Used of power", style=Style.SHARE),
    Column("Contents of one Pod"),
    Column("Heat to liquid", "kW", Style.ONE_DECIMAL),
    Column("Liquid cooling", "kW", Style.ONE_DECIMAL),
    Column("Heat to air", "kW", Style.ONE_DECIMAL),
    Column("Air cooling", "kW", Style.ONE_DECIMAL),
)


def write(page: Page, reported: Reported) -> None:
    """Limits, then systems, then one row for every run of equal Pods; the figures of a Pod are of one."""
    plan = reported.plan
    page.title(
        "Power and cooling",
        "Nameplate power, never derated. Heat to liquid and to air at nameplate.",
        f"Pods count against the power of a site as {plan.request.policy.power_basis}.",
    )
    page.table(LIMITS, limit_rows(plan))
    page.section("Systems")
    page.table(SYSTEMS, _systems(plan))
    page.section("Pods: figures of one Pod")
    page.table(PODS, [_pod(use) for use in pod_uses(plan)])
    page.notes("Balance of plant", balance_sentences(plan, reported.bill))


def _systems(plan: Plan) -> Iterator[Row]:
    kinds = {system.name: system for system in plan.request.candidates}
    for name, count in plan.systems:
        yield _system(kinds[name], count)
    totals = plan.totals
    sums = (totals.nameplate_kw, _known(totals.liquid_kw), _known(totals.air_kw))
    yield Row(("All systems", None, totals.systems, None, None, None, *sums, None, None), is_sum=True)
    balance = (totals.balance_kw, totals.balance_liquid_kw, totals.balance_air_kw)
    yield Row(("Balance of plant", None, None, None, None, None, *balance, None, None))


def _system(system: System, count: int) -> Row:
    nameplate = system.nameplate_kw
    low, high = (nameplate.range if nameplate and nameplate.range else None) or (None, None)
    return Row(
        (
            system.name,
            system.cooling,
            count,
            _known(nameplate.value if nameplate else None),
            low,
            high,
            _times(nameplate.value if nameplate else None, count),
            _times(system.liquid_kw.value if system.liquid_kw else None, count),
            _times(system.air_kw, count),
            nameplate.confidence if nameplate else None,
            nameplate.basis if nameplate else None,
        )
    )


def _pod(use: PodUse) -> Row:
    balance = use.filled.fill.balance
    return Row(
        (
            use.site.name,
            use.numbers,
            use.slots,
            use.gpus,
            use.free_slots,
            use.stranded_slots,
            use.systems_kw,
            balance.kw,
            use.pod.it_power_kw,
            (use.systems_kw + balance.kw) / use.pod.it_power_kw,
            use.contents,
            _added(use.liquid_kw, balance.liquid_kw),
            _known(use.site.liquid_kw_per_pod),
            _added(use.air_kw, balance.air_kw),
            _known(use.site.air_kw_per_pod),
        )
    )


def _known(value: Fraction | None) -> Value:
    return UNKNOWN if value is None else value


def _times(value: Fraction | None, count: int) -> Value:
    return UNKNOWN if value is None else value * count


def _added(value: Fraction | None, more: Fraction) -> Value:
    return UNKNOWN if value is None else value + more
