"""What so many Pods serve of a workload, on the screen: the multiple, each class, what stands, what is left to sell."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from sizing.plan.bill import bill_of_units
from sizing.plan.capacity import Capacity, in_print
from sizing.plan.plan import NoPlan, Plan, Status
from sizing.plan.words import LABELS
from sizing.report.answer import MEMORY_ONLY, headline
from sizing.report.cautions import precision_sentences, rejections_in_brief
from sizing.report.console import listed, what_stands
from sizing.report.grid import Column, paragraph, table
from sizing.report.text import plural
from sizing.report.to_know import to_know_sentences
from sizing.units.amounts import thousands


def capacity_report(capacity: Capacity) -> str:
    """The whole answer."""
    plan = capacity.plan
    sections = [MEMORY_ONLY, "\n".join(map(paragraph, _verdict(capacity)))]
    if isinstance(plan, NoPlan):
        sections += [
            listed("Why", plan.reasons),
            listed("Assumed", plan.request.assumptions),
            listed("Not considered", rejections_in_brief(plan.rejected)),
        ]
    else:
        sections += [
            _classes(capacity),
            listed("To sell", list(_to_sell(plan))),
            *what_stands(plan),
            listed("Fewer bits", precision_sentences(plan)),
            listed("To know", to_know_sentences(_with_headroom(capacity, plan), bill_of_units(plan))),
            listed("Not considered", rejections_in_brief(plan.rejected)),
        ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _with_headroom(capacity: Capacity, plan: Plan) -> Plan:
    """The plan as it is told: what it serves contains the headroom that the workload asks for."""
    policy = replace(plan.request.policy, headroom=capacity.request.policy.headroom)
    return replace(plan, request=replace(plan.request, policy=policy))


def _verdict(capacity: Capacity) -> Iterator[str]:
    where = f"{plural(capacity.pods, 'Pod')}" + (f" with {capacity.system}" if capacity.system else "")
    if isinstance(capacity.plan, NoPlan):
        what = "not even one sequence of each class fits"
        if capacity.plan.status is Status.TIMEOUT:
            what = "nothing was found that fits, and that there is nothing is not proven"
        yield f"{capacity.request.name}: {where}: {what}"
        return
    serve = "serve" if capacity.pods > 1 else "serves"
    used = capacity.plan.totals.pods
    rest = f"; {thousands(used)} of them {'is' if used == 1 else 'are'} used" if used < capacity.pods else ""
    exceeded = [LABELS.get(limit.name, limit.name) for limit in capacity.plan.limits if limit.binding and rest]
    rest += f": with more, {', '.join(exceeded)} would be exceeded" if exceeded else ""
    yield f"{capacity.request.name}: {where} {serve} {_times(capacity.multiple)}{rest}"
    if capacity.proven:
        yield "proven: no larger multiple has a plan"
    elif capacity.at_most is None:
        yield "not proven: no bound is known"
    else:
        yield f"not proven to be the largest: at most {in_print(capacity.at_most, is_bound=True)} times"
    yield f"on {headline(capacity.plan)}"


def _times(multiple: Fraction) -> str:
    """`1.171 times the workload`; below 1 as a share too."""
    part = f", {in_print(multiple * 100)} % of it" if multiple < 1 else ""
    return f"{in_print(multiple)} times the workload{part}"


def _classes(capacity: Capacity) -> str:
    columns = (
        Column("class"),
        Column("live at the peak", number=True),
        Column("with headroom", number=True),
        Column("served", number=True),
        Column("tokens served", number=True),
    )
    served = capacity.served
    rows = [
        (
            service.name,
            thousands(service.concurrency),
            thousands(service.demand),
            thousands(served[service.name]),
            thousands(served[service.name] * service.context),
        )
        for service in capacity.request.classes
    ]
    return table(columns, rows)


def _to_sell(plan: Plan) -> Iterator[str]:
    """Tokens that the pools hold beside those committed."""
    spare, capacity, committed = map(thousands, (plan.tokens.spare, plan.tokens.capacity, plan.tokens.committed))
    yield f"{spare} of {capacity} tokens are left; {committed} are committed"
    if len(plan.tokens_by_model) > 1:
        yield "; ".join(f"{model}: {thousands(count.spare)} left" for model, count in plan.tokens_by_model.items())
    binding = [limit.name for limit in plan.limits if limit.binding]
    if binding:
        yield f"no system more: {', '.join(binding)} would be exceeded"
