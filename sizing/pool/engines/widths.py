"""Widths that activations depend on, read off a shape."""

from dataclasses import dataclass

from sizing.sequence.feed_forward import Experts, GatedMlp, PlainMlp
from sizing.sequence.latent import SparseLatentAttention
from sizing.sequence.model import ModelShape


@dataclass(frozen=True, slots=True)
class ExpertWidths:
    """A layer of routed experts: how many a token uses, the width of one, and the width that they work in."""

    active: int
    intermediate: int
    hidden: int


def widest_mlp(model: ModelShape) -> int:
    """Intermediate width of the widest feed-forward that every token passes; 0 where there is none."""
    widths = [0]
    for block in model.blocks:
        match block.feed_forward:
            case GatedMlp() | PlainMlp() as mlp:
                widths.append(mlp.intermediate)
            case Experts() as experts:
                widths += [experts.shared_intermediate, experts.dense_intermediate]
    return max(widths)


def expert_widths(model: ModelShape) -> ExpertWidths | None:
    """Of the layer whose experts need most; None without routed experts."""
    found = [
        ExpertWidths(experts.active_experts, experts.intermediate, experts.latent or model.hidden)
        for block in model.blocks
        if isinstance(experts := block.feed_forward, Experts)
    ]
    return max(found, key=lambda widths: widths.active * max(widths.intermediate, widths.hidden), default=None)


def sparse_latent(model: ModelShape) -> SparseLatentAttention | None:
    """The first layer whose latents an indexer chooses among; None without one."""
    return next((kind for _, kind in model.layers() if isinstance(kind, SparseLatentAttention)), None)
