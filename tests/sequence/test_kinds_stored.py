"""Rows, blocks and copies: what a storage rule may change without any kind knowing it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import pytest

from sizing.pool.storage import FP8_ROWS, NVFP4_ROWS, IdealStorage, RowStorage
from sizing.sequence.attention import AttentionKind
from sizing.sequence.compressed import CompressedAttention
from sizing.sequence.feed_forward import Experts, GatedMlp, NoFeedForward, PlainMlp
from sizing.sequence.heads import FullAttention, SlidingAttention
from sizing.sequence.latent import LatentAttention, SparseLatentAttention
from sizing.sequence.model import Block, ModelShape
from sizing.sequence.recurrent import Mamba2
from sizing.sequence.sharding import WHOLE, Sharding
from sizing.sequence.streams import ALL, ONE, Keep, Stored
from sizing.sequence.tensors import Role, Tensors, copied
from sizing.sequence.weights import FORMATS, checkpoint_bytes, weight_bytes

BF16 = IdealStorage(Fraction(16))
HEADS = {"query_heads": 8, "kv_heads": 2, "head_dim": 16}
MLA = {"query_heads": 8, "kv_lora_rank": 512, "rope_head_dim": 64, "nope_head_dim": 128, "value_head_dim": 128}
FULL, WINDOW = FullAttention(**HEADS), SlidingAttention(window=32, **HEADS)
STATE = Mamba2(heads=8, head_dim=16, state=32, groups=1, conv_kernel=4)
MLP = GatedMlp(intermediate=256)


def shape(*blocks: Block, **more: object) -> ModelShape:
    made = ModelShape("toy", "Toy", 128, 1000, False, blocks, "bf16", 4096)
    return replace(made, **more)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Engine:
    """An engine that stores windows in full, in blocks, with a layer more of each and two copies of a state."""

    block: int

    def stored(self, layers: Sequence[tuple[int, AttentionKind]], sharding: Sharding) -> tuple[Stored, ...]:
        return tuple(
            replace(each, layers=2 * each.layers)
            if each.stream.is_state
            else replace(each, layers=each.layers + 1, keep=ALL, block=self.block, spare_blocks=1)
            for each in BF16.stored(layers, sharding)
        )


def test_a_storage_rule_changes_layers_windows_blocks_and_states() -> None:
    model = shape(Block(2, FULL, MLP), Block(3, WINDOW, MLP), Block(1, STATE, MLP))
    row = 2 * 2 * 16 * 2
    engine = Engine(16)
    assert model.bytes_per_token(WHOLE, BF16) == 2 * row
    assert model.bytes_per_token(WHOLE, engine) == (3 + 4) * row
    state = model.constant_bytes(1)
    assert model.constant_bytes(1, engine) == 2 * state
    assert model.sequence_bytes(100, WHOLE, engine) == 7 * (112 + 16) * row + 2 * state
    assert model.window_bytes(WHOLE, engine) == 0


@pytest.mark.parametrize(
    ("keep", "context", "positions"),
    [
        (ALL, 7, 7),
        (Keep(4), 7, 1),
        (Keep(4), 8, 2),
        (Keep(most=5), 7, 5),
        (Keep(2, 3), 5, 2),
        (Keep(2, 3), 99, 3),
        (ONE, 1, 1),
    ],
)
def test_positions_kept(keep: Keep, context: int, positions: int) -> None:
    assert keep.positions(context) == positions


def test_positions_are_split_before_they_fill_blocks() -> None:
    (stream,) = FULL.streams(1)
    stored = Stored(stream=stream, layers=1, row_bits=Fraction(8), keep=ALL, block=16, split=4)
    assert [stored.positions(context) for context in (1, 64, 65)] == [16, 16, 32]


def test_row_layouts() -> None:
    sparse = SparseLatentAttention(index_heads=8, index_head_dim=128, **MLA)
    dense = LatentAttention(**MLA)
    compressed = CompressedAttention(
        query_heads=8,
        head_dim=512,
        rope_head_dim=64,
        query_lora_rank=64,
        output_lora_rank=64,
        output_groups=2,
        window=128,
        index_heads=8,
        index_head_dim=128,
    )
    fp8, nvfp4 = RowStorage(Fraction(8), FP8_ROWS), RowStorage(Fraction(9, 2), NVFP4_ROWS)
    assert sparse.sequence_bits(10, WHOLE, fp8) == 10 * 8 * (656 + 132)
    assert sparse.sequence_bits(10, WHOLE, nvfp4) == 10 * 8 * (352 + 132)
    assert dense.sequence_bits(10, WHOLE, fp8) == 10 * 8 * 576
    assert compressed.sequence_bits(10, WHOLE, fp8) == 10 * 8 * 584
    assert FULL.sequence_bits(10, WHOLE, fp8) == 10 * 8 * 64


def test_a_layer_may_have_attention_and_a_state() -> None:
    model = shape(Block(4, FULL, MLP, also=(STATE,)))
    assert model.layer_count == 4
    assert model.layers() == ((4, FULL), (4, STATE))
    alone = shape(Block(4, FULL, MLP)), shape(Block(4, STATE, MLP))
    assert model.bytes_per_token(WHOLE, BF16) == alone[0].bytes_per_token(WHOLE, BF16)
    assert model.constant_bytes(1) == alone[1].constant_bytes(1)
    assert model.refusal(Sharding(16)) == "8 query heads cannot be split over TP 16"
    assert model.parameters == alone[0].parameters + 4 * sum(tensors.total for tensors in STATE.tensors(128))


def test_a_model_of_states_alone_costs_the_same_at_every_length() -> None:
    model = shape(Block(4, STATE, NoFeedForward(), norms=1))
    assert model.bytes_per_token(WHOLE, BF16) == 0
    assert model.intensity(WHOLE, BF16) is None
    assert model.query_heads == 0
    assert {model.sequence_bytes(context, WHOLE, BF16) for context in (1, 100_000)} == {model.constant_bytes(1)}


def test_weights_outside_the_layers() -> None:
    plain = shape(Block(1, FULL, MLP))
    extra = (Tensors(Role.LOOKUP, 500), Tensors(Role.ATTENTION, 40, active_experts=3))
    model = shape(Block(1, FULL, MLP), extra=extra, final_norms=2)
    assert model.parameters == plain.parameters + 540 + 128
    assert model.active_parameters == plain.active_parameters + 3 * 40 + 128


def test_drafts_and_encoders_are_in_the_checkpoint_alone() -> None:
    draft = Block(1, FULL, MLP)
    model = shape(
        Block(2, FULL, MLP),
        mtp=(draft,),
        mtp_extra=(Tensors(Role.EMBEDDING, 128_000), copied(Role.SMALL, 7)),
        encoders=(Tensors(Role.ENCODER, 11),),
    )
    plain = shape(Block(2, FULL, MLP))
    layer = sum(tensors.total for tensors in draft.tensors(128))
    assert model.parameters == plain.parameters
    assert model.mtp_parameters == layer + 7
    assert weight_bytes(model, FORMATS["bf16"]) == weight_bytes(plain, FORMATS["bf16"])
    assert checkpoint_bytes(model) == 2 * (plain.parameters + layer + 7 + 128_000 + 11)


@pytest.mark.parametrize(
    ("kind", "total", "active"),
    [
        (GatedMlp(intermediate=10, bias=True), 3 * 80 + 28, None),
        (PlainMlp(intermediate=10, bias=True), 2 * 80 + 18, None),
        (NoFeedForward(linear=True), 64, None),
        (Experts(experts=4, active_experts=2, intermediate=10, gated=False), 4 * 160 + 32, 2 * 160 + 32),
        (Experts(experts=4, active_experts=3, intermediate=10, identity_experts=2), 4 * 240 + 48, 2 * 240 + 48),
        (
            Experts(experts=4, active_experts=1, intermediate=10, latent=4, latent_norm=True),
            4 * 120 + 32 + 64 + 4,
            120 + 32 + 64 + 4,
        ),
        (
            Experts(
                experts=4, active_experts=1, intermediate=10, shared_intermediate=5, shared_gate=True, router_bias=True
            ),
            4 * 240 + 32 + 120 + 8 + 4,
            240 + 32 + 120 + 8 + 4,
        ),
        (
            Experts(experts=4, active_experts=1, intermediate=10, dense_intermediate=7),
            4 * 240 + 32 + 168,
            240 + 32 + 168,
        ),
    ],
)
def test_feed_forwards(kind: GatedMlp | PlainMlp | NoFeedForward | Experts, total: int, active: int | None) -> None:
    tensors = kind.tensors(8)
    assert sum(each.total for each in tensors) == total
    assert sum(each.active for each in tensors) == (total if active is None else active)


def test_what_ranks_copy_is_known_per_class() -> None:
    model = shape(Block(1, FULL, Experts(experts=4, active_experts=1, intermediate=10)))
    weights = weight_bytes(model, FORMATS["bf16"])
    keys_and_values = 128 * 2 * 16 * 2 * 2
    everywhere = (128 * 4 + 2 * 128 + 128) * 2  # router and norms
    assert weights.on_pool(1, 1, copies=True) == weights.on_pool(1, 1) == weights.one_copy
    assert weights.on_pool(4, 4, copies=True) - weights.on_pool(4, 4) == 3 * everywhere + keys_and_values
    assert weights.on_pool(2, 2, copies=True) - weights.on_pool(2, 2) == everywhere
