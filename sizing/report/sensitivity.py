"""What the plan hangs on, in sentences: the other basis of HBM, and nameplates and prices that are ranges."""

from collections.abc import Iterator
from fractions import Fraction

from sizing.facility.prices import Price
from sizing.plan.plan import OtherHbm, Plan, PowerRanges, PriceRanges, WithoutEngine
from sizing.report.answer import headline, in_brief
from sizing.report.cost import usd
from sizing.report.text import share
from sizing.units.amounts import kw


def sensitivity_sentences(plan: Plan) -> list[str]:
    """Whether ranges of kW (decision 8) or prices leave the choice open; what the other basis of HBM would change."""
    if plan.sensitivity is None:
        return []
    return [
        *_power(plan.sensitivity.power),
        *_prices(plan.sensitivity.prices),
        _hbm(plan, plan.sensitivity.hbm),
        *_ideal(plan, plan.sensitivity.ideal),
        *_weak_figures(plan),
    ]


def _weak_figures(plan: Plan) -> Iterator[str]:
    """Figures of low confidence on which systems were chosen or passed over; nameplates have ranges, which are asked.

    The heat split of what is in the plan is told with its range (`unsettled.py`).
    """
    in_plan = {name for name, _ in plan.systems}
    heat_is_limited = any(
        limit is not None
        for site in plan.request.sites
        for limit in (site.liquid_kw, site.air_kw, site.liquid_kw_per_pod, site.air_kw_per_pod)
    )
    passed_over = []
    for system in plan.request.candidates:
        gpu = system.gpu
        hbm = gpu.hbm_label_gb if plan.request.policy.hbm == "label" else gpu.hbm_driver_bytes
        weak_hbm = hbm is not None and hbm.confidence == "low"
        weak_heat = heat_is_limited and system.liquid_kw is not None and system.liquid_kw.confidence == "low"
        if system.name in in_plan and weak_hbm:
            yield f"{system.name}: the HBM of its GPU {gpu.name} is of low confidence; what it holds rests on it"
        elif system.name not in in_plan and (weak_hbm or weak_heat):
            figures = [name for name, is_weak in (("HBM", weak_hbm), ("heat split", weak_heat)) if is_weak]
            passed_over.append(f"{system.name} ({' and '.join(figures)})")
    if passed_over:
        named = ", ".join(passed_over)
        yield f"not chosen, on figures of low confidence: {named}; better figures may change the choice"


def _ideal(plan: Plan, ideal: WithoutEngine | None) -> Iterator[str]:
    """The answer under the engine profile and under the arithmetic itself, side by side."""
    if ideal is None:
        return
    policy = plan.request.policy
    beside = "no plan within the limits" if ideal.plan is None else in_brief(ideal.plan)
    settled = "" if ideal.proven else ", as far as a second look went"
    yield (
        f"as {policy.engine} stores and starts it: {headline(plan)}; by the arithmetic itself with a reserve of "
        f"{share(policy.reserve)} (ideal): {beside}{settled}"
    )


def _power(power: PowerRanges) -> Iterator[str]:
    if power.decided is None:
        yield "whether the ranges of kW figures leave the choice of systems open was not settled by a second look"
    for other in power.others:
        yield (
            f"the choice of systems is not decided, it rests on kW figures whose ranges overlap: this plan lies within "
            f"{_range(power.nameplate_range_kw)}, and another within {_range(other.nameplate_range_kw)} "
            f"({in_brief(other)})"
        )


def _prices(prices: PriceRanges | None) -> Iterator[str]:
    if prices is None:
        return
    if prices.decided is None:
        yield "whether the ranges of prices leave the choice open was not settled by a second look"
    for other in prices.others:
        yield (
            f"the choice turns inside the ranges of prices: this plan costs {usd(Price(*prices.cost_range_usd))}, and "
            f"another {usd(Price(*other.cost_range_usd))} ({in_brief(other.plan)})"
        )


def _hbm(plan: Plan, hbm: OtherHbm) -> str:
    bases = f"HBM by {hbm.basis} in place of {plan.request.policy.hbm}"
    if len(hbm.without_figure) == len(plan.request.candidates):
        return f"what {bases} would change is unknown: no candidate has that figure"
    if hbm.changes is None:
        return f"whether {bases} would change the answer was not settled by a second look{_left_out(hbm)}"
    if not hbm.changes:
        said = "changes neither the kinds of system nor the number of Pods"
    elif hbm.plan is None:
        said = "leaves no plan within the limits"
    else:
        said = f"changes the answer to {in_brief(hbm.plan)}"
    return f"{bases} {said}{'' if hbm.proven else ', as far as a second look went'}{_left_out(hbm)}"


def _left_out(hbm: OtherHbm) -> str:
    return f"; without that figure and left out: {', '.join(hbm.without_figure)}" if hbm.without_figure else ""


def _range(ends: tuple[Fraction, Fraction]) -> str:
    low, high = map(kw, ends)
    return low if low == high else f"{low} to {high}"
