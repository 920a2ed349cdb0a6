"""Feed-forward layers: a gated MLP, or routed experts beside shared ones. Field names are keys of a catalog entry."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from sizing.sequence.tensors import Role, Tensors


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedForward(ABC):
    """One kind of feed-forward layer."""

    name: ClassVar[str]

    @abstractmethod
    def tensors(self, hidden: int) -> tuple[Tensors, ...]:
        """Weights of one layer for a model `hidden` wide."""


Kind = TypeVar("Kind", bound=FeedForward)
KINDS: dict[str, type[FeedForward]] = {}


def feed_forward_kind(name: str) -> Callable[[type[Kind]], type[Kind]]:
    """Register a kind under the name that catalogs use for it."""

    def register(cls: type[Kind]) -> type[Kind]:
        cls.name = name
        KINDS[name] = cls
        return cls

    return register


@feed_forward_kind("gated")
@dataclass(frozen=True, slots=True, kw_only=True)
class GatedMlp(FeedForward):
    """Gate, up and down projection: 3 x hidden x intermediate."""

    intermediate: int

    def tensors(self, hidden: int) -> tuple[Tensors, ...]:
        return (Tensors(Role.FEED_FORWARD, 3 * hidden * self.intermediate),)


@feed_forward_kind("experts")
@dataclass(frozen=True, slots=True, kw_only=True)
class Experts(FeedForward):
    """`experts` gated MLPs, `active_experts` of them used by a token; `shared_intermediate` is the width of all shared.

    `router_bias` is a bias per expert in the router (a linear bias, or the correction of loss-free balancing),
    `expert_bias` one per output of each expert's projections (gpt-oss).
    """

    experts: int
    active_experts: int
    intermediate: int
    shared_intermediate: int = 0
    router_bias: bool = False
    expert_bias: bool = False

    def tensors(self, hidden: int) -> tuple[Tensors, ...]:
        bias = (2 * self.intermediate + hidden) * self.expert_bias
        return (
            Tensors(Role.ROUTED_EXPERTS, 3 * hidden * self.intermediate, self.experts, self.active_experts),
            Tensors(Role.ROUTED_EXPERT_BIASES, bias, self.experts, self.active_experts),
            Tensors(Role.SHARED_EXPERTS, 3 * hidden * self.shared_intermediate),
            Tensors(Role.ROUTER, hidden * self.experts),
            Tensors(Role.SMALL, self.experts * self.router_bias),
        )
