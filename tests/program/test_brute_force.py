"""The program against brute force: every stage of small random instances, or that there is no plan.

`SIZING_INSTANCES=3000 pytest tests/program/test_brute_force.py` tries more of them. A seed tells its instance:
`random_instance(seed)`; a failure prints it.
"""

import os
from functools import cache
from itertools import count
from random import Random

import pytest

from sizing.plan.check import check
from sizing.plan.compose import compose
from sizing.program import exact, patterns
from sizing.program.deployments import Options, enumerate_options
from sizing.program.exact import NotFound
from sizing.program.search import Found, search
from sizing.program.solver import Effort
from sizing.request.request import Request
from tests.program.brute_force import best_values, size_of
from tests.program.instances import (
    HEAD_DIM,
    LAYERS,
    ClassCase,
    Instance,
    ModelCase,
    SiteCase,
    SystemCase,
    parameters,
    random_instance,
    request_of,
)

INSTANCES = int(os.environ.get("SIZING_INSTANCES", "300"))
MOST_COMBINATIONS = 2_000


def small_instance(seed: int) -> Instance:
    """The first of a seed's instances that brute force gets through quickly."""
    seeds = Random(seed)
    return next(
        instance
        for instance in (random_instance(seeds.getrandbits(32)) for _ in count())
        if size_of(instance) <= MOST_COMBINATIONS
    )


@cache
def answer(seed: int) -> tuple[int, ...] | None:
    return best_values(small_instance(seed))


def solve(instance: Instance, effort: Effort) -> tuple[Request, Options, Found | NotFound]:
    request = request_of(instance)
    options = enumerate_options(request)
    return request, options, search(request, options.candidates, effort)


def holds(instance: Instance, best: tuple[int, ...] | None) -> None:
    """The search finds the same values and calls them optimal, and its plan passes the check; or finds none."""
    request, options, found = solve(instance, Effort())
    if best is None:
        assert found == NotFound(proven=True, stopped=False), instance
        return
    assert isinstance(found, Found), instance
    assert tuple(stage.value for stage in found.stages) == best, instance
    assert tuple(stage.bound for stage in found.stages) == best, instance
    assert check(compose(request, found.choice, found.stages, options.rejected)) == (), instance


