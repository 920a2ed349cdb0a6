"""Pods: systems stand in Pods, those that are bought and those that are installed."""

import pyomo.environ as pyo

from sizing.program.expressions import Expression, Model, linear
from sizing.program.formulation import Formulation


def systems_fit_pods(formulation: Formulation) -> None:
    """`systems[z,s] + installed <= sum over f of (count of s in fill f) x (pods[z,f] + installed_pods[z,f])`.

    For every site z and system s.
    """
    sets = formulation.sets

    def rule(model: Model, site: str, system: str) -> Expression:
        room = linear((fill.count(system), pods) for fill, pods in formulation.fills_at(site) if fill.count(system))
        return model.systems[site, system] + sets.sites[site].installed(system) <= room

    formulation.model.systems_fit_pods = pyo.Constraint(list(sets.places), rule=rule)


def installed_pods_stand(formulation: Formulation) -> None:
    """`sum over f of installed_pods[z,f] = Pods installed` for every site z that has some; f may be empty."""
    sites = formulation.sets.sites

    def rule(_model: Model, site: str) -> Expression:
        pods = [(1, pods) for (place, _), pods in formulation.installed_pods().items() if place == site]
        return linear(pods) == sites[site].installed_pods

    index = [name for name, site in sites.items() if site.installed_pods]
    formulation.model.installed_pods_stand = pyo.Constraint(index, rule=rule)
