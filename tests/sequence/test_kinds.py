"""What each kind of layer keeps and weighs, how it shards, and what it refuses."""

from fractions import Fraction

import pytest

from sizing.pool.storage import IdealStorage
from sizing.sequence.attention import KINDS, AttentionKind
from sizing.sequence.compressed import CompressedAttention
from sizing.sequence.heads import (
    ChunkedAttention,
    CrossAttention,
    FullAttention,
    IndexedAttention,
    NoAttention,
    SharedAttention,
)
from sizing.sequence.latent import LatentAttention, SparseLatentAttention
from sizing.sequence.recurrent import (
    GatedDeltaNet,
    KimiDeltaAttention,
    LightningAttention,
    Mamba,
    Mamba2,
    ShortConvolution,
)
from sizing.sequence.sharding import WHOLE, Sharding
from sizing.sequence.streams import CacheRole

BF16 = IdealStorage(Fraction(16))
FP8 = IdealStorage(Fraction(8))

HEADS = {"query_heads": 16, "kv_heads": 4, "head_dim": 64}
MLA = {"query_heads": 16, "kv_lora_rank": 512, "rope_head_dim": 64, "nope_head_dim": 128, "value_head_dim": 128}
V4 = {
    "query_heads": 16,
    "head_dim": 512,
    "rope_head_dim": 64,
    "query_lora_rank": 256,
    "output_lora_rank": 128,
    "output_groups": 4,
    "window": 128,
    "index_heads": 8,
    "index_head_dim": 128,
}
KIND_EXAMPLES: dict[str, AttentionKind] = {
    "full": FullAttention(**HEADS),
    "chunked": ChunkedAttention(chunk=256, **HEADS),
    "indexed": IndexedAttention(index_heads=4, index_head_dim=128, **HEADS),
    "shared": SharedAttention(**HEADS),
    "cross": CrossAttention(**HEADS),
    "none": NoAttention(),
    "latent": LatentAttention(**MLA),
    "sparse_latent": SparseLatentAttention(index_heads=8, index_head_dim=128, **MLA),
    "compressed": CompressedAttention(ratio=4, **V4),
    "mamba": Mamba(inner=256, state=16, conv_kernel=4, time_step_rank=8),
    "mamba2": Mamba2(heads=16, head_dim=32, state=64, groups=2, conv_kernel=4),
    "gated_delta_net": GatedDeltaNet(key_heads=4, value_heads=8, key_head_dim=32, value_head_dim=64, conv_kernel=4),
    "kda": KimiDeltaAttention(heads=8, head_dim=32, conv_kernel=4),
    "lightning": LightningAttention(heads=8, head_dim=32),
    "short_conv": ShortConvolution(width=256, conv_kernel=3),
}


def held(kind: AttentionKind, context: int, sharding: Sharding = WHOLE, storage: IdealStorage = BF16) -> Fraction:
    """Bytes of a sequence in one layer."""
    return kind.sequence_bits(context, sharding, storage) / 8


def weights(kind: AttentionKind, hidden: int) -> int:
    return sum(tensors.total for tensors in kind.tensors(hidden))


@pytest.mark.parametrize("name", sorted(KIND_EXAMPLES))
def test_every_kind_is_registered_and_shards_or_says_why(name: str) -> None:
    kind = KIND_EXAMPLES[name]
    assert KINDS[name] is type(kind)
    assert kind.refusal(Sharding(2)) is None
    refused = kind.refusal(Sharding(7))
    assert refused is None if name == "none" else "TP 7" in (refused or "")


@pytest.mark.parametrize("name", sorted(KIND_EXAMPLES))
def test_a_pool_never_holds_less_than_one_copy(name: str) -> None:
    kind = KIND_EXAMPLES[name]
    for tp in (2, 4):
        assert held(kind, 1000, Sharding(tp)) >= held(kind, 1000)