@pytest.mark.parametrize("seed", range(INSTANCES))
def test_values_are_those_of_brute_force(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of the search: with all patterns listed, and with patterns generated and closed."""
    instance = small_instance(seed)
    best = answer(seed)
    holds(instance, best)
    monkeypatch.setattr(patterns, "MOST_LISTED", -1)
    holds(instance, best)


def bounds_hold(instance: Instance, best: tuple[int, ...] | None, effort: Effort) -> None:
    """The rule of bounds: what is not proven is above no value that is possible, and the plan passes the check."""
    request, options, found = solve(instance, effort)
    if isinstance(found, NotFound):
        assert best is None or not found.proven, instance
        return
    assert best is not None, instance
    proven = True
    for stage, least in zip(found.stages, best, strict=True):
        assert stage.bound is not None
        assert stage.bound <= least <= stage.value, instance
        assert stage.conditional == (not proven), instance
        proven = proven and stage.bound == stage.value
        if stage.value != least:
            break  # what follows is held to another value than the best
    assert check(compose(request, found.choice, found.stages, options.rejected)) == (), instance


@pytest.mark.parametrize("seed", range(INSTANCES, INSTANCES + INSTANCES // 5))
def test_bounds_hold_where_no_stage_is_closed(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every other instance is searched as if it were large."""
    monkeypatch.setattr(patterns, "MOST_LISTED", -1)
    monkeypatch.setattr(exact.ExactSearch, "_close", lambda *_: False)
    if seed % 2:
        monkeypatch.setattr(exact, "MOST_RELAXED", -1)
        monkeypatch.setattr(exact, "MOST_RELAXED_WHOLE", -1)
    bounds_hold(small_instance(seed), answer(seed), Effort())


@pytest.mark.parametrize("seed", range(INSTANCES // 15))
@pytest.mark.parametrize("listed", [patterns.MOST_LISTED, -1])
@pytest.mark.parametrize("effort", [Effort(gap=0.4), Effort(most_nodes=1)], ids=["gap", "nodes"])
def test_bounds_hold_where_the_search_is_cut_short(
    effort: Effort, listed: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patterns, "MOST_LISTED", listed)
    bounds_hold(small_instance(seed), answer(seed), effort)


def test_brute_force_sees_many_kinds_of_instances() -> None:
    """The instances are not all alike: what the oracle is to decide does occur."""
    instances = [small_instance(seed) for seed in range(150)]
    answers = [answer(seed) for seed in range(150)]
    values = [dict(zip(i.objective, best, strict=True)) for i, best in zip(instances, answers, strict=True) if best]
    assert 30 <= answers.count(None) <= 75
    assert sum(value.get("pods", 0) > 1 for value in values) >= 10
    assert sum(value.get("system_kinds", 0) > 1 for value in values) >= 2
    assert sum(value.get("precision", 0) > 0 for value in values) >= 5
    assert {system.domain_gpus for i in instances for system in i.systems} == {1, 2, 4, 8, 9}
    for name in ("power", "air", "liquid", "pods", "pod_air", "pod_liquid"):
        assert any(getattr(site, name) is not None for i in instances for site in i.sites), name
    assert {len(i.classes) for i in instances} == {2, 3, 4, 5, 6, 7}
    assert {len(i.systems) for i in instances} == {1, 2, 3}
    assert any(len({each.model for each in i.classes}) > 1 for i in instances)
    assert any(len(each.kv) > 1 for i in instances for each in i.classes)
    assert any(len(each.weights) > 1 for i in instances for each in i.classes)
    below_one_pod = [value for value in values if value.get("pods") == 1 and value.keys() & {"power", "gpus"}]
    assert len(below_one_pod) >= 10
    assert any(i.mixed for i in instances)
    assert any(i.split for i in instances)
    assert any(i.spare for i in instances)
    assert any(i.supply for i in instances)
    assert any(len(i.sites) > 1 for i in instances)


# Instances that once were answered wrongly, or that are known to be hard


@pytest.mark.parametrize("generated", [False, True])
def test_pools_are_filled_by_mixtures_that_no_class_alone_suggests(
    generated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sequences of 51, 34 and 15 % of a pool, six of each: six pools, each with one of each, and not one byte more.

    Each class alone fills a pool less well: one of 51 %, two of 34 %, six of 15 %.
    """
    if generated:
        monkeypatch.setattr(patterns, "MOST_LISTED", -1)
    model = ModelCase("model", 1, 1, 0)
    tokens = (1_800_000_000 - 2 * parameters(model)[0]) // (4 * LAYERS * HEAD_DIM)
    classes = tuple(
        ClassCase(f"class-{part}", "model", tokens * part // 100, 6, ("bf16",), ("bf16",)) for part in (51, 34, 15)
    )
    instance = Instance((SystemCase("node", 1, 1, 2, 10, 0, "new"),), (model,), classes, objective=("gpus",))
    assert best_values(instance) == (6,)
    holds(instance, (6,))


def test_a_plan_that_columns_alone_do_not_suggest_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The linear program serves everybody with patterns that no whole pools within two Pods can be made of."""
    monkeypatch.setattr(patterns, "MOST_LISTED", -1)
    classes = (
        ClassCase("class-0", "model", 2_092_800, 8, ("bf16", "fp8"), ("bf16", "fp8")),
        ClassCase("class-1", "model", 2_971_801, 3, ("bf16",), ("bf16",)),
    )
    instance = Instance(
        systems=(
            SystemCase("system-0", 8, 2, 3, 231, 0, "old"),
            SystemCase("system-1", 9, 1, 4, 112, 0, "new"),
        ),
        models=(ModelCase("model", 8, 79_629, 0),),
        classes=classes,
        sites=(SiteCase("north", slots=18, pod_power=378, pods=2),),
        mixed=True,
        basis="installed",
        objective=("system_kinds", "gpus", "weight_precision"),
    )
    best = best_values(instance)
    assert best == (1, 36, 0)
    holds(instance, best)


@pytest.mark.parametrize("seed", [23, 72, 98, 168, 270])
def test_where_patterns_are_too_many_to_close_those_nearest_are_added(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Columns of the linear program alone make a worse plan of these instances; nothing else is left to find it."""
    monkeypatch.setattr(patterns, "MOST_LISTED", -1)
    monkeypatch.setattr(exact, "MOST_CLOSING", -1)
    monkeypatch.setattr(exact.ExactSearch, "_relax_to_whole", lambda *_: 0)
    found = solve(small_instance(seed), Effort())[-1]
    assert isinstance(found, Found)
    assert tuple(stage.value for stage in found.stages) == answer(seed)
    monkeypatch.setattr(exact, "MOST_NEAR", 0)
    found = solve(small_instance(seed), Effort())[-1]
    assert isinstance(found, Found)
    assert tuple(stage.value for stage in found.stages) != answer(seed)


def test_a_plan_of_one_kind_brings_its_patterns_to_the_search_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """Held at 5.6 kW, which only patterns of `system-2` reach, the relaxation of all kinds must know these patterns."""
    monkeypatch.setattr(patterns, "MOST_LISTED", -1)
    instance = Instance(
        systems=(
            SystemCase("system-0", 9, 1, 1, 96, 0, "new"),
            SystemCase("system-1", 1, 1, 2, 21, 0, "new"),
            SystemCase("system-2", 1, 2, 2, 28, 0, "new"),
        ),
        models=(ModelCase("model", 72, 1_049, 6),),
        classes=(
            ClassCase("class-0", "model", 7_390, 4, ("fp8",), ("bf16", "fp8")),
            ClassCase("class-1", "model", 18_432, 3, ("bf16",), ("fp8",)),
            ClassCase("class-2", "model", 6_159, 5, ("bf16", "fp8"), ("fp8", "bf16")),
            ClassCase("class-3", "model", 18_477, 3, ("bf16", "fp8"), ("bf16",)),
        ),
        sites=(SiteCase("north", slots=7, pod_power=193),),
        supply=(("system-0", 1),),
        objective=("pods", "power", "precision", "system_kinds", "weight_precision", "gpus"),
    )
    best = best_values(instance)
    assert best == (1, 56, 4, 1, 5, 4)
    holds(instance, best)


def test_a_stage_that_came_out_better_later_is_told_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Minimising GPUs finds a plan of fewer kW than minimising kW did over patterns that were not closed."""
    monkeypatch.setattr(patterns, "MOST_LISTED", -1)
    monkeypatch.setattr(exact.ExactSearch, "_close", lambda *_: False)
    bf16, fp8 = ("bf16",), ("fp8",)
    instance = Instance(
        systems=(
            SystemCase("system-0", 2, 1, 2, 30, 0, "new"),
            SystemCase("system-1", 4, 1, 2, 64, 64, "new"),
            SystemCase("system-2", 4, 1, 2, 44, 44, "new"),
        ),
        models=(ModelCase("model-0", 9, 5_562, 6), ModelCase("model-1", 72, 12_166, 0)),
        classes=(
            ClassCase("class-0", "model-0", 383_545, 2, bf16, ("bf16", "fp8")),
            ClassCase("class-1", "model-0", 5_710, 1, bf16, fp8),
            ClassCase("class-2", "model-1", 4_811, 2, fp8, bf16),
            ClassCase("class-3", "model-0", 115_063, 1, bf16, bf16),
            ClassCase("class-4", "model-1", 10_996, 1, bf16, fp8),
            ClassCase("class-5", "model-0", 127_848, 1, bf16, fp8),
        ),
        sites=(SiteCase("north", slots=10, balance=5, liquid=150),),
        supply=(("system-0", 3), ("system-1", 2), ("system-2", 3)),
        split=True,
        basis="installed",
        objective=("power", "gpus", "weight_precision", "precision", "pods", "system_kinds"),
    )
    best = best_values(instance)
    assert best is not None
    assert best[0] == 88
    bounds_hold(instance, best, Effort())


def test_two_kinds_that_no_kind_alone_can_replace_are_searched_as_a_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    """fp8 runs on `small` and `spare` alone, and one sequence of `long` fits `large` alone.

    Searched as if it were a large program. Of the pairs that serve all, `large` with `small` takes less power.
    """
    monkeypatch.setattr(patterns, "MOST_LISTED", -1)
    monkeypatch.setattr(exact, "MOST_RELAXED", -1)
    monkeypatch.setattr(exact, "MOST_RELAXED_WHOLE", -1)
    model = ModelCase("model", 8, 1, 0)
    tokens = (1_800_000_000 - 2 * parameters(model)[0]) // (4 * LAYERS * HEAD_DIM)
    classes = (
        ClassCase("short", "model", tokens // 40, 7, ("bf16",), ("fp8",)),
        ClassCase("long", "model", tokens // 2, 3, ("bf16",), ("bf16",)),
    )
    systems = (
        SystemCase("large", 8, 1, 4, 150, 0, "old"),
        SystemCase("small", 1, 1, 2, 20, 0, "new"),
        SystemCase("spare", 1, 1, 2, 30, 0, "new"),
    )
    instance = Instance(systems, (model,), classes)
    best = best_values(instance)
    assert best is not None
    assert best[1] == 2
    bounds_hold(instance, best, Effort())
    request, _, found = solve(instance, Effort())
    assert isinstance(found, Found)
    assert [stage.bound for stage in found.stages][1] == 2
    assert {system for (_, system), count in found.choice.systems.items() if count} == {"large", "small"}
    assert request.policy.objective == instance.objective


def test_patterns_that_serve_everybody_are_found_behind_a_bound_that_no_longer_grows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Serving everybody, the bound is 0 from the second round on, while the patterns for it come in the third."""
    monkeypatch.setattr(patterns, "MOST_LISTED", -1)
    bf16, fp8, both = ("bf16",), ("fp8",), ("bf16", "fp8")
    instance = Instance(
        systems=(SystemCase("system-0", 1, 2, 2, 23, 0, "new"),),
        models=(ModelCase("model-0", 9, 5_827, 6), ModelCase("model-1", 72, 7_525, 0)),
        classes=(
            ClassCase("class-0", "model-1", 11_520, 1, fp8, bf16),
            ClassCase("class-1", "model-1", 11_703, 1, bf16, bf16),
            ClassCase("class-2", "model-1", 17_555, 1, both, both),
            ClassCase("class-3", "model-0", 54_016, 1, both, ("fp8", "bf16")),
            ClassCase("class-4", "model-1", 17_555, 2, bf16, bf16),
            ClassCase("class-5", "model-1", 2_700, 2, bf16, ("fp8", "bf16")),
            ClassCase("class-6", "model-1", 10_081, 1, fp8, bf16),
        ),
        sites=(SiteCase("north", slots=9, pod_power=113, pods=2),),
        reserve=(0, 1),
        spare=1,
        supply=(("system-0", 3),),
    )
    best = best_values(instance)
    assert best == (1, 1, 69, 6, 2)
    holds(instance, best)
