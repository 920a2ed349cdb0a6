"""The check holds a good plan good, and names what is wrong with every other."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from fractions import Fraction
from typing import Any

import pytest

from sizing.catalog.catalog import Catalog
from sizing.facility.bill_rules import BillRules, RuleLine
from sizing.facility.pod import Balance
from sizing.facility.quantities import PerPod
from sizing.facility.selection import Selection
from sizing.plan.check import check
from sizing.plan.placement import place
from sizing.plan.plan import (
    Pattern,
    PlacedReplicas,
    Plan,
    PlannedDeployment,
    Status,
)
from sizing.pool.layout import Layout
from sizing.request.request import Rejection
from tests.plan_builders import (
    DENSE_70B,
    FP8,
    NEW_ONLY,
    NODE,
    TEST_POD,
    deployment,
    figure,
    filled,
    request,
    service_class,
    two_sites,
)

GOOD = two_sites()
MIXED, NOTES, AGENTS = GOOD.deployments
NOT_CHECKED = {"request", "rejected", "assumptions", "reproducible", "sensitivity", "alternatives"}
"""What the check reads, and what nothing but the search can know."""


def test_a_good_plan_has_no_findings() -> None:
    assert check(GOOD) == ()


def tampered(value: Any) -> Iterator[tuple[str, Any]]:
    """(where, value with one thing changed) for everything that can be changed in it, however deep."""
    if isinstance(value, Mapping):
        yield from ((f" without {key}", {k: v for k, v in value.items() if k != key}) for key in value)
        yield from ((f"[{key}]{at}", {**value, key: item}) for key in value for at, item in tampered(value[key]))
    elif isinstance(value, tuple):
        if value and (is_dataclass(value[0]) or isinstance(value[0], tuple)):  # a list, not one row of it
            yield from ((" without the last", value[:-1]), (" with the last twice", (*value, value[-1])))
        for number, item in enumerate(value):
            for at, changed in tampered(item):
                yield f"[{number}]{at}", (*value[:number], changed, *value[number + 1 :])
    elif is_dataclass(value) and not isinstance(value, type):
        for field in fields(value):
            for at, changed in tampered(getattr(value, field.name)):
                yield f".{field.name}{at}", replace(value, **{field.name: changed})
    else:
        yield from ((f" = {other}", other) for other in others(value))


def others(value: Any) -> list[Any]:
    """Other values in the place of one."""
    if isinstance(value, Enum):
        return [other for other in type(value) if other is not value]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | Fraction):
        return [value + 1, value - 1]
    if isinstance(value, frozenset):
        return [value | {"x"}]
    return [1 if value is None else value + "x"]


TAMPERED = {
    f"{field.name}{at}": replace(GOOD, **{field.name: changed})
    for field in fields(Plan)
    if field.name not in NOT_CHECKED
    for at, changed in tampered(getattr(GOOD, field.name))
}


def test_nothing_in_a_plan_can_be_changed_unnoticed() -> None:
    assert len(TAMPERED) > 800
    assert [where for where, plan in TAMPERED.items() if not check(plan)] == []


def test_findings_are_sentences_of_one_line() -> None:
    for plan in TAMPERED.values():
        for finding in check(plan):
            assert "\n" not in finding
            assert "Fraction(" not in finding


def with_request(**changes: Any) -> Plan:
    return replace(GOOD, request=replace(GOOD.request, **changes))


def with_policy(**changes: Any) -> Plan:
    return with_request(policy=replace(GOOD.request.policy, **changes))


def with_site(name: str, **changes: Any) -> Plan:
    sites = tuple(replace(site, **changes) if site.name == name else site for site in GOOD.request.sites)
    return with_request(sites=sites)


def with_class(name: str, **changes: Any) -> Plan:
    classes = tuple(replace(each, **changes) if each.name == name else each for each in GOOD.request.classes)
    return with_request(classes=classes)


def with_system(name: str, **changes: Any) -> Plan:
    """The request's system changed, and the plan's deployments with it."""
    candidates = tuple(replace(each, **changes) if each.name == name else each for each in GOOD.request.candidates)
    by_name = {each.name: each for each in candidates}
    deployments = tuple(
        replace(planned, deployment=replace(planned.deployment, system=by_name[planned.deployment.system.name]))
        for planned in GOOD.deployments
    )
    return replace(with_request(candidates=candidates), deployments=deployments)


def with_pod_type(**changes: Any) -> Plan:
    pod = replace(TEST_POD, **changes)
    return with_request(sites=tuple(replace(site, pod=pod) for site in GOOD.request.sites))


def with_deployment(old: PlannedDeployment, plan: Plan = GOOD, **changes: Any) -> Plan:
    """The plan with another deployment in the place of one, under its new name wherever it is named."""
    new = replace(old, deployment=replace(old.deployment, **changes))
    names = {old.deployment.id: new.deployment.id}
    classes = [
        replace(
            served,
            placements=tuple(
                replace(each, deployment=names.get(each.deployment, each.deployment)) for each in served.placements
            ),
        )
        for served in plan.classes
    ]
    boxes = [
        replace(box, replicas=tuple((names.get(name, name), number, gpus) for name, number, gpus in box.replicas))
        for box in plan.placement
    ]
    deployments = tuple(new if each is old else each for each in plan.deployments)
    return replace(plan, deployments=deployments, classes=tuple(classes), placement=tuple(boxes))


def with_patterns(old: PlannedDeployment, *patterns: Pattern) -> Plan:
    new = replace(old, patterns=patterns)
    return replace(GOOD, deployments=tuple(new if each is old else each for each in GOOD.deployments))


def with_pods(number: int, **changes: Any) -> Plan:
    pods = tuple(replace(each, **changes) if index == number else each for index, each in enumerate(GOOD.pods))
    return replace(GOOD, pods=pods)


def with_box(number: int, **changes: Any) -> Plan:
    boxes = [replace(box, **changes) if index == number else box for index, box in enumerate(GOOD.placement)]
    return replace(GOOD, placement=tuple(boxes))


def with_stage(name: str, **changes: Any) -> Plan:
    stages = tuple(replace(each, **changes) if each.stage == name else each for each in GOOD.stages)
    return replace(GOOD, stages=stages)


Broken = Callable[[], Plan]

BROKEN: Mapping[str, tuple[Broken, str]] = {
    # names
    "system that is no candidate": (
        lambda: with_request(candidates=(NODE,)),
        "rack-72/latent-671b/fp8/bf16/tp1-adp8: system 'rack-72' is not offered by the request",
    ),
    "model that no class asks for": (
        lambda: with_request(classes=tuple(each for each in GOOD.request.classes if each.name != "agents")),
        "rack-72/latent-671b/fp8/bf16/tp1-adp8: model 'latent-671b' is not offered by the request",
    ),
    "class left out": (
        lambda: replace(GOOD, classes=GOOD.classes[1:]),
        "class 'agents' is missing from the plan",
    ),
    "site unknown": (lambda: with_pods(1, site="west"), "site 'west' is not in the request"),
    "Pod of another type": (
        lambda: with_pods(0, pod="other"),
        "site 'north' takes Pods of type 'test-pod', not 'other'",
    ),
    "placement outside the Pods": (
        lambda: with_box(0, pods=(1, 10**12)),
        "placement at 'north' on 'node-8': not in Pods 1 to 1000000000000",
    ),
    # pool
    "a pool too full": (
        lambda: with_patterns(MIXED, Pattern(1, (("chat", 12), ("long", 20)))),
        "node-8/dense-70b/bf16/bf16/tp8: a pool with chat 12, long 20 needs 1,006,999,552 bytes more than it has",
    ),
    "more reserve": (
        lambda: with_policy(reserve=Fraction(11, 100)),
        "node-8/dense-70b/bf16/bf16/tp8: reserve bytes of a pool: the plan says 112,800,000,000, "
        "the request gives 124,080,000,000",
    ),
    "driver HBM that nobody knows": (
        lambda: with_policy(hbm="driver"),
        "node-8/dense-70b/bf16/bf16/tp8: HBM bytes of a pool: the plan says 1,128,000,000,000, the request gives 0",
    ),
    "another engine": (
        lambda: with_policy(engine="vllm", profile=Catalog().engine("vllm")),
        "node-8/dense-70b/bf16/bf16/tp8: its cache is not stored as vllm does at bf16",
    ),
    "TP that no head count allows": (
        lambda: with_deployment(MIXED, layout=Layout(3)),
        "node-8/dense-70b/bf16/bf16/tp3: 64 query heads cannot be split over TP 3",
    ),
    "replica off the ladder": (
        lambda: with_deployment(AGENTS, layout=Layout(1, 1, 12, 12)),
        "rack-72/latent-671b/fp8/bf16/tp1-adp12: a replica of 12 GPUs is off the ladder of a domain of 72",
    ),
    "replica that leaves its domain": (
        lambda: with_deployment(MIXED, layout=Layout(16)),
        "node-8/dense-70b/bf16/bf16/tp16: a replica of 16 GPUs leaves its domain of 8",
    ),
    "experts not over the whole replica": (
        lambda: with_deployment(AGENTS, layout=Layout(1, 1, 8, 4)),
        "rack-72/latent-671b/fp8/bf16/tp1-adp8: expert parallel: the plan says 4, the request gives 8",
    ),
    "decode context parallel unasked": (
        lambda: with_deployment(MIXED, layout=Layout(16, 2)),
        "node-8/dense-70b/bf16/bf16/tp16-dcp2: decode context parallel is not asked for",
    ),
    "KV precision that the GPU has not": (
        lambda: with_system("node-8", gpu=replace(NODE.gpu, generation="ancient")),
        "node-8/dense-70b/bf16/fp8/tp4: ancient GPUs cannot hold a KV cache in fp8",
    ),
    "KV precision that the class does not accept": (
        lambda: replace(
            with_patterns(NOTES, Pattern(1, (("notes", 68),)), Pattern(1, (("long", 1), ("notes", 42)))),
            classes=GOOD.classes,
        ),
        "node-8/dense-70b/bf16/fp8/tp4: class 'long' does not accept bf16 weights, fp8 KV",
    ),
    "class on another model": (
        lambda: with_patterns(NOTES, Pattern(1, (("notes", 68),)), Pattern(1, (("agents", 1), ("notes", 42)))),
        "node-8/dense-70b/bf16/fp8/tp4: class 'agents' runs on latent-671b",
    ),
    # replica
    "a pool left out": (
        lambda: with_patterns(AGENTS, Pattern(5, (("agents", 34),)), Pattern(1, (("agents", 31),)), Pattern(1, ())),
        "rack-72/latent-671b/fp8/bf16/tp1-adp8: 1 replicas make 8 pools, 7 are told",
    ),
    "one sequence too few": (
        lambda: with_patterns(NOTES, Pattern(1, (("notes", 68),)), Pattern(1, (("notes", 41),))),
        "class 'notes': the pools hold 109 of 110 sequences",
    ),
    "one sequence too many": (
        lambda: with_patterns(NOTES, Pattern(1, (("notes", 68),)), Pattern(1, (("notes", 43),))),
        "class 'notes': the pools hold 111 of 110 sequences",
    ),
    "more asked for": (
        lambda: with_class("long", concurrency=19),
        "class 'long': demand: the plan says 20, the request gives 21",
    ),
    "more headroom": (
        lambda: with_policy(headroom=Fraction(2, 10)),
        "class 'chat': demand: the plan says 11, the request gives 12",
    ),
    "precision told wrongly": (
        lambda: replace(
            GOOD, classes=(*GOOD.classes[:3], replace(GOOD.classes[3], precisions=GOOD.classes[2].precisions))
        ),
        "class 'notes': the plan says bf16 weights, bf16 KV, it runs at bf16 weights, fp8 KV",
    ),
    # domain
    "a domain shared": (
        lambda: with_box(0, replicas=((MIXED.deployment.id, 1, 8), (NOTES.deployment.id, 1, 4))),
        "placement: site 'north', Pods 1 to 1, node-8 1 to 1, domains 1 to 1: "
        "replicas take 12 of the 8 GPUs of a domain",
    ),
    "idle GPUs told wrongly": (
        lambda: with_box(2, idle_gpus=60),
        "placement: site 'north', Pods 1 to 1, rack-72 1 to 1, domains 1 to 1: "
        "8 GPUs taken and 60 idle are not the 72 of a domain",
    ),
    "a replica on another kind of system": (
        lambda: with_box(2, replicas=((MIXED.deployment.id, 1, 8),)),
        "placement: site 'north', Pods 1 to 1, rack-72 1 to 1, domains 1 to 1: "
        "node-8/dense-70b/bf16/bf16/tp8 does not run on it",
    ),
    "a replica nowhere": (
        lambda: with_box(1, replicas=((NOTES.deployment.id, 1, 4),), idle_gpus=4),
        "node-8/dense-70b/bf16/fp8/tp4: 1 replicas are placed, 2 are planned",
    ),
    "a domain placed twice": (
        lambda: with_box(1, systems=(1, 2)),
        "placement: site 'north', Pod 1, node-8 1, domain 1 is told 2 times, it stands there once",
    ),
    "a domain not placed": (
        lambda: replace(GOOD, placement=GOOD.placement[:-1]),
        "placement: site 'south', Pod 1, rack-72 1, domain 1 is told 0 times, it stands there once",
    ),
    "more spare asked for": (lambda: with_policy(spare_systems=2), "1 of 3 node-8 stand spare, 2 are asked for"),
    # system and Pod
    "systems in no Pod": (
        lambda: replace(GOOD, systems=(("node-8", 4), ("rack-72", 2))),
        "systems 'node-8': the plan says 4, the request gives 3",
    ),
    "two kinds where Pods are not mixed": (
        lambda: with_policy(mixed_pods=False),
        "Pod at 'north' with 2 node-8 + 1 rack-72: its fill has 2 kinds of system, 1 may be mixed",
    ),
    "more systems than the fill": (
        lambda: with_pods(0, systems=(("node-8", 8), ("rack-72", 1))),
        "Pod at 'north' with 8 node-8 + 1 rack-72: its fill has only 7 of node-8",
    ),
    "too few slots": (
        lambda: with_pod_type(gpu_slots=figure(120)),
        "Pod at 'north' with 2 node-8 + 1 rack-72: its fill takes 128 of 120 GPU slots",
    ),
    "slots for one more": (
        lambda: with_pod_type(gpu_slots=figure(136)),
        "Pod at 'north' with 2 node-8 + 1 rack-72: its fill is not full, one more node-8 fits",
    ),
    "too little power": (
        lambda: with_pod_type(power_kw=figure(Fraction(213))),
        "Pod at 'north' with 2 node-8 + 1 rack-72: its fill takes 213.4 of 213.0 kW of power",
    ),
    "too little power behind a PUE": (
        lambda: with_pod_type(power_kw=figure(Fraction(220)), pue=figure(Fraction("1.1"))),
        "Pod at 'north' with 2 node-8 + 1 rack-72: its fill takes 213.4 of 200.0 kW of power",
    ),
    "too little air in a Pod": (
        lambda: with_site("north", pod_air_kw=Fraction(80)),
        "Pod at 'north' with 2 node-8 + 1 rack-72: its fill takes 85.6 of 80.0 kW of air heat",
    ),
    "too little coolant in a Pod": (
        lambda: with_pod_type(liquid_kw=figure(Fraction(100))),
        "Pod at 'south' with 1 node-8 + 1 rack-72: its fill takes 127.8 of 100.0 kW of liquid heat",
    ),
    "no nameplate": (lambda: with_system("node-8", nameplate_kw=None), "node-8 has no nameplate"),
    "no heat split where heat is limited": (
        lambda: with_system("rack-72", liquid_kw=None),
        "site 'north' limits heat, and rack-72 has no heat split",
    ),
    # site
    "too little power provisioned": (
        lambda: with_site("north", power_kw=Fraction(999)),
        "site 'north': power takes 1,000.0 of 999.0 kW",
    ),
    "too little power installed": (
        lambda: replace(
            GOOD,
            request=replace(
                with_site("north", power_kw=Fraction(162)).request,
                policy=replace(GOOD.request.policy, power_basis="installed"),
            ),
        ),
        "site 'north': power takes 162.4 of 162.0 kW",
    ),
    "too little coolant": (
        lambda: with_site("north", liquid_kw=Fraction("127.7")),
        "site 'north': liquid_heat takes 127.8 of 127.7 kW",
    ),
    "too little air": (
        lambda: with_site("south", air_kw=Fraction("24.3")),
        "site 'south': air_heat takes 24.4 of 24.3 kW",
    ),
    "too few positions": (lambda: with_site("south", pods=0), "site 'south': pods takes 1.0 of 0.0 Pods"),
    "too little supply": (lambda: with_policy(supply={"rack-72": 1}), "supply:rack-72 takes 2.0 of 1.0 systems"),
    "a limit that is not told": (
        lambda: with_policy(supply={"rack-72": 2, "node-8": 9}),
        "limit supply:node-8: the plan says nothing, the request gives 3.0 of 9.0 systems",
    ),
    # sums, stages, status
    "idle GPUs that do not add up": (
        lambda: replace(GOOD, totals=replace(GOOD.totals, idle_gpus=0)),
        "totals: idle_gpus: the plan says 0, the request gives 144",
    ),
    "memory that does not add up": (
        lambda: replace(GOOD, memory=replace(GOOD.memory, spare=0)),
        "memory: 44,856,000,000,000 bytes are bought, their parts make 44,356,162,934,784",
    ),
    "stages in another order": (
        lambda: with_policy(objective=("power", "pods")),
        "stages: the plan says pods, system_kinds, power, gpus, precision, weight_precision, "
        "the request gives power, pods",
    ),
    "a stage that nobody knows": (lambda: with_stage("gpus", stage="beauty"), "stage 'beauty' cannot be checked"),
    "a precision better than it is": (
        lambda: with_stage("precision", value=0, bound=0),
        "stage precision: the plan says 0, the request gives 110",
    ),
    "a bound above its value": (
        lambda: with_stage("pods", bound=3),
        "stage pods: the bound 3 is above the value 2",
    ),
    "optimal beside an open stage": (
        lambda: with_stage("weight_precision", bound=0),
        "status: the plan says optimal, the request gives feasible",
    ),
    "a bound that leans on an open stage": (
        lambda: replace(with_stage("power", bound=1500), status=Status.FEASIBLE),
        "stage gpus: its bound is told unconditional, yet one before is open",
    ),
    "a rejection withheld": (
        lambda: with_request(rejected=(Rejection("l40s-8", None, "too small"),)),
        "the plan does not tell why l40s-8 was rejected: too small",
    ),
    "an assumption withheld": (
        lambda: with_request(assumptions=("Air is plenty.",)),
        "the plan does not tell an assumption: Air is plenty.",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_plan_is_named(name: str) -> None:
    broken, finding = BROKEN[name]
    assert finding in check(broken())


def test_a_feasible_plan_with_conditional_bounds_holds() -> None:
    stages = tuple(
        replace(stage, bound=1500 if stage.stage == "power" else stage.bound, conditional=number > 2)
        for number, stage in enumerate(GOOD.stages)
    )
    assert check(replace(GOOD, stages=stages, status=Status.FEASIBLE)) == ()
    assert check(replace(GOOD, stages=stages)) == ("status: the plan says optimal, the request gives feasible",)


def test_a_class_on_two_precisions_needs_the_policys_leave() -> None:
    """The last of the notes moves to the bf16 replica, in place of one long sequence's room."""
    one_kv = replace(MIXED, patterns=(Pattern(1, (("chat", 11), ("notes", 1))),))
    moved = replace(NOTES, patterns=(Pattern(1, (("notes", 68),)), Pattern(1, (("notes", 41),))))
    plan = replace(GOOD, deployments=(one_kv, moved, AGENTS))
    finding = "class 'notes' runs at 2 pairs of precisions: bf16 weights, bf16 KV; bf16 weights, fp8 KV"
    assert finding in check(plan)
    leave = replace(plan, request=with_policy(split_precision=True).request)
    assert finding not in check(leave)
    assert not any("pools hold" in text and "notes" in text for text in check(plan))


