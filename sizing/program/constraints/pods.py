"""Pods: systems stand in Pods."""

import pyomo.environ as pyo

from sizing.program.expressions import Expression, Model, linear
from sizing.program.formulation import Formulation


def systems_fit_pods(formulation: Formulation) -> None:
    """`systems[z,s] <= sum over f of (count of s in fill f) x pods[z,f]` for every site z and system s."""
    sets = formulation.sets

    def rule(model: Model, site: str, system: str) -> Expression:
        room = linear(
            (fill.count(system), model.pods[site, number])
            for number, fill in enumerate(sets.fills[site])
            if fill.count(system)
        )
        return model.systems[site, system] <= room

    formulation.model.systems_fit_pods = pyo.Constraint(list(sets.places), rule=rule)
