"""What a plan costs and what of it is installed already, in sentences: the same on the screen and in the workbook."""

from collections.abc import Iterator

from sizing.facility.prices import Price
from sizing.plan.cost import ENERGY, CostLine, cost_lines, is_priced, total_cost, unpriced
from sizing.plan.inventory import installed_pods, installed_systems, to_buy
from sizing.plan.plan import Plan
from sizing.report.answer import stage_parts
from sizing.report.text import cents, plural
from sizing.request.objective import COST, parse_aim
from sizing.units.amounts import plain, thousands


def inventory_sentences(plan: Plan) -> list[str]:
    """What is installed, and what is to buy; nothing where nothing is installed."""
    pods, systems = installed_pods(plan.request), installed_systems(plan.request)
    if not pods and not systems:
        return []
    new_pods, new_systems = to_buy(plan)
    return [
        f"installed already: {_listed(pods, systems)}; to buy: {_listed(new_pods, new_systems)}",
        "limits and totals count both; stages and cost count what is to buy",
    ]


def cost_sentences(plan: Plan) -> list[str]:
    """The cost, how it comes about, and what is not in it; nothing where no price is known."""
    request = plan.request
    if not is_priced(request):
        return []
    lines = cost_lines(request, plan.pods)
    total = total_cost(request, lines)
    return [
        f"unknown: no price of {', '.join(unpriced(lines))}" if total is None else f"{usd(total)} in all",
        *(_line(line, name_site=len(request.sites) > 1) for line in lines),
        *_remarks(plan, lines),
    ]


def usd(price: Price) -> str:
    """`1,440,000 USD`, `1,440,000 to 1,620,000 USD`; cents only where there are some."""
    low, high = cents(price.low), cents(price.high)
    return f"{low} to {high} USD" if price.is_range else f"{high} USD"


def _line(line: CostLine, name_site: bool) -> str:
    where = f"{line.site}: " if name_site else ""
    return where + _arithmetic(line)


def _arithmetic(line: CostLine) -> str:
    if line.each is None or line.total is None:
        return f"{plain(line.quantity, 'x')} {line.item}: no price"
    if line.group == ENERGY:
        rate = " to ".join(dict.fromkeys(plain(end, "USD/kWh") for end in (line.each.low, line.each.high)))
        return f"energy {line.item}: {line.rule} x {rate} = {usd(line.total)}; PUE enters the cost here and only here"
    return f"{plain(line.quantity, 'x')} {line.item} at {usd(line.each)} = {usd(line.total)}"


def _remarks(plan: Plan, lines: tuple[CostLine, ...]) -> Iterator[str]:
    if any(site.pod.bill_rules is not None for site in plan.request.sites):
        yield "not in the cost: the parts of the balance of plant (switches, cables, racks), which have no prices"
    if plan.request.policy.prices.energy is None:
        yield "energy is not counted: policy.prices.energy states no tariff"
    counting = [stage for stage in plan.stages if COST in parse_aim(stage.stage).names]
    if counting and any(line.each is not None and line.each.is_range for line in lines):
        yield "prices that are ranges count with their high end in the stages"
    for stage in counting:
        step, unit = stage_parts(stage, 1)
        if stage.stage != COST or step * stage.value != plan.totals.cost_usd:
            yield f"stage {stage.stage} counts in steps of {plain(step, unit)}, each amount rounded to the nearest"


def _listed(pods: int, systems: dict[str, int]) -> str:
    parts = [plural(pods, "Pod")] * (pods > 0)
    parts += [f"{thousands(count)} x {name}" for name, count in sorted(systems.items())]
    return ", ".join(parts) or "nothing"
