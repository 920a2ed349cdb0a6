"""Encoders of images that stand beside a language model: how many weights they bring to the checkpoint.

They cache nothing and are no part of the parameter count of the language model. Weights as in transformers 5.24, by the
`model_type` of the whole; what is not here is not counted, and the provenance says so.
"""

from collections.abc import Callable, Mapping

from sizing.intake.configuration import Configuration

CHANNELS = 3
Tower = Callable[[Configuration, Configuration, int], int]


def encoder_parameters(root: Configuration, hidden: int) -> int | None:
    """Weights of the encoder and its projector into `hidden`; 0 without one, None where its shape is not known here.

    An encoder that cannot be read is none that is known: what is wrong with it is no reason to refuse the language
    model.
    """
    whole = Configuration(root.tree, root.file)
    vision = whole.inner("vision_config")
    if vision is None:
        return None if whole.problems else 0
    tower = TOWERS.get(whole.text("model_type") or "")
    count = None if tower is None else tower(whole, vision, hidden)
    return None if whole.problems else count


def _linear(inputs: int, outputs: int) -> int:
    return (inputs + 1) * outputs


def _layer(width: int, intermediate: int) -> int:
    """Two norms, attention and MLP, all with biases."""
    return 4 * width + 4 * _linear(width, width) + _linear(width, intermediate) + _linear(intermediate, width)


def _patch(vision: Configuration, frames: int | None = None) -> int:
    """Inputs of the embedding of a patch; of a model that sees videos, over so many frames by default."""
    times = 1 if frames is None else vision.count_or(frames, "temporal_patch_size", least=1)
    return CHANNELS * vision.count("patch_size") ** 2 * times


