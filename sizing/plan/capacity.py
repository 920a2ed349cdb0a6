"""How much of a workload so many Pods serve, as data and as JSON: the contract `sizing.capacity/1`."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any

from sizing.plan.document import no_plan_document, plan_document
from sizing.plan.plan import NoPlan, Plan, ServedClass, Status
from sizing.request.request import Request
from sizing.units.amounts import number

SCHEMA = "sizing.capacity/1"

DIGITS = 3
"""Decimals of a multiple in print."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """The largest multiple of a workload that `pods` Pods at `site` serve, with systems of one kind if `system` is one.

    At a multiple m, a class has `ceil(concurrency x (1 + headroom) x m)` live sequences. No plan serves a multiple
    above `at_most`; None: no bound is known. `request` is the workload as it was asked about; `plan` serves the
    multiple: its own request asks for just that, no headroom on top. Where not even one sequence of each class fits,
    the multiple is 0, and `plan` says why.
    """

    request: Request
    pods: int
    site: str
    system: str | None
    multiple: Fraction
    at_most: Fraction | None
    plan: Plan | NoPlan

    @property
    def proven(self) -> bool:
        """Whether the multiple is known to be the largest."""
        return self.multiple == self.at_most

    @property
    def status(self) -> Status:
        """Optimal where the multiple is proven; why there is none where it is 0."""
        if isinstance(self.plan, NoPlan):
            return self.plan.status
        return Status.OPTIMAL if self.proven and self.plan.reproducible else Status.FEASIBLE

    @property
    def served(self) -> dict[str, int]:
        """Sequences of each class that are served."""
        classes: tuple[ServedClass, ...] = () if isinstance(self.plan, NoPlan) else self.plan.classes
        return {service.name: 0 for service in self.request.classes} | {each.name: each.served for each in classes}


def in_print(multiple: Fraction, is_bound: bool = False) -> str:
    """A multiple as people read it: rounded down, never more than what is served; a bound rounded up."""
    steps = (ceil if is_bound else floor)(multiple * 10**DIGITS)
    return f"{steps / 10**DIGITS:,.{DIGITS}f}"


def capacity_document(capacity: Capacity) -> dict[str, Any]:
    """The JSON form, keys in the order of the contract. `plan` is a plan document, which `sizing verify` takes."""
    plan = capacity.plan
    document = no_plan_document(plan) if isinstance(plan, NoPlan) else plan_document(plan)
    served = capacity.served
    return {
        "schema": SCHEMA,
        "multiple": number(capacity.multiple),
        "multiple_exact": str(capacity.multiple),
        "at_most": None if capacity.at_most is None else number(capacity.at_most),
        "at_most_exact": None if capacity.at_most is None else str(capacity.at_most),
        "proven": capacity.proven,
        "pods": capacity.pods,
        "site": capacity.site,
        "system": capacity.system,
        "classes": [
            {
                "name": service.name,
                "concurrency": service.concurrency,
                "demand": service.demand,
                "served": served[service.name],
            }
            for service in capacity.request.classes
        ],
        "tokens": document["tokens"],
        "limits": document["limits"],
        "status": capacity.status.value,
        "plan": document,
    }
