"""Encoders beside language models: with them the published totals of checkpoints come out to the last parameter."""

from typing import Any

import pytest

from sizing.intake.configuration import Configuration
from sizing.intake.huggingface import import_tree
from sizing.intake.towers import encoder_parameters

SIGLIP = {
    "hidden_size": 1152,
    "image_size": 896,
    "intermediate_size": 4304,
    "num_hidden_layers": 27,
    "patch_size": 14,
    "vision_use_head": False,
}
LLAMA4 = {
    "hidden_size": 1408,
    "image_size": 336,
    "intermediate_size": 5632,
    "num_hidden_layers": 34,
    "patch_size": 14,
    "projector_input_dim": 4096,
    "projector_output_dim": 4096,
    "vision_output_dim": 4096,
}
MLLAMA = {
    "hidden_size": 1280,
    "image_size": 560,
    "intermediate_size": 5120,
    "max_num_tiles": 4,
    "num_global_layers": 8,
    "num_hidden_layers": 32,
    "patch_size": 14,
    "supported_aspect_ratios": [[1, 1], [1, 2], [1, 3], [1, 4], [2, 1], [2, 2], [3, 1], [4, 1]],
    "vision_output_dim": 7680,
}
QWEN25 = {
    "depth": 32,
    "hidden_size": 1280,
    "intermediate_size": 3420,
    "out_hidden_size": 2048,
    "patch_size": 14,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
}


@pytest.mark.parametrize(
    ("model_type", "vision", "hidden", "language_model", "published"),
    [
        ("llama4", LLAMA4, 5120, 107_769_861_120, 108_641_793_536),  # Llama-4-Scout-17B-16E
        ("llama4", LLAMA4, 5120, 400_711_848_960, 401_583_781_376),  # Llama-4-Maverick-17B-128E
        ("mllama", MLLAMA, 4096, 9_775_159_312, 10_670_220_835),  # Llama-3.2-11B-Vision
        ("qwen2_5_vl", QWEN25, 2048, 3_085_938_688, 3_754_622_976),  # Qwen2.5-VL-3B
    ],
)
def test_published_totals(
    model_type: str, vision: dict[str, Any], hidden: int, language_model: int, published: int
) -> None:
    root = Configuration({"model_type": model_type, "vision_config": vision}, "config.json")
    count = encoder_parameters(root, hidden)
    assert count is not None
    assert language_model + count == published


def test_a_head_of_siglip_is_there_unless_switched_off() -> None:
    def count(**more: Any) -> int | None:
        return encoder_parameters(
            Configuration({"model_type": "gemma3", "vision_config": {**SIGLIP, **more}}, ""), 2304
        )

    without, by_default = count(), count(vision_use_head=None)
    assert without is not None
    assert by_default is not None
    width, inner = 1152, 4304
    assert by_default - without == 3 * width + 4 * width * (width + 1) + 2 * width * inner + inner + width


LANGUAGE = {
    "model_type": "qwen3_vl_text",
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": 128,
    "max_position_embeddings": 256,
}


@pytest.mark.parametrize("vision", [{}, {"depth": "many"}, {"hidden_size": -1}, {"model_type": "unheard_of"}])
def test_an_encoder_that_cannot_be_read_is_said_to_be_missing(vision: dict[str, Any]) -> None:
    for model_type in ("qwen3_vl", "internvl"):
        found = import_tree({"model_type": model_type, "text_config": LANGUAGE, "vision_config": vision})
        assert found.shape.encoders == ()
        assert "what vision_config says of encoders is in no size here" in found.provenance.notes[0]


def test_encoders_of_sound_are_said_to_be_missing_beside_one_of_images() -> None:
    tree = {
        "model_type": "gemma3",
        "text_config": {**LANGUAGE, "model_type": "gemma3_text", "sliding_window": 8},
        "vision_config": SIGLIP,
        "audio_config": {},
    }
    (note,) = import_tree(tree).provenance.notes
    assert "encoder of images beside it has" in note
    assert "audio_config" in note
