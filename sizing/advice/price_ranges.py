"""Whether the choice stands wherever in their ranges the prices truly are.

The stage takes every price at its high end, which is fair between plans only as long as all are high. Two looks: what
the plan does not buy at its low end; and that with energy at its low end. A plan that is then better turns the choice.
"""

from collections.abc import Iterator
from dataclasses import replace

from sizing.advice.power_ranges import no_better_than
from sizing.facility.prices import Price, Prices
from sizing.plan.brief import brief_of_choice
from sizing.plan.checks.case import Case
from sizing.plan.checks.stages import measured
from sizing.plan.compose import filled_pods
from sizing.plan.cost import cost_lines, total_cost
from sizing.plan.inventory import bought_pods, bought_systems
from sizing.plan.plan import Plan, PricedPlan, PriceRanges, Status
from sizing.program.deployments import Candidate
from sizing.program.objective import stage_of
from sizing.program.search import Found
from sizing.program.solver import Effort
from sizing.program.within_limits import search_within_limits
from sizing.request.objective import COST, parse_aim
from sizing.request.request import Request


def price_ranges(plan: Plan, candidates: tuple[Candidate, ...], effort: Effort) -> tuple[PriceRanges | None, bool]:
    """The plans that the ranges leave open, and whether the clock stopped the search for them; None: nothing to ask."""
    counting = [number for number, stage in enumerate(plan.stages) if COST in parse_aim(stage.stage).names]
    low, high = plan.totals.cost_low_usd, plan.totals.cost_usd
    corners = list(_corners(plan)) if counting else []
    if not corners or low is None or high is None:
        return None, False
    if plan.status is not Status.OPTIMAL:
        return PriceRanges(None, (low, high)), False  # a further search would settle nothing
    others: list[PricedPlan] = []
    settled, stopped = True, False
    for corner in corners:
        other, is_settled, was_stopped = _other(plan, counting[0], corner, candidates, effort)
        settled, stopped = settled and is_settled, stopped or was_stopped
        if other is not None and other not in others:
            others.append(other)
    return PriceRanges(False if others else True if settled else None, (low, high), tuple(others)), stopped


def _corners(plan: Plan) -> Iterator[Request]:
    """The request with every price at one end: what the plan buys dear, all else cheap; energy dear, then cheap."""
    request = plan.request
    prices = request.policy.prices
    own = {name for _, name in bought_systems(request, plan.pods)}
    own_pods = {site.pod.name for site in request.sites if bought_pods(request, plan.pods)[site.name]}
    systems = {system.name: price for system in request.candidates if (price := prices.of_system(system))}
    pods = {site.pod.name: price for site in request.sites if (price := prices.of_pod(site.pod))}
    open_ones = [price for name, price in (*systems.items(), *pods.items()) if name not in own | own_pods]
    tariffs = []
    if prices.energy is not None:
        tariff = prices.energy.tariff_usd_per_kwh
        tariffs = [tariff.high, tariff.low] if tariff.is_range else [tariff.high]
    for number, usd_per_kwh in enumerate(tariffs or [None]):
        if number == 0 and not any(price.is_range for price in open_ones):
            continue
        energy = prices.energy
        if energy is not None and usd_per_kwh is not None:
            energy = replace(energy, tariff_usd_per_kwh=Price(usd_per_kwh, usd_per_kwh))
        pinned = Prices(
            systems={name: _end(price, name in own) for name, price in systems.items()},
            pods={name: _end(price, name in own_pods) for name, price in pods.items()},
            energy=energy,
        )
        yield replace(request, policy=replace(request.policy, prices=pinned))


def _end(price: Price, is_high: bool) -> Price:
    end = price.high if is_high else price.low
    return Price(end, end)


def _other(
    plan: Plan, number: int, corner: Request, candidates: tuple[Candidate, ...], effort: Effort
) -> tuple[PricedPlan | None, bool, bool]:
    """(the plan that is better at a corner, and as good in the stages before; whether that is settled; stopped)."""
    before, counting = plan.stages[:number], plan.stages[number].stage
    own, _ = measured(counting, Case(replace(plan, request=corner)))
    stages = [*(no_better_than(corner, result) for result in before), stage_of(corner, counting)]
    found = search_within_limits(corner, candidates, effort, stages=stages)
    if not isinstance(found, Found):
        return None, False, found.stopped
    if any(theirs.value > ours.value for theirs, ours in zip(found.stages, before, strict=False)):
        return None, False, found.stopped
    last = found.stages[-1]
    if last.value >= own:
        return None, last.bound is not None and last.bound >= own, found.stopped
    pods = filled_pods(plan.request, found.choice)
    cost = total_cost(plan.request, cost_lines(plan.request, pods))
    assert cost is not None  # what has no price is not bought where cost is a stage
    return PricedPlan(brief_of_choice(plan.request, found.choice), (cost.low, cost.high)), True, found.stopped
