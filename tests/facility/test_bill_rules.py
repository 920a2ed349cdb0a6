"""Quantities of the balance of plant by hand, ports that agree tier by tier, and the kW that follow."""

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sizing.catalog.catalog import Catalog
from sizing.facility.bill_rules import Balance, BillRules, RuleLine, balance, unknown_power
from sizing.facility.network import Attachment, Network, NetworkSize
from sizing.facility.quantities import (
    CoolantUnits,
    Links,
    Optics,
    PerGpu,
    PerPod,
    PerRack,
    PerSystem,
    QuantityRule,
    RackLimit,
    Racks,
    Switches,
)
from sizing.facility.selection import Population, Selection
from sizing.units.errors import BadInput
from tests.plan_builders import NODE, RACK, figure, system

CATALOG = Catalog()
PODOS = CATALOG.bill_rules("podos-1mw")
COMPUTE = ("ndr", "xdr", "ethernet")
ALL = Selection()


def of(**counts: int) -> Population:
    return [(CATALOG.system(name.replace("_", "-")), count) for name, count in counts.items()]


def quantities(population: Population) -> dict[str, int]:
    """What the shipped rules count, by name of the line; lines without a piece are left out."""
    counted = {line.name: line.rule.quantity(population) for line in PODOS.lines}
    return {name: quantity for name, quantity in counted.items() if quantity}


def networks() -> dict[str, Network]:
    rules = (line.rule for line in PODOS.lines)
    found = [rule.network for rule in rules if isinstance(rule, Switches | Links | Optics)]
    return {network.name: network for network in found}


# The four Pods below are published or derived counts: 16 x HGX8 on a 400G network, 16 x DGX B300 on an 800G one, one
# GB300 NVL72 alone, and with seven HGX B300 beside it. Ports of systems are 16 x 8 = 128, 128, 72 and 72 + 56 = 128.

EVERY_POD = {
    "in-band-switch": 2,
    "out-of-band-switch": 2,
    "fabric-manager": 2,
    "management-node": 7,
    "network-rack": 1,
    "network-rack-power": 2,
}


@pytest.mark.parametrize("name", ["hgx_h200_8", "hgx_b200_8"])
def test_sixteen_nodes_at_400g(name: str) -> None:
    assert quantities(of(**{name: 16})) == {
        **EVERY_POD,
        "ndr-leaf": 4,  # 128 / 32
        "ndr-spine": 2,  # 128 / 64
        "ndr-system-optic": 64,  # 16 x 8 / 2
        "ndr-leaf-optic": 128,  # 4 x (32 / 2 down + 32 / 2 up)
        "ndr-spine-optic": 64,  # 2 x 64 / 2
        "ndr-system-cable": 128,
        "ndr-spine-cable": 128,
        "in-band-cable": 46,  # 16 x 2, and 2 for each of 7 management nodes
        "out-of-band-cable": 77,  # 16 x 4 + 13
        "air-rack": 8,  # two of 10.2 or of 14.3 kW in 30 kW
        "air-rack-power": 24,
    }


def test_sixteen_b300_at_800g() -> None:
    assert quantities(of(hgx_b300_8=16)) == {
        **EVERY_POD,
        "xdr-leaf": 2,  # 128 / 72
        "xdr-spine": 1,
        "xdr-system-optic": 128,
        "xdr-leaf-optic": 128,
        "xdr-spine-optic": 64,
        "xdr-system-cable": 128,
        "xdr-spine-cable": 128,
        "in-band-cable": 46,
        "out-of-band-cable": 77,
        "air-rack": 4,  # four in a rack
        "air-rack-power": 12,
    }


def test_a_rack_alone() -> None:
    assert quantities(of(gb300_nvl72=1)) == {
        **EVERY_POD,
        "xdr-leaf": 1,  # 72 / 72, so that no spine is needed
        "xdr-system-optic": 72,
        "xdr-leaf-optic": 36,
        "xdr-system-cable": 72,
        "in-band-cable": 50,  # 18 trays x 2 + 14
        "out-of-band-cable": 15,  # 2 + 13
        "system-rack": 1,  # with its power shelves: no rack power unit
        "coolant-unit": 2,  # 127.8 of 250 kW, and one spare
    }


def test_a_rack_and_seven_nodes() -> None:
    assert quantities(of(gb300_nvl72=1, hgx_b300_8=7)) == {
        **EVERY_POD,
        "xdr-leaf": 2,
        "xdr-spine": 1,
        "xdr-system-optic": 128,
        "xdr-leaf-optic": 128,
        "xdr-spine-optic": 64,
        "xdr-system-cable": 128,
        "xdr-spine-cable": 128,
        "in-band-cable": 64,  # 36 + 7 x 2 + 14
        "out-of-band-cable": 43,  # 2 + 7 x 4 + 13
        "air-rack": 2,  # 7 / 4
        "air-rack-power": 6,
        "system-rack": 1,
        "coolant-unit": 2,
    }


