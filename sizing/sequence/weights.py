"""Weight bytes by format. What a format leaves in bf16 is decided by the role of a tensor.

Sources of the widths: one fp32 scale per 128 x 128 block (DeepSeek-V3, Qwen and GLM FP8 checkpoints), OCP
Microscaling MXFP4 with one byte per 32 (gpt-oss), NVFP4 with one byte per 16 (ModelOpt), AWQ with a 16-bit scale
and a 4-bit zero per 128, compressed-tensors.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from sizing.sequence.model import Block, ModelShape
from sizing.sequence.tensors import ROUTED, Role, Tensors
from sizing.units.amounts import whole_bytes

BF16_BITS = Fraction(16)
ALL = frozenset(Role)
LINEARS = frozenset(
    {
        Role.ATTENTION,
        Role.RECURRENT,
        Role.INDEXER,
        Role.FEED_FORWARD,
        Role.SHARED_EXPERTS,
        Role.ROUTED_EXPERTS,
        Role.EXPERT_PROJECTIONS,
    }
)
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
    """Weight bits of one copy of a model. `experts` are (layers, experts of a layer, bits of one expert).

    `limited` are the parts of `rest_bits` that engines copy where TP goes beyond what they can be split over:
    (bits, most ranks that share them), such as norms, routers and latent projections (1) or K and V (the KV heads).
    """

    rest_bits: Fraction
    experts: tuple[tuple[int, int, Fraction], ...]
    limited: tuple[tuple[Fraction, int], ...] = ()

    @property
    def one_copy(self) -> int:
        """Bytes of one copy."""
        return whole_bytes(self.rest_bits + sum(layers * count * bits for layers, count, bits in self.experts))

    def on_pool(self, tp: int, gpus_per_replica: int, copies: bool = False) -> int:
        """Bytes on the `tp` GPUs of one pool: the rest sharded over them, and on each GPU its share of the experts.

        Routed experts shard over all GPUs of the replica in whole experts, ceil(experts / GPUs) on each. With
        `copies` the limited parts are counted as often as an engine holds them.
        """
        experts_on_gpu = sum(layers * -(-count // gpus_per_replica) * bits for layers, count, bits in self.experts)
        more = sum(bits * (max(1, -(-tp // most)) - 1) for bits, most in self.limited) if copies else 0
        return whole_bytes(self.rest_bits + more + tp * experts_on_gpu)


def weight_bytes(model: ModelShape, weight_format: WeightFormat) -> WeightBytes:
    """The weights of `model` in a format, routed experts apart from the rest.

    In the checkpoint's own format each role has the bits that the checkpoint gives it.
    """
    return _sum(_own(model, weight_format))


def parameters_by_bits(model: ModelShape, weight_format: WeightFormat) -> Mapping[Fraction, int]:
    """How many of the model's parameters have so many bits, the most numerous first: what `weight_bytes` adds up."""
    found: dict[Fraction, int] = {}
    for layers, tensors, bits in _own(model, weight_format):
        found[bits] = found.get(bits, 0) + layers * tensors.total
    counted = ((bits, count) for bits, count in found.items() if count)
    return dict(sorted(counted, key=lambda each: (-each[1], each[0])))


def checkpoint_bytes(model: ModelShape) -> int:
    """Bytes of the checkpoint's weights in its own format, with layers for multi-token prediction and encoders."""
    weight_format = FORMATS[model.native_weights]
    outer = dict(model.native_bits)
    mtp = [
        *((1, tensors, _bits(tensors, weight_format, outer)) for tensors in (*model.mtp_extra, *model.encoders)),
        *(part for block in model.mtp for part in _block(model, block, weight_format, outer)),
    ]
    return _sum((*_own(model, weight_format), *mtp)).one_copy


def _own(model: ModelShape, weight_format: WeightFormat) -> Iterator[tuple[int, Tensors, Fraction]]:
    """(layers, tensors, bits of one weight), without the layers for multi-token prediction."""
    outer = dict(model.native_bits) if weight_format.name == model.native_weights else {}
    for tensors in model.outer_tensors():
        yield 1, tensors, _bits(tensors, weight_format, outer)
    for block in model.blocks:
        yield from _block(model, block, weight_format, outer)


def _block(
    model: ModelShape, block: Block, weight_format: WeightFormat, outer: Mapping[Role, Fraction]
) -> Iterator[tuple[int, Tensors, Fraction]]:
    native = weight_format.name == model.native_weights
    bits = {**outer, **dict(block.native_bits)} if native else {}
    for tensors in block.tensors(model.hidden):
        yield block.count, tensors, _bits(tensors, weight_format, bits)


def _bits(tensors: Tensors, weight_format: WeightFormat, native: Mapping[Role, Fraction]) -> Fraction:
    return native.get(tensors.role, weight_format.role_bits(tensors.role))


def _sum(parts: Iterable[tuple[int, Tensors, Fraction]]) -> WeightBytes:
    rest = Fraction(0)
    experts: list[tuple[int, int, Fraction]] = []
    limited: dict[int, Fraction] = {}
    for layers, tensors, bits in parts:
        size = tensors.parameters * bits
        if tensors.role in ROUTED:
            experts.append((layers, tensors.experts, size))
            continue
        size *= layers * tensors.experts
        rest += size
        if tensors.most_shards is not None:
            limited[tensors.most_shards] = limited.get(tensors.most_shards, Fraction(0)) + size
    return WeightBytes(rest, tuple(experts), tuple((bits, most) for most, bits in sorted(limited.items())))
