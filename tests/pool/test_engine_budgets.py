"""What engines leave for a cache, against start-up logs (docs/engines.md) and the rules that they state."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from sizing.catalog.catalog import Catalog
from sizing.pool.engines.ideal import IdealEngine
from sizing.pool.engines.loaded import loaded_bytes
from sizing.pool.engines.measured import MeasuredEngine, Measurement
from sizing.pool.engines.profile import Engine, Memory, Start
from sizing.pool.layout import Layout, layout_for
from sizing.sequence.attention import AttentionKind
from sizing.sequence.feed_forward import GatedMlp
from sizing.sequence.heads import FullAttention, SlidingAttention
from sizing.sequence.latent import LatentAttention
from sizing.sequence.model import Block, ModelShape
from sizing.sequence.recurrent import KimiDeltaAttention
from sizing.sequence.tensors import Role, Tensors
from sizing.sequence.weights import FORMATS, weight_bytes
from sizing.units.amounts import GIB

H100 = 79.19  # GiB that a process sees
CATALOG = Catalog()
LLAMA = CATALOG.model("llama-3.1-8b")
BF16 = CATALOG.kv_precision("bf16")
WEIGHTS = weight_bytes(LLAMA, FORMATS["bf16"])


def memory(engine: Engine, gib: float, vendor: str = "NVIDIA") -> Memory:
    hbm = engine.hbm_bytes(round(gib * GIB), round(gib * GIB))
    assert hbm is not None
    return Memory(hbm, vendor)


def cache_gib(name: str, gib: float, layout: Layout, vendor: str = "NVIDIA", **start: Any) -> float:
    """GiB of one GPU for the cache of Llama 3.1 8B in bf16."""
    engine = CATALOG.engine(name)
    budget = engine.budget(memory(engine, gib, vendor), LLAMA, WEIGHTS, BF16, layout, Start(**start))
    assert budget.hbm_bytes == budget.reserve_bytes + budget.weight_bytes + budget.kv_bytes
    return budget.kv_bytes / layout.tp / GIB


@pytest.mark.parametrize(("tp", "printed"), [(1, 58.11), (2, 63.76), (4, 67.44)])
def test_vllm_0_19_on_h100(tp: int, printed: float) -> None:
    found = cache_gib("vllm-0.19", H100, Layout(tp), utilisation=Fraction(95, 100), longest=8192)
    assert found == pytest.approx(printed, rel=0.002)


def test_vllm_of_version_0_takes_more_for_longer_prompts() -> None:
    """RTX 3090: 3.81 GiB with 20,000 tokens, 2.89 with 29,000 (vllm-project/vllm#10517)."""
    short, long = (cache_gib("vllm-0.6", 23.58, Layout(1), longest=tokens) for tokens in (20_000, 29_000))
    assert short == pytest.approx(3.81, rel=0.02)
    assert long == pytest.approx(2.89, rel=0.02)


def test_vllm_counts_graphs_from_0_21() -> None:
    older, newer = CATALOG.engine("vllm-0.19"), CATALOG.engine("vllm-0.25")
    graphs = [
        engine.outside(memory(engine, H100), LLAMA, WEIGHTS, Layout(1), Start()).graphs for engine in (older, newer)
    ]
    assert graphs == [0, (512 + 32 * 14) * 2**20]


def test_sglang_0_4_takes_a_share_of_what_is_free() -> None:
    """54.04 GiB of 78.59 free with 0.88 (sgl-project/sglang#4760)."""
    assert cache_gib("sglang-0.4", 78.59, Layout(1)) == pytest.approx(54.04, rel=0.005)
    engine = CATALOG.engine("sglang-0.4")
    outside = engine.outside(memory(engine, 21.63), LLAMA, WEIGHTS, Layout(4), Start())
    assert outside.unused == pytest.approx(0.15 * 21.63 * GIB + (563 + 461) * 2**20, rel=1e-4)


def test_sglang_on_amd_keeps_a_workspace_for_long_sequences() -> None:
    long = cache_gib("sglang", 287.26, Layout(1), "AMD", utilisation=Fraction(6, 10), longest=40_960)
    short = cache_gib("sglang", 287.26, Layout(1), "AMD", utilisation=Fraction(6, 10), longest=8_192)
    assert short - long == pytest.approx(0.15 * 0.6 * 287.26, rel=1e-4)


def test_sglang_0_5_reserves_what_it_captures() -> None:
    """512 MiB, 1.5 a token, 2 a sequence, 128 a GPU; 10 GiB at least above 60 GiB (SGLang 0.5.23 memory_hook.py)."""
    engine = CATALOG.engine("sglang")
    small, large = memory(engine, 23), memory(engine, 139)
    hidden = (563 + 461) * 2**20
    for each, mib in ((small, 512 + 4096 * 1.5 + 48 * 2 + 128), (large, 512 + 8192 * 1.5 + 256 * 2 + 128)):
        unused = engine.outside(each, LLAMA, WEIGHTS, Layout(1), Start()).unused
        share = mib * 2**20 / each.hbm_bytes
        assert unused == pytest.approx(hidden + share * (each.hbm_bytes - hidden), rel=1e-6)


def test_tensorrt_llm_takes_a_share_of_what_is_left() -> None:
    engine = CATALOG.engine("tensorrt-llm")
    gpu = memory(engine, H100)
    outside = engine.outside(gpu, LLAMA, WEIGHTS, Layout(1), Start())
    left = round(H100 * GIB) - outside.taken - engine.loaded(LLAMA, WEIGHTS, Layout(1), Start())
    assert engine.budget(gpu, LLAMA, WEIGHTS, BF16, Layout(1), Start()).kv_bytes == pytest.approx(0.9 * left, rel=1e-8)


def shape(attention: AttentionKind, vocabulary: int = 64_000, **more: Any) -> ModelShape:
    block = Block(2, attention, GatedMlp(intermediate=4096))
    return ModelShape("m", "m", 1024, vocabulary, False, (block,), "bf16", 65_536, **more)


TABLE = 65_536 * 64 * 2  # sines and cosines of the positions of `shape`, for rows of 64


def test_loaded_weights_are_copied_where_they_cannot_be_split() -> None:
    model = shape(FullAttention(query_heads=16, kv_heads=2, head_dim=64))
    weights = weight_bytes(model, FORMATS["bf16"])
    keys_and_values, norms = 2 * 1024 * 2 * 64 * 2 * 2, (2 * 2 + 1) * 1024 * 2
    more = loaded_bytes(model, weights, Layout(8)) - weights.one_copy
    assert more == 3 * keys_and_values + 7 * norms + 8 * TABLE


def test_loaded_weights_fill_the_vocabulary_up() -> None:
    attention = FullAttention(query_heads=16, kv_heads=2, head_dim=64)
    whole, odd = (
        loaded_bytes(model, weight_bytes(model, FORMATS["bf16"]), Layout(1))
        for model in (shape(attention, 64_000), shape(attention, 63_999))
    )
    assert whole == odd


def test_loaded_weights_hold_encoders_and_the_expansion_of_latents() -> None:
    latent = LatentAttention(query_heads=8, kv_lora_rank=256, rope_head_dim=64, nope_head_dim=128, value_head_dim=128)
    model = shape(latent, encoders=(Tensors(Role.ENCODER, 1000),))
    weights = weight_bytes(model, FORMATS["bf16"])
    assert loaded_bytes(model, weights, Layout(1)) == weights.one_copy + 2 * 1000 + 2 * (2 * 256 * 8 * 256) + TABLE


def test_every_gpu_has_the_table_of_positions() -> None:
    """Llama 4 Scout loads 53.12 GiB a GPU under TP 4 (vLLM 0.19.0, llm-d planner): 2.5 are ten million positions."""
    full = FullAttention(query_heads=16, kv_heads=8, head_dim=64)
    wide = FullAttention(query_heads=16, kv_heads=8, head_dim=128)
    delta = KimiDeltaAttention(heads=8, head_dim=128, conv_kernel=4)
    for attention, table in ((full, TABLE), (wide, 2 * TABLE), (delta, 0)):
        model = shape(attention)
        weights = weight_bytes(model, FORMATS["bf16"])
        whole, wider = (loaded_bytes(model, weights, Layout(2), rotary_bytes=size) for size in (2, 4))
        assert wider - whole == 2 * table
    scout = replace(shape(replace(full, head_dim=128)), context_limit=10_485_760)
    weights = weight_bytes(scout, FORMATS["bf16"])
    assert (loaded_bytes(scout, weights, Layout(1)) - weights.one_copy) / GIB == pytest.approx(2.5, abs=0.01)


@pytest.mark.parametrize(("name", "loaded"), [("gpt-oss-120b", 64.38), ("gpt-oss-20b", 13.47)])
def test_experts_in_mxfp4_are_filled_up_to_256(name: str, loaded: float) -> None:
    """As vLLM 0.11.0 loads them on one H100 (llm-d planner, docs/empirical-vllm-memory-results.md)."""
    model = CATALOG.model(name)
    weights = weight_bytes(model, FORMATS["mxfp4"])
    engine = CATALOG.engine("vllm-0.11")
    assert engine.loaded(model, weights, Layout(1), Start()) / GIB == pytest.approx(loaded, rel=0.005)
    plain = weight_bytes(model, FORMATS["bf16"])
    table = model.context_limit * 64 * 2
    assert engine.loaded(model, plain, Layout(1), Start()) == plain.one_copy + table


def test_windows_reserve_what_is_in_flight_once_a_pool() -> None:
    engine = CATALOG.engine("vllm")
    gpu = memory(engine, H100)
    full = FullAttention(query_heads=16, kv_heads=8, head_dim=64)
    window = SlidingAttention(query_heads=16, kv_heads=8, head_dim=64, window=512)
    for attention, taken in ((full, 0), (window, 2 * 2048 * 16 * (-(-(511 + 2 * 8192) // 16) - 32))):
        model = shape(attention)
        weights = weight_bytes(model, FORMATS["bf16"])
        budget = engine.budget(gpu, model, weights, BF16, Layout(1))
        outside = engine.outside(gpu, model, weights, Layout(1), Start())
        assert budget.reserve_bytes - outside.total == taken


MEASURED = Measurement(
    profile="vllm-0.19",
    seen_in=("start.log",),
    model="llama-3.1-8b",
    gpu="h100",
    gpus=1,
    tp=1,
    dcp=1,
    weights="bf16",
    kv_precision="bf16",
    outside_bytes=3 * GIB,
)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"profile": "vllm"}, "the profile is vllm-0.19, not vllm"),
        ({"gpu": "h200"}, "the GPU is h100, not h200"),
        ({"gpus": 2}, "a replica has 1 GPUs, not 2"),
        ({"tp": 2}, "TP is 1, not 2"),
        ({"dcp": 2}, "DCP is 1, not 2"),
        ({"weights": "int4"}, "the weights are not in int4"),
        ({"kv_precision": "fp8"}, "the cache is in bf16, not fp8"),
        ({"model": "other"}, "the model is llama-3.1-8b, not other"),
    ],
)
def test_what_was_measured_holds_for_one_replica(change: dict[str, Any], why: str) -> None:
    rules = CATALOG.engine("vllm-0.19")
    gpu = replace(memory(rules, H100), gpu="h100")
    case = (gpu, LLAMA, WEIGHTS, BF16, Layout(1))
    other = replace(MEASURED, **change)
    assert [*other.differences("vllm-0.19", *case)] == [why]
    assert MeasuredEngine(rules, (other,)).budget(*case) == rules.budget(*case)
    assert MeasuredEngine(rules, (other, MEASURED)).of(*case) is MEASURED


def test_a_start_as_it_was_measured() -> None:
    rules = CATALOG.engine("vllm-0.19")
    gpu = replace(memory(rules, H100), gpu="h100")
    case = (gpu, LLAMA, WEIGHTS, BF16, Layout(1))
    given = replace(MEASURED, utilisation=Fraction(1, 2), batched_tokens=2048)
    said = Start(utilisation=Fraction(1, 2), batched_tokens=2048, taken_bytes=3 * GIB)
    measured = MeasuredEngine(rules, (given,))
    assert measured.budget(*case) == rules.budget(*case, said)
    larger = Start(batched_tokens=4096)
    assert measured.budget(*case, larger) == rules.budget(*case, larger)
    eager = Start(graphs_inside=False)
    assert measured.budget(*case, eager) == rules.budget(*case, eager)
    assert given.started(Start(utilisation=Fraction(3, 4))) == replace(said, utilisation=Fraction(3, 4))


def test_what_was_measured_goes_before_the_rules() -> None:
    rules = CATALOG.engine("vllm-0.19")
    measured = MeasuredEngine(rules, (MEASURED,))
    gpu = replace(memory(rules, H100), gpu="h100")
    outside = measured.outside(gpu, LLAMA, WEIGHTS, Layout(1))
    assert outside.taken == 3 * GIB
    assert outside.unused == rules.outside(gpu, LLAMA, WEIGHTS, Layout(1), Start()).unused
    more = 3 * GIB - rules.outside(gpu, LLAMA, WEIGHTS, Layout(1), Start()).taken
    budgets = [engine.budget(gpu, LLAMA, WEIGHTS, BF16, Layout(1), Start()) for engine in (rules, measured)]
    assert budgets[1].reserve_bytes - budgets[0].reserve_bytes == more
    assert measured.budget(gpu, LLAMA, WEIGHTS, BF16, Layout(2)) == rules.budget(
        gpu, LLAMA, WEIGHTS, BF16, Layout(2), Start()
    )
    said = Start(taken_bytes=GIB)
    assert measured.outside(gpu, LLAMA, WEIGHTS, Layout(1), said).taken == GIB
    other = replace(LLAMA, name="other")
    assert measured.outside(gpu, other, WEIGHTS, Layout(1)) == rules.outside(gpu, other, WEIGHTS, Layout(1), Start())


@pytest.mark.parametrize("name", [name for name in CATALOG.names("engines") if name != "ideal"])
def test_what_is_taken_goes_before_what_a_profile_expects(name: str) -> None:
    """One GiB more leaves one less for the cache; of TensorRT-LLM the share of it."""
    engine = CATALOG.engine(name)
    gpu = memory(engine, H100)
    left = [
        engine.budget(gpu, LLAMA, WEIGHTS, BF16, Layout(1), Start(taken_bytes=taken)).kv_bytes
        for taken in (GIB, 2 * GIB)
    ]
    assert left[0] - left[1] == pytest.approx(0.9 * GIB if name == "tensorrt-llm" else GIB, abs=1)
    assert engine.outside(gpu, LLAMA, WEIGHTS, Layout(1), Start(taken_bytes=GIB)).taken == GIB


def test_ideal_is_the_arithmetic_with_its_reserve() -> None:
    engine = IdealEngine(Fraction(1, 10))
    budget = engine.budget(Memory(100, "NVIDIA"), LLAMA, WEIGHTS, BF16, Layout(2))
    assert budget.reserve_bytes == 20
    assert budget.weight_bytes == WEIGHTS.one_copy
    printed = engine.printed(Memory(100, "NVIDIA"), LLAMA, BF16, Layout(1), 10 * GIB, Start(longest=8192))
    assert printed.tokens == 10 * GIB // 131_072
    assert printed.concurrency == 10


@pytest.mark.parametrize("name", [name for name in CATALOG.names("engines") if name != "ideal"])
def test_more_gpus_and_more_memory_never_hold_less(name: str) -> None:
    engine = CATALOG.engine(name)
    previous = -(10**12)
    for gib in (24, 48, 80, 141, 192, 288):
        one = engine.budget(memory(engine, gib), LLAMA, WEIGHTS, BF16, layout_for(LLAMA, 1), Start())
        assert one.kv_bytes > previous
        previous = one.kv_bytes


def test_tensorrt_llm_counts_tokens_of_windows_where_all_layers_have_one() -> None:
    engine = CATALOG.engine("tensorrt-llm")
    window = SlidingAttention(query_heads=16, kv_heads=8, head_dim=64, window=512)
    printed = engine.printed(memory(engine, H100), shape(window), BF16, Layout(1), GIB, Start())
    assert printed.token_bytes == 2 * 2 * 8 * 64 * 2
    assert printed.tokens == GIB // printed.token_bytes
