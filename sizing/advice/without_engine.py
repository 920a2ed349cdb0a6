"""What the arithmetic itself would plan in place of the engine profile that a policy names: the two answers beside."""

from dataclasses import replace

from sizing.plan.brief import brief_of_choice
from sizing.plan.plan import Plan, WithoutEngine
from sizing.pool.engines.ideal import IDEAL
from sizing.program.deployments import enumerate_options
from sizing.program.search import Found
from sizing.program.solver import Effort
from sizing.program.within_limits import search_within_limits


def without_engine(plan: Plan, effort: Effort) -> tuple[WithoutEngine | None, bool]:
    """The plan under `ideal` with its reserve, and whether the clock stopped the search for it. None where the policy
    names no profile."""
    request = plan.request
    if request.policy.profile is None:
        return None, False
    asked = replace(request, policy=replace(request.policy, engine=IDEAL, profile=None))
    found = search_within_limits(asked, enumerate_options(asked).candidates, effort)
    if not isinstance(found, Found):
        return WithoutEngine(None, found.proven), found.stopped
    proven = all(stage.value == stage.bound for stage in found.stages)
    return WithoutEngine(brief_of_choice(asked, found.choice), proven), found.stopped
