"""The cache of one sequence of 131,072 tokens that other tools got wrong, from the configurations of the models.

Configurations are cut down to what their rule reads; the figures are those of the published models.
"""

from fractions import Fraction
from typing import Any

import pytest

from sizing.intake.huggingface import import_tree
from sizing.pool.storage import FP8_ROWS, IdealStorage, RowStorage
from sizing.sequence.model import ModelShape
from sizing.sequence.sharding import WHOLE, Sharding

BF16 = IdealStorage(Fraction(16))
CONTEXT = 131_072
GIB = 2**30


def grouped(model_type: str, layers: int, hidden: int, heads: int, kv: int, **more: Any) -> dict[str, Any]:
    return {
        "model_type": model_type,
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv,
        "intermediate_size": 4096,
        "vocab_size": 128_256,
        **more,
    }


DEEPSEEK = {
    "hidden_size": 7168,
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
    "intermediate_size": 18432,
    "moe_intermediate_size": 2048,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_experts_per_tok": 8,
    "first_k_dense_replace": 3,
    "vocab_size": 129_280,
}
INDEXER = {"index_n_heads": 64, "index_head_dim": 128, "index_topk": 2048}
V4_PRO = {
    "model_type": "deepseek_v4",
    "hidden_size": 7168,
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "head_dim": 512,
    "qk_rope_head_dim": 64,
    "q_lora_rank": 1536,
    "o_lora_rank": 1024,
    "o_groups": 16,
    "sliding_window": 128,
    "hc_mult": 4,
    "n_routed_experts": 384,
    "n_shared_experts": 1,
    "num_experts_per_tok": 6,
    "moe_intermediate_size": 3072,
    "num_hash_layers": 3,
    "vocab_size": 129_280,
    "compress_ratios": [128, 128, *[4, 128] * 29, 4, 0],
    **INDEXER,
}
EXPERTS = {"num_experts": 128, "num_experts_per_tok": 8, "moe_intermediate_size": 1536}
QWEN35 = grouped(
    "qwen3_5_moe_text",
    60,
    4096,
    32,
    2,
    head_dim=256,
    full_attention_interval=4,
    linear_num_key_heads=16,
    linear_num_value_heads=64,
    linear_key_head_dim=128,
    linear_value_head_dim=128,
    linear_conv_kernel_dim=4,
    mamba_ssm_dtype="float32",
    **EXPERTS,
)
GPT_OSS = grouped(
    "gpt_oss", 36, 2880, 64, 8, head_dim=64, sliding_window=128, num_local_experts=128, num_experts_per_tok=4
)
GEMMA4 = grouped(
    "gemma4_text",
    30,
    2816,
    16,
    8,
    head_dim=256,
    global_head_dim=512,
    num_global_key_value_heads=2,
    attention_k_eq_v=True,
    hidden_size_per_layer_input=0,
    sliding_window=1024,
)
NEMOTRON_H = grouped(
    "nemotron_h",
    118,
    8192,
    64,
    8,
    head_dim=128,
    hybrid_override_pattern="M-" * 54 + "*" * 10,  # 118 layers, in whatever order
    mamba_num_heads=256,
    mamba_head_dim=64,
    ssm_state_size=256,
    n_groups=8,
    conv_kernel=4,
)
MIMO = grouped(
    "mimo_v2_flash",
    48,
    4096,
    64,
    4,
    head_dim=192,
    v_head_dim=128,
    swa_num_key_value_heads=8,
    swa_head_dim=192,
    swa_v_head_dim=128,
    sliding_window=128,
    attention_chunk_size=128,
    hybrid_layer_pattern=[int(layer not in (0, 5, 11, 17, 23, 29, 35, 41, 47)) for layer in range(48)],
    moe_layer_freq=[0, *[1] * 47],
    n_routed_experts=256,
    num_experts_per_tok=8,
    moe_intermediate_size=2048,
)
SCOUT = grouped(
    "llama4_text",
    48,
    5120,
    40,
    8,
    head_dim=128,
    attention_chunk_size=8192,
    intermediate_size_mlp=16384,
    num_local_experts=16,
    num_experts_per_tok=1,
)