def test_a_kv_precision_of_another_generation_is_refused_even_where_the_class_accepts_it() -> None:
    accepts = tuple(
        replace(each, kv_precisions=(*each.kv_precisions, NEW_ONLY)) if each.name == "notes" else each
        for each in GOOD.request.classes
    )
    plan = with_deployment(NOTES, with_request(classes=accepts), kv_precision=NEW_ONLY)
    assert "node-8/dense-70b/bf16/nvfp4/tp4: old GPUs cannot hold a KV cache in nvfp4" in check(plan)


def with_balance(kw: str, liquid_share: str, pod_kw: int = 1000, air_kw: Fraction | None = None) -> Plan:
    """The good plan with a balance of plant of so many kW in each Pod, every sum brought up to date."""
    line = RuleLine(
        name="switch",
        group="network",
        manufacturer="test",
        part="switch",
        description="",
        unit="pieces",
        rule=PerPod(1, Selection()),
        sources=(),
        date="2026-01-01",
        confidence="high",
        unit_kw=figure(Fraction(kw)),
        liquid_share=Fraction(liquid_share),
    )
    pod = replace(TEST_POD, bill_rules=BillRules("rules", "rules", (line,)), power_kw=figure(Fraction(pod_kw)))
    each = Fraction(kw)
    liquid = each * Fraction(liquid_share)
    balance = Balance(each, liquid, each - liquid)
    plan = with_request(
        sites=tuple(replace(site, pod=pod, pod_air_kw=air_kw) for site in GOOD.request.sites),
        policy=replace(GOOD.request.policy, power_basis="installed"),
    )
    used = {"power": each, "liquid_heat": liquid, "air_heat": each - liquid, "pods": Fraction(0)}
    systems = {("power", "north"): Fraction("162.4"), ("power", "south"): Fraction("152.2")}
    return replace(
        plan,
        pods=tuple(replace(filled, fill=replace(filled.fill, balance=balance)) for filled in plan.pods),
        totals=replace(
            plan.totals, balance_kw=2 * each, balance_liquid_kw=2 * liquid, balance_air_kw=2 * (each - liquid)
        ),
        limits=tuple(
            limit
            if limit.site is None
            else replace(
                limit,
                used=systems.get((limit.name, limit.site), limit.used) + used[limit.name],
                binding=limit.binding and limit.name != "power",
            )
            for limit in plan.limits
        ),
    )


