"""Classes of weight tensors: what a format quantises, and what is sharded or copied, is decided per class."""

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """What a tensor is for. Formats speak of roles, never of tensor names."""

    EMBEDDING = "embedding"
    HEAD = "head"
    LOOKUP = "lookup"  # tables that a token reads a row of: positions, per-layer embeddings
    ATTENTION = "attention"
    RECURRENT = "recurrent"  # projections of Mamba, gated delta net, KDA, lightning, short convolutions
    INDEXER = "indexer"
    FEED_FORWARD = "feed_forward"
    SHARED_EXPERTS = "shared_experts"
    ROUTED_EXPERTS = "routed_experts"
    ROUTED_EXPERT_BIASES = "routed_expert_biases"
    EXPERT_PROJECTIONS = "expert_projections"  # into and out of the width of latent experts
    ROUTER = "router"
    NORM = "norm"
    SMALL = "small"  # biases, sinks, convolutions, decays and other vectors
    ENCODER = "encoder"  # of images or sound, beside the language model


ROUTED = frozenset({Role.ROUTED_EXPERTS, Role.ROUTED_EXPERT_BIASES})


@dataclass(frozen=True, slots=True)
class Tensors:
    """`parameters` weights of one role. Routed experts are counted for one expert, `experts` of which exist.

    `active_experts` is how often a token uses them. `most_shards` is over how many ranks they can be split before an
    engine copies them: 1 is a copy on every rank, None no limit.
    """

    role: Role
    parameters: int
    experts: int = 1
    active_experts: int = 1
    most_shards: int | None = None

    @property
    def total(self) -> int:
        return self.parameters * self.experts

    @property
    def active(self) -> int:
        """Weights that one token multiplies with; a table is only looked up in."""
        return 0 if self.role is Role.LOOKUP else self.parameters * self.active_experts

    def copies(self, tp: int) -> int:
        """How many copies of each weight `tp` ranks hold together, rounded up."""
        return 1 if self.most_shards is None else max(1, -(-tp // self.most_shards))


def copied(role: Role, parameters: int) -> Tensors:
    """Weights that every rank holds."""
    return Tensors(role, parameters, most_shards=1)
