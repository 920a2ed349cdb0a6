"""The mixed-integer program as a whole: its variables, and the constraints of every subject stated over them."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import pyomo.environ as pyo

from sizing.facility.deployment import Precisions
from sizing.facility.pod import Fill
from sizing.facility.system import System
from sizing.plan.choice import Choice, Sequences
from sizing.program.contents import Contents
from sizing.program.expressions import Expression, Model
from sizing.program.sets import Sets

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Formulation:
    """The program with one form of contents.

    `pods` and `systems` are bought; what is installed comes on top of them in every constraint. `installed_pods[z,f]`
    are the Pods installed at z that are filled as f, one of the fills of z or none.

    Variables of `model`: `pods[z,f]`, `systems[z,s]`, `kind_is_used[s]`, `domains[s]`, `replicas[c]`, `served[w,p]`,
    `served_at[w,p]`, and those of the contents. `pairs` are the (w, p) in the order in which they are numbered.
    Where something may give way (`slack.py`): `excess[l]` steps beyond limit l, `shortfall` parts of every demand, and
    `unserved[w]` sequences of it.
    """

    sets: Sets
    contents: Contents
    model: Model
    pairs: tuple[tuple[str, Precisions], ...]

    def variables(self) -> dict[tuple[object, ...], Expression]:
        """Every variable of a plan by what it means, the same in every formulation that has it."""
        model, fills = self.model, self.sets.fills
        return {
            **{("pods", site, fills[site][number]): model.pods[site, number] for site, number in self.fills()},
            **{("installed_pods", *key): pods for key, pods in self.installed_pods().items()},
            **{("systems", *place): model.systems[place] for place in self.sets.places},
            **{("kind_is_used", kind): model.kind_is_used[kind] for kind in self.sets.systems},
            **{("domains", kind): model.domains[kind] for kind in self.sets.systems},
            **{("replicas", c.deployment.id): model.replicas[c.deployment.id] for c in self.sets.candidates},
            **{("served", *pair): model.served[number] for number, pair in enumerate(self.pairs)},
            **{("served_at", *pair): model.served_at[number] for number, pair in enumerate(self.pairs)},
            **{("excess", key): model.excess[number] for number, key in enumerate(self.sets.slack.limits)},
            **{("shortfall", number): variable for number, variable in model.shortfall.items()},
            **{("unserved", name): variable for name, variable in model.unserved.items()},
            **{("pools", *key): variable for key, variable in self.contents.pool_variables(model).items()},
        }

    def start_from(self, other: "Formulation") -> None:
        """Take over the values of another formulation; what it does not know is none."""
        values = {key: variable.value for key, variable in other.variables().items()}
        for key, variable in self.variables().items():
            variable.set_value(values.get(key, 0), skip_validation=True)

    def patterns_used(self) -> list[tuple[str, Sequences]]:
        """(deployment, pattern) of the pools that are filled."""
        return [key for key, variable in self.contents.pool_variables(self.model).items() if whole(variable)]

    def choice(self) -> Choice:
        """What the values decide, in whole numbers: Pods and systems that stand then, bought and installed."""
        model, sets = self.model, self.sets
        pods = Counter(
            _positive({(site, sets.fills[site][number]): model.pods[site, number] for site, number in self.fills()})
        )
        pods.update(_positive(self.installed_pods()))
        systems = Counter(_positive({place: model.systems[place] for place in sets.places}))
        systems.update(
            {(site.name, name): count for site in sets.sites.values() for name, count in site.installed_systems.items()}
        )
        return Choice(
            pods=pods,
            systems=systems,
            deployments={c.deployment.id: c.deployment for c in sets.candidates},
            replicas=_positive({c.deployment.id: model.replicas[c.deployment.id] for c in sets.candidates}),
            pools=_positive(self.contents.pool_variables(model)),
            served=_positive({pair: model.served[number] for number, pair in enumerate(self.pairs)}),
        )

    def kinds_used(self) -> set[str]:
        """Kinds of system that are bought."""
        return {kind for kind in self.sets.systems if any(map(whole, self.systems_of(kind)))}

    def pairs_of(self, service: str) -> list[int]:
        """Numbers of the pairs of one class."""
        return [number for number, (name, _) in enumerate(self.pairs) if name == service]

    def fills(self) -> list[tuple[str, int]]:
        """(site, number of the fill) of every kind of Pod."""
        return [(site, number) for site, fills in self.sets.fills.items() for number in range(len(fills))]

    def installed_pods(self) -> dict[tuple[str, Fill], Expression]:
        """installed_pods[z,f] of every site and fill."""
        return {
            (site, fill): self.model.installed_pods[site, number]
            for site, fills in self.sets.installed_fills.items()
            for number, fill in enumerate(fills)
        }

    def fills_at(self, site: str) -> list[tuple[Fill, Expression]]:
        """(fill, Pods filled so) at a site, bought ones and installed ones."""
        bought = [(fill, self.model.pods[site, number]) for number, fill in enumerate(self.sets.fills[site])]
        installed = enumerate(self.sets.installed_fills.get(site, ()))
        return bought + [(fill, self.model.installed_pods[site, number]) for number, fill in installed]

    def systems_of(self, kind: str) -> list[Expression]:
        """systems[z,s] of one kind, over the sites where it may stand."""
        return [self.model.systems[site, system] for site, system in self.sets.places if system == kind]

    def systems_at(self, place: str) -> list[tuple[System, Expression]]:
        """(system, systems[z,s]) of every kind that may stand at a site."""
        return [
            (system, self.model.systems[place, name])
            for name, system in self.sets.systems.items()
            if (place, name) in self.model.systems
        ]


def declare(sets: Sets, contents: Contents) -> Formulation:
    """All variables, none of the constraints."""
    model = pyo.ConcreteModel()
    systems = sorted(sets.systems)
    most = {system: sets.most_systems(system) for system in systems}
    pairs = tuple(sets.served_pairs())
    formulation = Formulation(sets, contents, model, pairs)
    model.pods = pyo.Var(formulation.fills(), domain=pyo.NonNegativeIntegers)
    model.installed_pods = pyo.Var(
        [(site, number) for site, fills in sets.installed_fills.items() for number in range(len(fills))],
        domain=pyo.NonNegativeIntegers,
    )
    model.systems = pyo.Var(
        list(sets.places),
        domain=pyo.NonNegativeIntegers,
        bounds=lambda _model, site, system: (0, most[system] if sets.may_be_bought(site, system) else 0),
    )
    model.kind_is_used = pyo.Var(systems, domain=pyo.Binary)
    model.domains = pyo.Var(systems, domain=pyo.NonNegativeReals)
    model.replicas = pyo.Var([c.deployment.id for c in sets.candidates], domain=contents.counts)
    model.served = pyo.Var(range(len(pairs)), domain=contents.counts)
    model.served_at = pyo.Var(range(len(pairs)), domain=pyo.Binary)
    model.excess = pyo.Var(range(len(sets.slack.limits)), domain=pyo.NonNegativeIntegers)
    elastic = sets.slack.demand_parts > 0
    most_short = max(0, sets.slack.demand_parts - 1)
    model.shortfall = pyo.Var([0] if elastic else [], domain=pyo.NonNegativeIntegers, bounds=(0, most_short))
    model.unserved = pyo.Var([service.name for service in sets.classes] if elastic else [], domain=contents.counts)
    contents.declare(model, sets)
    return formulation


def whole(variable: Expression) -> int:
    """The value of an integer variable, rounded: the answer never depends on the solver's tolerance."""
    return 0 if variable.value is None else round(variable.value)


def _positive(variables: Mapping[Key, Expression]) -> dict[Key, int]:
    return {key: count for key, variable in variables.items() if (count := whole(variable)) > 0}
