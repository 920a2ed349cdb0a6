"""Which weights a checkpoint quantises to how many bits, and how large it is."""

from fractions import Fraction
from typing import Any

import pytest

from sizing.intake.huggingface import ImportedModel, import_tree
from sizing.intake.modules import Patterns, prefixes
from sizing.sequence.model import ModelShape
from sizing.sequence.tensors import Role
from sizing.sequence.weights import FORMATS, checkpoint_bytes, weight_bytes
from sizing.units.errors import BadInput

DENSE = {
    "model_type": "qwen3",
    "hidden_size": 4096,
    "intermediate_size": 12288,
    "num_hidden_layers": 36,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 151_936,
}
MIXTURE = {
    "model_type": "deepseek_v3",
    "hidden_size": 512,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "q_lora_rank": 256,
    "kv_lora_rank": 128,
    "qk_nope_head_dim": 64,
    "qk_rope_head_dim": 64,
    "v_head_dim": 64,
    "intermediate_size": 1024,
    "moe_intermediate_size": 256,
    "n_routed_experts": 8,
    "n_shared_experts": 1,
    "num_experts_per_tok": 2,
    "first_k_dense_replace": 1,
    "vocab_size": 1024,
}
FP8_BLOCK = {"quant_method": "fp8", "weight_block_size": [128, 128], "fmt": "e4m3"}


def read(config: dict[str, Any], quantisation: dict[str, Any], beside: dict[str, Any] | None = None) -> ImportedModel:
    return import_tree({**config, "quantization_config": quantisation} if quantisation else config, beside=beside)


def bits(model: ModelShape) -> dict[Role, Fraction]:
    """Bits of every role in the last block: what the checkpoint says, else its format."""
    stated = {**dict(model.native_bits), **dict(model.blocks[-1].native_bits)}
    form = FORMATS[model.native_weights]
    roles = {tensors.role for _, tensors in model.tensors() if tensors.parameters}
    return {role: stated.get(role, form.role_bits(role)) for role in roles}


def group(bits_of: int, kind: str, size: int | None = None, targets: tuple[str, ...] = ("Linear",)) -> dict[str, Any]:
    return {
        "targets": list(targets),
        "weights": {"num_bits": bits_of, "type": kind, "group_size": size, "symmetric": True},
    }


def test_a_checkpoint_that_says_nothing_has_16_bits() -> None:
    model = read(DENSE, {}).shape
    assert (model.native_weights, model.native_bits) == ("bf16", ())
    assert checkpoint_bytes(model) == 2 * model.parameters == 2 * 8_190_735_360


