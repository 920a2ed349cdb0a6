"""The JSON contract `sizing.plan/1`: its keys, its order, its numbers, and the text that is the same every time."""

import json
from dataclasses import replace
from fractions import Fraction
from importlib.metadata import PackageNotFoundError
from typing import Any

import pytest

from sizing.plan.document import no_plan_document, plan_document, seals, to_json
from sizing.plan.plan import NoPlan, Partial, PlanInBrief, Relaxation, StatedLimit, Status
from sizing.request.request import Rejection
from sizing.units.version import version
from tests.plan_builders import two_sites

GOOD = two_sites()
DOCUMENT = plan_document(GOOD)

KEYS = [
    *("schema", "status", "objective", "pods", "systems", "to_buy", "totals", "deployments", "classes", "tokens"),
    *("memory", "limits", "placement", "bill", "assumptions", "reproducible", "sensitivity", "alternatives"),
    *("no_alternatives", "rejected", "request", "catalog", "input_sha256", "version", "sha256", "content_sha256"),
]

REFUSED = NoPlan(
    request=replace(GOOD.request, assumptions=("Air is plenty.",)),
    status=Status.INFEASIBLE,
    reasons=("2 Pods are needed, 1 is allowed",),
    relaxations=(
        Relaxation("pods", "north", Fraction(1), Fraction(2), "Pods"),
        Relaxation("power", "north", Fraction(1000), Fraction("1500.5"), "kW", option=2, proven=False),
        Relaxation("kv_precision:chat", None, "bf16", "fp8", "KV precision", option=3),
    ),
    rejected=(Rejection("node-8", "dense-70b", "too small"),),
    partial=Partial(
        share=Fraction(1, 4),
        at_most=Fraction(1, 2),
        served=(("chat", 12, 3),),
        bought=PlanInBrief(1, (("node-8", 2),), 16, Fraction("20.4"), (Fraction("20.4"), Fraction(22))),
    ),
    conflicts=((StatedLimit("pods", "north", Fraction(1), "Pods", Fraction(1)),),),
)


def test_keys_stand_in_the_order_of_the_contract() -> None:
    assert list(DOCUMENT) == KEYS
    assert DOCUMENT["schema"] == "sizing.plan/1"
    assert DOCUMENT["status"] == "optimal"


def test_objective() -> None:
    assert DOCUMENT["objective"][2] == {
        "stage": "power",
        "value": 3146,
        "unit": "0.1 kW",
        "bound": 3146,
        "gap": 0.0,
        "conditional": False,
    }


def test_pods_tell_what_stands_in_them_and_systems_what_is_bought() -> None:
    full = {"node-8": 7, "rack-72": 1}
    assert DOCUMENT["pods"] == [
        {"site": "north", "pod": "test-pod", "fill": {"node-8": 2, "rack-72": 1}, "planned": full, "count": 1},
        {"site": "south", "pod": "test-pod", "fill": {"node-8": 1, "rack-72": 1}, "planned": full, "count": 1},
    ]
    assert DOCUMENT["systems"] == {"node-8": 3, "rack-72": 2}


def test_totals_are_numbers_whole_where_they_are_whole() -> None:
    assert DOCUMENT["totals"] == {
        "pods": 2,
        "systems": 5,
        "domains": 5,
        "gpus": 168,
        "idle_gpus": 144,
        "stranded_slots": 0,
        "free_slots": 88,
        "nameplate_kw": 314.6,
        "liquid_kw": 255.6,
        "air_kw": 59,
        "balance_kw": 0,
        "balance_liquid_kw": 0,
        "balance_air_kw": 0,
        "cost_usd": None,
        "cost_low_usd": None,
    }
    assert isinstance(DOCUMENT["totals"]["air_kw"], int)


def test_unknown_heat_is_null() -> None:
    unknown = replace(GOOD, totals=replace(GOOD.totals, liquid_kw=None, air_kw=None))
    assert plan_document(unknown)["totals"]["liquid_kw"] is None


def test_a_deployment() -> None:
    assert DOCUMENT["deployments"][2] == {
        "id": "rack-72/latent-671b/fp8/bf16/tp1-adp8",
        "system": "rack-72",
        "gpu": "gpu-of-rack-72",
        "domain_gpus": 72,
        "model": "latent-671b",
        "weights": "fp8",
        "kv_precision": "bf16",
        "layout": {"tp": 1, "dcp": 1, "attention_dp": 8, "ep": 8},
        "gpus_per_replica": 8,
        "replicas": 1,
        "pools": 8,
        "kv_budget_bytes_per_pool": 160_343_755_264,
        "bytes_per_token": 70_272,
        "patterns": [
            {"count": 5, "sequences": {"agents": 34}},
            {"count": 1, "sequences": {"agents": 31}},
            {"count": 2, "sequences": {}},
        ],
    }


def test_a_class_runs_at_one_pair_of_precisions() -> None:
    assert DOCUMENT["classes"][3] == {
        "name": "notes",
        "demand": 110,
        "served": 110,
        "precision": {"weights": "bf16", "kv_precision": "fp8"},
        "placements": [
            {
                "deployment": "node-8/dense-70b/bf16/fp8/tp4",
                "sequences": 110,
                "sequence_bytes": 5_368_709_120,
                "binding": "demand",
            }
        ],
    }


