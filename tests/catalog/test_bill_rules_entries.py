"""Bill rules as data: what a user's folder changes of them, and what is refused with its place."""

from fractions import Fraction
from pathlib import Path
from textwrap import indent

import pytest

from sizing.catalog.catalog import Catalog
from sizing.facility.bill_rules import balance, unknown_power
from sizing.units.errors import BadInput, Problem

SMALL = """
small:
  title: Small rules
  networks:
    net: {tiers: 2, switch_ports: 64, attachments: [{ports: 1, gpus: 1}]}
  racks:
    any: [{most: 4}]
  lines:
    leaf:
      group: Network
      manufacturer: any
      part: a switch
      description: leaf
      quantity: {rule: switches, network: net, tier: leaf}
      sources: [ra_digest]
      date: 2026-11-29
      confidence: low
"""


def laid_over(folder: Path, text: str) -> Catalog:
    (folder / "bill_rules.yaml").write_text(text, encoding="utf-8")
    return Catalog([folder])


def problem(folder: Path, old: str, new: str) -> Problem:
    assert old in SMALL
    with pytest.raises(BadInput) as error:
        laid_over(folder, SMALL.replace(old, new))
    [found] = error.value.problems
    return found


def test_a_rule_set_of_ones_own(tmp_path: Path) -> None:
    catalog = laid_over(tmp_path, SMALL)
    [line] = catalog.bill_rules("small").lines
    assert (line.name, line.unit, line.power_is_unknown) == ("leaf", "piece", True)
    assert line.rule.quantity([(catalog.system("hgx-b200-8"), 16)]) == 4


def test_a_power_that_one_knows_is_laid_over_the_shipped_line(tmp_path: Path) -> None:
    figure = "{value: 3, sources: [ra_digest], date: 2026-11-29, confidence: low}"
    lines = indent(f"xdr-leaf: {{unit_kw: {figure}}}\nxdr-spine: {{unit_kw: {figure}}}", "    ")
    catalog = laid_over(tmp_path, f"podos-1mw:\n  lines:\n{lines}\n")
    rules, shipped = catalog.bill_rules("podos-1mw"), Catalog().bill_rules("podos-1mw")
    population = [(catalog.system("hgx-b300-8"), 16)]
    assert balance(rules, population).kw == balance(shipped, population).kw + 3 * 3
    assert not any("Q3400" in name for name in unknown_power(rules, population))
    assert [line.name for line in rules.lines] == [line.name for line in shipped.lines]
    assert catalog.pod("podos-1mw").bill_rules == rules


@pytest.mark.parametrize(
    ("old", "new", "path", "what", "nearest"),
    [
        (
            "network: net",
            "network: nett",
            "small.lines",
            "line leaf counts by network 'nett', which is not known",
            "net",
        ),
        ("rule: switches", "rule: switch", "small.lines.leaf.quantity", "rule 'switch' is not known", "switches"),
        ("tier: leaf", "tier: leave", "small.lines.leaf.quantity.tier", "is not one of the accepted values", "leaf"),
        ("tiers: 2", "tiers: 3", "small.networks.net.tiers", "is not one of the accepted values", None),
        ("switch_ports: 64", "switch_ports: 63", "small.networks.net", "half of 63 ports are no whole optics", None),
        ("[{most: 4}]", "[{}]", "small.racks.any[0]", "limits nothing", None),
        ("{most: 4}", "{kw: 0 kW}", "small.racks.any[0].kw", "must be more than 0", None),
        ("low", "low\n      liquid_share: 130 %", "small.lines.leaf.liquid_share", "is more than the whole", None),
        (
            "low",
            "low\n      no_power: passive\n      missing: {unit_kw: not found}",
            "small.lines.leaf",
            "no_power contradicts what is said of unit_kw",
            None,
        ),
        ("low", "low\n      contained: true", "small.lines.leaf", "a contained part is counted with its system", None),
        ("ra_digest", "ra_digset", "small.lines.leaf.sources[0]", "source 'ra_digset' is not known", "ra_digest"),
        ("manufacturer", "maker", "small.lines.leaf.maker", "unknown key", None),
    ],
)
def test_what_is_refused(tmp_path: Path, old: str, new: str, path: str, what: str, nearest: str | None) -> None:
    if old == "manufacturer":
        new = f"manufacturer: any\n      {new}"
    found = problem(tmp_path, old, new)
    assert (found.path, found.what) == (path, what)
    assert found.line is not None
    if nearest is not None:
        assert found.nearest == nearest


def test_shares_and_figures_are_read_exactly(tmp_path: Path) -> None:
    catalog = laid_over(tmp_path, SMALL + '      liquid_share: 87.5 %\n      no_power: ""\n')
    [line] = catalog.bill_rules("small").lines
    assert line.liquid_share == Fraction(7, 8)
