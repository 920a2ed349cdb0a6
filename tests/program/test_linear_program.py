"""The linear relaxation: its duals, the columns that join it, and its silence."""

import pytest

from sizing.program.exact import formulate
from sizing.program.formulation import Formulation
from sizing.program.linear_program import LinearRelaxation
from sizing.program.objective import STAGES
from tests.plan_builders import DENSE_70B, NODE, deployment, service_class
from tests.program.formulations import formulation_of
from tests.program.processes import in_a_process

AT_BF16 = deployment(NODE, DENSE_70B, tp=8)
CLASSES = [service_class("chat", concurrency=22), service_class("long", context=131_072, concurrency=20)]
ALONE = (("long", 20),)
TOGETHER = (("chat", 11), ("long", 20))


def program(*patterns: tuple[tuple[str, int], ...]) -> Formulation:
    declared = formulation_of(CLASSES, [AT_BF16], patterns=[patterns])
    return formulate(declared.sets, declared.contents)


def test_duals_tell_what_a_sequence_is_worth_and_what_a_pool_costs() -> None:
    """11 chats a node, 22 wanted: two nodes, of which one would hold the long ones too. A pool costs 8 GPUs."""
    relaxation = LinearRelaxation(program(TOGETHER), STAGES["gpus"])
    duals = relaxation.solve()
    assert duals is not None
    assert duals.objective == pytest.approx(16)
    assert duals.prices == {AT_BF16.id: pytest.approx(8)}
    chat, long = (duals.values[name, AT_BF16.precisions] for name in ("chat", "long"))
    assert 11 * chat + 20 * long == pytest.approx(8)
    assert long == pytest.approx(0)  # there is room for twenty more
    assert duals.demand_worth == {DENSE_70B.name: pytest.approx(16)}
    assert duals.replicas == {AT_BF16.id: pytest.approx(8)}
    assert duals.served == {("chat", AT_BF16.precisions): 0, ("long", AT_BF16.precisions): 0}
    assert relaxation.used() == [(AT_BF16.id, TOGETHER)]


def test_a_pattern_that_joins_is_used_where_it_is_worth_it() -> None:
    relaxation = LinearRelaxation(program(TOGETHER), STAGES["gpus"])
    relaxation.solve()
    relaxation.add(AT_BF16.id, (("chat", 651),))
    duals = relaxation.solve()
    assert duals is not None
    assert duals.objective == pytest.approx(8 * (1 + 11 / 651))
    assert set(relaxation.used()) == {(AT_BF16.id, TOGETHER), (AT_BF16.id, (("chat", 651),))}


def test_without_patterns_there_is_no_solution_but_a_measure_of_what_is_unserved() -> None:
    assert LinearRelaxation(program(ALONE), STAGES["gpus"]).solve() is None
    duals = LinearRelaxation(program(ALONE), None).solve()
    assert duals is not None
    assert duals.objective == pytest.approx(22)
    assert duals.values["chat", AT_BF16.precisions] == pytest.approx(1)


def test_the_first_solver_of_a_process_says_nothing() -> None:
    """HiGHS 1.16.0 greets on standard output, where a plan as JSON belongs."""
    code = "from tests.program.test_linear_program import *; LinearRelaxation(program(TOGETHER), None).solve()"
    assert in_a_process(code) == (0, b"", b"")
