"""What is asked of the sensitivity of an answer: each limit and each choice of the policy at other values.

A fixed list in a fixed order; nothing is searched for here.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, floor

from sizing.advice.precisions import further_precisions, largest_classes
from sizing.plan.inventory import installed_systems
from sizing.plan.limits import stated_limits, with_limit
from sizing.plan.plan import Plan, Setting, StatedLimit
from sizing.plan.words import KV_PRECISION, bare_amount, limit_in_words, stated_in_words
from sizing.pool.gpu import HbmBasis
from sizing.pool.precision import KvPrecision
from sizing.request.request import Policy, Request, ServiceClass, demand
from sizing.units.amounts import plain

LIMIT_FACTORS = (Fraction(90, 100), Fraction(110, 100), Fraction(125, 100))
RESERVES = (Fraction(5, 100), Fraction(10, 100), Fraction(15, 100), Fraction(20, 100))
MORE = (Fraction(10, 100), Fraction(25, 100), Fraction(50, 100))
"""More headroom, in shares of the concurrency; and more demand, in shares of itself."""

DEMAND = "demand"
WHOLE = Fraction(100)
SHARE = "share"


@dataclass(frozen=True, slots=True)
class Case:
    """One change and the request with it; `limit` is the limit that changes, if it is one.

    `wider` are changes that allow all that this one allows, and more; `ANSWER` is no change. `of_same_candidates`: the
    deployments to choose from are those of the answer.
    """

    what: str
    key: str
    now: Setting
    asked: Setting
    unit: str
    request: Request
    wider: tuple[str, ...] = ()
    limit: StatedLimit | None = None
    of_same_candidates: bool = False


ANSWER = "the answer"
NO_LIMITS = "no limits"


def without_limits(request: Request) -> Case:
    """Every stated limit lifted: told nowhere, but where it changes nothing, no higher limit does."""
    lifted = request
    for limit in stated_limits(request):
        lifted = with_limit(lifted, limit, None)
    return Case(NO_LIMITS, "limits", None, None, "", lifted, of_same_candidates=True)


def limit_cases(request: Request) -> Iterator[tuple[Case, ...]]:
    """The cases of every stated limit, one limit after the other: less, more, and last without it."""
    for limit in stated_limits(request):
        values: list[Fraction | None] = list(dict.fromkeys(_other_values(request, limit)))
        yield tuple(_of_limit(request, limit, value) for value in (*values, None))


def _other_values(request: Request, limit: StatedLimit) -> Iterator[Fraction]:
    """10 % less, 10 and 25 % more; at least one where only whole ones count. Never less than what is installed."""
    for factor in LIMIT_FACTORS:
        value = limit.value * factor
        if limit.unit != "kW":
            value = Fraction(floor(value) if factor < 1 else ceil(value))
            value = max(value, limit.value + 1) if factor > 1 else value
        if value != limit.value and value >= _installed(request, limit):
            yield value


def _installed(request: Request, limit: StatedLimit) -> int:
    if limit.name != "pods":
        return 0
    return next(site.installed_pods for site in request.sites if site.name == limit.site)


def _of_limit(request: Request, limit: StatedLimit, value: Fraction | None) -> Case:
    without = f"no limit of {limit_in_words(request, limit.name, limit.site)}"
    what, wider = without, [NO_LIMITS]
    if value is not None:
        what = f"{stated_in_words(request, limit)} -> {bare_amount(value, limit.unit)}"
        wider = [ANSWER] if value < limit.value else [NO_LIMITS, without]
    changed = with_limit(request, limit, value)
    return Case(what, limit.name, limit.value, value, limit.unit, changed, tuple(wider), limit, of_same_candidates=True)


def policy_cases(plan: Plan) -> Iterator[Case]:
    """Reserve, basis of HBM, KV precisions, headroom, demand, mixed Pods, split precision, spare systems."""
    request = plan.request
    policy = request.policy
    if policy.profile is None:  # an engine profile replaces the reserve (decision 2)
        for reserve in RESERVES:
            if reserve != policy.reserve:
                what = f"reserve {_percent(policy.reserve)} -> {_percent(reserve)}"
                yield _of_policy(request, what, "reserve", reserve, SHARE, replace(policy, reserve=reserve))
    yield from _other_hbm(request)
    for service in request.classes:
        yield from _fewer_precisions(request, service)
    yield from _more_precisions(plan)
    for more in MORE:
        headroom = policy.headroom + more
        what = f"headroom {_percent(policy.headroom)} -> {_percent(headroom)}"
        yield _of_headroom(request, headroom, what, "headroom", policy.headroom, headroom, SHARE)
    for more in MORE:
        headroom = (1 + policy.headroom) * (1 + more) - 1
        asked = WHOLE * (1 + more)
        yield _of_headroom(request, headroom, f"{_percent(more)} more demand", DEMAND, WHOLE, asked, "%")
    mixed, split = policy.mixed_pods, policy.split_precision
    what = "no mixed Pods" if mixed else "mixed Pods allowed"
    wider = (ANSWER,) if mixed else ()
    yield _of_policy(request, what, "mixed_pods", not mixed, "", replace(policy, mixed_pods=not mixed), wider)
    what = "one precision a class" if split else "classes may be split over precisions"
    wider = (ANSWER,) if split else ()
    yield _of_policy(request, what, "split_precision", not split, "", replace(policy, split_precision=not split), wider)
    spare = policy.spare_systems + 1
    what = f"spare systems {policy.spare_systems} -> {spare} of each kind"
    yield _of_policy(request, what, "spare_systems", Fraction(spare), "systems", replace(policy, spare_systems=spare))


def _other_hbm(request: Request) -> Iterator[Case]:
    """HBM by the other basis; systems whose GPU lacks that figure drop out."""
    now = request.policy.hbm
    basis: HbmBasis = "driver" if now == "label" else "label"
    usable = tuple(system for system in request.candidates if system.gpu.hbm_bytes(basis) is not None)
    without = sorted(system.name for system in request.candidates if system not in usable)
    if usable and not installed_systems(request).keys() & set(without):
        what = f"HBM by {basis} in place of {now}" + (f", without {', '.join(without)}" if without else "")
        changed = replace(request, candidates=usable, policy=replace(request.policy, hbm=basis))
        yield Case(what, "hbm", now, basis, "", changed)


def _of_policy(
    request: Request, what: str, key: str, asked: Setting, unit: str, policy: Policy, wider: tuple[str, ...] = ()
) -> Case:
    now = getattr(request.policy, key)
    now = Fraction(now) if isinstance(now, int) and not isinstance(now, bool) else now
    return Case(what, key, now, asked, unit, replace(request, policy=policy), wider)


def _of_headroom(
    request: Request, headroom: Fraction, what: str, key: str, now: Fraction, asked: Fraction, unit: str
) -> Case:
    classes = tuple(replace(service, demand=demand(service.concurrency, headroom)) for service in request.classes)
    changed = replace(request, classes=classes, policy=replace(request.policy, headroom=headroom))
    return Case(what, key, now, asked, unit, changed)


def _fewer_precisions(request: Request, service: ServiceClass) -> Iterator[Case]:
    """Each KV precision taken off the list of a class that accepts several."""
    for kv in service.kv_precisions if len(service.kv_precisions) > 1 else ():
        kept = tuple(other for other in service.kv_precisions if other != kv)
        yield _of_precisions(request, service, kept, f"{kv.name} not accepted for `{service.name}`")


def _more_precisions(plan: Plan) -> Iterator[Case]:
    """Each further KV precision that GPUs of the plan support, for one class after the other.

    In the arithmetic itself, one of fewer bits that runs on as many GPUs allows all that another does.
    """
    request = plan.request
    bought = {name for name, _ in plan.systems}
    on_offer = {system.gpu.generation for system in request.candidates}
    generations = {system.gpu.generation for system in request.candidates if system.name in bought}
    names = {service.name for service in largest_classes(request)}
    for service in request.classes:
        further = list(further_precisions(request, service, generations)) if service.name in names else []
        for kv in further:
            wider = tuple(
                _allowed(other, service)
                for other in further
                if other != kv
                and request.policy.profile is None
                and other.bits.value <= kv.bits.value
                and kv.generations & on_offer <= other.generations
            )
            yield _of_precisions(request, service, (*service.kv_precisions, kv), _allowed(kv, service), wider)


def _allowed(kv: KvPrecision, service: ServiceClass) -> str:
    return f"allow {kv.name} for `{service.name}` too"


def _of_precisions(
    request: Request,
    service: ServiceClass,
    accepted: tuple[KvPrecision, ...],
    what: str,
    wider: tuple[str, ...] = (),
) -> Case:
    classes = tuple(
        replace(each, kv_precisions=accepted) if each.name == service.name else each for each in request.classes
    )
    now, asked = (", ".join(kv.name for kv in kvs) for kvs in (service.kv_precisions, accepted))
    return Case(what, f"{KV_PRECISION}{service.name}", now, asked, "", replace(request, classes=classes), wider)


def _percent(share: Fraction) -> str:
    return plain(share * 100, "%")
