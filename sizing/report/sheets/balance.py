"""Sheet `Balance of plant`: how the parts of a Pod are counted, rule by rule, at its full population and as planned."""

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from sizing.facility.bill_rules import BillRules, RuleLine
from sizing.facility.network import Attachment, Network
from sizing.facility.quantities import (
    CoolantUnits,
    Links,
    Optics,
    PerGpu,
    PerPod,
    PerRack,
    PerSystem,
    RackLimit,
    Racks,
    Switches,
    liquid_load_kw,
)
from sizing.facility.selection import Population, Selection
from sizing.facility.system import System
from sizing.report.assumed import FigureKey, assumed
from sizing.report.cells import (
    Accepts,
    Cell,
    Formula,
    Input,
    Link,
    Reference,
    added,
    at,
    check,
    formula,
    if_known,
    span,
    times_known,
)
from sizing.report.page import Column, Page, Row
from sizing.report.pod_use import PodUse
from sizing.report.reported import Reported
from sizing.report.sheets.sources import FIGURES, figure_keys
from sizing.report.styles import Style
from sizing.report.text import UNKNOWN

PLANT, COUNTED = "plant", "counted"
PORTS, NETWORKS, RACKS, COOLANT = "ports", "networks", "racks", "coolant"
Way = Literal["full", "each"]
WAYS: tuple[tuple[Way, str], ...] = (("full", "full Pods"), ("each", "as planned"))

IN_FULL = Column("In full", most=8)

PLANT_COLUMNS = (
    Column("Pods", most=24),
    Column("Part", most=30, key="part"),
    Column("Rule", most=30),
    Column("Count of the rule", style=Style.COUNT, key="count"),
    Column("In one full Pod", style=Style.COUNT, key="per_pod"),
    Column("In all Pods", style=Style.COUNT, key="quantity"),
    Column("Needed in one Pod", style=Style.COUNT, key="need_pod"),
    Column("Needed in all", style=Style.COUNT, key="needed"),
    Column("Power of one", "kW", Style.DECIMALS, key="kw"),
    Column("Power of a Pod", "kW", Style.DECIMALS, key="kw_pod"),
    Column("Of heat to liquid", style=Style.SHARE, key="share"),
    Column("To liquid", "kW a Pod", Style.DECIMALS, key="liquid_pod"),
    Column("To air", "kW a Pod", Style.DECIMALS, key="air_pod"),
    Column("Of them installed", style=Style.COUNT, key="installed"),
    Column("Check", most=16, key="check"),
    Column("Confidence", most=12),
    IN_FULL,
)
COUNTED_COLUMNS = (
    Column("Group", most=24),
    Column("Part", most=30),
    Column("Counted above", style=Style.COUNT, key="counted"),
    Column("In the bill", style=Style.COUNT, key="billed"),
    Column("Check", most=16, key="check"),
)
PORT_COLUMNS = (
    Column("Pods", most=24),
    Column("Network", most=30),
    Column("System", most=26),
    Column("Ports of a system", style=Style.COUNT, key="ports"),
    Column("Ports of an optic", style=Style.COUNT, key="per_optic"),
    Column("Ports, full Pods", style=Style.COUNT, key="full"),
    Column("Optics, full Pods", style=Style.COUNT, key="full_optics"),
    Column("Ports, as planned", style=Style.COUNT, key="each"),
    Column("Optics, as planned", style=Style.COUNT, key="each_optics"),
    IN_FULL,
)
NETWORK_COLUMNS = (
    Column("Pods", most=24),
    Column("Network", most=30),
    Column("Population", most=14),
    Column("Ports beside systems", style=Style.COUNT, key="pod"),
    Column("Ports of a switch", style=Style.COUNT, key="switch"),
    Column("Ports of an optic", style=Style.COUNT, key="per_optic"),
    Column("Switches at least", style=Style.COUNT, key="least"),
    Column("Ports of a unit", style=Style.COUNT, key="unit"),
    Column("Ports in use", style=Style.COUNT, key="use"),
    Column("Ports built for", style=Style.COUNT, key="built"),
    Column("Leaves", style=Style.COUNT, key="leaf"),
    Column("Spines", style=Style.COUNT, key="spine"),
    Column("Uplinks", style=Style.COUNT, key="uplinks"),
    Column("Check", most=16, key="check"),
    Column("Optics in systems", style=Style.COUNT, key="system_optics"),
    Column("Optics in leaves", style=Style.COUNT, key="leaf_optics"),
    Column("Optics in spines", style=Style.COUNT, key="spine_optics"),
    Column("Cable ends at switches", style=Style.COUNT, key="ends"),
    Column("Ports bought", style=Style.COUNT, key="bought"),
    IN_FULL,
)
RACK_COLUMNS = (
    Column("Pods", most=24),
    Column("Rack", most=30),
    Column("System", most=26),
    Column("Units of a rack", style=Style.COUNT, key="units"),
    Column("Units of a system", style=Style.COUNT, key="size"),
    Column("Power of a rack", "kW", Style.DECIMALS, key="kw"),
    Column("Power of a system", "kW", Style.DECIMALS, key="nameplate"),
    Column("Systems at most", style=Style.COUNT, key="most"),
    Column("Systems a rack", style=Style.COUNT, key="fit"),
    Column("Racks, full Pods", style=Style.COUNT, key="full"),
    Column("Racks, as planned", style=Style.COUNT, key="each"),
    IN_FULL,
)
COOLANT_COLUMNS = (
    Column("Pods", most=24),
    Column("Population", most=30),
    Column("Heat to liquid", "kW", Style.ONE_DECIMAL, key="load"),
    Column("One unit", "kW", Style.ONE_DECIMAL, key="unit"),
    Column("Spare units", style=Style.COUNT, key="spare"),
    Column("Units", style=Style.COUNT, key="units"),
    IN_FULL,
)


