"""What the plan hangs on, in sentences: the other basis of HBM, and nameplates that are published as ranges."""

from collections.abc import Iterator
from fractions import Fraction

from sizing.plan.plan import OtherHbm, Plan, PowerRanges
from sizing.report.answer import in_brief
from sizing.units.amounts import kw


def sensitivity_sentences(plan: Plan) -> list[str]:
    """Whether kW ranges leave the choice of systems open (decision 8), and what the other basis of HBM would change."""
    if plan.sensitivity is None:
        return []
    return [*_power(plan.sensitivity.power), _hbm(plan, plan.sensitivity.hbm)]


def _power(power: PowerRanges) -> Iterator[str]:
    if power.decided is None:
        yield "whether the ranges of kW figures leave the choice of systems open was not settled by a second look"
    for other in power.others:
        yield (
            f"the choice of systems is not decided, it rests on kW figures whose ranges overlap: this plan lies within "
            f"{_range(power.nameplate_range_kw)}, and another within {_range(other.nameplate_range_kw)} "
            f"({in_brief(other)})"
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
