"""The bill of units: what a plan buys, line by line, with the rule that counts each and where it comes from.

Pods and systems are those that the plan buys; what is installed already has lines of its own, of which nothing is to
order. GPUs and scale-up domains come with the systems: they are listed for information, without a number, and nobody
orders them. The balance of plant is counted by the rule set of the Pod type, for every Pod at its full population, and
summed; beside it stands what the systems of the plan need by themselves. That of installed Pods is taken to stand with
them: it draws its power, and only the rest is to order.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil
from typing import Any

from sizing.facility.bill_rules import BillRules, RuleLine
from sizing.facility.pod import PodType
from sizing.facility.prices import Price
from sizing.facility.system import System
from sizing.plan.cost import source_of_price
from sizing.plan.inventory import bought_pods, installed_systems, to_buy
from sizing.plan.plan import FilledPods, Plan
from sizing.units.amounts import plain
from sizing.units.figures import Figure

NOTHING = Fraction(0)
UNKNOWN_POWER = "power unknown, in no sum"
UNPRICED = "unpriced"
INSTALLED = "Installed already"
_RISING = ("", "low", "medium", "high")


@dataclass(frozen=True, slots=True)
class BillLine:
    """One line. `unit_kw` and `unit_usd` are None where unknown and 0 where the part adds none.

    `number` None: `contained` in the systems, which have lines of their own. `needed` is by the same rule, but for the
    systems that stand in the Pods alone; None where that is what is counted. `installed` of the quantity stand already:
    they draw power, and are not ordered. `spare_share` of the rest is ordered beside it and draws nothing; None: no
    figure is at hand, and none are ordered.
    """

    number: int | None
    group: str
    manufacturer: str
    part: str
    description: str
    quantity: int
    unit: str
    rule: str
    unit_kw: Fraction | None
    unit_usd: Fraction | None
    sources: tuple[str, ...]
    confidence: str
    remark: str
    contained: bool = False
    needed: int | None = None
    spare_share: Fraction | None = None
    installed: int = 0

    @property
    def source(self) -> str:
        return "; ".join(self.sources)

    @property
    def spares(self) -> int:
        return ceil((self.quantity - self.installed) * (self.spare_share or 0))

    @property
    def ordered(self) -> int:
        """How much is to buy, spares included."""
        return self.quantity - self.installed + self.spares

    @property
    def is_installed(self) -> bool:
        """Whether all of it stands already."""
        return self.installed == self.quantity

    @property
    def total_kw(self) -> Fraction | None:
        return None if self.unit_kw is None else self.unit_kw * self.quantity

    @property
    def total_usd(self) -> Fraction | None:
        return None if self.unit_usd is None else self.unit_usd * self.ordered

    def counts(self, rule: RuleLine) -> bool:
        """Whether it is the line that a part of the balance of plant is counted in."""
        mine = self.group, self.manufacturer, self.part, self.description, self.unit, self.contained, self.unit_kw
        part = _part_of(rule)
        its = part.group, part.manufacturer, part.part, part.description, part.unit, part.contained, part.unit_kw
        return mine == its and self.spare_share == part.spare_share


def bill_of_units(plan: Plan) -> tuple[BillLine, ...]:
    """All lines of a plan, group by group, equal parts in one line; what is not needed is left out.

    kW of the groups Systems and Installed already add up to `totals.nameplate_kw`, those of the balance of plant to
    `totals.balance_kw`.
    """
    counted: dict[_Part, _Count] = {}
    own = (*_pods(plan), *_systems(plan), *_installed(plan), *_contents(plan))
    for part, count in (*own, *_balance_of_plant(plan)):
        counted[part] = counted[part].with_more(count) if part in counted else count
    groups = list(dict.fromkeys(part.group for part in counted))
    ordered = sorted(counted.items(), key=lambda item: groups.index(item[0].group))
    numbers = iter(range(1, len(ordered) + 1))
    return tuple(_line(None if part.contained else next(numbers), part, count) for part, count in ordered)


@dataclass(frozen=True, slots=True)
class _Part:
    """What makes two lines one."""

    group: str
    manufacturer: str
    part: str
    description: str
    unit: str = "piece"
    unit_kw: Fraction | None = NOTHING
    unit_usd: Fraction | None = None
    contained: bool = False
    spare_share: Fraction | None = None


@dataclass(frozen=True, slots=True)
class _Count:
    """How many of a part, by which rules, from which sources; `needed` and `installed` as in `BillLine`."""

    quantity: int
    rules: tuple[str, ...]
    sources: tuple[str, ...] = ()
    confidences: tuple[str, ...] = ("high",)
    remarks: tuple[str, ...] = ()
    needed: int | None = None
    installed: int = 0

    def with_more(self, more: "_Count") -> "_Count":
        return replace(
            self,
            quantity=self.quantity + more.quantity,
            rules=self.rules + more.rules,
            sources=self.sources + more.sources,
            confidences=self.confidences + more.confidences,
            remarks=self.remarks + more.remarks,
            needed=None if self.needed is None or more.needed is None else self.needed + more.needed,
            installed=self.installed + more.installed,
        )


def _line(number: int | None, part: _Part, count: _Count) -> BillLine:
    """A line with every text told once, and the least of its confidences."""
    stands = [f"{count.installed:,} taken to stand with the installed Pods"] if _stands_with_pods(part, count) else []
    unknowns = [UNKNOWN_POWER] * (part.unit_kw is None) + [UNPRICED] * (part.unit_usd is None)
    return BillLine(
        number=number,
        group=part.group,
        manufacturer=part.manufacturer,
        part=part.part,
        description=part.description,
        quantity=count.quantity,
        unit=part.unit,
        rule=_joined(count.rules),
        unit_kw=part.unit_kw,
        unit_usd=part.unit_usd,
        sources=_distinct(count.sources),
        confidence=min(count.confidences, key=_RISING.index),
        remark=_joined([*count.remarks, *stands, *unknowns]),
        contained=part.contained,
        needed=count.needed,
        spare_share=part.spare_share,
        installed=count.installed,
    )


def _stands_with_pods(part: _Part, count: _Count) -> bool:
    return count.installed > 0 and part.group != INSTALLED


def _pods(plan: Plan) -> Iterator[tuple[_Part, _Count]]:
    sites = {site.name: site for site in plan.request.sites}
    for name, count in bought_pods(plan.request, plan.pods).items():
        pod = sites[name].pod
        price = plan.request.policy.prices.of_pod(pod)
        part = _Part("Pods", "", pod.name, pod.title, unit_usd=None if price is None else price.high)
        yield part, _priced(_count_of_pods(plan, pod, count, "as planned"), plan, price, "pods", pod.name)


def _count_of_pods(plan: Plan, pod: PodType, count: int, rule: str) -> _Count:
    entry = _entry(plan, "pods", pod.name)
    size = f"{plain(pod.power_kw.value, 'kW')} at its input, {plain(pod.gpu_slots.value, 'GPU slots')}"
    titles = (
        *_titles(entry.get("power_kw"), pod.power_kw.sources),
        *_titles(entry.get("gpu_slots"), pod.gpu_slots.sources),
    )
    confidences = pod.power_kw.confidence, pod.gpu_slots.confidence
    return _Count(count, (rule,), titles, confidences, (size, "what stands in it is counted in the lines below"))


def _systems(plan: Plan) -> Iterator[tuple[_Part, _Count]]:
    for system, bought in _bought(plan):
        spare = min(bought, plan.request.policy.spare_systems)
        rule = f"as planned, {spare} of them spare" if spare else "as planned"
        price = plan.request.policy.prices.of_system(system)
        part, count = _system(plan, system, bought, rule)
        yield (
            replace(part, unit_usd=None if price is None else price.high),
            _priced(count, plan, price, "systems", system.name),
        )


def _system(plan: Plan, system: System, number: int, rule: str) -> tuple[_Part, _Count]:
    """Systems of a kind with their power; without a price."""
    part = _Part("Systems", system.vendor, system.name, system.title, unit_kw=None)
    nameplate = system.nameplate_kw
    if nameplate is None:
        return part, _Count(number, (rule,), confidences=("",))
    titles = _titles(_entry(plan, "systems", system.name).get("nameplate_kw"), nameplate.sources)
    return (
        replace(part, unit_kw=nameplate.value),
        _Count(number, (rule,), titles, (nameplate.confidence,), _said_of(nameplate)),
    )


def _priced(count: _Count, plan: Plan, price: Price | None, section: str, name: str) -> _Count:
    """With where the price comes from, and its range."""
    if price is None:
        return count
    source = source_of_price(plan.request, section, name)
    ends = " to ".join(plain(end, "USD") for end in (price.low, price.high))
    said = (f"price {ends}, its high end counts",) if price.is_range else ()
    titles = (f"price: {source}",) if source else ()
    return replace(count, sources=(*count.sources, *titles), remarks=(*count.remarks, *said))


def _installed(plan: Plan) -> Iterator[tuple[_Part, _Count]]:
    """What stands there already: counted against the limits, and paid for."""
    for site in plan.request.sites:
        if site.installed_pods:
            part = _Part(INSTALLED, "", site.pod.name, site.pod.title, unit_usd=NOTHING)
            count = _count_of_pods(plan, site.pod, site.installed_pods, "as the workload states")
            yield part, replace(count, installed=count.quantity)
    kinds = {system.name: system for system in plan.request.candidates}
    for name, number in sorted(installed_systems(plan.request).items()):
        part, count = _system(plan, kinds[name], number, "as the workload states")
        yield replace(part, group=INSTALLED, unit_usd=NOTHING), replace(count, installed=count.quantity)


def _contents(plan: Plan) -> Iterator[tuple[_Part, _Count]]:
    """GPUs and scale-up domains: they come with the systems and add neither power nor price."""
    for system, bought in _bought(plan):
        gpu, label = system.gpu, system.gpu.hbm_label_gb
        titles = _titles(_entry(plan, "gpus", gpu.name).get("hbm_label_gb"), label.sources)
        memory = f"{plain(label.value, 'GB')} {gpu.memory_kind} each by label"
        yield (
            _Part("GPUs", gpu.vendor, gpu.name, gpu.title, unit_usd=NOTHING, contained=True),
            _Count(
                bought * system.gpus,
                (f"{system.gpus} in each {system.name}",),
                titles,
                (label.confidence,),
                (memory, "contained in the systems"),
            ),
        )
    for system, bought in _bought(plan):
        size = f"domain of {plain(system.domain_gpus, 'GPUs')} in {system.name}"
        yield (
            _Part("Scale-up domains", system.vendor, system.scale_up, size, "domain", unit_usd=NOTHING, contained=True),
            _Count(
                bought * system.domains_per_system,
                (f"{system.domains_per_system} in each {system.name}",),
                ("as of its system",),
                remarks=("its switches and links are contained in the systems",),
            ),
        )


def _balance_of_plant(plan: Plan) -> Iterator[tuple[_Part, _Count]]:
    systems = {system.name: system for system in plan.request.candidates}
    sites = {site.name: site for site in plan.request.sites}
    for filled, installed in runs_with_installed(plan):
        rules = sites[filled.site].pod.bill_rules
        if rules is not None:
            yield from _by_rules(plan, rules, filled, installed, systems)


def runs_with_installed(plan: Plan) -> Iterator[tuple[FilledPods, int]]:
    """Runs of equal Pods, each with how many of it are taken for the installed ones of its site.

    Which these are no workload states. First come Pods that hold a kind of system that is installed there, then the
    order of the plan.
    """
    sites = {site.name: site for site in plan.request.sites}
    left = {site.name: site.installed_pods for site in plan.request.sites}
    taken = [0] * len(plan.pods)

    def holds_none_installed(place: int) -> bool:
        run = plan.pods[place]
        return not any(sites[run.site].installed(name) for name, _ in run.systems)

    for place in sorted(range(len(plan.pods)), key=holds_none_installed):
        run = plan.pods[place]
        taken[place] = min(left[run.site], run.count)
        left[run.site] -= taken[place]
    yield from zip(plan.pods, taken, strict=True)


def _by_rules(
    plan: Plan, rules: BillRules, filled: FilledPods, installed: int, systems: Mapping[str, System]
) -> Iterator[tuple[_Part, _Count]]:
    population = [(systems[name], count) for name, count in filled.fill.systems]
    standing = [(systems[name], count) for name, count in filled.systems]
    entries = _entry(plan, "bill_rules", rules.name).get("lines", {})
    for line in rules.lines:
        each = line.rule.quantity(population)
        if each:
            count = _count_of(line, each * filled.count, entries.get(line.name, {}))
            needed = line.rule.quantity(standing) * filled.count
            yield _part_of(line), replace(count, needed=needed, installed=each * installed)


def _part_of(line: RuleLine) -> _Part:
    known = NOTHING if line.no_power else None
    return _Part(
        group=line.group,
        manufacturer=line.manufacturer,
        part=line.part,
        description=line.description,
        unit=line.unit,
        unit_kw=known if line.unit_kw is None else line.unit_kw.value,
        unit_usd=NOTHING if line.contained else None,
        contained=line.contained,
        spare_share=None if line.spares is None else line.spares.value,
    )


def _count_of(line: RuleLine, quantity: int, entry: Mapping[str, Any]) -> _Count:
    count = _Count(quantity, (str(line.rule),), _titles(entry, line.sources), (line.confidence,), (line.remark,))
    if line.no_power:
        count = replace(count, remarks=(*count.remarks, f"no power of its own: {line.no_power}"))
    if line.spares is not None:
        count = replace(
            count,
            sources=(*count.sources, *_titles(entry.get("spares"), line.spares.sources)),
            confidences=(*count.confidences, line.spares.confidence),
            remarks=(*count.remarks, f"{plain(line.spares.value * 100, '%')} spare, {line.spares.basis}".rstrip(", ")),
        )
    figure = line.unit_kw
    if figure is None:
        return count
    return replace(
        count,
        sources=(*count.sources, *_titles(entry.get("unit_kw"), figure.sources)),
        confidences=(*count.confidences, figure.confidence),
        remarks=(*count.remarks, *_said_of(figure)),
    )


def _bought(plan: Plan) -> Iterator[tuple[System, int]]:
    systems = {system.name: system for system in plan.request.candidates}
    for name, count in to_buy(plan)[1].items():
        yield systems[name], count


def _entry(plan: Plan, section: str, name: str) -> Mapping[str, Any]:
    """The catalog entry in use, as the request carries it; empty where it carries none."""
    found: Mapping[str, Any] = plan.request.entries.get(section, {}).get(name, {})
    return found


def _titles(node: Any, keys: Sequence[str]) -> tuple[str, ...]:
    """Titles of the sources of a figure or line of an entry; their keys where the entry does not resolve them."""
    listed = node.get("sources", ()) if isinstance(node, Mapping) else ()
    titles = tuple(str(source["title"]) for source in listed if isinstance(source, Mapping) and source.get("title"))
    return titles or tuple(keys)


def _said_of(figure: Figure[Fraction]) -> tuple[str, ...]:
    """What a kW figure says of itself: its basis, its range, its note."""
    spread = "" if figure.range is None else " to ".join(plain(end, "kW") for end in figure.range)
    return figure.basis, spread, figure.note


def _joined(parts: Iterable[str]) -> str:
    return "; ".join(_distinct(parts))


def _distinct(parts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(part for part in parts if part))