MODELS = {
    "Llama-3.1-70B": grouped("llama", 80, 8192, 64, 8),
    "Qwen3-32B": grouped("qwen3", 64, 5120, 64, 8, head_dim=128),
    "Qwen3-235B-A22B": grouped("qwen3_moe", 94, 4096, 64, 4, head_dim=128, **EXPERTS),
    "DeepSeek-V3": {"model_type": "deepseek_v3", **DEEPSEEK},
    "DeepSeek-V3.2": {"model_type": "deepseek_v32", **DEEPSEEK, **INDEXER},
    "DeepSeek-V4-Pro": V4_PRO,
    "Qwen3.5-397B-A17B": QWEN35,
    "gpt-oss-120b": GPT_OSS,
    "gemma-4-26B-A4B": GEMMA4,
    "Nemotron-H-56B": NEMOTRON_H,
    "MiMo-V2-Flash": MIMO,
    "Llama-4-Scout": SCOUT,
}


def model(name: str) -> ModelShape:
    return import_tree(MODELS[name]).shape


@pytest.mark.parametrize(
    ("name", "gib"),
    [
        ("Llama-3.1-70B", "40.0"),
        ("Qwen3-32B", "32.0"),
        ("Qwen3-235B-A22B", "23.5"),
        ("DeepSeek-V3", "8.58"),
        ("DeepSeek-V3.2", "9.56"),
        ("DeepSeek-V4-Pro", "1.1"),
        ("Qwen3.5-397B-A17B", "3.93"),  # 3.75 and 183 MiB of state
        ("gpt-oss-120b", "4.50"),
        ("gemma-4-26B-A4B", "2.70"),
        ("MiMo-V2-Flash", "2.84"),
        ("Llama-4-Scout", "7.1"),
    ],
)
def test_one_sequence_of_131072_tokens(name: str, gib: str) -> None:
    decimals = len(gib.partition(".")[2])
    assert round(model(name).sequence_bytes(CONTEXT, WHOLE, BF16) / GIB, decimals) == float(gib)


def test_nemotron_h_keeps_ten_layers_of_tokens_and_states() -> None:
    shape = model("Nemotron-H-56B")
    assert shape.layer_count == 118
    assert shape.bytes_per_token(WHOLE, BF16) * CONTEXT == 5 * GIB
    assert round(shape.constant_bytes(1) / GIB, 2) == 0.85


@pytest.mark.parametrize(("name", "state_mib"), [("Qwen3.5-397B-A17B", 183), ("gpt-oss-120b", 0), ("Llama-3.1-70B", 0)])
def test_states_are_apart(name: str, state_mib: int) -> None:
    assert round(model(name).constant_bytes(1) / 2**20) == state_mib


def test_all_layers_in_full_is_another_figure() -> None:
    """What an engine that keeps windows and chunks in full would hold: 9.0 and 24.0 GiB."""
    for name, gib in (("gpt-oss-120b", 9), ("Llama-4-Scout", 24)):
        elements = sum(count * kind.elements_per_token(1) for count, kind in model(name).layers())
        assert elements * 2 * CONTEXT == gib * GIB


def test_8_bit_rows_are_not_half_of_16_bit_rows() -> None:
    fp8 = RowStorage(Fraction(8), FP8_ROWS)
    assert model("DeepSeek-V3.2").bytes_per_token(WHOLE, fp8) == 61 * (656 + 132)
    assert model("DeepSeek-V3").bytes_per_token(WHOLE, fp8) == 61 * 576
    assert round(float(model("DeepSeek-V4-Pro").bytes_per_token(WHOLE, fp8)), 1) == 5511.4
    assert int(model("DeepSeek-V4-Pro").bytes_per_token(WHOLE, BF16)) == 8918


@pytest.mark.parametrize(
    ("name", "tp", "copies"), [("DeepSeek-V3", 8, 8), ("Llama-3.1-70B", 8, 1), ("Llama-3.1-70B", 16, 2)]
)
def test_tp_copies_latents_and_heads_past_their_number(name: str, tp: int, copies: int) -> None:
    shape = model(name)
    assert shape.bytes_per_token(Sharding(tp), BF16) == copies * shape.bytes_per_token(WHOLE, BF16)


def test_the_cache_does_not_follow_the_weights() -> None:
    quantised = {**GPT_OSS, "quantization_config": {"quant_method": "mxfp4"}}
    found = import_tree(quantised).shape
    assert found.native_weights == "mxfp4"
    assert found.sequence_bytes(CONTEXT, WHOLE, BF16) == model("gpt-oss-120b").sequence_bytes(CONTEXT, WHOLE, BF16)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_no_model_is_free(name: str) -> None:
    assert model(name).sequence_bytes(1, WHOLE, BF16) > 0
