"""Replicas into domains: first fit decreasing is exact, spare systems stay empty, equal neighbours are one run."""

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sizing.facility.site import Site
from sizing.facility.system import System
from sizing.plan.placement import place
from sizing.plan.plan import FilledPods, PlacedReplicas, PlannedDeployment
from sizing.pool.layout import ladder
from sizing.request.request import Request
from tests.bin_packing import packs
from tests.plan_builders import (
    DENSE_70B,
    NODE,
    RACK,
    TEST_POD,
    TINY,
    deployment,
    filled,
    policy,
    request,
    service_class,
    system,
    two_sites,
)


def asking(systems: Sequence[System], spare: int = 0, sites: Sequence[str] = ("site",)) -> Request:
    rules = policy(spare_systems=spare)
    return request([service_class("any", TINY)], systems, [Site(name, TEST_POD) for name in sites], rules)


def replicas(of: System, gpus: int, count: int) -> PlannedDeployment:
    """`count` replicas of `gpus` GPUs; what they hold is not placement's business."""
    return PlannedDeployment(deployment(of, TINY, attention_dp=gpus), count, ())


def domains(placed: Sequence[PlacedReplicas]) -> Iterator[tuple[tuple[str, int, str, int, int], PlacedReplicas]]:
    """Every run written out, domain by domain."""
    for box in placed:
        for pod in range(box.pods[0], box.pods[1] + 1):
            for number in range(box.systems[0], box.systems[1] + 1):
                for domain in range(box.domains[0], box.domains[1] + 1):
                    yield (box.site, pod, box.system, number, domain), box


def test_two_kinds_at_two_sites_with_one_spare_each() -> None:
    told = [(box.site, box.system, box.systems, box.replicas, box.idle_gpus) for box in two_sites().placement]
    assert told == [
        ("north", "node-8", (1, 1), (("node-8/dense-70b/bf16/bf16/tp8", 1, 8),), 0),
        ("north", "node-8", (2, 2), (("node-8/dense-70b/bf16/fp8/tp4", 2, 4),), 0),
        ("north", "rack-72", (1, 1), (("rack-72/latent-671b/fp8/bf16/tp1-adp8", 1, 8),), 64),
        ("south", "node-8", (1, 1), (), 8),
        ("south", "rack-72", (1, 1), (), 72),
    ]


def test_sixty_equal_pods_are_one_run() -> None:
    pods = [filled("site", {"node-8": 16}, {"node-8": 16}, count=60)]
    (box,) = place(asking([NODE]), pods, [replicas(NODE, 4, 1920)])
    assert (box.pods, box.systems, box.domains) == ((1, 60), (1, 16), (1, 1))
    assert box.replicas == (("node-8/tiny/bf16/bf16/tp1-adp4", 2, 4),)


def test_what_differs_breaks_the_run_and_no_more() -> None:
    pods = [filled("site", {"node-8": 16}, {"node-8": 16}, count=60)]
    placed = place(asking([NODE]), pods, [replicas(NODE, 8, 959)])
    assert [(box.pods, box.systems, bool(box.replicas)) for box in placed] == [
        ((1, 59), (1, 16), True),
        ((60, 60), (1, 15), True),
        ((60, 60), (16, 16), False),
    ]


def test_runs_end_where_a_pod_without_the_kind_stands_between() -> None:
    both = {"node-8": 7, "rack-72": 1}
    pods = [filled("site", {"node-8": 7}, both), filled("site", {"rack-72": 1}, both), filled("site", both, both)]
    placed = place(asking([NODE, RACK]), pods, [replicas(NODE, 8, 14), replicas(RACK, 72, 2)])
    assert [(box.system, box.pods) for box in placed] == [
        ("node-8", (1, 1)),
        ("rack-72", (2, 3)),
        ("node-8", (3, 3)),
    ]


def test_pods_are_numbered_within_their_site_and_sites_go_by_name() -> None:
    pods = [filled("b", {"node-8": 1}, {"node-8": 16}, count=2), filled("a", {"node-8": 2}, {"node-8": 16})]
    placed = place(asking([NODE], sites=("b", "a")), pods, [replicas(NODE, 8, 3)])
    assert [(box.site, box.pods, box.systems, bool(box.replicas)) for box in placed] == [
        ("a", (1, 1), (1, 2), True),
        ("b", (1, 1), (1, 1), True),
        ("b", (2, 2), (1, 1), False),
    ]


def test_domains_of_one_system_are_runs_within_it() -> None:
    double = system("double", domain_gpus=4, domains=2)
    pods = [filled("site", {"double": 3}, {"double": 16})]
    placed = place(asking([double]), pods, [replicas(double, 4, 3), replicas(double, 1, 2)])
    assert [(box.systems, box.domains, box.replicas, box.idle_gpus) for box in placed] == [
        ((1, 1), (1, 2), (("double/tiny/bf16/bf16/tp1-adp4", 1, 4),), 0),
        ((2, 2), (1, 1), (("double/tiny/bf16/bf16/tp1-adp4", 1, 4),), 0),
        ((2, 2), (2, 2), (("double/tiny/bf16/bf16/tp1", 2, 1),), 2),
        ((3, 3), (1, 2), (), 4),
    ]