def write(page: Page, reported: Reported) -> None:
    """Parts of every run of Pods, then the ports, racks and heat that they follow from."""
    page.title(
        "Balance of plant",
        "Counted for every Pod when full, and beside it for what is planned to stand in it. A figure on yellow is of "
        "the rules in the catalog.",
        "A network is built for whole scalable units of ports; a unit of one port is the least that does not block.",
    )
    page.table(PLANT_COLUMNS, _plant(reported), name=PLANT)
    for heading, columns, rows, name in (
        ("Parts in the bill", COUNTED_COLUMNS, [*_parts_counted(reported)], COUNTED),
        ("Ports of systems", PORT_COLUMNS, [*_ports(reported)], PORTS),
        ("Networks", NETWORK_COLUMNS, [*_networks(reported)], NETWORKS),
        ("Racks: the larger of units and kW, whole systems in whole racks", RACK_COLUMNS, [*_racks(reported)], RACKS),
        ("Coolant distribution units", COOLANT_COLUMNS, [*_coolant(reported)], COOLANT),
    ):
        if rows:
            page.section(heading)
            page.table(columns, rows, name=name)


@dataclass(frozen=True, slots=True)
class RuledPods:
    """A run of equal Pods with rules; `full` and `each` are what stands in one of them when full, and as planned."""

    run: int
    use: PodUse
    rules: BillRules
    lines: tuple[RuleLine, ...]
    full: Population
    each: Population

    @property
    def label(self) -> str:
        return f"{self.use.site.name}: {self.use.numbers}"

    def population(self, way: Way) -> Population:
        return self.full if way == "full" else self.each

    def systems(self, wanted: Selection) -> list[System]:
        return [system for system, _ in self.full if wanted.has(system)]

    def counts(self, way: Way, wanted: Selection) -> list[Reference]:
        """Cells with how many of the systems meant stand in one Pod."""
        return [at("standing", way, (self.run, system.name)) for system in self.systems(wanted)]


def balanced(reported: Reported) -> Iterator[RuledPods]:
    """Runs of Pods that rules speak of."""
    for run, use in enumerate(reported.runs):
        rules = use.pod.bill_rules
        if rules is not None:
            names = sorted({name for name, _ in (*use.filled.systems, *use.filled.fill.systems)})
            full = [(reported.kinds[name], use.filled.fill.count(name)) for name in names]
            standing = dict(use.filled.systems)
            each = [(reported.kinds[name], standing.get(name, 0)) for name in names]
            yield RuledPods(run, use, rules, _counted(rules, full), full, each)


