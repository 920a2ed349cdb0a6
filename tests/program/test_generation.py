"""Column generation over one stage: what it proves, and which patterns a better plan could use."""

from collections.abc import Callable

import pytest

from sizing.program.contents import PatternContents
from sizing.program.exact import formulate
from sizing.program.formulation import Formulation
from sizing.program.generation import Converged, Generation
from sizing.program.linear_program import LinearRelaxation
from sizing.program.objective import STAGES
from sizing.program.patterns import Columns, even_pattern
from sizing.program.solver import rounded_up
from tests.plan_builders import DENSE_70B, NODE, deployment, service_class
from tests.program.formulations import candidates_of, formulation_of

AT_BF16 = deployment(NODE, DENSE_70B, tp=8)
CLASSES = [
    service_class("long", context=131_072, concurrency=30),
    service_class("middle", context=50_000, concurrency=40),
    service_class("short", context=9_000, concurrency=200),
]
DEMANDS = {"long": 30, "middle": 40, "short": 200}
EVERYTHING = 10**6


def generation() -> Generation:
    """One even mixture to begin with, as in a large request."""
    (candidate,) = candidates_of(CLASSES, [AT_BF16])
    begun = Generation([candidate], DEMANDS)
    begun.columns = Columns({AT_BF16.id: [even_pattern(candidate, DEMANDS)]}, complete=False)
    return begun


def program(columns: Columns) -> Formulation:
    declared = formulation_of(CLASSES, [AT_BF16], contents=PatternContents(columns))
    return formulate(declared.sets, declared.contents)


def converged(of: Generation, is_out_of_time: Callable[[], bool] = lambda: False) -> Converged | None:
    return of.converge(LinearRelaxation(program(of.columns), STAGES["gpus"]), is_out_of_time)


def test_what_converges_bounds_as_the_linear_program_over_all_patterns_does() -> None:
    """It ends where the value in whole nodes is known."""
    few = generation()
    found = converged(few)
    assert found is not None
    listed = Generation(candidates_of(CLASSES, [AT_BF16]), DEMANDS)
    assert listed.list_all(EVERYTHING)
    everything = LinearRelaxation(program(listed.columns), STAGES["gpus"]).solve()
    assert everything is not None
    assert len(few.columns) < len(listed.columns)
    assert rounded_up(found.bound, found.step) == rounded_up(everything.objective, found.step)
    assert found.bound <= everything.objective + 1e-6


def test_without_time_nothing_is_told() -> None:
    assert converged(generation(), lambda: True) is None


def test_a_better_plan_is_at_least_one_step_better() -> None:
    found = converged(generation())
    assert found is not None
    assert found.step == NODE.gpus
    assert found.margin(5 * NODE.gpus) == pytest.approx(4 * NODE.gpus - found.bound)


def test_what_is_nearest_is_part_of_what_is_within() -> None:
    few = generation()
    found = converged(few)
    assert found is not None
    margin = found.margin(6 * NODE.gpus)
    within = few.within(margin, found, EVERYTHING)
    assert within is not None
    wanted = len(within) // 8
    nearest = few.nearest(margin, found, wanted)
    assert 0 < len(nearest) <= wanted
    assert set(nearest) <= set(within)
    assert few.within(margin, found, len(within) - 1) is None
    assert few.nearest(margin, found, 0) == []


def test_more_patterns_than_wanted_are_not_listed() -> None:
    few = generation()
    before = len(few.columns)
    assert not few.list_all(1)
    assert len(few.columns) == before
