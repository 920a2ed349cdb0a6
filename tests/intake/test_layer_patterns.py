"""Every place in which a file says which layers slide, are full, keep a state, or own an indexer."""

from fractions import Fraction
from typing import Any

import pytest

from sizing.intake.huggingface import import_tree
from sizing.pool.storage import IdealStorage
from sizing.sequence.heads import ChunkedAttention, SlidingAttention
from sizing.sequence.latent import SparseLatentAttention
from sizing.sequence.model import ModelShape
from sizing.sequence.sharding import WHOLE

BF16 = IdealStorage(Fraction(16))
SMALL = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 8,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": 128,
    "sliding_window": 32,
}
ROW = 2 * 2 * 16 * 2  # K and V of two heads in 16 bits


def shape(**config: Any) -> ModelShape:
    return import_tree({**SMALL, **config}).shape


def sliding_layers(model: ModelShape) -> int:
    return sum(count for count, kind in model.layers() if isinstance(kind, SlidingAttention))


@pytest.mark.parametrize(
    ("config", "sliding"),
    [
        ({"model_type": "mistral"}, 8),
        ({"model_type": "mistral", "sliding_window": None}, 0),
        ({"model_type": "mistral", "sliding_window": 0}, 0),
        ({"model_type": "phi3"}, 8),
        ({"model_type": "starcoder2"}, 8),
        ({"model_type": "llama"}, 0),
        ({"model_type": "qwen2"}, 0),
        ({"model_type": "qwen2", "use_sliding_window": True, "max_window_layers": 6}, 2),
        ({"model_type": "qwen3", "use_sliding_window": True, "max_window_layers": 0}, 8),
        ({"model_type": "gemma2"}, 4),
        ({"model_type": "gemma3_text"}, 7),
        ({"model_type": "gemma3_text", "sliding_window_pattern": 4}, 6),
        ({"model_type": "gemma3_text", "_sliding_window_pattern": 2}, 4),
        ({"model_type": "cohere2"}, 6),
        ({"model_type": "cohere2", "sliding_window_pattern": 2}, 4),
        ({"model_type": "exaone4", "sliding_window_pattern": "LLLG"}, 6),
        ({"model_type": "exaone4", "sliding_window_pattern": "LG"}, 4),
        ({"model_type": "exaone4", "sliding_window": None}, 0),
        ({"model_type": "olmo3"}, 0),
        ({"model_type": "olmo3", "layer_types": ["sliding_attention", "full_attention"] * 4}, 4),
        ({"model_type": "qwen2", "layer_types": ["full_attention"] * 7 + ["sliding_attention"]}, 1),
    ],
)
def test_where_windows_are(config: dict[str, Any], sliding: int) -> None:
    model = shape(**config)
    assert sliding_layers(model) == sliding
    assert model.window_bytes(WHOLE, BF16) == sliding * 32 * ROW
    assert model.bytes_per_token(WHOLE, BF16) == (8 - sliding) * ROW


def test_mimo_slides_by_its_own_pattern_and_heads_and_is_not_chunked() -> None:
    model = shape(
        model_type="mimo_v2_flash",
        head_dim=24,
        v_head_dim=16,
        swa_num_key_value_heads=4,
        swa_head_dim=24,
        swa_v_head_dim=16,
        attention_chunk_size=16,
        hybrid_layer_pattern=[0, 1, 1, 1] * 2,
        moe_layer_freq=[0] + [1] * 7,
        n_routed_experts=4,
        num_experts_per_tok=2,
        moe_intermediate_size=32,
    )
    assert model.bytes_per_token(WHOLE, BF16) == 2 * 2 * (24 + 16) * 2
    assert model.window_bytes(WHOLE, BF16) == 6 * 32 * 4 * (24 + 16) * 2
    assert not any(isinstance(kind, ChunkedAttention) for _, kind in model.layers())


@pytest.mark.parametrize(
    ("config", "chunked"),
    [({}, 6), ({"no_rope_layers": [0, 1] * 4}, 4), ({"no_rope_layer_interval": 2}, 4), ({"no_rope_layers": []}, 6)],
)
def test_llama_4_is_chunked_where_it_has_rope(config: dict[str, Any], chunked: int) -> None:
    model = shape(
        model_type="llama4_text",
        sliding_window=None,
        attention_chunk_size=32,
        intermediate_size_mlp=96,
        num_local_experts=4,
        num_experts_per_tok=1,
        **config,
    )
    assert sum(count for count, kind in model.layers() if isinstance(kind, ChunkedAttention)) == chunked
    assert model.bytes_per_token(WHOLE, BF16) == (8 - chunked) * ROW
    assert model.window_bytes(WHOLE, BF16) == chunked * 32 * ROW


LATENT = {
    "model_type": "glm_moe_dsa",
    "sliding_window": None,
    "q_lora_rank": 24,
    "kv_lora_rank": 128,
    "qk_nope_head_dim": 8,
    "qk_rope_head_dim": 64,
    "v_head_dim": 8,
    "index_n_heads": 2,
    "index_head_dim": 128,
    "n_routed_experts": 4,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 32,
    "first_k_dense_replace": 8,
}