def test_large_replicas_come_first_and_small_ones_fill_their_holes() -> None:
    pods = [filled("site", {"rack-72": 1}, {"rack-72": 1}, count=2)]
    placed = place(asking([RACK]), pods, [replicas(RACK, 8, 3), replicas(RACK, 64, 1)])
    assert [(box.pods, box.replicas, box.idle_gpus) for box in placed] == [
        ((1, 1), (("rack-72/tiny/bf16/bf16/tp1-adp64", 1, 64), ("rack-72/tiny/bf16/bf16/tp1-adp8", 1, 8)), 0),
        ((2, 2), (("rack-72/tiny/bf16/bf16/tp1-adp8", 2, 8),), 56),
    ]


@pytest.mark.parametrize(("spare", "last_at_work"), [(0, 6), (1, 5), (3, 3)])
def test_spare_systems_are_the_last_of_their_kind(spare: int, last_at_work: int) -> None:
    pods = [filled("site", {"node-8": 3}, {"node-8": 16}, count=2)]
    placed = place(asking([NODE], spare), pods, [replicas(NODE, 8, last_at_work)])
    at_work = [(pod, number) for (_, pod, _, number, _), box in domains(placed) if box.replicas]
    assert at_work == [(pod, number) for pod in (1, 2) for number in (1, 2, 3)][:last_at_work]
    with pytest.raises(ValueError, match="1 of"):
        place(asking([NODE], spare), pods, [replicas(NODE, 8, last_at_work + 1)])


def test_what_does_not_fit_is_said_with_numbers() -> None:
    pods = [filled("site", {"rack-72": 1}, {"rack-72": 1}, count=2)]
    with pytest.raises(ValueError, match=r"1 of 1 replicas of rack-72/tiny/\S+ with 16 GPUs each .* 2 domains"):
        place(asking([RACK]), pods, [replicas(RACK, 64, 2), replicas(RACK, 16, 1)])


def test_more_spare_systems_than_systems_leave_none_to_work() -> None:
    pods = [filled("site", {"node-8": 1}, {"node-8": 16})]
    (box,) = place(asking([NODE], spare=2), pods, [])
    assert box.idle_gpus == 8
    with pytest.raises(ValueError, match="0 domains"):
        place(asking([NODE], spare=2), pods, [replicas(NODE, 8, 1)])


def test_replicas_on_a_kind_that_does_not_stand_there_do_not_fit() -> None:
    with pytest.raises(ValueError, match="0 domains"):
        place(asking([NODE, RACK]), [filled("site", {"node-8": 1}, {"node-8": 16})], [replicas(RACK, 8, 1)])


LOADS = st.sampled_from([3, 4, 5, 8, 9, 12, 72]).flatmap(
    lambda gpus: st.tuples(
        st.just(gpus),
        st.lists(st.tuples(st.integers(1, 2), st.integers(1, 2)), min_size=1, max_size=2),
        st.dictionaries(st.sampled_from(ladder(gpus)), st.integers(1, 5), min_size=1, max_size=4),
    )
)


@settings(max_examples=300, deadline=None)
@given(LOADS, st.integers(1, 2), st.integers(0, 1))
def test_a_placement_is_found_exactly_where_one_exists(
    load: tuple[int, list[tuple[int, int]], dict[int, int]], domains_per_system: int, spare: int
) -> None:
    gpus, pods, counts = load
    kind = system("kind", domain_gpus=gpus, domains=domains_per_system)
    stands = [filled("site", {"kind": each}, {"kind": each}, count) for each, count in pods]
    bought = sum(each * count for each, count in pods)
    planned = [replicas(kind, size, count) for size, count in counts.items()]
    sizes = [size for size, count in counts.items() for _ in range(count)]
    working = (bought - spare) * domains_per_system
    if not packs(sizes, working, gpus):
        with pytest.raises(ValueError, match="find no room"):
            place(asking([kind], spare), stands, planned)
        return
    placed = place(asking([kind], spare), stands, planned)
    written_out = list(domains(placed))
    assert len(written_out) == len(dict(written_out)) == bought * domains_per_system
    for _, box in written_out:
        assert sum(number * size for _, number, size in box.replicas) + box.idle_gpus == gpus
        assert box.idle_gpus >= 0
    found = Counter[str]()
    for _, box in written_out:
        for name, number, _ in box.replicas:
            found[name] += number
    assert found == {each.deployment.id: each.replicas for each in planned}
    at_work = {key[:4] for key, box in written_out if box.replicas}
    assert bought - len(at_work) >= spare


@given(st.randoms(use_true_random=False))
def test_the_order_of_the_deployments_does_not_matter(random: Random) -> None:
    pods = [filled("site", {"rack-72": 1}, {"rack-72": 1}, count=4)]
    planned = [replicas(RACK, size, 2) for size in (64, 32, 16, 8, 4, 1)]
    planned.append(PlannedDeployment(deployment(RACK, DENSE_70B, tp=8, reserve=Fraction(0)), 2, ()))
    expected = place(asking([RACK]), pods, planned)
    random.shuffle(planned)
    assert place(asking([RACK]), pods, planned) == expected


def test_a_pod_without_systems_takes_its_number() -> None:
    empty = FilledPods("site", TEST_POD.name, (), filled("site", {}, {"node-8": 16}).fill, 1)
    placed = place(asking([NODE]), [empty, filled("site", {"node-8": 1}, {"node-8": 16})], [replicas(NODE, 8, 1)])
    assert [box.pods for box in placed] == [(2, 2)]
