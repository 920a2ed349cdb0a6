"""The search: stage by stage a lower bound from the relaxation, a plan from the patterns, each stage then held."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from sizing.plan.choice import Choice
from sizing.plan.plan import StageResult
from sizing.program.constraints import STATEMENTS
from sizing.program.contents import Contents, FractionalContents, PatternContents
from sizing.program.deployments import Candidate
from sizing.program.formulation import Formulation, declare
from sizing.program.objective import STAGES, TIE_BREAKS, Stage
from sizing.program.patterns import Columns, ListedPatterns, PatternSource
from sizing.program.sets import Sets, sets_of
from sizing.program.solver import Effort, Minimised, Minimiser, whole
from sizing.request.request import Request

TIE_BREAK_NODES = 200
"""The tie-break improves nothing that is bought: it may not take long, and a count of nodes is the same everywhere."""

Progress = Callable[[str], None]
Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Found:
    """The best choice found, and what each stage of the objective is known to be. `stopped` by the clock."""

    choice: Choice
    stages: tuple[StageResult, ...]
    stopped: bool


@dataclass(frozen=True, slots=True)
class NotFound:
    """No choice: `proven` when the relaxation, or the program over all patterns, has no solution."""

    proven: bool
    stopped: bool


def search(
    request: Request,
    candidates: tuple[Candidate, ...],
    effort: Effort,
    progress: Progress = lambda _text: None,
    stages: Sequence[Stage] = (),
    source: PatternSource | None = None,
) -> Found | NotFound:
    """Minimise stages in order, those of the request's policy unless others are given."""
    sets = sets_of(request, candidates)
    offered = {name for name, _ in sets.served_pairs()}
    if any(service.name not in offered for service in sets.classes) or not any(sets.fills.values()):
        return NotFound(proven=True, stopped=False)
    demands = {service.name: service.demand for service in sets.classes}
    columns = (source or ListedPatterns()).columns(sets.candidates, demands)
    progress(
        f"{len(candidates)} deployments, {sum(map(len, columns.patterns.values())):,} patterns"
        f"{' (all there are)' if columns.closed else ''}"
    )
    return _Search(sets, columns, effort, progress).run(stages or [STAGES[name] for name in request.policy.objective])


def formulate(sets: Sets, contents: Contents) -> Formulation:
    """The whole program: variables, and every statement about them."""
    formulation = declare(sets, contents)
    for state in STATEMENTS:
        state(formulation)
    return formulation


class _Search:
    def __init__(self, sets: Sets, columns: Columns, effort: Effort, progress: Progress) -> None:
        self.sets = sets
        self.columns = columns
        self.effort = effort
        self.progress = progress
        self.relaxed = Minimiser(formulate(sets, FractionalContents()), effort)
        self.exact = Minimiser(formulate(sets, PatternContents(columns)), effort)
        self.stopped = False

    def run(self, stages: Sequence[Stage]) -> Found | NotFound:
        results: list[StageResult] = []
        for stage in stages:
            outcome = self._stage(stage, first=not results, conditional=any(_open(result) for result in results))
            if isinstance(outcome, NotFound):
                return outcome
            results.append(outcome)
            self.relaxed.hold(stage, outcome.value)
            self.exact.hold(stage, outcome.value)
        for stage in TIE_BREAKS:
            if self.exact.value(stage) > stage.floor:
                self.exact.minimise(stage, most_nodes=TIE_BREAK_NODES)
            self.exact.hold(stage, self.exact.value(stage))
        return Found(self._choice(), tuple(results), self.stopped)

    def _stage(self, stage: Stage, first: bool, conditional: bool) -> StageResult | NotFound:
        if not first and self.exact.value(stage) <= stage.floor:
            return self._result(stage, self.exact.value(stage), stage.floor, conditional)
        relaxed = self._minimise(self.relaxed, stage)
        if first and relaxed.infeasible:
            return NotFound(proven=True, stopped=False)
        bound = max(relaxed.bound, stage.floor)
        if first or self.exact.value(stage) > bound:
            exact = self._minimise(self.exact, stage)
            if first and exact.value is None:
                return NotFound(proven=exact.infeasible and self.columns.closed, stopped=exact.stopped)
            if self.columns.closed:
                bound = max(bound, exact.bound)
        return self._result(stage, self.exact.value(stage), bound, conditional)

    def _minimise(self, minimiser: Minimiser, stage: Stage) -> Minimised:
        minimised = minimiser.minimise(stage)
        self.stopped = self.stopped or minimised.stopped
        return minimised

    def _result(self, stage: Stage, value: int, bound: int, conditional: bool) -> StageResult:
        result = StageResult(stage.name, stage.unit, value, min(bound, value), conditional)
        self.progress(f"{stage.name}: {value} {stage.unit}, {'open' if _open(result) else 'proven'}")
        return result

    def _choice(self) -> Choice:
        formulation = self.exact.formulation
        model, sets = formulation.model, self.sets
        contents = formulation.contents
        assert isinstance(contents, PatternContents)
        return Choice(
            pods=_positive(
                {(site, sets.fills[site][number]): model.pods[site, number] for site, number in formulation.fills()}
            ),
            systems=_positive(
                {(site, system): model.systems[site, system] for site in sets.sites for system in sets.systems}
            ),
            deployments={c.deployment.id: c.deployment for c in sets.candidates},
            replicas=_positive({c.deployment.id: model.replicas[c.deployment.id] for c in sets.candidates}),
            pools=_positive({key: model.pools[position] for key, position in contents.index.items()}),
            served=_positive({pair: model.served[number] for number, pair in enumerate(formulation.pairs)}),
        )


def _open(result: StageResult) -> bool:
    return result.bound != result.value


def _positive(variables: dict[Key, object]) -> dict[Key, int]:
    return {key: count for key, variable in variables.items() if (count := whole(variable)) > 0}
