"""What a family's rule makes of a configuration: layers one by one, before equal ones are counted together."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sizing.intake.configuration import Configuration
from sizing.sequence.attention import AttentionKind
from sizing.sequence.feed_forward import FeedForward, NoFeedForward
from sizing.sequence.model import Block, RoleBits
from sizing.sequence.tensors import Tensors

NOTHING = NoFeedForward()


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer, as `Block` has it but for the count."""

    attention: AttentionKind
    feed_forward: FeedForward = NOTHING
    norms: int = 2
    also: tuple[AttentionKind, ...] = ()
    extra: tuple[Tensors, ...] = ()


@dataclass(frozen=True, slots=True)
class Parts:
    """A model without its name: what `ModelShape` needs of it. `notes` are sentences for the provenance."""

    hidden: int
    vocabulary: int
    tied: bool
    layers: tuple[Layer, ...]
    context_limit: int | None
    final_norms: int = 1
    extra: tuple[Tensors, ...] = ()
    mtp: tuple[Layer, ...] = ()
    mtp_extra: tuple[Tensors, ...] = ()
    notes: tuple[str, ...] = ()


Family = Callable[[Configuration], Parts]


def blocks(layers: Iterable[tuple[Layer, RoleBits]]) -> tuple[Block, ...]:
    """Equal layers counted together, in the order in which they first occur."""
    counts: dict[tuple[Layer, RoleBits], int] = {}
    for layer in layers:
        counts[layer] = counts.get(layer, 0) + 1
    return tuple(
        Block(count, layer.attention, layer.feed_forward, layer.norms, layer.also, layer.extra, bits)
        for (layer, bits), count in counts.items()
    )
