"""The stages of the objective: each a whole number of its unit, minimised in the order that the policy lists."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from sizing.facility.loads import known, nameplate_kw
from sizing.program.deployments import Candidate
from sizing.program.expressions import Expression, linear
from sizing.program.formulation import Formulation
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


def _pods(formulation: Formulation) -> Terms:
    return [(1, formulation.model.pods[key]) for key in formulation.fills()]


def _system_kinds(formulation: Formulation) -> Terms:
    return [(1, formulation.model.kind_is_used[system]) for system in formulation.sets.systems]


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


def _idle_gpus(formulation: Formulation) -> Terms:
    """GPUs bought and in no replica: a replica on them costs nothing and holds tokens."""
    return [
        *_gpus(formulation),
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
    return [*replicas, *systems, *pods]


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


def stages_of(request: Request) -> tuple[Stage, ...]:
    """The stages that a request's policy lists, in its order."""
    return tuple(STAGES[name] for name in request.policy.objective)


TIE_BREAKS = (Stage("idle_gpus", "GPUs", _idle_gpus), Stage("name_order", "rank", _name_order))
"""What decides among plans that are equal in every stage of the objective; nothing that is bought depends on it."""