def test_pcie_servers_have_a_port_for_two_gpus() -> None:
    counted = quantities(of(h200_nvl_8=16))
    assert (counted["ndr-leaf"], counted["ndr-spine"], counted["ndr-system-cable"]) == (2, 1, 64)
    assert counted["air-rack"] == 6  # 30 / 8.7 = 3 in a rack


def test_other_vendors_get_no_infiniband() -> None:
    counted = quantities(of(mi355x_8=16))
    assert (counted["ethernet-leaf"], counted["ethernet-spine"], counted["ethernet-spine-cable"]) == (2, 1, 128)
    assert "fabric-manager" not in counted
    assert counted["liquid-rack"] == 2  # eight in a rack
    assert counted["coolant-unit"] == 2  # 16 x 12.2 = 195.2 of 250 kW, and one spare


def test_two_generations_in_a_pod_have_a_network_each() -> None:
    counted = quantities(of(gb300_nvl72=1, hgx_h200_8=7))
    assert (counted["xdr-leaf"], counted["xdr-system-cable"]) == (1, 72)
    assert (counted["ndr-leaf"], counted["ndr-spine"], counted["ndr-system-cable"]) == (2, 1, 56)


# Networks


@pytest.mark.parametrize(
    ("name", "nodes", "leaves", "spines"),
    [
        ("hgx_b200_8", 32, 8, 4),
        ("hgx_b200_8", 64, 16, 8),
        ("hgx_b200_8", 128, 32, 16),
        ("hgx_b200_8", 256, 64, 32),
        ("hgx_b300_8", 72, 8, 4),
        ("hgx_b300_8", 144, 16, 8),
    ],
)
def test_published_networks_of_nvidia(name: str, nodes: int, leaves: int, spines: int) -> None:
    """DGX SuperPOD reference architectures, B200 (QM9700) and B300 XDR (Q3400): as many cables up as down."""
    network = networks()["ndr-400g" if name == "hgx_b200_8" else "xdr-800g"]
    assert network.size(of(**{name: nodes})) == NetworkSize(8 * nodes, leaves, spines, 8 * nodes)


@pytest.mark.parametrize(("nodes", "cables"), [(4, 29), (8, 45)])
def test_published_out_of_band_cables(nodes: int, cables: int) -> None:
    """DGX BasePOD, Cat6 cables."""
    assert networks()["out-of-band"].size(of(hgx_h200_8=nodes)).ports == cables


KINDS = [CATALOG.system(name) for name in CATALOG.names("systems")]
MOST_GPUS = 1_900  # two tiers of 64-port switches reach 2,048 ports


