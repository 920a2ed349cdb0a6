"""What a load needs at least, by arithmetic alone: often that already shows that no other choice is better.

Every class takes the pools that are cheapest for it, in parts of a pool where need be: no plan can do with less.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil, gcd

from sizing.facility.system import System
from sizing.program.sets import Sets

ZERO = Fraction(0)

OfSystem = Callable[[System], Fraction]


@dataclass(frozen=True, slots=True)
class Least:
    """No plan on these kinds of system has fewer Pods or GPUs, or less kW of systems. Limits of a site are ignored."""

    pods: int
    gpus: int
    kw: Fraction


def least(sets: Sets, kw_of: OfSystem) -> Least | None:
    """The least that the kinds in `sets` need, at `kw_of` one system; None where they cannot hold every class.

    One kind by itself is counted in whole systems.
    """
    shares = _pod_shares(sets)
    needs = {kind: need for kind, need in _gpu_needs(sets).items() if kind in shares}
    if not needs or not all(any(service.name in need.by_bytes for need in needs.values()) for service in sets.classes):
        return None
    if any(site.installed_systems or site.installed_pods for site in sets.request.sites):
        return Least(0, 0, ZERO)  # what is there already may do
    if len(needs) == 1:
        ((kind, need),) = needs.items()
        system = sets.systems[kind]
        count = _least_systems(sets, system, need)
        most_in_pod = max(fill.count(kind) for fills in sets.fills.values() for fill in fills)
        return Least(-(-count // most_in_pod), count * system.gpus, count * kw_of(system))

    def total(of_system: OfSystem) -> Fraction:
        price = {kind: of_system(sets.systems[kind]) / sets.systems[kind].gpus for kind in needs}
        return sum(_least_by_model(sets, needs, price).values(), ZERO)

    pods, gpus = total(lambda system: shares[system.name]), total(lambda system: Fraction(system.gpus))
    return Least(max(1, ceil(pods)), ceil(gpus), total(kw_of))


@dataclass(frozen=True, slots=True)
class _GpuNeeds:
    """GPUs of one kind of system that one sequence of a class takes, at the deployment that is best for it.

    `by_bytes` in a pool shared with others, `by_count` alone (decision 1). `replica` is the smallest replica of a
    model, `step` divides all its replicas.
    """

    by_bytes: dict[str, Fraction] = field(default_factory=dict)
    by_count: dict[str, Fraction] = field(default_factory=dict)
    replica: dict[str, int] = field(default_factory=dict)
    step: dict[str, int] = field(default_factory=dict)


def _gpu_needs(sets: Sets) -> dict[str, _GpuNeeds]:
    demands = {service.name: service.demand for service in sets.classes}
    needs: dict[str, _GpuNeeds] = defaultdict(_GpuNeeds)
    for candidate in sets.candidates:
        deployment = candidate.deployment
        need, model, gpus = needs[deployment.system.name], deployment.model.name, deployment.gpus_per_replica
        need.replica[model] = min(gpus, need.replica.get(model, gpus))
        need.step[model] = gcd(gpus, need.step.get(model, 0))
        pool = gpus // deployment.pools_per_replica
        for name, size in candidate.sizes.items():
            by_bytes = Fraction(pool * size, candidate.budget)
            by_count = Fraction(pool, min(candidate.alone(name), demands[name]))
            need.by_bytes[name] = min(by_bytes, need.by_bytes.get(name, by_bytes))
            need.by_count[name] = min(by_count, need.by_count.get(name, by_count))
    return needs


def _least_by_model(sets: Sets, needs: dict[str, _GpuNeeds], gpu_price: dict[str, Fraction]) -> dict[str, Fraction]:
    """The least price of the GPUs of each model: of three bounds the highest.

    All its classes by bytes, one of them by count, one replica.
    """
    by_bytes: dict[str, Fraction] = defaultdict(Fraction)
    highest: dict[str, Fraction] = {}
    for service in sets.classes:
        model, name = service.model.name, service.name
        holding = [(gpu_price[kind], need) for kind, need in needs.items() if name in need.by_bytes]
        by_bytes[model] += service.demand * min(price * need.by_bytes[name] for price, need in holding)
        by_count = service.demand * min(price * need.by_count[name] for price, need in holding)
        replica = min(price * need.replica[model] for price, need in holding)
        highest[model] = max(highest.get(model, ZERO), by_count, replica)
    return {model: max(highest[model], by_bytes[model]) for model in highest}


def _least_systems(sets: Sets, system: System, need: _GpuNeeds) -> int:
    """Whole systems of one kind: the GPUs of a model are whole replicas, spare systems come on top."""
    needed = _least_by_model(sets, {system.name: need}, {system.name: Fraction(1)})
    gpus = sum(ceil(of_model / need.step[model]) * need.step[model] for model, of_model in needed.items())
    return -(-gpus // system.gpus) + sets.request.policy.spare_systems


def _pod_shares(sets: Sets) -> dict[str, Fraction]:
    """A share of a Pod for every kind that stands in one, so that the shares of no fill add up to more than 1."""
    shares: dict[str, Fraction] = {}
    for fills in sets.fills.values():
        for fill in fills:
            gpus = sum(sets.systems[kind].gpus * count for kind, count in fill.systems)
            for kind in fill.kinds:
                share = Fraction(sets.systems[kind].gpus, gpus)
                shares[kind] = min(share, shares.get(kind, share))
    return shares