def test_balance_of_plant_counts_in_every_limit() -> None:
    assert check(with_balance("20", "0.75")) == ()


def test_balance_of_plant_is_worked_out_anew() -> None:
    plan = with_balance("20", "0.75")
    cheap = tuple(replace(filled, fill=replace(filled.fill, balance=Balance())) for filled in plan.pods)
    findings = check(replace(plan, pods=cheap))
    assert any("balance of plant" in finding and "Pod at 'north'" in finding for finding in findings)


def test_balance_of_plant_takes_its_part_of_a_pod() -> None:
    assert check(with_balance("20", "0.75", pod_kw=234)) == ()
    assert "Pod at 'north' with 2 node-8 + 1 rack-72: its fill takes 233.4 of 233.0 kW of power" in check(
        with_balance("20", "0.75", pod_kw=233)
    )
    assert "Pod at 'north' with 2 node-8 + 1 rack-72: its fill takes 90.6 of 90.0 kW of air heat" in check(
        with_balance("20", "0.75", air_kw=Fraction(90))
    )


def test_a_system_that_is_told_otherwise_than_the_request_has_it_is_no_longer_its_own() -> None:
    cooler = replace(NODE, nameplate_kw=figure(Fraction("9.9"), "kW"))
    assert check(with_deployment(MIXED, system=cooler)) == (
        "node-8/dense-70b/bf16/bf16/tp8: system 'node-8' differs from the request's",
    )


