"""The stages of the objective, measured anew on the finished plan, and whether its status is earned.

Stages count what is bought: of Pods, kW, GPUs and cost what stands beyond what is installed, of kinds of system those
that are not there already.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction

from sizing.facility.loads import nameplate_kw
from sizing.plan.checks.case import Case, unequal
from sizing.plan.checks.costs import parts
from sizing.plan.plan import Status
from sizing.request.objective import COST, parse_aim, steps, unit_of, unit_text
from sizing.request.request import Request

ZERO = Fraction(0)
Item = tuple[Fraction | int, int]
"""(amount of one in the unit that people use, how many)."""


def stages_are_reached(case: Case) -> Iterator[str]:
    """The stages that the policy lists, in its order, each at the value that the plan really has."""
    told = ", ".join(stage.stage for stage in case.plan.stages)
    yield from unequal("stages", told, ", ".join(case.request.policy.objective))
    for stage in case.plan.stages:
        if is_measured(stage.stage, case.request):
            value, unit = measured(stage.stage, case)
            yield from unequal(f"stage {stage.stage}", stage.value, value)
            yield from unequal(f"stage {stage.stage}: unit", stage.unit, unit)
        else:
            yield f"stage {stage.stage!r} cannot be checked"


def status_is_earned(case: Case) -> Iterator[str]:
    """Optimal means that every stage meets its bound; after one that does not, bounds are conditional."""
    proven = True
    for stage in case.plan.stages:
        if stage.bound is not None and stage.bound > stage.value:
            yield f"stage {stage.stage}: the bound {stage.bound:,} is above the value {stage.value:,}"
        if stage.conditional == proven:
            told = "conditional, yet all before are proven" if proven else "unconditional, yet one before is open"
            yield f"stage {stage.stage}: its bound is told {told}"
        proven = proven and stage.bound == stage.value
    yield from unequal("status", case.plan.status, Status.OPTIMAL if proven else Status.FEASIBLE)


def is_measured(stage: str, request: Request) -> bool:
    """Whether a stage is one that can be measured: a plain one, or one that the request's policy lists."""
    return stage in request.policy.objective or (stage in MEASURES and stage != COST)


def measured(stage: str, case: Case) -> tuple[int, str]:
    """A stage's value in whole steps, and the unit of one step."""
    aim = parse_aim(stage)
    unit = unit_of(aim, case.request)
    value = sum(
        steps(Fraction(weight * amount), unit) * count
        for weight, name in aim.parts
        for amount, count in MEASURES[name](case)
    )
    return value, unit_text(aim, unit)


def _pods(case: Case) -> Iterator[Item]:
    yield 1, case.bought_pods()


def _kinds(case: Case) -> Iterator[Item]:
    installed = {name for site in case.sites.values() for name in site.installed_systems}
    yield 1, len(case.standing().keys() - installed)


def _power(case: Case) -> Iterator[Item]:
    """Installed nameplate, always (decision 5)."""
    for name, count in case.bought().items():
        yield nameplate_kw(case.systems[name]) or ZERO, count


def _gpus(case: Case) -> Iterator[Item]:
    for name, count in case.bought().items():
        yield case.systems[name].gpus, count


def _precision(case: Case) -> Iterator[Item]:
    """Steps below the best KV precision that the class accepts, in the order of its list, summed over sequences."""
    for (name, service), number in case.held().items():
        yield _step(case.deployments[name].deployment.kv_precision, case.classes[service].kv_precisions), number


def _weight_precision(case: Case) -> Iterator[Item]:
    """Likewise for the weight precision."""
    for (name, service), number in case.held().items():
        yield _step(case.deployments[name].deployment.weights, case.classes[service].weights), number


def _cost(case: Case) -> Iterator[Item]:
    """Every price at its high end; what has none is another check's finding."""
    for price, count in parts(case):
        yield ZERO if price is None else price.high, count


def _step(used: object, accepted: Sequence[object]) -> int:
    """0 for the best; what is not accepted is another check's finding."""
    return accepted.index(used) if used in accepted else 0


MEASURES: Mapping[str, Callable[[Case], Iterator[Item]]] = {
    "pods": _pods,
    "system_kinds": _kinds,
    "power": _power,
    "gpus": _gpus,
    "precision": _precision,
    "weight_precision": _weight_precision,
    COST: _cost,
}
