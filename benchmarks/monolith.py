"""Patterns against a monolith: one program with an integer variable for each class in each pool, by highspy directly.

    python benchmarks/monolith.py [SECONDS]

The monolith has the same rows for replicas, domains, systems, Pods, limits and precisions as the program of `sizing`,
and the same stages one after the other, each held for the next and started from the solution before it. Only what pools
hold is told otherwise: `sequences[j,w]` of class w in pool j, and `is_open[j]`; pools of one deployment are opened in
order, to spare the solver some of the symmetry. A deployment has as many pools as hold the whole load by first fit
decreasing. Of the monolith only the time inside HiGHS counts; of `sizing` the enumeration of deployments and the whole
search. For each size both times, their ratio, and the values of the stages; the sequences double until the
monolith does not finish within SECONDS (600).
"""

import random
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any

import pyomo.environ as pyo

import sizing
from sizing.facility.deployment import Precisions
from sizing.program.contents import Contents
from sizing.program.deployments import Candidate, enumerate_options
from sizing.program.exact import formulate
from sizing.program.expressions import Expression, Model, linear
from sizing.program.formulation import Formulation
from sizing.program.highs_program import HighsProgram, Limits
from sizing.program.merging import first_fit_decreasing, search_merged
from sizing.program.objective import Stage, stages_of
from sizing.program.search import Found
from sizing.program.sets import Sets, sets_of
from sizing.program.solver import BELOW_ONE_UNIT, HALF_UNIT, Effort
from sizing.request.request import Request

SECONDS = 600.0
SEED = 1
MODELS = ("llama-3.1-70b", "llama-3.1-8b")
SYSTEMS = ("hgx-h200-8-liquid", "hgx-b300-8-liquid")
CLASSES = (4, 8, 40)
SEQUENCES = tuple(50 * 2**step for step in range(12))
"""Live sequences in all."""

Pool = tuple[str, int]


def workload(classes: int, sequences: int) -> dict[str, Any]:
    """Long contexts, of which some to some tens fill a pool, on two models and two kinds of system."""
    chosen = random.Random(SEED)
    return {
        "name": f"{classes} classes, {sequences} sequences",
        "classes": [
            {
                "name": f"class {number}",
                "model": MODELS[number % len(MODELS)],
                "context": round(chosen.uniform(10_000, 130_000)),
                "concurrency": sequences * (number + 1) // classes - sequences * number // classes,
                "kv_precision": ["bf16", "fp8"] if number % 3 == 0 else ["bf16"],
            }
            for number in range(classes)
        ],
        "policy": {"systems": list(SYSTEMS)},
    }


class PoolByPool(Contents):
    """`sequences[j,w]` of class w in pool j, `is_open[j]`: whole numbers all."""

    counts = pyo.NonNegativeIntegers

    def __init__(self, candidates: Sequence[Candidate], demands: Mapping[str, int]) -> None:
        self._pools: dict[str, list[Pool]] = {
            candidate.deployment.id: [
                (candidate.deployment.id, number) for number in range(pools_for_all(candidate, demands))
            ]
            for candidate in candidates
        }

    def declare(self, model: Model, sets: Sets) -> None:
        self._holding: dict[tuple[str, Precisions], list[tuple[Pool, str]]] = defaultdict(list)
        candidates = {candidate.deployment.id: candidate for candidate in sets.candidates}
        for name, candidate in candidates.items():
            for pool in self._pools[name]:
                for service in sorted(candidate.sizes):
                    self._holding[service, candidate.deployment.precisions].append((pool, service))
        pools = [pool for name in candidates for pool in self._pools[name]]
        model.sequences = pyo.Var(
            [key for keys in self._holding.values() for key in keys], domain=pyo.NonNegativeIntegers
        )
        model.is_open = pyo.Var(pools, domain=pyo.Binary)

        def contents_fit_bytes(model: Model, name: str, number: int) -> Expression:
            candidate = candidates[name]
            held = ((candidate.share(service), model.sequences[name, number, service]) for service in candidate.sizes)
            return linear([*held, (-1, model.is_open[name, number])]) <= 0

        def opened_in_order(model: Model, name: str, number: int) -> Expression:
            return linear([(1, model.is_open[name, number]), (-1, model.is_open[name, number - 1])]) <= 0

        model.contents_fit_bytes = pyo.Constraint(pools, rule=contents_fit_bytes)
        model.opened_in_order = pyo.Constraint([pool for pool in pools if pool[1]], rule=opened_in_order)

    def held(self, model: Model, name: str, precisions: Precisions) -> Expression:
        return linear((1, model.sequences[(*pool, service)]) for pool, service in self._holding[name, precisions])

    def pools(self, model: Model, deployment: str) -> Expression:
        return linear((1, model.is_open[pool]) for pool in self._pools[deployment])