@pytest.mark.parametrize(
    ("quantisation", "name", "linear"),
    [
        (FP8_BLOCK, "fp8-block", 8 + Fraction(32, 16384)),
        ({"quant_method": "fp8", "weight_block_size": None}, "fp8", 8),
        ({"quant_method": "fbgemm_fp8"}, "fp8", 8),
        ({"quant_algo": "FP8", "quant_method": "modelopt", "ignore": ["lm_head"]}, "fp8", 8),
        ({"quant_algo": "NVFP4", "quant_method": "modelopt", "ignore": ["lm_head"]}, "nvfp4", Fraction(9, 2)),
        ({"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}, "int4", 4 + Fraction(20, 128)),
        ({"quant_method": "compressed-tensors", "config_groups": {"g": group(8, "int")}}, "int8", 8),
        ({"quant_method": "compressed-tensors", "config_groups": {"g": group(8, "float")}}, "fp8", 8),
        ({"quant_method": "compressed-tensors", "config_groups": {"g": group(4, "int", 32)}}, "int4", Fraction(9, 2)),
        (
            {"quant_method": "compressed-tensors", "config_groups": {"g": group(4, "float", 16)}},
            "nvfp4",
            Fraction(9, 2),
        ),
        (
            {"quant_method": "compressed-tensors", "config_groups": {"g": group(4, "float", 32)}},
            "mxfp4",
            Fraction(17, 4),
        ),
        ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "int4", Fraction(9, 2)),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "int8", 8),
        ({"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "fp8_e4m3"}}}, "fp8", 8),
    ],
)
def test_formats_by_their_names(quantisation: dict[str, Any], name: str, linear: Fraction | int) -> None:
    model = read(DENSE, quantisation).shape
    assert model.native_weights == name
    found = bits(model)
    assert {found[Role.ATTENTION], found[Role.FEED_FORWARD]} == {linear}
    assert {found[Role.EMBEDDING], found[Role.HEAD], found[Role.NORM]} == {16}


def test_awq_is_as_large_as_its_file() -> None:
    """Qwen3-8B-AWQ is 5.68 GiB."""
    quantisation = {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}
    assert round(checkpoint_bytes(read(DENSE, quantisation).shape) / 2**30, 2) == 5.68


def test_gptq_numbers_every_input_channel() -> None:
    quantisation = {"quant_method": "gptq", "bits": 4, "group_size": 128}
    found = bits(read(DENSE, quantisation).shape)
    inputs, weights = 2 * 4096 + 12288, 3 * 4096 * 12288
    assert found[Role.FEED_FORWARD] == 4 + Fraction(20, 128) + Fraction(32 * inputs, weights)


@pytest.mark.parametrize(
    "ignore",
    [
        ["re:.*self_attn.*", "re:.*shared_experts.*", "re:.*mlp\\.(gate|up|gate_up|down)_proj.*", "re:.*lm_head.*"],
        ["lm_head", "model.layers.*.self_attn*", "model.layers.*.mlp.shared_experts*", "model.layers.0*"],
        ["lm_head", *(f"model.layers.{n}.self_attn" for n in range(3)), "model.layers.0.mlp.gate_proj",
         "model.layers.0.mlp.up_proj", "model.layers.0.mlp.down_proj", "model.layers.1.mlp.shared_experts",
         "model.layers.2.mlp.shared_experts"],
    ],
)  # fmt: skip
def test_lists_of_what_is_kept_in_three_styles(ignore: list[str]) -> None:
    quantisation = {"quant_method": "compressed-tensors", "ignore": ignore, "config_groups": {"g": group(4, "int", 32)}}
    model = read(MIXTURE, quantisation).shape
    found = bits(model)
    assert found[Role.ROUTED_EXPERTS] == Fraction(9, 2)
    assert {found[Role.ATTENTION], found[Role.SHARED_EXPERTS], found[Role.FEED_FORWARD]} == {16}
    experts = sum(layers * tensors.total for layers, tensors in model.tensors() if tensors.role is Role.ROUTED_EXPERTS)
    assert checkpoint_bytes(model) == 2 * (model.parameters - experts) + experts * 9 // 16


def test_layers_may_differ() -> None:
    quantisation = {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head", "model.layers.2*"]}
    blocks = read(MIXTURE, quantisation).shape.blocks
    assert [block.count for block in blocks] == [1, 1, 1]
    assert dict(blocks[1].native_bits) == {}
    assert set(dict(blocks[2].native_bits).values()) == {16}


def test_a_map_of_layers_mixes_widths() -> None:
    layers = {}
    for layer in range(3):
        for name in ("q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj", "o_proj"):
            layers[f"model.layers.{layer}.self_attn.{name}"] = {"quant_algo": "FP8"}
    for layer in (1, 2):
        layers[f"model.layers.{layer}.mlp.experts"] = {"quant_algo": "W4A16_NVFP4", "group_size": 16}
    layers["lm_head"] = {"quant_algo": "W4A16_NVFP4"}
    found = bits(
        read(MIXTURE, {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": layers}).shape
    )
    assert (found[Role.ATTENTION], found[Role.ROUTED_EXPERTS], found[Role.HEAD]) == (8, Fraction(9, 2), Fraction(9, 2))
    assert (found[Role.SHARED_EXPERTS], found[Role.FEED_FORWARD]) == (16, 16)


def test_experts_in_4_bits_inside_8_bit_blocks() -> None:
    found = bits(read({**MIXTURE, "expert_dtype": "fp4"}, FP8_BLOCK).shape)
    assert found[Role.ROUTED_EXPERTS] == Fraction(17, 4)
    assert found[Role.ATTENTION] == found[Role.SHARED_EXPERTS] == 8 + Fraction(32, 16384)


def test_a_file_beside_says_it_too() -> None:
    beside = {"quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}}
    found = read(DENSE, {}, beside)
    assert found.shape.native_weights == "nvfp4"
    assert found.provenance.kv_precision == "fp8"


def test_two_files_that_name_different_precisions_are_refused() -> None:
    with pytest.raises(BadInput) as refused:
        read(DENSE, FP8_BLOCK, {"quantization": {"quant_algo": "NVFP4"}})
    (problem,) = refused.value.problems
    assert problem.path == "hf_quant_config.json.quantization"
    assert problem.what == "says that weights are in nvfp4, and quantization_config that they are in fp8-block"


def test_two_files_that_keep_other_weights_are_told() -> None:
    block = {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["*.self_attn.*"]}
    found = read(DENSE, block, {"quantization": {"quant_algo": "NVFP4"}})
    assert bits(found.shape)[Role.ATTENTION] == 16
    (note,) = [note for note in found.shape.notes if "differ" in note]
    assert note.endswith(": quantization_config goes.")
    same = read(DENSE, {"quant_method": "modelopt", "quant_algo": "NVFP4"}, {"quantization": {"quant_algo": "NVFP4"}})
    assert not any("differ" in note for note in same.shape.notes)


def test_a_file_that_speaks_of_the_cache_alone_quantises_no_weights() -> None:
    found = read(DENSE, {}, {"quantization": {"quant_algo": None, "kv_cache_quant_algo": "FP8"}})
    assert found.shape.native_weights == "bf16"
    assert found.provenance.notes == ("The checkpoint asks for a KV cache in fp8.",)


@pytest.mark.parametrize("width", [3, 4, 6, 8])
def test_integers_without_a_name_of_their_own_are_told(width: int) -> None:
    """GPTQ in groups of 128: a 16-bit scale and a zero each, and 32 bits for each input channel."""
    grouped = {"num_bits": width, "type": "int", "group_size": 128}
    blocks: tuple[dict[str, Any], ...] = (
        {"quant_method": "gptq", "bits": width, "group_size": 128},
        {"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": grouped}}},
    )
    for block in blocks:
        found = read(DENSE, block)
        assert found.shape.native_weights == ("int8" if width == 8 else "int4")
        assert int(bits(found.shape)[Role.FEED_FORWARD]) == width
        told = f"Weights have {width} bits and are counted so; they go by the name of int4."
        assert (told in found.shape.notes) is (width in (3, 6))


def test_a_cache_that_the_checkpoint_asks_for_is_told_and_changes_nothing() -> None:
    scheme = {"num_bits": 8, "type": "float", "dynamic": False}
    found = read(DENSE, {"quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_scheme": scheme})
    assert found.provenance.kv_precision == "fp8"
    assert read(DENSE, FP8_BLOCK).provenance.kv_precision is None


@pytest.mark.parametrize(
    ("kind", "name", "bits_of_mlps"),
    [
        ("int4_weight_only", "int4", Fraction(17, 4)),
        ({"default": {"_type": "Int4WeightOnlyConfig", "_data": {"group_size": 64}}}, "int4", Fraction(9, 2)),
        ({"default": {"_type": "Float8WeightOnlyConfig", "_data": {}}}, "fp8", Fraction(8)),
        ("int8_weight_only", "int8", Fraction(8)),
        ({"default": {"_type": "MagicConfig"}}, "bf16", Fraction(16)),
        (None, "bf16", Fraction(16)),
    ],
)
def test_torchao_names_its_type_in_two_ways(kind: Any, name: str, bits_of_mlps: Fraction) -> None:
    model = read(DENSE, {"quant_method": "torchao", "quant_type": kind}).shape
    assert model.native_weights == name
    assert bits(model)[Role.FEED_FORWARD] == bits_of_mlps


def test_layers_that_amd_ignores_stay_in_16_bits() -> None:
    block = {"quant_method": "fp8", "ignored_layers": ["lm_head", "*.self_attn.*"], "kv_cache_scheme": "static"}
    found = read(DENSE, block)
    assert bits(found.shape)[Role.ATTENTION] == 16
    assert bits(found.shape)[Role.FEED_FORWARD] == 8
    assert found.provenance.kv_precision == "fp8"


def test_an_unknown_method_is_told_and_counted_in_16_bits() -> None:
    found = read(DENSE, {"quant_method": "magic"})
    assert found.shape.native_weights == "bf16"
    assert any("magic" in note for note in found.provenance.notes)


def test_another_precision_does_not_follow_the_checkpoint() -> None:
    model = read(MIXTURE, {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["re:.*self_attn.*"]}).shape
    plain = read(MIXTURE, {}).shape
    for name in ("bf16", "fp8", "fp8-block"):
        assert weight_bytes(model, FORMATS[name]) == weight_bytes(plain, FORMATS[name])
    assert weight_bytes(model, FORMATS["nvfp4"]).one_copy > weight_bytes(plain, FORMATS["nvfp4"]).one_copy


def test_patterns() -> None:
    patterns = Patterns(["lm_head", "model.layers.0*", "*.attn.*", "re:.*norm$", "gate", "re:(broken"])
    for name in ("lm_head", "language_model.lm_head", "model.layers.0.mlp", "layers.3.attn.wq", "x.norm", "m.gate"):
        assert name in patterns
    for name in ("model.layers.10.mlp", "x.gate_proj", "x.norms", "model.lm_heads"):
        assert name not in patterns


def test_prefixes_are_those_of_the_lists() -> None:
    assert prefixes(["language_model.model.layers.3.mlp", "lm_head"]) == ("language_model.model.",)
    assert prefixes(["layers.0.ffn"]) == ("",)
    assert prefixes(["re:.*attn.*"]) == ("model.",)
