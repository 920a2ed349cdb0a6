"""The answer to a small instance by trying everything. It shares no code with the program, nor with the physics.

`reach` arrays have one axis a class: `reach[v]` tells whether at least v sequences of each class can be held. They
are joined by trying every way of holding part of the sequences here and the others there.
"""

from collections.abc import Iterator
from functools import cache
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from tests.program.instances import (
    GB,
    HEAD_DIM,
    LAYERS,
    QUERY_HEADS,
    ClassCase,
    Instance,
    ModelCase,
    SiteCase,
    SystemCase,
    parameters,
)

Reach = NDArray[np.bool_]
Pair = tuple[str, str]
"""Weight and KV precision."""

Split = tuple[tuple[Pair, int], ...]
"""How many sequences of one class run at each pair of precisions."""

BYTES = {"bf16": 2, "fp8": 1}
KV_GENERATIONS = {"bf16": ("old", "new"), "fp8": ("new",)}


def best_values(instance: Instance) -> tuple[int, ...] | None:
    """The least value of every stage of the objective, in its order; None where there is no plan."""
    oracle = _Oracle(instance)
    return oracle.best()


class _Oracle:
    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.shapes = {model.name: model for model in instance.models}
        self.reached: dict[tuple[str, tuple[Split, ...]], list[Reach]] = {}
        self.joined: dict[tuple[tuple[int, ...], tuple[Split, ...]], Reach] = {}
        self.hopeless: list[tuple[tuple[Split, ...], tuple[int, ...]]] = []

    def best(self) -> tuple[int, ...] | None:
        """Numbers of systems and precisions in the order of their values; the first that holds everybody."""
        instance = self.instance
        splits = [list(self.splits(service)) for service in instance.classes]
        most = [self.most_systems(system) for system in instance.systems]
        options = []
        for counts in product(*(range(limit + 1) for limit in most)):
            pods = self.fewest_pods(counts)
            if pods is None:
                continue
            for split in product(*splits):
                options.append((self.values(counts, pods, split), counts, split))
        options.sort()
        for values, counts, split in options:
            if self.holds(counts, split):
                return values
        return None

    def values(self, counts: tuple[int, ...], pods: int, split: tuple[Split, ...]) -> tuple[int, ...]:
        systems = self.instance.systems
        steps = {"precision": 0, "weight_precision": 0}
        for service, parts in zip(self.instance.classes, split, strict=True):
            for (weights, kv), number in parts:
                steps["precision"] += number * service.kv.index(kv)
                steps["weight_precision"] += number * service.weights.index(weights)
        values = {
            "pods": pods,
            "system_kinds": sum(count > 0 for count in counts),
            "power": sum(system.power * count for system, count in zip(systems, counts, strict=True)),
            "gpus": sum(system.gpus * count for system, count in zip(systems, counts, strict=True)),
            **steps,
        }
        return tuple(values[stage] for stage in self.instance.objective)

    # How classes may be split over precisions

    def splits(self, service: ClassCase) -> Iterator[Split]:
        pairs = list(product(service.weights, service.kv))
        if not self.instance.split:
            yield from (((pair, service.demand),) for pair in pairs)
            return
        for numbers in product(range(service.demand + 1), repeat=len(pairs)):
            if sum(numbers) == service.demand:
                yield tuple((pair, number) for pair, number in zip(pairs, numbers, strict=True) if number)

    # What one pool holds, in bytes

    def per_token(self, model: ModelCase, kv: str, tp: int) -> int:
        """K and V of every layer; past as many GPUs as there are KV heads each keeps one head of its own."""
        return 2 * LAYERS * HEAD_DIM * max(model.kv_heads, tp) * BYTES[kv]

    def room(self, system: SystemCase, model: ModelCase, weights: str, tp: int, gpus: int) -> int:
        """Bytes for the cache on `tp` GPUs of a replica of `gpus`."""
        hbm = system.hbm_gb * GB
        reserve = -(-hbm * self.instance.reserve[0] // self.instance.reserve[1])
        rest, expert = parameters(model)
        on_each = LAYERS * -(-model.experts // gpus) * expert
        return tp * (hbm - reserve) - BYTES[weights] * (rest + tp * on_each)

    def replicas(self, system: SystemCase, model: ModelCase) -> Iterator[tuple[int, int]]:
        """(GPUs, GPUs of one pool): a power of two below the domain, or all of it, in pools that the heads allow."""
        ladder = [size for size in (1, 2, 4, 8, 16) if size < system.domain_gpus] + [system.domain_gpus]
        for gpus in ladder:
            for tp in range(1, gpus + 1):
                heads_fit = model.kv_heads % tp == 0 or tp % model.kv_heads == 0
                if gpus % tp == 0 and QUERY_HEADS % tp == 0 and heads_fit:
                    yield gpus, tp

    # What systems hold: arrays over (class, pair) of a split, each part of it an axis

    def axes(self, split: tuple[Split, ...]) -> list[tuple[ClassCase, Pair, int]]:
        return [
            (service, pair, number)
            for service, parts in zip(self.instance.classes, split, strict=True)
            for pair, number in parts
        ]

    def pool(
        self, system: SystemCase, model: ModelCase, pair: Pair, tp: int, gpus: int, split: tuple[Split, ...]
    ) -> Reach | None:
        """What one pool holds, or None where it holds nothing that is wanted."""
        weights, kv = pair
        axes = self.axes(split)
        shape = tuple(number + 1 for _, _, number in axes)
        room = self.room(system, model, weights, tp, gpus)
        if room <= 0 or system.generation not in KV_GENERATIONS[kv]:
            return None
        taken = np.zeros(shape, dtype=np.int64)
        for axis, (service, of, number) in enumerate(axes):
            fits = service.model == model.name and of == pair
            size = service.context * self.per_token(model, kv, tp) if fits else room + 1
            along = [1] * len(axes)
            along[axis] = number + 1
            taken = taken + size * np.arange(number + 1, dtype=np.int64).reshape(along)
        reach: Reach = taken <= room
        return reach if reach.sum() > 1 else None

    def reach(self, number: int, split: tuple[Split, ...], count: int) -> Reach:
        """What `count` working systems of one kind hold."""
        system = self.instance.systems[number]
        arrays = self.reached.setdefault((system.name, split), [])
        if not arrays:
            arrays.append(_nothing(tuple(size + 1 for _, _, size in self.axes(split))))
            domain = self.domain(system, split)
            self.reached[system.name + " alone", split] = [_power(domain, system.domains)]
        while len(arrays) <= count:
            arrays.append(_join(arrays[-1], self.reached[system.name + " alone", split][0]))
        return arrays[count]

    def domain(self, system: SystemCase, split: tuple[Split, ...]) -> Reach:
        """What one domain holds: any replicas whose GPUs it has."""
        nothing = _nothing(tuple(size + 1 for _, _, size in self.axes(split)))
        by_size: dict[int, Reach] = {}
        for model in self.instance.models:
            pairs = sorted({pair for service, pair, _ in self.axes(split) if service.model == model.name})
            for (gpus, tp), pair in product(self.replicas(system, model), pairs):
                pool = self.pool(system, model, pair, tp, gpus, split)
                if pool is not None:
                    by_size[gpus] = by_size.get(gpus, nothing) | _power(pool, gpus // tp)
        held = [nothing]
        for gpus in range(1, system.domain_gpus + 1):
            reach = held[-1]
            for size, replica in by_size.items():
                if size <= gpus:
                    reach = reach | _join(held[gpus - size], replica)
            held.append(reach)
        return held[-1]

    def holds(self, counts: tuple[int, ...], split: tuple[Split, ...]) -> bool:
        """Whether so many systems, less the spare ones of each kind used, hold everybody at these precisions."""
        if any(count and count < self.instance.spare for count in counts):
            return False
        working = tuple(count - self.instance.spare if count else 0 for count in counts)
        for other, few in self.hopeless:
            if other == split and all(mine <= theirs for mine, theirs in zip(working, few, strict=True)):
                return False
        reach = _nothing(tuple(size + 1 for _, _, size in self.axes(split)))
        for number, count in enumerate(working[:-1]):
            reach = self.join_cached(working[: number + 1], split, reach, self.reach(number, split, count))
        last = self.reach(len(working) - 1, split, working[-1])
        found = bool(np.any(reach & np.flip(last)))
        if not found:
            self.hopeless.append((split, working))
        return found

    def join_cached(self, key: tuple[int, ...], split: tuple[Split, ...], one: Reach, other: Reach) -> Reach:
        if (key, split) not in self.joined:
            self.joined[key, split] = _join(one, other)
        return self.joined[key, split]

    def most_systems(self, system: SystemCase) -> int:
        """So many hold every class by themselves, each in the worst of the precisions that fit; more are of no use."""
        number = self.instance.systems.index(system)
        total = 0
        for service in self.instance.classes:
            worst = 0
            for pair in product(service.weights, service.kv):
                alone = tuple(((pair, service.demand),) if each is service else () for each in self.instance.classes)
                count = 1
                if not self.reach(number, alone, 1)[1]:
                    continue
                while not self.reach(number, alone, count)[service.demand]:
                    count += 1
                worst += count if self.instance.split else max(0, count - worst)
            total += worst
        most = total + self.instance.spare if total else 0
        return min(most, dict(self.instance.supply).get(system.name, most))

    # What sites carry

    def fewest_pods(self, counts: tuple[int, ...]) -> int | None:
        """The fewest Pods over all ways to spread the systems over the sites; None where limits forbid all."""
        fewest: int | None = None
        sites = self.instance.sites
        for north in product(*(range(count + 1) for count in counts)) if len(sites) > 1 else [counts]:
            parts = [north, tuple(c - n for c, n in zip(counts, north, strict=True))]
            pods = [self.pods_at(site, part) for site, part in zip(sites, parts, strict=False)]
            if None not in pods:
                total = sum(number for number in pods if number is not None)
                fewest = total if fewest is None else min(fewest, total)
        return fewest

    def pods_at(self, site: SiteCase, counts: tuple[int, ...]) -> int | None:
        pods = _packed(self.instance.systems, site, self.instance.mixed, counts)
        if pods is None:
            return None
        plant = pods * site.balance
        power = sum(system.power * count for system, count in zip(self.instance.systems, counts, strict=True))
        liquid = sum(system.liquid * count for system, count in zip(self.instance.systems, counts, strict=True))
        counted = pods * site.pod_power if self.instance.basis == "provisioned" else power + plant
        loads = ((site.pods, pods), (site.power, counted), (site.liquid, liquid), (site.air, power - liquid + plant))
        return pods if all(limit is None or used <= limit for limit, used in loads) else None


@cache
def _packed(systems: tuple[SystemCase, ...], site: SiteCase, mixed: bool, counts: tuple[int, ...]) -> int | None:
    """The fewest Pods that take the systems, by trying every content of one Pod after the other."""
    if not any(counts):
        return 0
    fewest: int | None = None
    for content in product(*(range(count + 1) for count in counts)):
        kinds = sum(count > 0 for count in content)
        if not 1 <= kinds <= (2 if mixed else 1) or not _one_pod(systems, site, content):
            continue
        rest = _packed(systems, site, mixed, tuple(c - i for c, i in zip(counts, content, strict=True)))
        if rest is not None and (fewest is None or rest + 1 < fewest):
            fewest = rest + 1
    return fewest


def _one_pod(systems: tuple[SystemCase, ...], site: SiteCase, content: tuple[int, ...]) -> bool:
    def total(of: str) -> int:
        return sum(int(getattr(system, of)) * count for system, count in zip(systems, content, strict=True))

    power, liquid = total("power") + site.balance, total("liquid")
    return (
        total("gpus") <= site.slots
        and power <= site.pod_power
        and (site.pod_liquid is None or liquid <= site.pod_liquid)
        and (site.pod_air is None or power - liquid <= site.pod_air)
    )


def _nothing(shape: tuple[int, ...]) -> Reach:
    reach = np.zeros(shape, dtype=np.bool_)
    reach[(0,) * len(shape)] = True
    return reach


def _power(reach: Reach, times: int) -> Reach:
    result = reach
    for _ in range(times - 1):
        result = _join(result, reach)
    return result


def _join(one: Reach, other: Reach) -> Reach:
    """What both hold together: any part of it in the one, the rest in the other."""
    joined = np.zeros_like(one)
    for held in _fullest(other):
        clipped = [np.maximum(np.arange(size) - number, 0) for size, number in zip(one.shape, held, strict=True)]
        joined |= one[np.ix_(*clipped)]
    return joined


def _fullest(reach: Reach) -> list[tuple[int, ...]]:
    """The contents to which no sequence can be added."""
    fullest = reach.copy()
    for axis in range(reach.ndim):
        more = np.zeros_like(reach)
        into = [slice(None)] * reach.ndim
        of = [slice(None)] * reach.ndim
        into[axis], of[axis] = slice(0, -1), slice(1, None)
        more[tuple(into)] = reach[tuple(of)]
        fullest &= ~more
    return [tuple(int(number) for number in each) for each in np.argwhere(fullest)]


def size_of(instance: Instance) -> int:
    """How many combinations `best_values` has to look at, at most."""
    oracle = _Oracle(instance)
    counts = prod(oracle.most_systems(system) + 1 for system in instance.systems)
    sites = counts if len(instance.sites) > 1 else 1
    return counts * sites * prod(len(list(oracle.splits(service))) for service in instance.classes)
