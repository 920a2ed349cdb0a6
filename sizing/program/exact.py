"""One stage of the objective over one set of candidates: a plan, and a lower bound that is valid (rule of bounds).

The fractional relaxation with whole Pods and systems gives a bound; with whole replicas, a second one and often a plan.
Where patterns are few, the integer program over all of them decides. Else column generation on the stage's own linear
relaxation finds those that matter and a third bound, models by themselves give a fourth, and the integer program over
the patterns improves the plan. Where value and bound still differ, the column set is *closed*: all patterns that a
better plan could use are added, and the integer program decides the stage.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, inf, isfinite

from sizing.plan.choice import Sequences
from sizing.program.constraints import STATEMENTS
from sizing.program.contents import Contents, FractionalContents, PatternContents, RunningContents
from sizing.program.formulation import Formulation, declare, whole
from sizing.program.generation import Converged, Generation
from sizing.program.linear_program import LinearRelaxation
from sizing.program.models_apart import ModelsApart, as_run
from sizing.program.objective import Stage, share_of
from sizing.program.patterns import Columns
from sizing.program.promise import Promise
from sizing.program.sets import Sets
from sizing.program.solver import SHARE_OF_A_SOLVE, Effort, Minimised, Minimiser, rounded_up, stage_value
from sizing.program.spreading import Running, runnings_of

MOST_CLOSING = 4_000
"""Patterns up to which a stage's column set is closed."""

MOST_NEAR = 1_000
"""Patterns added where those that would close it are too many."""

MOST_NODES_OF_A_RELAXATION = 1_000
"""Nodes spent on the relaxation with whole replicas."""

MOST_NODES = 300
"""Nodes spent on a choice of ways to run, and on the columns of a large program."""

MOST_NODES_OF_A_PLAN = 2_000
"""The same on columns that are not closed, where a better plan may still come of it."""

MOST_ROUNDS_APART = 20
"""Rounds in which each model by itself is asked how it would run at other prices."""

ROUNDS_WITHOUT_GAIN = 2
"""Of these, how many may go by without a better plan or bound: prices swing, most where kinds of system are many."""

MOST_RELAXED = 10_000
"""(deployment, class) pairs up to which the fractional relaxation is worth its time."""

MOST_RELAXED_WHOLE = 1_500
"""The same for the relaxation with whole replicas, a much harder program."""

MARGINS = (Fraction(0), Fraction(1, 200), Fraction(1, 50))
"""Shares by which sequences are taken larger, so that replicas leave room to pack whole ones."""

TOLERANCE = 1e-6


@dataclass(frozen=True, slots=True)
class NotFound:
    """No plan: `proven` where the relaxation, or the program over all patterns, has no solution."""

    proven: bool
    stopped: bool


def formulate(sets: Sets, contents: Contents) -> Formulation:
    """The whole program: variables, and every statement about them."""
    formulation = declare(sets, contents)
    for state in STATEMENTS:
        state(formulation)
    return formulation


Tell = Callable[[Stage, int], None]
"""Told the value of every plan found in a stage that is minimised."""


