"""What is other in one plan document than in another, and why."""

import json
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from sizing.plan.compared import Compared, Item, Ordered, bill, plan
from sizing.plan.difference import Cause, Change, Why, difference, difference_document
from sizing.plan.document import content_sha256, no_plan_document, plan_document, to_json
from sizing.plan.plan import Status
from sizing.units.errors import BadInput
from tests.report.report_plans import no_plan, sourced_plan

Document = dict[str, Any]


def written(document: Document) -> Document:
    """As a file says it, sealed anew."""
    document = document | {"content_sha256": content_sha256(document)}
    read = json.loads(to_json(document))
    assert isinstance(read, dict)
    return read


REQUEST: Document = {
    "name": "Example",
    "classes": [
        {"name": "chat", "concurrency": 2000, "demand": 2200, "kv_precision": ["bf16", "fp8"]},
        {"name": "notes", "concurrency": 100, "demand": 110, "kv_precision": ["fp8"]},
    ],
    "sites": [{"name": "north", "power_kw": 5000, "pods": None}],
    "policy": {"reserve_share": 0.1, "headroom_share": 0.1, "systems": None},
}
GOOD = written(plan_document(sourced_plan()) | {"request": REQUEST})
REFUSED = written(no_plan_document(no_plan()) | {"request": REQUEST})


def changed(change: Callable[[Document], None], document: Document = GOOD) -> Document:
    other = deepcopy(document)
    change(other)
    return written(other)


def compared(before: Document, after: Document) -> Document:
    return difference_document(difference(plan(before, "a.json"), plan(after, "b.json")))


def causes(change: Callable[[Document], None]) -> list[tuple[str, str, Any, Any]]:
    return [
        (cause["why"], ".".join(cause["path"]), cause["before"], cause["after"])
        for cause in compared(GOOD, changed(change))["why"]
    ]


@pytest.mark.parametrize("document", [GOOD, REFUSED])
def test_a_plan_is_identical_with_itself(document: Document) -> None:
    found = compared(document, deepcopy(document))
    assert found["identical"]
    assert not any(found[key] for key in ("why", "units", "changes", "elsewhere"))
    assert found["schema"] == "sizing.diff/1"


def test_the_order_of_classes_and_of_keys_is_no_difference() -> None:
    def reverse(document: Document) -> None:
        document["request"]["classes"].reverse()
        document["classes"].reverse()
        document["rejected"].reverse()
        document["totals"] = dict(reversed(document["totals"].items()))

    assert compared(GOOD, changed(reverse))["identical"]


def test_a_whole_number_written_with_a_point_is_the_same() -> None:
    def write(document: Document) -> None:
        document["totals"]["gpus"] = float(document["totals"]["gpus"])
        document["placement"][0]["idle_gpus"] = float(document["placement"][0]["idle_gpus"])

    assert compared(GOOD, changed(write))["identical"]


def test_concurrency_is_input_and_the_demand_that_follows_is_no_cause() -> None:
    def more(document: Document) -> None:
        document["request"]["classes"][0] |= {"concurrency": 2500, "demand": 2750}

    assert causes(more) == [("input", "request.classes.chat.concurrency", 2000, 2500)]


def test_a_class_that_came_and_one_that_went() -> None:
    def rename(document: Document) -> None:
        document["request"]["classes"][1]["name"] = "drafts"

    assert [(why, path) for why, path, *_ in causes(rename)] == [
        ("input", "request.classes.notes"),
        ("input", "request.classes.drafts"),
    ]


def test_site_policy_and_version_are_told_apart() -> None:
    def other(document: Document) -> None:
        document["request"]["sites"][0]["power_kw"] = 4000
        document["request"]["policy"]["reserve_share"] = 0.15
        document["version"] = "9.9"

    version = GOOD["version"]
    assert causes(other) == [
        ("input", "request.sites.north.power_kw", 5000, 4000),
        ("policy", "request.policy.reserve_share", 0.1, 0.15),
        ("version", "version", version, "9.9"),
    ]


