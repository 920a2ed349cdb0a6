"""How engines store caches, against what they printed (kv_rules 3 and 4, docs/engines.md)."""

from collections.abc import Callable, Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing.pool.engines.sglang import TokenStorage, windows_have_a_pool
from sizing.pool.engines.tensorrt_llm import PagedStorage
from sizing.pool.engines.vllm import BlockStorage
from sizing.pool.storage import FP8_ROWS, IdealStorage, per_head
from sizing.sequence.attention import AttentionKind, Storage
from sizing.sequence.compressed import CompressedAttention
from sizing.sequence.heads import ChunkedAttention, FullAttention, SlidingAttention
from sizing.sequence.latent import LatentAttention, SparseLatentAttention
from sizing.sequence.recurrent import GatedDeltaNet, KimiDeltaAttention
from sizing.sequence.sharding import WHOLE, Sharding
from sizing.sequence.streams import CacheRole

Layers = Sequence[tuple[int, AttentionKind]]

BF16, FP8 = Fraction(16), Fraction(8)
FULL = FullAttention(query_heads=32, kv_heads=16, head_dim=128)
WINDOW = SlidingAttention(query_heads=32, kv_heads=16, head_dim=128, window=1024)
GEMMA_3_27B: Layers = [(52, WINDOW), (10, FULL)]
QWEN_3_5_27B: Layers = [
    (16, FullAttention(query_heads=24, kv_heads=4, head_dim=256)),
    (
        48,
        GatedDeltaNet(key_heads=16, value_heads=48, key_head_dim=128, value_head_dim=128, conv_kernel=4, state_bits=32),
    ),
]
MLA = LatentAttention(query_heads=64, kv_lora_rank=512, rope_head_dim=64, nope_head_dim=128, value_head_dim=128)
SPARSE = SparseLatentAttention(
    query_heads=64,
    kv_lora_rank=512,
    rope_head_dim=64,
    nope_head_dim=192,
    value_head_dim=256,
    query_lora_rank=2048,
    index_heads=32,
    index_head_dim=128,
)


def compressed(ratio: int) -> CompressedAttention:
    return CompressedAttention(
        query_heads=64,
        head_dim=512,
        rope_head_dim=64,
        query_lora_rank=1024,
        output_lora_rank=1024,
        output_groups=8,
        window=128,
        ratio=ratio,
        index_heads=64,
        index_head_dim=128,
    )


DEEPSEEK_V4_FLASH: Layers = [(2, compressed(0)), (21, compressed(4)), (20, compressed(128))]


def sequence_bytes(storage: Storage, layers: Layers, context: int, sharding: Sharding = WHOLE) -> Fraction:
    return sum((each.bits(context) for each in storage.stored(layers, sharding)), Fraction(0)) / 8


def blocks_of_a_sequence(storage: BlockStorage, layers: Layers, context: int) -> Fraction:
    pool = storage.pool(layers, WHOLE)
    return sequence_bytes(storage, layers, context) * 8 / pool.block_bits


def test_full_layers_are_rounded_up_to_a_block() -> None:
    storage = BlockStorage(bits=BF16)
    assert sequence_bytes(storage, [(32, FULL)], 4096) == 32 * 4096 * 8192
    assert sequence_bytes(storage, [(32, FULL)], 4097) == 32 * (4096 + 16) * 8192
    pool = storage.pool([(32, FULL)], WHOLE)
    assert (pool.groups, pool.block_tokens) == (1, 16)
    assert pool.block_bits == 32 * 16 * 8192 * 8


def test_mixed_layers_make_groups_with_phantom_layers() -> None:
    """Gemma 3 27B: 10 full and 52 windows make 1 + 6 groups of 10, eight of them phantom."""
    pool = BlockStorage(bits=BF16).pool(GEMMA_3_27B, WHOLE)
    assert pool.groups == 7
    assert pool.block_bits == 10 * 16 * 8192 * 8
    assert [(each.layers, each.phantom) for each in pool.stored] == [(52, False), (10, False), (8, True)]


def test_as_many_of_both_make_groups_without_phantoms() -> None:
    pool = BlockStorage(bits=BF16).pool([(18, FULL), (18, WINDOW)], WHOLE)
    assert pool.groups == 2
    assert not any(each.phantom for each in pool.stored)


def test_few_more_of_one_kind_make_larger_groups() -> None:
    """12 windows and 13 full layers make two groups of 13, not three of 12."""
    pool = BlockStorage(bits=BF16).pool([(13, FULL), (12, WINDOW)], WHOLE)
    assert pool.groups == 2
    assert sum(each.layers for each in pool.stored if each.phantom) == 1


def test_phantom_layers_do_no_arithmetic() -> None:
    stored = BlockStorage(bits=BF16).pool(GEMMA_3_27B, WHOLE).stored
    assert [each.token_flop for each in stored if each.phantom] == [0]
    assert all(each.token_flop for each in stored if not each.phantom)


