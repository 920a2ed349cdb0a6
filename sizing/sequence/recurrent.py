"""Layers that keep a state of constant size instead of tokens: Mamba, Mamba-2, gated delta net, KDA, lightning,
short convolution.

Shapes are per rank and then taken `tp` times: vLLM 0.32.0 `layers/mamba/mamba_utils.py`, SGLang 0.5.23
`configs/mamba_utils.py`. The convolution's state has the model's 16 bits; `state_bits` is what vLLM's `auto` gives the
recurrent state (16, or 32 where the family asks for it), and SGLang takes 32 for all. One copy is counted; what prefix
caching and speculation add is the engine's.
"""

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from math import prod

from sizing.sequence.attention import AttentionKind, attention_kind, head_refusal
from sizing.sequence.sharding import Sharding
from sizing.sequence.streams import ONE, CacheRole, Stream
from sizing.sequence.tensors import Role, Tensors, copied

CONV_BITS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class RecurrentKind(AttentionKind):
    """A state of fixed size, split over TP; decode context parallel copies it."""

    state_bits: int = 16

    @property
    @abstractmethod
    def heads_to_split(self) -> tuple[int, str]:
        """(number, name) of what TP must divide."""

    @abstractmethod
    def conv_factors(self, tp: int) -> tuple[int, ...]:
        """What multiplies to the elements of the convolution's state over the pool; empty where it has none."""

    @abstractmethod
    def state_factors(self, tp: int) -> tuple[int, ...]:
        """What multiplies to the elements of the recurrent state over the pool; empty where it has none."""

    def streams(self, tp: int) -> tuple[Stream, ...]:
        states = (
            (CacheRole.CONV_STATE, self.conv_factors(tp), CONV_BITS),
            (CacheRole.RECURRENT_STATE, self.state_factors(tp), self.state_bits),
        )
        return tuple(
            Stream(
                role=role,
                widths=(prod(factors),),
                rows=1,
                keep=ONE,
                own_bits=Fraction(prod(factors) * bits),
                factors=factors,
            )
            for role, factors, bits in states
            if factors and all(factors)
        )

    def refusal(self, sharding: Sharding) -> str | None:
        number, what = self.heads_to_split
        return head_refusal(number, sharding.tp, what)


@attention_kind("mamba")
@dataclass(frozen=True, slots=True, kw_only=True)
class Mamba(RecurrentKind):
    """Mamba-1 (Jamba, Falcon-Mamba): `inner` channels with `state` elements each.

    `inner_norms` are norms on the time step and the two projections of the state (Jamba).
    """

    inner: int
    state: int
    conv_kernel: int
    time_step_rank: int
    conv_bias: bool = True
    projection_bias: bool = False
    inner_norms: bool = False

    @property
    def heads_to_split(self) -> tuple[int, str]:
        return self.inner, "Mamba channels"

    def conv_factors(self, tp: int) -> tuple[int, ...]:
        return self.conv_kernel - 1, self.inner

    def state_factors(self, tp: int) -> tuple[int, ...]:
        return self.inner, self.state

    def tensors(self, hidden: int) -> tuple[Tensors, ...]:
        selection = self.time_step_rank + 2 * self.state
        projections = 3 * hidden * self.inner + self.inner * (selection + self.time_step_rank)
        per_channel = self.conv_kernel + self.conv_bias + self.state + 2  # convolution, A, D and the time step's bias
        biases = (2 * self.inner + hidden) * self.projection_bias
        return (
            Tensors(Role.RECURRENT, projections),
            Tensors(Role.SMALL, self.inner * per_channel + biases),
            copied(Role.NORM, selection * self.inner_norms),
        )


@attention_kind("mamba2")
@dataclass(frozen=True, slots=True, kw_only=True)
class Mamba2(RecurrentKind):
    """Mamba-2 (Nemotron-H, Granite 4, Bamba, Falcon-H1, Zamba2, Codestral): `heads` of `head_dim`, `state` elements
    for each channel.

    Groups that TP does not divide are raised to one a rank. `gated_norm` is a norm of the inner width.
    """

    heads: int
    head_dim: int
    state: int
    groups: int
    conv_kernel: int
    conv_bias: bool = True
    projection_bias: bool = False
    gated_norm: bool = True

    @property
    def inner(self) -> int:
        return self.heads * self.head_dim

    @property
    def heads_to_split(self) -> tuple[int, str]:
        return self.heads, "Mamba heads"

    def conv_factors(self, tp: int) -> tuple[int, ...]:
        groups = self.groups if self.groups % tp == 0 else tp
        return self.conv_kernel - 1, self.inner + 2 * groups * self.state

    def state_factors(self, tp: int) -> tuple[int, ...]:
        return self.heads, self.head_dim, self.state

    def tensors(self, hidden: int) -> tuple[Tensors, ...]:
        convolved = self.inner + 2 * self.groups * self.state
        projections = hidden * (self.inner + convolved + self.heads) + self.inner * hidden
        biases = (self.inner + convolved + self.heads + hidden) * self.projection_bias
        return (
            Tensors(Role.RECURRENT, projections),
            Tensors(Role.SMALL, convolved * (self.conv_kernel + self.conv_bias) + 3 * self.heads + biases),
            Tensors(Role.NORM, self.inner * self.gated_norm),
        )


