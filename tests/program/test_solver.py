"""What the solver hands back is not taken on trust: starts that come back, worse plans, infeasible ones, the clock."""

import time
from collections.abc import Callable, Sequence
from math import inf
from typing import Any

import pytest

from sizing.program import solver
from sizing.program.contents import PatternContents
from sizing.program.deployments import enumerate_options
from sizing.program.exact import formulate
from sizing.program.formulation import Formulation
from sizing.program.highs_program import Limits, Solved
from sizing.program.objective import STAGES
from sizing.program.search import Found, search
from sizing.program.solver import Effort, Minimiser
from tests.plan_builders import DENSE_70B, NODE, deployment, request, service_class
from tests.program.formulations import formulation_of

LONG = service_class("long", context=131_072, concurrency=61)
AT_BF16 = deployment(NODE, DENSE_70B, tp=8)
PODS, POWER, GPUS = (STAGES[name] for name in ("pods", "power", "gpus"))


def program() -> Formulation:
    """61 sequences of which 20 fill a node: four nodes in one Pod."""
    declared = formulation_of([LONG], [AT_BF16], patterns=[[(("long", 20),)]])
    contents = declared.contents
    assert isinstance(contents, PatternContents)
    return formulate(declared.sets, PatternContents(contents.columns))


class Scripted:
    """A program that answers as it is told: one answer a run, with so many nodes, each in a Pod of its own."""

    def __init__(self, *answers: Solved) -> None:
        self.answers = list(answers)
        self.with_start: list[bool] = []
        self.limits: list[Limits] = []
        self.variables: list[Any] = []

    def __call__(self, model: Any, threads: int | None) -> "Scripted":
        kind = model.kind_is_used["node-8"]
        self.variables = [model.systems["site", "node-8"], model.pods["site", 0], kind]
        return self

    def holds_all(self) -> bool:
        return True

    def costs(self, _terms: Any) -> None:
        """Answers hang on none."""

    def cancel(self) -> None:
        """No run takes any time."""

    def minimise(self, _costs: None, limits: Limits, start: Sequence[float] | None) -> Solved:
        self.with_start.append(start is not None)
        self.limits.append(limits)
        return self.answers.pop(0)


def reports(
    value: float | None,
    nodes: int,
    bound: float | None = 0,
    infeasible: bool = False,
    out_of_time: bool = False,
    kind_is_used: int = 1,
) -> Solved:
    """A value reported for the stage `pods`, and a solution of so many nodes."""
    values = None if value is None else [nodes, nodes, kind_is_used]
    return Solved(value, values, bound, infeasible, out_of_time)


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Scripted]:
    def script(*answers: Solved) -> Scripted:
        fake = Scripted(*answers)
        monkeypatch.setattr(solver, "HighsProgram", fake)
        return fake

    return script


def test_stages_are_minimised_in_order_and_held() -> None:
    minimiser = Minimiser(program(), Effort())
    assert not minimiser.has_solution
    for stage, value in ((PODS, 1), (POWER, 408), (GPUS, 32)):
        minimised = minimiser.minimise(stage)
        assert (minimised.value, minimised.bound) == (value, value)
        assert not minimised.infeasible
        assert not minimised.stopped
        assert minimiser.has_solution
        assert minimiser.value(stage) == value
        minimiser.hold(stage, value)
    assert [minimiser.value(stage) for stage in (PODS, POWER, GPUS)] == [1, 408, 32]


def test_what_is_held_cannot_be_undone() -> None:
    minimiser = Minimiser(program(), Effort())
    minimiser.minimise(PODS)
    minimiser.hold(POWER, 407)
    minimiser.has_solution = False
    minimised = minimiser.minimise(GPUS)
    assert minimised.infeasible
    assert minimised.value is None


def test_a_start_that_comes_back_as_the_answer_is_caught(scripted: Callable[..., Scripted]) -> None:
    """HiGHS 1.16.0 can report the optimal value and hand back the start: solved again without one."""
    fake = scripted(reports(9, 9), reports(4, 9, bound=4), reports(4, 4, bound=4))
    minimiser = Minimiser(program(), Effort())
    minimiser.minimise(PODS)
    assert minimiser.minimise(PODS).value == 4
    assert minimiser.value(PODS) == 4
    assert fake.with_start == [False, True, False]


