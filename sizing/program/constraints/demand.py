"""Demand: every class is served in full, out of what the pools hold, at one pair of precisions."""

import pyomo.environ as pyo

from sizing.program.expressions import Expression, Model, linear
from sizing.program.formulation import Formulation


def demand_is_served(formulation: Formulation) -> None:
    """`sum over p of served[w,p] = demand_w` for every class w.

    Where demand may give way (`slack.py`): `... + unserved[w] = demand_w`, and `unserved[w] <= demand_w / parts x
    shortfall`.
    """
    demands = {service.name: service.demand for service in formulation.sets.classes}
    parts = formulation.sets.slack.demand_parts

    def rule(model: Model, service: str) -> Expression:
        served = [(1, model.served[number]) for number in formulation.pairs_of(service)]
        return linear([*served, *((1, model.unserved[service]) for _ in range(parts > 0))]) == demands[service]

    def within_shortfall(model: Model, service: str) -> Expression:
        return linear([(1, model.unserved[service]), (-demands[service] / parts, model.shortfall[0])]) <= 0

    formulation.model.demand_is_served = pyo.Constraint(list(demands), rule=rule)
    formulation.model.unserved_is_within_shortfall = pyo.Constraint(
        list(formulation.model.unserved), rule=within_shortfall
    )


def served_fits_pools(formulation: Formulation) -> None:
    """`served[w,p] <= sequences of w in the pools at p` for every class w and pair p that some deployment offers."""

    def rule(model: Model, number: int) -> Expression:
        name, precisions = formulation.pairs[number]
        return model.served[number] <= formulation.contents.held(model, name, precisions)

    formulation.model.served_fits_pools = pyo.Constraint(range(len(formulation.pairs)), rule=rule)


def classes_keep_one_precision(formulation: Formulation) -> None:
    """`served[w,p] <= demand_w x served_at[w,p]`, and `sum over p of served_at[w,p] = 1` for every class w.

    Decision 4. `policy.split_precision` lifts it.
    """
    if formulation.sets.request.policy.split_precision:
        return
    model = formulation.model
    demands = {service.name: service.demand for service in formulation.sets.classes}

    def served_only_at(model: Model, number: int) -> Expression:
        name, _ = formulation.pairs[number]
        return model.served[number] <= demands[name] * model.served_at[number]

    def one_pair(model: Model, service: str) -> Expression:
        return linear((1, model.served_at[number]) for number in formulation.pairs_of(service)) == 1

    model.classes_are_served_only_at = pyo.Constraint(range(len(formulation.pairs)), rule=served_only_at)
    model.classes_keep_one_precision = pyo.Constraint(list(demands), rule=one_pair)
