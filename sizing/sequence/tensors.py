"""Classes of weight tensors: what a format quantises and what it leaves in bf16 is decided per class."""

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """What a tensor is for. Formats and sharding speak of roles, never of tensor names."""

    EMBEDDING = "embedding"
    HEAD = "head"
    ATTENTION = "attention"
    FEED_FORWARD = "feed_forward"
    SHARED_EXPERTS = "shared_experts"
    ROUTED_EXPERTS = "routed_experts"
    ROUTED_EXPERT_BIASES = "routed_expert_biases"
    ROUTER = "router"
    NORM = "norm"
    SMALL = "small"  # biases, sinks and other vectors


ROUTED = frozenset({Role.ROUTED_EXPERTS, Role.ROUTED_EXPERT_BIASES})


@dataclass(frozen=True, slots=True)
class Tensors:
    """`parameters` weights of one role. Routed experts are counted for one expert, `experts` of which exist."""

    role: Role
    parameters: int
    experts: int = 1
    active_experts: int = 1

    @property
    def total(self) -> int:
        return self.parameters * self.experts

    @property
    def active(self) -> int:
        return self.parameters * self.active_experts
