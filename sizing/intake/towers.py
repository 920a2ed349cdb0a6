"""Encoders of images that stand beside a language model: how many weights they bring to the checkpoint.

They cache nothing and are no part of the parameter count of the language model. Weights as in transformers 5.24; what
is not here is not counted, and the provenance says so.
"""

from sizing.intake.configuration import Configuration

CHANNELS = 3


def encoder_parameters(root: Configuration, hidden: int) -> int | None:
    """Weights of the encoder and its projector into `hidden`; 0 without one, None where its shape is not known here."""
    vision = root.inner("vision_config")
    if vision is None:
        return 0
    if vision.has("num_position_embeddings", "deepstack_visual_indexes"):
        return _qwen3(vision)
    if vision.has("vt_hidden_size") and vision.text("mm_projector_type") == "patchmerger":
        return _moonvit(vision)
    kind = vision.text("model_type")
    if kind == "siglip_vision_model" and root.text("model_type") == "gemma3":
        return _siglip(vision) + vision.count("hidden_size") * (hidden + 1)
    if kind == "pixtral" and root.text("model_type") == "mistral3":
        return _pixtral(root, vision, hidden)
    return None


def _layer(width: int, intermediate: int) -> int:
    """Two norms, attention and MLP, all with biases."""
    return 4 * width + 4 * width * (width + 1) + 2 * width * intermediate + intermediate + width


def _linear(inputs: int, outputs: int) -> int:
    return (inputs + 1) * outputs


def _qwen3(vision: Configuration) -> int:
    """Qwen3-VL and Qwen3.5: a merger, and one more for every layer in `deepstack_visual_indexes`."""
    width, merged = vision.count("hidden_size"), vision.count_or(2, "spatial_merge_size", least=1) ** 2
    patch = vision.count("patch_size") ** 2 * vision.count_or(2, "temporal_patch_size", least=1)
    joined, out = merged * width, vision.count("out_hidden_size")
    merge = _linear(joined, joined) + _linear(joined, out)
    deep = len(vision.items("deepstack_visual_indexes") or [])
    return (
        _linear(CHANNELS * patch, width)
        + vision.count("num_position_embeddings") * width
        + vision.count("depth") * _layer(width, vision.count("intermediate_size"))
        + merge
        + 2 * width
        + deep * (merge + 2 * joined)
    )


def _moonvit(vision: Configuration) -> int:
    """Kimi K2.5 and K2.6: learned positions, and a projector over merged patches."""
    width = vision.count("vt_hidden_size")
    sides = vision.counts("merge_kernel_size") or [2, 2]
    joined = width * sides[0] * sides[-1]
    return (
        _linear(CHANNELS * vision.count("patch_size") ** 2, width)
        + vision.count("init_pos_emb_height") * vision.count("init_pos_emb_width") * width
        + vision.count("vt_num_hidden_layers") * _layer(width, vision.count("vt_intermediate_size"))
        + 4 * width
        + _linear(joined, joined)
        + _linear(joined, vision.count("text_hidden_size"))
    )


def _siglip(vision: Configuration) -> int:
    """SigLIP without a pooling head (Gemma 3)."""
    width, patch = vision.count("hidden_size"), vision.count("patch_size")
    positions = (vision.count("image_size") // patch) ** 2
    return (
        _linear(CHANNELS * patch**2, width)
        + positions * width
        + vision.count("num_hidden_layers") * _layer(width, vision.count("intermediate_size"))
        + 2 * width
    )


def _pixtral(root: Configuration, vision: Configuration, hidden: int) -> int:
    """Pixtral in Mistral 3: no biases, a gate, and a merger of neighbouring patches."""
    width, patch = vision.count("hidden_size"), vision.count("patch_size")
    merged = root.count_or(2, "spatial_merge_size", least=1) ** 2
    layer = 2 * width + 4 * width * width + 3 * width * vision.count("intermediate_size")
    projector = width + merged * width * width + width * hidden + hidden * hidden
    return CHANNELS * patch**2 * width + width + vision.count("num_hidden_layers") * layer + projector