def test_a_window_holds_its_tokens_those_in_flight_and_one_block_more() -> None:
    steady, busy = BlockStorage(bits=BF16), BlockStorage(bits=BF16, in_flight=8192)
    only = [(32, WINDOW)]
    assert sequence_bytes(steady, only, 100_000) == 32 * (1024 + 16) * 8192
    assert sequence_bytes(busy, only, 100_000) == 32 * (-(-(1023 + 8192) // 16) + 1) * 16 * 8192
    assert sequence_bytes(busy, only, 2048) == 32 * (2048 + 16) * 8192


def test_the_first_version_stores_windows_in_full() -> None:
    storage = BlockStorage(bits=BF16, windows_in_full=True)
    assert sequence_bytes(storage, GEMMA_3_27B, 65_536) == 62 * 65_536 * 8192


def test_chunks_are_stored_in_full_by_default() -> None:
    """Llama 4: 48 layers at 196,608 bytes a token, not 12 (kv_rules 2.7)."""
    layers: Layers = [
        (12, FullAttention(query_heads=40, kv_heads=8, head_dim=128)),
        (36, ChunkedAttention(query_heads=40, kv_heads=8, head_dim=128, chunk=8192)),
    ]
    assert sequence_bytes(BlockStorage(bits=BF16), layers, 131_072) == 131_072 * 196_608
    kept = BlockStorage(bits=BF16, chunks_in_full=False)
    assert sequence_bytes(kept, layers, 131_072) < 131_072 * 60_000


def test_blocks_beside_states_are_enlarged_until_a_page_holds_a_state() -> None:
    """Qwen3.8-27B on vLLM 0.26.0: blocks of 784 tokens, and 168 + 3 of them for 131,072 tokens."""
    storage = BlockStorage(bits=BF16)
    pool = storage.pool(QWEN_3_5_27B, WHOLE)
    assert (pool.block_tokens, pool.groups) == (784, 4)
    assert pool.block_bits == 16 * 784 * 4096 * 8
    assert blocks_of_a_sequence(storage, QWEN_3_5_27B, 131_072) == 168 + 3


def test_prefix_caching_keeps_a_second_state() -> None:
    storage = BlockStorage(bits=BF16, state_copies=2)
    assert blocks_of_a_sequence(storage, QWEN_3_5_27B, 131_072) == 168 + 6


def test_latents_beside_states_are_aligned_to_128() -> None:
    """Kimi-K3 at TP 16: blocks of 384 tokens, states filled up by 8.68 %, 78 + 3 blocks for 29,696 tokens."""
    kda = KimiDeltaAttention(heads=96, head_dim=128, conv_kernel=4)
    layers: Layers = [(24, MLA), (69, kda)]
    sharding = Sharding(16)
    pool = BlockStorage(bits=BF16).pool(layers, sharding)
    assert (pool.block_tokens, pool.groups) == (384, 4)
    state = sum(stream.rows * (stream.own_bits or 0) for stream in kda.streams(16)) / 16
    assert round(float(pool.block_bits / 24 / state - 1), 4) == 0.0868
    taken = sum((each.bits(29_696) for each in pool.stored), Fraction(0)) / 16 / pool.block_bits
    assert taken == 78 + 3


def test_pages_that_do_not_divide_are_filled_up() -> None:
    wide = FullAttention(query_heads=16, kv_heads=8, head_dim=128)
    odd = SlidingAttention(query_heads=12, kv_heads=6, head_dim=128, window=512)
    pool = BlockStorage(bits=BF16).pool([(10, wide), (10, odd)], WHOLE)
    full, window = pool.stored
    assert full.position_bits * full.block == window.position_bits * window.block
    assert window.row_bits == full.row_bits * Fraction(8, 6)


def test_smaller_pages_get_larger_blocks() -> None:
    wide = FullAttention(query_heads=16, kv_heads=8, head_dim=256)
    narrow = SlidingAttention(query_heads=16, kv_heads=8, head_dim=128, window=512)
    full, window = BlockStorage(bits=BF16).pool([(10, wide), (10, narrow)], WHOLE).stored
    assert (full.block, window.block) == (16, 32)


def test_latents_that_cannot_be_filled_up_make_every_layer_keep_all() -> None:
    layers: Layers = [(10, MLA), (10, WINDOW)]
    pool = BlockStorage(bits=BF16).pool(layers, WHOLE)
    assert pool.groups == 1
    assert all(each.grows for each in pool.stored)


def test_sparse_latents_lie_in_blocks_of_64_and_their_index_keys_split_with_them() -> None:
    """GLM-5.1 on vLLM 0.20: 78 x (656 + 132) bytes a token, and twice the tokens with DCP 2."""
    storage = BlockStorage(bits=FP8, rows=FP8_ROWS)
    layers: Layers = [(78, SPARSE)]
    assert sequence_bytes(storage, layers, 64) == 78 * 64 * 788
    assert sequence_bytes(storage, layers, 65) == 78 * 128 * 788
    eight = sequence_bytes(storage, layers, 65_536, Sharding(8))
    assert eight == 8 * 78 * 65_536 * 788
    assert sequence_bytes(storage, layers, 65_536, Sharding(8, 2)) == eight / 2


def test_rings_take_whole_blocks_of_compressed_rows() -> None:
    """DeepSeek-V4-Flash on H200: 77.53 GiB hold 11.55 sequences of 131,072 tokens with 16,384 in flight."""
    storage = BlockStorage(bits=FP8, rows=FP8_ROWS, in_flight=16_384)
    pool = storage.pool(DEEPSEEK_V4_FLASH, WHOLE)
    assert pool.block_bits == 8 * (21 * (37_440 + 8_640) + 20 * 1_728)
    assert blocks_of_a_sequence(storage, DEEPSEEK_V4_FLASH, 131_072) == 512 + 2 * 259 + 4_099 + 2_065
    blocks = int(Fraction(7753, 100) * 2**30 / (pool.block_bits / 8))
    assert round(float(Fraction(blocks, 512 + 2 * 259 + 4_099 + 2_065)), 2) == 11.55


def test_a_scale_for_each_token_and_head() -> None:
    (stream,) = FULL.streams(1)
    assert per_head(8)(stream) == 8 * 264
    assert per_head(4)(stream) == 8 * 136


MODELS: tuple[Layers, ...] = (
    [(32, FULL)],
    GEMMA_3_27B,
    [(32, WINDOW)],
    QWEN_3_5_27B,
    [(24, MLA), (69, KimiDeltaAttention(heads=96, head_dim=128, conv_kernel=4))],
    [(61, SPARSE)],
    DEEPSEEK_V4_FLASH,
)
ENGINES: tuple[Callable[[], Storage], ...] = (
    lambda: BlockStorage(bits=BF16),
    lambda: BlockStorage(bits=BF16, in_flight=8192, state_copies=2),
    lambda: BlockStorage(bits=BF16, windows_in_full=True),
    lambda: TokenStorage(bits=BF16, window_share=Fraction(4, 5), state_copies=3),
    lambda: PagedStorage(bits=BF16, block=32),
)


@pytest.mark.parametrize("layers", MODELS)
@pytest.mark.parametrize("engine", ENGINES)
@given(context=st.integers(0, 300_000))
def test_an_engine_never_stores_less_than_the_arithmetic(
    layers: Layers, engine: Callable[[], Storage], context: int
) -> None:
    ideal = sequence_bytes(IdealStorage(BF16), layers, context)
    stored = sequence_bytes(engine(), layers, context)
    assert stored >= ideal or context < 1024  # a window of its own pool is shared by all sequences
    assert sequence_bytes(engine(), layers, context + 1) >= stored


def test_sglang_keeps_windows_in_a_pool_for_those_it_lists() -> None:
    storage = TokenStorage(bits=BF16, window_share=Fraction(4, 5), state_copies=3)
    sinks = SlidingAttention(query_heads=64, kv_heads=8, head_dim=64, window=128, sinks=True)
    full = FullAttention(query_heads=64, kv_heads=8, head_dim=64, sinks=True)
    assert sequence_bytes(storage, [(18, sinks), (18, full)], 1000) == 18 * 1000 * 2048 * Fraction(9, 5)
    assert sequence_bytes(storage, GEMMA_3_27B, 1000) == 62 * 1000 * 8192
    other_heads = SlidingAttention(query_heads=64, kv_heads=8, head_dim=192, value_head_dim=128, window=128)
    assert windows_have_a_pool([other_heads, FullAttention(query_heads=64, kv_heads=4, head_dim=192)])


def test_sglang_keeps_states_in_32_bits_three_times() -> None:
    """Qwen3.8-27B: 146.8 MiB a state, as SGLang 0.5.17 prints it."""
    storage = TokenStorage(bits=BF16, window_share=Fraction(4, 5), state_copies=1)
    states = [each for each in storage.stored(QWEN_3_5_27B, WHOLE) if each.stream.is_state]
    one = sum((each.bits(1) for each in states), Fraction(0)) / 8
    assert round(float(one / 2**20), 2) == 146.81
    three = TokenStorage(bits=BF16, window_share=Fraction(4, 5), state_copies=3)
    kept = [each for each in three.stored(QWEN_3_5_27B, WHOLE) if each.stream.role is CacheRole.RECURRENT_STATE]
    assert [each.positions(5) for each in kept] == [3]


def test_tensorrt_llm_keeps_windows_in_blocks() -> None:
    storage = PagedStorage(bits=BF16, block=32)
    assert sequence_bytes(storage, [(10, FULL)], 33) == 10 * 64 * 8192
    assert sequence_bytes(storage, [(10, WINDOW)], 100_000) == 10 * (1024 + 32) * 8192
