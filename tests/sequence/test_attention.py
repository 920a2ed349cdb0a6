"""What one attention layer keeps, and how it shards."""

from fractions import Fraction
from math import gcd

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sizing.pool.storage import IdealStorage
from sizing.sequence.attention import KINDS
from sizing.sequence.heads import FullAttention, SlidingAttention
from sizing.sequence.latent import LatentAttention
from sizing.sequence.sharding import WHOLE, Sharding

BF16 = IdealStorage(Fraction(16))
GQA = FullAttention(query_heads=64, kv_heads=8, head_dim=128)
MLA = LatentAttention(query_heads=128, kv_lora_rank=512, rope_head_dim=64, nope_head_dim=128, value_head_dim=128)
WINDOW = SlidingAttention(query_heads=64, kv_heads=8, head_dim=64, window=128)


def test_kinds_are_registered_under_the_names_of_catalogs() -> None:
    assert KINDS["full"] is FullAttention
    assert KINDS["sliding"] is SlidingAttention
    assert KINDS["latent"] is LatentAttention


@pytest.mark.parametrize(("tp", "elements"), [(1, 2048), (2, 2048), (8, 2048), (16, 4096), (64, 16384)])
def test_heads_are_replicated_past_their_number(tp: int, elements: int) -> None:
    assert GQA.elements_per_token(tp) == elements


def test_values_may_be_narrower_than_keys() -> None:
    mimo = FullAttention(query_heads=64, kv_heads=4, head_dim=192, value_head_dim=128)
    assert mimo.elements_per_token(1) == 4 * (192 + 128)
    assert mimo.flop_per_token() == 2 * 64 * (192 + 128)


@pytest.mark.parametrize(
    ("kind", "sharding", "why"),
    [
        (GQA, Sharding(64), None),
        (GQA, Sharding(3), "64 query heads cannot be split over TP 3"),
        (FullAttention(query_heads=40, kv_heads=10, head_dim=128), Sharding(4), "neither divides 10 KV heads"),
        (FullAttention(query_heads=40, kv_heads=10, head_dim=128), Sharding(20), None),
        (GQA, Sharding(16, 2), None),
        (GQA, Sharding(8, 2), "DCP 2 needs TP of at least 16"),
        (GQA, Sharding(16, 4), "DCP 4 needs TP of at least 32"),
        (GQA, Sharding(16, 3), "DCP 3 does not divide TP 16"),
        (FullAttention(query_heads=72, kv_heads=8, head_dim=128), Sharding(24, 2), "does not divide 9 query heads"),
        (MLA, Sharding(8, 8), None),
        (MLA, Sharding(8, 3), "DCP 3 does not divide TP 8"),
        (MLA, Sharding(3), "128 query heads cannot be split over TP 3"),
    ],
)
def test_which_shardings_are_refused(kind: FullAttention, sharding: Sharding, why: str | None) -> None:
    refused = kind.refusal(sharding)
    assert refused is None if why is None else why in (refused or "")


def test_mla_keeps_one_latent_and_tp_copies_it() -> None:
    assert MLA.elements_per_token(1) == 576
    assert MLA.elements_per_token(8) == 8 * 576
    assert MLA.sequence_bits(1000, Sharding(8, 8), BF16) == MLA.sequence_bits(1000, WHOLE, BF16)


def test_dcp_splits_tokens_in_whole_tokens() -> None:
    assert GQA.sequence_bits(1001, Sharding(16, 2), BF16) == 4096 * 16 * 501


@pytest.mark.parametrize(("context", "kept"), [(1, 1), (127, 127), (128, 128), (129, 128), (131_072, 128)])
def test_a_window_keeps_its_last_tokens(context: int, kept: int) -> None:
    assert WINDOW.tokens_kept(context) == kept
    assert WINDOW.sequence_bits(context, WHOLE, BF16) == kept * 2 * 8 * 64 * 16


def test_a_window_neither_grows_nor_is_split() -> None:
    assert not WINDOW.grows
    assert not WINDOW.shards_tokens
    assert WINDOW.sequence_bits(4096, Sharding(16, 2), BF16) == 2 * WINDOW.sequence_bits(4096, WHOLE, BF16)


@given(kv=st.integers(1, 16), group=st.integers(1, 16), tp=st.integers(1, 64))
def test_a_legal_tp_gives_every_rank_whole_heads(kv: int, group: int, tp: int) -> None:
    kind = FullAttention(query_heads=kv * group, kv_heads=kv, head_dim=64)
    assume(kind.refusal(Sharding(tp)) is None)
    assert (kv * group) % tp == 0
    copies = Fraction(kind.elements_per_token(tp), kind.elements_per_token(1))
    assert copies == max(1, Fraction(tp, kv))
    assert gcd(kv, tp) in (kv, tp)


def test_dcp_never_stores_less_than_one_copy() -> None:
    legal = 0
    for group in range(1, 17):
        kind = FullAttention(query_heads=2 * group, kv_heads=2, head_dim=64)
        for sharding in (Sharding(tp, dcp) for tp in range(1, 33) for dcp in range(2, tp + 1)):
            if kind.refusal(sharding) is None:
                legal += 1
                context = 64 * sharding.dcp
                assert kind.sequence_bits(context, sharding, BF16) >= kind.sequence_bits(context, WHOLE, BF16)
    assert legal > 0
