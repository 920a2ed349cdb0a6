"""A plan at the edge of what fits: found from outside the limits where the search from inside finds none."""

import sizing
from sizing.plan.plan import NoPlan, Plan, Status
from sizing.program.deployments import enumerate_options
from sizing.program.exact import NotFound
from sizing.program.merging import search_merged
from sizing.program.search import Found
from sizing.program.solver import Effort
from sizing.program.within_limits import search_within_limits

EDGE = {
    "name": "Edge",
    "classes": [
        {"name": "short", "model": "deepseek-v3", "context": 12345, "concurrency": 3400, "kv_precision": ["fp8"]},
        {
            "name": "long",
            "model": "deepseek-v3",
            "context": 100000,
            "concurrency": 1589,
            "kv_precision": ["bf16", "fp8"],
        },
        {
            "name": "middle",
            "model": "deepseek-v3",
            "context": 65536,
            "concurrency": 5737,
            "kv_precision": ["bf16", "fp8"],
        },
    ],
    "policy": {"systems": ["hgx-b300-8-liquid"], "supply": {"hgx-b300-8-liquid": 16}},
}


def test_a_plan_that_just_fits_is_found_and_proven() -> None:
    """16 systems hold the load and no more are to be had."""
    request = sizing.load_workload(EDGE)
    plan = sizing.solve(request)
    assert isinstance(plan, Plan)
    assert plan.status is Status.OPTIMAL
    assert dict(plan.systems) == {"hgx-b300-8-liquid": 16}


def test_a_search_from_inside_alone_does_not_find_it() -> None:
    """Else the case shows nothing, and another is to be looked for."""
    request = sizing.load_workload(EDGE)
    candidates = enumerate_options(request).candidates
    assert search_merged(request, candidates, Effort()) == NotFound(proven=False, stopped=False)
    found = search_within_limits(request, candidates, Effort())
    assert isinstance(found, Found)
    assert [stage.stage for stage in found.stages] == list(request.policy.objective)


def test_one_system_less_is_no_plan() -> None:
    fewer = {**EDGE, "policy": {"systems": ["hgx-b300-8-liquid"], "supply": {"hgx-b300-8-liquid": 15}}}
    answer = sizing.solve(sizing.load_workload(fewer))
    assert isinstance(answer, NoPlan)
    assert answer.status is Status.INFEASIBLE


def test_a_plan_that_a_later_stage_brings_inside_the_limits_counts() -> None:
    """The excess found is one system, which least power then does without."""
    policy = {"systems": ["hgx-b300-8-liquid"], "spare_systems": 1, "supply": {"hgx-b300-8-liquid": 17}}
    plan = sizing.solve(sizing.load_workload({**EDGE, "policy": policy}))
    assert isinstance(plan, Plan)
    assert plan.status is Status.OPTIMAL
    assert dict(plan.systems) == {"hgx-b300-8-liquid": 17}