def pools_for_all(candidate: Candidate, demands: Mapping[str, int]) -> int:
    """Pools that hold all sequences a deployment may serve, in whole replicas."""
    left = {name: demands[name] for name in candidate.sizes}
    pools = sum(count for _, count in first_fit_decreasing(candidate, sum(left.values()), left))
    per_replica = candidate.deployment.pools_per_replica
    return -(-pools // per_replica) * per_replica


@dataclass(frozen=True, slots=True)
class Outcome:
    """Stage values, None where not all are proven; seconds; and the integer variables of a monolith."""

    values: tuple[int, ...] | None
    seconds: float
    integers: int = 0


class Monolith:
    """A formulation in HiGHS, minimised stage after stage, each held and started from the solution before."""

    def __init__(self, formulation: Formulation) -> None:
        self._formulation = formulation
        self._program = HighsProgram(formulation.model)
        self._solution: list[float] | None = None
        self.integers = sum(variable.is_integer() for variable in self._program.variables)

    def minimise(self, stage: Stage, seconds: float) -> int | None:
        """The proven value of a stage, which is then held; None where the clock came first."""
        costs = self._program.costs(stage.terms(self._formulation))
        limits = Limits(absolute_gap=1 - BELOW_ONE_UNIT, seconds=max(0.0, seconds))
        solved = self._program.minimise(costs, limits, self._solution)
        if solved.value is None or solved.values is None or solved.out_of_time:
            return None
        value, self._solution = round(solved.value), list(solved.values)
        held = pyo.Constraint(expr=stage.expression(self._formulation) <= value + HALF_UNIT)
        self._formulation.model.add_component(f"{stage.name}_is_held", held)
        self._program.holds_all()
        return value


def by_monolith(request: Request, seconds: float = SECONDS) -> Outcome:
    """All stages of a request, within so many seconds in HiGHS."""
    candidates = enumerate_options(request).candidates
    demands = {service.name: service.demand for service in request.classes}
    monolith = Monolith(formulate(sets_of(request, candidates), PoolByPool(candidates, demands)))
    values: list[int] = []
    spent = 0.0
    for stage in stages_of(request):
        started = monotonic()
        value = monolith.minimise(stage, seconds - spent)
        spent += monotonic() - started
        if value is None:
            return Outcome(None, spent, monolith.integers)
        values.append(value)
    return Outcome(tuple(values), spent, monolith.integers)


def by_sizing(request: Request) -> Outcome:
    """The same by the search of `sizing`, its deployments enumerated anew."""
    started = monotonic()
    found = search_merged(request, enumerate_options(request).candidates, Effort(), tie_breaks=())
    seconds = monotonic() - started
    if not isinstance(found, Found) or any(stage.value != stage.bound for stage in found.stages):
        return Outcome(None, seconds)
    return Outcome(tuple(stage.value for stage in found.stages), seconds)


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    by_sizing(sizing.load_workload(workload(2, 4)))  # what is imported late is imported now
    print(f"{'classes':>7}{'sequences':>10}{'integers':>10}{'monolith':>12}{'sizing':>10}{'times':>8}  values")
    for classes in CLASSES:
        for sequences in SEQUENCES:
            if not compare(classes, sequences, seconds):
                break


def compare(classes: int, sequences: int, seconds: float) -> bool:
    """Solve one size both ways and print it; whether the monolith finished."""
    request = sizing.load_workload(workload(classes, sequences))
    ours = by_sizing(request)
    theirs = by_monolith(request, seconds)
    agreed = "not proven by sizing" if ours.values is None else str(ours.values)
    if theirs.values is None:
        agreed += "; the monolith did not finish"
    elif ours.values is not None and theirs.values != ours.values:
        agreed += f"; the monolith says {theirs.values}"
    ratio = theirs.seconds / ours.seconds
    times = f"{'>' if theirs.values is None else ''}{ratio:,.1f}"
    print(
        f"{classes:7}{sequences:10,}{theirs.integers:10,}{theirs.seconds:10.1f} s{ours.seconds:8.2f} s{times:>8}"
        f"  {agreed}",
        flush=True,
    )
    return theirs.values is not None


if __name__ == "__main__":
    main()
