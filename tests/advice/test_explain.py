"""Why there is no plan, case by case: each has its arithmetic in a comment."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from sizing import load_workload
from sizing.advice.answer import answer
from sizing.advice.explain import explain
from sizing.facility.site import Site
from sizing.facility.system import System
from sizing.plan.document import no_plan_document
from sizing.plan.limits import stated_limits, with_limit
from sizing.plan.plan import NoPlan, Plan, Relaxation, Status
from sizing.pool.precision import KvPrecision
from sizing.program.deployments import enumerate_options
from sizing.program.exact import NotFound
from sizing.program.halt import Halt
from sizing.program.solver import Effort
from sizing.report.console import no_plan_report
from sizing.request.request import Policy, Request, ServiceClass
from sizing.sequence.feed_forward import GatedMlp
from sizing.sequence.heads import FullAttention
from tests.plan_builders import (
    BF16,
    DENSE_70B,
    FP8,
    NEW_ONLY,
    NODE,
    TEST_POD,
    kv_precision,
    model,
    policy,
    request,
    service_class,
    system,
)

BIG = system("big-8", hbm_gb=288, kw="14.5", generation="new")
SMALL = system("small-8", hbm_gb=48, kw="5")
TIGHT = system("tight-8", hbm_gb=40)
INT4 = kv_precision("int4", Fraction(17, 4))
PRECISIONS = (BF16, FP8, INT4)
LONG = 131_072

DENSE_405B = model(
    "dense-405b",
    [(126, FullAttention(query_heads=128, kv_heads=8, head_dim=128), GatedMlp(intermediate=53_248))],
    hidden=16_384,
    vocabulary=128_256,
)


def asked(
    classes: Sequence[ServiceClass],
    candidates: Sequence[System] = (NODE,),
    rules: Policy | None = None,
    kv_precisions: tuple[KvPrecision, ...] = (),
    **limits: Any,
) -> Request:
    """A request at one site, by default without further KV precisions in its catalog."""
    found = request(classes, candidates, [Site("site", TEST_POD, **limits)], rules)
    return replace(found, kv_precisions=kv_precisions)


def refused(wanted: Request) -> NoPlan:
    found = answer(wanted, Effort())
    assert isinstance(found, NoPlan)
    assert found.status is Status.INFEASIBLE
    assert found.reproducible
    assert no_plan_document(found)["reasons"] == list(found.reasons)
    return found


def long(concurrency: int) -> ServiceClass:
    """20 of these fill a NODE: 60 need 3 systems, 61 need 4; 16 NODEs fill a Pod."""
    return service_class("long", context=LONG, concurrency=concurrency)


def options(found: NoPlan) -> list[list[tuple[str, object, object]]]:
    """The changes of every option: limit, now, needed."""
    numbers = sorted({change.option for change in found.relaxations})
    assert numbers == list(range(1, len(numbers) + 1))
    return [
        [(change.limit, change.now, change.needed) for change in found.relaxations if change.option == number]
        for number in numbers
    ]


def names(found: NoPlan) -> list[list[str]]:
    return [[limit.name for limit in conflict] for conflict in found.conflicts]


# Arithmetic


def test_weights_that_fit_no_system_lack_these_bytes() -> None:
    """405,853,388,800 parameters in bf16 on eight GPUs of 48 GB, a tenth of it reserved."""
    found = refused(asked([service_class("x", DENSE_405B, kv=(BF16,))], [SMALL]))
    missing = 2 * 405_853_388_800 - 8 * 48 * 10**9 * 9 // 10
    assert missing == 466_106_777_600
    (reason,) = found.reasons
    assert reason.startswith("class `x` fits no system: small-8: the weights in bf16 do not fit: ")
    assert "466,106,777,600 bytes are missing (434.1 GiB)" in reason
    assert (found.conflicts, found.partial) == ((), None)


def test_weights_in_fewer_bits_are_named_where_those_accepted_fit_nowhere() -> None:
    """Eight bits would be 405.9 GB of 345.6; in four and a half there is room for caches too."""
    wanted = asked([service_class("x", DENSE_405B, kv=(BF16,)), service_class("y", concurrency=3)], [SMALL])
    found = refused(wanted)
    (change,) = [change for change in found.relaxations if change.limit == "weights:x"]
    assert (change.now, change.needed, change.unit) == ("bf16", "nvfp4", "weights")
    assert "allow weights in nvfp4 for `x`" in no_plan_report(found)
    classes = (replace(wanted.classes[0], weights=("bf16", "nvfp4")), wanted.classes[1])
    assert isinstance(answer(replace(wanted, classes=classes), Effort()), Plan)
    fp8 = (replace(wanted.classes[0], weights=("bf16", "fp8")), wanted.classes[1])
    assert isinstance(answer(replace(wanted, classes=fp8), Effort()), NoPlan)


def test_what_a_pod_has_too_little_of_is_said_in_numbers() -> None:
    found = refused(asked([long(20)], [NODE], pod_air_kw=Fraction(5)))
    (reason,) = found.reasons
    assert reason == (
        "class `long` fits only on node-8, and no Pod of the sites holds one with its balance of plant: "
        "node-8 needs 10.2 kW of heat to air, and a Pod has 5 kW"
    )


def test_a_sequence_that_fits_no_domain_is_told_in_gib_and_the_nearest_miss_first() -> None:
    """4 Mi tokens of a 405B: 516,096 bytes each, 2,016 GiB; BIG leaves 2,073.6 GB less 811.7 GB, 1,175 GiB."""
    sequence, room = 516_096 * 2**22, 8 * 288 * 10**9 * 9 // 10 - 2 * 405_853_388_800
    found = refused(asked([service_class("agents", DENSE_405B, context=2**22)], [NODE, BIG]))
    (reason,) = found.reasons
    assert reason.startswith(
        "class `agents` fits no system: one sequence of `agents` needs 2,016 GiB; big-8 leaves 1,175 GiB ("
    )
    assert f"{sequence - room:,} bytes are missing" in reason
    assert "one sequence of `agents` needs 2,016 GiB; node-8 leaves 190 GiB" in reason


def test_a_sequence_that_fits_no_domain_may_fit_in_fewer_bits() -> None:
    """At fp8 it takes 1,008 GiB."""
    agents = service_class("agents", DENSE_405B, context=2**22)
    found = refused(asked([agents, long(3)], [BIG], kv_precisions=PRECISIONS))
    assert options(found) == [[("kv_precision:agents", "bf16", "fp8")]]
    assert found.partial is not None
    assert found.partial.share == found.partial.at_most == 1  # of `long`, the only class that fits
    assert found.partial.served == (("agents", 1, 0), ("long", 3, 3))
    assert "- 100 % of every class but those that fit no system (1)" in no_plan_report(found)


def test_a_precision_that_no_listed_gpu_supports_is_named_with_one_that_it_does() -> None:
    old = system("old-8", hbm_gb=141)
    found = refused(asked([service_class("x", kv=(NEW_ONLY,))], [NODE, old], kv_precisions=(BF16, NEW_ONLY, FP8)))
    assert found.reasons == ("class `x` fits no system: node-8, old-8: no KV cache in nvfp4 on old GPUs",)
    assert options(found) == [[("kv_precision:x", "nvfp4", "bf16")]]


def test_no_candidate_at_all_is_told_with_the_reasons() -> None:
    found = refused(asked([long(1)], []))
    assert found.reasons[0].startswith("no system is a candidate")


def test_only_classes_that_fit_nowhere_are_told() -> None:
    found = refused(asked([service_class("fits"), service_class("x", DENSE_405B)], [SMALL]))
    assert [reason.split("`")[1] for reason in found.reasons] == ["x"]


# One limit


def test_provisioned_power_needs_whole_pods() -> None:
    """1,281 need 65 NODEs in 5 Pods of 1 MW; 64 of them hold 1,280, so that one sequence is too many."""
    found = refused(asked([long(1281)], power_kw=Fraction(4500)))
    (reason,) = found.reasons
    assert reason == "site power: 4.5 MW allowed, 5 MW needed (5 Pods with 65 node-8); 64 systems fit"
    assert options(found) == [[("power", 4500, 5000)], [("concurrency", 100, 99)]]
    assert names(found) == [["power"]]
    assert found.partial is not None
    assert found.partial.share == found.partial.at_most == Fraction(1280, 1281)
    assert (found.partial.bought.pods, found.partial.bought.systems) == (4, (("node-8", 64),))
    text = no_plan_report(found)
    assert "- site power 4.5 MW -> 5 MW (+11.1 %)\n- or 1 % less concurrency\n" in text
    assert "- 99.9 % of every class\n- long: 1,280 of 1,281\n" in text


def test_air_heat_tells_how_many_systems_fit() -> None:
    """650 kW / 10.2 kW = 63.7; 65 are needed, 663 kW."""
    found = refused(asked([long(1281)], air_kw=Fraction(650)))
    (reason,) = found.reasons
    assert reason == "site air heat: 650 kW allowed, 663 kW needed (5 Pods with 65 node-8); 63 systems fit"
    assert options(found) == [[("air_heat", 650, 663)], [("concurrency", 100, 98)]]  # 63 x 20 of 1,281: 98.4 %
    assert found.partial is not None
    assert found.partial.share == Fraction(1260, 1281)


@pytest.mark.parametrize("power_basis", ["installed", "provisioned"])
def test_no_pod_position_is_a_limit_of_0(power_basis: str) -> None:
    found = refused(asked([long(61)], rules=policy(power_basis=power_basis), pods=0))
    assert found.reasons == ("site Pods: 0 allowed, 1 needed (1 Pod with 4 node-8); none fits",)
    assert options(found) == [[("pods", 0, 1)]]
    assert found.partial is not None
    assert (found.partial.share, found.partial.at_most, found.partial.bought.systems) == (0, 0, ())
    assert "- nothing: not even one sequence of every class" in no_plan_report(found)


def test_supply_counts_over_all_sites() -> None:
    wanted = asked([long(61)], rules=policy(supply={"node-8": 3, "big-8": 1}))
    found = refused(wanted)
    (relaxation, *_) = found.relaxations
    assert relaxation == Relaxation("supply:node-8", None, Fraction(3), Fraction(4), "systems")
    assert names(found) == [["supply:node-8"]]  # no big-8 is a candidate, its supply is no limit here


def test_what_is_needed_is_exact_to_the_last_digit() -> None:
    """Heat with four decimals: 3 systems of 10.2 kW, of which 1.2345 to liquid each, are 3.7035 kW."""
    odd = system("odd-8", kw="10.2", liquid_kw="1.2345")
    found = refused(asked([long(60)], [odd], liquid_kw=Fraction(3)))
    assert found.relaxations[0].needed == Fraction("3.7035")
    assert "3.7035 kW needed" in found.reasons[0]


def test_of_two_kinds_the_mixture_that_needs_least_counts() -> None:
    """A BIG holds 44: for 61 it takes 4 NODEs, 40.8 kW, or 2 BIGs, 29 kW, or one of each, 24.7 kW."""
    found = refused(asked([long(61)], [NODE, BIG], rules=policy(power_basis="installed"), power_kw=Fraction(20)))
    assert found.relaxations[0] == Relaxation("power", "site", Fraction(20), Fraction("24.7"), "kW")


# Several limits


def test_two_limits_that_are_too_small_each_by_itself_must_both_give() -> None:
    """5 Pods and 663 kW to air are needed."""
    found = refused(asked([long(1281)], pods=4, air_kw=Fraction(600), power_kw=Fraction(9000)))
    assert names(found) == [["air_heat"], ["pods"]]
    assert options(found)[0] == [("air_heat", 600, 663), ("pods", 4, 5)]
    assert found.reasons[:2] == (
        "site air heat 600 kW is too little for this demand, whatever the other limits are",
        "site Pods 4 is too little for this demand, whatever the other limits are",
    )
    assert "site air heat 600 kW -> 663 kW (+10.5 %) and site Pods 4 -> 5 (+25.0 %), together" in no_plan_report(found)


def test_limits_that_exclude_each_other_may_each_be_raised_alone() -> None:
    """61 sequences: 4 NODEs are 40.8 kW; with one BIG 24.7 kW are enough, but there is none."""
    rules = policy(power_basis="installed", supply={"big-8": 0})
    found = refused(asked([long(61)], [NODE, BIG], rules=rules, power_kw=Fraction(31), pods=9))
    assert names(found) == [["power", "supply:big-8"]]
    assert (
        "these cannot all be kept, though all but any one could: site power 31 kW, supply of big-8 0" in found.reasons
    )
    assert options(found)[:2] == [[("power", 31, Fraction("40.8"))], [("supply:big-8", 0, 1)]]  # +32 %, +100 %


def test_the_combination_is_told_first_where_it_is_the_cheapest() -> None:
    """960 sequences: 20 BIGs and 2 NODEs hold 920. 21 and 2 take 324.9 kW, 22 BIGs 319 kW, 20 and 4 take 330.8 kW.

    Within 320 kW only 22 BIGs do, +10 %; 21 BIGs and 4.9 kW are +5 % and +1.5 %.
    """
    rules = policy(power_basis="installed", supply={"big-8": 20, "node-8": 2})
    found = refused(asked([long(960)], [NODE, BIG], rules=rules, power_kw=Fraction(320)))
    assert names(found) == [["power", "supply:big-8"]]  # 20 BIGs and the NODEs that are missing take 330.8 kW
    assert options(found)[:2] == [
        [("power", 320, Fraction("324.9")), ("supply:big-8", 20, 21)],
        [("supply:big-8", 20, 22)],
    ]
    changes = "site power 320 kW -> 324.9 kW and supply of big-8 20 -> 21"
    assert found.reasons[1] == f"{changes} would do together (3 Pods with 21 big-8, 2 node-8)"


def test_the_site_that_needs_least_is_named_first() -> None:
    """Nothing may stand anywhere: 4 NODEs need one Pod at either; 0.5 MW lack half of one, 0.9 MW a tenth."""
    sites = [Site("north", TEST_POD, power_kw=Fraction(500)), Site("south", TEST_POD, power_kw=Fraction(900))]
    found = refused(request([long(61)], [NODE], sites))
    assert [(change.site, change.needed) for change in found.relaxations[:2]] == [("south", 1000), ("north", 1000)]
    assert found.reasons[1].startswith("power of site `south`: 900 kW allowed, 1 MW needed")


def test_a_limit_of_0_is_measured_by_one_pod() -> None:
    """17 NODEs take two Pods, south has power for one. 1 MW more is a share of 1 of what south has, and of one Pod."""
    sites = [Site("north", TEST_POD, power_kw=Fraction(0)), Site("south", TEST_POD, power_kw=Fraction(1000))]
    found = refused(request([long(321)], [NODE], sites))
    assert [(change.site, change.now, change.needed) for change in found.relaxations[:2]] == [
        ("north", 0, 1000),
        ("south", 1000, 2000),
    ]


# Conflicts that lie only in that things are whole


def test_replicas_that_do_not_pack_conflict_though_their_bytes_would_fit() -> None:
    """36 GB of a GPU are usable: the weights, 141 GB, take replicas of 4 GPUs, two a domain. Three models need two."""
    shapes = [replace(DENSE_70B, name=f"model-{number}") for number in range(3)]
    classes = [service_class(f"class-{number}", shape, context=256) for number, shape in enumerate(shapes)]
    found = refused(asked(classes, [TIGHT], rules=policy(supply={"tight-8": 1})))
    assert names(found) == [["supply:tight-8"]]
    assert options(found)[0] == [("supply:tight-8", 1, 2)]


def test_a_conflict_that_lies_in_whole_systems_is_said_to() -> None:
    """64 sequences are 3.2 NODEs, 32.6 kW; but 4 of them take 40.8. With a BIG it would be 24.7 kW."""
    rules = policy(power_basis="installed", supply={"big-8": 0})
    found = refused(asked([long(64)], [NODE, BIG], rules=rules, power_kw=Fraction(35)))
    assert names(found) == [["power", "supply:big-8"]]
    assert found.reasons[0].endswith("; fractions of Pods, systems and sequences would fit, whole ones do not")
    found = refused(asked([long(64)], [NODE, BIG], rules=rules, power_kw=Fraction(32)))
    assert names(found) == [["power", "supply:big-8"]]
    assert "fractions" not in found.reasons[0]


# Fewer bits, less demand, a part of it


def test_the_next_precision_that_suffices_is_named_class_by_class() -> None:
    """A NODE holds 20, 40 at fp8, 76 at int4: two hold 80 at fp8, 100 at int4, and 200 at neither."""
    rules = policy(supply={"node-8": 2})
    found = refused(asked([long(80)], rules=rules, kv_precisions=PRECISIONS))
    assert ("kv_precision:long", "bf16", "fp8") in [way[0] for way in options(found)]
    found = refused(asked([long(100)], rules=rules, kv_precisions=PRECISIONS))
    assert ("kv_precision:long", "bf16", "int4") in [way[0] for way in options(found)]
    found = refused(asked([long(200)], rules=rules, kv_precisions=PRECISIONS))
    assert not any(way[0][0].startswith("kv_precision") for way in options(found))


def test_classes_that_suffice_only_together_are_one_option() -> None:
    """A NODE holds 20, 40 at fp8, 76 at int4: 60 at int4 take one of two, and at fp8 the other 60 do not fit."""
    classes = [service_class(name, context=LONG, concurrency=60) for name in ("first", "second")]
    found = refused(asked(classes, rules=policy(supply={"node-8": 2}), kv_precisions=PRECISIONS))
    ways = [way for way in options(found) if way[0][0].startswith("kv_precision")]
    assert ways == [[("kv_precision:first", "bf16", "int4"), ("kv_precision:second", "bf16", "int4")]]
    assert "allow int4 for `first` and allow int4 for `second`, together" in no_plan_report(found)


def test_headroom_is_part_of_what_less_concurrency_means() -> None:
    """55 are wanted (50 and a tenth), 40 fit: 36 and a tenth are 40 (39.6), 37 are 41. So 72 % of 50, 28 % less."""
    service = service_class("long", context=LONG, concurrency=50, headroom=Fraction(1, 10))
    rules = policy(headroom=Fraction(1, 10), supply={"node-8": 2})
    found = refused(asked([service], rules=rules))
    assert found.partial is not None
    assert found.partial.share == found.partial.at_most == Fraction(40, 55)
    assert options(found)[-1] == [("concurrency", 100, 72)]
    assert "or 28 % less concurrency" in no_plan_report(found)


def test_concurrency_is_no_way_out_where_one_sequence_of_each_is_too_much() -> None:
    shapes = [replace(DENSE_70B, name=f"model-{number}") for number in range(3)]
    classes = [service_class(f"class-{number}", shape, concurrency=9) for number, shape in enumerate(shapes)]
    found = refused(asked(classes, [TIGHT], rules=policy(supply={"tight-8": 1})))
    assert all(change.limit != "concurrency" for change in found.relaxations)
    assert found.partial is not None
    assert found.partial.share == found.partial.at_most == 0


def test_the_share_is_common_to_all_classes() -> None:
    """One NODE holds 20 long and 11 short ones, or 19 and 43. Of 30 and 20, 19 and 13 are the same share or more."""
    classes = [long(30), service_class("short", concurrency=20)]
    found = refused(asked(classes, rules=policy(supply={"node-8": 1})))
    assert found.partial is not None
    assert found.partial.share == found.partial.at_most == Fraction(19, 30)
    assert found.partial.served == (("long", 30, 19), ("short", 20, 13))


def test_the_catalog_of_a_workload_offers_its_precisions() -> None:
    """61 of the 70B need 4 hgx-h200-8; at fp8 one holds 40, so that 3 are enough."""
    workload = {
        "name": "Three systems",
        "classes": [{"name": "long", "model": "llama-3.1-70b", "context": LONG, "concurrency": 61}],
        "policy": {"systems": ["hgx-h200-8"], "supply": {"hgx-h200-8": 3}},
    }
    found = refused(load_workload(workload))
    assert options(found) == [
        [("supply:hgx-h200-8", 3, 4)],
        [("kv_precision:long", "bf16", "fp8")],
        [("concurrency", 100, 98)],
    ]


def test_what_is_installed_and_exceeds_a_limit_by_itself_is_the_reason() -> None:
    rules = policy(power_basis="installed")
    standing = {"installed_systems": {"node-8": 3}, "installed_pods": 1}
    found = refused(asked([long(20)], rules=rules, power_kw=Fraction(25), pods=1, **standing))
    assert found.reasons[0] == "site power: 25 kW allowed, and what is installed takes at least 30.6 kW of it already"
    fits = asked([long(20)], rules=rules, power_kw=Fraction(31), pods=1, **standing)
    assert isinstance(answer(fits, Effort()), Plan)


# Honest bounds


def test_without_time_nothing_is_claimed_that_was_not_shown() -> None:
    wanted = asked([long(1281)], pods=4, air_kw=Fraction(600))
    found = explain(wanted, enumerate_options(wanted), NotFound(proven=True, stopped=False), Effort(deadline=0.0))
    assert found.status is Status.INFEASIBLE
    assert not found.reproducible
    assert not any(change.proven for change in found.relaxations)
    assert found.partial is None or found.partial.share < found.partial.at_most
    assert found.reasons == (
        "these cannot all be kept: site air heat 600 kW, site Pods 4",
        "it is not settled whether fewer of these limits conflict already, or others too",
        "what would do and what fits was not looked for to the end: the time limit or an interruption came first",
    )


def test_a_search_that_the_clock_stopped_explains_nothing() -> None:
    wanted = asked([long(1281)], pods=4)
    found = explain(wanted, enumerate_options(wanted), NotFound(proven=False, stopped=True), Effort())
    assert found.status is Status.TIMEOUT
    assert not found.reproducible
    assert found.reasons == ("the time limit ended the search before a plan was found",)
    assert (found.relaxations, found.conflicts, found.partial) == ((), (), None)
    halt = Halt()
    halt.ask()
    found = explain(wanted, enumerate_options(wanted), NotFound(proven=False, stopped=True), Effort(halt=halt))
    assert found.reasons == ("the search was interrupted before a plan was found",)


def test_a_search_that_settles_nothing_tells_what_would_give_a_plan() -> None:
    """All but conflicts: what does fit, and the plans that changes give, are found whether or not there is a plan."""
    wanted = asked([long(1281)], pods=4, air_kw=Fraction(600))
    options = enumerate_options(wanted)
    found = explain(wanted, options, NotFound(proven=False, stopped=False), Effort())
    assert found.status is Status.TIMEOUT
    assert found.reproducible
    proven = explain(wanted, options, NotFound(proven=True, stopped=False), Effort())
    assert found.reasons[0] == "no plan was found, and that there is none is not proven"
    assert found.relaxations == proven.relaxations
    assert found.partial == proven.partial
    assert found.conflicts == ()


def test_every_option_gives_a_plan() -> None:
    """What is named is applied and asked again."""
    rules = policy(power_basis="installed", supply={"big-8": 1})
    classes = [long(90), service_class("short", concurrency=40)]
    wanted = asked(classes, [NODE, BIG], rules=rules, air_kw=Fraction(30), pods=1)
    found = refused(wanted)
    limits = {limit.key: limit for limit in stated_limits(wanted)}
    applied = 0
    for option in {change.option for change in found.relaxations}:
        changed = wanted
        for change in found.relaxations:
            if change.option == option and (change.limit, change.site) in limits:
                assert isinstance(change.needed, Fraction)
                changed = with_limit(changed, limits[change.limit, change.site], change.needed)
        if changed is not wanted:
            assert isinstance(answer(changed, Effort()), Plan)
            applied += 1
    assert applied


def test_a_pod_with_nothing_in_it_does_not_stop_an_explanation() -> None:
    """No stage counts Pods, so that some of what would do stand empty."""
    classes = [
        {"name": "a", "model": "llama-3.3-70b", "context": 19726, "concurrency": 1225, "kv_precision": ["bf16", "fp8"]},
        {"name": "b", "model": "llama-3.1-8b", "context": 17609, "concurrency": 913, "kv_precision": ["bf16", "fp8"]},
    ]
    policy = {"systems": ["hgx-b300-8-liquid"], "objective": ["precision"], "split_precision": True}
    site = {"pods": 3, "liquid_heat": "10 kW"}
    request = load_workload({"name": "Empty", "classes": classes, "site": site, "policy": policy})
    told = answer(request, Effort(gap=0.9))
    assert isinstance(told, NoPlan)
    assert any("liquid heat" in reason for reason in told.reasons)
