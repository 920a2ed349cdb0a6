"""Every family counts the weights that its published code makes, and keeps something of a sequence of one token.

`family_cases.json` holds small configurations and what transformers 5.24.0 makes of them, counted on models without
data: parameters, and the buffers of correction biases, which checkpoints hold too.
"""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from sizing.intake.aliases import ARCHITECTURES, NO_DECODERS, SAME_AS, WRAPPERS
from sizing.intake.architectures import MODEL_TYPES
from sizing.intake.huggingface import import_tree
from sizing.pool.storage import IdealStorage
from sizing.sequence.model import ModelShape
from sizing.sequence.sharding import WHOLE
from sizing.units.errors import BadInput

BF16 = IdealStorage(Fraction(16))
CASES: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("family_cases.json").read_text("utf-8"))

SMALL = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 128,
    "max_position_embeddings": 256,
}
HEAD = 16
ATTENTION = 64 * 4 * HEAD * 2 + 64 * 2 * HEAD * 2  # queries and output, keys and values
MLP = 3 * 64 * 96
OUTER = 2 * 128 * 64 + 64  # embedding, head, last norm


def shape(**config: Any) -> ModelShape:
    return import_tree({**SMALL, **config}).shape


@pytest.mark.parametrize("model_type", sorted(CASES))
def test_parameters_to_the_last_one(model_type: str) -> None:
    assert import_tree(CASES[model_type]["config"]).shape.parameters == CASES[model_type]["parameters"]


@pytest.mark.parametrize("model_type", sorted(CASES))
def test_no_sequence_is_free(model_type: str) -> None:
    assert import_tree(CASES[model_type]["config"]).shape.sequence_bytes(1, WHOLE, BF16) > 0


def test_names_lead_to_rules_that_are_there() -> None:
    assert set(SAME_AS.values()) <= set(MODEL_TYPES)
    assert set(ARCHITECTURES.values()) <= set(MODEL_TYPES)
    assert not set(SAME_AS) & set(MODEL_TYPES)
    assert not (set(MODEL_TYPES) | set(SAME_AS) | WRAPPERS) & set(NO_DECODERS)


@pytest.mark.parametrize(
    ("config", "layer", "outer"),
    [
        ({"model_type": "baichuan", "num_key_value_heads": 4}, 64 * 64 * 4 + MLP + 128, OUTER),
        ({"model_type": "internlm2"}, ATTENTION + MLP + 128, OUTER),
        ({"model_type": "internlm2", "bias": True}, ATTENTION + MLP + 128 + 64 + 64 + 64, OUTER),
        ({"model_type": "orion"}, ATTENTION + MLP + 256, OUTER + 64),
        ({"model_type": "minicpm"}, ATTENTION + MLP + 128, OUTER - 128 * 64),
        ({"model_type": "qwen", "intermediate_size": 192}, 64 * 64 * 2 + 2 * 64 * 32 + 128 + MLP + 128, OUTER),
        ({"model_type": "molmo", "intermediate_size": 192, "qkv_bias": True}, ATTENTION + 128 + MLP + 128, OUTER),
        ({"model_type": "mimo"}, ATTENTION + 128 + MLP + 128, OUTER),
        ({"model_type": "exaone"}, ATTENTION + MLP + 128, OUTER),
    ],
)
def test_decoders_of_remote_code(config: dict[str, Any], layer: int, outer: int) -> None:
    assert shape(**config).parameters == 4 * layer + outer


def test_chatglm_names_its_kv_heads_and_widths_its_own_way() -> None:
    config = {
        "model_type": "chatglm",
        "hidden_size": 64,
        "num_layers": 4,
        "num_attention_heads": 4,
        "kv_channels": HEAD,
        "multi_query_attention": True,
        "multi_query_group_num": 2,
        "ffn_hidden_size": 96,
        "padded_vocab_size": 128,
        "add_qkv_bias": True,
        "seq_length": 256,
    }
    model = import_tree(config).shape
    assert model.parameters == 4 * (ATTENTION + 128 + MLP + 128) + OUTER
    assert model.bytes_per_token(WHOLE, BF16) == 4 * 2 * 2 * HEAD * 2
    assert import_tree({**config, "multi_query_attention": False}).shape.bytes_per_token(WHOLE, BF16) == 4 * 2 * 64 * 2