def _counted(rules: BillRules, full: Population) -> tuple[RuleLine, ...]:
    """Lines that count something, or would for other numbers of the same systems: the further tiers of a network."""
    return tuple(
        line
        for line in rules.lines
        if line.rule.quantity(full)
        or (isinstance(line.rule, Switches | Links | Optics) and line.rule.network.size(full).ports)
    )


def plant_rows(reported: Reported, run: int) -> list[tuple[int, str]]:
    """Keys of the parts of one run of Pods, in the order of the sheet."""
    return [(pods.run, line.name) for pods in balanced(reported) if pods.run == run for line in pods.lines]


def _plant(reported: Reported) -> Iterator[Row]:
    known = figure_keys(reported)
    for pods in balanced(reported):
        for line in pods.lines:
            yield _part(reported, pods, line, _source(known, pods, [line]))


def _source(known: Set[FigureKey], pods: RuledPods, lines: Iterable[RuleLine]) -> Cell:
    """A link to the source of the first of the lines that has one."""
    keys = (("bill_rules", pods.rules.name, f"lines.{line.name}") for line in lines)
    found = next((key for key in keys if key in known), None)
    return None if found is None else Link("source", at(FIGURES, "source", found))


def _lines_of(pods: RuledPods, network: Network) -> list[RuleLine]:
    return [
        line
        for line in pods.lines
        if isinstance(line.rule, Switches | Links | Optics) and line.rule.network.name == network.name
    ]


def _part(reported: Reported, pods: RuledPods, line: RuleLine, source: Cell) -> Row:
    place = next((place for place, billed in enumerate(reported.bill) if billed.counts(line)), None)
    full, each = line.rule.quantity(pods.full), line.rule.quantity(pods.each)
    count = pods.use.filled.count
    known = line.unit_kw.value if line.unit_kw else Fraction(0) if line.no_power else None
    value = UNKNOWN if known is None else known
    power: Cell = Input(value, Accepts.FIGURE)
    if place is not None and not line.contained:
        power = formula(if_known("figure"), value, figure=assumed("part", place, "kw"))
    pods_of_run, taken = at("runs", "count", pods.run), at("all pods", "taken", pods.run)
    kw = UNKNOWN if known is None else known * full
    liquid = UNKNOWN if known is None else known * full * line.liquid_share
    air = UNKNOWN if known is None else known * full * (1 - line.liquid_share)
    values: tuple[Cell, ...] = (
        pods.label,
        f"{line.part} ({line.description})",
        str(line.rule),
        _rule_count(line),
        _quantity(pods, line, "full", full),
        formula("{per_pod}*{pods}", full * count, pods=pods_of_run),
        _quantity(pods, line, "each", each),
        formula("{need_pod}*{pods}", each * count, pods=pods_of_run),
        power,
        formula(times_known("{per_pod}", "kw"), kw),
        Input(line.liquid_share, Accepts.SHARE),
        formula(times_known("{share}", "kw_pod"), liquid),
        formula(times_known("(1-{share})", "kw_pod"), air),
        formula("{per_pod}*{taken}", full * dict(reported.runs_with_installed)[pods.run], taken=taken),
        check(UNBILLED if place is None else ENOUGH, "ok"),
        line.confidence,
        source,
    )
    return Row(values, key=(pods.run, line.name))


def _parts_counted(reported: Reported) -> Iterator[Row]:
    """Every part of the balance of plant that the bill has, over all Pods, against the bill."""
    ruled = list(balanced(reported))
    for place, line in enumerate(reported.bill):
        rows = [(pods.run, rule.name) for pods in ruled for rule in pods.lines if line.counts(rule)]
        if rows:
            column = "contained" if line.contained else "quantity"
            values: tuple[Cell, ...] = (
                line.group,
                f"{line.part} ({line.description})",
                added([at(PLANT, "quantity", row) for row in rows], line.quantity),
                formula("{line}", line.quantity, line=at("bill", column, place)),
                check('IF({counted}={billed},"ok","not as in the bill")', "ok"),
            )
            yield Row(values, key=place)


