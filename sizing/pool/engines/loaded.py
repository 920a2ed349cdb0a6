"""Weights as an engine holds them: copied where they cannot be split, and some of them twice."""

from fractions import Fraction

from sizing.pool.layout import Layout
from sizing.sequence.compressed import CompressedAttention
from sizing.sequence.feed_forward import Experts
from sizing.sequence.heads import FullAttention
from sizing.sequence.latent import LatentAttention
from sizing.sequence.model import ModelShape
from sizing.sequence.recurrent import KimiDeltaAttention
from sizing.sequence.tensors import Role
from sizing.sequence.weights import BF16_BITS, FORMATS, WeightBytes
from sizing.units.amounts import whole_bytes

VOCABULARY_MULTIPLE = 64  # embeddings and heads are filled up to it (vLLM 0.32.0, SGLang 0.5.23)


MXFP4_BITS = FORMATS["mxfp4"].bits


def loaded_bytes(
    model: ModelShape,
    weights: WeightBytes,
    layout: Layout,
    element_bytes: int = 2,
    mxfp4_multiple: int = 1,
    rotary_bytes: int | None = None,
) -> int:
    """Bytes of all GPUs of one pool: what cannot be split is copied (norms, routers, latent projections, KV heads
    beyond their number), encoders are split like the rest, absorbed latents keep their expansion a second time,
    experts in MXFP4 are as wide as a multiple of `mxfp4_multiple`, and every GPU has the table of rotary positions, of
    `rotary_bytes` an element (`element_bytes` where that is None).
    """
    bits = (
        _widened(model, weights, layout, mxfp4_multiple)
        + _encoders(model)
        + _expansions(model) * 8 * element_bytes
        + _filling(model) * BF16_BITS
    )
    table = layout.tp * _rotary_elements(model) * (element_bytes if rotary_bytes is None else rotary_bytes)
    return weights.on_pool(layout.tp, layout.gpus_per_replica, copies=True) + whole_bytes(bits) + table


def _widened(model: ModelShape, weights: WeightBytes, layout: Layout, multiple: int) -> Fraction:
    """What experts in MXFP4 take beyond their own width."""
    more = Fraction(0)
    for block in model.blocks:
        experts = block.feed_forward
        if not isinstance(experts, Experts):
            continue
        width = experts.latent or model.hidden
        for tensors in experts.tensors(model.hidden):
            bits = tensors.parameters * MXFP4_BITS
            if tensors.role is Role.ROUTED_EXPERTS and (block.count, tensors.experts, bits) in weights.experts:
                held = block.count * layout.tp * -(-tensors.experts // layout.gpus_per_replica)
                more += held * bits * Fraction(-width % multiple, width)
    return more


def _encoders(model: ModelShape) -> Fraction:
    return sum((tensors.total * BF16_BITS for tensors in model.encoders), Fraction(0))


def _expansions(model: ModelShape) -> int:
    """Weights of W_UK and W_UV, which decoding reads beside the projection that prefill reads (vLLM 0.32.0
    `layers/attention/mla_attention.py`, `process_weights_after_loading`)."""
    return sum(
        count * kind.kv_lora_rank * kind.query_heads * (kind.nope_head_dim + kind.value_head_dim)
        for count, kind in model.layers()
        if isinstance(kind, LatentAttention) and kind.absorbed
    )


def _filling(model: ModelShape) -> int:
    rows = -model.vocabulary % VOCABULARY_MULTIPLE
    return rows * model.hidden * (1 if model.tied_embeddings else 2)


def _rotary_elements(model: ModelShape) -> int:
    """Sines and cosines of every position up to the model's limit, once for each width of heads (vLLM 0.32.0
    `layers/rotary_embedding/base.py`, `_compute_cos_sin_cache`): 2.5 GiB for the ten million tokens of Llama 4 Scout.
    The whole width is counted, also where a model rotates a part of it. Models with Kimi delta attention have no
    positions.
    """
    kinds = [kind for _, kind in model.layers()]
    if any(isinstance(kind, KimiDeltaAttention) for kind in kinds):
        return 0
    widths = {kind.rope_head_dim for kind in kinds if isinstance(kind, LatentAttention | CompressedAttention)}
    widths |= {kind.head_dim for kind in kinds if isinstance(kind, FullAttention)}
    return model.context_limit * sum(widths)
