"""Merged classes: what is packed holds by the check, and no bound is above what a search of every class finds."""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from math import ceil
from random import Random

import pytest

from sizing.plan.check import check
from sizing.plan.compose import compose
from sizing.plan.plan import Status
from sizing.program.deployments import enumerate_options
from sizing.program.exact import NotFound
from sizing.program.merging import (
    Merging,
    classes_alike,
    first_fit_decreasing,
    groups_of,
    plan_of_bytes,
    search_merged,
)
from sizing.program.objective import stages_of
from sizing.program.search import Found, search
from sizing.program.sets import sets_of
from sizing.program.solver import Effort
from sizing.request.request import Request
from tests.program.instances import ClassCase, Instance, ModelCase, random_instance, request_of

ALWAYS = Merging(most_alike=1, most_apart=0)

MOST_LOSS = Fraction(1, 200)
SEEDS = range(7_000, 7_040)


def alike(seed: int) -> Instance:
    """A random instance whose classes differ in context and demand only."""
    instance = random_instance(seed)
    first, *rest = instance.classes
    like = (replace(each, model=first.model, weights=first.weights, kv=first.kv) for each in rest)
    return replace(instance, classes=(first, *like))


def many(seed: int, classes: int, kv: tuple[str, ...] = ("bf16",), split: bool = False) -> Instance:
    """The same with many short classes: some hundred sequences fill a pool."""
    random, instance = Random(seed), random_instance(seed)
    longest = min(each.context for each in instance.classes)
    first = instance.classes[0]
    cases = []
    for number in range(classes):
        context, demand = max(1, round(longest * random.random() / 20)), random.randint(1, 90)
        cases.append(ClassCase(f"class-{number:03}", first.model, context, demand, first.weights[:1], kv))
    sites = tuple(replace(site, pods=None, power=None, air=None, liquid=None) for site in instance.sites)
    return replace(instance, classes=tuple(cases), sites=sites, supply=(), split=split)


def merged(request: Request, merging: Merging = ALWAYS) -> Found | NotFound:
    return search_merged(request, enumerate_options(request).candidates, Effort(), merging=merging)


@pytest.mark.parametrize("seed", SEEDS)
def test_plans_hold_and_bounds_are_valid(seed: int) -> None:
    request = request_of(alike(seed))
    options = enumerate_options(request)
    best, found = search(request, options.candidates, Effort()), merged(request)
    if isinstance(best, NotFound):
        assert isinstance(found, NotFound)
        assert found.proven
        return
    assert isinstance(found, Found)
    assert check(compose(request, found.choice, found.stages, options.rejected, notes=found.notes)) == ()
    assert tuple(stage.value for stage in best.stages) <= tuple(stage.value for stage in found.stages)
    for least, stage in zip(best.stages, found.stages, strict=True):
        assert stage.bound is not None
        assert stage.bound <= least.value
        if least.value > stage.value:
            break  # the best plan is none under the values held from here on


@pytest.mark.parametrize("seed", range(7_100, 7_106))
@pytest.mark.parametrize(("kv", "split"), [(("bf16",), False), (("bf16", "fp8"), False), (("fp8", "bf16"), True)])
def test_many_classes_lose_less_than_half_a_percent(seed: int, kv: tuple[str, ...], split: bool) -> None:
    request = request_of(many(seed, 60, kv, split))
    options = enumerate_options(request)
    found = merged(request, Merging(most_apart=0))
    if isinstance(found, NotFound):
        assert not options.candidates or found.proven
        return
    plan = compose(request, found.choice, found.stages, options.rejected, notes=found.notes)
    assert check(plan) == ()
    assert {served.name: served.served for served in plan.classes} == {
        service.name: service.demand for service in request.classes
    }
    (note,) = found.notes
    assert "60 classes were searched in" in note
    assert note in plan.assumptions
    assert any(f"{percent} % more (the loss)" in note for percent in ("0.0", "0.1", "0.2", "0.4"))
    first = plan.stages[0]
    assert first.bound is not None
    assert first.value <= ceil(first.bound * (1 + MOST_LOSS)) + 1


@pytest.mark.parametrize("seed", range(7_100, 7_105))
def test_what_groups_do_not_prove_is_searched_class_by_class_and_the_better_is_taken(seed: int) -> None:
    request = request_of(many(seed, 16, ("bf16", "fp8")))
    options = enumerate_options(request)
    apart, grouped = search(request, options.candidates, Effort()), merged(request)
    found = merged(request, Merging())
    if not isinstance(found, Found):
        assert not isinstance(apart, Found)
        assert not isinstance(grouped, Found)
        return
    both = [each for each in (apart, grouped) if isinstance(each, Found)]
    assert values(found) == min(map(values, both))
    assert check(compose(request, found.choice, found.stages, options.rejected, notes=found.notes)) == ()
    for other in both:
        for stage, least in zip(found.stages, other.stages, strict=True):
            assert stage.bound is not None
            assert least.bound is not None
            assert stage.bound >= least.bound
            if stage.value != least.value:
                break


def values(found: Found) -> list[int]:
    return [stage.value for stage in found.stages]


