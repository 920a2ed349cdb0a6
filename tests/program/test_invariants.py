"""What must hold of any two answers that belong together, whatever they are."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from itertools import permutations
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sizing.plan.choice import Choice
from sizing.program.deployments import enumerate_options
from sizing.program.exact import NotFound
from sizing.program.search import Found, search
from sizing.program.solver import Effort
from tests.program.instances import STAGES, Instance, SiteCase, random_instance, request_of

SEEDS = range(5_000, 5_020)
FEW = SEEDS[::2]


def found(instance: Instance) -> Found | NotFound:
    request = request_of(instance)
    return search(request, enumerate_options(request).candidates, Effort())


@cache
def values(instance: Instance) -> tuple[int, ...] | None:
    """The value of every stage, proven; None where there is no plan, proven too."""
    answer = found(instance)
    if isinstance(answer, NotFound):
        assert answer.proven
        return None
    assert all(stage.value == stage.bound for stage in answer.stages)
    return tuple(stage.value for stage in answer.stages)


def no_worse(better: Instance, worse: Instance) -> None:
    """Stage after stage in order: where the first that differs is, it is less."""
    before, after = values(worse), values(better)
    if before is not None:
        assert after is not None, better
        assert after <= before, better


def with_sites(instance: Instance, change: Callable[[SiteCase], SiteCase]) -> Instance:
    return replace(instance, sites=tuple(change(site) for site in instance.sites))


def raised(site: SiteCase) -> SiteCase:
    """Every limit a little higher."""
    limits = {name: getattr(site, name) for name in ("power", "air", "liquid", "pods")}
    return replace(site, **{name: limit * 5 // 4 + 1 for name, limit in limits.items() if limit is not None})


EASIER: Mapping[str, Callable[[Instance], Instance]] = {
    "higher limits": lambda it: with_sites(it, raised),
    "no power limit": lambda it: with_sites(it, lambda site: replace(site, power=None)),
    "no air limit": lambda it: with_sites(it, lambda site: replace(site, air=None, pod_air=None)),
    "no liquid limit": lambda it: with_sites(it, lambda site: replace(site, liquid=None, pod_liquid=None)),
    "Pod positions without limit": lambda it: with_sites(it, lambda site: replace(site, pods=None)),
    "more supply": lambda it: replace(it, supply=tuple((name, most + 1) for name, most in it.supply)),
    "one site more": lambda it: replace(it, sites=(*it.sites, SiteCase("west"))),
    "mixed Pods": lambda it: replace(it, mixed=True),
    "split precision": lambda it: replace(it, split=True),
    "no spare systems": lambda it: replace(it, spare=0),
    "one sequence less": lambda it: replace(
        it, classes=tuple(replace(each, demand=max(1, each.demand - 1)) for each in it.classes)
    ),
    "one class less": lambda it: replace(it, classes=it.classes[1:]),
    "shorter contexts": lambda it: replace(
        it, classes=tuple(replace(each, context=max(1, each.context * 9 // 10)) for each in it.classes)
    ),
    "another precision, last": lambda it: replace(
        it, classes=tuple(replace(each, kv=(*each.kv, *({"bf16", "fp8"} - set(each.kv)))) for each in it.classes)
    ),
    "less reserve": lambda it: replace(it, reserve=(it.reserve[0], 2 * it.reserve[1])),
}


@pytest.mark.parametrize("change", EASIER)
def test_what_makes_it_easier_makes_no_stage_worse(change: str) -> None:
    changed = 0
    for seed in FEW:
        instance = random_instance(seed)
        easier = EASIER[change](instance)
        if easier != instance and easier.classes:
            no_worse(easier, instance)
            changed += 1
    assert changed


@settings(max_examples=30, deadline=None, derandomize=True)
@given(seed=st.integers(0, 2**32 - 1), change=st.sampled_from(list(EASIER)))
def test_no_stage_is_worse_in_any_instance(seed: int, change: str) -> None:
    instance = random_instance(seed)
    easier = EASIER[change](instance)
    if easier.classes:
        no_worse(easier, instance)


@pytest.mark.parametrize("seed", SEEDS)
def test_names_and_order_change_no_value(seed: int) -> None:
    random, instance = Random(seed), random_instance(seed)
    names = [f"{letter}-{number}" for number, letter in enumerate("zyxwvu")]
    random.shuffle(names)
    systems = random.sample(instance.systems, len(instance.systems))
    again = {each.name: f"{chr(ord('z') - number)}-system" for number, each in enumerate(instance.systems)}
    model = {each.name: f"{chr(ord('z') - number)}-model" for number, each in enumerate(instance.models)}
    site = {each.name: f"{chr(ord('z') - number)}-site" for number, each in enumerate(instance.sites)}
    classes = [
        replace(each, name=name, model=model[each.model]) for each, name in zip(instance.classes, names, strict=False)
    ]
    random.shuffle(classes)
    other = replace(
        instance,
        classes=tuple(classes),
        models=tuple(replace(each, name=model[each.name]) for each in reversed(instance.models)),
        systems=tuple(replace(each, name=again[each.name]) for each in systems),
        supply=tuple((again[name], most) for name, most in instance.supply),
        sites=tuple(replace(each, name=site[each.name]) for each in reversed(instance.sites)),
    )
    assert values(other) == values(instance)


@pytest.mark.parametrize("stage", ["pods", "power", "gpus"])
def test_twice_the_demand_needs_at_most_twice(stage: str) -> None:
    for seed in FEW:
        instance = replace(random_instance(seed), objective=(stage,), supply=())
        instance = with_sites(instance, lambda site: replace(site, power=None, air=None, liquid=None, pods=None))
        twice = replace(instance, classes=tuple(replace(each, demand=2 * each.demand) for each in instance.classes))
        once, both = values(instance), values(twice)
        assert (once is None) == (both is None)
        if once is not None and both is not None:
            assert once <= both, instance
            assert both[0] <= 2 * once[0], instance


@pytest.mark.parametrize("seed", SEEDS)
def test_a_system_that_is_not_used_is_not_missed(seed: int) -> None:
    instance = random_instance(seed)
    answer = found(instance)
    if isinstance(answer, NotFound):
        return
    used = systems_of(answer.choice)
    fewer = replace(instance, systems=tuple(each for each in instance.systems if each.name in used))
    assert values(fewer) == tuple(stage.value for stage in answer.stages)


def systems_of(choice: Choice) -> set[str]:
    return {system for _, system in choice.systems}


@pytest.mark.parametrize("seed", SEEDS[::4])
def test_the_first_stage_does_not_depend_on_those_after_it(seed: int) -> None:
    instance = random_instance(seed)
    for first in STAGES:
        alone = values(replace(instance, objective=(first,)))
        rest = [stage for stage in STAGES if stage != first]
        other = values(replace(instance, objective=(first, *Random(seed).sample(rest, 3))))
        assert (alone is None) == (other is None)
        if alone is not None and other is not None:
            assert other[0] == alone[0], first


def test_every_order_of_stages_is_an_order() -> None:
    """A later stage never beats its value in an order that has it earlier, other things equal."""
    instance = next(
        each
        for each in map(random_instance, range(6_000, 7_000))
        if len(each.systems) == 3 and found(each) != NotFound(proven=True, stopped=False)
    )
    stages = ("pods", "power", "precision")
    answers = {order: values(replace(instance, objective=order)) for order in permutations(stages)}
    for order, answer in answers.items():
        assert answer is not None
        for other, rival in answers.items():
            assert rival is not None
            assert answer <= tuple(dict(zip(other, rival, strict=True))[stage] for stage in order)
