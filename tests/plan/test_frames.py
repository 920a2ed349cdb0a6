"""A plan as data frames: the figures of its JSON, with types that do not depend on the plan."""

import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas
import pytest

from sizing.facility.pod import Balance, Fill
from sizing.plan.brief import brief_of_plan
from sizing.plan.document import plan_document
from sizing.plan.frames import TABLES
from sizing.plan.plan import (
    Alternative,
    Alternatives,
    Limit,
    OtherHbm,
    PowerRanges,
    Sensitivity,
    SensitivityCase,
    StageResult,
    Status,
)
from sizing.request.request import Rejection
from sizing.units.errors import BadInput
from tests.plan_builders import two_sites

ROOT = Path(__file__).resolve().parent.parent.parent
GOOD = replace(two_sites(), rejected=(Rejection("l40s-8", None, "too small"), Rejection("node-8", "dense-70b", "=1+1")))
DOCUMENT = plan_document(GOOD)
FRAMES = GOOD.data_frames()


def records(name: str) -> list[dict[str, Any]]:
    """The rows of a table as Python's own values, what is missing as None."""
    frame = FRAMES[name]
    return [
        {str(key): None if pandas.isna(value) else value for key, value in row.items()}
        for row in frame.astype(object).to_dict("records")
    ]


def test_every_table_by_its_name() -> None:
    assert list(FRAMES) == list(TABLES)
    for name, frame in FRAMES.items():
        pandas.testing.assert_frame_equal(frame, GOOD.data_frame(name))


@pytest.mark.parametrize(("name", "key"), [("objective", "objective"), ("limits", "limits"), ("rejected", "rejected")])
def test_lists_of_plain_objects_are_tables_as_they_are(name: str, key: str) -> None:
    assert records(name) == DOCUMENT[key]


@pytest.mark.parametrize("name", ["totals", "memory"])
def test_sums_are_one_row(name: str) -> None:
    assert records(name) == [DOCUMENT[name]]


def test_deployments() -> None:
    for row, told in zip(records("deployments"), DOCUMENT["deployments"], strict=True):
        flat = {**told, **told["layout"]}
        assert {key: row[key] for key in row if key in flat} == {key: flat[key] for key in row if key in flat}
        assert set(flat) - set(row) == {"layout", "patterns"}
        assert row["gpus"] == told["replicas"] * told["gpus_per_replica"]
        parts = row["reserve_bytes_per_pool"] + row["weight_bytes_per_pool"] + row["kv_budget_bytes_per_pool"]
        assert row["hbm_bytes_per_pool"] == parts


def test_patterns_hold_what_the_classes_are_served() -> None:
    frame = FRAMES["patterns"]
    assert len(frame) == sum(max(1, len(p["sequences"])) for d in DOCUMENT["deployments"] for p in d["patterns"])
    empty = frame[frame["class"].isna()]
    assert empty[["count", "sequences"]].to_numpy().tolist() == [[2, 0]]
    held = (frame["count"] * frame["sequences"]).groupby(frame["class"]).sum()
    assert held.to_dict() == {each["name"]: each["served"] for each in DOCUMENT["classes"]}


def test_classes_and_where_they_are_held() -> None:
    classes = FRAMES["classes"].set_index("name")
    assert classes["demand"].to_dict() == {each["name"]: each["demand"] for each in DOCUMENT["classes"]}
    assert classes["committed_tokens"].sum() == DOCUMENT["tokens"]["committed"]
    assert classes.loc["agents"].to_dict() == {
        "model": "latent-671b",
        "context_tokens": 65_536,
        "concurrency": 182,
        "demand": 201,
        "served": 201,
        "committed_tokens": 13_172_736,
    }
    assert records("placements") == [
        {
            "class": each["name"],
            "deployment": place["deployment"],
            **each["precision"],
            "sequences": place["sequences"],
            "sequence_bytes": place["sequence_bytes"],
            "binding": place["binding"],
        }
        for each in DOCUMENT["classes"]
        for place in each["placements"]
    ]


def test_tokens_by_model() -> None:
    assert records("tokens") == [{"model": name, **each} for name, each in DOCUMENT["tokens"]["by_model"].items()]


def test_pods_are_counted_within_their_site() -> None:
    first, second = GOOD.pods
    more = replace(first, count=3, systems=(("rack-72", 1),))
    unplanned = replace(first, systems=(), fill=Fill((), Balance()))
    frame = replace(GOOD, pods=(first, more, second, unplanned)).data_frame("pods")
    assert pandas.isna(frame["system"].iloc[-1])
    assert frame.iloc[-1][["first_pod", "last_pod", "fill", "planned"]].tolist() == [5, 5, 0, 0]
    assert frame.iloc[:-1].to_numpy().tolist() == [
        ["north", "test-pod", 1, 1, 1, "node-8", 2, 7],
        ["north", "test-pod", 1, 1, 1, "rack-72", 1, 1],
        ["north", "test-pod", 2, 4, 3, "node-8", 0, 7],
        ["north", "test-pod", 2, 4, 3, "rack-72", 1, 1],
        ["south", "test-pod", 1, 1, 1, "node-8", 1, 7],
        ["south", "test-pod", 1, 1, 1, "rack-72", 1, 1],
    ]


