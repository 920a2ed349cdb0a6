"""The elastic program: the least use of one limit, the cheapest excess over several, the least shortfall of demand.

They are stages like those of the objective, over a program in which something may give way (`slack.py`).
"""

from collections.abc import Sequence
from fractions import Fraction
from math import gcd, lcm

from sizing.facility.loads import known, site_loads
from sizing.plan.plan import StatedLimit
from sizing.program.contents import FractionalContents
from sizing.program.deployments import Candidate
from sizing.program.exact import formulate
from sizing.program.expressions import Expression
from sizing.program.formulation import Formulation, declare
from sizing.program.linear_program import LinearRelaxation
from sizing.program.objective import STAGES, Stage, Terms
from sizing.program.sets import sets_of
from sizing.program.slack import LimitKey, Slack
from sizing.request.request import Request

MOST_LIMIT_PARTS = 10_000
MOST_DEMAND_PARTS = 100_000
"""Parts of a limit and of a demand: where exact ones would be more, they are rounded up to these."""

NO_WORSE = 10**9
"""Every plan has fewer Pods than this."""

TOLERANCE = 1e-6

ANY_PLAN = Stage("any_plan", "Pods", STAGES["pods"].terms, floor=NO_WORSE)
"""Met by the first plan that is found: asked where only it matters whether there is one."""

EXCESS = Stage(
    "excess",
    "excess parts",
    lambda formulation: [(1, excess) for excess in formulation.model.excess.values()],
)
"""All limits together: by how many parts of their measures they are exceeded."""

SHORTFALL = Stage(
    "shortfall",
    "demand parts",
    lambda formulation: [(1, shortfall) for shortfall in formulation.model.shortfall.values()],
)


def use_of(request: Request, candidates: Sequence[Candidate], limit: StatedLimit) -> Stage:
    """The use of one limit, in the largest step of which every use of it is a whole number: nothing is rounded."""
    whole = declare(sets_of(request, candidates), FractionalContents())
    step = _step([use for use, _ in _uses(whole, limit.key)]) or limit.measure

    def terms(formulation: Formulation) -> Terms:
        return [(int(use / step), term) for use, term in _uses(formulation, limit.key) if use]

    return Stage("use", "steps", terms)


def lifted(limits: Sequence[StatedLimit]) -> Slack:
    """These limits may be exceeded, at no price."""
    return Slack({limit.key: limit.measure for limit in limits})


def priced(request: Request, candidates: Sequence[Candidate], limits: Sequence[StatedLimit]) -> Slack:
    """These limits may be exceeded, each in the same parts of its measure.

    The parts are the fewest of which every possible excess is a whole number, up to `MOST_LIMIT_PARTS`.
    """
    program = declare(sets_of(request, candidates), FractionalContents())
    steps = {
        limit.key: _step([*(use for use, _ in _uses(program, limit.key)), limit.value, _of_installed(request, limit)])
        or limit.measure
        for limit in limits
    }
    parts = min(MOST_LIMIT_PARTS, lcm(*((limit.measure / steps[limit.key]).numerator for limit in limits)))
    return Slack({limit.key: limit.measure / parts for limit in limits})


def short(demands: Sequence[int]) -> Slack:
    """Every class may be left short of the same share: exactly where the parts that this takes are not too many."""
    return Slack(demand_parts=min(MOST_DEMAND_PARTS, lcm(*demands)))


def fits_in_fractions(request: Request, candidates: Sequence[Candidate], slack: Slack, seconds: float) -> bool:
    """Whether fractions of Pods, systems, replicas and sequences would fit the limits that do not give way."""
    sets = sets_of(request, candidates, slack)
    duals = LinearRelaxation(formulate(sets, FractionalContents()), None, seconds).solve()
    return duals is not None and duals.objective <= TOLERANCE * max(1, sum(w.demand for w in sets.classes))


def _uses(formulation: Formulation, key: LimitKey) -> list[tuple[Fraction, Expression]]:
    """What each Pod and system takes of a limit, with the variable that counts them."""
    sets = formulation.sets
    name, site = key
    if site is None:
        return [(Fraction(1), bought) for bought in formulation.systems_of(name.removeprefix("supply:"))]
    load = next(load for load in site_loads(sets.sites[site], sets.request.policy.power_basis) if load.name == name)
    of_systems = [(known(load.of_system(system)), bought) for system, bought in formulation.systems_at(site)]
    of_pods = [(load.of_pod(fill), pods) for fill, pods in formulation.fills_at(site)]
    return [*of_systems, *of_pods]


def _of_installed(request: Request, limit: StatedLimit) -> Fraction:
    """What stands at the site of a limit already takes of it."""
    site = next((site for site in request.sites if site.name == limit.site), None)
    if site is None:
        return Fraction(0)
    load = next(load for load in site_loads(site, request.policy.power_basis) if load.name == limit.name)
    return load.of_installed(site, {system.name: system for system in request.candidates})


def _step(amounts: Sequence[Fraction]) -> Fraction:
    """The greatest common divisor: all amounts are whole numbers of it. 0 where there are none but 0."""
    denominator = lcm(*(amount.denominator for amount in amounts))
    return Fraction(gcd(*(int(amount * denominator) for amount in amounts)), denominator)