def billed(place: int | None, cells: Sequence[Reference]) -> Cell:
    """Whether a line of the bill has the sum of cells; where it has no line, whether there is nothing to order."""
    total = added(cells, 0)
    if not isinstance(total, Formula):
        return check('"ok"', "ok")
    if place is None:
        return check(f'IF({total.text}>0,"bought beyond the bill","ok")', "ok", **total.references)
    line = at("bill", "quantity", place)
    return check(f'IF({{line}}={total.text},"ok","not as in the bill")', "ok", line=line, **total.references)


def _rule_count(line: RuleLine) -> Cell:
    match line.rule:
        case PerPod(count=count) | PerSystem(count=count) | PerGpu(count=count) | PerRack(count=count):
            return Input(count, Accepts.COUNT)
        case _:
            return None


def _quantity(pods: RuledPods, line: RuleLine, way: Way, value: int) -> Cell:
    """How many of a part one Pod takes, from the tables below."""
    match line.rule:
        case PerPod(systems=wanted):
            total = _summed(pods.counts(way, wanted), "IF({total}>0,{count},0)")
        case PerSystem(systems=wanted):
            total = _summed(pods.counts(way, wanted), "{count}*{total}")
        case PerGpu(systems=wanted):
            column = "gpus" if way == "each" else "full_gpus"
            cells = [at("standing", column, (pods.run, system.name)) for system in pods.systems(wanted)]
            total = _summed(cells, "{count}*{total}")
        case Racks() as racks:
            total = _summed(_rack_cells(pods, racks, way), "{total}")
        case PerRack(racks=racks):
            total = _summed(_rack_cells(pods, racks, way), "{count}*{total}")
        case Switches(network=network, tier=tier):
            total = _of_network(pods, network, way, tier)
        case Links(network=network, tier=tier):
            total = _of_network(pods, network, way, "use" if tier == "system-leaf" else "uplinks")
        case Optics(network=network, at=where):
            total = _of_network(pods, network, way, f"{where}_optics")
        case CoolantUnits():
            total = formula("{units}", 0, units=at(COOLANT, "units", (pods.run, line.name, way)))
        case _:
            raise TypeError(f"no formula counts {line.rule}")
    return Formula(total.text, value, total.references)


def _summed(cells: Sequence[Reference], text: str) -> Formula:
    """`text` with the sum of cells in place of `{total}`."""
    names = {f"cell_{place}": cell for place, cell in enumerate(cells)}
    total = f"({'+'.join(f'{{{name}}}' for name in names)})" if names else "0"
    return Formula(text.replace("{total}", total), 0, names)


def _of_network(pods: RuledPods, network: Network, way: Way, column: str) -> Formula:
    return formula("{cell}", 0, cell=at(NETWORKS, column, (pods.run, network.name, way)))


def _networks_of(pods: RuledPods) -> tuple[Network, ...]:
    rules = (line.rule for line in pods.lines)
    found = [rule.network for rule in rules if isinstance(rule, Switches | Links | Optics)]
    return tuple({network.name: network for network in found}.values())


def _attached(pods: RuledPods, network: Network) -> list[tuple[Attachment, System, int]]:
    return [found for found in network.attached(pods.full) if found[0].ports]


def _ports(reported: Reported) -> Iterator[Row]:
    known = figure_keys(reported)
    for pods in balanced(reported):
        standing = {system.name: count for system, count in pods.each}
        for network in _networks_of(pods):
            for attachment, system, full in _attached(pods, network):
                ports, optics, each = attachment.ports_of(system), attachment.optics_of(system), standing[system.name]
                full_cell, each_cell = (at("standing", way, (pods.run, system.name)) for way, _ in WAYS)
                values: tuple[Cell, ...] = (
                    pods.label,
                    network.name,
                    system.name,
                    Input(ports, Accepts.COUNT),
                    Input(attachment.ports_per_optic, Accepts.COUNT),
                    formula("{ports}*{systems}", ports * full, systems=full_cell),
                    formula("ROUNDUP({ports}/{per_optic},0)*{systems}", optics * full, systems=full_cell),
                    formula("{ports}*{systems}", ports * each, systems=each_cell),
                    formula("ROUNDUP({ports}/{per_optic},0)*{systems}", optics * each, systems=each_cell),
                    _source(known, pods, _lines_of(pods, network)),
                )
                yield Row(values, key=(pods.run, network.name, system.name))


