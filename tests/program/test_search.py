"""Kinds of system by themselves: what one of them leaves open is open in the answer."""

import pytest

from sizing.program.exact import ExactSearch, NotFound
from sizing.program.objective import Stage
from sizing.program.search import Found, search
from sizing.program.solver import Effort
from tests.plan_builders import DENSE_70B, NODE, deployment, request, service_class, system
from tests.program.formulations import SITE, candidates_of

LONG = service_class("long", context=131_072, concurrency=61)
THRIFTY = system("thrifty-8", kw="9.0")


def found() -> Found:
    asked = request([LONG], [NODE, THRIFTY], [SITE])
    candidates = candidates_of([LONG], [deployment(NODE, DENSE_70B, tp=8), deployment(THRIFTY, DENSE_70B, tp=8)])
    answer = search(asked, tuple(candidates), Effort())
    assert isinstance(answer, Found)
    return answer


def test_the_kind_that_takes_less_power_is_chosen() -> None:
    power = next(stage for stage in found().stages if stage.stage == "power")
    assert (power.value, power.bound) == (4 * 90, 4 * 90)


def test_a_kind_whose_search_ends_without_proof_keeps_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is known of `thrifty-8` but that four of them might do: four nodes are no proven answer."""
    minimise = ExactSearch.minimise

    def gives_up(
        self: ExactSearch, stage: Stage, cutoff: float = float("inf"), roughly: bool = False
    ) -> int | NotFound:
        if list(self.sets.systems) == [THRIFTY.name]:
            return NotFound(proven=False, stopped=False)
        return minimise(self, stage, cutoff, roughly)

    monkeypatch.setattr(ExactSearch, "minimise", gives_up)
    power = next(stage for stage in found().stages if stage.stage == "power")
    assert power.value == 4 * 102
    assert power.bound is not None
    assert power.bound <= 4 * 90
