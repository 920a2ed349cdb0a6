"""What cannot be read is refused by name, with the key, what was seen and what would be accepted; never guessed."""

import json
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sizing.intake.huggingface import import_config, import_tree
from sizing.pool.storage import IdealStorage
from sizing.sequence.sharding import WHOLE
from sizing.sequence.weights import checkpoint_bytes
from sizing.units.errors import BadInput, Problem

BF16 = IdealStorage(Fraction(16))
LLAMA = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 128,
    "max_position_embeddings": 256,
}
CASES: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("family_cases.json").read_text("utf-8"))


def problems(tree: Mapping[str, Any]) -> tuple[Problem, ...]:
    with pytest.raises(BadInput) as refused:
        import_tree(tree, file="config.json")
    return refused.value.problems


def only(tree: Mapping[str, Any]) -> Problem:
    (problem,) = problems(tree)
    return problem


@pytest.mark.parametrize(
    ("model_type", "nearest"), [("lama", "llama"), ("qwen9", "qwen"), ("deepseek_v33", "deepseek_v32")]
)
def test_an_unknown_model_type_is_refused_by_name(model_type: str, nearest: str) -> None:
    problem = only({**LLAMA, "model_type": model_type, "architectures": None})
    assert model_type in problem.what
    assert "not guessed" in problem.what
    assert problem.path == "model_type"
    assert problem.nearest is not None
    assert problem.nearest.startswith(nearest[:4])


def test_an_unknown_architecture_without_a_model_type_is_refused() -> None:
    problem = only({**LLAMA, "model_type": None, "architectures": ["LlamaForCausalML"]})
    assert (problem.path, problem.nearest) == ("architectures", "LlamaForCausalLM")


def test_a_file_that_names_nothing_is_refused() -> None:
    assert "names no architecture" in only({"hidden_size": 64}).what


@pytest.mark.parametrize(
    ("model_type", "why"), [("bert", "encoder"), ("t5", "encoder and a decoder"), ("rwkv5", "recurrent state")]
)
def test_what_keeps_no_tokens_of_a_decoder_is_refused_with_the_reason(model_type: str, why: str) -> None:
    problem = only({**LLAMA, "model_type": model_type, "architectures": None})
    assert why in problem.what
    assert problem.nearest is None


def test_an_architecture_alone_is_enough() -> None:
    known = {key: value for key, value in LLAMA.items() if key != "model_type"}
    assert import_tree(known).shape.parameters == import_tree(LLAMA).shape.parameters


def test_architecture_and_model_type_must_agree() -> None:
    problem = only({**LLAMA, "architectures": ["MixtralForCausalLM"]})
    assert "contradicts" in problem.what
    assert problem.accepted == "mixtral"


def test_an_unknown_wrapper_is_refused_although_its_language_model_is_known() -> None:
    assert only({"model_type": "telepathy_vl", "text_config": LLAMA}).path == "model_type"


@pytest.mark.parametrize(
    "key", ["hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads", "vocab_size"]
)
def test_a_size_that_is_missing_is_named(key: str) -> None:
    for tree in ({name: value for name, value in LLAMA.items() if name != key}, {**LLAMA, key: None}):
        problem = only(tree)
        assert problem.path == key
        assert "missing" in problem.what


def test_all_problems_are_told_at_once() -> None:
    found = problems({**LLAMA, "hidden_size": None, "vocab_size": "many", "num_hidden_layers": -1})
    assert {problem.path for problem in found} == {"hidden_size", "vocab_size", "num_hidden_layers"}


@pytest.mark.parametrize("value", ["64", True, 6.5, [64], {}, -64, 0, 10**20])
def test_a_size_must_be_a_whole_number(value: Any) -> None:
    assert only({**LLAMA, "intermediate_size": value}).path == "intermediate_size"


def test_a_whole_number_may_be_written_with_a_point() -> None:
    assert import_tree({**LLAMA, "intermediate_size": 96.0}).shape == import_tree(LLAMA).shape


