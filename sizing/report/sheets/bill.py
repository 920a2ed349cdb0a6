"""Sheet `Bill of units`: what procurement orders, each line with the rule that counts it and its source."""

from collections.abc import Sequence, Set
from fractions import Fraction

from sizing.plan.bill import INSTALLED, BillLine
from sizing.report.answer import MEMORY_ONLY, headline
from sizing.report.assumed import FigureKey, assumed
from sizing.report.cautions import balance_sentences
from sizing.report.cells import Cell, Formula, Link, Reference, Value, added, at, formula, if_known, times_known
from sizing.report.page import Column, Page, Row
from sizing.report.reported import Reported
from sizing.report.sheets.balance import PLANT, RuledPods, balanced
from sizing.report.sheets.power import here
from sizing.report.sheets.sources import FIGURES, figure_keys
from sizing.report.styles import Style
from sizing.report.text import UNKNOWN

BILL = "bill"
COLUMNS = (
    Column("No.", style=Style.COUNT),
    Column("Group", most=16),
    Column("Manufacturer", most=13),
    Column("Part", most=22),
    Column("Description", most=28),
    Column("Quantity", style=Style.COUNT, key="quantity"),
    Column("Of it installed", style=Style.COUNT, key="installed"),
    Column("Spares", style=Style.COUNT, key="spares"),
    Column("To order", style=Style.COUNT, key="ordered"),
    Column("Needed by these systems", style=Style.COUNT, key="needed"),
    Column("Contained in them", style=Style.COUNT, key="contained"),
    Column("Unit", most=8),
    Column("Power each", "kW", Style.TWO_DECIMALS, key="kw"),
    Column("Power", "kW", Style.TWO_DECIMALS, key="all_kw"),
    Column("Price each", "USD", Style.TWO_DECIMALS, key="usd"),
    Column("Price", "USD", Style.TWO_DECIMALS, key="all_usd"),
    Column("Rule, as planned", most=26, key="rule"),
    Column("Confidence", most=11),
    Column("Source", most=36),
    Column("Remark", most=50),
    Column("Figures", most=11, key="figures"),
    Column("In full", most=8, key="in_full"),
)
INDENT = "    "


def write(page: Page, reported: Reported) -> None:
    """One row a line, then the sum of what is known."""
    plan = reported.plan
    page.title(
        f"Bill of units: {plan.request.name}",
        f"As planned: {headline(plan)}",
        MEMORY_ONLY,
        "Quantity is what stands: the balance of plant for full Pods. Needed by these systems is what those of this "
        "plan would take by the same rules. What the systems contain has no number and is not ordered.",
    )
    known, plant = figure_keys(reported), tuple(balanced(reported))
    rows = [_row(reported, place, line, known, plant) for place, line in enumerate(reported.bill)]
    page.table(COLUMNS, [*rows, _sum(reported.bill)], name=BILL, main=True, split="rule")
    page.notes("Power", balance_sentences(plan, reported.bill))


def _row(reported: Reported, place: int, line: BillLine, known: Set[FigureKey], plant: Sequence[RuledPods]) -> Row:
    quantity, needed, installed, spares = _counted(reported, place, line, plant)
    kw, usd, leads_to = _each(reported, place, line)
    ordered: tuple[Cell, ...] = (
        quantity,
        installed,
        spares,
        formula("{quantity}-{installed}+{spares}", line.ordered),
        needed,
        None,
    )
    contained: tuple[Cell, ...] = (None, None, None, None, None, quantity)
    many = "contained" if line.contained else "quantity"
    bought = "contained" if line.contained else "ordered"
    source = _source(line, known, plant)
    return Row(
        (
            line.number,
            line.group,
            line.manufacturer,
            line.part,
            f"{INDENT}{line.description}" if line.contained else line.description,
            *(contained if line.contained else ordered),
            line.unit,
            kw,
            formula(times_known(f"{{{many}}}", "kw"), _known(line.total_kw)),
            usd,
            formula(times_known(f"{{{bought}}}", "usd"), _known(line.total_usd)),
            line.rule,
            line.confidence,
            _in_brief(line) if source else line.source,
            line.remark,
            None if leads_to is None else Link("assumption", leads_to),
            None if source is None else Link("source", source),
        ),
        key=place,
    )