@pytest.mark.parametrize("most_apart", [0, 100])
def test_classes_of_other_models_are_packed_beside_the_groups(most_apart: int) -> None:
    instance = many(7_101, 13)
    other = ModelCase("other", 8, 1_000, 0)
    alone = ClassCase("other", "other", 1_000, 3, instance.classes[0].weights[:1], ("bf16",))
    request = request_of(replace(instance, models=(*instance.models, other), classes=(*instance.classes, alone)))
    options, found = enumerate_options(request), merged(request, Merging(most_apart=most_apart))
    assert isinstance(found, Found)
    plan = compose(request, found.choice, found.stages, options.rejected, notes=found.notes)
    assert check(plan) == ()
    assert "other" in {served.name for served in plan.classes}


def test_few_classes_are_searched_apart() -> None:
    request = request_of(alike(7_000))
    candidates = enumerate_options(request).candidates
    assert search_merged(request, candidates, Effort()) == search(request, candidates, Effort())


def test_the_order_of_classes_changes_nothing() -> None:
    request = request_of(many(7_101, 60))
    found = merged(request)
    assert isinstance(found, Found)
    assert merged(replace(request, classes=request.classes[::-1])) == found


def test_optimal_is_said_where_the_bound_of_all_classes_is_met() -> None:
    statuses: Counter[Status] = Counter()
    for seed in range(7_100, 7_110):
        request = request_of(many(seed, 40))
        options, found = enumerate_options(request), merged(request)
        if isinstance(found, Found):
            plan = compose(request, found.choice, found.stages, options.rejected)
            met = all(stage.value == stage.bound for stage in plan.stages)
            statuses[plan.status] += 1
            assert (plan.status is Status.OPTIMAL) == met
    assert statuses[Status.OPTIMAL]


def test_what_is_alike() -> None:
    instance = many(7_101, 30)
    choices = (("bf16",), ("bf16", "fp8"), ("bf16", "fp8"))
    classes = tuple(replace(each, kv=choices[number % 3]) for number, each in enumerate(instance.classes))
    split = classes_alike(request_of(replace(instance, classes=classes)).classes)
    assert sorted(map(len, split)) == [10, 20]
    for members in split:
        assert len({member.precisions for member in members}) == 1
        assert [member.context for member in members] == sorted((m.context for m in members), reverse=True)


@pytest.mark.parametrize("count", [1, 4, 12, 100])
def test_groups_are_neighbours_of_about_the_same_tokens(count: int) -> None:
    (members,) = classes_alike(request_of(many(7_101, 60)).classes)
    groups = groups_of(members, count)
    assert [service for group in groups for service in group] == members
    assert len(groups) <= count
    tokens = [service.context * service.demand for service in members]
    for group in groups:
        held = sum(service.context * service.demand for service in group)
        assert held <= sum(tokens) / count + 2 * max(tokens)


@pytest.mark.parametrize("seed", range(7_100, 7_110))
def test_first_fit_decreasing_fills_pools_with_what_is_asked(seed: int) -> None:
    request = request_of(many(seed, 50))
    demands = {service.name: service.demand * 20 for service in request.classes}
    for candidate in enumerate_options(request).candidates:
        left = dict(demands)
        filled = list(first_fit_decreasing(candidate, 10**6, left))
        held: Counter[str] = Counter()
        for pattern, count in filled:
            assert sum(candidate.sizes[name] * number for name, number in pattern) <= candidate.budget
            for name, number in pattern:
                held[name] += number * count
        assert not any(left[name] for name in candidate.sizes)
        assert held == Counter({name: demands[name] for name in candidate.sizes})
        assert len(filled) <= 2 * len(candidate.sizes)
        loads = [sum(candidate.sizes[name] * number for name, number in pattern) for pattern, _ in filled]
        assert all(candidate.budget - load < max(candidate.sizes.values()) for load in loads[:-1])


def test_pools_that_do_not_suffice_leave_something() -> None:
    request = request_of(many(7_101, 50))
    candidate = enumerate_options(request).candidates[0]
    left = {service.name: service.demand * 1_000 for service in request.classes}
    ((pattern, pools),) = list(first_fit_decreasing(candidate, 1, left))
    assert pools == 1
    assert sum(left.values()) + sum(number for _, number in pattern) == 1_000 * sum(
        service.demand for service in request.classes
    )


def test_a_margin_is_taken_only_where_it_is_needed() -> None:
    request = request_of(many(7_101, 60))
    free, charged = merged(request), merged(request, Merging(1, 0, (Fraction(4, 1_000),)))
    assert isinstance(free, Found)
    assert isinstance(charged, Found)
    assert "0.4 % more (the loss)" in charged.notes[0]
    assert "0.0 % more (the loss)" in free.notes[0]
    assert charged.stages[0].value >= free.stages[0].value


@pytest.mark.parametrize("seed", range(7_200, 7_206))
def test_more_kinds_of_system_to_choose_from_are_never_worse(seed: int) -> None:
    request = request_of(many(seed, 20, ("bf16", "fp8")))
    candidates = enumerate_options(request).candidates
    stages = stages_of(request)
    whole = plan_of_bytes(sets_of(request, candidates), Effort(), stages)
    for kind in sorted({candidate.deployment.system.name for candidate in candidates}):
        of_kind = tuple(each for each in candidates if each.deployment.system.name == kind)
        alone = plan_of_bytes(sets_of(request, of_kind), Effort(), stages)
        if alone is not None:
            assert whole is not None
            assert [stage.value for stage in whole.stages] <= [stage.value for stage in alone.stages]