def test_gpt_bigcode_has_one_kv_head_unless_it_says_otherwise() -> None:
    config = {
        "model_type": "gpt_bigcode",
        "n_embd": 64,
        "n_layer": 4,
        "n_head": 4,
        "n_positions": 256,
        "vocab_size": 128,
    }
    assert import_tree(config).shape.bytes_per_token(WHOLE, BF16) == 4 * 2 * HEAD * 2
    assert import_tree({**config, "multi_query": False}).shape.bytes_per_token(WHOLE, BF16) == 4 * 2 * 64 * 2


@pytest.mark.parametrize(
    ("config", "kv_heads"),
    [
        ({"multi_query": True}, 1),
        ({"multi_query": False}, 4),
        ({"multi_query": True, "new_decoder_architecture": True, "num_kv_heads": 2}, 2),
        ({"multi_query": True, "new_decoder_architecture": True}, 4),
    ],
)
def test_falcon_kv_heads(config: dict[str, Any], kv_heads: int) -> None:
    falcon = {"model_type": "falcon", "hidden_size": 64, "n_layer": 4, "n_head": 4, "vocab_size": 128, **config}
    assert import_tree(falcon).shape.bytes_per_token(WHOLE, BF16) == 4 * 2 * kv_heads * HEAD * 2


def test_nemotron_nas_layers_are_what_the_search_left() -> None:
    full = {"n_heads_in_group": 2, "no_op": False, "replace_with_linear": False}
    nothing = {"n_heads_in_group": None, "no_op": True, "replace_with_linear": False}
    linear = {"n_heads_in_group": None, "no_op": False, "replace_with_linear": True}
    wide = {"ffn_mult": 1.5, "no_op": False, "replace_with_linear": False}
    blocks = [
        {"attention": full, "ffn": wide},
        {"attention": nothing, "ffn": wide},
        {"attention": linear, "ffn": {"ffn_mult": None, "no_op": True, "replace_with_linear": False}},
        {"attention": {**full, "n_heads_in_group": 4}, "ffn": {**linear, "ffn_mult": None}},
    ]
    model = shape(model_type="nemotron-nas", num_key_value_heads=None, intermediate_size=None, block_configs=blocks)
    mlp = 3 * 64 * 256  # 64 x 1.5 x 2/3 rounded up to 256
    two_heads, one_head = ATTENTION, ATTENTION - 64 * HEAD * 2
    assert model.parameters == (
        (two_heads + mlp + 128) + (mlp + 64) + (64 * 64 + 64) + (one_head + 64 * 64 + 128) + OUTER
    )
    assert model.bytes_per_token(WHOLE, BF16) == (2 + 1) * 2 * HEAD * 2


def test_clas_cache_is_shared_by_use_cla_and_not_by_the_factor() -> None:
    config = {"model_type": "hunyuan", "cla_share_factor": 2, "use_qk_norm": True}
    alone, sharing = shape(**config, use_cla=False), shape(**config, use_cla=True)
    assert alone.bytes_per_token(WHOLE, BF16) == 2 * sharing.bytes_per_token(WHOLE, BF16) == 4 * 2 * 2 * HEAD * 2
    assert alone.parameters - sharing.parameters == 2 * 2 * 64 * 2 * HEAD


def test_hunyuan_may_give_every_layer_its_experts() -> None:
    model = shape(
        model_type="hunyuan_v1_moe",
        head_dim=HEAD,
        num_experts=[4, 8, 4, 8],
        moe_topk=[1, 2, 1, 2],
        moe_intermediate_size=[32, 32, 32, 32],
        num_shared_expert=[1, 1, 1, 1],
    )
    expert = 3 * 64 * 32
    layers = 4 * (ATTENTION + 2 * HEAD + 128 + expert) + 24 * (expert + 64)
    assert model.parameters == layers + OUTER
    assert model.active_parameters == model.parameters - 128 * 64 - (24 - 6) * expert


