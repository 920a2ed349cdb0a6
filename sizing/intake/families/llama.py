"""Llama 4 (chunks, experts in some layers) and Llama 3.2 Vision (layers that attend to images)."""

from typing import Any

from sizing.intake.configuration import Configuration
from sizing.intake.families.pieces import FULL, HIDDEN, experts, heads, layer_types, mlp, model
from sizing.intake.parts import Layer, Parts
from sizing.sequence.heads import ChunkedAttention, CrossAttention, FullAttention
from sizing.sequence.tensors import Role, copied

CHUNKED = "chunked"
TYPES = {"full_attention": FULL, "chunked_attention": CHUNKED}


def llama4(config: Configuration) -> Parts:
    """Llama 4: a layer without rope attends to all, the others within chunks of `attention_chunk_size`.

    `no_rope_layers` has 0 where there is no rope; without it every `no_rope_layer_interval`-th layer has none (4).
    Experts are in `moe_layers`, or every `interleave_moe_layer_step`-th layer, beside one shared expert.
    """
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    cut, bias = heads(config, hidden), config.flag("attention_bias")
    chunk = config.optional("attention_chunk_size")
    interval = config.count_or(4, "no_rope_layer_interval", least=1)
    rope = config.counts("no_rope_layers") or [int((layer + 1) % interval != 0) for layer in range(layers)]
    if len(rope) != layers:
        config.refuse(f"has {len(rope)} entries for {layers} layers", "no_rope_layers")
        rope = [0] * layers
    types = layer_types(config, layers, lambda layer: CHUNKED if rope[layer] and chunk else FULL, TYPES)
    fields: dict[str, Any] = {
        **cut.fields,
        "qkv_bias": bias,
        "output_bias": bias,
    }
    full = FullAttention(**fields)
    if chunk is None and CHUNKED in types:
        config.refuse("is missing, and layers are chunked", "attention_chunk_size")
    chunked = ChunkedAttention(chunk=chunk or 1, **fields)
    step = config.step("interleave_moe_layer_step")
    sparse = config.indices("moe_layers", layers)
    if sparse is None:
        sparse = frozenset(range(step - 1, layers, step))
    width = config.count("intermediate_size")
    routed = experts(config, intermediate=width, shared_intermediate=width)
    dense = mlp(config.count("intermediate_size_mlp")) if len(sparse) < layers else routed
    found = [
        Layer(chunked if name == CHUNKED else full, routed if index in sparse else dense)
        for index, name in enumerate(types)
    ]
    return model(config, found)


def mllama(config: Configuration) -> Parts:
    """Llama 3.2 Vision: `cross_attention_layers` attend to image tokens, cached once (vLLM `CrossAttentionSpec`).

    The eight rows of the embedding that stand for images are counted with the encoder.
    """
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    cut = heads(config, hidden)
    crossing = config.indices("cross_attention_layers", layers)
    if crossing is None:
        config.refuse("is missing", "cross_attention_layers", accepted="the layers that attend to images")
        crossing = frozenset()
    inner = mlp(config.count("intermediate_size"))
    own = Layer(FullAttention(**cut.fields), inner)
    cross = Layer(
        CrossAttention(**cut.fields, qk_norm=2 * cut.dim),
        inner,
        extra=(copied(Role.SMALL, 2),),
    )
    found = [cross if layer in crossing else own for layer in range(layers)]
    return model(config, found, notes=("Layers that attend to images keep nothing for text.",))
