"""How much of a workload a given facility serves: the largest multiple of it, and the plan that serves that.

More is never easier, so the multiple is closed in from both sides. Above: fractions of Pods, systems and sequences show
what is too much. Below: the elastic program finds the plan that leaves the least share of too large a demand unserved,
and bounds that share. What is left between the two is asked multiple by multiple: whether there is a plan.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from sizing.advice.multiples import Demands, multiples_of
from sizing.advice.partial import served_of, trimmed
from sizing.advice.shares import MOST_NODES, best_plan, first_part
from sizing.plan.capacity import Capacity
from sizing.plan.check import check
from sizing.plan.checks.case import Case
from sizing.plan.checks.stages import measured
from sizing.plan.choice import Choice
from sizing.plan.compose import compose
from sizing.plan.plan import NoPlan, Plan, StageResult, Status
from sizing.program.deployments import Options, enumerate_options
from sizing.program.elastic import ANY_PLAN, SHORTFALL, fits_in_fractions, short
from sizing.program.exact import MOST_RELAXED, NotFound
from sizing.program.search import Found, search
from sizing.program.slack import RIGID
from sizing.program.solver import Effort
from sizing.request.request import Request
from sizing.request.restated import at_one_site, serving
from sizing.request.schema import MOST_SEQUENCES
from sizing.units.errors import BadInput, CheckFailed, Problem

Progress = Callable[[str], None]

CLOSE = Fraction(21, 20)
"""How near fractions close the multiple in: the elastic program does the rest."""

MOST_ASKED = 24
"""Multiples that are asked about one by one."""

SHARE = 3
"""A question may take this part of the time that is left."""

FIRST_SHARE = 2
"""The same for the workload as it stands: until it has a plan nothing is known."""

ZERO = Fraction(0)


def capacity(
    request: Request,
    pods: int,
    effort: Effort,
    system: str | None = None,
    site: str | None = None,
    progress: Progress = lambda _text: None,
) -> Capacity:
    """What `pods` Pods at a site serve of a workload, with one kind of system to buy if one is named.

    Raises BadInput where site or system are none of the workload's, or the demand would be absurdly large; CheckFailed
    where a finished plan does not hold.
    """
    asked = at_one_site(request, pods, site, system)
    options = enumerate_options(asked)
    closing = _ClosingIn(asked, options, first_part(effort), progress)
    closing.run()
    nothing = closing.ask_for_the_least(effort) if closing.choice is None else None
    if nothing is None:
        progress("what then stands")
        plan: Plan | NoPlan = _planned(closing, effort)
    else:
        plan = _nothing(closing, nothing, effort, progress)
    at_most = ZERO if plan.status is Status.INFEASIBLE else closing.at_most
    return Capacity(asked, pods, asked.sites[0].name, system, closing.multiple, at_most, plan)


class _ClosingIn:
    """The largest multiple known to be served, by `choice`, and the least known not to be exceeded: None, not known."""

    def __init__(self, request: Request, options: Options, effort: Effort, progress: Progress) -> None:
        self.request = request
        self.options = options
        self.multiples = multiples_of(request)
        self.multiple = ZERO
        self.at_most: Fraction | None = None
        self.choice: Choice | None = None
        self.stopped = False
        self._effort = effort
        self._progress = progress

    def run(self) -> None:
        """The workload as it stands, so that something is soon known; fractions, the elastic program, then halving."""
        self._ask_for(self.multiples.at(Fraction(1)), self._share(FIRST_SHARE))
        is_large = sum(len(each.sizes) for each in self.options.candidates) > MOST_RELAXED
        if not is_large and self.options.candidates:
            too_much = self._too_much_in_fractions()
            if too_much is not None:
                self._exceeded(self.multiples.at(too_much))
                self._leave_least(self.multiples.at(too_much))
        self._ask()

    def serving(self, demands: Demands) -> Request:
        return serving(self.request, demands)

    def _share(self, parts: int = SHARE) -> Effort:
        """For one question, one of so many parts of the time that is left."""
        left = max(0.0, self._effort.seconds_left)
        nodes = min(MOST_NODES, self._effort.most_nodes)
        return replace(self._effort, deadline=time.monotonic() + left / parts, most_nodes=nodes)

    def _too_much_in_fractions(self) -> Fraction | None:
        """A multiple that not even fractions serve, and little less; None where the clock ended the search for it."""
        smallest = min(1 / rate for rate in self.multiples.rates)
        fits, too_much = self.multiple, 2 * self.multiple or Fraction(1)
        while answer := self._fits(too_much):
            fits, too_much = too_much, 2 * too_much
        while answer is not None and too_much > smallest and (not fits or too_much > CLOSE * fits):
            between = (fits + too_much) / 2 if fits else too_much / 2
            answer = self._fits(between)
            fits, too_much = (between, too_much) if answer else (fits, between)
        return None if answer is None else too_much

    def _fits(self, multiple: Fraction) -> bool | None:
        """Whether fractions serve a multiple; None where the clock ended the question."""
        demands = self.multiples.at(multiple)
        self._refuse_absurd(demands)
        self._progress(f"{float(multiple):.3g} times the workload, in fractions")
        share = self._share()
        fits = fits_in_fractions(self.serving(demands), self.options.candidates, RIGID, share.seconds_left)
        if not fits and share.seconds_left <= 0:
            self.stopped = True
            return None
        return fits

    def _refuse_absurd(self, demands: Demands) -> None:
        if sum(demands) > MOST_SEQUENCES:
            raise BadInput(
                Problem(
                    "so many Pods may serve more sequences than are counted",
                    "pods",
                    seen=f"{self.request.sites[0].pods:,}",
                    accepted=f"fewer Pods: at most {MOST_SEQUENCES:,} sequences over all classes",
                )
            )

    def _exceeded(self, demands: Demands) -> None:
        """There is no plan for these demands."""
        below = self.multiples.below(demands)
        self.at_most = below if self.at_most is None else min(self.at_most, below)

    def _served(self, found: Found, demands: Demands) -> None:
        """There is a plan that serves these demands."""
        multiple = self.multiples.served_by(demands)
        if self.choice is None or multiple > self.multiple:
            self.multiple, self.choice = multiple, found.choice

    def _leave_least(self, demands: Demands) -> None:
        """The plan that leaves every class short of the least share of these demands, and a bound of that share.

        Short of s of P parts, class w has at least `demand_w - demand_w x s / P` sequences. Where no plan has s below
        a bound b, at any multiple that is served some class has fewer than `demand_w x (1 - (b - 1) / P)`.
        """
        self._progress("the largest share of that")
        slack = short(list(demands))
        found = search(
            *(self.serving(demands), self.options.candidates, self._share()),
            stages=(SHORTFALL,),
            slack=slack,
            tie_breaks=(),
        )
        self.stopped = self.stopped or found.stopped
        if isinstance(found, NotFound):
            return
        served = served_of(found.choice, [service.name for service in self.request.classes])
        self._served(found, tuple(served.values()))
        bound = found.stages[0].bound
        if bound:
            least_lost = Fraction(bound - 1, slack.demand_parts)
            self._exceeded(tuple(_at_least(number * (1 - least_lost)) for number in demands))

    def ask_for_the_least(self, effort: Effort) -> NotFound | None:
        """Whether one sequence of each class has a plan, which is then known; what came of it where none was found."""
        found = self._ask_for(self.multiples.at(ZERO), effort)
        return None if isinstance(found, Found) else found

    def _ask_for(self, demands: Demands, effort: Effort) -> Found | NotFound:
        """Whether these demands have a plan; what is found is known from then on."""
        self._refuse_absurd(demands)
        self._progress(f"{float(self.multiples.served_by(demands)):.6g} times the workload")
        found = best_plan(self.serving(demands), self.options.candidates, effort, (), (ANY_PLAN,))
        self.stopped = self.stopped or found.stopped
        if isinstance(found, Found):
            self._served(found, demands)
        elif found.proven:
            self._exceeded(demands)
        return found

    def _ask(self) -> None:
        """Halve what is left between: whether there is a plan. Where that stays open, go on below it."""
        ceiling = self.at_most
        for _ in range(MOST_ASKED):
            if ceiling is not None and self.multiple >= ceiling:
                return
            between = 2 * self.multiple or Fraction(1, 2)  # the workload as it stands was asked for first
            demands = self.multiples.at(between if ceiling is None else (self.multiple + ceiling) / 2)
            if self.choice is not None and self.multiples.served_by(demands) <= self.multiple:
                demands = self.multiples.after(self.multiple)
            found = self._ask_for(demands, self._share())
            if isinstance(found, Found):
                continue
            if not found.proven and found.stopped and self._effort.seconds_left <= 0:
                return
            if self.choice is None and demands == self.multiples.at(ZERO):
                return  # not even one sequence of each class
            ceiling = self.multiples.below(demands)


def _at_least(number: Fraction) -> int:
    """The least whole number that is not below."""
    return -(-number.numerator // number.denominator)


def _planned(closing: _ClosingIn, effort: Effort) -> Plan:
    """The best plan for the largest multiple; where none is found again in time, the one that showed it."""
    assert closing.choice is not None
    demands = closing.multiples.at(closing.multiple)
    request, rejected = closing.serving(demands), closing.options.rejected
    best = best_plan(request, closing.options.candidates, effort)
    if isinstance(best, Found):
        stopped = best.stopped or closing.stopped
        plan = compose(request, best.choice, best.stages, rejected, not stopped, best.notes)
    else:
        wanted = dict(zip((service.name for service in request.classes), demands, strict=True))
        plan = compose(request, trimmed(closing.choice, wanted), (), rejected, reproducible=not best.stopped)
        plan = replace(plan, stages=_as_they_come(plan), status=Status.FEASIBLE)
    findings = check(plan)
    if findings:
        raise CheckFailed("the plan found does not pass the check:\n" + "\n".join(findings))
    return plan


def _as_they_come(plan: Plan) -> tuple[StageResult, ...]:
    """The stages of the objective as they are in a plan, with no bound."""
    case = Case(plan)
    values = [(name, *measured(name, case)) for name in plan.request.policy.objective]
    return tuple(StageResult(name, unit, value, None, number > 0) for number, (name, value, unit) in enumerate(values))


def _nothing(closing: _ClosingIn, found: NotFound, effort: Effort, progress: Progress) -> NoPlan:
    """Why not even one sequence of each class fits; or that it is not known whether one does."""
    from sizing.advice.explain import explain

    return explain(closing.serving(closing.multiples.at(ZERO)), closing.options, found, effort, progress)