def _counted(reported: Reported, place: int, line: BillLine, plant: Sequence[RuledPods]) -> tuple[Cell, ...]:
    """(quantity, needed by the systems of the plan, of the quantity installed, spares)."""
    request = reported.plan.request
    if line.group == "Pods":
        sites = [site.name for site in reported.sites if site.pod.name == line.part]
        return added([at("sites", "to_buy", site) for site in sites], line.quantity), None, 0, 0
    if line.group == "Systems":
        return added(_to_buy(reported, line.part), line.quantity), None, 0, 0
    if line.group == INSTALLED:
        pods = [site for site in request.sites if site.installed_pods and site.pod.name == line.part]
        cells = [assumed("site", site.name, "installed") for site in pods]
        cells += [
            assumed("site", site.name, "installed", line.part) for site in reported.sites if site.installed(line.part)
        ]
        return added(cells, line.quantity), None, formula("{quantity}", line.installed), 0
    if line.contained and line.group in ("GPUs", "Scale-up domains"):
        return _contents(reported, line), None, 0, 0
    rows = [(pods.run, rule.name) for pods in plant for rule in pods.lines if line.counts(rule)]
    spares: Cell = 0
    if not line.contained:
        share = assumed("part", place, "spares")
        spares = formula("ROUNDUP(ROUND(({quantity}-{installed})*{share},6),0)", line.spares, share=share)
    quantity = added([at(PLANT, "quantity", row) for row in rows], line.quantity)
    installed = added([at(PLANT, "installed", row) for row in rows], line.installed)
    return quantity, added([at(PLANT, "needed", row) for row in rows], line.needed), installed, spares


def _to_buy(reported: Reported, system: str) -> list[Reference]:
    return [at("here", "to_buy", (site, name)) for site, name in here(reported) if name == system]


def _contents(reported: Reported, line: BillLine) -> Cell:
    """GPUs or domains of the systems that a line tells of."""
    cells: dict[str, Reference] = {}
    terms = []
    for number, system in enumerate(reported.kinds.values()):
        domain = f"domain of {system.domain_gpus} GPUs in {system.name}"
        of_gpus = line.group == "GPUs" and system.gpu.name == line.part
        if not of_gpus and not (line.group != "GPUs" and line.description == domain):
            continue
        for place, cell in enumerate(_to_buy(reported, system.name)):
            cells[f"bought_{number}_{place}"] = cell
            term = f"{{bought_{number}_{place}}}*{{domains_{number}}}"
            terms.append(f"{term}*{{size_{number}}}" if of_gpus else term)
        cells[f"domains_{number}"] = assumed("system", system.name, "domains")
        cells[f"size_{number}"] = assumed("system", system.name, "domain_gpus")
    return Formula("+".join(terms), line.quantity, cells) if terms else line.quantity


def _each(reported: Reported, place: int, line: BillLine) -> tuple[Cell, Cell, Reference | None]:
    """(power of one, price of one, the assumption that the part leads to)."""
    kw, usd = _known(line.unit_kw), _known(line.unit_usd)
    if line.contained:
        return line.unit_kw, line.unit_usd, None
    if line.group in ("Pods", INSTALLED, "Systems"):
        is_pod = line.group == "Pods" or line.part in {site.pod.name for site in reported.sites}
        kind = ("pod", line.part) if is_pod else ("system", line.part)
        first = assumed(*kind, "power_kw" if is_pod else "nameplate_kw")
        power = line.unit_kw if is_pod else formula(if_known("figure"), kw, figure=first)
        price: Cell = usd
        if line.group != INSTALLED:
            price = formula(if_known("figure"), usd, figure=assumed(*kind, "price", "high"))
        return power, price, first
    first = assumed("part", place, "kw")
    return (
        formula(if_known("figure"), kw, figure=first),
        formula(if_known("figure"), usd, figure=assumed("part", place, "price")),
        first,
    )


def _source(line: BillLine, known: Set[FigureKey], plant: Sequence[RuledPods]) -> Reference | None:
    """Where its source stands in full."""
    kinds = (("pods", "power_kw"), ("systems", "nameplate_kw"), ("gpus", "hbm_label_gb"))
    own = [(section, line.part, figure) for section, figure in kinds]
    ruled = [
        ("bill_rules", pods.rules.name, f"lines.{rule.name}")
        for pods in plant
        for rule in pods.rules.lines
        if line.counts(rule)
    ]
    found = next((key for key in (*own, *ruled) if key in known), None)
    return None if found is None else at(FIGURES, "source", found)


def _in_brief(line: BillLine) -> str:
    """The first source of a line, and how many more there are, where a link leads to all of them."""
    first, *others = line.sources or ("",)
    return f"{first}, and {len(others)} more" if others else first


def _sum(lines: tuple[BillLine, ...]) -> Row:
    """The sums of the lines whose figure is known; where none is, the sum is unknown too."""
    kw = [line.total_kw for line in lines if line.total_kw]
    usd = [line.total_usd for line in lines if line.total_usd]
    text = f'IF(SUM({{each}})>0,SUM({{each}}),"{UNKNOWN}")'
    all_kw = formula(text, _total(kw), each=Reference(BILL, "all_kw"))
    all_usd = formula(text, _total(usd), each=Reference(BILL, "all_usd"))
    blank: tuple[None, ...] = (None,) * 10
    return Row((None, "Sum of what is known", *blank, None, all_kw, None, all_usd, *blank[:6]), is_sum=True, key="all")


def _known(value: Fraction | None) -> Value:
    return UNKNOWN if value is None else value


def _total(values: list[Fraction]) -> Value:
    return sum(values, Fraction(0)) if values else UNKNOWN
