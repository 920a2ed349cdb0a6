"""Each model by itself: what models share is paid for at the prices of a linear program, and nothing else ties them.

The rows that models share (domains, and with them systems, Pods and limits; stages that are held) are dropped, and what
a replica or a sequence takes of them is charged at duals: of the linear program over patterns, or over ways to run each
model. What is left falls apart into one small program a model. Its value is a lower bound (Lagrangian relaxation:
Geoffrion 1974), at any prices:

    bound = part of the duals' objective that shared rows carry + sum over models of the least that each must pay

It satisfies the rule of bounds: each model's program is the fractional relaxation with whole replicas and one precision
a class, over no columns at all, with the worth of patterns at the duals as one more row. That row makes the sum no
less than the bound of the linear program; whole replicas make it more.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import floor

from sizing.program.constraints import STATEMENTS_OF_A_MODEL
from sizing.program.contents import FractionalContents, Worth
from sizing.program.deployments import Candidate
from sizing.program.formulation import Formulation, declare, whole
from sizing.program.linear_program import Duals
from sizing.program.objective import Stage, Terms
from sizing.program.sets import Sets
from sizing.program.solver import Effort, Minimiser
from sizing.program.spreading import Running, spread

MOST_NODES_OF_A_MODEL = 200

MOST_LOST = 1e-3
"""Share of a price that may be lost where prices are rounded down to whole steps."""

GAP_OF_A_MODEL = 1e-4

TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Apart:
    """The bound of all models together, and what each of them runs; not whole where one has no solution or no time."""

    bound: float
    runnings: tuple[Running, ...]
    is_whole: bool


class ModelsApart:
    """The models of a program, each by itself, at prices that change from stage to stage."""

    def __init__(self, sets: Sets, effort: Effort) -> None:
        models = sorted({service.model.name for service in sets.classes})
        self._models = [_Model(sets, name, effort) for name in models]
        self._effort = effort
        self.stopped = False

    def solve(self, duals: Duals, worth: Worth) -> Apart:
        """Each model at the prices of the duals; `worth` are values of sequences, and the best of each pool at them."""
        bound = duals.objective - sum(duals.demand_worth.values())
        runnings: list[Running] = []
        for number, model in enumerate(self._models):
            found = model.solve(duals, worth, self._effort.shared_by(len(self._models) - number))
            bound += found.bound
            self.stopped |= found.stopped
            if found.running is not None:
                runnings.append(found.running)
        return Apart(bound, tuple(runnings), len(runnings) == len(self._models))


@dataclass(frozen=True, slots=True)
class _Found:
    bound: float
    running: Running | None
    stopped: bool


class _Model:
    """One model of a program: its classes and its candidates."""

    def __init__(self, sets: Sets, name: str, effort: Effort) -> None:
        classes = tuple(service for service in sets.classes if service.model.name == name)
        self.candidates = tuple(c for c in sets.candidates if c.deployment.model.name == name)
        self.sets = Sets(
            replace(sets.request, classes=classes),
            self.candidates,
            systems={},
            fills=dict.fromkeys(sets.fills, ()),
        )
        self._effort = effort
        self._contents = FractionalContents(whole_replicas=True)
        self._worth: Worth | None = None
        self._known: dict[tuple[tuple[int, ...], tuple[int, ...]], _Found] = {}

    def solve(self, duals: Duals, worth: Worth, effort: Effort) -> _Found:
        """The least that the model must pay, and what it then runs. At the same prices nothing is asked again."""
        pairs = self.sets.served_pairs()
        of_replicas = [duals.replicas[c.deployment.id] for c in self.candidates]
        of_served = [duals.served[pair] for pair in pairs]
        step = coarsest_step([*of_replicas, *of_served])
        steps = tuple(_steps(price, step) for price in of_replicas), tuple(_steps(price, step) for price in of_served)
        found = self._known.get(steps)
        if found is None:
            found = self._minimise(*steps, worth, effort)
            if not found.stopped:
                self._known[steps] = found
        return replace(found, bound=found.bound * step)

    def _minimise(self, of_replicas: Sequence[int], of_served: Sequence[int], worth: Worth, effort: Effort) -> _Found:
        """At prices in whole steps; the bound in steps too."""
        if worth is not self._worth:
            self._contents.limit_worth(self._formulation.model, worth)
            self._worth = worth

        def terms(program: Formulation) -> Terms:
            replicas = [program.model.replicas[c.deployment.id] for c in self.candidates]
            return [
                *zip(of_replicas, replicas, strict=True),
                *zip(of_served, program.model.served.values(), strict=True),
            ]

        program = self._program
        program.effort = effort
        found = program.minimise(Stage("prices", "steps", terms), MOST_NODES_OF_A_MODEL, GAP_OF_A_MODEL)
        costs = {c.deployment.id: cost for c, cost in zip(self.candidates, of_replicas, strict=True)}
        (running,) = as_run(self._formulation, costs) if program.has_solution else (None,)
        return _Found(max(0, found.bound), running, found.stopped)

    @cached_property
    def _formulation(self) -> Formulation:
        formulation = declare(self.sets, self._contents)
        for state in STATEMENTS_OF_A_MODEL:
            state(formulation)
        return formulation

    @cached_property
    def _program(self) -> Minimiser:
        """Built once: from prices to prices only the objective changes, and each search starts from the last."""
        return Minimiser(self._formulation, self._effort)


def as_run(formulation: Formulation, costs: Mapping[str, float]) -> list[Running]:
    """A fractional solution with whole replicas, made into a way to run each model; `costs` of one more replica."""
    model = formulation.model
    members: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in formulation.sets.candidates:
        members[candidate.deployment.model.name].append(candidate)
    models = {service.name: service.model.name for service in formulation.sets.classes}
    sequences = {key: variable.value for key, variable in model.sequences.items()}
    return [
        spread(
            candidates,
            {c.deployment.id: whole(model.replicas[c.deployment.id]) for c in candidates},
            sequences,
            {
                pair: whole(model.served[number])
                for number, pair in enumerate(formulation.pairs)
                if models[pair[0]] == name
            },
            costs,
        )
        for name, candidates in members.items()
    ]


def coarsest_step(prices: Sequence[float]) -> float:
    """The coarsest step such that no price, rounded down to whole steps, loses more than `MOST_LOST` of itself.

    Where all are multiples of one, as GPUs of one kind of system are, it is that one, and values are whole numbers of
    it. Prices that are nothing but the tolerance of a solver do not count; 1 where no other is left.
    """
    highest = max(prices, default=0.0)
    positive = [price for price in prices if price > TOLERANCE * highest]
    if highest <= 0:
        return 1.0
    least = min(positive)
    parts = next(
        (n for n in range(1, round(1 / MOST_LOST)) if all(_loses_little(price * n / least) for price in positive)),
        round(1 / MOST_LOST),
    )
    return least / parts * (1 - TOLERANCE)


def _loses_little(steps: float) -> bool:
    return steps - floor(steps + TOLERANCE) <= MOST_LOST * steps


def _steps(price: float, step: float) -> int:
    """Rounded down, which keeps a bound a bound."""
    return floor(price / step)