@attention_kind("gated_delta_net")
@dataclass(frozen=True, slots=True, kw_only=True)
class GatedDeltaNet(RecurrentKind):
    """Gated delta net (Qwen3-Next, Qwen3.5, OLMo hybrid): a matrix of value by key dimension per value head."""

    key_heads: int
    value_heads: int
    key_head_dim: int
    value_head_dim: int
    conv_kernel: int

    @property
    def convolved(self) -> int:
        return 2 * self.key_heads * self.key_head_dim + self.value_heads * self.value_head_dim

    @property
    def heads_to_split(self) -> tuple[int, str]:
        return self.key_heads, "key heads of the delta net"

    def conv_factors(self, tp: int) -> tuple[int, ...]:
        return self.conv_kernel - 1, self.convolved

    def state_factors(self, tp: int) -> tuple[int, ...]:
        return self.value_heads, self.value_head_dim, self.key_head_dim

    def tensors(self, hidden: int) -> tuple[Tensors, ...]:
        values = self.value_heads * self.value_head_dim
        return (
            Tensors(Role.RECURRENT, hidden * (self.convolved + 2 * values)),
            Tensors(Role.SMALL, 2 * (hidden + 1) * self.value_heads + self.convolved * self.conv_kernel),
            copied(Role.NORM, self.value_head_dim),
        )


@attention_kind("kda")
@dataclass(frozen=True, slots=True, kw_only=True)
class KimiDeltaAttention(RecurrentKind):
    """Kimi delta attention (Kimi-Linear, Kimi-K3): a square matrix per head, convolutions on query, key and value.

    The decay and the output gate have the rank of a head, or with `full_rank_decay` and `full_rank_gate` the whole
    width.
    """

    heads: int
    head_dim: int
    conv_kernel: int
    full_rank_gate: bool = False
    full_rank_decay: bool = False
    state_bits: int = 32

    @property
    def width(self) -> int:
        return self.heads * self.head_dim

    @property
    def heads_to_split(self) -> tuple[int, str]:
        return self.heads, "heads of delta attention"

    def conv_factors(self, tp: int) -> tuple[int, ...]:
        return self.conv_kernel - 1, 3, self.width

    def state_factors(self, tp: int) -> tuple[int, ...]:
        return self.heads, self.head_dim, self.head_dim

    def tensors(self, hidden: int) -> tuple[Tensors, ...]:
        full, low = hidden * self.width, self.head_dim * (hidden + self.width)
        gates = sum(full if whole else low for whole in (self.full_rank_decay, self.full_rank_gate))
        return (
            Tensors(Role.RECURRENT, 4 * full + hidden * self.heads + gates),
            Tensors(Role.SMALL, 3 * self.width * self.conv_kernel + self.width + self.heads),
            copied(Role.NORM, self.head_dim),
        )


@attention_kind("lightning")
@dataclass(frozen=True, slots=True, kw_only=True)
class LightningAttention(RecurrentKind):
    """Lightning attention (MiniMax-Text-01, MiniMax-M1, Ling 2.5): a square matrix per head and no convolution.

    `qk_norm` is the number of weights of the query and key norms together.
    """

    heads: int
    head_dim: int
    qk_norm: int = 0

    @property
    def width(self) -> int:
        return self.heads * self.head_dim

    @property
    def heads_to_split(self) -> tuple[int, str]:
        return self.heads, "heads of linear attention"

    def conv_factors(self, tp: int) -> tuple[int, ...]:
        return ()

    def state_factors(self, tp: int) -> tuple[int, ...]:
        return self.heads, self.head_dim, self.head_dim

    def tensors(self, hidden: int) -> tuple[Tensors, ...]:
        return (
            Tensors(Role.RECURRENT, 5 * hidden * self.width),  # query, key, value, gate and output
            Tensors(Role.NORM, self.width),
            copied(Role.NORM, self.qk_norm),
        )


@attention_kind("short_conv")
@dataclass(frozen=True, slots=True, kw_only=True)
class ShortConvolution(RecurrentKind):
    """A gated convolution over the last `conv_kernel` tokens (LFM2) of `width` channels."""

    width: int
    conv_kernel: int
    bias: bool = False

    @property
    def heads_to_split(self) -> tuple[int, str]:
        return self.width, "channels of the convolution"

    def conv_factors(self, tp: int) -> tuple[int, ...]:
        return self.conv_kernel - 1, self.width

    def state_factors(self, tp: int) -> tuple[int, ...]:
        return ()

    def tensors(self, hidden: int) -> tuple[Tensors, ...]:
        return (
            Tensors(Role.RECURRENT, 4 * hidden * self.width),  # in three parts, and out
            Tensors(Role.SMALL, self.width * self.conv_kernel + (4 * self.width + hidden) * self.bias),
        )