def test_step_slides_by_its_own_heads_and_gates_every_head() -> None:
    model = shape(
        model_type="step3p5",
        head_dim=HEAD,
        num_attention_groups=2,
        num_key_value_heads=None,
        attention_other_setting={"num_attention_heads": 8, "num_attention_groups": 4, "head_dim": HEAD},
        sliding_window=32,
        layer_types=["full_attention", "sliding_attention"] * 2,
        moe_layers_enum="2,3",
        moe_num_experts=8,
        moe_top_k=2,
        moe_intermediate_size=32,
        share_expert_dim=48,
    )
    wide = ATTENTION + 2 * HEAD + 64 * 4
    local = 64 * HEAD * (8 + 8 + 4 + 4) + 2 * HEAD + 64 * 8
    sparse = 8 * 3 * 64 * 32 + 3 * 64 * 48 + 64 * 8 + 8
    assert model.parameters == 2 * (wide + local) + 2 * (MLP + sparse) + 4 * 128 + OUTER
    assert model.bytes_per_token(WHOLE, BF16) == 2 * 2 * 2 * HEAD * 2
    assert model.window_bytes(WHOLE, BF16) == 2 * 32 * 4 * 2 * HEAD * 2


def test_bailing_experts_start_after_the_dense_layers() -> None:
    model = shape(
        model_type="bailing_moe_v2",
        head_dim=HEAD,
        num_experts=8,
        num_experts_per_tok=2,
        num_shared_experts=1,
        moe_intermediate_size=32,
        first_k_dense_replace=1,
        use_qk_norm=True,
        moe_router_enable_expert_bias=True,
        num_nextn_predict_layers=1,
    )
    sparse = 9 * 3 * 64 * 32 + 64 * 8 + 8
    assert model.parameters == 4 * (ATTENTION + 2 * HEAD + 128) + MLP + 3 * sparse + OUTER
    assert model.mtp_parameters == ATTENTION + 2 * HEAD + 128 + sparse + 2 * 64 * 64 + 3 * 64


def test_kimi_k3_has_gates_latent_experts_and_residuals_over_blocks() -> None:
    config = {
        "model_type": "kimi_k3",
        "text_config": {
            "model_type": "kimi_linear",
            **SMALL,
            "kv_lora_rank": 16,
            "q_lora_rank": 24,
            "qk_nope_head_dim": 8,
            "qk_rope_head_dim": 4,
            "v_head_dim": 8,
            "mla_use_output_gate": True,
            "num_experts": 8,
            "num_experts_per_token": 2,
            "num_shared_experts": 2,
            "moe_intermediate_size": 32,
            "routed_expert_hidden_size": 48,
            "latent_moe_use_norm": True,
            "first_k_dense_replace": 1,
            "attn_res_block_size": 2,
            "linear_attn_config": {
                "full_attn_layers": [4],
                "kda_layers": [1, 2, 3],
                "num_heads": 4,
                "head_dim": 8,
                "short_conv_kernel_size": 4,
                "use_full_rank_gate": True,
            },
        },
    }
    model = import_tree(config).shape
    delta = 5 * 64 * 32 + 64 * 4 + (64 * 8 + 8 * 32) + 3 * 32 * 4 + 32 + 4 + 8
    latent = 64 * 24 + 24 + 24 * 4 * 12 + 64 * 20 + 16 + 16 * 4 * 16 + 32 * 64 + 64 * 32
    sparse = 8 * 3 * 48 * 32 + 2 * 3 * 64 * 32 + 2 * 64 * 48 + 48 + 64 * 8 + 8
    residuals = 4 * 4 * 64 + 2 * 64
    assert model.parameters == 3 * delta + latent + MLP + 3 * sparse + 4 * 128 + residuals + OUTER
    assert model.bytes_per_token(WHOLE, BF16) == 20 * 2
    assert model.constant_bytes(1) == 3 * (3 * 3 * 32 * 2 + 32 * 8 * 4)


