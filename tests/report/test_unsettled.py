from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from sizing.facility.bill_rules import BillRules, RuleLine
from sizing.facility.quantities import PerPod
from sizing.facility.selection import Selection
from sizing.plan.bill import bill_of_units
from sizing.plan.plan import Limit, Plan
from sizing.report.console import console_report
from sizing.report.formats import rendered
from sizing.report.to_know import to_know_sentences
from sizing.report.unsettled import (
    heat_split_sentences,
    not_counted,
    not_settled,
    pod_power_sentences,
    power_basis_sentences,
    tight_limit_sentences,
)
from tests.plan_builders import figure
from tests.report.report_plans import sourced_plan


def part(name: str, no_power: str = "", liquid_share: Fraction = Fraction(0)) -> RuleLine:
    rule = PerPod(1, Selection())
    return RuleLine(
        name, "Group", "", name, "a part", "piece", rule, (), "", "high", None, no_power, liquid_share=liquid_share
    )


RULES = BillRules("rules", "Rules", (part("server"), part("pump", liquid_share=Fraction(1)), part("fibre", "passive")))


def with_rules(plan: Plan, **policy: Any) -> Plan:
    """The rules at `north` only."""
    sites = tuple(
        replace(site, pod=replace(site.pod, bill_rules=RULES if site.name == "north" else None))
        for site in plan.request.sites
    )
    return replace(
        plan, request=replace(plan.request, sites=sites, policy=replace(plan.request.policy, **policy)), limits=()
    )


def heat(name: str, used: int, most: int | None, site: str | None = "north", binding: bool = False) -> Limit:
    return Limit(name, site, Fraction(used), None if most is None else Fraction(most), "kW", binding)


@pytest.mark.parametrize(
    ("limit", "basis", "told"),
    [
        (heat("air_heat", 1, 2), "provisioned", "without 1 part of unknown power"),
        (heat("liquid_heat", 1, 2), "provisioned", "without 1 part of unknown power"),
        (heat("power", 1, 2), "installed", "without 2 parts of unknown power"),
        (heat("power", 1, 2), "provisioned", ""),  # a Pod counts with its full input, whatever stands in it
        (heat("pods", 1, 2), "installed", ""),
        (heat("air_heat", 1, 2, site="south"), "installed", ""),
        (heat("supply:rack-72", 1, 2, site=None), "installed", ""),
    ],
)
def test_rows_of_limits_say_what_they_lack(limit: Limit, basis: str, told: str) -> None:
    assert not_counted(with_rules(sourced_plan(), power_basis=basis), limit) == told


@pytest.mark.parametrize(
    ("limit", "is_told"),
    [
        (heat("air_heat", 96, 100), True),
        (heat("air_heat", 95, 100), False),
        (heat("air_heat", 50, 100, binding=True), True),
        (heat("air_heat", 96, None), False),
        (heat("pods", 100, 100, binding=True), False),
    ],
)
def test_a_tight_limit_is_not_settled(limit: Limit, is_told: bool) -> None:
    told = list(tight_limit_sentences(replace(with_rules(sourced_plan()), limits=(limit,))))
    assert bool(told) == is_told
    if is_told:
        assert told[0].endswith("not settled until the power of these parts is known: server")


def test_the_screen_shows_both() -> None:
    plan = replace(with_rules(sourced_plan()), limits=(heat("air_heat", 96, 100),))
    text = " ".join(console_report(plan).split())
    assert "no without 1 part of unknown power" in text
    assert "air_heat at north: 4 kW are left, which is not settled" in text
    assert "counted" not in console_report(sourced_plan()).split("Used and stranded")[0]


def test_a_heat_split_with_a_range_tells_what_all_systems_could_give_off() -> None:
    plan = sourced_plan()
    node, rack = plan.request.candidates
    split = replace(figure(Fraction(100), "kW"), range=(Fraction(90), Fraction(120)), confidence="low", basis="derived")
    asked = replace(plan.request, candidates=(node, replace(rack, liquid_kw=split)))
    assert list(heat_split_sentences(replace(plan, request=asked))) == [
        "rack-72: 100.0 kW of its heat to liquid is of low confidence (derived), range 90.0 kW to 120.0 kW; "
        "200.0 kW to liquid could be 240.0 kW; 84.0 kW to air could be 104.0 kW"
    ]
    assert not list(heat_split_sentences(plan))


def test_the_installed_basis_says_that_pue_is_not_applied() -> None:
    assert not list(power_basis_sentences(with_rules(sourced_plan(), power_basis="provisioned")))
    (told,) = power_basis_sentences(with_rules(sourced_plan(), power_basis="installed"))
    assert "PUE is not applied" in told


def test_a_weak_megawatt_is_told_with_its_note() -> None:
    plan = sourced_plan()
    assert not list(pod_power_sentences(plan))
    weak = replace(figure(Fraction(1000), "kW"), confidence="low", basis="a target", note="IT or input is not said")
    sites = tuple(replace(site, pod=replace(site.pod, power_kw=weak)) for site in plan.request.sites)
    weakly = replace(plan, request=replace(plan.request, sites=sites))
    names = sorted({site.pod.name for site in plan.request.sites})
    assert list(pod_power_sentences(weakly)) == [
        f"{name}: its 1 MW is of low confidence: a target; IT or input is not said" for name in names
    ]
    assert set(pod_power_sentences(weakly)) <= set(to_know_sentences(weakly, bill_of_units(weakly)))


def test_a_limit_that_is_not_settled_stands_beside_the_standing_of_the_answer() -> None:
    plan = replace(with_rules(sourced_plan()), limits=(heat("air_heat", 99, 100),))
    said = "not settled: air heat at north, 1 kW left while 1 part of unknown power counts as 0"
    assert not_settled(plan) == said
    assert console_report(plan).splitlines()[4] == said
    for name in ("html", "markdown"):
        assert said in rendered(plan, [name])[name].decode()
    settled = replace(plan, limits=(heat("air_heat", 9, 100),))
    assert not_settled(settled) == ""
    assert "not settled" not in rendered(settled, ["html"])["html"].decode()
