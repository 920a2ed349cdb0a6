"""Weights as an engine holds them: copied where they cannot be split, and some of them twice."""

from fractions import Fraction

from sizing.pool.layout import Layout
from sizing.sequence.latent import LatentAttention
from sizing.sequence.model import ModelShape
from sizing.sequence.weights import BF16_BITS, WeightBytes
from sizing.units.amounts import whole_bytes

VOCABULARY_MULTIPLE = 64  # embeddings and heads are filled up to it (vLLM 0.32.0, SGLang 0.5.23)


def loaded_bytes(model: ModelShape, weights: WeightBytes, layout: Layout, element_bytes: int = 2) -> int:
    """Bytes of all GPUs of one pool: what cannot be split is copied (norms, routers, latent projections, KV heads
    beyond their number), encoders are split like the rest, and absorbed latents keep their expansion a second time.
    """
    bits = _encoders(model) + _expansions(model) * 8 * element_bytes + _filling(model) * BF16_BITS
    return weights.on_pool(layout.tp, layout.gpus_per_replica, copies=True) + whole_bytes(bits)


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