def test_deepseek_v4_rows_rings_and_index_keys() -> None:
    model = import_tree(CASES["deepseek_v4"]["config"]).shape  # ratios 0, 128, 4, 128; latents of 32, index keys of 16
    latent, index = 32 * 2, 16 + Fraction(4 * 16, 128)
    assert model.bytes_per_token(WHOLE, BF16) == Fraction(2 * latent, 128) + (latent + index) / 4
    assert model.index_bytes_per_token(WHOLE, BF16) == index / 4
    windows, rings = 4 * 16 * latent, 2 * 128 * 2 * 32 * 4 + 8 * 2 * 2 * (32 + 16) * 4
    assert model.window_bytes(WHOLE, BF16) == windows + rings
    assert model.constant_bytes(1) == 0


def test_drafts_cost_weights_in_the_checkpoint_and_no_cache() -> None:
    base = CASES["deepseek_v3"]["config"]
    without, with_draft = (import_tree({**base, "num_nextn_predict_layers": count}).shape for count in (0, 1))
    assert with_draft.parameters == without.parameters
    assert with_draft.bytes_per_token(WHOLE, BF16) == without.bytes_per_token(WHOLE, BF16)
    layer = sum(tensors.total for tensors in without.blocks[-1].tensors(64))
    assert with_draft.mtp_parameters == layer + 2 * 64 * 64 + 3 * 64
    assert without.mtp_parameters == 0


def test_a_token_uses_fewer_experts_where_some_only_pass_on() -> None:
    config = {
        "model_type": "longcat_flash",
        **{key: value for key, value in SMALL.items() if key not in ("intermediate_size", "num_hidden_layers")},
        "num_layers": 2,
        "q_lora_rank": 24,
        "kv_lora_rank": 16,
        "qk_nope_head_dim": 8,
        "qk_rope_head_dim": 4,
        "v_head_dim": 8,
        "ffn_hidden_size": 96,
        "expert_ffn_hidden_size": 32,
        "n_routed_experts": 8,
        "zero_expert_num": 4,
        "moe_topk": 3,
    }
    model = import_tree(config).shape
    expert, latent = 3 * 64 * 32, 64 * 24 + 24 + 24 * 4 * 12 + 64 * 20 + 16 + 16 * 4 * 16 + 32 * 64
    layer = 2 * latent + 2 * MLP + 8 * expert + 64 * 12 + 12 + 4 * 64
    assert model.parameters == 2 * layer + OUTER
    assert model.active_parameters == model.parameters - 128 * 64 - 2 * (8 - 2) * expert
    assert model.bytes_per_token(WHOLE, BF16) == 2 * 2 * 20 * 2
    assert model.layer_count == 2


def test_zamba_counts_a_shared_block_once_and_its_caches_each() -> None:
    model = import_tree(CASES["zamba2"]["config"]).shape
    assert model.bytes_per_token(WHOLE, BF16) == 2 * 2 * 4 * 32 * 2  # two uses, heads of 2 x 64 / 4
    assert model.constant_bytes(1) == 4 * (3 * (128 + 2 * 2 * 8) + 128 * 8) * 2
    assert model.active_parameters > model.parameters


EXPERT = 3 * 64 * 32
EXPERTS = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32}


def test_arctic_has_an_mlp_as_wide_as_the_model_beside_every_second_layer_s_experts() -> None:
    model = shape(model_type="arctic", num_local_experts=8, num_experts_per_tok=2)
    sparse = 8 * MLP + 64 * 8 + 3 * 64 * 64 + 64
    assert model.parameters == 4 * (ATTENTION + 128) + 2 * MLP + 2 * sparse + OUTER


def test_grok_has_four_norms_and_in_its_second_version_an_mlp_beside_narrower_experts() -> None:
    first = shape(model_type="grok-1", num_experts=8, num_experts_per_tok=2)
    assert first.parameters == 4 * (ATTENTION + 256 + 8 * MLP + 64 * 8) + OUTER - 128 * 64
    second = shape(
        architectures=["Grok1ForCausalLM"], model_type="git", residual_moe=True, sliding_window_size=-1, **EXPERTS
    )
    assert second.parameters == 4 * (ATTENTION + 256 + 8 * EXPERT + 64 * 8 + MLP) + OUTER
    assert second.window_bytes(WHOLE, BF16) == 0


