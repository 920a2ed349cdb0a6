"""Whether HBM by the other basis, the vendor's label or the driver, changes the kinds of system or the number of Pods.

The whole question is what the search would find by that basis. Often arithmetic answers it: the plan's contents still
fit, no plan has fewer Pods, and every other kind of system needs more power than the plan does.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

from sizing.advice.bounds import Least, least
from sizing.facility.loads import known, nameplate_kw
from sizing.facility.system import System
from sizing.plan.brief import brief_of_choice, brief_of_plan, kinds_of
from sizing.plan.plan import OtherHbm, Pattern, Plan, PlanInBrief, Status
from sizing.pool.gpu import HbmBasis
from sizing.program.deployments import Candidate, enumerate_options
from sizing.program.search import Found
from sizing.program.sets import sets_of
from sizing.program.solver import Effort
from sizing.program.within_limits import search_within_limits
from sizing.request.request import Request

MOST_GROUPS = 100
"""Groups of kinds that are weighed by arithmetic, one by one."""


@dataclass(frozen=True, slots=True)
class _Best:
    """The best plan known by the other basis: None where there is none; whether that is `proven`."""

    plan: PlanInBrief | None
    proven: bool


def other_hbm(plan: Plan, effort: Effort) -> tuple[OtherHbm, bool]:
    """What the other basis changes, and whether the clock stopped the search for it."""
    request = plan.request
    basis: HbmBasis = "driver" if request.policy.hbm == "label" else "label"
    usable = tuple(system for system in request.candidates if system.gpu.hbm_bytes(basis) is not None)
    without = tuple(sorted(system.name for system in request.candidates if system not in usable))
    own = brief_of_plan(plan)
    if not usable:
        return OtherHbm(basis, None, False, without), False
    asked = replace(request, policy=replace(request.policy, hbm=basis), candidates=usable)
    stopped = False
    if _is_the_same(request, asked, own):
        best: _Best | None = _Best(own, plan.status is Status.OPTIMAL)
    else:
        best, stopped = _best(plan, own, asked, effort)
    if best is None:
        return OtherHbm(basis, None, False, without), stopped
    found = best.plan
    changes = found is None or (kinds_of(found), found.pods) != (kinds_of(own), own.pods)
    return OtherHbm(basis, changes, best.proven, without, found if changes else None), stopped


def _is_the_same(request: Request, asked: Request, own: PlanInBrief) -> bool:
    """Whether both bases say the same of every candidate that is left, and the plan's own are left."""
    return kinds_of(own) <= {system.name for system in asked.candidates} and all(
        system.gpu.hbm_bytes(request.policy.hbm) == system.gpu.hbm_bytes(asked.policy.hbm)
        for system in asked.candidates
    )


def _best(plan: Plan, own: PlanInBrief, asked: Request, effort: Effort) -> tuple[_Best | None, bool]:
    """The best plan of `asked`, by arithmetic or else by a search as narrow as it may be; None: not settled.

    Where the plan itself is not proven there is no search: between two such plans a difference says nothing.
    """
    candidates = enumerate_options(asked).candidates
    among = candidates
    is_proven = plan.status is Status.OPTIMAL
    if _arithmetic_helps(asked, own):
        kinds, still_fits = kinds_of(own), _still_fits(plan, candidates)
        known_best: _Best | None = _Best(own, True) if still_fits else None
        if not still_fits and is_proven:
            known_best, stopped = _searched(asked, _on(candidates, kinds), effort)
            if stopped:
                return None, True
        if known_best is not None and known_best.plan is not None:
            rivals = _rivals(known_best.plan, asked, candidates)
            if rivals is not None and not rivals:
                return known_best, False
            among = candidates if rivals is None else _on(candidates, kinds | rivals)
    return _searched(asked, among, effort) if is_proven else (None, False)


def _searched(asked: Request, among: tuple[Candidate, ...], effort: Effort) -> tuple[_Best | None, bool]:
    found = search_within_limits(asked, among, effort)
    if isinstance(found, Found):
        return _best_of(asked, found), found.stopped
    return (_Best(None, True) if found.proven else None), found.stopped


def _best_of(asked: Request, found: Found) -> _Best:
    return _Best(brief_of_choice(asked, found.choice), all(stage.value == stage.bound for stage in found.stages))


def _on(candidates: tuple[Candidate, ...], kinds: frozenset[str]) -> tuple[Candidate, ...]:
    return tuple(candidate for candidate in candidates if candidate.deployment.system.name in kinds)


def _still_fits(plan: Plan, candidates: tuple[Candidate, ...]) -> bool:
    """Whether pools of the same deployments, as they are among `candidates`, hold what the plan's pools hold."""
    by_id = {candidate.deployment.id: candidate for candidate in candidates}
    return all(
        planned.deployment.id in by_id and _holds(by_id[planned.deployment.id], pattern)
        for planned in plan.deployments
        for pattern in planned.patterns
    )


def _holds(candidate: Candidate, pattern: Pattern) -> bool:
    sizes = candidate.sizes
    return all(name in sizes for name, _ in pattern.sequences) and (
        sum(sizes[name] * count for name, count in pattern.sequences) <= candidate.budget
    )


def _arithmetic_helps(asked: Request, own: PlanInBrief) -> bool:
    """Whether a plan of other kinds must be of as few kinds, in as few Pods: these stages come first."""
    first, *_ = stages = asked.policy.objective[:2]
    return set(stages) == {"pods", "system_kinds"} and (first == "pods" or len(own.systems) == 1)


def _rivals(incumbent: PlanInBrief, asked: Request, candidates: tuple[Candidate, ...]) -> frozenset[str] | None:
    """Kinds that arithmetic does not exclude in favour of `incumbent`; None: it excludes nothing."""
    whole = least(sets_of(asked, candidates), _nameplate_kw)
    if whole is None or whole.pods < incumbent.pods:
        return None
    kinds = sorted({candidate.deployment.system.name for candidate in candidates})
    groups = [group for size in range(1, len(incumbent.systems) + 1) for group in combinations(kinds, size)]
    if len(groups) > MOST_GROUPS:
        return None
    rivals: set[str] = set()
    for group in map(frozenset, groups):
        needs = least(sets_of(asked, _on(candidates, group)), _nameplate_kw)
        if group == kinds_of(incumbent) or needs is None or needs.pods > incumbent.pods:
            continue
        if len(group) < len(incumbent.systems) or not _is_worse(needs, incumbent, asked.policy.objective[2:3]):
            rivals |= group
    return frozenset(rivals)


def _is_worse(needs: Least, incumbent: PlanInBrief, stage: tuple[str, ...]) -> bool:
    """Whether more is needed than the incumbent has, in the stage that comes after Pods and kinds."""
    if stage == ("power",):
        return needs.kw > incumbent.nameplate_kw
    return stage == ("gpus",) and needs.gpus > incumbent.gpus


def _nameplate_kw(system: System) -> Fraction:
    return known(nameplate_kw(system))