@pytest.mark.parametrize(
    ("changes", "path", "what"),
    [
        ({"num_key_value_heads": 3}, "num_key_value_heads", "cannot share"),
        ({"num_attention_heads": 6, "num_key_value_heads": 6}, "num_attention_heads", "head_dim"),
        ({"num_hidden_layers": 10**6}, "num_hidden_layers", "no number of layers"),
        ({"layer_types": ["full_attention"] * 3}, "layer_types", "3 entries for 4 layers"),
        ({"layer_types": ["full_attention"] * 3 + ["mystery"]}, "layer_types", "not known to have"),
        ({"layer_types": ["sliding_attention"] * 4}, "sliding_window", "layers slide"),
        ({"attention_bias": "yes"}, "attention_bias", "no flag"),
        ({"tie_word_embeddings": 1}, "tie_word_embeddings", "no flag"),
        ({"per_layer_config": {"9": {"head_dim": 8}}}, "per_layer_config", "layer 9"),
        ({"per_layer_config": {"1": {"colour": 8}}}, "per_layer_config.1.colour", "not read"),
    ],
)
def test_contradictions_are_named(changes: dict[str, Any], path: str, what: str) -> None:
    problem = only({**LLAMA, **changes})
    assert problem.path == path
    assert what in problem.what


@pytest.mark.parametrize(
    ("case", "changes", "path"),
    [
        ("mixtral", {"num_experts_per_tok": 9}, "num_experts_per_tok"),
        ("deepseek_v3", {"n_routed_experts": None}, "num_experts"),
        ("qwen3_moe", {"num_experts": None, "num_local_experts": None}, "num_experts"),
        ("qwen3_moe", {"mlp_only_layers": [7]}, "mlp_only_layers"),
        ("deepseek_v3", {"kv_lora_rank": None}, "kv_lora_rank"),
        ("deepseek_v4", {"compress_ratios": [4, 4]}, "compress_ratios"),
        ("deepseek_v4", {"compress_ratios": None}, "compress_ratios"),
        ("gemma3n_text", {"num_kv_shared_layers": 5}, "num_kv_shared_layers"),
        ("granitemoehybrid", {"layer_types": None}, "layer_types"),
        ("granitemoehybrid", {"mamba_n_heads": 7}, "mamba_n_heads"),
        ("mamba2", {"num_heads": 9}, "num_heads"),
        ("nemotron_h", {"layers_block_type": ["mamba", "magic"]}, "layers_block_type"),
        ("nemotron_h", {"num_hidden_layers": 9}, "num_hidden_layers"),
        ("qwen3_5_text", {"mamba_ssm_dtype": "float8"}, "mamba_ssm_dtype"),
        ("bamba", {"attn_layer_indices": [9]}, "attn_layer_indices"),
        ("glm_moe_dsa", {"index_topk_freq": 2, "indexer_types": ["full"] * 4}, "indexer_types"),
        ("zamba2", {"hybrid_layer_ids": [0]}, "hybrid_layer_ids"),
    ],
)
def test_a_family_names_what_contradicts_its_rule(case: str, changes: dict[str, Any], path: str) -> None:
    assert path in {problem.path for problem in problems({**CASES[case]["config"], **changes})}


def test_layers_of_kimi_linear_are_in_one_list_each() -> None:
    lists = {"full_attn_layers": [2, 4], "kda_layers": [1, 2, 3], "num_heads": 4, "head_dim": 8}
    config = {**CASES["kimi_linear"]["config"], "layer_types": None}
    config["linear_attn_config"] = {**lists, "short_conv_kernel_size": 4}
    assert "linear_attn_config.full_attn_layers" in {problem.path for problem in problems(config)}


def write(folder: Path, text: str) -> Path:
    path = folder / "config.json"
    path.write_text(text, encoding="utf-8")
    return path


def refused_file(path: Path) -> Problem:
    with pytest.raises(BadInput) as refused:
        import_config(path)
    return refused.value.problems[0]


def test_a_problem_has_the_line_of_its_key(tmp_path: Path) -> None:
    path = write(tmp_path, json.dumps({**LLAMA, "vocab_size": "many"}, indent=2))
    line = path.read_text(encoding="utf-8").splitlines().index('  "vocab_size": "many",') + 1
    problem = refused_file(path)
    assert (problem.file, problem.line, problem.path) == (str(path), line, "vocab_size")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "JSON syntax"),
        ("{", "JSON syntax"),
        ("[]", "is no configuration"),
        ('{"hidden_size": 1, "hidden_size": 2}', "stands twice"),
        ("[" * 100_000, "JSON syntax|nested"),
    ],
)
def test_what_is_no_configuration_is_refused(tmp_path: Path, text: str, what: str) -> None:
    assert any(part in refused_file(write(tmp_path, text)).what for part in what.split("|"))


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    assert refused_file(tmp_path / "absent.json").what == "no such file"
    assert refused_file(tmp_path).what == "is a folder"
    (tmp_path / "latin.json").write_bytes(b'{"model_type": "\xff"}')
    assert refused_file(tmp_path / "latin.json").what == "not UTF-8"


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 300),
    st.sampled_from([0.5, float("inf"), float("nan"), 1e30, "", "x", "float32", [], [1], [None], {}, {"a": 1}]),
)


