"""Whole models: parameters, bytes per token, windows. Totals are those that the checkpoints publish."""

from collections.abc import Mapping
from fractions import Fraction

import pytest

from sizing.pool.storage import IdealStorage
from sizing.sequence.feed_forward import GatedMlp
from sizing.sequence.heads import FullAttention
from sizing.sequence.model import Block, ModelShape
from sizing.sequence.sharding import WHOLE, Sharding

BF16 = IdealStorage(Fraction(16))
Shapes = Mapping[str, ModelShape]


@pytest.mark.parametrize(
    ("name", "parameters", "active"),
    [
        ("llama-3.1-8b", 8_030_261_248, 7_504_924_672),
        ("llama-3.1-70b", 70_553_706_496, 70_553_706_496 - 128_256 * 8_192),
        ("llama-3.1-405b", 405_853_388_800, 403_752_042_496),
        ("phi-4", 14_659_507_200, 14_145_704_960),
        ("deepseek-v3", 671_026_419_200, 36_625_618_432),
        ("gpt-oss-120b", 116_829_156_672, 5_132_849_472),
    ],
)
def test_parameters_to_the_last_one(shapes: Shapes, name: str, parameters: int, active: int) -> None:
    assert shapes[name].parameters == parameters
    assert shapes[name].active_parameters == active


def test_tied_embeddings_are_stored_once_and_multiplied_with() -> None:
    block = Block(2, FullAttention(query_heads=4, kv_heads=2, head_dim=8), GatedMlp(intermediate=64))
    untied = ModelShape("toy", "toy", 32, 100, False, (block,), "bf16", 1024)
    tied = ModelShape("toy", "toy", 32, 100, True, (block,), "bf16", 1024)
    layer = 32 * (32 + 16 + 16) + 32 * 32 + 3 * 32 * 64 + 2 * 32
    assert untied.parameters == 2 * layer + 32 + 2 * 3200
    assert tied.parameters == 2 * layer + 32 + 3200
    assert tied.active_parameters == untied.active_parameters == 2 * layer + 32 + 3200


def test_only_mixtures_have_routed_experts(shapes: Shapes) -> None:
    assert {name for name, shape in shapes.items() if shape.has_routed_experts} == {"deepseek-v3", "gpt-oss-120b"}


@pytest.mark.parametrize(
    ("name", "tp", "size"),
    [
        ("llama-3.1-70b", 1, 327_680),
        ("llama-3.1-70b", 8, 327_680),
        ("llama-3.1-70b", 16, 655_360),
        ("phi-4", 1, 204_800),
        ("phi-4", 5, 204_800),
        ("deepseek-v3", 1, 70_272),
        ("deepseek-v3", 8, 562_176),
        ("gpt-oss-120b", 8, 36_864),
        ("windows-only", 1, 0),
    ],
)
def test_bytes_per_token(shapes: Shapes, name: str, tp: int, size: int) -> None:
    assert shapes[name].bytes_per_token(Sharding(tp), BF16) == size


def test_a_sequence_is_linear_where_every_layer_grows(shapes: Shapes) -> None:
    model = shapes["llama-3.1-70b"]
    assert model.sequence_bytes(131_072, WHOLE, BF16) == 40 * 2**30
    assert model.window_bytes(WHOLE, BF16) == 0
    assert model.constant_bytes(8) == 0


def test_a_sequence_grows_by_its_slope_past_the_windows(shapes: Shapes) -> None:
    model = shapes["gpt-oss-120b"]
    per_token = model.bytes_per_token(WHOLE, BF16)
    assert model.sequence_bytes(1_001, WHOLE, BF16) - model.sequence_bytes(1_000, WHOLE, BF16) == per_token
    assert model.sequence_bytes(101, WHOLE, BF16) - model.sequence_bytes(100, WHOLE, BF16) == 2 * per_token
    assert model.sequence_bytes(1_000, WHOLE, BF16) == 1_000 * per_token + model.window_bytes(WHOLE, BF16)


def test_odd_bits_round_up_per_sequence(shapes: Shapes) -> None:
    odd = IdealStorage(Fraction(7, 2))
    model = ModelShape(
        "odd",
        "odd",
        8,
        8,
        False,
        (Block(1, FullAttention(query_heads=1, kv_heads=1, head_dim=1), GatedMlp(intermediate=8)),),
        "bf16",
        1024,
    )
    assert model.bytes_per_token(WHOLE, odd) == Fraction(7, 8)
    assert [model.sequence_bytes(context, WHOLE, odd) for context in (1, 2, 8, 9)] == [1, 2, 7, 8]


def test_one_refusing_layer_refuses_the_model(shapes: Shapes) -> None:
    assert shapes["gpt-oss-120b"].refusal(Sharding(64)) is None
    assert shapes["phi-4"].refusal(Sharding(8)) == "TP 8 neither divides 10 KV heads nor is a multiple of them"


@pytest.mark.parametrize(
    ("name", "tp", "intensity"),
    [("llama-3.1-70b", 1, 8.0), ("llama-3.1-70b", 16, 4.0), ("deepseek-v3", 1, 241.8), ("windows-only", 1, 4.0)],
)
def test_intensity(shapes: Shapes, name: str, tp: int, intensity: float) -> None:
    """Replicated heads are read on every rank that holds them, so past the KV heads intensity falls."""
    found = shapes[name].intensity(Sharding(tp), BF16)
    assert found is not None
    assert round(float(found), 1) == intensity