@st.composite
def populations(draw: st.DrawFn) -> Population:
    """One to three kinds of system, also far more of them than a Pod of 128 slots holds."""
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=3, unique_by=lambda kind: kind.name))
    return [(kind, draw(st.integers(0, MOST_GPUS // len(kinds) // kind.gpus))) for kind in kinds]


@pytest.mark.parametrize("name", CATALOG.names("systems"))
def test_every_system_has_its_place(name: str) -> None:
    """No system of the catalog is left without ports or without a rack, which would read as none needed."""
    counted = quantities([(CATALOG.system(name), 1)])
    assert sum(f"{network}-leaf" in counted for network in COMPUTE) == 1
    assert sum(counted.get(rack, 0) for rack in ("air-rack", "liquid-rack", "system-rack")) == 1
    in_use = CATALOG.system(name).gpus * 2 // 8 + 14  # at least two ports of eight GPUs
    assert counted["in-band-cable"] >= min(in_use, 16)


@given(population=populations())
@settings(max_examples=150, deadline=None)
def test_ports_agree_tier_by_tier(population: Population) -> None:
    """Ends of cables are ports in use, which are bought; optics serve every end and find a cage."""
    for network in networks().values():
        size = network.size(population)
        at_leaves, at_spines = size.ports + size.uplinks, size.uplinks
        assert at_leaves <= size.leaves * network.switch_ports
        assert at_spines <= size.spines * network.switch_ports
        assert (size.spines > 0) == (size.uplinks > 0) == (network.tiers == 2 and size.leaves > 1)
        if size.uplinks:
            assert size.uplinks == size.ports  # no blocking
            most_down = -(-size.ports // size.leaves)
            assert 2 * most_down <= network.switch_ports  # also on the fullest leaf
        for ends, optics, switches in (
            (at_leaves, network.leaf_optics(population), size.leaves),
            (at_spines, network.spine_optics(population), size.spines),
        ):
            assert ends <= optics * network.ports_per_optic
            assert optics <= switches * network.switch_ports // network.ports_per_optic


@given(population=populations(), data=st.data())
@settings(max_examples=150, deadline=None)
def test_one_system_more_never_needs_less(population: Population, data: st.DataObject) -> None:
    """The balance at a full population covers every smaller one."""
    chosen = data.draw(st.integers(0, len(population) - 1))
    more = [(kind, count + (place == chosen)) for place, (kind, count) in enumerate(population)]
    for line in PODOS.lines:
        assert line.rule.quantity(more) >= line.rule.quantity(population), line.name
    assert balance(PODOS, more).kw >= balance(PODOS, population).kw


def test_too_many_ports_for_two_tiers_are_refused() -> None:
    network = Network("small", 2, 8, (Attachment(ALL, 1, 1),))
    assert network.size([(NODE, 4)]) == NetworkSize(32, 8, 4, 32)  # 8^2 / 2
    with pytest.raises(BadInput, match="network small"):
        network.size([(NODE, 5)])


@pytest.mark.parametrize(
    ("name", "network", "unit_ports", "size"),
    [
        ("hgx_b200_8", "ndr-400g", 256, NetworkSize(128, 8, 4, 256)),
        ("hgx_b300_8", "xdr-800g", 576, NetworkSize(128, 8, 4, 576)),
    ],
)
def test_a_whole_scalable_unit_is_built_for_half_of_one(
    name: str, network: str, unit_ports: int, size: NetworkSize
) -> None:
    """DGX SuperPOD, one unit of B200 (32 nodes) and of B300 XDR (72 nodes): the fabric is built in full."""
    whole = replace(networks()[network], unit_ports=unit_ports)
    assert whole.size(of(**{name: 16})) == size
    assert whole.size([]) == NetworkSize(0, 0, 0, 0)
    assert "whole scalable units" in str(Switches(whole, "leaf"))
    assert f"units of {unit_ports}" in str(Links(whole, "leaf-spine"))


def test_the_first_attachment_counts() -> None:
    first = Attachment(Selection(vendors=frozenset({"test"})), 0)
    assert Network("none", 2, 64, (first, Attachment(ALL, 1, 1))).size([(NODE, 3)]) == NetworkSize(0, 0, 0, 0)


def test_odd_ports_take_whole_optics_on_each_switch() -> None:
    network = Network("odd", 2, 8, (Attachment(ALL, 5, ports_per_optic=2),), ports_per_optic=2)
    population = [(NODE, 3)]  # 15 ports on leaves of 4: 4, 4, 4, 3, with as many up to 2 spines: 8, 7
    assert network.size(population) == NetworkSize(15, 4, 2, 15)
    assert network.system_optics(population) == 9
    assert network.leaf_optics(population) == 16
    assert network.spine_optics(population) == 8


# Racks, coolant and the plain rules

AIR = Selection(cooling="air", form="node")


def test_a_system_stands_in_one_rack() -> None:
    """30 kW hold two nodes of 10.2 kW: five nodes need three racks, though 51 kW would share two."""
    assert Racks("air", (RackLimit(AIR, kw=Fraction(30)),)).quantity([(NODE, 5)]) == 3


def test_racks_are_the_larger_of_units_and_kw() -> None:
    tall = system("tall", kw="1")
    limited = RackLimit(AIR, units=48, kw=Fraction(30))
    assert limited.systems_per_rack(tall) == 30  # rack units unknown
    sized = CATALOG.system("hgx-h200-8")
    assert limited.systems_per_rack(sized) == 2  # 6 by 8U, 2 by 10.2 kW
    assert RackLimit(AIR, units=12, kw=Fraction(30)).systems_per_rack(sized) == 1
    assert RackLimit(AIR, kw=Fraction(5)).systems_per_rack(sized) == 1  # one always fits
    assert RackLimit(AIR, kw=Fraction(30)).systems_per_rack(system("dark", kw=None)) == 1


def test_kinds_do_not_share_a_rack() -> None:
    racks = Racks("air", (RackLimit(AIR, most=4),))
    other = system("other-8")
    assert racks.quantity([(NODE, 5), (other, 3)]) == 3
    assert PerRack(3, racks).quantity([(NODE, 5), (other, 3)]) == 9
    assert racks.quantity([(RACK, 2)]) == 0


@pytest.mark.parametrize(
    ("population", "units"),
    [
        ([(NODE, 16)], 0),  # nothing to liquid, no spare
        ([(RACK, 1)], 2),  # 127.8 kW
        ([(RACK, 2)], 3),  # 255.6 kW
        ([(system("split", kw="130", liquid_kw=None, cooling="liquid"), 2)], 3),  # 260 kW at most
        ([(system("warm", liquid_kw=None), 16)], 0),
    ],
)
def test_coolant_units(population: Population, units: int) -> None:
    assert CoolantUnits(Fraction(250), 1).quantity(population) == units


@pytest.mark.parametrize(
    ("rule", "quantity", "words"),
    [
        (PerPod(7, ALL), 7, "7 per Pod"),
        (PerPod(2, Selection(vendors=frozenset({"NVIDIA"}))), 0, "2 per Pod with NVIDIA systems"),
        (PerSystem(2, Selection(form="node")), 14, "2 for each of nodes"),
        (PerSystem(1, Selection(gpus=frozenset({"gpu-of-rack-72"}))), 1, "1 for each of systems with gpu-of-rack-72"),
        (PerGpu(1, ALL), 128, "1 for each GPU of systems"),
        (PerGpu(1, Selection(cooling="liquid")), 72, "1 for each GPU of liquid-cooled systems"),
    ],
)
def test_plain_rules(rule: QuantityRule, quantity: int, words: str) -> None:
    assert rule.quantity([(NODE, 7), (RACK, 1)]) == quantity
    assert str(rule) == words


# kW


def line(name: str, rule: QuantityRule, kw: str | None, **more: object) -> RuleLine:
    power = None if kw is None else figure(Fraction(kw), "kW")
    fields = (name, "group", "maker", name, "a part", "piece", rule, ("test",), "2026-01-01", "high", power)
    return RuleLine(*fields, **more)  # type: ignore[arg-type]


def test_balance_of_sixteen_nodes() -> None:
    """6 x 1.72 + 2 x 0.94 + 2 x 0.098 + 2 x 0.689 kW, all to air: 6 % of 16 DGX B200."""
    expected = Fraction("13.774")
    assert balance(PODOS, of(hgx_b200_8=16)) == Balance(expected, Fraction(0), expected)


def test_balance_leaves_the_unknown_out_and_names_it() -> None:
    """A Pod on the 800G network: the power of its Q3400 is not known, so 2 x (0.94 + 0.098 + 0.689) remain."""
    population = of(hgx_b300_8=16)
    assert balance(PODOS, population).kw == Fraction("3.454")
    named = unknown_power(PODOS, population)
    assert [name.split(" (")[0] for name in named] == ["Q3400", "Q3400", "in-band cable", "management node"]
    assert not any("Q3400" in name for name in unknown_power(PODOS, of(hgx_b200_8=16)))
    assert set(named) < set(unknown_power(PODOS))


def test_heat_of_the_balance_is_split() -> None:
    rules = BillRules(
        "test",
        "Test",
        (
            line("fan", PerPod(2, ALL), "1.5"),
            line("cold-plate", PerSystem(1, ALL), "0.3", liquid_share=Fraction(2, 3)),
            line("dark", PerPod(1, ALL), None),
            line("cable", PerPod(9, ALL), None, no_power="passive"),
        ),
    )
    assert balance(rules, [(NODE, 4), (RACK, 1)]) == Balance(Fraction("4.5"), Fraction(1), Fraction("3.5"))
    assert unknown_power(rules) == ("dark (a part)",)


def test_no_rules_no_balance() -> None:
    assert balance(BillRules("none", "None", ()), [(NODE, 16)]) == Balance()


def test_every_line_tells_its_power_or_that_it_is_unknown() -> None:
    known = [line.name for line in PODOS.lines if line.unit_kw is not None]
    without = [line.name for line in PODOS.lines if line.no_power]
    unknown = [line.name for line in PODOS.lines if line.power_is_unknown]
    assert sorted(known + without + unknown) == sorted(line.name for line in PODOS.lines)
    assert {name for name in unknown if not name.startswith(("xdr", "ethernet"))} == {
        "in-band-cable",
        "management-node",
        "coolant-unit",
    }


@pytest.fixture
def timed() -> Callable[[Population], float]:
    from timeit import repeat

    return lambda population: min(repeat(lambda: balance(PODOS, population), number=50, repeat=5)) / 50


def test_balance_is_cheap(timed: Callable[[Population], float]) -> None:
    """It is asked for every fill of a Pod: tens of microseconds (25 measured), with room for a busy machine."""
    assert timed(of(gb300_nvl72=1, hgx_b300_8=7)) < 500e-6
