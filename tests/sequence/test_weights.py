"""Weight bytes by format, held against the sizes of published checkpoints."""

from collections.abc import Mapping
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing.sequence.model import ModelShape
from sizing.sequence.tensors import Role
from sizing.sequence.weights import FORMATS, WeightBytes, parameters_by_bits, weight_bytes

Shapes = Mapping[str, ModelShape]


def test_bf16_and_flat_fp8(shapes: Shapes) -> None:
    model = shapes["llama-3.1-405b"]
    assert weight_bytes(model, FORMATS["bf16"]).one_copy == 811_706_777_600
    assert weight_bytes(model, FORMATS["fp8"]).one_copy == 405_853_388_800


def test_gpt_oss_in_mxfp4_is_as_large_as_its_files(shapes: Shapes) -> None:
    assert round(weight_bytes(shapes["gpt-oss-120b"], FORMATS["mxfp4"]).one_copy / 2**30, 2) == 60.77


def test_block_fp8_leaves_embeddings_norms_and_routers_in_16_bits(shapes: Shapes) -> None:
    model = shapes["deepseek-v3"]
    linear = sum(
        layers * tensors.total
        for layers, tensors in model.tensors()
        if tensors.role in (Role.ATTENTION, Role.FEED_FORWARD, Role.SHARED_EXPERTS, Role.ROUTED_EXPERTS)
    )
    expected = linear * (1 + Fraction(4, 16_384)) + 2 * (model.parameters - linear)
    assert 0 <= weight_bytes(model, FORMATS["fp8-block"]).one_copy - expected < 1


def test_four_bits_are_half_a_byte_and_scales(shapes: Shapes) -> None:
    """A 70B in NVFP4 is about 0.56 byte a linear weight, never a quarter of one (known fault)."""
    size = weight_bytes(shapes["llama-3.1-70b"], FORMATS["nvfp4"]).one_copy
    embeddings = 2 * 128_256 * 8_192
    assert abs(size - (Fraction(9, 16) * (70_553_706_496 - embeddings) + 2 * embeddings)) < 3_000_000


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_no_format_is_larger_than_bf16(shapes: Shapes, name: str) -> None:
    for model in shapes.values():
        assert 0 < weight_bytes(model, FORMATS[name]).one_copy <= 2 * model.parameters


def test_dense_weights_shard_over_tp(shapes: Shapes) -> None:
    weights = weight_bytes(shapes["llama-3.1-70b"], FORMATS["bf16"])
    assert {weights.on_pool(tp, tp) for tp in (1, 2, 4, 8)} == {weights.one_copy}
    assert weights.on_pool(1, 8) == weights.one_copy


def test_experts_shard_over_the_replica_and_the_rest_is_copied(shapes: Shapes) -> None:
    model = shapes["deepseek-v3"]
    weights = weight_bytes(model, FORMATS["fp8"])
    expert = 3 * 7_168 * 2_048
    rest = model.parameters - 58 * 256 * expert
    assert weights.on_pool(8, 8) == model.parameters
    assert weights.on_pool(1, 8) == rest + 58 * 32 * expert
    assert weights.on_pool(1, 72) == rest + 58 * 4 * expert


def test_a_gpu_holds_whole_experts() -> None:
    weights = WeightBytes(Fraction(0), ((1, 10, Fraction(8)),))
    assert [weights.on_pool(1, gpus) for gpus in (1, 3, 4, 9, 10, 11)] == [10, 4, 3, 2, 1, 1]


@given(tp=st.sampled_from([1, 2, 4, 8]), attention_dp=st.sampled_from([1, 2, 4, 8, 9]))
def test_a_replica_never_holds_less_than_one_copy(shapes: Shapes, tp: int, attention_dp: int) -> None:
    for name in ("llama-3.1-70b", "deepseek-v3", "gpt-oss-120b"):
        weights = weight_bytes(shapes[name], FORMATS["fp8-block"])
        assert attention_dp * weights.on_pool(tp, tp * attention_dp) >= weights.one_copy


def test_parameters_by_bits_add_up(shapes: Shapes) -> None:
    for name, model in shapes.items():
        for weight_format in FORMATS.values():
            by_bits = parameters_by_bits(model, weight_format)
            assert sum(by_bits.values()) == model.parameters, name
            size = sum(bits * count for bits, count in by_bits.items()) / 8
            assert 0 <= weight_bytes(model, weight_format).one_copy - size < 1
    assert [*parameters_by_bits(shapes["llama-3.1-405b"], FORMATS["int4"])] == [4 + Fraction(20, 128), 16]
