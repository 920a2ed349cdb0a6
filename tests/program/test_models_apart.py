"""Models by themselves at the prices of what they share: a valid bound, and stronger than the linear program."""

from dataclasses import replace
from random import Random

import pytest

from sizing.facility.deployment import Deployment
from sizing.program.contents import RunningContents
from sizing.program.deployments import enumerate_options
from sizing.program.exact import formulate
from sizing.program.formulation import Formulation
from sizing.program.linear_program import LinearRelaxation
from sizing.program.models_apart import ModelsApart, coarsest_step
from sizing.program.objective import STAGES
from sizing.program.pricing import knapsack_groups, most_worth
from sizing.program.promise import Promise
from sizing.program.sets import sets_of
from sizing.program.solver import Effort, Minimiser
from sizing.program.spreading import Running
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
    assert found.is_whole
    assert [running.replicas for running in found.runnings] == [{AT_BF16.id: 2}, {OTHER.id: 2}]


def chosen_from(*runnings: Running) -> Formulation:
    declared = formulation_of(CLASSES, [AT_BF16, OTHER], contents=RunningContents(runnings))
    return formulate(declared.sets, declared.contents)


def running(name: str, nodes: int, deployed: Deployment) -> Running:
    served = 20 * nodes if nodes < 2 else 30
    pools = {(deployed.id, ((name, 20),)): nodes}
    return Running(deployed.model.name, {deployed.id: nodes}, pools, {(name, deployed.precisions): served})


def test_one_way_to_run_each_model_is_chosen() -> None:
    """Three nodes for `long` are one too many."""
    program = chosen_from(running("long", 3, AT_BF16), running("other", 2, OTHER), running("long", 2, AT_BF16))
    minimiser = Minimiser(program, Effort())
    assert minimiser.minimise(STAGES["gpus"]).value == 8 * 4
    choice = program.choice()
    assert choice.replicas == {AT_BF16.id: 2, OTHER.id: 2}
    assert choice.pools == {(AT_BF16.id, FULL[0][0]): 2, (OTHER.id, FULL[1][0]): 2}
    assert choice.served == {("long", AT_BF16.precisions): 30, ("other", OTHER.precisions): 30}


def test_ways_to_run_that_serve_too_few_are_no_plan() -> None:
    program = chosen_from(running("long", 1, AT_BF16), running("other", 2, OTHER))
    assert Minimiser(program, Effort()).minimise(STAGES["gpus"]).infeasible


def test_duals_of_the_choice_are_prices_of_replicas() -> None:
    """What models share is a node: 8 GPUs a replica. The rest of the objective is what the rows of each model carry."""
    duals = LinearRelaxation(
        chosen_from(running("long", 2, AT_BF16), running("other", 2, OTHER)), STAGES["gpus"]
    ).solve()
    assert duals is not None
    assert duals.replicas == {AT_BF16.id: pytest.approx(8), OTHER.id: pytest.approx(8)}
    assert duals.objective == pytest.approx(sum(duals.demand_worth.values())) == pytest.approx(8 * 4)


def test_without_time_there_is_a_bound_and_no_plan() -> None:
    apart, relaxation = apart_and_linear()
    duals = relaxation.solve()
    assert duals is not None
    apart = ModelsApart(
        sets_of(request(CLASSES, [NODE], [SITE]), candidates_of(CLASSES, [AT_BF16, OTHER])), Effort(0.0)
    )
    found = apart.solve(duals, most_worth((), duals))
    assert not found.is_whole
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
