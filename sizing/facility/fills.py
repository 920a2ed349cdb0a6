"""The fills of a Pod: so many systems of one kind, or of two (`policy.mixed_pods`), and no room for one more."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from sizing.facility.bill_rules import balance
from sizing.facility.loads import air_kw, known, liquid_kw, nameplate_kw
from sizing.facility.pod import Balance, Fill
from sizing.facility.site import Site
from sizing.facility.system import System

Population = Mapping[str, int]
ZERO = Fraction(0)
NOTHING = Balance()


@dataclass(frozen=True, slots=True)
class Lack:
    """Something of which a Pod has less than is needed."""

    what: str
    unit: str
    needed: Fraction
    allowed: Fraction


class PodRoom:
    """What one Pod of a site can hold: GPU slots, IT power, liquid and air heat, balance of plant included.

    A heat limit that neither the workload nor the catalog knows is not checked here: which systems may enter such a
    Pod at all is decided with the candidates (decision 7). `at_most` of a kind are there to enter it, however much
    room there is: those installed, where no more may be bought.
    """

    def __init__(self, site: Site, systems: Sequence[System], at_most: Population | None = None) -> None:
        self.site = site
        self.at_most = at_most or {}
        self.systems = {system.name: system for system in systems}

    def balance(self, population: Population) -> Balance:
        rules = self.site.pod.bill_rules
        if rules is None:
            return Balance()
        return balance(rules, [(self.systems[name], count) for name, count in population.items()])

    def holds(self, population: Population) -> bool:
        """Whether a Pod can hold these systems with the balance of plant that they need."""
        return self._holds_alone(population) and self._holds_alone(population, self.balance(population))

    def lacks(self, population: Population) -> tuple[Lack, ...]:
        """What a Pod has too little of for these systems with the balance of plant that they need."""
        return tuple(self._lacks(population, self.balance(population)))

    def _holds_alone(self, population: Population, extra: Balance = NOTHING) -> bool:
        """Whether a Pod can hold these systems beside `extra`."""
        are_there = all(count <= self.at_most.get(name, count) for name, count in population.items())
        return are_there and next(self._lacks(population, extra), None) is None

    def _lacks(self, population: Population, extra: Balance) -> Iterator[Lack]:
        members = [(self.systems[name], count) for name, count in population.items()]
        slots, taken = self.site.pod.gpu_slots.value, sum(system.gpus * count for system, count in members)
        if taken > slots:
            yield Lack("GPU slots", "", Fraction(taken), Fraction(slots))
        for what, limit, extra_kw, of in (
            ("IT power", self.site.pod.it_power_kw, extra.kw, nameplate_kw),
            ("heat to liquid", self.site.liquid_kw_per_pod, extra.liquid_kw, liquid_kw),
            ("heat to air", self.site.air_kw_per_pod, extra.air_kw, air_kw),
        ):
            if limit is None:
                continue
            needed = extra_kw + sum((known(of(system)) * count for system, count in members), ZERO)
            if needed > limit:
                yield Lack(what, "kW", needed, limit)

    def most(self, system: str, beside: Population) -> int:
        """The most systems of one kind beside others that are there already; -1 where not even those fit.

        Systems alone need no less with every one more, so that their number is found by halving; what they need beside
        them is then counted down from there.
        """
        fits = range(self.site.pod.gpu_slots.value // self.systems[system].gpus + 1)
        count = bisect_left(fits, True, key=lambda number: not self._holds_alone({**beside, system: number})) - 1
        while count >= 0 and not self.holds({**beside, system: count} if count else beside):
            count -= 1
        return count

    def fill(self, population: Population) -> Fill:
        return Fill(tuple(sorted(population.items())), self.balance(population))


def fills(site: Site, systems: Sequence[System], mixed: bool, at_most: Population | None = None) -> tuple[Fill, ...]:
    """All maximal fills of one kind, and with `mixed` of two kinds, sorted by name; `at_most` as in `PodRoom`."""
    room = PodRoom(site, systems, at_most)
    names = sorted(room.systems)
    most = {name: room.most(name, {}) for name in names}
    found = [room.fill({name: most[name]}) for name in names if most[name] > 0]
    if mixed:
        for first, second in combinations([name for name in names if most[name] > 0], 2):
            found.extend(room.fill(population) for population in _pairs(room, first, second, most[first]))
    return tuple(found)


def _pairs(room: PodRoom, first: str, second: str, most_first: int) -> Iterator[Population]:
    """Maximal populations of both kinds: the second is as many as fit, and one more of the first would not fit."""
    beside = [room.most(second, {first: count}) for count in range(1, most_first + 1)]
    for count, most_second in enumerate(beside, start=1):
        following = beside[count] if count < len(beside) else -1
        if most_second > 0 and following < most_second:
            yield {first: count, second: most_second}
