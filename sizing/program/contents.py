"""What pools hold, in two forms: by patterns of whole sequences, or by any fractional mix that fits the bytes.

The second is the relaxation whose value is a lower bound: Pods and systems are whole, what stands in them is not.
"""

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pyomo.environ as pyo

from sizing.facility.deployment import Precisions
from sizing.plan.choice import Sequences
from sizing.program.expressions import Expression, Model, linear
from sizing.program.patterns import Columns
from sizing.program.sets import Sets
from sizing.program.spreading import Running

NO_MARGIN = Fraction(0)


class Contents(ABC):
    """What pools hold. Declares its variables on the model and answers in expressions over them.

    `counts` is the domain of what stands in systems: replicas, and sequences served.
    """

    counts: Any

    @abstractmethod
    def declare(self, model: Model, sets: Sets) -> None:
        """Add the variables, and what binds them to each other."""

    @abstractmethod
    def held(self, model: Model, name: str, precisions: Precisions) -> Expression:
        """Sequences of a class in all pools at a pair of precisions."""

    def pool_variables(self, model: Model) -> Mapping[tuple[str, Sequences], Expression]:
        """The variable of every (deployment, pattern); none where contents are not patterns."""
        return {}

    @abstractmethod
    def pools(self, model: Model, deployment: str) -> Expression:
        """Pools of a deployment that hold anything."""


class PatternContents(Contents):
    """`pools[c,q]`: whole pools of deployment c filled by pattern q."""

    counts = pyo.NonNegativeIntegers

    def __init__(self, columns: Columns) -> None:
        self.columns = columns

    def declare(self, model: Model, sets: Sets) -> None:
        self._holding: dict[tuple[str, Precisions], list[tuple[int, tuple[str, Sequences]]]] = defaultdict(list)
        index = []
        for candidate in sets.candidates:
            deployment = candidate.deployment
            for pattern in self.columns.of(deployment.id):
                index.append((deployment.id, pattern))
                for name, count in pattern:
                    self._holding[name, deployment.precisions].append((count, (deployment.id, pattern)))
        model.pools = pyo.Var(range(len(index)), domain=pyo.NonNegativeIntegers)
        self.index = {key: position for position, key in enumerate(index)}

    def held(self, model: Model, name: str, precisions: Precisions) -> Expression:
        terms = self._holding[name, precisions]
        return linear((count, model.pools[self.index[key]]) for count, key in terms)

    def pool_variables(self, model: Model) -> Mapping[tuple[str, Sequences], Expression]:
        return {key: model.pools[position] for key, position in self.index.items()}

    def pools(self, model: Model, deployment: str) -> Expression:
        return linear((1, model.pools[self.index[deployment, pattern]]) for pattern in self.columns.of(deployment))


class RunningContents(PatternContents):
    """`runs[n]`: whether one of the ways to run a model is the one chosen; just one of each model is.

    Each brings its replicas, pools and sequences with it, so that models meet in what they share and nowhere else.
    `runs[n]` has no upper bound of its own, whose dual would take part of what `models_run_once` carries.
    """

    def __init__(self, runnings: Sequence[Running]) -> None:
        columns: dict[str, list[Sequences]] = defaultdict(list)
        for running in runnings:
            for deployment, pattern in running.pools:
                columns[deployment].append(pattern)
        super().__init__(Columns(columns, complete=False))
        self.runnings = runnings

    def declare(self, model: Model, sets: Sets) -> None:
        super().declare(model, sets)
        model.runs = pyo.Var(range(len(self.runnings)), domain=pyo.NonNegativeIntegers)
        of_models: dict[str, list[int]] = defaultdict(list)
        for number, running in enumerate(self.runnings):
            of_models[running.model].append(number)

        def models_run_once(model: Model, name: str) -> Expression:
            return linear((1, model.runs[number]) for number in of_models[name]) == 1

        model.models_run_once = pyo.Constraint(list(of_models), rule=models_run_once)
        model.replicas_are_run = self._as_run(
            model, [(c.deployment.id, model.replicas[c.deployment.id]) for c in sets.candidates], "replicas"
        )
        model.pools_are_run = self._as_run(model, self.pool_variables(model).items(), "pools")
        model.served_are_run = self._as_run(
            model, [(pair, model.served[number]) for number, pair in enumerate(sets.served_pairs())], "served"
        )

    def _as_run(self, model: Model, variables: Iterable[tuple[Any, Expression]], counts: str) -> pyo.Constraint:
        """`variable = sum over the ways to run of its count there x runs[n]`, one row a variable."""
        run: dict[Any, list[tuple[int, Expression]]] = defaultdict(list)
        for number, running in enumerate(self.runnings):
            for key, count in getattr(running, counts).items():
                run[key].append((count, model.runs[number]))
        rows = [linear([*run[key], (-1, variable)]) == 0 for key, variable in variables]
        return pyo.Constraint(range(len(rows)), rule=lambda _model, number: rows[number])