def _networks(reported: Reported) -> Iterator[Row]:
    known = figure_keys(reported)
    for pods in balanced(reported):
        for network in _networks_of(pods):
            for way, words in WAYS:
                source = _source(known, pods, _lines_of(pods, network))
                yield _network(pods, network, way, words, source)


def _network(pods: RuledPods, network: Network, way: Way, words: str, source: Cell) -> Row:
    population = pods.population(way)
    size = network.size(population)
    attached = [(pods.run, network.name, system.name) for _, system, _ in _attached(pods, network)]
    built = -(-size.ports // network.unit_ports) * network.unit_ports
    two = network.tiers == 2
    down = "INT({switch}/2)" if two else "{switch}"
    ends, bought = size.ports + 2 * size.uplinks, (size.leaves + size.spines) * network.switch_ports
    ports = {"systems": span(PORTS, way, attached)} if attached else {}
    optics = {"systems": span(PORTS, f"{way}_optics", attached)} if attached else {}
    system_optics: Cell = network.system_optics(population)
    if attached:
        system_optics = formula("SUM({systems})", network.system_optics(population), **optics)
    values: tuple[Cell, ...] = (
        pods.label,
        network.name,
        words,
        Input(network.pod_ports, Accepts.COUNT),
        Input(network.switch_ports, Accepts.COUNT),
        Input(network.ports_per_optic, Accepts.COUNT),
        Input(network.at_least, Accepts.COUNT),
        Input(network.unit_ports, Accepts.COUNT),
        formula("{pod}+SUM({systems})" if attached else "{pod}", size.ports, **ports),
        formula("ROUNDUP({use}/{unit},0)*{unit}", built),
        formula(f"IF({{use}}=0,0,MAX({{least}},ROUNDUP({{built}}/{down},0)))", size.leaves),
        formula("IF({leaf}>1,ROUNDUP({built}/{switch},0),0)", size.spines) if two else 0,
        formula("IF({leaf}>1,{built},0)", size.uplinks) if two else 0,
        check(RECONCILES_IN_TWO if two else RECONCILES_IN_ONE, "ok"),
        system_optics,
        formula(f"{_dealt('use', 'leaf')}+{_dealt('uplinks', 'leaf')}", network.leaf_optics(population)),
        formula(_dealt("uplinks", "spine"), network.spine_optics(population)),
        formula("{use}+2*{uplinks}", ends),
        formula("({leaf}+{spine})*{switch}", bought),
        source,
    )
    return Row(values, key=(pods.run, network.name, way))


NO_KW_LIMIT = "no kW limit published"
ENOUGH = 'IF({need_pod}<={per_pod},"ok","too few")'
UNBILLED = 'IF({quantity}>0,"not in the bill","ok")'
RECONCILES_IN_ONE = 'IF({use}<={leaf}*{switch},"ok","too few ports")'
RECONCILES_IN_TWO = (
    'IF(({use}+{uplinks}<={leaf}*{switch})*({uplinks}<={spine}*{switch})*({leaf}<={switch}),"ok","too few ports")'
)


def _dealt(links: str, switches: str) -> str:
    """Whole optics for each switch, links dealt over the switches as evenly as whole numbers allow."""
    n, s, optic = f"{{{links}}}", f"{{{switches}}}", "{per_optic}"
    return (
        f"IF({s}=0,0,MOD({n},MAX(1,{s}))*ROUNDUP((INT({n}/MAX(1,{s}))+1)/{optic},0)"
        f"+({s}-MOD({n},MAX(1,{s})))*ROUNDUP(INT({n}/MAX(1,{s}))/{optic},0))"
    )


def _racks_of(pods: RuledPods) -> tuple[Racks, ...]:
    rules = [line.rule for line in pods.lines]
    found = [rule.racks if isinstance(rule, PerRack) else rule for rule in rules if isinstance(rule, Racks | PerRack)]
    return tuple({racks.name: racks for racks in found}.values())


def _racked(pods: RuledPods, racks: Racks) -> Iterator[tuple[RackLimit, System]]:
    for system, _ in pods.full:
        for limit in racks.limits:
            if limit.systems.has(system):
                yield limit, system
                break


def _rack_cells(pods: RuledPods, racks: Racks, way: Way) -> list[Reference]:
    return [at(RACKS, way, (pods.run, racks.name, system.name)) for _, system in _racked(pods, racks)]


def _racks(reported: Reported) -> Iterator[Row]:
    known = figure_keys(reported)
    for pods in balanced(reported):
        full, each = ({system.name: count for system, count in population} for population in (pods.full, pods.each))
        for racks in _racks_of(pods):
            for limit, system in _racked(pods, racks):
                fit = limit.systems_per_rack(system)
                full_cell, each_cell = (at("standing", way, (pods.run, system.name)) for way, _ in WAYS)
                terms = []
                nameplate: Cell = None
                if limit.units is not None and system.rack_units is not None:
                    terms.append("INT({units}/{size})")
                if limit.kw is not None and system.nameplate_kw is not None:
                    terms.append("IF(N({nameplate})>0,INT(ROUND({kw}/N({nameplate}),9)),1)")
                    figure = assumed("system", system.name, "nameplate_kw")
                    nameplate = formula(if_known("figure"), system.nameplate_kw.value, figure=figure)
                if limit.most is not None:
                    terms.append("{most}")
                text = f"MAX(1,MIN({','.join(terms)}))" if terms else "1"
                values: tuple[Cell, ...] = (
                    pods.label,
                    racks.name,
                    system.name,
                    None if limit.units is None else Input(limit.units, Accepts.COUNT),
                    Input(system.rack_units.value, Accepts.COUNT) if system.rack_units else UNKNOWN,
                    _kw_limit(limit),
                    nameplate,
                    None if limit.most is None else Input(limit.most, Accepts.COUNT),
                    formula(text, fit),
                    formula("ROUNDUP({systems}/{fit},0)", -(-full[system.name] // fit), systems=full_cell),
                    formula("ROUNDUP({systems}/{fit},0)", -(-each[system.name] // fit), systems=each_cell),
                    _source(known, pods, (line for line in pods.lines if line.rule == racks)),
                )
                yield Row(values, key=(pods.run, racks.name, system.name))


def _kw_limit(limit: RackLimit) -> Cell:
    """What a rack may draw; that the rules say nothing of it, where units fill the rack."""
    if limit.kw is not None:
        return Input(limit.kw)
    return None if limit.units is None else NO_KW_LIMIT


def _coolant(reported: Reported) -> Iterator[Row]:
    known = figure_keys(reported)
    for pods in balanced(reported):
        for line in pods.lines:
            if isinstance(line.rule, CoolantUnits):
                for way, words in WAYS:
                    yield _cooled(pods, line.name, line.rule, way, words, _source(known, pods, [line]))


def _cooled(pods: RuledPods, name: str, rule: CoolantUnits, way: Way, words: str, source: Cell) -> Row:
    population = pods.population(way)
    load = sum((liquid_load_kw(system) * count for system, count in population), Fraction(0))
    loads = _loads(pods, way, population)
    values: tuple[Cell, ...] = (
        pods.label,
        words,
        Formula(loads.text, load, loads.references),
        Input(rule.unit_kw),
        Input(rule.spare, Accepts.COUNT),
        formula("IF({load}>0,ROUNDUP(ROUND({load}/{unit},9),0)+{spare},0)", rule.quantity(population)),
        source,
    )
    return Row(values, key=(pods.run, name, way))


def _loads(pods: RuledPods, way: Way, population: Population) -> Formula:
    """Heat that coolant must carry, as `liquid_load_kw` counts it."""
    terms, cells = [], {}
    for place, (system, _) in enumerate(population):
        if not liquid_load_kw(system):
            continue
        otherwise = "0" if system.mainly_air else f"N({{all_{place}}})"
        terms.append(f"{{count_{place}}}*IF(ISNUMBER({{load_{place}}}),{{load_{place}}},{otherwise})")
        cells[f"count_{place}"] = at("standing", way, (pods.run, system.name))
        cells[f"load_{place}"] = assumed("system", system.name, "liquid_kw")
        if not system.mainly_air:
            cells[f"all_{place}"] = assumed("system", system.name, "nameplate_kw")
    return Formula("+".join(terms) or "0", 0, cells)
