from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sizing.request.canonical import canonical_json, sha256_of
from sizing.request.load import request_from_document, workload_from
from sizing.request.objective import STAGES
from sizing.units.document import parse_document
from sizing.units.errors import BadInput


def test_every_default_is_written_out(fake_catalog: Any, workload: dict[str, Any]) -> None:
    assert workload_from(workload, fake_catalog).document == {
        "name": "test",
        "classes": [
            {
                "name": "chat",
                "model": "dense-7b",
                "context_tokens": 4096,
                "concurrency": 20,
                "demand": 20,
                "weights": ["bf16"],
                "kv_precision": ["bf16"],
                "allow_longer_context": False,
            }
        ],
        "sites": [
            {
                "name": "site",
                "pod": "podos-1mw",
                "power_kw": None,
                "liquid_heat_kw": None,
                "air_heat_kw": None,
                "pods": None,
                "pod_liquid_heat_kw": None,
                "pod_air_heat_kw": None,
                "installed": {"systems": {}, "pods": 0},
            }
        ],
        "policy": {
            "reserve_share": 0.1,
            "headroom_share": 0,
            "spare_systems": 0,
            "systems": None,
            "supply": {},
            "objective": ["pods", "system_kinds", "power", "gpus", "precision"],
            "mixed_pods": False,
            "split_precision": False,
            "dcp": False,
            "engine": "ideal",
            "hbm": "label",
            "power_basis": "provisioned",
            "prices": {},
        },
    }


def test_canonical_json() -> None:
    assert canonical_json({"b": [1, 0.1], "a": {"ö": None}}) == '{"a":{"ö":null},"b":[1,0.1]}'.encode()
    assert sha256_of({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json(float("nan"))


def test_ways_to_write_the_same_request_have_one_hash(fake_catalog: Any) -> None:
    head = "name: a\nclasses:\n"
    first = "- {name: c, model: dense-7b, context: 4k, concurrency: 20}\n"
    second = "- {name: d, model: moe-8x1b, context: 1k, concurrency: 1}\n"
    texts = [
        head + first + second,
        head + second + first,
        head + first.replace("dense-7b", "Org/Dense-7B").replace("4k", "4_096") + second + "policy: {reserve: 0.1}\n",
        head + first.replace("}", ", weights: bf16, kv_precision: fp16}") + second + "site: {pod: podos-1mw}\n",
    ]
    requests = [workload_from(parse_document(text, "f"), fake_catalog) for text in texts]
    assert len({request.input_sha256 for request in requests}) == 1
    assert all(request == requests[0] for request in requests)
    other = workload_from(parse_document(texts[0].replace("20", "21"), "f"), fake_catalog)
    assert other.input_sha256 != requests[0].input_sha256
    assert other.catalog_sha256 == requests[0].catalog_sha256


def test_entries_in_use(fake_catalog: Any, workload: dict[str, Any]) -> None:
    request = workload_from({**workload, "policy": {"systems": ["rack-72", "no-power-8"]}}, fake_catalog)
    assert {section: list(entries) for section, entries in request.entries.items()} == {
        "systems": ["rack-72"],
        "gpus": ["rack-72-gpu"],
        "models": ["dense-7b"],
        "precisions": ["bf16"],
        "pods": ["podos-1mw"],
        "engines": ["ideal"],
        "bill_rules": [],
    }
    assert request.catalog_sha256 == sha256_of(request.entries)
    assert request.input_sha256 == sha256_of(request.document)


def test_an_engine_profile_replaces_the_reserve(fake_catalog: Any, workload: dict[str, Any]) -> None:
    request = workload_from({**workload, "policy": {"engine": "vllm"}}, fake_catalog)
    assert request.policy.rules is fake_catalog.engine("vllm")
    assert request.document["policy"]["reserve_share"] is None
    assert list(request.entries["engines"]) == ["vllm"]
    again = request_from_document(request.document, fake_catalog)
    assert again.document == request.document
    assert again.policy.rules is request.policy.rules


KW = st.integers(0, 10**7).map(lambda tenths: f"{tenths / 10} kW") | st.integers(1, 10**9).map(lambda watt: f"{watt} W")
SITES = st.fixed_dictionaries(
    {"pod": st.sampled_from(["podos-1mw", "air-pod"])},
    optional={
        "power": KW,
        "liquid_heat": KW,
        "air_heat": KW,
        "pods": st.integers(0, 100),
        "pod_liquid_heat": KW,
        "pod_air_heat": KW,
    },
)
SHARES = st.integers(0, 9999).map(lambda hundredths: f"{hundredths / 100} %")
POLICIES = st.fixed_dictionaries(
    {},
    optional={
        "reserve": SHARES,
        "headroom": SHARES,
        "spare_systems": st.integers(0, 5),
        "systems": st.lists(st.sampled_from(["air-8", "rack-72", "liquid-8"]), min_size=1, unique=True),
        "supply": st.dictionaries(st.sampled_from(["air-8", "rack-72"]), st.integers(0, 9)),
        "objective": st.lists(st.sampled_from(STAGES[:-1]), min_size=1, unique=True),
        "mixed_pods": st.booleans(),
        "dcp": st.booleans(),
        "hbm": st.sampled_from(["label", "driver"]),
        "power_basis": st.sampled_from(["provisioned", "installed"]),
    },
)
CLASSES = st.fixed_dictionaries(
    {
        "model": st.sampled_from(["dense-7b", "Org/MoE"]),
        "context": st.integers(1, 300_000),
        "concurrency": st.integers(1, 10**6),
        "allow_longer_context": st.just(True),
    },
    optional={"weights": st.sampled_from([["bf16"], ["fp8", "bf16"]]), "kv_precision": st.just(["fp8", "fp16"])},
)


@given(st.lists(CLASSES, min_size=1, max_size=3), st.lists(SITES, min_size=1, max_size=2), POLICIES)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_request_can_be_read_again_from_its_document(
    fake_catalog: Any, classes: list[dict[str, Any]], sites: list[dict[str, Any]], policy: dict[str, Any]
) -> None:
    workload = {
        "name": "=1+1",
        "classes": [{"name": f"c{index}", **service} for index, service in enumerate(classes)],
        "sites": [{"name": f"s{index}", **site} for index, site in enumerate(sites)],
        "policy": policy,
    }
    request = workload_from(workload, fake_catalog)
    assert request_from_document(request.document, fake_catalog) == request


@pytest.mark.parametrize("broken", [{}, {"name": "a"}, {"name": "a", "classes": 5, "sites": [], "policy": {}}])
def test_what_is_no_document(fake_catalog: Any, broken: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="is no request"):
        request_from_document(broken, fake_catalog)


def test_a_document_that_was_changed_is_checked_like_any_workload(fake_catalog: Any, workload: dict[str, Any]) -> None:
    document = {**workload_from(workload, fake_catalog).document, "name": ""}
    with pytest.raises(BadInput, match="name: is empty"):
        request_from_document(document, fake_catalog)
