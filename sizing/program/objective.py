"""The stages of the objective: each a whole number of its unit, minimised in the order that the policy lists."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import gcd

from sizing.facility.loads import known, nameplate_kw
from sizing.program.deployments import Candidate
from sizing.program.expressions import Expression, linear
from sizing.program.formulation import Formulation
from sizing.request.objective import COST, Aim, parse_aim, steps, system_cost, unit_of, unit_text
from sizing.request.request import Request

Terms = list[tuple[int | float | Fraction, Expression]]


@dataclass(frozen=True, slots=True)
class Stage:
    """`terms` are (whole coefficient, variable): the stage's value in `unit`. No plan has less than `floor`."""

    name: str
    unit: str
    terms: Callable[[Formulation], Terms]
    floor: int = 0

    def expression(self, formulation: Formulation) -> Expression:
        return linear(self.terms(formulation))

    def step(self, formulation: Formulation) -> int:
        """Every value is a multiple of it: where all systems are of one kind, what one of them adds."""
        return gcd(*(int(coefficient) for coefficient, _ in self.terms(formulation))) or 1


def share_of(stage: Stage, other: Stage, formulation: Formulation) -> Fraction:
    """The most of another stage's value that this stage's value never falls below: GPUs and power come together.

    0 where a plan may have something of the other and nothing of this one.
    """
    counts = {id(variable): Fraction(coefficient) for coefficient, variable in stage.terms(formulation)}
    if any(count < 0 for count in counts.values()):
        return Fraction(0)
    others = [
        (Fraction(coefficient), counts.get(id(variable), Fraction(0)))
        for coefficient, variable in other.terms(formulation)
    ]
    return min((count / coefficient for coefficient, count in others if coefficient > 0), default=Fraction(0))


def _pods(formulation: Formulation) -> Terms:
    return [(1, formulation.model.pods[key]) for key in formulation.fills()]


def _system_kinds(formulation: Formulation) -> Terms:
    """Kinds that are bought and not there already."""
    sets = formulation.sets
    return [(1, formulation.model.kind_is_used[system]) for system in sets.systems if not sets.installed(system)]


def _power(formulation: Formulation) -> Terms:
    """Installed nameplate, always (decision 5). Nameplates carry one decimal, so tenths of a kW are whole."""
    sets = formulation.sets
    return [
        (int(known(nameplate_kw(system)) * 10), bought)
        for site in sets.sites
        for system, bought in formulation.systems_at(site)
    ]


def _gpus(formulation: Formulation) -> Terms:
    return [(system.gpus, bought) for site in formulation.sets.sites for system, bought in formulation.systems_at(site)]


def _precision(formulation: Formulation) -> Terms:
    """Steps below the best KV precision that the class accepts, in the order of its list, summed over sequences."""
    classes = {service.name: service for service in formulation.sets.classes}
    return [
        (classes[name].kv_steps_below_best(pair), formulation.model.served[number])
        for number, (name, pair) in enumerate(formulation.pairs)
    ]


def _weight_precision(formulation: Formulation) -> Terms:
    """Likewise for the weight precision."""
    classes = {service.name: service for service in formulation.sets.classes}
    return [
        (classes[name].weight_steps_below_best(pair), formulation.model.served[number])
        for number, (name, pair) in enumerate(formulation.pairs)
    ]


def _cost(formulation: Formulation) -> list[tuple[Fraction, Expression]]:
    """(USD, variable), every price at its high end: systems with their energy, Pods, energy of the balance of plant.

    The last of all Pods, installed ones too: what they are filled with decides it.
    """
    sets, prices = formulation.sets, formulation.sets.request.policy.prices
    costs: list[tuple[Fraction, Expression]] = []
    for name, site in sets.sites.items():
        for system, bought in formulation.systems_at(name):
            price = system_cost(system, site, sets.request.policy)
            if price is not None:  # else none is bought: it is installed only
                costs.append((price.high, bought))
        pod = prices.of_pod(site.pod)
        assert pod is not None  # a request with this stage has it
        costs.extend((pod.high, formulation.model.pods[name, number]) for number in range(len(sets.fills[name])))
        for fill, pods in formulation.fills_at(name):
            costs.append((prices.of_energy(fill.balance.kw, site.pod).high, pods))
    return costs