def test_a_class_that_may_be_split_lists_its_pairs() -> None:
    policy = replace(GOOD.request.policy, split_precision=True)
    document = plan_document(replace(GOOD, request=replace(GOOD.request, policy=policy)))
    assert document["classes"][0]["precision"] == [{"weights": "fp8", "kv_precision": "bf16"}]


def test_tokens_memory_and_limits() -> None:
    assert DOCUMENT["tokens"] == {
        "committed": 19_443_712,
        "spare": 5_951_656,
        "capacity": 25_395_368,
        "by_model": {
            "dense-70b": {"committed": 6_270_976, "spare": 870_328, "capacity": 7_141_304},
            "latent-671b": {"committed": 13_172_736, "spare": 5_081_328, "capacity": 18_254_064},
        },
    }
    memory = DOCUMENT["memory"]
    assert memory["bought"] == sum(part for name, part in memory.items() if name != "bought")
    assert {
        "name": "liquid_heat",
        "site": "north",
        "used": 127.8,
        "limit": 200,
        "unit": "kW",
        "binding": True,
    } in DOCUMENT["limits"]
    assert [limit["limit"] for limit in DOCUMENT["limits"] if limit["site"] == "south"] == [None] * 4
    assert DOCUMENT["limits"][-1]["site"] is None


def test_placement_is_in_runs() -> None:
    assert DOCUMENT["placement"][1] == {
        "site": "north",
        "pods": [1, 1],
        "system": "node-8",
        "systems": [2, 2],
        "domains": [1, 1],
        "replicas": [{"deployment": "node-8/dense-70b/bf16/fp8/tp4", "count": 2, "gpus": 4}],
        "idle_gpus": 0,
    }


def test_where_it_comes_from() -> None:
    rejected = (Rejection("l40s-8", None, "too small"),)
    document = plan_document(replace(GOOD, rejected=rejected, assumptions=("Air is plenty.",), reproducible=False))
    assert document["rejected"] == [{"system": "l40s-8", "model": None, "why": "too small"}]
    assert document["assumptions"] == ["Air is plenty."]
    assert document["reproducible"] is False
    assert document["request"] == {"name": "Test request"}
    assert document["catalog"] == {"sha256": "c" * 64, "entries": {}}
    assert document["input_sha256"] == "i" * 64
    assert document["version"] == version()


def test_what_follows_from_nothing_else_is_hashed() -> None:
    hashes = DOCUMENT["sha256"]
    searched = {"sensitivity", "alternatives", "no_alternatives"}
    assert set(hashes) == {"objective", "assumptions", "reproducible", "rejected", "version", *searched}
    assert hashes == seals(json.loads(to_json(DOCUMENT)))
    assert seals({"totals": 1, "gaps": [0.0, 0.5]}) == seals({"totals": 2, "gaps": [0, 0.5]})
    other = plan_document(replace(GOOD, rejected=(Rejection("l40s-8", None, "too small"),)))["sha256"]
    assert {key for key in hashes if hashes[key] != other[key]} == {"rejected"}


def test_the_text_is_read_back_as_the_document() -> None:
    text = to_json(DOCUMENT)
    assert json.loads(text) == DOCUMENT
    assert text.endswith("\n}\n")
    assert text == to_json(plan_document(two_sites()))


def test_text_is_written_as_it_is() -> None:
    assert to_json({"name": "Αθήνα 東京 ☁"}) == '{\n  "name": "Αθήνα 東京 ☁"\n}\n'


def test_no_number_that_json_lacks() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        to_json({"value": float("nan")})


def test_without_a_plan_the_same_shape_says_why() -> None:
    document = no_plan_document(REFUSED)
    assert set(document) == {*KEYS, "reasons", "relaxations", "conflicts", "partial"}
    assert document["status"] == "infeasible"
    assert document["reasons"] == ["2 Pods are needed, 1 is allowed"]
    power = {"limit": "power", "site": "north", "now": 1000, "needed": 1500.5, "unit": "kW"}
    fewer_bits = {"limit": "kv_precision:chat", "site": None, "now": "bf16", "needed": "fp8", "unit": "KV precision"}
    assert document["relaxations"] == [
        {"limit": "pods", "site": "north", "now": 1, "needed": 2, "unit": "Pods", "option": 1, "proven": True},
        power | {"option": 2, "proven": False},
        fewer_bits | {"option": 3, "proven": True},
    ]
    assert document["conflicts"] == [[{"limit": "pods", "site": "north", "value": 1, "unit": "Pods"}]]
    assert document["partial"] == {
        "share": 0.25,
        "at_most": 0.5,
        "classes": [{"name": "chat", "demand": 12, "served": 3}],
        "pods": 1,
        "systems": {"node-8": 2},
        "gpus": 16,
        "nameplate_kw": 20.4,
        "nameplate_range_kw": [20.4, 22],
    }
    assert document["rejected"] == [{"system": "node-8", "model": "dense-70b", "why": "too small"}]
    assert document["assumptions"] == ["Air is plenty."]
    assert json.loads(to_json(document)) == document
    for key in KEYS:
        if isinstance(DOCUMENT[key], list) and key not in ("rejected", "assumptions"):
            assert document[key] == []


@pytest.mark.parametrize("reproducible", [True, False])
def test_an_answer_tells_whether_the_clock_gave_it(reproducible: bool) -> None:
    assert no_plan_document(replace(REFUSED, reproducible=reproducible))["reproducible"] is reproducible


def test_the_version_of_a_package_that_was_not_installed_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.version", missing)
    assert version() == "unknown"
