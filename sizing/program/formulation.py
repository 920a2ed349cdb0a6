"""The mixed-integer program as a whole: its variables, and the constraints of every subject stated over them."""

from dataclasses import dataclass

import pyomo.environ as pyo

from sizing.facility.deployment import Precisions
from sizing.program.contents import Contents
from sizing.program.expressions import Expression, Model
from sizing.program.sets import Sets


@dataclass(frozen=True, slots=True)
class Formulation:
    """The program with one form of contents.

    Variables of `model`: `pods[z,f]`, `systems[z,s]`, `kind_is_used[s]`, `domains[s]`, `replicas[c]`, `served[w,p]`,
    `served_at[w,p]`, and those of the contents. `pairs` are the (w, p) in the order in which they are numbered.
    """

    sets: Sets
    contents: Contents
    model: Model
    pairs: tuple[tuple[str, Precisions], ...]

    def start_from(self, other: "Formulation") -> None:
        """Take over the values of the same program over fewer patterns; pools of new patterns start at none."""
        for name in ("pods", "systems", "kind_is_used", "domains", "replicas", "served", "served_at"):
            values = other.model.component(name).extract_values()
            self.model.component(name).set_values(values, skip_validation=True)
        filled = other.contents.pool_variables(other.model)
        for key, variable in self.contents.pool_variables(self.model).items():
            variable.set_value(filled[key].value if key in filled else 0, skip_validation=True)

    def pairs_of(self, service: str) -> list[int]:
        """Numbers of the pairs of one class."""
        return [number for number, (name, _) in enumerate(self.pairs) if name == service]

    def fills(self) -> list[tuple[str, int]]:
        """(site, number of the fill) of every kind of Pod."""
        return [(site, number) for site, fills in self.sets.fills.items() for number in range(len(fills))]

    def pods_at(self, site: str) -> Expression:
        """(1, pods[z,f]) terms of one site."""
        return [(1, self.model.pods[site, number]) for number in range(len(self.sets.fills[site]))]


def declare(sets: Sets, contents: Contents) -> Formulation:
    """All variables, none of the constraints."""
    model = pyo.ConcreteModel()
    systems = sorted(sets.systems)
    most = {system: sets.most_systems(system) for system in systems}
    pairs = tuple(sets.served_pairs())
    formulation = Formulation(sets, contents, model, pairs)
    model.pods = pyo.Var(formulation.fills(), domain=pyo.NonNegativeIntegers)
    model.systems = pyo.Var(
        list(sets.sites),
        systems,
        domain=pyo.NonNegativeIntegers,
        bounds=lambda _model, _site, system: (0, most[system]),
    )
    model.kind_is_used = pyo.Var(systems, domain=pyo.Binary)
    model.domains = pyo.Var(systems, domain=pyo.NonNegativeReals)
    model.replicas = pyo.Var([c.deployment.id for c in sets.candidates], domain=pyo.NonNegativeIntegers)
    model.served = pyo.Var(range(len(pairs)), domain=pyo.NonNegativeIntegers)
    model.served_at = pyo.Var(range(len(pairs)), domain=pyo.Binary)
    contents.declare(model, sets)
    return formulation