def test_a_large_plan_is_checked_at_the_same_places() -> None:
    """100 Pods of 16 nodes with two replicas each: one run, and one replica out of 3,200 is missed."""
    count = 1_600
    asked = request([service_class("notes", DENSE_70B, 32_768, 2 * 68 * count, kv=(FP8,))], [NODE])
    of_notes = PlannedDeployment(
        deployment(NODE, DENSE_70B, kv=FP8, tp=4), 2 * count, (Pattern(2 * count, (("notes", 68),)),)
    )
    pods = (filled("site", {"node-8": 16}, {"node-8": 16}, 100),)
    notes = replace(GOOD.classes[3], placements=(replace(GOOD.classes[3].placements[0], sequences=2 * 68 * count),))
    plan = replace(
        GOOD,
        request=asked,
        pods=pods,
        systems=(("node-8", count),),
        deployments=(of_notes,),
        classes=(notes,),
        placement=place(asked, pods, (of_notes,)),
    )
    assert not [finding for finding in check(plan) if "placement" in finding or "placed" in finding]
    (box,) = plan.placement
    last = PlacedReplicas("site", (100, 100), "node-8", (16, 16), (1, 1), ((of_notes.deployment.id, 1, 4),), 4)
    less = (replace(box, pods=(1, 99)), replace(box, pods=(100, 100), systems=(1, 15)), last)
    assert "node-8/dense-70b/bf16/fp8/tp4: 3199 replicas are placed, 3200 are planned" in check(
        replace(plan, placement=less)
    )
