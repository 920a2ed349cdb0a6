"""Models by themselves at the prices of what they share: a valid bound, and stronger than the linear program."""

from dataclasses import replace
from random import Random

import pytest

from sizing.program.deployments import enumerate_options
from sizing.program.exact import formulate
from sizing.program.linear_program import LinearRelaxation
from sizing.program.models_apart import ModelsApart, coarsest_step
from sizing.program.objective import STAGES
from sizing.program.pricing import knapsack_groups, most_worth
from sizing.program.promise import Promise
from sizing.program.sets import sets_of
from sizing.program.solver import Effort
from tests.plan_builders import DENSE_70B, NODE, deployment, request, service_class
from tests.program.formulations import SITE, candidates_of, formulation_of
from tests.program.instances import request_of
from tests.program.test_brute_force import answer, small_instance

OTHER_70B = replace(DENSE_70B, name="other-70b")
AT_BF16 = deployment(NODE, DENSE_70B, tp=8)
OTHER = deployment(NODE, OTHER_70B, tp=8)
CLASSES = [
    service_class("long", context=131_072, concurrency=30),
    service_class("other", OTHER_70B, context=131_072, concurrency=30),
]
FULL = [[(("long", 20),)], [(("other", 20),)]]


def apart_and_linear() -> tuple[ModelsApart, LinearRelaxation]:
    declared = formulation_of(CLASSES, [AT_BF16, OTHER], patterns=FULL)
    program = formulate(declared.sets, declared.contents)
    return ModelsApart(declared.sets, Effort()), LinearRelaxation(program, STAGES["gpus"])


def test_two_models_that_each_fill_a_node_and_a_half_take_two_nodes_each() -> None:
    """20 sequences a node, 30 of each model: 1.5 nodes in the linear program."""
    apart, relaxation = apart_and_linear()
    duals = relaxation.solve()
    assert duals is not None
    assert duals.objective == pytest.approx(8 * (1.5 + 1.5))
    candidates = candidates_of(CLASSES, [AT_BF16, OTHER])
    found = apart.solve(duals, most_worth(knapsack_groups(candidates, {"long": 30, "other": 30}), duals))
    assert found.bound == pytest.approx(8 * (2 + 2))
    assert found.running is not None
    assert [running.replicas for running in found.running] == [{AT_BF16.id: 2}, {OTHER.id: 2}]


def test_without_time_there_is_a_bound_and_no_plan() -> None:
    apart, relaxation = apart_and_linear()
    duals = relaxation.solve()
    assert duals is not None
    apart = ModelsApart(
        sets_of(request(CLASSES, [NODE], [SITE]), candidates_of(CLASSES, [AT_BF16, OTHER])), Effort(0.0)
    )
    found = apart.solve(duals, most_worth((), duals))
    assert found.running is None
    assert found.bound <= 8 * 4
    assert apart.stopped


def test_a_step_is_what_all_prices_are_multiples_of() -> None:
    assert coarsest_step([0.25, 0.5, 2.0]) == pytest.approx(0.25)
    assert coarsest_step([0.5, 0.75]) == pytest.approx(0.25)
    assert coarsest_step([3.0, 0.0, 1e-14]) == pytest.approx(3.0)
    assert coarsest_step([]) == 1
    assert coarsest_step([0.0]) == 1


@pytest.mark.parametrize("seed", range(20))
def test_no_price_loses_much_when_it_is_rounded_down(seed: int) -> None:
    random = Random(seed)
    prices = [random.lognormvariate(0, 2) for _ in range(10)]
    step = coarsest_step(prices)
    for price in prices:
        assert 0.998 * price <= price // step * step <= price


@pytest.mark.parametrize("seed", range(40))
def test_no_plan_has_fewer_pods_than_its_kinds_promise(seed: int) -> None:
    instance, best = small_instance(seed), answer(seed)
    asked = request_of(instance)
    if best is None or instance.mixed or "pods" not in instance.objective:
        return
    sets = sets_of(asked, enumerate_options(asked).candidates)
    promise = Promise(sets)
    assert promise.pods(sets.systems) <= best[instance.objective.index("pods")] + 1e-9
    assert all(promise.pods(sets.systems) <= promise.pods([kind]) for kind in sets.systems)