@pytest.mark.parametrize("name", sorted(KIND_EXAMPLES))
def test_a_longer_sequence_never_costs_less(name: str) -> None:
    kind = KIND_EXAMPLES[name]
    sizes = [held(kind, context) for context in (1, 2, 127, 128, 129, 255, 256, 257, 4096)]
    assert sizes == sorted(sizes)
    assert (sizes[0] > 0) == (name not in ("shared", "cross", "none"))


@pytest.mark.parametrize(("context", "kept"), [(1, 1), (255, 255), (256, 256), (257, 256), (100_000, 256)])
def test_a_chunk_is_the_most_that_is_kept(context: int, kept: int) -> None:
    chunked = KIND_EXAMPLES["chunked"]
    assert held(chunked, context) == kept * 4 * 64 * 2 * 2
    assert not chunked.grows


def test_index_keys_lie_beside_heads_in_16_bits_whatever_the_precision() -> None:
    kind = KIND_EXAMPLES["indexed"]
    assert held(kind, 10) == 10 * (4 * 64 * 2 * 2 + 128 * 2)
    assert held(kind, 10, storage=FP8) == 10 * (4 * 64 * 2 + 128 * 2)
    assert held(kind, 10, Sharding(4)) == 10 * (4 * 64 * 2 * 2 + 4 * 128 * 2)
    full = weights(KIND_EXAMPLES["full"], 256)
    assert weights(kind, 256) == full + 256 * 128 * 5 + 2 * 128


def test_index_keys_of_sparse_latents_are_132_bytes_whatever_the_precision() -> None:
    kind, plain = KIND_EXAMPLES["sparse_latent"], KIND_EXAMPLES["latent"]
    for storage, latent in ((BF16, 1152), (FP8, 576)):
        assert held(plain, 10, storage=storage) == 10 * latent
        assert held(kind, 10, storage=storage) == 10 * (latent + 132)
    assert held(kind, 10, Sharding(8)) == 8 * held(kind, 10)
    reader = SparseLatentAttention(index_heads=8, index_head_dim=128, indexer=False, **MLA)
    assert held(reader, 10) == held(plain, 10)
    assert weights(reader, 256) == weights(plain, 256)


def test_dcp_splits_latents_and_copies_index_keys() -> None:
    assert held(KIND_EXAMPLES["sparse_latent"], 1000, Sharding(8, 8)) == 1000 * 1152 + 8 * 1000 * 132


def test_layers_that_read_another_cache_keep_nothing_and_project_queries_only() -> None:
    shared = KIND_EXAMPLES["shared"]
    assert shared.streams(1) == ()
    assert not shared.grows
    assert weights(shared, 256) == 256 * 16 * 64 * 2
    assert shared.refusal(Sharding(3)) is not None


def test_cross_attention_keeps_nothing_of_the_text_and_weighs_as_much() -> None:
    assert KIND_EXAMPLES["cross"].streams(1) == ()
    assert weights(KIND_EXAMPLES["cross"], 256) == weights(KIND_EXAMPLES["full"], 256)


def test_no_attention_may_be_one_matrix() -> None:
    assert weights(NoAttention(), 256) == 0
    assert weights(NoAttention(linear=True), 256) == 256 * 256


def test_gates_sinks_and_missing_value_projections() -> None:
    plain = weights(FullAttention(**HEADS), 256)
    assert weights(FullAttention(gate_width=16 * 64, **HEADS), 256) == plain + 256 * 16 * 64
    assert weights(FullAttention(sinks=True, **HEADS), 256) == plain + 16
    assert weights(FullAttention(value_projection=False, **HEADS), 256) == plain - 256 * 4 * 64
    assert weights(FullAttention(own_weights=False, **HEADS), 256) == 0
    assert held(FullAttention(value_projection=False, **HEADS), 10) == held(FullAttention(**HEADS), 10)


