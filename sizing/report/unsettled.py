"""What of power and heat a plan leaves unsettled: parts of unknown power, heat splits and ratings that are weak."""

from collections.abc import Iterator
from fractions import Fraction

from sizing.facility.bill_rules import RuleLine
from sizing.facility.pod import PodType
from sizing.facility.system import System
from sizing.plan.plan import Limit, Plan
from sizing.report.text import plural
from sizing.units.amounts import kw, plain

LITTLE_ROOM = Fraction(5, 100)
"""Share of a limit below which what is left may not be enough for the parts whose power is unknown."""


def unknown_parts(plan: Plan, limit: Limit) -> tuple[str, ...]:
    """Parts of the balance of plant that ought to count against a limit of a site, and whose power is unknown.

    Provisioned, a Pod counts against power with its full input, whatever stands in it (decision 5).
    """
    sites = {site.name: site for site in plan.request.sites}
    rules = sites[limit.site].pod.bill_rules if limit.site in sites else None
    if rules is None:
        return ()
    kinds = {system.name: system for system in plan.request.candidates}
    populations = [
        [(kinds[name], count) for name, count in filled.fill.systems]
        for filled in plan.pods
        if filled.site == limit.site
    ]
    unknown = {
        line.part or line.description
        for line in rules.lines
        if not (limit.name == "power" and plan.request.policy.power_basis != "installed")
        and not_counted_against(line, limit.name)
        and any(line.rule.quantity(population) for population in populations)
    }
    return tuple(sorted(unknown))


def not_counted_against(line: RuleLine, limit: str) -> bool:
    """Whether a part ought to count against a limit of installed power or heat, and its power is unknown."""
    counts = {"liquid_heat": line.liquid_share > 0, "air_heat": line.liquid_share < 1, "power": True}
    return line.power_is_unknown and counts.get(limit, False)


def not_counted(plan: Plan, limit: Limit) -> str:
    """`without 4 parts of unknown power`, beside a limit whose use lacks them; empty where it lacks none."""
    parts = unknown_parts(plan, limit)
    return f"without {plural(len(parts), 'part')} of unknown power" if parts else ""


def tight_limit_sentences(plan: Plan) -> Iterator[str]:
    """Limits that bind, or have little room, while parts of unknown power are not counted (decisions 6 and 7)."""
    for limit, left, parts in _tight(plan):
        yield (
            f"{limit.name} at {limit.site}: {left} are left, which is not settled until the power of these parts "
            f"is known: {'; '.join(parts)}"
        )


def not_settled(plan: Plan) -> str:
    """The same in brief, for beside the standing of the answer; empty where every limit is settled."""
    told = [
        f"{limit.name.replace('_', ' ')} at {limit.site}, {left} left while {plural(len(parts), 'part')} of unknown "
        f"power {'counts' if len(parts) == 1 else 'count'} as 0"
        for limit, left, parts in _tight(plan)
    ]
    return f"not settled: {'; '.join(told)}" if told else ""


def _tight(plan: Plan) -> Iterator[tuple[Limit, str, tuple[str, ...]]]:
    """Limits with (what is left, parts that are not counted)."""
    for limit in plan.limits:
        if limit.limit is None or not (limit.binding or limit.limit - limit.used < LITTLE_ROOM * limit.limit):
            continue
        parts = unknown_parts(plan, limit)
        if parts:
            yield limit, plain(limit.limit - limit.used, limit.unit), parts


def heat_split_sentences(plan: Plan) -> Iterator[str]:
    """Systems in the plan whose heat to liquid is weak or a range, with what all of them could give off at most."""
    kinds = {system.name: system for system in plan.request.candidates}
    for name, count in plan.systems:
        sentence = _heat_split(kinds[name], count)
        if sentence:
            yield sentence


def _heat_split(system: System, count: int) -> str | None:
    split = system.liquid_kw
    if split is None or (split.range is None and (split.confidence != "low" or not split.value)):
        return None
    basis = f" ({split.basis})" if split.basis else ""
    said = f"{system.name}: {kw(split.value)} of its heat to liquid is of {split.confidence} confidence{basis}"
    if split.range is None:
        return said
    low, high = split.range
    said += f", range {kw(low)} to {kw(high)}"
    if high > split.value:
        said += f"; {kw(split.value * count)} to liquid could be {kw(high * count)}"
    if low < split.value and system.air_kw is not None:
        said += f"; {kw(system.air_kw * count)} to air could be {kw((system.air_kw + split.value - low) * count)}"
    return said


def power_basis_sentences(plan: Plan) -> Iterator[str]:
    """What is compared with the power of a site where that is not the Pods' input (decision 5)."""
    if plan.request.policy.power_basis == "installed" and any(site.power_kw is not None for site in plan.request.sites):
        yield (
            "power_basis installed: the installed nameplate (IT) and the balance of plant are compared with the power "
            "of the site as they are; PUE is not applied (decision 5)"
        )


def pod_power_sentences(plan: Plan) -> Iterator[str]:
    """What the catalog says of the power of a Pod type where that is not of high confidence."""
    pods = {site.pod.name: site.pod for site in plan.request.sites}
    for name in sorted(pods):
        sentence = _pod_power(pods[name])
        if sentence:
            yield sentence


def _pod_power(pod: PodType) -> str | None:
    figure = pod.power_kw
    told = "; ".join(part for part in (figure.basis, figure.note) if part)
    if figure.confidence == "high" or not told:
        return None
    return f"{pod.name}: its {plain(figure.value, 'kW')} is of {figure.confidence} confidence: {told}"
