"""What would give a plan where there is none, and how much of the demand fits, in sentences."""

from fractions import Fraction
from itertools import groupby

from sizing.plan.plan import NoPlan, Partial, Relaxation
from sizing.plan.words import KV_PRECISION, change_in_words
from sizing.pool.precision import FULL_BITS
from sizing.report.answer import in_brief
from sizing.report.text import amount
from sizing.request.request import Request
from sizing.units.amounts import percent, thousands

MOST_CLASSES = 12
"""Classes whose share is told one by one."""


def way_sentences(no_plan: NoPlan) -> list[str]:
    """A sentence for every option: `site power 3 MW -> 5 MW (+67 %)`, `or allow fp8 for `documents``."""
    options = groupby(no_plan.relaxations, key=lambda change: change.option)
    ways = [_way(no_plan.request, list(changes)) for _, changes in options]
    return [way if number == 0 else f"or {way}" for number, way in enumerate(ways)]


def _way(request: Request, changes: list[Relaxation]) -> str:
    parts = [change_in_words(request, change) + _more(change) for change in changes]
    full = {kv.name for kv in request.kv_precisions if kv.bits.value >= FULL_BITS}
    allowed = {str(change.needed) for change in changes if change.limit.startswith(KV_PRECISION)}
    precisions = sorted(allowed - full)
    where = ", ".join(f"`sizing catalog precisions {name}`" for name in precisions)
    evidence = f" (what is known of its quality: {where})" if precisions else ""
    return " and ".join(parts) + (", together" if len(parts) > 1 else "") + evidence


def _more(change: Relaxation) -> str:
    """What a limit grows by, in percent of what it is."""
    if isinstance(change.now, str) or isinstance(change.needed, str) or not 0 < change.now < change.needed:
        return ""
    return f" (+{percent((change.needed - change.now) / change.now, 1)})"


def partial_sentences(partial: Partial | None) -> list[str]:
    """The share that every class can have, what that is for each, and what serves it."""
    if partial is None:
        return []
    if not partial.share:
        return ["nothing: not even one sequence of every class" if partial.at_most == 0 else "nothing that is known"]
    share = _percent_down(partial.share)
    nothing = [name for name, _, served in partial.served if not served]
    told = f"{share} of every class" + (f" but those that fit no system ({thousands(len(nothing))})" if nothing else "")
    told = told if partial.share == partial.at_most else f"at least {told}"
    shown = partial.served[:MOST_CLASSES]
    classes = [f"{name}: {thousands(served)} of {thousands(demand)}" for name, demand, served in shown]
    more = len(partial.served) - len(shown)
    rest = f", and {thousands(more)} more classes" if more else ""
    return [told, ", ".join(classes) + rest, f"on {in_brief(partial.bought)}"]


def _percent_down(share: Fraction) -> str:
    """In percent, rounded down to tenths: never more than what fits."""
    return f"{amount(Fraction(int(share * 1000), 10))} %"
