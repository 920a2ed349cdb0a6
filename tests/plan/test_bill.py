"""The bill of units: every line's quantity by hand, and sums that agree with the plan's totals."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from sizing.catalog.catalog import Catalog
from sizing.facility.bill_rules import BillRules, RuleLine, balance
from sizing.facility.network import Attachment, Network
from sizing.facility.pod import Fill, PodType
from sizing.facility.quantities import Links, PerPod, PerSystem, QuantityRule, Switches
from sizing.facility.selection import Selection
from sizing.plan.bill import BillLine, bill_of_units, runs_with_installed
from sizing.plan.plan import FilledPods, Plan
from tests.plan_builders import NODE, RACK, TEST_POD, figure, two_sites

ALL = Selection()
NETWORK = Network("net", 2, 64, (Attachment(ALL, 1, 1),))
SYSTEMS = {"node-8": NODE, "rack-72": RACK}
OWN_GROUPS = ("Pods", "Systems", "GPUs", "Scale-up domains")


def rule_line(name: str, group: str, rule: QuantityRule, kw: str | None = None, **more: Any) -> RuleLine:
    power = None if kw is None else figure(Fraction(kw), "kW")
    fields = (name, group, "maker", name, f"a {name}", "piece", rule, ("paper",), "2026-01-01", "medium", power)
    return RuleLine(*fields, **more)  # type: ignore[arg-type]


NORTH = BillRules(
    "north-rules",
    "Rules of the north",
    (
        rule_line("leaf", "Network", Switches(NETWORK, "leaf"), "1.7", remark="a remark"),
        rule_line("spine", "Network", Switches(NETWORK, "spine"), "1.7", liquid_share=Fraction(1, 2)),
        rule_line("fibre", "Network", Links(NETWORK, "system-leaf"), no_power="passive"),
        rule_line("server", "Management", PerPod(5, ALL)),
        rule_line("shelf", "Racks", PerSystem(1, Selection(form="rack")), no_power="in the system", contained=True),
        rule_line("nothing", "Racks", PerPod(3, Selection(vendors=frozenset({"nobody"}))), "9"),
    ),
)
SOUTH = BillRules(
    "south-rules",
    "Rules of the south",
    (
        rule_line("server", "Management", PerPod(2, ALL)),
        rule_line("leaf", "Network", PerPod(3, ALL), "1.7", remark="another remark"),
        rule_line("spine", "Network", PerPod(1, ALL), "2.5"),
    ),
)


def with_rules(plan: Plan, **rules: BillRules) -> Plan:
    """`plan` with these rules at its sites, its fills and totals counted anew."""
    pods: dict[str, PodType] = {
        site: replace(TEST_POD, name=f"{site}-pod", bill_rules=counted) for site, counted in rules.items()
    }
    sites = tuple(replace(site, pod=pods.get(site.name, site.pod)) for site in plan.request.sites)
    filled = []
    for run in plan.pods:
        if run.site in rules:
            population = [(SYSTEMS[name], count) for name, count in run.fill.systems]
            fill = Fill(run.fill.systems, balance(rules[run.site], population))
            filled.append(FilledPods(run.site, pods[run.site].name, run.systems, fill, run.count))
        else:
            filled.append(run)
    return replace(
        plan,
        request=replace(plan.request, sites=sites),
        pods=tuple(filled),
        totals=replace(
            plan.totals,
            balance_kw=sum((run.fill.balance.kw * run.count for run in filled), Fraction(0)),
            balance_liquid_kw=sum((run.fill.balance.liquid_kw * run.count for run in filled), Fraction(0)),
            balance_air_kw=sum((run.fill.balance.air_kw * run.count for run in filled), Fraction(0)),
        ),
    )


def only(lines: tuple[BillLine, ...], part: str) -> BillLine:
    [line] = [line for line in lines if line.part == part]
    return line


def known_kw(lines: Sequence[BillLine], own: bool) -> Fraction:
    known = [line.total_kw for line in lines if (line.group in OWN_GROUPS) == own and line.total_kw is not None]
    return sum(known, Fraction(0))


def test_what_a_plan_buys() -> None:
    lines = bill_of_units(two_sites())
    assert [(line.number, line.group, line.part, line.quantity, line.total_kw) for line in lines] == [
        (1, "Pods", "test-pod", 2, 0),
        (2, "Systems", "node-8", 3, Fraction("30.6")),
        (3, "Systems", "rack-72", 2, 284),
        (None, "GPUs", "gpu-of-node-8", 24, 0),
        (None, "GPUs", "gpu-of-rack-72", 144, 0),
        (None, "Scale-up domains", "NVLink", 3, 0),
        (None, "Scale-up domains", "NVLink", 2, 0),
    ]
    assert [line.description for line in lines[5:]] == ["domain of 8 GPUs in node-8", "domain of 72 GPUs in rack-72"]


def test_systems_say_what_is_spare_and_where_their_power_comes_from() -> None:
    plan = two_sites()
    nameplate = replace(figure(Fraction("10.2"), "kW"), range=(Fraction(8), Fraction("10.2")), basis="vendor maximum")
    node = replace(NODE, nameplate_kw=replace(nameplate, confidence="low"))
    asked = replace(
        plan.request,
        candidates=(node, RACK),
        entries={"systems": {"node-8": {"nameplate_kw": {"sources": [{"title": "A data sheet", "address": "x"}]}}}},
    )
    line = only(bill_of_units(replace(plan, request=asked)), "node-8")
    assert line.rule == "as planned, 1 of them spare"
    assert line.source == "A data sheet"
    assert line.confidence == "low"
    assert line.remark == "vendor maximum; 8 kW to 10.2 kW; unpriced"


def test_contents_add_neither_power_nor_price() -> None:
    for line in bill_of_units(two_sites()):
        if line.group in ("GPUs", "Scale-up domains"):
            assert line.total_kw == 0
            assert line.total_usd == 0
            assert "contained in the systems" in line.remark
        else:
            assert line.total_usd is None
            assert "unpriced" in line.remark


def test_balance_is_counted_at_full_pods() -> None:
    """One Pod of 1 rack and 7 nodes: 128 ports, 4 leaves, 2 spines. The second Pod has no rules."""
    lines = bill_of_units(with_rules(two_sites(), north=NORTH))
    counted = [(line.group, line.part, line.quantity) for line in lines if line.group not in OWN_GROUPS]
    assert counted == [
        ("Network", "leaf", 4),
        ("Network", "spine", 2),
        ("Network", "fibre", 128),
        ("Management", "server", 5),
        ("Racks", "shelf", 1),
    ]
    leaf, server = only(lines, "leaf"), only(lines, "server")
    assert leaf.rule == "system ports / 32 (half of the 64 ports go up)"
    assert leaf.remark == "a remark; unpriced"
    assert leaf.confidence == "medium"  # of the quantity; the power's is high
    assert leaf.source == "paper; test"
    assert (server.unit_kw, server.total_kw, server.total_usd) == (None, None, None)
    assert server.remark == "power unknown, in no sum; unpriced"
    assert only(lines, "fibre").remark == "no power of its own: passive; unpriced"
    assert only(lines, "shelf").unit_kw == 0
    assert only(lines, "shelf").unit_usd == 0


def test_what_the_systems_of_the_plan_need_stands_beside_what_full_pods_take() -> None:
    """One Pod of 1 rack and 2 nodes, of a fill of 1 rack and 7 nodes: 88 ports, 3 leaves, 2 spines."""
    lines = bill_of_units(with_rules(two_sites(), north=NORTH))
    beside = {line.part: (line.quantity, line.needed) for line in lines if line.group not in OWN_GROUPS}
    assert beside == {"leaf": (4, 3), "spine": (2, 2), "fibre": (128, 88), "server": (5, 5), "shelf": (1, 1)}
    assert {line.needed for line in lines if line.group in OWN_GROUPS} == {None}
    assert only(lines, "shelf").contained


def test_spares_are_a_share_of_the_quantity_rounded_up() -> None:
    """5 % of 128 fibres are 6.4: 7 are ordered beside them. They draw nothing, and are paid for."""
    share = replace(figure(Fraction(5, 100)), basis="as agreed", confidence="low")
    lines = tuple(replace(line, spares=share) if line.name == "fibre" else line for line in NORTH.lines)
    fibre = only(bill_of_units(with_rules(two_sites(), north=replace(NORTH, lines=lines))), "fibre")
    assert (fibre.quantity, fibre.spares, fibre.ordered, fibre.confidence) == (128, 7, 135, "low")
    assert fibre.total_kw == 0
    assert replace(fibre, unit_usd=Fraction(10)).total_usd == 1350
    assert "5 % spare, as agreed" in fibre.remark
    without = bill_of_units(with_rules(two_sites(), north=NORTH))
    assert {line.spares for line in without} == {0}


def test_equal_parts_of_two_rule_sets_are_one_line() -> None:
    """Both sites have leaves of 1.7 kW and servers; the spines differ in power and stay apart. Groups stay together."""
    lines = bill_of_units(with_rules(two_sites(), north=NORTH, south=SOUTH))
    counted = [(line.group, line.part, line.quantity, line.unit_kw) for line in lines if line.group not in OWN_GROUPS]
    assert counted == [
        ("Network", "leaf", 7, Fraction("1.7")),
        ("Network", "spine", 2, Fraction("1.7")),
        ("Network", "fibre", 128, 0),
        ("Network", "spine", 1, Fraction("2.5")),
        ("Management", "server", 7, None),
        ("Racks", "shelf", 1, 0),
    ]
    leaf = only(lines, "leaf")
    assert leaf.rule == "system ports / 32 (half of the 64 ports go up); 3 per Pod"
    assert leaf.remark == "a remark; another remark; unpriced"
    ordered = [line.number for line in lines if not line.contained]
    assert ordered == list(range(1, len(ordered) + 1))
    assert {line.number for line in lines if line.contained} == {None}


def with_installed(plan: Plan, pods: int, **systems: int) -> Plan:
    """Installed in the north, whose one Pod holds 1 rack and 2 nodes."""
    named = {name.replace("_", "-"): count for name, count in systems.items()}
    sites = tuple(
        replace(site, installed_pods=pods, installed_systems=named) if site.name == "north" else site
        for site in plan.request.sites
    )
    return replace(plan, request=replace(plan.request, sites=sites))


def test_of_what_is_installed_nothing_is_to_order() -> None:
    lines = bill_of_units(with_installed(two_sites(), 1, node_8=2))
    there = [(line.part, line.quantity, line.ordered, line.total_usd) for line in lines if line.is_installed]
    assert there == [("test-pod", 1, 0, 0), ("node-8", 2, 0, 0)]
    assert {line.group for line in lines if line.is_installed} == {"Installed already"}
    assert known_kw([line for line in lines if line.part == "node-8"], own=False) == Fraction("20.4")


def test_the_plant_of_installed_pods_is_not_ordered_and_draws_power() -> None:
    """Three equal Pods of 4 leaves each, one of which stands: 12 are built, 8 are ordered with 5 % spares, 0.4 -> 1."""
    share = figure(Fraction(5, 100))
    rules = replace(
        NORTH, lines=tuple(replace(line, spares=share) if line.name == "leaf" else line for line in NORTH.lines)
    )
    plan = with_rules(two_sites(), north=rules)
    north, south = plan.pods
    thrice = replace(
        plan,
        pods=(replace(north, count=3), south),
        totals=replace(plan.totals, balance_kw=3 * plan.totals.balance_kw),
    )
    lines = bill_of_units(with_installed(thrice, 1))
    leaf = only(lines, "leaf")
    assert (leaf.quantity, leaf.installed, leaf.spares, leaf.ordered) == (12, 4, 1, 9)
    assert leaf.total_kw == 12 * Fraction("1.7")
    assert replace(leaf, unit_usd=Fraction(10)).total_usd == 90
    assert not leaf.is_installed
    assert "; 4 taken to stand with the installed Pods; " in leaf.remark
    beside = [line for line in lines if line.group != "Installed already"]
    assert known_kw(beside, own=False) == thrice.totals.balance_kw
    assert "taken to stand" not in only(bill_of_units(thrice), "leaf").remark


def test_pods_that_hold_what_is_installed_are_taken_for_the_installed_ones() -> None:
    plan = two_sites()
    north, south = plan.pods
    other = replace(north, systems=(("rack-72", 1),))
    mixed = replace(plan, pods=(other, north, south))
    taken = [(run.systems, count) for run, count in runs_with_installed(with_installed(mixed, 1, node_8=2))]
    assert taken == [(other.systems, 0), (north.systems, 1), (south.systems, 0)]
    assert [count for _, count in runs_with_installed(with_installed(mixed, 1, rack_72=1))] == [1, 0, 0]
    assert [count for _, count in runs_with_installed(with_installed(mixed, 2))] == [1, 1, 0]


@pytest.mark.parametrize("sites", [{}, {"north": NORTH}, {"north": NORTH, "south": SOUTH}, {"south": NORTH}])
def test_power_agrees_with_the_totals(sites: dict[str, BillRules]) -> None:
    plan = with_rules(two_sites(), **sites)
    lines = bill_of_units(plan)
    assert known_kw(lines, own=True) == plan.totals.nameplate_kw == Fraction("314.6")
    assert known_kw(lines, own=False) == plan.totals.balance_kw


def test_equal_pods_count_as_often() -> None:
    plan = with_rules(two_sites(), north=NORTH)
    north, south = plan.pods
    thrice = replace(
        plan,
        pods=(replace(north, count=3), south),
        totals=replace(plan.totals, balance_kw=3 * plan.totals.balance_kw),
    )
    assert only(bill_of_units(thrice), "leaf").quantity == 12
    assert only(bill_of_units(thrice), "north-pod").quantity == 3
    assert known_kw(bill_of_units(thrice), own=False) == thrice.totals.balance_kw


def test_shipped_rules_with_their_sources() -> None:
    """The catalog's own Pod with 16 HGX B200: the sources of quantities and power stand in the bill by title."""
    catalog = Catalog()
    b200, pod = catalog.system("hgx-b200-8"), catalog.pod("podos-1mw")
    rules = pod.bill_rules
    assert rules is not None
    plan = two_sites()
    fill = Fill((("hgx-b200-8", 16),), balance(rules, [(b200, 16)]))
    entries = {
        "systems": {"hgx-b200-8": catalog.entry("systems", "hgx-b200-8")},
        "gpus": {"b200": catalog.entry("gpus", "b200")},
        "pods": {"podos-1mw": catalog.entry("pods", "podos-1mw")},
        "bill_rules": {"podos-1mw": catalog.entry("bill_rules", "podos-1mw")},
    }
    site = replace(plan.request.sites[0], pod=pod)
    policy = replace(plan.request.policy, spare_systems=0)
    lines = bill_of_units(
        replace(
            plan,
            request=replace(plan.request, candidates=(b200,), sites=(site,), policy=policy, entries=entries),
            pods=(FilledPods("north", "podos-1mw", (("hgx-b200-8", 10),), fill, 1),),
            systems=(("hgx-b200-8", 10),),
        )
    )
    titles = {key: catalog.entry("sources", key)["title"] for key in ("ra_digest", "dgx_b200_guide", "podos_site")}
    assert only(lines, "podos-1mw").source == titles["podos_site"]
    assert only(lines, "hgx-b200-8").source == titles["dgx_b200_guide"]
    assert only(lines, "hgx-b200-8").total_kw == 143
    leaf, spine = [line for line in lines if line.part == "QM9700"]
    assert (leaf.quantity, spine.quantity) == (4, 2)
    assert leaf.source == titles["ra_digest"]
    assert "0.747 kW to 1.72 kW" in leaf.remark
    assert known_kw(lines, own=False) == fill.balance.kw == Fraction("13.774")
    for line in lines:
        assert line.source, line
        assert line.confidence in ("high", "medium", "low"), line