def test_a_figure_of_the_catalog_with_its_sources() -> None:
    def hotter(document: Document) -> None:
        nameplate = document["catalog"]["entries"]["systems"]["node-8"]["nameplate_kw"]
        nameplate |= {"value": 14.5, "confidence": "low", "sources": [{"title": "Another sheet"}]}

    (value, confidence) = compared(GOOD, changed(hotter))["why"]
    path = ["catalog", "entries", "systems", "node-8", "nameplate_kw"]
    assert value == {
        "why": "catalog",
        "path": path,
        "before": 10.2,
        "after": 14.5,
        "unit": "kW",
        "sources": {"before": ["A data sheet"], "after": ["Another sheet"]},
    }
    assert (confidence["path"], confidence["before"], confidence["after"]) == ([*path, "confidence"], "high", "low")


def test_another_source_of_the_same_figure_is_told() -> None:
    def resourced(document: Document) -> None:
        document["catalog"]["entries"]["systems"]["node-8"]["nameplate_kw"]["sources"][0]["title"] = "Another"

    path = "catalog.entries.systems.node-8.nameplate_kw.sources"
    assert causes(resourced) == [("catalog", path, ["A data sheet"], ["Another"])]


def test_an_entry_that_one_uses_alone_is_of_the_catalog_only_where_the_request_is_the_same() -> None:
    def gone(document: Document) -> None:
        del document["catalog"]["entries"]["systems"]["rack-72"]

    def asked(document: Document) -> None:
        gone(document)
        document["request"]["policy"]["systems"] = ["node-8"]

    assert [(why, path) for why, path, *_ in causes(gone)] == [("catalog", "catalog.entries.systems.rack-72")]
    assert causes(asked) == [("policy", "request.policy.systems", None, ["node-8"])]


def test_units_power_tokens_precisions_and_limits_are_compared() -> None:
    def other(document: Document) -> None:
        document["bill"][1] |= {"ordered": 5, "total_kw": 51}
        document["totals"] |= {"gpus": 184, "nameplate_kw": 335, "cost_usd": 1_000_000.5}
        document["tokens"]["spare"] += 7
        document["classes"][0]["precision"]["kv_precision"] = "fp8"
        document["limits"][0] |= {"binding": not document["limits"][0]["binding"]}
        document["systems"]["new-8"] = 2

    found = difference(plan(GOOD, "a"), plan(changed(other), "b"))
    (line,) = found.units
    assert (line.item.part, line.before, line.after) == (
        "node-8",
        Ordered(Fraction(3), Fraction("30.6"), None),
        Ordered(Fraction(5), Fraction(51), None),
    )
    spare = Fraction(GOOD["tokens"]["spare"])
    assert {*found.changes} >= {
        Change("GPUs", "GPUs in all", Fraction(168), Fraction(184), "GPUs"),
        Change("power", "nameplate of the systems", Fraction("314.6"), Fraction(335), "kW"),
        Change("cost", "cost, prices at their high end", None, Fraction("1000000.5"), "USD"),
        Change("tokens", "spare", spare, spare + 7, "tokens"),
        Change("precisions", "agents", "fp8 weights, bf16 KV", "fp8 weights, fp8 KV", ""),
        Change("limits", "power at north: binds", True, False, ""),
        Change("systems", "new-8", None, Fraction(2), "systems"),
    }
    assert found.causes == ()
    assert found.elsewhere == ("classes",)


def test_stages_of_the_objective_are_compared_in_their_units() -> None:
    def grown(document: Document) -> None:
        for stage in document["objective"]:
            if stage["stage"] in ("power", "gpus"):
                stage["value"] += 12
                stage["bound"] = stage["value"]

    found = difference(plan(GOOD, "a"), plan(changed(grown), "b"))
    values = {stage["stage"]: stage["value"] for stage in GOOD["objective"]}
    power, gpus = values["power"], values["gpus"]
    assert set(found.changes) == {
        Change("stages", "power", Fraction(power, 10), Fraction(power + 12, 10), "kW"),
        Change("stages", "gpus", Fraction(gpus), Fraction(gpus + 12), "GPUs"),
    }
    assert found.elsewhere == ()


