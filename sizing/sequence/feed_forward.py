"""Feed-forward layers: an MLP, gated or not, or routed experts. Field names are keys of a catalog entry."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from sizing.sequence.tensors import Role, Tensors, copied


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


def _mlp(hidden: int, intermediate: int, gated: bool) -> int:
    """Weights of up and down projection, and of a gate."""
    return (2 + gated) * hidden * intermediate


def _biases(hidden: int, intermediate: int, gated: bool) -> int:
    return (1 + gated) * intermediate + hidden


@feed_forward_kind("gated")
@dataclass(frozen=True, slots=True, kw_only=True)
class GatedMlp(FeedForward):
    """Gate, up and down projection: 3 x hidden x intermediate."""

    intermediate: int
    bias: bool = False

    def tensors(self, hidden: int) -> tuple[Tensors, ...]:
        return (
            Tensors(Role.FEED_FORWARD, _mlp(hidden, self.intermediate, True)),
            Tensors(Role.SMALL, _biases(hidden, self.intermediate, True) * self.bias),
        )


@feed_forward_kind("plain")
@dataclass(frozen=True, slots=True, kw_only=True)
class PlainMlp(FeedForward):
    """Up and down projection without a gate: 2 x hidden x intermediate (Falcon, StarCoder2, Nemotron-H)."""

    intermediate: int
    bias: bool = False

    def tensors(self, hidden: int) -> tuple[Tensors, ...]:
        return (
            Tensors(Role.FEED_FORWARD, _mlp(hidden, self.intermediate, False)),
            Tensors(Role.SMALL, _biases(hidden, self.intermediate, False) * self.bias),
        )


@feed_forward_kind("experts")
@dataclass(frozen=True, slots=True, kw_only=True)
class Experts(FeedForward):
    """`experts` MLPs, `active_experts` of them used by a token; `shared_intermediate` is the width of all shared.

    `router_bias` is a bias per expert in the router (a linear bias, or the correction of loss-free balancing),
    `expert_bias` one per output of each expert's projections (gpt-oss). Without `gated` an expert has two projections.
    `latent` is the width that routed experts work in where it is not the model's: a projection into it and one out of
    it stand before and behind them, `latent_norm` a norm between (Nemotron-3 Super, Kimi-K3). `shared_gate` is a gate
    on the shared experts (Qwen2-MoE). `identity_experts` are routed to and have no weights: on
    average a token uses so many fewer (LongCat).
    `dense_intermediate` is the width of a gated MLP that every token passes beside the experts (Gemma 4, Arctic).
    """

    experts: int
    active_experts: int
    intermediate: int
    shared_intermediate: int = 0
    router_bias: bool = False
    expert_bias: bool = False
    gated: bool = True
    latent: int | None = None
    latent_norm: bool = False
    shared_gate: bool = False
    identity_experts: int = 0
    dense_intermediate: int = 0

    def tensors(self, hidden: int) -> tuple[Tensors, ...]:
        width = hidden if self.latent is None else self.latent
        routed = self.experts + self.identity_experts
        active = self.active_experts * self.experts // routed
        one = _mlp(width, self.intermediate, self.gated)
        bias = _biases(width, self.intermediate, self.gated) * self.expert_bias
        return (
            Tensors(Role.ROUTED_EXPERTS, one, self.experts, active),
            Tensors(Role.ROUTED_EXPERT_BIASES, bias, self.experts, active),
            Tensors(Role.SHARED_EXPERTS, _mlp(hidden, self.shared_intermediate, self.gated)),
            Tensors(Role.FEED_FORWARD, _mlp(hidden, self.dense_intermediate, True)),
            Tensors(Role.EXPERT_PROJECTIONS, 0 if self.latent is None else 2 * hidden * self.latent),
            copied(Role.ROUTER, hidden * routed),
            copied(Role.SMALL, routed * self.router_bias + hidden * self.shared_gate),
            copied(Role.NORM, 0 if self.latent is None else self.latent * self.latent_norm),
        )


@feed_forward_kind("none")
@dataclass(frozen=True, slots=True, kw_only=True)
class NoFeedForward(FeedForward):
    """No feed-forward, or with `linear` one square matrix in its place (Nemotron-NAS)."""

    linear: bool = False

    def tensors(self, hidden: int) -> tuple[Tensors, ...]:
        return (Tensors(Role.FEED_FORWARD, hidden * hidden * self.linear),)
