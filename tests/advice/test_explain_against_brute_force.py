"""Every number of an explanation against an oracle that tries everything, on small random instances without a plan.

The oracle only says whether an instance has a plan. A limit that is needed must give one, and a tenth of a kW or one
Pod or system less must not; and so on.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import count, product
from math import ceil, floor
from random import Random

import pytest

from sizing.advice.answer import answer
from sizing.plan.limits import stated_limits
from sizing.plan.plan import NoPlan, Relaxation, StatedLimit
from sizing.program.solver import Effort
from tests.program.brute_force import best_values, size_of
from tests.program.instances import KV, ClassCase, Instance, random_instance, request_of

NUMBERS = range(8)
SEEDS_OF_A_NUMBER = 100
"""The first of these that is as it should be counts."""

SMALL = 1_000
"""Combinations that the oracle has to look at."""

FAR = 8
"""Pods or systems beyond a limit that are tried for the cheapest combination."""

Values = Mapping[tuple[str, str | None], int | None]
"""Limits in the units of an instance: tenths of a kW, Pods, systems; None is unlimited."""

NAMES = {"power": "power", "liquid_heat": "liquid", "air_heat": "air", "pods": "pods"}


@cache
def has_plan(instance: Instance) -> bool:
    return best_values(replace(instance, objective=("pods",))) is not None


def units(unit: str, amount: Fraction) -> Fraction:
    return amount * 10 if unit == "kW" else amount


def with_values(instance: Instance, values: Values) -> Instance:
    """The instance with other limits."""
    sites = []
    for site in instance.sites:
        here = {NAMES[name]: value for (name, place), value in values.items() if place == site.name}
        sites.append(replace(site, **here))
    supply = dict(instance.supply)
    for (name, place), value in values.items():
        if place is None:
            supply[name.removeprefix("supply:")] = 99 if value is None else value
    return replace(instance, sites=tuple(sites), supply=tuple(supply.items()))


def with_demands(instance: Instance, demands: Mapping[str, int]) -> Instance:
    classes = [replace(each, demand=demands[each.name]) for each in instance.classes]
    return replace(instance, classes=tuple(each for each in classes if each.demand))


def without_limits(instance: Instance, kept: Iterable[StatedLimit], stated: Iterable[StatedLimit]) -> Instance:
    return with_values(instance, {limit.key: None for limit in stated if limit not in list(kept)})


def ways(found: NoPlan) -> list[list[Relaxation]]:
    numbers = sorted({change.option for change in found.relaxations})
    return [[change for change in found.relaxations if change.option == number] for number in numbers]


def of_limits(way: list[Relaxation]) -> bool:
    return all(isinstance(change.needed, Fraction) and change.limit != "concurrency" for change in way)


def without_a_plan(number: int, tightened: Callable[[Instance, Random], Instance]) -> Instance:
    """A small instance that has a plan without limits, and none with those that it is given."""
    for seed in count(number * SEEDS_OF_A_NUMBER):
        instance = random_instance(seed)
        bare = without_limits(instance, (), stated_of(instance))
        if size_of(bare) > SMALL or not has_plan(bare):
            continue
        tight = tightened(bare, Random(seed))
        if len(stated_of(tight)) > 1 and size_of(tight) <= SMALL and not has_plan(tight):
            return tight
    raise AssertionError("unreachable")


def as_it_came(number: int) -> Instance:
    """A small instance without a plan, for whatever reason."""
    seeds = range(number * SEEDS_OF_A_NUMBER, (number + 1) * SEEDS_OF_A_NUMBER)
    instances = map(random_instance, seeds)
    return next(instance for instance in instances if size_of(instance) <= SMALL and not has_plan(instance))


def scarce(bare: Instance, random: Random) -> Instance:
    """Limits of all kinds, about as much as the plan of least power uses, or less."""
    found = best_values(replace(bare, objective=("power", "pods")))
    assert found is not None
    power, pods = found

    def below(amount: int) -> int | None:
        return int(amount * random.uniform(0.4, 1.1)) if random.random() < 0.5 else None

    sites = [
        replace(site, power=below(power), air=below(power), liquid=below(power), pods=below(pods))
        for site in bare.sites
    ]
    supply = [(system.name, random.choice((0, 1, 1, 2, 3))) for system in bare.systems if random.random() < 0.5]
    return replace(bare, sites=tuple(sites), supply=tuple(supply), basis="installed")


def counted(bare: Instance, random: Random) -> Instance:
    """Limits of what is whole: few Pods at every site, few systems of every kind."""
    sites = [replace(site, pods=random.choice((0, 1, 1, 2))) for site in bare.sites]
    supply = [(system.name, random.choice((0, 1, 2, 3))) for system in bare.systems]
    return replace(bare, sites=tuple(sites), supply=tuple(supply)[: 3 - len(sites)])


def outgrown(bare: Instance, random: Random) -> Instance:
    """Limits that the plan of least power keeps, and two or three times its demand; all in bf16 to begin with."""
    classes = tuple(replace(each, kv=("bf16",)) for each in bare.classes)
    bare = replace(bare, classes=classes, basis="installed", split=False)
    found = best_values(replace(bare, objective=("power", "pods")))
    if found is None:
        return bare
    power, pods = found
    sites = [replace(site, power=power + random.randint(0, power), pods=pods) for site in bare.sites]
    more = [replace(each, demand=each.demand * random.choice((2, 3))) for each in classes]
    return replace(bare, sites=tuple(sites), classes=tuple(more))


def explained(instance: Instance) -> NoPlan:
    found = answer(replace(request_of(instance), kv_precisions=tuple(KV.values())), Effort())
    assert isinstance(found, NoPlan)
    assert found.status == "infeasible"
    return found


@pytest.mark.parametrize("tightened", [scarce, outgrown])
@pytest.mark.parametrize("number", NUMBERS)
def test_every_number_is_right(number: int, tightened: Callable[[Instance, Random], Instance]) -> None:
    check_all(without_a_plan(number, tightened))


@pytest.mark.parametrize("number", NUMBERS)
def test_every_number_is_right_where_no_limit_may_be_in_the_way(number: int) -> None:
    check_all(as_it_came(number))


def check_all(instance: Instance) -> None:
    found = explained(instance)
    check_conflicts(instance, found)
    for way in ways(found):
        assert all(change.proven for change in way)  # so small that nothing is left open
        if of_limits(way):
            check_limits(instance, way)
        elif way[0].limit == "concurrency":
            check_concurrency(instance, way[0])
    check_precisions(instance, found)
    check_partial(instance, found)


def stated_of(instance: Instance) -> list[StatedLimit]:
    return list(stated_limits(request_of(instance)))


def limits_are_in_the_way(instance: Instance) -> bool:
    """Whether limits are in the way, and not that a class fits no system."""
    return has_plan(without_limits(instance, (), stated_of(instance)))


def check_conflicts(instance: Instance, found: NoPlan) -> None:
    """Each conflicts by itself, and would not without any one of its limits; without all of them there is a plan.

    One limit by itself is named if, and only if, it suffices.
    """
    stated = stated_of(instance)
    if not limits_are_in_the_way(instance):
        assert found.conflicts == ()
        assert not any(of_limits(way) for way in ways(found))
        return
    assert found.conflicts
    for conflict in found.conflicts:
        assert not has_plan(without_limits(instance, conflict, stated))
        for limit in conflict:
            assert has_plan(without_limits(instance, [each for each in conflict if each != limit], stated))
    together = [limit for conflict in found.conflicts for limit in conflict]
    assert len(together) == len(set(together))
    rest = [limit for limit in stated if limit not in together]
    assert has_plan(without_limits(instance, rest, stated))
    named = {way[0].limit + str(way[0].site) for way in ways(found) if of_limits(way) and len(way) == 1}
    suffice = {limit.name + str(limit.site) for limit in stated if has_plan(with_values(instance, {limit.key: None}))}
    assert named == suffice
    assert suffice or any(of_limits(way) for way in ways(found))


def check_limits(instance: Instance, way: list[Relaxation]) -> None:
    """There is a plan with what is needed; with a unit less of any there is none, all else equal."""
    needed: dict[tuple[str, str | None], int | None] = {}
    for change in way:
        assert isinstance(change.needed, Fraction)
        assert isinstance(change.now, Fraction)
        assert change.now < change.needed
        amount = units(change.unit, change.needed)
        assert amount.denominator == 1
        needed[change.limit, change.site] = int(amount)
    assert has_plan(with_values(instance, needed))
    for key, amount in needed.items():
        assert amount is not None
        assert not has_plan(with_values(instance, {**needed, key: amount - 1}))


def check_concurrency(instance: Instance, change: Relaxation) -> None:
    assert isinstance(change.needed, Fraction)
    assert change.needed.denominator == 1

    def at(percent: Fraction) -> Instance:
        demands = {each.name: ceil(each.demand * percent / 100) for each in instance.classes}
        return with_demands(instance, demands)

    assert has_plan(at(change.needed))
    assert not has_plan(at(change.needed + 1))


def check_precisions(instance: Instance, found: NoPlan) -> None:
    """A class is named by itself if, and only if, it accepts no fp8 yet and that would do."""

    def allowing(names: Iterable[str]) -> Instance:
        classes = tuple(_with_fp8(each) if each.name in names else each for each in instance.classes)
        return replace(instance, classes=classes)

    named = [
        {change.limit.removeprefix("kv_precision:") for change in way}
        for way in ways(found)
        if way[0].limit.startswith("kv_precision:")
    ]
    for names in named:
        if all(change.needed == "fp8" for way in ways(found) for change in way if change.unit == "KV precision"):
            assert has_plan(allowing(names))
    if all("bf16" in each.kv for each in instance.classes):
        alone = {each.name for each in instance.classes if "fp8" not in each.kv and has_plan(allowing([each.name]))}
        assert {name for names in named if len(names) == 1 for name in names} == alone
        everybody = has_plan(allowing([each.name for each in instance.classes]))
        assert bool(named) == everybody


def _with_fp8(service: ClassCase) -> ClassCase:
    return service if "fp8" in service.kv else replace(service, kv=(*service.kv, "fp8"))


def check_partial(instance: Instance, found: NoPlan) -> None:
    """The demands of the share fit; the next larger share does not."""
    partial = found.partial
    demands = {each.name: each.demand for each in instance.classes}
    fitting = {name: number for name, number in demands.items() if fits_alone(instance, name)}
    if partial is None:
        assert not fitting
        return
    assert partial.share == partial.at_most
    assert [(name, demand) for name, demand, _ in partial.served] == sorted(demands.items())
    served = {name: number for name, _, number in partial.served}
    assert has_plan(with_demands(instance, served)) or not any(served.values())
    assert partial.share == min(Fraction(served[name], number) for name, number in fitting.items())
    assert all(not served[name] for name in demands.keys() - fitting)
    if partial.share < 1:
        following = min(Fraction(floor(partial.share * number) + 1, number) for number in fitting.values())
        more = {name: ceil(following * fitting.get(name, 0)) for name in demands}
        assert not has_plan(with_demands(instance, more))


def fits_alone(instance: Instance, name: str) -> bool:
    """Whether one sequence of a class has a plan where nothing is limited."""
    bare = without_limits(instance, (), stated_of(instance))
    return has_plan(with_demands(bare, {each.name: int(each.name == name) for each in bare.classes}))


@pytest.mark.parametrize("number", NUMBERS)
def test_no_combination_of_whole_things_is_cheaper(number: int) -> None:
    """Where all limits count Pods or systems, every combination of them is tried, the cheapest first."""
    instance = without_a_plan(number, counted)
    found = explained(instance)
    shares = [sum(map(_share, way), Fraction(0)) for way in ways(found) if of_limits(way)]
    assert min(shares) == cheapest(instance, stated_of(instance))


def _share(change: Relaxation) -> Fraction:
    assert isinstance(change.needed, Fraction)
    assert isinstance(change.now, Fraction)
    return (change.needed - change.now) / (change.now or 1)


def cheapest(instance: Instance, stated: list[StatedLimit]) -> Fraction:
    """The least sum of shares with which there is a plan."""
    raised = []
    for more in product(range(FAR + 1), repeat=len(stated)):
        share = sum((Fraction(each) / limit.measure for each, limit in zip(more, stated, strict=True)), Fraction(0))
        raised.append((share, {limit.key: int(limit.value) + each for each, limit in zip(more, stated, strict=True)}))
    raised.sort(key=lambda each: each[0])
    return next(share for share, values in raised if has_plan(with_values(instance, values)))
