"""Weight bytes by format. What a format leaves in bf16 is decided by the role of a tensor.

Sources of the widths: one fp32 scale per 128 x 128 block (DeepSeek-V3, Qwen and GLM FP8 checkpoints), OCP
Microscaling MXFP4 with one byte per 32 (gpt-oss), NVFP4 with one byte per 16 (ModelOpt), AWQ with a 16-bit scale
and a 4-bit zero per 128, compressed-tensors.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from sizing.sequence.model import ModelShape
from sizing.sequence.tensors import ROUTED, Role
from sizing.units.amounts import whole_bytes

BF16_BITS = Fraction(16)
ALL = frozenset(Role)
LINEARS = frozenset({Role.ATTENTION, Role.FEED_FORWARD, Role.SHARED_EXPERTS, Role.ROUTED_EXPERTS})
EXPERTS = frozenset({Role.ROUTED_EXPERTS})


@dataclass(frozen=True, slots=True)
class WeightFormat:
    """`bits` per weight, scales included, of the roles in `quantised`; the others stay in bf16."""

    name: str
    bits: Fraction
    quantised: frozenset[Role]
    title: str

    def role_bits(self, role: Role) -> Fraction:
        return self.bits if role in self.quantised else BF16_BITS


def _formats(*formats: WeightFormat) -> Mapping[str, WeightFormat]:
    return {form.name: form for form in formats}


FORMATS = _formats(
    WeightFormat("bf16", BF16_BITS, ALL, "16 bits for every weight"),
    WeightFormat("fp8", Fraction(8), ALL, "one byte for every weight"),
    WeightFormat("fp8-block", 8 + Fraction(32, 128 * 128), LINEARS, "8 bits and a 32-bit scale per 128 x 128 block"),
    WeightFormat("int8", Fraction(8), LINEARS, "8 bits, per-channel scales not counted"),
    WeightFormat("int4", 4 + Fraction(20, 128), LINEARS, "4 bits, a 16-bit scale and a 4-bit zero per 128"),
    WeightFormat("mxfp4", 4 + Fraction(8, 32), EXPERTS, "routed experts in 4 bits with a byte per 32"),
    WeightFormat("nvfp4", 4 + Fraction(8, 16), LINEARS, "4 bits with a byte per 16"),
)


@dataclass(frozen=True, slots=True)
class WeightBytes:
    """Weight bits of one copy of a model. `experts` are (layers, experts of a layer, bits of one expert)."""

    rest_bits: Fraction
    experts: tuple[tuple[int, int, Fraction], ...]

    @property
    def one_copy(self) -> int:
        """Bytes of one copy."""
        return whole_bytes(self.rest_bits + sum(layers * count * bits for layers, count, bits in self.experts))

    def on_pool(self, tp: int, gpus_per_replica: int) -> int:
        """Bytes on the `tp` GPUs of one pool: the rest sharded over them, and on each GPU its share of the experts.

        Routed experts shard over all GPUs of the replica in whole experts, ceil(experts / GPUs) on each.
        """
        experts_on_gpu = sum(layers * -(-count // gpus_per_replica) * bits for layers, count, bits in self.experts)
        return whole_bytes(self.rest_bits + tp * experts_on_gpu)


def weight_bytes(model: ModelShape, weight_format: WeightFormat) -> WeightBytes:
    """The weights of `model` in a format, routed experts apart from the rest."""
    rest = Fraction(0)
    experts: list[tuple[int, int, Fraction]] = []
    for layers, tensors in model.tensors():
        bits = tensors.parameters * weight_format.role_bits(tensors.role)
        if tensors.role in ROUTED:
            experts.append((layers, tensors.experts, bits))
        else:
            rest += layers * bits
    return WeightBytes(rest, tuple(experts))
