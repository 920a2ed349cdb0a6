"""How few Pods some kinds of system could do with: arithmetic, for telling quickly which kinds are worth a search."""

from collections.abc import Iterable
from functools import cached_property
from math import inf

from sizing.program.sets import Sets


class Promise:
    """The Pods that all sequences fill, each on the kind of system and in the deployment where it takes least.

    It is the fractional relaxation with everything but the bytes of sequences and the Pods that hold them left out: a
    lower bound, as long as a Pod holds one kind of system.
    """

    def __init__(self, sets: Sets) -> None:
        self._sets = sets

    def pods(self, kinds: Iterable[str]) -> float:
        """In fractions, with these kinds only; infinite where they cannot serve all."""
        chosen = list(kinds)
        return sum(
            service.demand * min((self._pods_of_one.get((kind, service.name), inf) for kind in chosen), default=inf)
            for service in self._sets.classes
        )

    @cached_property
    def _pods_of_one(self) -> dict[tuple[str, str], float]:
        """Share of a Pod that one sequence takes at the least, by (kind, class)."""
        fills = [fill for fills in self._sets.fills.values() for fill in fills]
        least: dict[tuple[str, str], float] = {}
        for kind, system in self._sets.systems.items():
            pod_gpus = system.gpus * max((fill.count(kind) for fill in fills), default=0)
            for candidate in self._sets.candidates:
                deployment = candidate.deployment
                if deployment.system.name != kind or not pod_gpus:
                    continue
                pool = deployment.gpus_per_replica / deployment.pools_per_replica / pod_gpus
                for name in candidate.sizes:
                    least[kind, name] = min(least.get((kind, name), inf), pool * float(candidate.share(name)))
        return least
