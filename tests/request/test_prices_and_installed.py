"""`policy.prices` and `site.installed` as workloads write them: read, hashed, read again, and refused with reasons."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sizing.catalog.catalog import Catalog
from sizing.facility.prices import Energy, Price, Prices
from sizing.request.load import request_from_document, workload_from
from sizing.request.request import Request
from sizing.units.document import parse_document
from sizing.units.errors import BadInput, Problem
from sizing.units.figures import Figure

HEAD = "name: a\nclasses: [{name: c, model: dense-7b, context: 4096, concurrency: 1}]\n"
PRICES = HEAD + "policy: {prices: {"
SITE = HEAD + "site: {"


def usd(low: int | str, high: int | str | None = None) -> Price:
    return Price(Fraction(low), Fraction(low if high is None else high))


def read(catalog: Any, text: str) -> Request:
    return workload_from(parse_document(text, "f.yaml"), catalog)


def problems(catalog: Any, text: str) -> tuple[Problem, ...]:
    with pytest.raises(BadInput) as caught:
        read(catalog, text)
    return caught.value.problems


def names(request: Request) -> list[str]:
    return [system.name for system in request.candidates]


# Prices


def test_prices_are_read_exactly(fake_catalog: Any) -> None:
    request = read(
        fake_catalog,
        PRICES
        + "systems: {rack-72: [3_500_000 USD, 3_900_000.50 USD], air-8: 0 USD}, pods: {podos-1mw: 1_500_000 USD},\n"
        "  energy: {tariff: [70 USD/MWh, 0.085 USD/kWh], horizon: 2.5 years, pue: 1.15}}}\n",
    )
    assert request.policy.prices == Prices(
        {"air-8": usd(0), "rack-72": usd(3_500_000, "3900000.5")},
        {"podos-1mw": usd(1_500_000)},
        Energy(usd("0.07", "0.085"), Fraction("2.5"), Fraction("1.15")),
    )
    assert request.document["policy"]["prices"] == {
        "systems_usd": {"air-8": 0, "rack-72": [3_500_000, 3_900_000.5]},
        "pods_usd": {"podos-1mw": 1_500_000},
        "energy": {"tariff_usd_per_kwh": [0.07, 0.085], "horizon_years": 2.5, "pue": 1.15},
    }
    assert request_from_document(request.document, fake_catalog) == request


AMOUNTS = st.integers(0, 10**9).map(lambda cents: Fraction(cents, 100))
RANGES = st.tuples(AMOUNTS, AMOUNTS).map(sorted) | AMOUNTS.map(lambda amount: [amount, amount])
TARIFFS = st.integers(0, 10**5).map(lambda parts: Fraction(parts, 10**5))


def written(amount: Fraction, unit: str) -> str:
    return f"{float(amount):.5f} {unit}"


@given(
    st.dictionaries(st.sampled_from(["air-8", "liquid-8", "rack-72"]), RANGES),
    RANGES,
    st.none() | st.tuples(TARIFFS, st.integers(1, 400), st.none() | st.integers(100, 300)),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_prices_are_read_again_from_their_canonical_form(
    fake_catalog: Any, systems: dict[str, list[Fraction]], pod: list[Fraction], energy: Any
) -> None:
    prices: dict[str, Any] = {
        "systems": {name: [written(end, "USD") for end in ends] for name, ends in systems.items()},
        "pods": {"podos-1mw": [written(end, "USD") for end in pod]},
    }
    if energy is not None:
        tariff, tenths, pue = energy
        pue_of_all = 150 if pue is None else pue
        prices["energy"] = {
            "tariff": written(tariff, "USD/kWh"),
            "horizon": f"{tenths / 10} years",
            "pue": pue_of_all / 100,
        }
    workload = {
        "name": "a",
        "classes": [{"name": "c", "model": "dense-7b", "context": 4096, "concurrency": 1}],
        "policy": {"prices": prices, "objective": ["cost", "gpus + 3 pods"]},
    }
    request = workload_from(workload, fake_catalog)
    assert request.policy.prices.systems == {name: Price(*ends) for name, ends in systems.items()}
    assert request_from_document(request.document, fake_catalog) == request


@pytest.mark.parametrize(
    ("text", "path", "what", "accepted"),
    [
        (PRICES + "systems: {air-8: 415000}}}", "systems.air-8", "needs a unit", "USD"),
        (PRICES + "systems: {air-8: -5 USD}}}", "systems.air-8", "must not be negative", "USD"),
        (PRICES + "systems: {air-8: 5 EUR}}}", "systems.air-8", "'EUR' is no unit of a price", "USD"),
        (PRICES + "systems: {air-8: '4,5 USD'}}}", "systems.air-8", "could mean 4.5 or 45", "USD"),
        (PRICES + "systems: {air-8: ['4,5 USD', 5 USD]}}}", "systems.air-8", "end '4,5 USD'", "USD"),
        (PRICES + "systems: {air-8: [5 USD, 4 USD]}}}", "systems.air-8", "from '5 USD' down to '4 USD'", "[low, high]"),
        (PRICES + "systems: {air-8: [5 USD]}}}", "systems.air-8", "a list of 1", "[low, high] of two"),
        (PRICES + "systems: {air-8: }}}", "systems.air-8", "is empty", "USD"),
        (PRICES + "systems: {air-8: {low: 4 USD}}}}", "systems.air-8", "is no number", "USD"),
        (PRICES + "systems: {air-8: 1000000000001 USD}}}", "systems.air-8", "absurdly large", "1,000,000,000,000 USD"),
        (PRICES + "systems: {rack72: 5 USD}}}", "systems.rack72", "rack72", "rack-72"),
        (PRICES + "pods: {podos: 5 USD}}}", "pods.podos", "podos", "podos-1mw"),
        (PRICES + "tariff: 5 USD}}", "tariff", "unknown key", "systems, pods, energy"),
        (PRICES + "energy: {horizon: 4 years, pue: 1.1}}}", "energy.tariff", "missing", "USD/kWh"),
        (PRICES + "energy: {tariff: 0.1 USD/kWh, pue: 1.1}}}", "energy.horizon", "missing", "years"),
        (PRICES + "energy: {tariff: 0.1 USD, horizon: 1 year, pue: 2}}}", "energy.tariff", "no unit", "USD/kWh"),
        (PRICES + "energy: {tariff: 0.1 USD/kWh, horizon: 4, pue: 2}}}", "energy.horizon", "needs a unit", "4 years"),
        (
            PRICES + "energy: {tariff: 0.1 USD/kWh, horizon: 0 years, pue: 2}}}",
            "energy.horizon",
            "more than 0",
            "above 0",
        ),
        (
            PRICES + "energy: {tariff: 0.1 USD/kWh, horizon: 1 year, pue: 0.9}}}",
            "energy.pue",
            "is below 1",
            "1 or more",
        ),
        (PRICES + "energy: {tariff: 0.1 USD/kWh, horizon: 1 year}}}", "energy.pue", "PUE of a Pod podos-1mw", "1.2"),
        (HEAD + "policy: {objective: [pods, power + cost]}", "pods.podos-1mw", "stage cost needs", "0 USD"),
    ],
)
def test_problems_of_prices(fake_catalog: Any, text: str, path: str, what: str, accepted: str) -> None:
    (problem,) = problems(fake_catalog, text)
    assert problem.path == f"policy.prices.{path}"
    assert problem.line == 3
    assert what in problem.what
    assert accepted in str(problem.accepted)


def test_a_system_without_a_price_is_left_out_where_cost_is_a_stage(fake_catalog: Any) -> None:
    prices = "prices: {systems: {rack-72: 5 USD}, pods: {podos-1mw: 0 USD}}"
    request = read(fake_catalog, HEAD + f"policy: {{objective: [pods, cost], {prices}}}")
    assert names(request) == ["rack-72"]
    (rejection,) = [each for each in request.rejected if each.system == "liquid-8"]
    assert rejection.why == ("it has no price, and cost is a stage of the objective; state it in policy.prices.systems")
    assert "liquid-8" in names(read(fake_catalog, HEAD + f"policy: {{objective: [pods], {prices}}}"))


def test_a_price_of_the_catalog_will_do(fake_catalog: Any) -> None:
    price = Figure(Fraction(7), "USD", ("test",), "2026-01-01", "high")
    for section, name in (("systems", "liquid-8"), ("pods", "podos-1mw")):
        fake_catalog.sections[section][name] = replace(fake_catalog.sections[section][name], price_usd=price)
    assert names(read(fake_catalog, HEAD + "policy: {objective: [cost]}")) == ["liquid-8"]


def test_stages_of_the_command_line_need_prices_too(fake_catalog: Any) -> None:
    with pytest.raises(BadInput, match="stage cost needs the price of a Pod podos-1mw"):
        workload_from(parse_document(HEAD, "f.yaml"), fake_catalog, objective=["cost + 3 gpus"])


# Inventory


def test_what_is_installed_is_read_and_hashed(fake_catalog: Any) -> None:
    request = read(fake_catalog, SITE + "installed: {systems: {rack-72: 2, liquid-8: 0}, pods: 3}}")
    (site,) = request.sites
    assert (site.installed_systems, site.installed_pods) == ({"rack-72": 2}, 3)
    assert request.document["sites"][0]["installed"] == {"systems": {"rack-72": 2}, "pods": 3}
    assert request_from_document(request.document, fake_catalog) == request


def test_what_is_installed_may_be_used_whatever_its_status(fake_catalog: Any) -> None:
    request = read(
        fake_catalog,
        SITE + "installed: {systems: {retired-8: 2, air-8: 1}}}\npolicy: {systems: [rack-72], objective: [gpus]}",
    )
    assert names(request) == ["air-8", "rack-72", "retired-8"]
    assert not request.rejected
    assert "air-8 is installed and may be used; no more of it may be bought: policy.systems does not name it." in (
        request.assumptions
    )
    assert any(said.startswith("retired-8 is installed") and "end of life" in said for said in request.assumptions)
    (cooled,) = [said for said in request.assumptions if "decision 7" in said]
    assert "cools air-8, retired-8" in cooled
    assert "they are installed at 'site'" in cooled


def test_an_installed_system_needs_no_price(fake_catalog: Any) -> None:
    prices = "prices: {systems: {rack-72: 5 USD}, pods: {podos-1mw: 0 USD}}"
    request = read(
        fake_catalog, SITE + f"installed: {{systems: {{liquid-8: 1}}}}}}\npolicy: {{objective: [cost], {prices}}}"
    )
    assert names(request) == ["liquid-8", "rack-72"]
    assert any(said.startswith("liquid-8 is installed") and "no price" in said for said in request.assumptions)


@pytest.mark.parametrize(
    ("text", "path", "what"),
    [
        (
            "installed: {systems: {no-power-8: 1}}}",
            "systems.no-power-8",
            "its nameplate power is unknown: No data sheet",
        ),
        ("air_heat: 1 MW, installed: {systems: {no-split-8: 1}}}", "systems.no-split-8", "the split of its heat"),
        ("installed: {systems: {row-144: 1}}}", "systems.row-144", "144 GPUs, a Pod podos-1mw has 128 slots"),
        ("pod_air_heat: 10 kW, installed: {systems: {air-8: 1}}}", "systems.air-8", "takes 10.0 kW"),
        ("pods: 2, installed: {pods: 3}}", "pods", "more Pods than there are positions"),
        ("installed: {pods: -1}}", "pods", "must not be negative"),
        ("installed: {systems: {rack-72: 1k}}}", "systems.rack-72", "could be 1,000 or 1,024"),
        ("installed: {racks: 1}}", "racks", "unknown key"),
    ],
)
def test_problems_of_what_is_installed(fake_catalog: Any, text: str, path: str, what: str) -> None:
    (problem,) = problems(fake_catalog, SITE + text)
    assert problem.path == f"site.installed.{path}"
    assert what in problem.what


def test_problems_of_several_sites_stand_where_they_are_written(fake_catalog: Any) -> None:
    text = HEAD + (
        "sites:\n- {name: z, installed: {systems: {no-power-8: 1}}}\n- {name: b, pods: 0, installed: {pods: 1}}\n"
    )
    assert [(problem.line, problem.path) for problem in problems(fake_catalog, text)] == [
        (4, "sites[0].installed.systems.no-power-8"),
        (5, "sites[1].installed.pods"),
    ]


def test_a_pod_whose_balance_of_plant_has_no_room_cannot_be_there() -> None:
    text = (
        "name: a\nclasses: [{name: c, model: llama-3.1-8b, context: 4096, concurrency: 1}]\n"
        "sites:\n- {name: north, pod_air_heat: 0 kW, installed: {pods: 2}}\n- {name: south, installed: {pods: 2}}\n"
    )
    (problem,) = problems(Catalog(), text)
    assert (problem.line, problem.path) == (4, "sites[0].installed.pods")
    assert problem.what.startswith("no Pod podos-1mw can stand there, even empty: its balance of plant takes 2.1 kW")
