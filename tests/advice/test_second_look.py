"""What an answer hangs on: HBM by the other basis, and kW figures whose ranges leave the choice of systems open."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest

from sizing.advice import other_hbm as other_hbm_module
from sizing.advice import power_ranges as power_ranges_module
from sizing.advice.answer import answer
from sizing.advice.bounds import Least, least
from sizing.advice.second_look import second_look
from sizing.facility.site import Site
from sizing.facility.system import System
from sizing.plan.brief import brief_of_choice, brief_of_plan, kinds_of
from sizing.plan.document import plan_document
from sizing.plan.plan import OtherHbm, Plan, PlanInBrief, PowerRanges, Sensitivity, Status
from sizing.pool.gpu import HbmBasis
from sizing.program.deployments import enumerate_options
from sizing.program.objective import STAGES
from sizing.program.search import Found, search
from sizing.program.sets import sets_of
from sizing.program.solver import Effort
from sizing.report.sensitivity import sensitivity_sentences
from sizing.request.request import Request, ServiceClass
from tests.plan_builders import NODE, TEST_POD, figure, policy, request, service_class, system
from tests.program.instances import random_instance, request_of

GB = 10**9
BIG = system("big-8", hbm_gb=288, kw="14.5", generation="new")
"""8 GPUs of 288 GB in one domain, 14.5 kW: an hgx-b300-8."""

LONG = 131_072


def by_driver(of: System, gb: Fraction | int | str | None) -> System:
    """The system with what drivers report of one GPU; None is unknown."""
    driver = None if gb is None else figure(int(Fraction(gb) * GB), "bytes")
    return replace(of, gpu=replace(of.gpu, hbm_driver_bytes=driver))


def ranging(of: System, low: str, high: str) -> System:
    """The system with a range of its nameplate."""
    assert of.nameplate_kw is not None
    return replace(of, nameplate_kw=replace(of.nameplate_kw, range=(Fraction(low), Fraction(high))))


def mixture(short: int = 12) -> tuple[ServiceClass, ...]:
    """By label a NODE holds 20 long sequences of the 70B in bf16 and 11 short ones, and not 12."""
    return service_class("long", context=LONG, concurrency=20), service_class("short", concurrency=short)


def many(concurrency: int) -> tuple[ServiceClass, ...]:
    return (service_class("long", context=LONG, concurrency=concurrency),)


def planned(asked: Request) -> Plan:
    plan = answer(asked, Effort())
    assert isinstance(plan, Plan)
    return plan


def looked(asked: Request) -> Sensitivity:
    sensitivity = planned(asked).sensitivity
    assert sensitivity is not None
    return sensitivity


def hbm_of(
    classes: Sequence[ServiceClass], systems: Sequence[System], hbm: HbmBasis = "label", sites: Sequence[Site] = ()
) -> OtherHbm:
    return looked(request(classes, systems, sites or (Site("site", TEST_POD),), policy(hbm=hbm))).hbm


def bought(plan: PlanInBrief | None) -> Mapping[str, int]:
    assert plan is not None
    return dict(plan.systems)


# The other basis of HBM.

H200 = by_driver(NODE, "150.754820096")
B300 = by_driver(BIG, "288.400343040")


def test_by_driver_another_system_is_the_answer() -> None:
    found = hbm_of(mixture(), (H200, B300))
    assert found.basis == "driver"
    assert found.changes is True
    assert found.proven
    assert found.plan == PlanInBrief(1, (("node-8", 1),), 8, Fraction("10.2"), (Fraction("10.2"), Fraction("10.2")))


def test_by_driver_fewer_pods_are_the_answer() -> None:
    """321 long sequences: 20 to a system by label, so 17 systems; 21 by driver, so 16, which one Pod holds."""
    found = hbm_of(many(321), (H200,))
    assert found.changes is True
    assert found.plan is not None
    assert (found.plan.pods, bought(found.plan), found.plan.gpus) == (1, {"node-8": 16}, 128)


def test_fewer_systems_of_the_same_kind_in_as_many_pods_are_no_change() -> None:
    """126 long sequences: 7 systems by label, 6 by driver."""
    assert planned(request(many(126), (H200,))).systems == (("node-8", 7),)
    found = hbm_of(many(126), (H200,))
    assert found == OtherHbm("driver", False, True, (), None)


def test_less_memory_by_driver_may_need_another_pod() -> None:
    found = hbm_of(many(320), (by_driver(NODE, 138),))
    assert found.changes is True
    assert found.plan is not None
    assert (found.plan.pods, bought(found.plan)) == (2, {"node-8": 17})


def test_less_memory_by_driver_in_the_same_pods_is_no_change() -> None:
    assert hbm_of(many(60), (by_driver(NODE, 138), by_driver(BIG, 288))).changes is False


def test_no_plan_within_the_limits_by_driver_is_a_change() -> None:
    found = hbm_of(many(320), (by_driver(NODE, 138),), sites=(Site("site", TEST_POD, pods=1),))
    assert (found.changes, found.plan, found.proven) == (True, None, True)


def test_the_other_basis_of_driver_is_the_label() -> None:
    found = hbm_of(mixture(), (H200, B300), hbm="driver")
    assert (found.basis, found.changes) == ("label", True)
    assert bought(found.plan) == {"big-8": 1}


def test_without_any_figure_nothing_is_known() -> None:
    assert hbm_of(mixture(), (NODE, BIG)) == OtherHbm("driver", None, False, ("big-8", "node-8"), None)


def test_a_chosen_system_without_the_figure_drops_out_and_is_named() -> None:
    found = hbm_of(mixture(), (by_driver(NODE, 141), BIG))
    assert found.without_figure == ("big-8",)
    assert found.changes is True
    assert bought(found.plan) == {"node-8": 2}


def test_another_system_without_the_figure_is_named_and_changes_nothing() -> None:
    assert hbm_of(mixture(11), (H200, BIG)) == OtherHbm("driver", False, True, ("big-8",), None)


def test_equal_figures_are_not_searched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = request(mixture(), (by_driver(NODE, 141), by_driver(BIG, 288)))
    monkeypatch.setattr(other_hbm_module, "search_within_limits", None)
    monkeypatch.setattr(other_hbm_module, "enumerate_options", None)
    assert looked(asked).hbm.changes is False


def test_arithmetic_answers_where_no_other_kind_comes_near(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(other_hbm_module, "search_within_limits", None)
    assert hbm_of(mixture(11), (H200, B300)) == OtherHbm("driver", False, True, (), None)


# Ranges of kW.

RIVAL = system("rival-8", kw="10.4")


def power_of(
    classes: Sequence[ServiceClass], systems: Sequence[System], objective: Sequence[str] = policy().objective
) -> PowerRanges:
    return looked(request(classes, systems, rules=policy(objective=tuple(objective)))).power


def test_overlapping_ranges_leave_the_choice_open_and_show_the_other_plan() -> None:
    found = power_of(many(60), (ranging(NODE, "9.5", "10.5"), ranging(RIVAL, "9.8", "11")))
    other = PlanInBrief(1, (("rival-8", 3),), 24, Fraction("31.2"), (Fraction("29.4"), Fraction(33)))
    assert found == PowerRanges(False, (Fraction("28.5"), Fraction("31.5")), (other,))


def test_one_range_is_enough_and_its_end_counts() -> None:
    assert power_of(many(60), (NODE, ranging(RIVAL, "10.2", "11"))).decided is False
    assert power_of(many(60), (NODE, ranging(RIVAL, "10.21", "11"))).decided is True


def test_figures_without_ranges_decide() -> None:
    assert power_of(many(60), (NODE, RIVAL)) == PowerRanges(True, (Fraction("30.6"), Fraction("30.6")), ())


def test_another_kind_that_needs_more_pods_is_no_rival() -> None:
    """321 long sequences: 17 systems of 20 in two Pods; of the larger, whose kW may be the lower, 8 in one."""
    wide = ranging(NODE, "1", "11")
    found = looked(request(many(321), (wide, ranging(BIG, "13", "16")))).power
    assert (found.decided, found.nameplate_range_kw) == (True, (Fraction(104), Fraction(128)))


def test_every_other_kind_that_overlaps_is_shown_by_its_kw() -> None:
    systems = (
        ranging(NODE, "9.5", "10.5"),
        ranging(RIVAL, "9.8", "11"),
        ranging(system("apart-8", kw="11.5"), "10.6", "12"),
        ranging(system("near-8", kw="10.3"), "10.1", "11"),
    )
    found = power_of(many(60), systems)
    assert [dict(other.systems) for other in found.others] == [{"near-8": 3}, {"rival-8": 3}]


def test_where_power_is_no_stage_it_decides_nothing() -> None:
    systems = (ranging(NODE, "9.5", "10.5"), ranging(RIVAL, "9.8", "11"))
    assert power_of(many(60), systems, ("pods", "system_kinds", "gpus")).decided is True


def test_stages_before_power_decide_first() -> None:
    """With GPUs before power, the kind that needs more of them is no rival, however low its kW."""
    systems = (ranging(BIG, "14", "15"), ranging(NODE, "4", "11"))
    assert power_of(many(60), systems, ("pods", "system_kinds", "gpus", "power")).decided is True
    assert power_of(many(60), systems, ("pods", "system_kinds", "power", "gpus")).decided is False


def test_without_a_stage_for_kinds_plans_that_lack_one_kind_are_weighed() -> None:
    systems = (ranging(NODE, "9.5", "10.5"), ranging(RIVAL, "9.8", "11"))
    found = power_of(many(60), systems, ("pods", "power"))
    assert [dict(other.systems) for other in found.others] == [{"rival-8": 3}]


# Both: effort, random cases, words.


def test_without_time_nothing_is_searched_and_the_plan_says_so() -> None:
    """What arithmetic settles is settled still."""
    asked = request(mixture(), (ranging(H200, "9", "11"), ranging(B300, "14", "15"), ranging(RIVAL, "9", "11")))
    plan = planned(asked)
    late = second_look(plan, enumerate_options(asked).candidates, Effort(deadline=0.0))
    assert late.sensitivity is not None
    assert (late.sensitivity.hbm.changes, late.reproducible) == (None, False)
    calm = request(mixture(11), (H200, B300))
    early = second_look(planned(calm), enumerate_options(calm).candidates, Effort(deadline=0.0))
    assert early.sensitivity is not None
    assert (early.sensitivity.hbm.changes, early.sensitivity.power.decided, early.reproducible) == (False, True, True)


def test_a_plan_that_is_not_proven_is_not_searched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = request(mixture(), (H200, ranging(B300, "14", "15"), ranging(system("rival-8", hbm_gb=288), "9", "16")))
    plan = replace(planned(asked), status=Status.FEASIBLE)
    monkeypatch.setattr(other_hbm_module, "search_within_limits", None)
    monkeypatch.setattr(power_ranges_module, "search_within_limits", None)
    again = second_look(plan, enumerate_options(asked).candidates, Effort()).sensitivity
    assert again is not None
    assert (again.hbm.changes, again.power.decided) == (None, None)


def test_the_same_request_gets_the_same_second_look() -> None:
    systems = (ranging(H200, "9.5", "10.5"), ranging(B300, "9", "15"), ranging(RIVAL, "9.8", "11"))
    asked = request((*many(60), service_class("short", concurrency=700)), systems)
    backwards = replace(asked, candidates=tuple(reversed(asked.candidates)))
    assert looked(asked) == looked(asked) == looked(backwards)


def varied(seed: int) -> Request:
    """A random small request whose systems have HBM by driver, or not, and ranges of kW, or not."""
    random = Random(seed)
    asked = request_of(random_instance(seed))
    systems = []
    for candidate in asked.candidates:
        factor = random.choice((None, Fraction(1), Fraction(random.randint(92, 115), 100)))
        label = candidate.gpu.hbm_label_gb.value
        changed = by_driver(candidate, None if factor is None else label * factor)
        kw = candidate.nameplate_kw
        if kw is not None and random.random() < 0.7:
            low, high = (kw.value * Fraction(random.randint(*ends), 100) for ends in ((70, 100), (100, 115)))
            changed = ranging(changed, str(low), str(high))
        systems.append(changed)
    if seed % 2:
        asked = replace(asked, policy=replace(asked.policy, objective=policy().objective))
    return replace(asked, candidates=tuple(systems))


def test_arithmetic_leaves_out_nothing_that_a_whole_search_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    changes = []
    for seed in range(24):
        asked = varied(seed)
        plan = answer(asked, Effort())
        usable = tuple(system for system in asked.candidates if system.gpu.hbm_driver_bytes is not None)
        if not isinstance(plan, Plan) or plan.sensitivity is None or not usable:
            continue
        other = replace(asked, policy=replace(asked.policy, hbm="driver"), candidates=usable)
        now, then = what_matters(brief_of_plan(plan)), whole_search(other)
        assert plan.sensitivity.hbm.changes is (now != then)
        assert plan.sensitivity.hbm.plan is None or what_matters(plan.sensitivity.hbm.plan) == then
        changes.append(now != then)
        with monkeypatch.context() as patched:
            patched.setattr(power_ranges_module, "least", lambda _sets, _kw_of: Least(1, 1, Fraction(0)))
            again = second_look(plan, enumerate_options(asked).candidates, Effort()).sensitivity
        assert again is not None
        assert again.power == plan.sensitivity.power
    assert len(changes) > 5
    assert set(changes) == {True, False}


def what_matters(plan: PlanInBrief) -> tuple[frozenset[str], int]:
    return kinds_of(plan), plan.pods


def whole_search(asked: Request) -> tuple[frozenset[str], int] | None:
    found = search(asked, enumerate_options(asked).candidates, Effort())
    return what_matters(brief_of_choice(asked, found.choice)) if isinstance(found, Found) else None


@pytest.mark.parametrize("seed", range(8))
def test_no_plan_needs_less_than_the_least(seed: int) -> None:
    asked = varied(seed)
    whole = sets_of(asked, enumerate_options(asked).candidates)
    for sets in (whole, *whole.kinds_apart()):
        needs = least(sets, lambda system: system.nameplate_kw.value if system.nameplate_kw else Fraction(0))
        for stage in ("pods", "gpus", "power"):
            found = search(asked, sets.candidates, Effort(), stages=(STAGES[stage],))
            if isinstance(found, Found):
                assert needs is not None
                known: dict[str, Fraction | int] = {"pods": needs.pods, "gpus": needs.gpus, "power": needs.kw * 10}
                assert known[stage] <= found.stages[0].value


def test_one_kind_by_itself_is_counted_in_whole_systems() -> None:
    """321 sequences are 16.05 systems of 20: 17 whole ones, and one more than a Pod holds."""
    asked = request(many(321), (NODE,))
    needs = least(sets_of(asked, enumerate_options(asked).candidates), lambda _system: Fraction(10))
    assert needs == Least(2, 136, Fraction(170))


DECIDED = PowerRanges(True, (Fraction(1), Fraction(1)))


def sentences(hbm: OtherHbm, power: PowerRanges = DECIDED) -> list[str]:
    plan = planned(request(mixture(11), (H200, BIG)))
    return sensitivity_sentences(replace(plan, sensitivity=Sensitivity(hbm, power)))


SMALLER = PlanInBrief(1, (("node-8", 2),), 16, Fraction("20.4"), (Fraction(19), Fraction(21)))
BASES = "HBM by driver in place of label"


@pytest.mark.parametrize(
    ("hbm", "said"),
    [
        (OtherHbm("driver", False, True, ()), f"{BASES} changes neither the kinds of system nor the number of Pods"),
        (
            OtherHbm("driver", True, True, ("big-8",), SMALLER),
            f"{BASES} changes the answer to 1 Pod, 2 x node-8, 16 GPUs, 20.4 kW nameplate; without that figure and "
            "left out: big-8",
        ),
        (
            OtherHbm("driver", True, False, (), SMALLER),
            f"{BASES} changes the answer to 1 Pod, 2 x node-8, 16 GPUs, 20.4 kW nameplate, as far as a second look "
            "went",
        ),
        (OtherHbm("driver", True, True, ()), f"{BASES} leaves no plan within the limits"),
        (
            OtherHbm("driver", None, False, ()),
            f"whether {BASES} would change the answer was not settled by a second look",
        ),
        (
            OtherHbm("driver", None, False, ("big-8", "node-8")),
            f"what {BASES} would change is unknown: no candidate has that figure",
        ),
    ],
)
def test_the_summary_says_what_the_other_basis_changes(hbm: OtherHbm, said: str) -> None:
    assert sentences(hbm) == [said]


def test_the_summary_shows_the_other_plan_where_kw_leave_the_choice_open() -> None:
    hbm = OtherHbm("driver", False, True, ())
    first, _ = sentences(hbm, PowerRanges(False, (Fraction(20), Fraction(22)), (SMALLER,)))
    assert first.startswith("the choice of systems is not decided")
    assert "this plan lies within 20.0 kW to 22.0 kW, and another within 19.0 kW to 21.0 kW" in first
    assert "(1 Pod, 2 x node-8, 16 GPUs, 20.4 kW nameplate)" in first
    unsettled, _ = sentences(hbm, PowerRanges(None, (Fraction(20), Fraction(22))))
    assert "was not settled" in unsettled


def test_a_plan_that_nobody_looked_at_again_says_nothing() -> None:
    plan = planned(request(mixture(11), (H200, BIG)))
    assert sensitivity_sentences(replace(plan, sensitivity=None)) == []
    assert plan_document(replace(plan, sensitivity=None))["sensitivity"] is None


def test_the_document_carries_the_second_look() -> None:
    plan = planned(request(mixture(), (ranging(H200, "9.5", "10.5"), B300)))
    assert plan_document(plan)["sensitivity"] == {
        "hbm": {
            "basis": "driver",
            "changes": True,
            "proven": True,
            "without_figure": [],
            "plan": {
                "pods": 1,
                "systems": {"node-8": 1},
                "gpus": 8,
                "nameplate_kw": 10.2,
                "nameplate_range_kw": [9.5, 10.5],
            },
        },
        "power": {"decided": True, "nameplate_range_kw": [14.5, 14.5], "others": []},
        "prices": None,
        "ideal": None,
        "cases": None,
    }