def test_a_start_that_comes_back_twice_is_not_taken_for_better(scripted: Callable[..., Scripted]) -> None:
    """The value told is that of the solution at hand, whatever is reported for it."""
    scripted(reports(9, 9), reports(4, 9, bound=4), reports(4, 9, bound=4))
    minimiser = Minimiser(program(), Effort())
    minimiser.minimise(PODS)
    minimised = minimiser.minimise(PODS)
    assert minimised.value == 9
    assert minimiser.value(PODS) == 9


def test_a_worse_plan_never_replaces_a_better_one(scripted: Callable[..., Scripted]) -> None:
    scripted(reports(4, 4), reports(7, 7, bound=2, out_of_time=True))
    minimiser = Minimiser(program(), Effort())
    minimiser.minimise(PODS)
    minimised = minimiser.minimise(PODS)
    assert minimised.stopped
    assert (minimised.value, minimised.bound) == (7, 2)
    assert minimiser.has_solution
    assert minimiser.value(PODS) == 4


def test_no_solution_leaves_the_plan_alone(scripted: Callable[..., Scripted]) -> None:
    scripted(reports(4, 4), reports(None, 0, bound=inf, infeasible=True))
    minimiser = Minimiser(program(), Effort())
    minimiser.minimise(PODS)
    minimised = minimiser.minimise(PODS)
    assert minimised.infeasible
    assert minimised.value is None
    assert minimised.bound == 0
    assert minimiser.value(PODS) == 4


@pytest.mark.parametrize(("told", "bound"), [(3.0000001, 3), (2.9999999, 3), (3.1, 4), (-inf, 0), (None, 0)])
def test_bounds_are_rounded_up_beyond_the_tolerance(
    told: float | None, bound: int, scripted: Callable[..., Scripted]
) -> None:
    scripted(reports(4, 4, bound=told))
    assert Minimiser(program(), Effort()).minimise(PODS).bound == bound


def test_a_kind_is_used_only_where_it_is_bought(scripted: Callable[..., Scripted]) -> None:
    """Without a stage that counts kinds, the solver may leave the binary as it likes."""
    scripted(reports(0, 0, kind_is_used=1))
    minimiser = Minimiser(program(), Effort())
    minimiser.minimise(PODS)
    assert minimiser.formulation.model.kind_is_used["node-8"].value == 0


def test_a_solver_out_of_time_says_so(scripted: Callable[..., Scripted]) -> None:
    fake = scripted(reports(None, 0, bound=-inf, out_of_time=True))
    minimised = Minimiser(program(), Effort(deadline=time.monotonic() - 1)).minimise(PODS)
    assert [limits.seconds for limits in fake.limits] == [0]
    assert minimised.stopped
    assert not minimised.infeasible
    assert minimised.value is None


def test_a_start_is_taken_over_by_meaning() -> None:
    """From a program with other patterns in another order: what both know keeps its value, the rest is none."""
    first = Minimiser(program(), Effort())
    first.minimise(GPUS)
    other = formulation_of([LONG], [AT_BF16], patterns=[[(("long", 19),), (("long", 20),)]])
    other.start_from(first.formulation)
    pools = other.contents.pool_variables(other.model)
    assert [pools[AT_BF16.id, (("long", count),)].value for count in (19, 20)] == [0, 4]
    assert other.model.systems["site", "node-8"].value == 4
    assert other.patterns_used() == [(AT_BF16.id, (("long", 20),))]
    assert other.choice().replicas == {AT_BF16.id: 4}


def test_threads_may_differ_from_search_to_search_in_one_process() -> None:
    """HiGHS has one pool of threads a process, and answers with an error where another number is asked for."""
    asked = request([service_class("long", context=131_072, concurrency=61)], [NODE])
    candidates = enumerate_options(asked).candidates
    values = []
    for threads in (None, 1, 2, 1, None, 2):
        found = search(asked, candidates, Effort(threads=threads))
        assert isinstance(found, Found), threads
        values.append([stage.value for stage in found.stages])
    assert values == [[1, 1, 408, 32, 0]] * 6
