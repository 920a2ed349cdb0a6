"""Layouts: how the GPUs of one replica share a model, and which layouts a domain admits (the ladder)."""

from collections.abc import Iterator
from dataclasses import dataclass

from sizing.sequence.model import ModelShape
from sizing.sequence.sharding import Sharding


@dataclass(frozen=True, slots=True, order=True)
class Layout:
    """`attention_dp` pools of `tp` GPUs each make one replica. `dcp` divides `tp` and adds no GPUs.

    Routed experts shard over all GPUs of the replica (`ep`); a model without them has ep 1.
    """

    tp: int
    dcp: int = 1
    attention_dp: int = 1
    ep: int = 1

    @property
    def gpus_per_replica(self) -> int:
        return self.tp * self.attention_dp

    @property
    def sharding(self) -> Sharding:
        return Sharding(self.tp, self.dcp)

    def __str__(self) -> str:
        parts = [f"TP {self.tp}"]
        if self.dcp > 1:
            parts.append(f"DCP {self.dcp}")
        if self.attention_dp > 1:
            parts.append(f"attention DP {self.attention_dp}")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class DroppedLayout:
    """A layout that is not offered, and why."""

    layout: Layout
    why: str


def layout_for(model: ModelShape, tp: int, attention_dp: int = 1, dcp: int = 1) -> Layout:
    """The layout with its expert parallelism: all GPUs of the replica where the model has routed experts."""
    return Layout(tp, dcp, attention_dp, tp * attention_dp if model.has_routed_experts else 1)


def ladder(domain_gpus: int) -> tuple[int, ...]:
    """Replica sizes on a domain of `domain_gpus`: the powers of two below it, and itself."""
    sizes = []
    size = 1
    while size < domain_gpus:
        sizes.append(size)
        size *= 2
    return (*sizes, domain_gpus)


def divisors(number: int) -> tuple[int, ...]:
    """All divisors, ascending."""
    return tuple(candidate for candidate in range(1, number + 1) if number % candidate == 0)


def layouts(
    model: ModelShape, domain_gpus: int, dcp: bool = False
) -> tuple[tuple[Layout, ...], tuple[DroppedLayout, ...]]:
    """(layouts offered, layouts dropped with the reason) of `model` on a domain.

    Attention data parallel copies all weights but the routed experts. For a model without them it is the same as so
    many separate replicas, and is offered only where `tp` itself is off the ladder. `dcp` asks for decode context
    parallel layouts too.
    """
    sizes = ladder(domain_gpus)
    offered: list[Layout] = []
    dropped: list[DroppedLayout] = []
    for tp in range(1, domain_gpus + 1):
        reason = model.refusal(Sharding(tp))
        if reason is not None:
            dropped.extend(DroppedLayout(layout_for(model, tp), reason) for size in sizes if size == tp)
            continue
        if all(size % tp for size in sizes):
            dropped.append(
                DroppedLayout(layout_for(model, tp), f"no replica size on the ladder {sizes} is a multiple of TP {tp}")
            )
            continue
        for size in sizes:
            if size % tp or (size > tp and tp in sizes and not model.has_routed_experts):
                continue
            for split in _token_splits(model, tp, dcp):
                offered.append(layout_for(model, tp, size // tp, split))
    return tuple(sorted(offered, key=lambda layout: (layout.gpus_per_replica, layout))), tuple(dropped)


def _token_splits(model: ModelShape, tp: int, dcp: bool) -> Iterator[int]:
    yield 1
    if dcp:
        for split in divisors(tp)[1:]:
            if model.refusal(Sharding(tp, split)) is None:
                yield split
