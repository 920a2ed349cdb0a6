from typing import Any

import pytest

from sizing.request.candidates import refusal
from sizing.request.load import workload_from
from sizing.request.request import Request

LIQUID = ["liquid-8", "no-driver-8", "no-split-8", "rack-72"]


def plan_for(catalog: Any, workload: dict[str, Any], **parts: Any) -> Request:
    return workload_from({**workload, **parts}, catalog)


def names(request: Request) -> list[str]:
    return [system.name for system in request.candidates]


def why(request: Request, system: str) -> str:
    (rejection,) = [rejection for rejection in request.rejected if rejection.system == system]
    assert rejection.model is None
    return rejection.why


def test_all_on_sale_that_the_pod_can_cool(fake_catalog: Any, workload: dict[str, Any]) -> None:
    request = plan_for(fake_catalog, workload)
    assert names(request) == LIQUID
    assert [rejection.system for rejection in request.rejected] == [
        "air-8",
        "announced-8",
        "no-power-8",
        "retired-8",
        "row-144",
    ]
    assert "decision 7" in why(request, "air-8")
    assert "is announced and not named" in why(request, "announced-8")
    assert "is end of life and not named" in why(request, "retired-8")
    assert why(request, "no-power-8") == "its nameplate power is unknown: No data sheet states it. (decision 6)"
    assert "144 GPUs, a Pod podos-1mw has 128 slots" in why(request, "row-144")


def test_named_systems_are_taken_whatever_their_status(fake_catalog: Any, workload: dict[str, Any]) -> None:
    named = ["retired-8", "announced-8", "air-8", "no-power-8", "row-144"]
    request = plan_for(fake_catalog, workload, policy={"systems": named})
    assert names(request) == ["air-8", "announced-8", "retired-8"]
    assert [rejection.system for rejection in request.rejected] == ["no-power-8", "row-144"]
    assert "announced-8 is announced; it is a candidate because policy.systems names it." in request.assumptions


def test_naming_an_air_cooled_system_is_an_assumption_about_the_pod(
    fake_catalog: Any, workload: dict[str, Any]
) -> None:
    request = plan_for(fake_catalog, workload, policy={"systems": ["air-8", "liquid-8"]})
    (sentence,) = [sentence for sentence in request.assumptions if "decision 7" in sentence]
    assert "podos-1mw" in sentence
    assert "air-8" in sentence
    assert "liquid-8" not in sentence


def test_pod_air_heat_lets_air_cooled_systems_in(fake_catalog: Any, workload: dict[str, Any]) -> None:
    request = plan_for(fake_catalog, workload, site={"pod_air_heat": "250 kW"})
    assert "air-8" in names(request)
    assert "A Pod podos-1mw takes 250.0 kW of heat to air, as the workload states." in request.assumptions
    assert not any("decision 7" in sentence for sentence in request.assumptions)


def test_a_system_that_a_pod_cannot_cool(fake_catalog: Any, workload: dict[str, Any]) -> None:
    assert "heat to air of 10.2 kW, a Pod podos-1mw takes 10.0 kW" in why(
        plan_for(fake_catalog, workload, site={"pod_air_heat": "10 kW"}), "air-8"
    )
    request = plan_for(fake_catalog, workload, site={"pod": "both-pod"})
    assert names(request) == ["air-8", "liquid-8", "no-driver-8"]
    assert "heat to air of 22.0 kW" in why(request, "rack-72")


def test_a_pod_cooled_by_air_alone(fake_catalog: Any, workload: dict[str, Any]) -> None:
    request = plan_for(fake_catalog, workload, site={"pod": "air-pod"})
    assert names(request) == ["air-8"]
    assert "name the system in policy.systems or state pod_liquid_heat" in why(request, "liquid-8")


@pytest.mark.parametrize(
    "site",
    [{"liquid_heat": "4 MW"}, {"air_heat": "0 kW"}, {"pod_liquid_heat": "1 MW"}, {"pod_air_heat": "1 MW"}],
)
def test_an_unknown_heat_split_matters_only_where_heat_is_limited(
    fake_catalog: Any, workload: dict[str, Any], site: dict[str, str]
) -> None:
    assert "no-split-8" in names(plan_for(fake_catalog, workload, site={"power": "1 MW"}))
    assert "the split of its heat" in why(plan_for(fake_catalog, workload, site=site), "no-split-8")


def test_hbm_on_the_chosen_basis(fake_catalog: Any, workload: dict[str, Any]) -> None:
    request = plan_for(fake_catalog, workload, policy={"hbm": "driver"})
    assert "HBM of its GPU no-driver-8-gpu by driver is unknown" in why(request, "no-driver-8")
    assert "liquid-8" in names(request)


def test_a_candidate_at_one_of_several_sites(fake_catalog: Any, workload: dict[str, Any]) -> None:
    sites = [{"name": "a", "pod": "air-pod"}, {"name": "l"}]
    request = plan_for(fake_catalog, workload, sites=sites)
    assert names(request) == ["air-8", "liquid-8", "no-driver-8", "no-split-8", "rack-72"]
    by_name = {system.name: system for system in request.candidates}
    air, liquid = request.sites
    assert refusal(by_name["air-8"], air, request.policy) is None
    assert refusal(by_name["air-8"], liquid, request.policy) is not None
    assert refusal(by_name["no-split-8"], air, request.policy) is not None
    assert not any("air-8" in sentence for sentence in request.assumptions)


def test_reasons_at_several_sites_are_told_once_each(fake_catalog: Any, workload: dict[str, Any]) -> None:
    sites = [{"name": "a"}, {"name": "b", "pod": "air-pod"}]
    request = plan_for(fake_catalog, workload, sites=sites)
    assert why(request, "no-power-8").count("nameplate") == 1
    assert "podos-1mw" in why(request, "row-144")
    assert "air-pod" in why(request, "row-144")


def test_what_is_unknown_of_a_pod_is_said(fake_catalog: Any, workload: dict[str, Any]) -> None:
    assert (
        "What heat to liquid a Pod podos-1mw takes is unknown, and is not checked Pod by Pod."
        in plan_for(fake_catalog, workload).assumptions
    )
    assert plan_for(fake_catalog, workload, site={"pod": "both-pod"}).assumptions == (
        "The PUE of a Pod both-pod is unknown: its 1 MW counts in full for IT.",
    )


def test_a_supply_of_what_is_no_candidate_is_told(fake_catalog: Any, workload: dict[str, Any]) -> None:
    policy = {"systems": ["liquid-8"], "supply": {"rack-72": 3, "liquid-8": 2}}
    request = plan_for(fake_catalog, workload, policy=policy)
    (sentence,) = [sentence for sentence in request.assumptions if "supply" in sentence]
    assert sentence == "policy.supply says how many rack-72 there are, which is no candidate: that limits nothing."