@pytest.mark.parametrize(
    ("config", "owners"),
    [
        ({}, 8),
        ({"index_topk_freq": 4, "index_skip_topk_offset": 3}, 4),  # layers 0, 1, 2 and 6
        ({"index_topk_freq": 2}, 5),
        ({"index_topk_pattern": "FSFSFSFS"}, 4),
        ({"indexer_types": ["full", "shared"] * 4}, 4),
        ({"indexer_types": ["full"] * 9}, 8),
    ],
)
def test_which_layers_own_an_indexer(config: dict[str, Any], owners: int) -> None:
    model = shape(**LATENT, **config)
    kinds = [(count, kind) for count, kind in model.layers() if isinstance(kind, SparseLatentAttention)]
    assert sum(count for count, kind in kinds if kind.indexer) == owners
    assert model.index_bytes_per_token(WHOLE, BF16) == owners * 132
    assert model.bytes_per_token(WHOLE, BF16) == 8 * (128 + 64) * 2 + owners * 132


def test_gemma_3n_and_4_share_the_caches_of_their_last_layers() -> None:
    config = {
        "num_kv_shared_layers": 4,
        "layer_types": ["sliding_attention", "full_attention"] * 4,
        "hidden_size_per_layer_input": 8,
        "vocab_size_per_layer_input": 128,
    }
    small = shape(model_type="gemma3n_text", **config)
    assert (small.bytes_per_token(WHOLE, BF16), small.window_bytes(WHOLE, BF16)) == (2 * ROW, 2 * 32 * ROW)
    wide = shape(model_type="gemma4_text", global_head_dim=32, **config)
    assert (wide.bytes_per_token(WHOLE, BF16), wide.window_bytes(WHOLE, BF16)) == (2 * 2 * ROW, 2 * 32 * ROW)


def test_gemma_4_keeps_keys_and_values_that_are_one_projection() -> None:
    config = {"model_type": "gemma4_text", "global_head_dim": 32, "num_global_key_value_heads": 1}
    apart = shape(**config, attention_k_eq_v=False)
    one = shape(**config, attention_k_eq_v=True)
    assert apart.bytes_per_token(WHOLE, BF16) == 2 * 2 * 32 * 2 * 2  # layers 5 and 7, which is last; two heads
    assert one.bytes_per_token(WHOLE, BF16) == 2 * 2 * 32 * 2  # one head, K and V
    assert apart.parameters - one.parameters == 2 * 64 * 32 * 3  # a head of K and both of V


@pytest.mark.parametrize(
    ("config", "full"),
    [
        ({"model_type": "qwen3_next", "full_attention_interval": 4}, 2),
        ({"model_type": "qwen3_5_text", "full_attention_interval": 2}, 4),
        ({"model_type": "qwen3_5_text", "layer_types": ["linear_attention"] * 7 + ["full_attention"]}, 1),
    ],
)
def test_delta_nets_between_attention(config: dict[str, Any], full: int) -> None:
    linear = {
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 4,
        "linear_key_head_dim": 8,
        "linear_value_head_dim": 8,
        "linear_conv_kernel_dim": 4,
    }
    model = shape(**linear, **config, num_experts=0)
    bits = 16 if config["model_type"] == "qwen3_next" else 32
    assert model.bytes_per_token(WHOLE, BF16) == full * ROW
    assert model.constant_bytes(1) == (8 - full) * (3 * (2 * 16 + 32) * 16 + 4 * 8 * 8 * bits) // 8


def test_nemotron_h_is_as_long_as_its_pattern() -> None:
    config = {
        "model_type": "nemotron_h",
        "num_hidden_layers": None,
        "sliding_window": None,
        "hybrid_override_pattern": "M*-E",
        "mamba_num_heads": 8,
        "mamba_head_dim": 16,
        "ssm_state_size": 8,
        "n_groups": 2,
        "conv_kernel": 4,
        "n_routed_experts": 4,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 32,
    }
    letters = shape(**config)
    names = shape(
        **{**config, "hybrid_override_pattern": None, "layers_block_type": ["mamba", "attention", "mlp", "moe"]}
    )
    assert letters == names
    assert letters.layer_count == 4
    assert letters.bytes_per_token(WHOLE, BF16) == ROW
    assert letters.constant_bytes(1) == 3 * (128 + 2 * 2 * 8) * 2 + 128 * 8 * 4
    half = shape(**config, mamba_ssm_cache_dtype="bfloat16")
    assert letters.constant_bytes(1) - half.constant_bytes(1) == 128 * 8 * 2


@pytest.mark.parametrize(
    "config",
    [
        {
            "sparse_attention_config": {
                "sparse_num_index_heads": 2,
                "sparse_index_dim": 32,
                "sparse_attention_freq": [0, 0, *[1] * 6],
            }
        },
        {
            "layer_types": ["full_attention"] * 2 + ["minimax_m3_sparse"] * 6,
            "index_n_heads": 2,
            "index_head_dim": 32,
        },
    ],
)
def test_index_keys_of_minimax_m3_in_both_spellings(config: dict[str, Any]) -> None:
    model = shape(
        model_type="minimax_m3",
        num_local_experts=4,
        num_experts_per_tok=2,
        moe_layer_freq=[1] * 8,
        shared_intermediate_size=32,
        **config,
    )
    assert model.index_bytes_per_token(WHOLE, BF16) == 6 * 32 * 2
    assert model.bytes_per_token(WHOLE, BF16) == 8 * ROW + 6 * 32 * 2


def test_deepseek_without_latents_caches_heads() -> None:
    experts = {"n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
    model = shape(model_type="deepseek_v2", use_mla=False, first_k_dense_replace=1, **experts)
    assert model.bytes_per_token(WHOLE, BF16) == 8 * ROW