class ExactSearch:
    """Minimises stage after stage over one set of candidates.

    `plan` is a formulation whose variables have the values of the best plan known: of this search's own program, or
    of another's over some of the same candidates.
    """

    def __init__(self, sets: Sets, effort: Effort, tell: Tell = lambda _stage, _value: None) -> None:
        self.sets = sets
        self.effort = effort
        self._tell = tell
        self.plan: Formulation | None = None
        self.stopped = False
        self._loads = sum(len(candidate.sizes) for candidate in sets.candidates)
        self._demands = {service.name: service.demand for service in sets.classes}
        self._held: list[tuple[Stage, int]] = []
        self._bounds: dict[str, int] = {}
        self._worthwhile: dict[tuple[str, Sequences], None] = {}
        self._relaxations: dict[Fraction | None, Minimiser] = {}

    @property
    def is_large(self) -> bool:
        """Whether even the fractional relaxation would take too long."""
        return self._loads > MOST_RELAXED

    def value(self, stage: Stage) -> int:
        """The stage's value in the best plan known."""
        assert self.plan is not None
        return stage_value(stage, self.plan)

    def quick_bound(self, stage: Stage, cutoff: float = inf) -> int | NotFound:
        """A lower bound of a stage at little cost, or that there is no plan at all; above `cutoff` any will do."""
        if self._is_met(stage, stage.floor):
            return stage.floor
        if stage.name not in self._bounds:
            promised = max(stage.floor, self._promised(stage), self._implied(stage))
            if self.is_large or promised > cutoff or self._is_met(stage, promised) or self._is_out_of_time():
                return promised
            relaxed = self._minimise(self._relaxed(), stage)
            if relaxed.infeasible and self.plan is None:
                return NotFound(proven=True, stopped=False)
            self._bounds[stage.name] = max(promised, relaxed.bound)
        return self._bounds[stage.name]

    def minimise(self, stage: Stage, cutoff: float = inf, roughly: bool = False) -> int | NotFound:
        """Improve the plan in one stage; the best bound found, or that there is no plan at all.

        Where a bound is above `cutoff`, nothing better can come of it and the search ends there; `roughly`, also where
        models by themselves have given a plan.
        """
        bound = self._minimise_to(stage, cutoff, roughly)
        if not isinstance(bound, NotFound):
            self._bounds[stage.name] = bound
        return bound

    def _minimise_to(self, stage: Stage, cutoff: float, roughly: bool) -> int | NotFound:
        bound = self.quick_bound(stage)
        if isinstance(bound, NotFound) or self._is_met(stage, bound) or bound > cutoff or self._is_done_with(stage):
            return bound
        if self._is_out_of_time():
            return NotFound(proven=False, stopped=True) if self.plan is None else bound
        if self._loads <= MOST_RELAXED_WHOLE:
            bound = max(bound, self._relax_to_whole(stage))
        if self._is_met(stage, bound) or bound > cutoff:
            return bound
        if self._generation.columns.complete:
            return self._decide(stage, bound)
        return self._search_patterns(stage, bound, cutoff, roughly)

    def _search_patterns(self, stage: Stage, bound: int, cutoff: float, roughly: bool) -> int | NotFound:
        """Where patterns are too many to list: the columns of the linear program, and what closes them."""
        if self.plan is None:
            nothing = self._serve_all()
            if nothing is not None:
                return nothing
        converged = self._generate(stage)
        if converged is not None and self._loads > MOST_RELAXED_WHOLE:
            rounds = 1 if roughly else MOST_ROUNDS_APART
            bound = max(bound, self._solve_models_apart(stage, converged, rounds))
            if self._is_met(stage, bound) or bound > cutoff or (roughly and self.plan is not None):
                return bound
        self._improve(stage, MOST_NODES if self.is_large else MOST_NODES_OF_A_PLAN)
        if self.plan is None:
            return self._decide_among_all(stage, bound)
        if converged is None:
            return bound
        bound = max(bound, rounded_up(converged.bound, converged.step))
        if self._is_met(stage, bound) or bound > cutoff or self._is_out_of_time():
            return bound
        if not self._close(stage, converged):
            return bound
        return self._decide(stage, bound)

    def improve(self, stage: Stage, most_nodes: int, gap: float) -> None:
        """Improve the plan a little in a stage that proves nothing; how far depends on no clock."""
        if self.value(stage) > stage.floor and not self._is_out_of_time():
            self._improve(stage, most_nodes, gap)

    def hold(self, stage: Stage, value: int) -> None:
        """From now on the stage is at most `value`; a plan that is above it is forgotten."""
        self._held.append((stage, value))
        if self.plan is not None and self.value(stage) > value:
            self.plan = None
            vars(self).pop("_exact", None)
        for relaxation in self._relaxations.values():
            relaxation.hold(stage, value)
        if "_exact" in vars(self):
            self._exact.hold(stage, value)

    @cached_property
    def _generation(self) -> Generation:
        return Generation(self.sets.candidates, self._demands)

    @cached_property
    def _models_apart(self) -> ModelsApart:
        return ModelsApart(self.sets, self.effort)

    def _relaxed(self, margin: Fraction | None = None) -> Minimiser:
        """The fractional relaxation; given a margin, with whole replicas too. It gives bounds, and never a plan itself.

        It may take no more time for them than any other program.
        """
        if margin not in self._relaxations:
            contents = (
                FractionalContents() if margin is None else FractionalContents(whole_replicas=True, margin=margin)
            )
            effort = replace(self.effort, share_for_a_plan=SHARE_OF_A_SOLVE)
            self._relaxations[margin] = self._minimiser(contents, effort=effort)
        return self._relaxations[margin]

    @cached_property
    def _exact(self) -> Minimiser:
        if self._generation.columns.complete:
            return self._minimiser(PatternContents(self._generation.columns))
        columns = self._generation.columns.restricted(self._worthwhile)
        return self._minimiser(PatternContents(columns), self.sets.restricted({key for key, _ in self._worthwhile}))

    def _minimiser(self, contents: Contents, sets: Sets | None = None, effort: Effort | None = None) -> Minimiser:
        minimiser = Minimiser(formulate(sets or self.sets, contents), effort or self.effort)
        for stage, value in self._held:
            minimiser.hold(stage, value)
        return minimiser

    def _linear_relaxation(self, contents: Contents, stage: Stage | None) -> LinearRelaxation:
        return LinearRelaxation(self._minimiser(contents).formulation, stage, self.effort.seconds_left)

    def _is_met(self, stage: Stage, bound: int) -> bool:
        return self.plan is not None and self.value(stage) <= bound

    def _is_out_of_time(self) -> bool:
        """Asked before a program is built, which takes time too; what is left out then is known to be."""
        if self.effort.seconds_left > 0:
            return False
        self.stopped = True
        return True

    def _promised(self, stage: Stage) -> int:
        """A bound by arithmetic, of Pods to be bought; 0 where there is none."""
        request = self.sets.request
        if stage.name != "pods" or request.policy.mixed_pods or self.sets.slack.demand_parts:
            return 0
        pods = Promise(self.sets).pods(self.sets.systems)
        return rounded_up(pods) - sum(site.installed_pods for site in request.sites) if isfinite(pods) else 0

    def _implied(self, stage: Stage) -> int:
        """A bound by arithmetic, from what is known of stages before: of one kind of system, power tells the GPUs."""
        known = ((held, self._bounds[held.name]) for held, _ in self._held if held.name in self._bounds)
        return max((ceil(share_of(stage, held, self._counted) * bound) for held, bound in known), default=0)

    def _is_done_with(self, stage: Stage) -> bool:
        """Whether a stage held counts the same in other units: what could be done about it has been done."""
        shares = (
            (share_of(stage, held, self._counted), share_of(held, stage, self._counted)) for held, _ in self._held
        )
        return self.plan is not None and any(share * back == 1 for share, back in shares)

    @cached_property
    def _counted(self) -> Formulation:
        """Every variable that a stage may count: those of the relaxation where that is built anyway."""
        if None in self._relaxations:
            return self._relaxed().formulation
        return declare(self.sets, PatternContents(Columns({}, complete=False)))

    def _decide(self, stage: Stage, bound: int) -> int | NotFound:
        """The integer program over a column set that lacks nothing: its value is the stage's, its bound valid."""
        exact = self._improve(stage)
        if self.plan is None:
            return NotFound(proven=exact.infeasible, stopped=exact.stopped)
        return max(bound, exact.bound)

    def _decide_among_all(self, stage: Stage, bound: int) -> int | NotFound:
        """Where the patterns generated make no plan: over all there are, unless those are too many."""
        if self.stopped or not self._generation.list_all(MOST_CLOSING):
            return NotFound(proven=False, stopped=self.stopped)
        vars(self).pop("_exact", None)
        return self._decide(stage, bound)

    def _solve_models_apart(self, stage: Stage, converged: Converged, most_rounds: int) -> int:
        """A bound from each model by itself, and a plan of how they run, where that is better than the one known.

        The first prices are the duals of the linear program over patterns; the next ones, those of the choice among
        all ways to run that were found so far (Dantzig and Wolfe 1960). It ends where these bring nothing new.
        """
        if self.sets.slack.demand_parts:  # all classes are left short together
            return stage.floor
        bound, duals = stage.floor, converged.duals
        worth = self._generation.worth(duals)
        runnings = self._runnings_of_plan()
        gained = 0
        for number in range(most_rounds):
            apart = self._models_apart.solve(duals, worth)
            self.stopped |= self._models_apart.stopped
            before = bound, self._value_or_inf(stage)
            bound = max(bound, rounded_up(apart.bound, converged.step))
            new = [running for running in apart.runnings if running not in runnings]
            runnings.extend(new)
            if new and apart.is_whole:
                self._choose(stage, runnings)
            if (bound, self._value_or_inf(stage)) != before:
                gained = number
            if not new or self._is_met(stage, bound) or number - gained >= ROUNDS_WITHOUT_GAIN:
                break
            further = self._linear_relaxation(RunningContents(runnings), stage).solve()
            if further is None or self._is_out_of_time():
                break
            duals = further
        return bound

    def _relax_to_whole(self, stage: Stage) -> int:
        """A bound from the relaxation with whole replicas, and a plan of its replicas where all find room in whole.

        Where they do not, replicas that leave a margin are tried, as long as these would still be a better plan.
        """
        bound = stage.floor
        costs = {c.deployment.id: float(c.deployment.gpus_per_replica) for c in self.sets.candidates}
        better: Formulation | None = None
        for margin in MARGINS:
            program = self._relaxed(margin)
            relaxed = self._minimise(program, stage, MOST_NODES_OF_A_RELAXATION)
            if not margin:
                bound = max(bound, relaxed.bound)
            found = inf if relaxed.value is None else relaxed.value
            if self._is_met(stage, bound) or found >= self._value_or_inf(stage) or self.sets.slack.demand_parts:
                break
            better = program.formulation
            self._choose(stage, [*self._runnings_of_plan(), *as_run(better, costs)])
        if (
            better is not None
            and not self._generation.columns.complete
            and stage_value(stage, better) < self._value_or_inf(stage)
        ):
            self._pack(stage, better)
        return bound

    def _pack(self, stage: Stage, relaxed: Formulation) -> None:
        """Find patterns with which the replicas of a relaxation serve everybody at its precisions, and use them."""
        program = self._minimiser(PatternContents(self._generation.columns)).formulation
        for deployment, variable in program.model.replicas.items():
            variable.fix(whole(relaxed.model.replicas[deployment]))
        for number, variable in program.model.served_at.items():
            variable.fix(whole(relaxed.model.served_at[number]))
        self._converge(LinearRelaxation(program, None, self.effort.seconds_left))
        self._improve(stage, MOST_NODES_OF_A_PLAN)

    def _choose(self, stage: Stage, runnings: Sequence[Running]) -> None:
        """The best choice of one way to run each model; the patterns of a better plan join the integer program."""
        used = {deployment for running in runnings for deployment in running.replicas}
        minimiser = self._minimiser(RunningContents(runnings), self.sets.restricted(used))
        self._minimise(minimiser, stage, MOST_NODES)
        if minimiser.has_solution and minimiser.value(stage) < self._value_or_inf(stage):
            self.plan = minimiser.formulation
            self._take(self.plan.patterns_used())
            self._tell(stage, self.value(stage))

    def _runnings_of_plan(self) -> list[Running]:
        if self.plan is None:
            return []
        return runnings_of(self.plan.choice(), {service.name: service.model.name for service in self.sets.classes})

    def _value_or_inf(self, stage: Stage) -> float:
        return inf if self.plan is None else self.value(stage)

    def _improve(self, stage: Stage, most_nodes: int | None = None, gap: float = 0.0) -> Minimised:
        """The integer program over the columns that are worthwhile, from the best plan known."""
        if self.plan is not None and ("_exact" not in vars(self) or self.plan is not self._exact.formulation):
            self._take(self.plan.patterns_used())
            self._exact.start_from(self.plan)
        minimised = self._minimise(self._exact, stage, most_nodes, gap)
        if self._exact.has_solution:
            self.plan = self._exact.formulation
            self._tell(stage, self.value(stage))
        return minimised

    def _take(self, patterns: Iterable[tuple[str, Sequences]]) -> None:
        """Patterns join the integer program; it is built anew where it lacks any."""
        patterns = list(patterns)
        lacking = [key for key in patterns if key not in self._worthwhile]
        new = self._generation.columns.add(patterns)
        self._worthwhile.update(dict.fromkeys(lacking))
        if new or (lacking and not self._generation.columns.complete):
            vars(self).pop("_exact", None)

    def _minimise(
        self, minimiser: Minimiser, stage: Stage, most_nodes: int | None = None, gap: float = 0.0
    ) -> Minimised:
        minimised = minimiser.minimise(stage, most_nodes, gap)
        self.stopped = self.stopped or minimised.stopped
        return minimised

    def _serve_all(self) -> NotFound | None:
        """Patterns with which the linear relaxation serves everybody; or that none do, or none were found.

        The bound proves it: the duals that give the best one may be those of a round that still left somebody short.
        """
        converged = self._generate(None)
        if converged is None:
            return NotFound(proven=False, stopped=self.stopped)
        left_short = converged.bound > TOLERANCE * max(1, sum(self._demands.values()))
        return NotFound(proven=True, stopped=self.stopped) if left_short else None

    def _generate(self, stage: Stage | None) -> Converged | None:
        """Column generation on one stage's objective, or to serve everybody."""
        if self.plan is not None:  # without its patterns, what is held may leave the relaxation no solution
            self._generation.columns.add(self.plan.patterns_used())
        return self._converge(self._linear_relaxation(PatternContents(self._generation.columns), stage))

    def _converge(self, relaxation: LinearRelaxation) -> Converged | None:
        """The patterns generated join the integer program; of a large one only those that a solution uses."""
        converged = self._generation.converge(relaxation, self._is_out_of_time)
        if converged is not None:
            self._take(relaxation.used() if self.is_large else self._generation.columns.keys())
        return converged

    def _close(self, stage: Stage, converged: Converged) -> bool:
        """Add every pattern that a plan better by one step could use; False where they are too many.

        Then those that come nearest to being paid for are added: the better plan uses some of them, if there is one.
        """
        margin = converged.margin(self.value(stage))
        patterns = self._generation.within(margin, converged, MOST_CLOSING)
        if patterns is None and (near := self._generation.nearest(margin, converged, MOST_NEAR)):
            self._take(near)
            self._improve(stage, MOST_NODES if self.is_large else MOST_NODES_OF_A_PLAN)
            less = converged.margin(self.value(stage))
            patterns = self._generation.within(less, converged, MOST_CLOSING) if less < margin else None
        self._take(patterns or [])
        return patterns is not None