@dataclass(frozen=True, slots=True)
class Worth:
    """At `values[w,p]` of a sequence no pool of deployment c can hold more than `most[c]`, however it is filled."""

    values: Mapping[tuple[str, Precisions], float]
    most: Mapping[str, float]


class FractionalContents(Contents):
    """`sequences[c,w]`, any mix that fits the bytes of `used_pools[c]` pools.

    A pool never holds more whole sequences of one class than fit by themselves, so that each class is also bounded by
    its floor: without it the bound would be that of a pool that splits sequences. With `whole_replicas` the weights
    of a replica are whole too: a stronger bound, and a harder program.

    With a `margin` every sequence takes that share more than its bytes: no bound then, but room to pack whole ones.
    """

    def __init__(self, whole_replicas: bool = False, margin: Fraction = NO_MARGIN) -> None:
        self.margin = margin
        self.counts = pyo.NonNegativeIntegers if whole_replicas else pyo.NonNegativeReals

    def declare(self, model: Model, sets: Sets) -> None:
        candidates = {c.deployment.id: c for c in sets.candidates}
        self._candidates = candidates
        demands = {service.name: service.demand for service in sets.classes}
        used_share = float(1 / (1 + self.margin))
        self._holding: dict[tuple[str, Precisions], list[tuple[str, str]]] = defaultdict(list)
        for candidate in sets.candidates:
            for name in sorted(candidate.sizes):
                self._holding[name, candidate.deployment.precisions].append((candidate.deployment.id, name))
        keys = [key for group in self._holding.values() for key in group]
        model.sequences = pyo.Var(keys, domain=pyo.NonNegativeReals)
        model.used_pools = pyo.Var(list(candidates), domain=pyo.NonNegativeReals)

        def contents_fit_bytes(model: Model, deployment: str) -> Expression:
            candidate = candidates[deployment]
            shares = ((candidate.share(name), model.sequences[deployment, name]) for name in candidate.sizes)
            return linear(shares) <= used_share * model.used_pools[deployment]

        def contents_fit_whole(model: Model, deployment: str, name: str) -> Expression:
            most = min(candidates[deployment].alone(name), demands[name])
            return model.sequences[deployment, name] <= most * model.used_pools[deployment]

        model.contents_fit_bytes = pyo.Constraint(list(candidates), rule=contents_fit_bytes)
        model.contents_fit_whole = pyo.Constraint(keys, rule=contents_fit_whole)

    def limit_worth(self, model: Model, worth: Worth) -> None:
        """State one more thing that is known of all patterns, in place of what was stated so before.

        With the duals of a converged linear program the relaxation is nowhere weaker than that program.
        """

        def contents_fit_worth(model: Model, deployment: str) -> Expression:
            candidate, most = self._candidates[deployment], worth.most[deployment]
            values = (
                (name, worth.values.get((name, candidate.deployment.precisions), 0.0)) for name in candidate.sizes
            )
            held = linear((value / most, model.sequences[deployment, name]) for name, value in values if value > 0)
            return held <= model.used_pools[deployment]

        if model.component("contents_fit_worth") is not None:
            model.del_component("contents_fit_worth")
        worthwhile = [deployment for deployment in self._candidates if worth.most.get(deployment, 0) > 0]
        model.contents_fit_worth = pyo.Constraint(worthwhile, rule=contents_fit_worth)

    def held(self, model: Model, name: str, precisions: Precisions) -> Expression:
        return linear((1, model.sequences[key]) for key in self._holding[name, precisions])

    def pools(self, model: Model, deployment: str) -> Expression:
        return model.used_pools[deployment]
