"""Maximal populations of a Pod, and what is there to be put into it."""

from dataclasses import replace

from sizing.facility.fills import fills
from sizing.facility.site import Site
from tests.plan_builders import NODE, TEST_POD, system

BIG = system("big-8", hbm_gb=288, kw="14.5", generation="new")
SITE = Site("site", TEST_POD)
SLOTS = TEST_POD.gpu_slots.value


def populations(*args: object, **more: object) -> list[dict[str, int]]:
    return [dict(fill.systems) for fill in fills(*args, **more)]  # type: ignore[arg-type]


def test_one_kind_fills_all_slots() -> None:
    assert populations(SITE, [NODE, BIG], mixed=False) == [{"big-8": SLOTS // 8}, {"node-8": SLOTS // 8}]


def test_pairs_leave_no_room_for_one_more() -> None:
    for population in populations(SITE, [NODE, BIG], mixed=True):
        assert sum(population.values()) == SLOTS // 8


def test_a_kind_of_which_no_more_may_come_leaves_its_room_to_others() -> None:
    found = populations(SITE, [NODE, BIG], mixed=True, at_most={"node-8": 3})
    assert {"big-8": SLOTS // 8 - 3, "node-8": 3} in found
    assert all(population.get("node-8", 0) <= 3 for population in found)
    assert populations(SITE, [NODE], mixed=False, at_most={"node-8": 3}) == [{"node-8": 3}]


def test_no_room_no_fill() -> None:
    narrow = replace(TEST_POD, gpu_slots=replace(TEST_POD.gpu_slots, value=7))
    assert populations(Site("site", narrow), [NODE], mixed=True) == []
