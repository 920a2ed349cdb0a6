"""Why there is no plan, and what would give one: first arithmetic, then the program asked again.

Which limits conflict; the least change of each, and the cheapest of several; fewer bits; less demand; and how much of
the demand fits as it is. Where it is not settled whether there is a plan, the same but for conflicts: what would give
one, or part of one, helps then too.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from sizing.advice.conflicts import Conflicts
from sizing.advice.obstacles import classes_that_fit, installed_beyond_limits, obstacles_in_words
from sizing.advice.other_weights import other_weights
from sizing.advice.partial import largest_share, less_concurrency
from sizing.advice.precisions import other_precisions
from sizing.advice.questions import Questions
from sizing.advice.relaxations import WayOut, alone, together
from sizing.facility.loads import known, site_loads
from sizing.plan.limits import stated_limits
from sizing.plan.plan import NoPlan, Plan, Relaxation, StatedLimit, Status
from sizing.plan.words import amount_in_words, bare_amount, change_in_words, limit_in_words, stated_in_words
from sizing.program.deployments import Options
from sizing.program.exact import NotFound
from sizing.program.solver import Effort
from sizing.request.request import Request

Progress = Callable[[str], None]
Limits = Sequence[StatedLimit]

MOST_ALONE = 6
"""Limits that are asked about one by one where no conflict is known; if there are more, those of the cheapest way."""

OUT_OF_TIME = "the time limit ended the search before a plan was found"
INTERRUPTED = "the search was interrupted before a plan was found"
CUT_SHORT = "what would do and what fits was not looked for to the end: the time limit or an interruption came first"
NOT_SETTLED = "no plan was found, and that there is none is not proven"


def explain(
    request: Request, options: Options, found: NotFound, effort: Effort, progress: Progress = lambda _text: None
) -> NoPlan:
    """The reasons in sentences, and what would have to change."""
    rejected = (*request.rejected, *options.rejected)
    if found.stopped and not found.proven:
        why = INTERRUPTED if effort.halt.asked else OUT_OF_TIME
        return NoPlan(request, Status.TIMEOUT, (why,), (), rejected, reproducible=False)
    questions = Questions(request, options.candidates, effort)
    ways: list[tuple[Relaxation, ...]] = []
    conflicts: tuple[tuple[StatedLimit, ...], ...] = ()
    reasons = list(obstacles_in_words(request, options)) if found.proven else [NOT_SETTLED]
    if not (found.proven and reasons):
        progress("no plan: looking for the limits that stand in the way; Ctrl-C ends it with what is known by then")
        further, conflicts, ways = _limits_in_the_way(questions) if found.proven else _limits_that_may_be(questions)
        reasons.extend([*installed_beyond_limits(request), *further])
    progress("no plan: looking for what fits")
    fitting = classes_that_fit(request, options)
    partial = largest_share(questions, fitting) if fitting else None
    ways.extend(other_precisions(questions))
    further_weights = other_weights(questions, fitting)
    ways.extend([further_weights] if further_weights else [])
    if partial is not None and len(fitting) == len(request.classes):
        less = less_concurrency(questions, partial)
        ways.extend([(less,)] if less else [])
    if questions.stopped:
        reasons.append(CUT_SHORT)
    return NoPlan(
        request=request,
        status=Status.INFEASIBLE if found.proven else Status.TIMEOUT,
        reasons=tuple(reasons),
        relaxations=tuple(
            replace(change, option=option) for option, changes in enumerate(ways, start=1) for change in changes
        ),
        rejected=rejected,
        partial=partial,
        conflicts=conflicts,
        reproducible=not questions.stopped,
    )


Told = tuple[list[str], tuple[tuple[StatedLimit, ...], ...], list[tuple[Relaxation, ...]]]
"""Reasons, conflicts and ways out; the cheapest way first."""


def _limits_that_may_be(questions: Questions) -> Told:
    """What would give a plan where none was found: the way that exceeds limits least, and single limits."""
    limits = stated_limits(questions.request)
    cheapest = together(questions, limits) if limits else None
    asked = limits if len(limits) <= MOST_ALONE or cheapest is None else [limit for limit, _ in cheapest.needed]
    ways = _by_share([alone(questions, limit) for limit in asked[:MOST_ALONE]], cheapest)
    return [_needed_in_words(questions.request, way) for way in ways], (), [way.changes for way in ways]


def _limits_in_the_way(questions: Questions) -> Told:
    request = questions.request
    limits = stated_limits(request)
    conflicts = Conflicts(questions, limits)
    if conflicts.fits_nowhere:
        return ["no system that fits a Pod can hold the classes together"], (), []
    reasons: list[str] = []
    in_one = conflicts.found[0] if len(conflicts.found) == 1 else ()
    singly = [alone(questions, limit) for limit in in_one]
    ways = _by_share(singly, together(questions, limits) if len(limits) > 1 else None)
    if len(conflicts.found) > 1 or not ways or len(conflicts.found[0]) > 1:
        minimal = conflicts.settled
        reasons.extend(_conflict_in_words(questions, limits, conflict, minimal) for conflict in conflicts.found)
    reasons.extend(_needed_in_words(request, way) for way in ways)
    if not conflicts.settled:
        reasons.append("it is not settled whether fewer of these limits conflict already, or others too")
    return reasons, conflicts.found, [way.changes for way in ways]


def _by_share(singly: Sequence[WayOut | None], cheapest: WayOut | None) -> list[WayOut]:
    """Ways out that are known, the smallest change first; that of several limits only where it is smaller than any."""
    ways = sorted((way for way in singly if way is not None), key=lambda way: way.share)
    return [cheapest, *ways] if cheapest is not None and all(cheapest.share < way.share for way in ways) else ways


def _conflict_in_words(questions: Questions, limits: Limits, conflict: Limits, minimal: bool) -> str:
    """A conflict, whether it is minimal, and whether it lies only in that Pods, systems and sequences are whole."""
    said = [stated_in_words(questions.request, limit) for limit in conflict]
    if len(said) == 1:
        sentence = f"{said[0]} is too little for this demand, whatever the other limits are"
    else:
        though = ", though all but any one could" if minimal else ""
        sentence = f"these cannot all be kept{though}: {', '.join(said)}"
    if questions.fits_in_fractions([limit for limit in limits if limit not in conflict]):
        sentence += "; fractions of Pods, systems and sequences would fit, whole ones do not"
    return sentence


def _needed_in_words(request: Request, way: WayOut) -> str:
    """What would have to be allowed, and what the plan buys that this is for."""
    at_most = "" if way.proven else "at most "
    if len(way.needed) > 1:
        changes = " and ".join(change_in_words(request, change) for change in way.changes)
        return f"{changes} would do together ({_bought(way.plan)})"
    ((limit, needed),) = way.needed
    allowed, use = (bare_amount(amount, limit.unit) for amount in (limit.value, needed))
    what = f"{limit_in_words(request, limit.name, limit.site)}: {allowed} allowed, {at_most}{use} needed"
    fit = _systems_that_fit(request, limit, way.plan)
    room = "" if fit is None else "; 1 system fits" if fit == 1 else f"; {fit:,} systems fit" if fit else "; none fits"
    return f"{what} ({_bought(way.plan)}){room}"


def _bought(plan: Plan) -> str:
    systems = ", ".join(f"{count:,} {name}" for name, count in plan.systems)
    return f"{amount_in_words(plan.totals.pods, 'Pods')} with {systems}"


def _systems_that_fit(request: Request, limit: StatedLimit, plan: Plan) -> int | None:
    """The most systems with their Pods within a limit of a site, where the plan has one kind of them there.

    None too where something stands there already: what fits beside it is another question.
    """
    here = [filled for filled in plan.pods if filled.site == limit.site]
    kinds = {name for filled in here for name, _ in filled.systems}
    fills = {filled.fill for filled in here}
    site = next((site for site in request.sites if site.name == limit.site), None)
    if site is None or site.installed_systems or site.installed_pods or len(kinds) != 1 or len(fills) != 1:
        return None
    (kind,), (fill,) = kinds, fills
    load = next(load for load in site_loads(site, request.policy.power_basis) if load.name == limit.name)
    each = known(load.of_system(next(system for system in request.candidates if system.name == kind)))
    count = sum(filled.count * dict(filled.systems).get(kind, 0) for filled in here)
    while count and each * count + load.of_pod(fill) * -(-count // fill.count(kind)) > limit.value:
        count -= 1
    return count
