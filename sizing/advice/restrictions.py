"""The restrictions under which another plan is looked for: only one kind of system, only one KV precision, and so on.

Every plan under a restriction is a plan of the request itself, so the stages of the objective compare them. So is the
plan that comes of the same stages in another order.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from sizing.plan.inventory import bought_systems, installed_systems
from sizing.plan.plan import Plan
from sizing.program.deployments import Candidate
from sizing.request.candidates import refusal
from sizing.request.request import Request

Candidates = tuple[Candidate, ...]

KINDS = "system_kinds"


@dataclass(frozen=True, slots=True)
class Restriction:
    """Part of the candidates, under a policy that may be narrower or order its stages otherwise.

    `names` say in words what is other than asked.
    """

    names: tuple[str, ...]
    request: Request
    candidates: Candidates

    @property
    def name(self) -> str:
        return ", or ".join(self.names)


def restrictions(plan: Plan, candidates: Candidates) -> tuple[Restriction, ...]:
    """Those that the answer does not keep; two that leave the same are one, under both names."""
    merged: dict[object, Restriction] = {}
    for restriction in _restrictions(plan, candidates):
        policy = restriction.request.policy
        key = (
            *(policy.objective, policy.mixed_pods, policy.split_precision, tuple(sorted(policy.supply.items()))),
            tuple((each.deployment.id, tuple(each.sizes)) for each in restriction.candidates),
        )
        same = merged.get(key)
        merged[key] = restriction if same is None else replace(same, names=(*same.names, *restriction.names))
    return tuple(merged.values())


def _restrictions(plan: Plan, candidates: Candidates) -> Iterator[Restriction]:
    request = plan.request
    kinds = _kinds_to_buy(request)
    own = {name for _, name in bought_systems(request, plan.pods)}
    for kind in sorted(kinds):
        if own != {kind}:
            yield _buying(f"only {kind}", {kind}, request, candidates)
    yield from _of_one_kv_precision(plan, candidates)
    if any(len(filled.systems) > 1 for filled in plan.pods):
        policy = replace(request.policy, mixed_pods=False)
        yield Restriction(("without mixed Pods",), replace(request, policy=policy), candidates)
    if any(len(served.precisions) > 1 for served in plan.classes):
        policy = replace(request.policy, split_precision=False)
        yield Restriction(("without split precision",), replace(request, policy=policy), candidates)
    for kind in sorted(own):
        yield _buying(f"without {kind}", kinds - {kind}, request, candidates)
    objective = request.policy.objective
    if KINDS in objective[:-1] and len(kinds) > 1:
        last = (*(stage for stage in objective if stage != KINDS), KINDS)
        yield Restriction(
            ("more kinds of system",), replace(request, policy=replace(request.policy, objective=last)), candidates
        )


def _kinds_to_buy(request: Request) -> set[str]:
    """Kinds that may be bought for some site."""
    return {
        system.name
        for system in request.candidates
        if any(refusal(system, site, request.policy) is None for site in request.sites)
    }


def _buying(name: str, kinds: Collection[str], request: Request, candidates: Candidates) -> Restriction:
    """Only these kinds are bought; what is installed may be used, whatever it is."""
    installed = installed_systems(request).keys()
    none_of = dict.fromkeys(sorted(installed - set(kinds)), 0)
    policy = replace(request.policy, supply={**request.policy.supply, **none_of})
    usable = {*kinds, *installed}
    among = tuple(each for each in candidates if each.deployment.system.name in usable)
    return Restriction((name,), replace(request, policy=policy), among)


def _of_one_kv_precision(plan: Plan, candidates: Candidates) -> Iterator[Restriction]:
    """For each precision, all classes at it that accept it among others; where they do not run at it already."""
    choosing = [service for service in plan.request.classes if len(service.kv_precisions) > 1]
    used = {served.name: {pair.kv for pair in served.precisions} for served in plan.classes}
    for precision in dict.fromkeys(kv.name for service in choosing for kv in service.kv_precisions):
        takers = {service.name for service in choosing if precision in {kv.name for kv in service.kv_precisions}}
        if any(used[name] != {precision} for name in takers):
            among = tuple(_held_at(precision, takers, candidates))
            yield Restriction((f"KV {precision} only",), plan.request, among)


def _held_at(precision: str, takers: Collection[str], candidates: Candidates) -> Iterator[Candidate]:
    """The candidates as they are where these classes are held at one precision alone."""
    for each in candidates:
        at_it = each.deployment.kv_precision.name == precision
        sizes = {name: size for name, size in each.sizes.items() if at_it or name not in takers}
        if sizes:
            yield replace(each, sizes=sizes)
