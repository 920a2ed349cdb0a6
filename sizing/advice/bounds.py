"""What a load needs at least, by arithmetic alone: often that already shows that no other choice is better.

Every class takes the pools that are cheapest for it, in parts of a pool where need be: no plan can do with less.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, gcd

from sizing.facility.system import System
from sizing.program.deployments import Candidate
from sizing.program.sets import Sets

KwOf = Callable[[System], Fraction]


@dataclass(frozen=True, slots=True)
class Least:
    """No plan on these kinds of system has fewer Pods or GPUs, or less kW of systems. Limits of a site are ignored."""

    pods: int
    gpus: int
    kw: Fraction


def least(sets: Sets, kw_of: KwOf) -> Least | None:
    """The least that the kinds in `sets` need, at `kw_of` one system; None where they cannot hold every class.

    One kind by itself is counted in whole systems.
    """
    if not sets.can_serve_all():
        return None
    if len(sets.systems) == 1:
        (system,) = sets.systems.values()
        count = _least_systems(sets, system)
        most_in_pod = max(fill.count(system.name) for fills in sets.fills.values() for fill in fills)
        return Least(-(-count // most_in_pod), count * system.gpus, count * kw_of(system))
    shares = _pod_shares(sets)
    candidates = [candidate for candidate in sets.candidates if candidate.deployment.system.name in shares]
    demands = {service.name: service.demand for service in sets.classes}

    def total(of_system: Callable[[System], Fraction]) -> Fraction:
        price = {name: of_system(system) / system.gpus for name, system in sets.systems.items()}
        return sum(least_by_model(candidates, demands, price).values(), Fraction(0))

    pods = total(lambda system: shares.get(system.name, Fraction(0)))
    return Least(max(1, ceil(pods)), ceil(total(lambda system: Fraction(system.gpus))), total(kw_of))


def least_by_model(
    candidates: Iterable[Candidate], demands: Mapping[str, int], gpu_price: Mapping[str, Fraction]
) -> dict[str, Fraction]:
    """The least price of GPUs that hold the classes of each model, by a price of one GPU of each kind of system.

    Three bounds, of which the highest counts: bytes, over all classes; whole sequences of one class in a pool by
    themselves (decision 1); one replica.
    """
    by_bytes: dict[str, dict[str, Fraction]] = defaultdict(dict)
    by_count: dict[str, dict[str, Fraction]] = defaultdict(dict)
    replicas: dict[str, Fraction] = {}
    for candidate in candidates:
        deployment = candidate.deployment
        model = deployment.model.name
        gpu = gpu_price[deployment.system.name]
        _lower(replicas, model, gpu * deployment.gpus_per_replica)
        pool = gpu * deployment.gpus_per_replica / deployment.pools_per_replica
        for name in candidate.sizes:
            _lower(by_bytes[model], name, pool * candidate.share(name))
            _lower(by_count[model], name, pool / min(candidate.alone(name), demands[name]))
    return {
        model: max(
            replicas[model],
            sum((price * demands[name] for name, price in by_bytes[model].items()), Fraction(0)),
            *(price * demands[name] for name, price in by_count[model].items()),
        )
        for model in by_bytes
    }


def _least_systems(sets: Sets, system: System) -> int:
    """Whole systems of one kind: the GPUs of a model are whole replicas, spare systems come on top."""
    demands = {service.name: service.demand for service in sets.classes}
    steps: dict[str, int] = defaultdict(int)
    for candidate in sets.candidates:
        model = candidate.deployment.model.name
        steps[model] = gcd(steps[model], candidate.deployment.gpus_per_replica)
    needed = least_by_model(sets.candidates, demands, {system.name: Fraction(1)})
    gpus = sum(ceil(of_model / steps[model]) * steps[model] for model, of_model in needed.items())
    return -(-gpus // system.gpus) + sets.request.policy.spare_systems


def _pod_shares(sets: Sets) -> dict[str, Fraction]:
    """A share of a Pod for every kind that stands in one, so that the shares of no fill add up to more than 1."""
    shares: dict[str, Fraction] = {}
    for fills in sets.fills.values():
        for fill in fills:
            gpus = sum(sets.systems[name].gpus * count for name, count in fill.systems)
            for name in fill.kinds:
                _lower(shares, name, Fraction(sets.systems[name].gpus, gpus))
    return shares


def _lower(values: dict[str, Fraction], key: str, value: Fraction) -> None:
    if key not in values or value < values[key]:
        values[key] = value