@settings(max_examples=300, deadline=None)
@given(case=st.sampled_from(sorted(CASES)), data=st.data())
def test_a_spoiled_file_is_read_or_refused_and_never_free(case: str, data: st.DataObject) -> None:
    """Whatever happens to a value, there is a shape that keeps something, or a problem; never another error."""
    config = dict(CASES[case]["config"])
    for key in data.draw(st.lists(st.sampled_from(sorted(config)), min_size=1, max_size=2, unique=True)):
        if data.draw(st.booleans()):
            config[key] = data.draw(ODD)
        else:
            del config[key]
    try:
        model = import_tree(config).shape
    except BadInput:
        return
    assert model.sequence_bytes(1, WHOLE, BF16) > 0
    assert model.active_parameters > 0
    assert checkpoint_bytes(model) > 0


@pytest.mark.parametrize(
    ("tree", "why"),
    [
        ({"_class_name": "FluxTransformer2DModel", "_diffusers_version": "0.30"}, "makes pictures"),
        (
            {**LLAMA, "model_type": "new_speech", "architectures": None, "is_encoder_decoder": True},
            "encoder and a decoder",
        ),
        ({**LLAMA, "model_type": "whisper", "architectures": None}, "encoder and a decoder"),
        ({"model_type": "clip", "text_config": {}, "vision_config": {}}, "is an encoder"),
        ({**LLAMA, "use_bidirectional_attention": True}, "is an encoder"),
    ],
)
def test_what_is_no_decoder_is_refused_with_the_reason(tree: dict[str, Any], why: str) -> None:
    assert any(why in problem.what for problem in problems(tree))


def test_layers_are_numbers_between_commas() -> None:
    tree = {**LLAMA, "model_type": "step3p5", "architectures": None, "moe_layers_enum": "1,two"}
    assert "moe_layers_enum" in {problem.path for problem in problems(tree)}


def test_a_shape_of_blocks_has_two_sides() -> None:
    for shape in ([0, 0], [128], "128", [128, 0.5]):
        tree = {**LLAMA, "quantization_config": {"quant_method": "fp8", "weight_block_size": shape}}
        assert only(tree).path == "quantization_config.weight_block_size"


@pytest.mark.parametrize(
    ("tree", "path", "what"),
    [
        ({**LLAMA, "num_kv_heads": 1}, "num_kv_heads", "contradicts num_key_value_heads, which is 2"),
        (
            {**CASES["deepseek_v3"]["config"], "first_k_dense_replace": 70},
            "first_k_dense_replace",
            f"makes 70 of {CASES['deepseek_v3']['config']['num_hidden_layers']} layers dense",
        ),
        (
            {**LLAMA, "architectures": ["LlamaForSequenceClassification"]},
            "architectures",
            "judges a text and writes none",
        ),
        ({**LLAMA, "architectures": ["Qwen2ForRewardModel"]}, "architectures", "judges a text and writes none"),
    ],
)
def test_what_contradicts_itself_or_writes_nothing_is_refused(tree: dict[str, Any], path: str, what: str) -> None:
    problem = only(tree)
    assert problem.path == path
    assert what in problem.what


def test_two_names_of_one_size_may_agree() -> None:
    assert import_tree({**LLAMA, "num_kv_heads": 2}).shape == import_tree(LLAMA).shape


def test_an_upper_bound_is_told() -> None:
    problem = only({**LLAMA, "max_position_embeddings": 999_999_999_999_999})
    assert problem.accepted == "a whole number of 1 to 10,000,000,000,000"


def test_a_default_that_does_not_fit_is_told_as_one() -> None:
    """Qwen3's class has 32 KV heads where the file names none."""
    tree = {key: value for key, value in LLAMA.items() if key != "num_key_value_heads"}
    problem = only({**tree, "model_type": "qwen3", "architectures": None, "num_attention_heads": 40, "head_dim": 8})
    assert problem.what == "is missing, and 40 query heads cannot share 32 KV heads, the default of this architecture"
    assert problem.seen is None
    assert only({**LLAMA, "num_key_value_heads": 3}).seen == "3"
