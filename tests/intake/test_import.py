"""Nested configurations, class defaults, names, and where a shape comes from."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from sizing.intake.huggingface import UNSTATED_LIMIT, import_config, import_tree
from sizing.pool.storage import IdealStorage
from sizing.sequence.sharding import WHOLE
from sizing.units.errors import BadInput

BF16 = IdealStorage(Fraction(16))
LLAMA = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 128,
    "max_position_embeddings": 256,
}


@pytest.mark.parametrize(
    "tree",
    [
        {"model_type": "llava", "text_config": LLAMA},
        {"model_type": "internvl_chat", "llm_config": LLAMA, "vision_config": {}},
        {"model_type": "deepseek_vl_v2", "language_config": LLAMA},
        {"model_type": "qwen3_omni_moe", "thinker_config": {"text_config": LLAMA}},
        {"model_type": None, "text_config": LLAMA},
    ],
)
def test_language_models_inside_others(tree: dict[str, Any]) -> None:
    inside = import_tree(tree)
    assert inside.shape.parameters == import_tree(LLAMA).shape.parameters
    assert inside.provenance.rule == "llama"
    assert any("Only the language model" in note for note in inside.provenance.notes)


def test_the_wrapper_says_what_a_nested_file_leaves_out() -> None:
    nameless = {key: value for key, value in LLAMA.items() if key != "model_type"}
    wrapper = {"model_type": "qwen2_vl", "tie_word_embeddings": True, "text_config": nameless}
    model = import_tree(wrapper)
    assert model.provenance.rule == "qwen2"
    assert model.shape.tied_embeddings


def test_a_nested_file_is_a_difference_from_its_class() -> None:
    """google/gemma-3-4b-it states five keys of its language model; the rest are class defaults."""
    tree = {
        "model_type": "gemma3",
        "text_config": {
            "model_type": "gemma3_text",
            "hidden_size": 2560,
            "intermediate_size": 10240,
            "num_hidden_layers": 34,
            "sliding_window": 1024,
        },
    }
    found = import_tree(tree)
    assert found.shape.vocabulary == 262_208
    assert found.shape.query_heads == 8
    assert found.shape.bytes_per_token(WHOLE, BF16) == 5 * 2 * 4 * 256 * 2
    assert found.shape.tied_embeddings
    assert {"num_attention_heads", "num_key_value_heads", "head_dim", "vocab_size"} <= set(found.provenance.defaults)


@pytest.mark.parametrize("stated", [{}, {"num_key_value_heads": None}])
def test_kv_heads_that_are_left_out_are_listed(stated: dict[str, None]) -> None:
    tree = {key: value for key, value in LLAMA.items() if key != "num_key_value_heads"} | stated
    found = import_tree(tree)
    assert found.provenance.defaults == ("num_key_value_heads",)
    assert found.shape.notes[0].startswith("Its file leaves out num_key_value_heads: ")
    assert import_tree(LLAMA).provenance.defaults == ()


def test_nothing_is_listed_that_was_not_needed() -> None:
    """A window of the class counts only where layers slide; a step of one is every layer."""
    sizes = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4, "vocab_size": 128}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16, "max_position_embeddings": 256}
    plain = {"model_type": "qwen3", **sizes, **heads, "tie_word_embeddings": False}
    assert import_tree(plain).provenance.defaults == ()
    slides = import_tree({**plain, "use_sliding_window": True, "max_window_layers": 2})
    assert "sliding_window" in slides.provenance.defaults


def test_a_type_without_a_rule_is_read_by_its_architecture_and_told() -> None:
    found = import_tree({**LLAMA, "model_type": "llama_x", "architectures": ["LlamaForCausalLM"]})
    assert found.shape == replace(import_tree(LLAMA).shape, notes=found.shape.notes)
    assert "model_type 'llama_x' is not known here: read by its architecture, LlamaForCausalLM." in found.shape.notes


def test_a_file_of_its_own_must_state_its_sizes_but_not_its_habits() -> None:
    gemma = {**LLAMA, "model_type": "gemma", "num_attention_heads": 16}
    del gemma["num_key_value_heads"]
    found = import_tree(gemma)
    assert found.shape.bytes_per_token(WHOLE, BF16) == 4 * 2 * 16 * 256 * 2
    assert set(found.provenance.defaults) >= {"num_key_value_heads", "head_dim", "tie_word_embeddings"}


def test_null_is_off_and_absent_is_the_default() -> None:
    mistral = {**LLAMA, "model_type": "mistral"}
    assert import_tree(mistral).shape.window_bytes(WHOLE, BF16) == 4 * 4096 * 2 * 2 * 16 * 2
    assert import_tree({**mistral, "sliding_window": None}).shape.window_bytes(WHOLE, BF16) == 0


def test_infinity_is_read(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**LLAMA, "time_step_limit": [0.0, float("inf")]}), encoding="utf-8")
    assert "Infinity" in path.read_text(encoding="utf-8")
    assert import_config(path).shape.parameters == import_tree(LLAMA).shape.parameters


def test_a_byte_order_mark_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA), encoding="utf-8-sig")
    assert import_config(path).shape.vocabulary == 128


@pytest.mark.parametrize(
    ("place", "name", "aliases"),
    [
        ("Tiny-Llama/config.json", "tiny-llama", ()),
        ("Owner__Tiny-Llama.json", "tiny-llama", ("Owner/Tiny-Llama",)),
        ("Owner--Tiny-Llama_config.json", "tiny-llama", ("Owner/Tiny-Llama",)),
        ("models--Owner--Tiny-Llama/snapshots/0a1b/config.json", "tiny-llama", ("Owner/Tiny-Llama",)),
    ],
)
def test_a_model_is_called_after_its_path(tmp_path: Path, place: str, name: str, aliases: tuple[str, ...]) -> None:
    path = tmp_path / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(LLAMA), encoding="utf-8")
    found = import_config(path).shape
    assert (found.name, found.aliases) == (name, aliases)


def test_provenance_says_what_was_read(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**LLAMA, "architectures": ["LlamaForCausalLM"]}), encoding="utf-8")
    found = import_config(path).provenance
    assert (found.model_type, found.architecture, found.rule) == ("llama", "LlamaForCausalLM", "llama")
    assert found.file == str(path)
    assert len(found.sha256) == 64


def test_a_limit_that_is_not_stated_is_said_so() -> None:
    unlimited = {key: value for key, value in LLAMA.items() if key != "max_position_embeddings"}
    found = import_tree({**unlimited, "model_type": "internlm2"})
    assert found.shape.context_limit == UNSTATED_LIMIT
    assert any("no longest sequence" in note for note in found.provenance.notes)
    assert import_tree(unlimited).shape.context_limit == 2048  # the class states one


def test_layers_that_differ_may_be_written_one_by_one() -> None:
    found = import_tree({**LLAMA, "per_layer_config": {"0": {"num_key_value_heads": 4}, "03": {"head_dim": 32}}}).shape
    assert found.bytes_per_token(WHOLE, BF16) == (4 * 16 + 2 * 16 + 2 * 16 + 2 * 32) * 2 * 2


def test_encoders_are_in_the_checkpoint_alone() -> None:
    vision = {
        "depth": 2,
        "hidden_size": 32,
        "intermediate_size": 48,
        "patch_size": 4,
        "temporal_patch_size": 2,
        "num_position_embeddings": 9,
        "spatial_merge_size": 2,
        "out_hidden_size": 64,
        "deepstack_visual_indexes": [1],
    }
    text = {**LLAMA, "model_type": "qwen3_vl_text", "head_dim": 16}
    found = import_tree({"model_type": "qwen3_vl", "text_config": text, "vision_config": vision}).shape
    layer = 4 * 32 + 4 * 32 * 33 + 2 * 32 * 48 + 48 + 32
    merge = 129 * 128 + 129 * 64
    expected = 97 * 32 + 9 * 32 + 2 * layer + (merge + 2 * 32) + (merge + 2 * 128)
    assert sum(tensors.total for tensors in found.encoders) == expected
    assert found.parameters == import_tree(text).shape.parameters


@pytest.mark.parametrize(
    ("more", "limit"),
    [
        ({"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 256}}, 1024),
        ({"rope_scaling": {"type": "yarn", "factor": 0.5, "original_max_position_embeddings": 256}}, 256),
        ({"rope_parameters": {"rope_type": "yarn", "factor": 2, "original_max_position_embeddings": 1000}}, 2000),
        ({"rope_scaling": {"rope_type": "yarn", "factor": float("inf")}}, 256),
        ({"rope_scaling": {"rope_type": "linear", "factor": 4.0}}, 256),
        ({"rope_scaling": "yarn"}, 256),
        ({"model_max_length": 4096}, 4096),
    ],
)
def test_the_longest_context_is_what_engines_take(more: dict[str, Any], limit: int) -> None:
    assert import_tree({**LLAMA, **more}).shape.context_limit == limit


def test_flags_for_tied_embeddings_that_differ_are_told() -> None:
    wrapper = {
        "model_type": "llava",
        "tie_word_embeddings": True,
        "text_config": {**LLAMA, "tie_word_embeddings": False},
    }
    found = import_tree(wrapper)
    assert not found.shape.tied_embeddings
    assert any("false for the language model and true around it" in note for note in found.provenance.notes)


def test_a_thousand_drafts_are_none() -> None:
    with pytest.raises(BadInput, match="no number of layers"):
        import_tree({**LLAMA, "model_type": "mimo", "num_nextn_predict_layers": 10**9})