def _patches(vision: Configuration) -> int:
    return (vision.count("image_size") // vision.count("patch_size")) ** 2


def _merged(where: Configuration) -> int:
    return where.count_or(2, "spatial_merge_size", least=1) ** 2


def _qwen2(_: Configuration, vision: Configuration, _hidden: int) -> int:
    """Qwen2-VL: an embedding of patches without a bias, and a merger."""
    width, joined = vision.count("embed_dim"), _merged(vision) * vision.count("embed_dim")
    return (
        _patch(vision, 2) * width
        + vision.count("depth") * _layer(width, vision.count_or(4, "mlp_ratio", least=1) * width)
        + 2 * width
        + _linear(joined, joined)
        + _linear(joined, vision.count("hidden_size"))
    )


def _qwen2_5(_: Configuration, vision: Configuration, _hidden: int) -> int:
    """Qwen2.5-VL: the same with norms of weights alone and gates."""
    width, inner = vision.count("hidden_size"), vision.count("intermediate_size")
    joined = _merged(vision) * width
    layer = 2 * width + 4 * _linear(width, width) + 2 * _linear(width, inner) + _linear(inner, width)
    return (
        _patch(vision, 2) * width
        + vision.count("depth") * layer
        + width
        + _linear(joined, joined)
        + _linear(joined, vision.count("out_hidden_size"))
    )


def _qwen3(_: Configuration, vision: Configuration, _hidden: int) -> int:
    """Qwen3-VL and Qwen3.5: a merger, and one more for every layer in `deepstack_visual_indexes`."""
    width = vision.count("hidden_size")
    joined, out = _merged(vision) * width, vision.count("out_hidden_size")
    merge = _linear(joined, joined) + _linear(joined, out)
    deep = len(vision.items("deepstack_visual_indexes") or [])
    return (
        _linear(_patch(vision, 2), width)
        + vision.count("num_position_embeddings") * width
        + vision.count("depth") * _layer(width, vision.count("intermediate_size"))
        + merge
        + 2 * width
        + deep * (merge + 2 * joined)
    )


def _glm4(_: Configuration, vision: Configuration, _hidden: int) -> int:
    """GLM-4.1V to 4.6V: MLPs as wide as the language model, whose own width is that of the merger."""
    width, out, inner = (vision.count(key) for key in ("hidden_size", "out_hidden_size", "intermediate_size"))
    layer = 2 * width + 4 * width * (width + vision.flag("attention_bias")) + 3 * width * out
    return (
        _linear(_patch(vision, 2), width)
        + _patches(vision) * width
        + vision.count("depth") * layer
        + 2 * width
        + _linear(_merged(vision) * width, out)
        + out * (out + 2 + 3 * inner)
    )


def _moonvit(_: Configuration, vision: Configuration, _hidden: int) -> int:
    """Kimi K2.5 and K2.6: learned positions, and a projector over merged patches."""
    if vision.text("mm_projector_type") != "patchmerger":
        vision.refuse("is no projector that is known here", "mm_projector_type")
    width = vision.count("vt_hidden_size")
    sides = vision.counts("merge_kernel_size") or [2, 2]
    joined = width * sides[0] * sides[-1]
    return (
        _linear(_patch(vision), width)
        + vision.count("init_pos_emb_height") * vision.count("init_pos_emb_width") * width
        + vision.count("vt_num_hidden_layers") * _layer(width, vision.count("vt_intermediate_size"))
        + 4 * width
        + _linear(joined, joined)
        + _linear(joined, vision.count("text_hidden_size"))
    )


def _siglip(vision: Configuration, positions: int) -> int:
    """SigLIP, with its pooling head unless that is switched off."""
    width = vision.count("hidden_size")
    layer = _layer(width, vision.count("intermediate_size"))
    return (
        _linear(_patch(vision), width)
        + positions * width
        + vision.count("num_hidden_layers") * layer
        + 2 * width
        + (layer - width) * vision.flag("vision_use_head", True)
    )


def _gemma3(_: Configuration, vision: Configuration, hidden: int) -> int:
    """Gemma 3: a projection without a bias, and a norm."""
    return _siglip(vision, _patches(vision)) + vision.count("hidden_size") * (hidden + 1)


def _paligemma(_: Configuration, vision: Configuration, hidden: int) -> int:
    """PaliGemma: a projection alone."""
    return _siglip(vision, _patches(vision)) + _linear(vision.count("hidden_size"), hidden)


def _lfm2(root: Configuration, vision: Configuration, hidden: int) -> int:
    """LFM2-VL: SigLIP 2, and a projector over merged patches."""
    width = vision.count("hidden_size")
    joined = width * root.count_or(2, "downsample_factor", least=1) ** 2
    between, norm = root.count_or(2560, "projector_hidden_size", least=1), root.flag("projector_use_layernorm", True)
    return (
        _siglip(vision, vision.count("num_patches"))
        + 2 * joined * norm
        + _linear(joined, between)
        + _linear(between, hidden)
    )


def _gemma4(_: Configuration, vision: Configuration, hidden: int) -> int:
    """Gemma 4: two tables of positions, gates, norms per head, and a projection without a bias."""
    width, dim = vision.count("hidden_size"), vision.count("head_dim")
    query, kv = vision.count("num_attention_heads"), vision.count("num_key_value_heads")
    attends = 2 * width * dim * (query + kv) + 2 * dim
    layer = attends + 3 * width * vision.count("intermediate_size") + 4 * width
    return (
        2 * vision.count("position_embedding_size") * width
        + _patch(vision) * width
        + vision.count("num_hidden_layers") * layer
        + 2 * width * vision.flag("standardize")
        + width * hidden
    )


def _pixtral(root: Configuration, vision: Configuration, hidden: int) -> int:
    """Pixtral in Mistral 3: no biases, a gate, and a merger of neighbouring patches."""
    width = vision.count("hidden_size")
    layer = 2 * width + 4 * width * width + 3 * width * vision.count("intermediate_size")
    projector = width + _merged(root) * width * width + width * hidden + hidden * hidden
    return _patch(vision) * width + width + vision.count("num_hidden_layers") * layer + projector


def _llama4(_: Configuration, vision: Configuration, hidden: int) -> int:
    """Llama 4: a class token, an adapter over shuffled pixels, and a projection without a bias."""
    width, inner = vision.count("hidden_size"), vision.count("intermediate_size")
    between = vision.count("projector_input_dim")
    return (
        (_patch(vision) + _patches(vision) + 2) * width
        + 4 * width
        + vision.count("num_hidden_layers") * _layer(width, inner)
        + between * (inner + vision.count("projector_output_dim"))
        + vision.count("vision_output_dim") * hidden
    )


def _mllama(_: Configuration, vision: Configuration, hidden: int) -> int:
    """Llama 3.2 Vision: positions for every way to tile an image, gated layers behind the others, and eight rows of the
    embedding that stand for images."""
    width, inner = vision.count("hidden_size"), vision.count("intermediate_size")
    ways, tiles = len(vision.items("supported_aspect_ratios") or []) + 1, vision.count("max_num_tiles")
    gated = vision.count("num_global_layers")
    layer = 4 * width + 4 * width * width + _linear(width, inner) + _linear(inner, width)
    tokens = _patches(vision) + 1
    return (
        (_patch(vision) + 1 + tokens + ways * tiles * (tokens + 2)) * width
        + 3
        + 4 * width
        + (vision.count("num_hidden_layers") + gated) * layer
        + 2 * gated
        + _linear(vision.count("vision_output_dim"), hidden)
        + 8 * hidden
    )


def _minimax_m3(root: Configuration, vision: Configuration, hidden: int) -> int:
    """MiniMax-M3: a projector for every patch, and one more over merged patches."""
    width = vision.count("hidden_size")
    between = root.count_or(hidden, "projector_hidden_size", least=1)
    return (
        _patch(vision, 2) * width
        + 2 * width
        + vision.count("num_hidden_layers") * _layer(width, vision.count("intermediate_size"))
        + _linear(width, between)
        + _linear(between, hidden)
        + _linear(_merged(vision) * hidden, between)
        + _linear(between, hidden)
    )


TOWERS: Mapping[str, Tower] = {
    "gemma3": _gemma3,
    "gemma4": _gemma4,
    "glm46v": _glm4,
    "glm4v": _glm4,
    "glm4v_moe": _glm4,
    "kimi_k25": _moonvit,
    "lfm2_vl": _lfm2,
    "llama4": _llama4,
    "minimax_m3_vl": _minimax_m3,
    "mistral3": _pixtral,
    "mllama": _mllama,
    "paligemma": _paligemma,
    "qwen2_5_vl": _qwen2_5,
    "qwen2_vl": _qwen2,
    "qwen3_5": _qwen3,
    "qwen3_5_moe": _qwen3,
    "qwen3_vl": _qwen3,
    "qwen3_vl_moe": _qwen3,
}
