"""Another plan beside the answer: what it buys, and between what its nameplate may lie."""

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction

from sizing.facility.loads import known, nameplate_kw
from sizing.facility.system import System
from sizing.plan.choice import Choice
from sizing.plan.plan import Plan, PlanInBrief
from sizing.request.request import Request

ZERO = Fraction(0)


def brief_of_plan(plan: Plan) -> PlanInBrief:
    """What the answer itself buys."""
    return _brief(plan.request, plan.totals.pods, dict(plan.systems))


def brief_of_choice(request: Request, choice: Choice) -> PlanInBrief:
    """What a choice among the candidates of `request` buys."""
    bought: Counter[str] = Counter()
    for (_, name), count in choice.systems.items():
        bought[name] += count
    return _brief(request, sum(choice.pods.values()), bought)


def kinds_of(plan: PlanInBrief) -> frozenset[str]:
    """The kinds of system that a plan buys."""
    return frozenset(name for name, _ in plan.systems)


def kw_range(system: System) -> tuple[Fraction, Fraction]:
    """The nameplate of one system at the low and at the high end of its range; twice its value where it has none."""
    kw = known(nameplate_kw(system))
    figure = system.nameplate_kw
    return (kw, kw) if figure is None or figure.range is None else figure.range


def _brief(request: Request, pods: int, bought: Mapping[str, int]) -> PlanInBrief:
    kinds = {system.name: system for system in request.candidates}
    counts = [(kinds[name], count) for name, count in sorted(bought.items())]
    return PlanInBrief(
        pods=pods,
        systems=tuple((system.name, count) for system, count in counts),
        gpus=sum(system.gpus * count for system, count in counts),
        nameplate_kw=sum((known(nameplate_kw(system)) * count for system, count in counts), ZERO),
        nameplate_range_kw=(
            sum((kw_range(system)[0] * count for system, count in counts), ZERO),
            sum((kw_range(system)[1] * count for system, count in counts), ZERO),
        ),
    )