def test_systems_and_the_bill_add_up_to_the_totals() -> None:
    systems, bill, totals = FRAMES["systems"], FRAMES["bill"], DOCUMENT["totals"]
    assert dict(zip(systems["system"], systems["count"], strict=True)) == DOCUMENT["systems"]
    assert systems[["domains", "gpus"]].sum().to_dict() == {"domains": totals["domains"], "gpus": totals["gpus"]}
    assert systems["nameplate_kw"].sum() == pytest.approx(totals["nameplate_kw"])
    by_group = bill.groupby("group")
    assert by_group["total_kw"].sum()["Systems"] == pytest.approx(totals["nameplate_kw"])
    assert by_group["quantity"].sum()["GPUs"] == totals["gpus"]
    assert bill.loc[bill["group"] == "Systems", "unit_usd"].isna().all()
    assert (bill["ordered"] == bill["quantity"] - bill["installed"] + bill["spares"]).all()


def test_placement_tells_every_gpu() -> None:
    frame = FRAMES["placement"]
    domains = (
        (frame["last_pod"] - frame["first_pod"] + 1)
        * (frame["last_system"] - frame["first_system"] + 1)
        * (frame["last_domain"] - frame["first_domain"] + 1)
    )
    in_replicas = (domains * frame["replicas"] * frame["gpus_per_replica"]).sum()
    assert in_replicas == DOCUMENT["totals"]["gpus"] - DOCUMENT["totals"]["idle_gpus"]
    assert (domains * frame["idle_gpus"]).sum() == DOCUMENT["totals"]["idle_gpus"]
    assert frame.loc[frame["deployment"].isna(), "site"].tolist() == ["south", "south"]


def test_columns_and_types_are_those_of_the_table_also_where_it_is_empty() -> None:
    empty = replace(
        GOOD,
        stages=(),
        pods=(),
        systems=(),
        deployments=(),
        classes=(),
        tokens_by_model={},
        limits=(),
        placement=(),
        rejected=(),
    )
    for name, table in TABLES.items():
        for plan in (GOOD, empty):
            frame = plan.data_frame(name)
            assert {column: str(kind) for column, kind in frame.dtypes.items()} == dict(table.columns), name
        assert len(empty.data_frame(name)) == (1 if name in ("totals", "memory") else 0)


def test_what_is_missing_is_no_number() -> None:
    stage, limit = StageResult("pods", "Pods", 2, None), Limit("pods", "north", Fraction(1, 3), None, "Pods", False)
    plan = replace(GOOD, stages=(stage,), limits=(limit,), totals=replace(GOOD.totals, liquid_kw=None))
    stages = plan.data_frame("objective")
    assert stages["bound"].isna().all()
    assert stages["bound"].dtype == "Int64"
    assert stages["gap"].isna().all()
    assert plan.data_frame("limits")["limit"].isna().all()
    assert plan.data_frame("limits")["used"].tolist() == [1 / 3]
    assert plan.data_frame("totals")["liquid_kw"].isna().all()


def test_whole_numbers_beyond_64_bits_stay_exact() -> None:
    plan = replace(GOOD, memory=replace(GOOD.memory, bought=2**70 + 1))
    assert plan.data_frame("memory")["bought"].tolist() == [2**70 + 1]


def test_an_unknown_table_names_the_nearest() -> None:
    with pytest.raises(BadInput, match=r"no such table \(seen: 'deployment'; .*did you mean 'deployments'\?"):
        GOOD.data_frame("deployment")


def test_pandas_comes_in_with_the_first_table_only() -> None:
    code = (
        "import sys; sys.path.insert(0, '.')\n"
        "import sizing.plan.frames, sizing.plan.document\n"
        "from tests.plan_builders import two_sites\n"
        "plan = two_sites()\nassert 'pandas' not in sys.modules\n"
        "plan.data_frame('pods')\nassert 'pandas' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_alternatives_and_cases_are_tables_that_are_empty_unless_asked_for() -> None:
    assert (len(FRAMES["alternatives"]), len(FRAMES["sensitivity"])) == (0, 0)
    brief = brief_of_plan(GOOD)
    other = Alternative("only node-8", ("+1 Pod", "+12.3 kW"), GOOD)
    cases = (
        SensitivityCase(
            "no limit of site Pods", "pods", "north", Fraction(5), None, "Pods", Status.OPTIMAL, brief, False
        ),
        SensitivityCase("mixed Pods allowed", "mixed_pods", None, False, True, "", Status.TIMEOUT, None, None),
    )
    looked = Sensitivity(OtherHbm("driver", None, False, ()), PowerRanges(None, brief.nameplate_range_kw), cases=cases)
    frames = replace(GOOD, alternatives=Alternatives((other,)), sensitivity=looked).data_frames()
    assert frames["alternatives"]["rank"].tolist() == [1] * len(GOOD.systems)
    assert frames["alternatives"]["differs"][0] == "+1 Pod; +12.3 kW"
    assert dict(zip(frames["alternatives"]["system"], frames["alternatives"]["count"], strict=True)) == dict(
        GOOD.systems
    )
    told = frames["sensitivity"].astype(object).where(frames["sensitivity"].notna(), None)
    assert told["now"].tolist() == ["5", "False"]
    assert told["asked"].tolist() == [None, "True"]
    assert told["changes"].tolist() == [False, None]
    assert told["pods"].tolist() == [GOOD.totals.pods, None]
    for name in ("alternatives", "sensitivity"):
        assert frames[name].dtypes.to_dict() == FRAMES[name].dtypes.to_dict()