def test_a_bound_that_is_another_is_named_without_a_figure() -> None:
    def open_again(document: Document) -> None:
        document["objective"][0]["bound"] = 0

    found = difference(plan(GOOD, "a"), plan(changed(open_again), "b"))
    assert found.changes == ()
    assert found.elsewhere == ("objective",)


def test_what_no_figure_stands_for_is_named() -> None:
    def moved(document: Document) -> None:
        document["placement"][0]["idle_gpus"] += 1
        document["news"] = 1

    found = compared(GOOD, changed(moved))
    assert not found["identical"]
    assert found["elsewhere"] == ["placement", "news"]


def test_a_change_by_hand_and_a_stop_by_the_clock_are_told() -> None:
    by_hand = deepcopy(GOOD)
    by_hand["totals"]["gpus"] += 1
    assert not plan(by_hand, "b").basis.untouched  # type: ignore[union-attr]
    assert plan(GOOD, "a").basis.untouched  # type: ignore[union-attr]
    found = difference(plan(GOOD, "a"), plan(changed(lambda document: document.update(reproducible=False)), "b"))
    assert found.causes == (Cause(Why.SEARCH, ("reproducible",), True, False),)


def test_with_and_without_a_plan() -> None:
    found = difference(plan(GOOD, "a"), plan(REFUSED, "b"))
    assert Change("standing", "status", "optimal", "infeasible", "") in found.changes
    assert Change("GPUs", "GPUs in all", Fraction(168), None, "GPUs") in found.changes
    assert all(line.after is None for line in found.units)
    assert len(found.units) == len(GOOD["bill"])


def test_two_answers_without_a_plan_are_compared_by_what_they_say() -> None:
    later = written(no_plan_document(replace(no_plan(Status.TIMEOUT), reasons=("Another.",))) | {"request": REQUEST})
    found = difference(plan(REFUSED, "a"), plan(later, "b"))
    assert Change("standing", "status", "infeasible", "timeout", "") in found.changes
    assert Change("no plan", "why there is none: Another.", None, True, "") in found.changes


JUNK: list[Any] = [None, [], {}, [1], "x", True, 10**400, -1, [{}], {"a": {"b": 1}}, [[]]]


@pytest.mark.parametrize("key", GOOD)
def test_junk_in_any_place_is_refused_or_compared(key: str) -> None:
    """Never another error: what is not compared figure by figure may hold anything."""
    for junk in JUNK:
        with suppress(BadInput):
            found = difference(plan(GOOD, "a"), plan(GOOD | {key: junk}, "b"))
            json.dumps(difference_document(found), allow_nan=False)


def test_what_is_missing_is_told_all_at_once() -> None:
    with pytest.raises(BadInput) as wrong:
        plan({key: GOOD[key] for key in GOOD if key not in ("bill", "limits")}, "b.json")
    assert [str(problem) for problem in wrong.value.problems] == [
        "b.json: limits: is missing",
        "b.json: bill: is missing",
    ]


def side(quantity: int, kw: Fraction | None) -> Compared:
    item = Item("Systems", "v", "node-8", "Node", "piece")
    return bill(
        "x.csv", [(item, Ordered(Fraction(quantity), kw, None)), (item, Ordered(Fraction(1), Fraction(0), None))]
    )


def test_of_bills_units_and_totals_alone() -> None:
    found = difference(side(3, Fraction(30)), side(4, Fraction(40)))
    assert found.of_bills
    assert [(change.before, change.after) for change in found.units] == [
        (Ordered(Fraction(4), Fraction(30), None), Ordered(Fraction(5), Fraction(40), None))
    ]
    assert found.changes == (
        Change("totals", "power of all lines where it is known", Fraction(30), Fraction(40), "kW"),
    )
    assert found.causes == ()


def test_a_plan_beside_a_bill_is_compared_as_its_bill() -> None:
    whole = plan(GOOD, "a.json")
    found = difference(whole, bill("b.csv", whole.items.items()))
    assert found.of_bills
    assert found.is_identical