@pytest.mark.parametrize(
    ("ratio", "context", "rows", "ring", "index"),
    [
        (0, 1000, 128, 0, 0),
        (1, 50, 50, 0, 0),
        (128, 127, 127, 127 * 4096, 0),
        (128, 1000, 128 + 7, 128 * 4096, 0),
        (4, 3, 3, 3 * (8192 + 2048), 0),
        (4, 1000, 128 + 250, 8 * (8192 + 2048), 250 * 132),
    ],
)
def test_compressed_latents(ratio: int, context: int, rows: int, ring: int, index: int) -> None:
    kind = CompressedAttention(ratio=ratio, **V4)
    assert held(kind, context) == rows * 1024 + ring + index
    assert kind.grows == (ratio > 1)


def test_compressed_latents_are_copied_and_not_split() -> None:
    kind = KIND_EXAMPLES["compressed"]
    assert held(kind, 1000, Sharding(8)) == 8 * held(kind, 1000)
    assert "decode context parallel" in (kind.refusal(Sharding(8, 2)) or "")


@pytest.mark.parametrize(
    ("name", "conv", "state"),
    [
        ("mamba", 3 * 256, 256 * 16),
        ("mamba2", 3 * (512 + 2 * 2 * 64), 512 * 64),
        ("gated_delta_net", 3 * (2 * 4 * 32 + 8 * 64), 8 * 64 * 32),
        ("kda", 3 * 3 * 256, 256 * 32),
        ("lightning", 0, 256 * 32),
        ("short_conv", 2 * 256, 0),
    ],
)
def test_states_do_not_grow_and_have_widths_of_their_own(name: str, conv: int, state: int) -> None:
    kind = KIND_EXAMPLES[name]
    state_bytes = 4 if name == "kda" else 2
    for context in (1, 100_000):
        for storage in (BF16, FP8):
            assert held(kind, context, storage=storage) == conv * 2 + state * state_bytes
    assert {stream.role for stream in kind.streams(1)} <= {CacheRole.CONV_STATE, CacheRole.RECURRENT_STATE}
    assert (kind.query_heads, kind.grows, kind.elements_per_token(1), kind.tokens_kept(9)) == (0, False, 0, 0)


def test_the_recurrent_state_may_have_32_bits() -> None:
    half = Mamba2(heads=16, head_dim=32, state=64, groups=2, conv_kernel=4)
    whole = Mamba2(heads=16, head_dim=32, state=64, groups=2, conv_kernel=4, state_bits=32)
    assert held(whole, 1) - held(half, 1) == 512 * 64 * 2


@pytest.mark.parametrize(("tp", "groups"), [(1, 2), (2, 2), (4, 4), (16, 16)])
def test_groups_that_tp_does_not_divide_are_one_a_rank(tp: int, groups: int) -> None:
    conv, _ = KIND_EXAMPLES["mamba2"].streams(tp)
    assert conv.widths == (3 * (512 + 2 * groups * 64),)


def test_states_are_split_over_tp_and_not_over_dcp() -> None:
    for name in ("mamba", "gated_delta_net", "kda", "lightning", "short_conv"):
        kind = KIND_EXAMPLES[name]
        assert held(kind, 1, Sharding(4)) == held(kind, 1) == held(kind, 1, Sharding(4, 2))
        assert kind.refusal(Sharding(4, 2)) is None


def test_weights_of_states() -> None:
    h = 128
    assert weights(KIND_EXAMPLES["mamba"], h) == h * 512 + 256 * 5 + 256 * 40 + 8 * 256 + 256 + 256 * 16 + 256 + 256 * h
    convolved = 512 + 2 * 2 * 64
    assert weights(KIND_EXAMPLES["mamba2"], h) == h * (512 + convolved + 16) + convolved * 5 + 3 * 16 + 512 + 512 * h
    delta = h * (2 * 4 * 32 + 2 * 8 * 64) + 2 * h * 8 + (2 * 4 * 32 + 8 * 64) * 4 + 2 * 8 + 64 + 8 * 64 * h
    assert weights(KIND_EXAMPLES["gated_delta_net"], h) == delta
    assert weights(KIND_EXAMPLES["lightning"], h) == 5 * h * 256 + 256
    assert weights(KIND_EXAMPLES["short_conv"], h) == 3 * h * 256 + 256 * h + 256 * 3
