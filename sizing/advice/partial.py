"""How much of the demand fits: the largest share that every class can have, what that buys, and the percentage."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from math import ceil, floor

from sizing.advice.questions import Questions
from sizing.facility.deployment import Precisions
from sizing.plan.brief import brief_of_choice
from sizing.plan.check import check
from sizing.plan.choice import Choice
from sizing.plan.compose import compose
from sizing.plan.plan import Partial, PlanInBrief, Relaxation
from sizing.plan.words import CONCURRENCY
from sizing.program.elastic import SHORTFALL, short
from sizing.program.exact import NotFound
from sizing.program.search import Found
from sizing.request.request import Request, demand

MOST_RAISED = 3
"""Times that the next share above the best known is asked for."""

WHOLE = 100
"""Percent."""

ZERO = Fraction(0)

Demands = Mapping[str, int]


def largest_share(questions: Questions, fitting: Collection[str]) -> Partial | None:
    """The best partial plan, with the share of those classes that fit some system.

    None where none was found in time, or one fails the check.
    """
    whole = questions.request
    request = replace(whole, classes=tuple(service for service in whole.classes if service.name in fitting))
    demands = _demands(request)
    slack = short(list(demands.values()))
    found = questions.least(SHORTFALL, slack, request)
    if isinstance(found, NotFound):
        return _nothing(whole) if found.proven else None
    lost = found.stages[0]
    choice, stages, served = found.choice, found.later(), served_of(found.choice, demands)
    at_most = _at_most(demands, slack.demand_parts, lost.bound or 0)
    for _ in range(MOST_RAISED if lost.value == lost.bound else 0):
        following = _next_share(demands, _share(served, demands))
        if following > at_most:
            break
        answer = questions.best(_serving(request, _at(demands, following)))
        if isinstance(answer, Found):
            choice, stages, served = answer.choice, answer.stages, served_of(answer.choice, demands)
        elif answer.proven:
            at_most = _share(served, demands)
        else:
            break
    share = _share(served, demands)
    choice = trimmed(choice, _at(demands, share))
    served = served_of(choice, demands)
    if check(compose(_serving(request, served), choice, stages, ())):
        return None
    return Partial(
        share=share,
        at_most=share if _next_share(demands, share) > at_most else at_most,
        served=tuple((name, number, served.get(name, 0)) for name, number in sorted(_demands(whole).items())),
        bought=brief_of_choice(request, choice),
    )


def _nothing(request: Request) -> Partial:
    """Not even one sequence of every class fits."""
    bought = PlanInBrief(pods=0, systems=(), gpus=0, nameplate_kw=ZERO, nameplate_range_kw=(ZERO, ZERO))
    return Partial(ZERO, ZERO, tuple((name, number, 0) for name, number in sorted(_demands(request).items())), bought)


def less_concurrency(questions: Questions, partial: Partial) -> Relaxation | None:
    """The smallest whole percentage by which the concurrency of every class must fall; it never falls below 1.

    `partial` tells which demands fit, and which do not; what lies between, because headroom rounds, is asked. None: it
    does not help, or is not known to.
    """
    request = questions.request
    demands = _demands(request)
    fit, do_not_fit = _at(demands, partial.share), _at(demands, _next_share(demands, partial.at_most))
    proven = partial.share == partial.at_most
    too_little, enough = 0, WHOLE
    while enough - too_little > 1:
        percent = (too_little + enough) // 2
        wanted = _at_percent(request, WHOLE - percent)
        if all(wanted[name] <= number for name, number in fit.items()):
            enough = percent
        elif partial.share < partial.at_most or all(wanted[name] >= number for name, number in do_not_fit.items()):
            too_little = percent
        else:
            answer = questions.any_plan(about=_serving(request, wanted))
            enough, too_little = (percent, too_little) if isinstance(answer, Found) else (enough, percent)
            proven = proven and (isinstance(answer, Found) or answer.proven)
    if enough == WHOLE:
        return None
    return Relaxation(CONCURRENCY, None, Fraction(WHOLE), Fraction(WHOLE - enough), "%", proven=proven)


def _demands(request: Request) -> dict[str, int]:
    return {service.name: service.demand for service in request.classes}


def _at_percent(request: Request, percent: int) -> dict[str, int]:
    """Demands at a part of the concurrency, which stays whole."""
    return {
        service.name: demand(ceil(Fraction(service.concurrency * percent, WHOLE)), request.policy.headroom)
        for service in request.classes
    }


def _serving(request: Request, demands: Demands) -> Request:
    """The request for so many sequences, no headroom on top."""
    classes = tuple(
        replace(service, concurrency=demands[service.name], demand=demands[service.name]) for service in request.classes
    )
    return replace(request, classes=classes, policy=replace(request.policy, headroom=Fraction(0)))


def served_of(choice: Choice, names: Iterable[str]) -> dict[str, int]:
    """Sequences of each class that a choice serves, in the order of `names`."""
    served = dict.fromkeys(names, 0)
    for (name, _), number in choice.served.items():
        served[name] += number
    return served


def trimmed(choice: Choice, wanted: Demands) -> Choice:
    """The same with no more sequences served than these: what fits beside them depends on how pools were filled."""
    left = dict(wanted)
    served: dict[tuple[str, Precisions], int] = {}
    for (name, precisions), number in sorted(choice.served.items(), key=lambda item: str(item[0])):
        served[name, precisions] = min(number, left[name])
        left[name] -= served[name, precisions]
    return replace(choice, served=served)


def _share(served: Demands, demands: Demands) -> Fraction:
    return min(Fraction(served[name], number) for name, number in demands.items())


def _at(demands: Demands, share: Fraction) -> dict[str, int]:
    """The fewest sequences of which each class has at least a share of its demand."""
    return {name: ceil(share * number) for name, number in demands.items()}


def _next_share(demands: Demands, share: Fraction) -> Fraction:
    """The next larger share that differs: one more sequence of some class."""
    return min(Fraction(floor(share * number) + 1, number) for number in demands.values())


def _at_most(demands: Demands, parts: int, lost: int) -> Fraction:
    """The largest share that whole sequences can reach where at least `lost` of `parts` parts are lost.

    Where a part is not a whole number of parts of every demand, it was rounded up.
    """
    exact = all(parts % number == 0 for number in demands.values())
    share = 1 - Fraction(lost if exact else max(0, lost - 1), parts)
    return max(Fraction(floor(share * number), number) for number in demands.values())
