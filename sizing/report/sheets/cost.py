"""Sheet `Cost`: prices of what is bought, and energy over the horizon, each with both ends of its range."""

from collections.abc import Iterator
from fractions import Fraction

from sizing.facility.loads import known
from sizing.facility.prices import HOURS_PER_YEAR, Price
from sizing.facility.site import Site
from sizing.plan.cost import PODS, SYSTEMS, CostLine, cost_lines, total_cost
from sizing.report.answer import MEMORY_ONLY, headline
from sizing.report.assumed import assumed
from sizing.report.cells import Cell, Formula, Reference, Value, at, formula, if_known, span, sum_if_known, times_known
from sizing.report.cost import cost_sentences, inventory_sentences
from sizing.report.page import Column, Page, Row
from sizing.report.reported import Reported
from sizing.report.styles import Style
from sizing.report.text import UNKNOWN

COST = "cost"
COLUMNS = (
    Column("Group", most=14),
    Column("Item", most=28),
    Column("Site", most=20),
    Column("Nameplate", "kW", style=Style.ONE_DECIMAL, key="kw"),
    Column("PUE", style=Style.DECIMALS, key="pue"),
    Column("Hours", style=Style.COUNT, key="hours"),
    Column("Quantity", style=Style.DECIMALS, key="quantity"),
    Column("Unit", most=10),
    Column("Each, low", "USD", Style.DECIMALS, key="each_low"),
    Column("Each, high", "USD", Style.DECIMALS, key="each_high"),
    Column("Total, low", "USD", Style.TWO_DECIMALS, key="low"),
    Column("Total, high", "USD", Style.TWO_DECIMALS, key="high"),
    Column("Rule, as planned", most=44),
    Column("Source", most=34),
)


def write(page: Page, reported: Reported) -> None:
    """One row a part of the cost, then their sum."""
    plan = reported.plan
    lines = cost_lines(plan.request, plan.pods)
    page.title(
        "Cost",
        f"As planned: {headline(plan)}",
        MEMORY_ONLY,
        "What is bought, and its energy, as the objective counts it: without the parts of the balance of plant, whose "
        "prices count in the bill. A price that is one number has equal ends; stages take the high end.",
    )
    total = _ends(total_cost(plan.request, lines))
    sums = (
        formula(sum_if_known("each"), value, each=Reference(COST, key))
        for key, value in zip(("low", "high"), total, strict=True)
    )
    everything = Row(("All", *(None,) * 9, *sums, None, None), is_sum=True, key="all")
    page.table(COLUMNS, [*_rows(reported, lines), everything], name=COST, main=True)
    page.notes("Installed", inventory_sentences(plan))
    page.notes("How it comes about, as planned", cost_sentences(plan))


def _rows(reported: Reported, lines: tuple[CostLine, ...]) -> Iterator[Row]:
    sites = {site.name: site for site in reported.plan.request.sites}
    for place, line in enumerate(lines):
        each, total = _ends(line.each), _ends(line.total)
        energy, quantity, price = _parts(reported, sites[line.site], line)
        yield Row(
            (
                line.group,
                line.item,
                line.site,
                *energy,
                quantity,
                line.unit,
                formula(if_known("figure"), each[0], figure=assumed(*price, "low")),
                formula(if_known("figure"), each[1], figure=assumed(*price, "high")),
                formula(times_known("{quantity}", "each_low"), total[0]),
                formula(times_known("{quantity}", "each_high"), total[1]),
                line.rule,
                line.source,
            ),
            key=place,
        )


def _parts(reported: Reported, site: Site, line: CostLine) -> tuple[tuple[Cell, Cell, Cell], Cell, tuple[str, ...]]:
    """((kW, PUE, hours) of energy, quantity, the key of the price)."""
    nothing = (None, None, None)
    if line.group == PODS:
        quantity = formula("{cell}", line.quantity, cell=at("sites", "to_buy", site.name))
        return nothing, quantity, ("pod", line.item, "price")
    if line.group == SYSTEMS:
        quantity = formula("{cell}", line.quantity, cell=at("here", "to_buy", (site.name, line.item)))
        return nothing, quantity, ("system", line.item, "price")
    energy = reported.plan.request.policy.prices.energy
    assert energy is not None  # a line of energy comes from nothing else
    pue = known(energy.pue_of(site.pod))
    key = "energy_pue" if energy.pue is not None else "pue"
    kw = line.quantity / (pue * energy.hours)
    counted = _systems_kw(reported, site, kw) if line.item == "of the systems" else _balance_kw(reported, site, kw)
    parts: tuple[Cell, Cell, Cell] = (
        counted,
        formula("{figure}", pue, figure=assumed("pod", site.pod.name, key)),
        formula(f"{{years}}*{HOURS_PER_YEAR}", energy.hours, years=assumed("policy", "horizon")),
    )
    used = formula(f'IF(ISNUMBER({{kw}}),{{kw}}*{{pue}}*{{hours}},"{UNKNOWN}")', line.quantity)
    return parts, used, ("policy", "tariff")


def _systems_kw(reported: Reported, site: Site, kw: Fraction) -> Cell:
    """Nameplate of what is bought at a site."""
    names = sorted({name for use in reported.runs if use.site.name == site.name for name, _ in use.filled.systems})
    cells: dict[str, Reference] = {}
    for place, name in enumerate(names):
        cells[f"bought_{place}"] = at("here", "to_buy", (site.name, name))
        cells[f"kw_{place}"] = assumed("system", name, "nameplate_kw")
    terms = "+".join(f"{{bought_{place}}}*{{kw_{place}}}" for place, _ in enumerate(names))
    known = "*".join(f"ISNUMBER({{kw_{place}}})" for place, _ in enumerate(names))
    return Formula(f'IF({known},{terms},"{UNKNOWN}")', kw, cells)


def _balance_kw(reported: Reported, site: Site, kw: Fraction) -> Cell:
    """Balance of plant of all Pods at a site."""
    runs = [run for run, use in enumerate(reported.runs) if use.site.name == site.name]
    return formula("SUM({each})", kw, each=span("all pods", "balance", runs))


def _ends(price: Price | None) -> tuple[Value, Value]:
    return (UNKNOWN, UNKNOWN) if price is None else (price.low, price.high)
