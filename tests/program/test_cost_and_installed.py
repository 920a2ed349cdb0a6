"""Cost, blends and inventory against trying everything; the oracle adds up prices and purchases by itself."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

import pytest

from sizing.facility.prices import Energy, Price, Prices
from sizing.facility.site import Site
from sizing.plan.check import check
from sizing.plan.compose import compose
from sizing.plan.plan import Plan
from sizing.program.deployments import enumerate_options
from sizing.program.exact import NotFound
from sizing.program.search import Found, search
from sizing.program.solver import Effort
from sizing.request.request import Request
from tests import plan_builders as build
from tests.program.brute_force import Split, _nothing, _Oracle, _packed
from tests.program.instances import Instance, random_instance, request_of

SEEDS = range(100)
HOURS = 8760


@dataclass(frozen=True)
class Extra:
    """What a case has beside its instance, in the order of its systems. USD; `energy` is (tariff, PUE, years)."""

    prices: tuple[int, ...]
    pod_price: int
    energy: tuple[Fraction, Fraction, int] | None
    installed: tuple[int, ...]
    pods: int
    for_sale: tuple[bool, ...]
    objective: tuple[str, ...]


def random_case(seed: int) -> tuple[Instance, Extra]:
    """A small instance at one site, with prices, an inventory, and stages of all kinds."""
    random = Random(seed)
    instance = random_instance(10_000 + seed)
    instance = replace(instance, sites=instance.sites[:1], objective=("pods",))
    systems = instance.systems
    prices = tuple(random.choice((1, 1, 5)) * 1_000 * (system.gpus * random.randint(20, 60)) for system in systems)
    energy = (Fraction(random.randint(40, 200), 1000), Fraction(random.randint(100, 160), 100), random.randint(1, 5))
    installed = tuple(random.choice((0, 0, 1, 1, 2)) for _ in systems) if random.random() < 0.6 else (0,) * len(systems)
    extra = Extra(
        prices=prices,
        pod_price=random.choice((0, 50_000, 700_000)),
        energy=energy if random.random() < 0.4 else None,
        installed=installed,
        pods=random.choice((0, 0, 1, 2)) if random.random() < 0.6 else 0,
        for_sale=tuple(not count or random.random() < 0.6 for count in installed),
        objective=random.choice(OBJECTIVES),
    )
    if not any(extra.for_sale):
        extra = replace(extra, for_sale=(True, *extra.for_sale[1:]))
    return instance, extra


OBJECTIVES = (
    ("cost",),
    ("cost", "precision"),
    ("cost", "pods", "system_kinds"),
    ("pods", "cost", "gpus"),
    ("system_kinds", "cost", "power"),
    ("pods", "system_kinds", "power", "gpus", "precision"),
    ("gpus", "pods"),
    ("power + 2 gpus", "precision"),
    ("pods", "cost + 30_000 power", "cost"),
    ("precision + 3 gpus", "cost + 40_000 system_kinds"),
    ("cost + 7 weight_precision", "pods"),
)


def request_with(instance: Instance, extra: Extra) -> Request:
    request = request_of(instance)
    (site,) = request.sites
    names = [system.name for system in instance.systems]
    prices = Prices(
        systems={name: usd(price) for name, price in zip(names, extra.prices, strict=True)},
        pods={site.pod.name: usd(extra.pod_price)},
        energy=None
        if extra.energy is None
        else Energy(usd(extra.energy[0]), Fraction(extra.energy[2]), extra.energy[1]),
    )
    there = {name: count for name, count in zip(names, extra.installed, strict=True) if count}
    sold = tuple(name for name, for_sale in zip(names, extra.for_sale, strict=True) if for_sale)
    return replace(
        request,
        sites=(replace(site, installed_systems=there, installed_pods=extra.pods),),
        policy=replace(request.policy, prices=prices, systems=sold, objective=extra.objective),
    )


def usd(amount: int | Fraction) -> Price:
    return Price(Fraction(amount), Fraction(amount))


class Inventory(_Oracle):
    """The oracle for one site where some systems and Pods stand already; `units` are the steps of the stages."""

    def __init__(self, instance: Instance, extra: Extra, units: tuple[Fraction, ...]) -> None:
        super().__init__(instance)
        self.extra = extra
        self.units = units

    def best(self) -> tuple[int, ...] | None:
        """Numbers of systems that stand, and precisions, in the order of their values."""
        splits = [list(self.splits(service)) for service in self.instance.classes]
        ranges = []
        for system, installed, for_sale in zip(
            self.instance.systems, self.extra.installed, self.extra.for_sale, strict=True
        ):
            most = self.most_systems(system) if for_sale else 0
            ranges.append(range(installed, installed + most + 1))
        options = []
        for counts in product(*ranges):
            filled = self.filled_pods(counts)
            if filled is not None:
                options.extend((self.stage_values(counts, filled, split), counts, split) for split in product(*splits))
        options.sort()
        return next((values for values, counts, split in options if self.holds(counts, split)), None)

    def filled_pods(self, counts: tuple[int, ...]) -> int | None:
        """The fewest Pods that hold systems; None where the limits forbid it with all the Pods that then stand."""
        (site,) = self.instance.sites
        filled = _packed(self.instance.systems, site, self.instance.mixed, counts)
        if filled is None:
            return None
        standing, plant = max(filled, self.extra.pods), filled * site.balance
        power, liquid = self.total("power", counts), self.total("liquid", counts)
        counted = standing * site.pod_power if self.instance.basis == "provisioned" else power + plant
        loads = (
            (site.pods, standing),
            (site.power, counted),
            (site.liquid, liquid),
            (site.air, power - liquid + plant),
        )
        return filled if all(limit is None or used <= limit for limit, used in loads) else None

    def total(self, of: str, counts: tuple[int, ...]) -> int:
        return sum(getattr(system, of) * count for system, count in zip(self.instance.systems, counts, strict=True))

    def stage_values(self, counts: tuple[int, ...], filled: int, split: tuple[Split, ...]) -> tuple[int, ...]:
        return tuple(
            sum(
                rounded(weight * amount / unit) * number
                for weight, name in parts(stage)
                for amount, number in self.items(name, counts, filled, split)
            )
            for stage, unit in zip(self.extra.objective, self.units, strict=True)
        )

    def items(
        self, name: str, counts: tuple[int, ...], filled: int, split: tuple[Split, ...]
    ) -> Iterator[tuple[Fraction, int]]:
        """(amount of one, how many) of one stage, of what is bought."""
        (site,) = self.instance.sites
        bought = [count - there for count, there in zip(counts, self.extra.installed, strict=True)]
        new_pods = max(0, filled - self.extra.pods)
        if name == "pods":
            yield Fraction(1), new_pods
        elif name == "system_kinds":
            yield (
                Fraction(1),
                sum(count > there == 0 for count, there in zip(counts, self.extra.installed, strict=True)),
            )
        elif name in ("precision", "weight_precision"):
            for service, pairs in zip(self.instance.classes, split, strict=True):
                for (weights, kv), number in pairs:
                    below = service.kv.index(kv) if name == "precision" else service.weights.index(weights)
                    yield Fraction(below), number
        for system, price, number in zip(self.instance.systems, self.extra.prices, bought, strict=True):
            if name == "power":
                yield Fraction(system.power, 10), number
            elif name == "gpus":
                yield Fraction(system.gpus), number
            elif name == "cost":
                yield price + self.energy(system.power), number
        if name == "cost":
            yield Fraction(self.extra.pod_price), new_pods
            yield self.energy(site.balance), filled

    def energy(self, tenths_of_kw: int) -> Fraction:
        if self.extra.energy is None:
            return Fraction(0)
        tariff, pue, years = self.extra.energy
        return Fraction(tenths_of_kw, 10) * pue * HOURS * years * tariff

    def holds(self, counts: tuple[int, ...], split: tuple[Split, ...]) -> bool:
        """Spare systems are kept of every kind that is bought or used."""
        spare = self.instance.spare
        if any(count < spare for count, there in zip(counts, self.extra.installed, strict=True) if count > there):
            return False
        working = tuple(max(0, count - spare) for count in counts)
        reach = _nothing(tuple(size + 1 for _, _, size in self.axes(split)))
        for number, count in enumerate(working):
            reach = self.join_cached(working[: number + 1], split, reach, self.reach(number, split, count))
        return bool(reach[(-1,) * reach.ndim])


def parts(stage: str) -> Iterator[tuple[int, str]]:
    for term in stage.split(" + "):
        weight, _, name = term.rpartition(" ")
        yield int(weight or 1), name


def rounded(steps: Fraction) -> int:
    """To the nearest whole number, halves up."""
    return int(steps + Fraction(1, 2))


def step(unit: str) -> Fraction:
    """What one step of a stage is worth: the number before its unit."""
    number, _, noun = unit.rpartition(" ")
    return Fraction(number) if noun in ("kW", "USD", "points") else Fraction(1)


def plan_of(request: Request) -> Plan | NotFound:
    options = enumerate_options(request)
    found = search(request, options.candidates, Effort())
    if not isinstance(found, Found):
        return found
    plan = compose(request, found.choice, found.stages, ())
    assert check(plan) == ()
    return plan


@pytest.mark.parametrize("seed", SEEDS)
def test_every_stage_is_the_least_there_is(seed: int) -> None:
    instance, extra = random_case(seed)
    plan = plan_of(request_with(instance, extra))
    if isinstance(plan, NotFound):
        assert plan.proven
        assert Inventory(instance, extra, (Fraction(1),) * len(extra.objective)).best() is None
        return
    units = tuple(step(stage.unit) for stage in plan.stages)
    assert tuple(stage.value for stage in plan.stages) == Inventory(instance, extra, units).best()
    assert all(stage.bound == stage.value for stage in plan.stages)


# By hand: what the random cases above have at one site only.

LONG = 131_072
"""Tokens of which a NODE holds 20 sequences."""


def asked_for(sequences: int, sites: Sequence[Site], **rules: Any) -> Request:
    return build.request(
        [build.service_class("long", context=LONG, concurrency=sequences)],
        (build.NODE,),
        sites,
        build.policy(objective=("pods", "system_kinds", "power", "gpus"), **rules),
    )


def values(plan: Plan | NotFound) -> tuple[int, ...]:
    assert isinstance(plan, Plan)
    return tuple(stage.value for stage in plan.stages)


def at(name: str, pods: int, nodes: int, **limits: Any) -> Site:
    return Site(
        name, build.TEST_POD, installed_systems={"node-8": nodes} if nodes else {}, installed_pods=pods, **limits
    )


def test_what_is_installed_at_either_site_is_used_first() -> None:
    plan = plan_of(asked_for(60, [at("north", 0, 0), at("south", 1, 3)]))
    assert values(plan) == (0, 0, 0, 0)
    assert isinstance(plan, Plan)
    assert [(each.site, each.systems) for each in plan.pods] == [("south", (("node-8", 3),))]
    assert values(plan_of(asked_for(60, [at("north", 1, 1), at("south", 1, 1)]))) == (0, 0, 102, 8)


def test_what_is_installed_stays_at_its_site() -> None:
    """16 nodes fill the Pod in the south; the 17th fits the empty Pod in the north."""
    plan = plan_of(asked_for(340, [at("north", 1, 0), at("south", 1, 16)]))
    assert values(plan) == (0, 0, 102, 8)
    assert isinstance(plan, Plan)
    assert [(each.site, each.systems) for each in plan.pods] == [
        ("north", (("node-8", 1),)),
        ("south", (("node-8", 16),)),
    ]


def test_limits_count_what_is_installed() -> None:
    """Two Pods stand, one of them empty: both take their megawatt; and 3 nodes their heat."""
    assert values(plan_of(asked_for(60, [at("site", 2, 3, power_kw=Fraction(2000))]))) == (0, 0, 0, 0)
    assert plan_of(asked_for(60, [at("site", 2, 3, power_kw=Fraction(1999))])) == NotFound(proven=True, stopped=False)
    assert values(plan_of(asked_for(20, [at("site", 1, 3, air_kw=Fraction("30.6"))]))) == (0, 0, 0, 0)
    assert plan_of(asked_for(80, [at("site", 1, 3, air_kw=Fraction("40.7"))])) == NotFound(proven=True, stopped=False)


def test_supply_is_what_can_be_bought() -> None:
    assert values(plan_of(asked_for(100, [at("site", 1, 3)], supply={"node-8": 2}))) == (0, 0, 204, 16)
    assert isinstance(plan_of(asked_for(120, [at("site", 1, 3)], supply={"node-8": 2})), NotFound)


@pytest.mark.parametrize(
    ("nodes", "spare", "sequences", "bought"), [(3, 1, 40, 0), (3, 1, 60, 1), (1, 2, 20, 2), (2, 2, 20, 1)]
)
def test_installed_systems_may_be_the_spare_ones(nodes: int, spare: int, sequences: int, bought: int) -> None:
    plan = plan_of(asked_for(sequences, [at("site", 1, nodes)], spare_systems=spare))
    assert values(plan)[3] == 8 * bought


def test_an_installed_kind_that_is_neither_used_nor_bought_needs_no_spare() -> None:
    big = build.system("big-8", hbm_gb=288, kw="14.5")
    request = asked_for(200, [at("site", 2, 1)], spare_systems=3)
    request = replace(
        request, candidates=(build.NODE, big), policy=replace(request.policy, systems=("big-8",), objective=("gpus",))
    )
    plan = plan_of(request)
    assert isinstance(plan, Plan)
    assert plan.systems == (("big-8", 8), ("node-8", 1))  # 45 sequences each: five work, three stand spare
    assert values(plan) == (64,)