def _idle_gpus(formulation: Formulation) -> Terms:
    """GPUs of working systems in no replica: a replica on them costs nothing and holds tokens."""
    return [
        *((system.domain_gpus, formulation.model.domains[name]) for name, system in formulation.sets.systems.items()),
        *((-c.deployment.gpus_per_replica, _replicas(formulation, c)) for c in formulation.sets.candidates),
    ]


def _name_order(formulation: Formulation) -> Terms:
    """Fewer replicas, then names; and nothing bought that no stage counts (decision 9: equal plans are one plan)."""
    candidates = sorted(formulation.sets.candidates, key=lambda candidate: candidate.deployment.id)
    replicas = [(len(candidates) + rank, _replicas(formulation, c)) for rank, c in enumerate(candidates)]
    systems = [
        (rank, bought)
        for rank, kind in enumerate(formulation.sets.systems, start=1)
        for bought in formulation.systems_of(kind)
    ]
    pods = [(rank, formulation.model.pods[key]) for rank, key in enumerate(formulation.fills(), start=1)]
    installed = [(rank, pods) for rank, pods in enumerate(formulation.installed_pods().values(), start=1)]
    return [*replicas, *systems, *pods, *installed]


def _replicas(formulation: Formulation, candidate: Candidate) -> Expression:
    return formulation.model.replicas[candidate.deployment.id]


STAGES: Mapping[str, Stage] = {
    stage.name: stage
    for stage in (
        Stage("pods", "Pods", _pods, floor=1),
        Stage("system_kinds", "kinds", _system_kinds, floor=1),
        Stage("power", "0.1 kW", _power),
        Stage("gpus", "GPUs", _gpus),
        Stage("precision", "sequence steps", _precision),
        Stage("weight_precision", "sequence steps", _weight_precision),
    )
}
"""The plain stages where nothing is installed; those of a request, with `cost` and blends, are `stages_of` it."""


def stages_of(request: Request) -> tuple[Stage, ...]:
    """The stages that a request's policy lists, in its order."""
    return tuple(stage_of(request, text) for text in request.policy.objective)


def stage_of(request: Request, text: str) -> Stage:
    """One stage as a policy writes it. Where something is installed, it may be that nothing need be bought."""
    aim = parse_aim(text)
    if not aim.is_blend and aim.names != (COST,):
        stage = STAGES[text]
        is_installed = any(site.installed_systems or site.installed_pods for site in request.sites)
        return replace(stage, floor=0) if is_installed and stage.floor else stage
    unit = unit_of(aim, request)
    return Stage(text, unit_text(aim, unit), lambda formulation: _weighted(aim, unit, formulation))


def _weighted(aim: Aim, unit: Fraction, formulation: Formulation) -> Terms:
    """The sum of a stage's parts in steps of `unit`; each variable once."""
    coefficients: dict[int, int] = {}
    variables: dict[int, Expression] = {}
    for weight, name in aim.parts:
        for amount, variable in _amounts(name, formulation):
            variables[id(variable)] = variable
            coefficients[id(variable)] = coefficients.get(id(variable), 0) + steps(weight * amount, unit)
    return [(coefficient, variables[key]) for key, coefficient in coefficients.items() if coefficient]


def _amounts(name: str, formulation: Formulation) -> Iterable[tuple[Fraction, Expression]]:
    """(amount in the unit that people use, variable) of one stage."""
    if name == COST:
        return _cost(formulation)
    grain = unit_of(Aim(((1, name),)), formulation.sets.request)
    return [(Fraction(coefficient) * grain, variable) for coefficient, variable in STAGES[name].terms(formulation)]


TIE_BREAKS = (Stage("idle_gpus", "GPUs", _idle_gpus), Stage("name_order", "rank", _name_order))
"""What decides among plans that are equal in every stage of the objective; nothing that is bought depends on it."""
