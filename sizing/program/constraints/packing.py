"""Packing: pools into replicas, replicas into domains, domains into the systems that are bought."""

import pyomo.environ as pyo

from sizing.facility.packing import piece_sizes, pieces, pieces_in_domain
from sizing.program.expressions import Expression, Model, linear
from sizing.program.formulation import Formulation


def pools_fit_replicas(formulation: Formulation) -> None:
    """`pools of c <= attention_dp x replicas[c]` for every deployment c."""
    per_replica = {c.deployment.id: c.deployment.pools_per_replica for c in formulation.sets.candidates}

    def rule(model: Model, deployment: str) -> Expression:
        pools = formulation.contents.pools(model, deployment)
        return pools <= per_replica[deployment] * model.replicas[deployment]

    formulation.model.pools_fit_replicas = pyo.Constraint(list(per_replica), rule=rule)


def replicas_fit_domains(formulation: Formulation) -> None:
    """`sum over c of k(c,g) x replicas[c] <= floor(d / g) x domains[s]` for every system s and power of two g <= d.

    k is the number of pieces of g GPUs that a replica takes. Exact on the ladder, by first fit decreasing
    (Coffman, Garey, Johnson 1987); see `facility/packing.py`.
    """
    on_system: dict[str, list[tuple[str, int]]] = {system: [] for system in formulation.sets.systems}
    for candidate in formulation.sets.candidates:
        deployment = candidate.deployment
        on_system[deployment.system.name].append((deployment.id, deployment.gpus_per_replica))

    def rule(model: Model, system: str, piece: int) -> Expression:
        domain_gpus = formulation.sets.systems[system].domain_gpus
        taken = linear(
            (pieces(gpus, piece, domain_gpus), model.replicas[deployment])
            for deployment, gpus in on_system[system]
            if gpus >= piece
        )
        return taken <= pieces_in_domain(piece, domain_gpus) * model.domains[system]

    index = [
        (system, piece)
        for system, members in on_system.items()
        for piece in piece_sizes(formulation.sets.systems[system].domain_gpus)
        if any(gpus >= piece for _, gpus in members)
    ]
    formulation.model.replicas_fit_domains = pyo.Constraint(index, rule=rule)


def domains_are_bought(formulation: Formulation) -> None:
    """`domains[s] = domains_per_system x (sum over z of systems[z,s] - spare_systems x kind_is_used[s])`.

    Of what is installed, only as many systems work as are more than `spare_systems`; where they are fewer, they are
    the first of those that are kept spare.
    """
    spare = formulation.sets.request.policy.spare_systems

    def rule(model: Model, system: str) -> Expression:
        per_system = formulation.sets.systems[system].domains_per_system
        working, lacking = _spare_among(formulation.sets.installed(system), spare)
        bought = [(per_system, count) for count in formulation.systems_of(system)]
        kept_back = [(-per_system * lacking, model.kind_is_used[system])] if lacking else []
        return linear([*bought, *kept_back]) == model.domains[system] - per_system * working

    formulation.model.domains_are_bought = pyo.Constraint(list(formulation.sets.systems), rule=rule)


def _spare_among(installed: int, spare: int) -> tuple[int, int]:
    """(installed systems that may work, spare systems still to be bought where any is bought)."""
    return max(0, installed - spare), max(0, spare - installed)


def kinds_are_counted(formulation: Formulation) -> None:
    """`sum over z of systems[z,s] <= (most that any plan needs) x kind_is_used[s]` for every system s."""
    most = {system: formulation.sets.most_systems(system) for system in formulation.sets.systems}

    def rule(model: Model, system: str) -> Expression:
        bought = linear((1, count) for count in formulation.systems_of(system))
        return bought <= most[system] * model.kind_is_used[system]

    formulation.model.kinds_are_counted = pyo.Constraint(list(most), rule=rule)