def test_step3_keeps_one_head_and_cuts_queries_from_a_shared_width() -> None:
    model = shape(
        model_type="step3_text",
        head_dim=HEAD,
        share_q_dim=24,
        moe_layers_enum="1, 3",
        moe_num_experts=8,
        moe_top_k=2,
        moe_intermediate_size=32,
        share_expert_dim=48,
    )
    attention = 64 * (24 + 2 * HEAD) + 24 * 4 * HEAD + 4 * HEAD * 64 + 24
    sparse = 8 * EXPERT + 3 * 64 * 48 + 64 * 8
    assert model.parameters == 4 * (attention + 128) + 2 * MLP + 2 * sparse + OUTER
    assert model.bytes_per_token(WHOLE, BF16) == 4 * 2 * HEAD * 2


def test_ling_2_5_keeps_states_in_groups_and_latents_at_their_ends() -> None:
    config = {
        **SMALL,
        **EXPERTS,
        "architectures": ["BailingMoeV2_5ForCausalLM"],
        "head_dim": HEAD,
        "group_norm_size": 4,
        "layer_group_size": 2,
        "kv_lora_rank": 16,
        "q_lora_rank": 24,
        "qk_nope_head_dim": 8,
        "qk_rope_head_dim": 4,
        "v_head_dim": 8,
        "use_qk_norm": True,
        "num_shared_experts": 1,
        "moe_router_enable_expert_bias": True,
        "first_k_dense_replace": 1,
        "num_nextn_predict_layers": 1,
    }
    model = import_tree(config).shape
    lightning = 5 * 64 * 4 * HEAD + 4 * HEAD + 2 * HEAD
    latent = 64 * 24 + 24 + 24 * 4 * 12 + 64 * 20 + 16 + 16 * 4 * 16 + 32 * 64
    sparse = 9 * EXPERT + 64 * 8 + 8
    assert model.parameters == 2 * (lightning + latent) + MLP + 3 * sparse + 4 * 128 + OUTER
    assert model.bytes_per_token(WHOLE, BF16) == 2 * 20 * 2
    assert model.constant_bytes(1) == 2 * 4 * HEAD * HEAD * 2
    assert model.mtp_parameters == latent + sparse + 128 + 2 * 64 * 64 + 3 * 64


def test_ring_linear_attends_over_heads_where_it_has_no_latent() -> None:
    model = shape(
        model_type="bailing_moe_linear",
        head_dim=HEAD,
        group_norm_size=4,
        layer_group_size=4,
        num_shared_experts=1,
        **EXPERTS,
    )
    assert model.bytes_per_token(WHOLE, BF16) == 2 * 2 * HEAD * 2


def test_ernie_for_images_gives_its_pairs_as_lists_or_as_one_number() -> None:
    lists = {
        "moe_num_experts": [8, 8],
        "moe_intermediate_size": [32, 16],
        "moe_layer_start_index": [1, 1],
        "moe_layer_end_index": [4, 2],
        "moe_k": 2,
        "moe_num_shared_experts": 2,
    }
    model = shape(model_type="ernie4_5_moe_vl", head_dim=HEAD, **lists)
    text, images = 8 * EXPERT + 64 * 8 + 8, 8 * 3 * 64 * 16 + 64 * 8 + 8
    sparse = text + images + 3 * 64 * 2 * 32
    assert model.parameters == 4 * (ATTENTION + 128) + MLP + 3 * sparse + OUTER - 128 * 64
    assert model.active_parameters == model.parameters - 3 * (6 * EXPERT + images)
    with pytest.raises(BadInput, match="no pair of sizes"):
        shape(model_type="ernie4_5_moe_vl", **{**lists, "moe_num_experts": [8]})


@pytest.mark.parametrize(("version", "rule"), [(2.5, "llama"), (2.6, "qwen2"), ("4.5", "qwen3")])
def test_minicpm_v_says_by_its_version_which_language_model_it_has(version: Any, rule: str) -> None:
    found, expected = (
        shape(model_type="minicpmv", version=version, head_dim=HEAD),
        shape(model_type=rule, head_dim=HEAD),
    )
    assert found.blocks == expected.blocks


@pytest.mark.parametrize("version", [None, 9, [2.6]])
def test_an_unknown_version_is_refused(version: Any) -> None:
    with pytest.raises(BadInput, match="version"):
        shape(model_type="minicpmv", version=version)
