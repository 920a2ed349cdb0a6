"""The published reference calculation, to the digit, and the rules that decide a layout."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing.facility.estimate import (
    Cell,
    Home,
    KvEstimate,
    Load,
    default_contexts,
    estimate,
    layout_refusal,
    legal_tps,
    off_ladder,
)
from sizing.facility.system import System
from sizing.pool.engines.ideal import IdealEngine
from sizing.pool.gpu import HbmBasis
from sizing.pool.layout import Layout, layout_for, layouts
from sizing.pool.precision import KvPrecision
from sizing.sequence.model import ModelShape
from sizing.sequence.weights import FORMATS
from sizing.units.amounts import GB, GIB

Shapes = Mapping[str, ModelShape]
Systems = Mapping[str, System]
Precisions = Mapping[str, KvPrecision]
Loader = Callable[..., Load]

KIB = 1024
LONG, MIDDLE, SHORT = 131_072, 32_768, 4_096


@pytest.fixture(scope="session")
def load(precisions: Precisions) -> Loader:
    def build(
        model: ModelShape,
        weights: str = "bf16",
        kv: str = "bf16",
        contexts: tuple[int, ...] = (SHORT, MIDDLE, LONG),
        concurrencies: tuple[int, ...] = (1, 8, 32, 128),
        reserve: Fraction = Fraction(1, 10),
    ) -> Load:
        precision = precisions[kv]
        return Load(model, FORMATS[weights], precision, IdealEngine(reserve), contexts, concurrencies)

    return build


def home(system: System, basis: HbmBasis = "label") -> Home:
    hbm = system.gpu.hbm_bytes(basis)
    assert hbm is not None
    return Home(system, basis, hbm)


@pytest.mark.parametrize(
    ("name", "kib"),
    [
        ("llama-3.1-8b", 128),
        ("llama-3.1-70b", 320),
        ("llama-3.1-405b", 504),
        ("llama-8b-mha", 512),
        ("llama-70b-mha", 2_560),
        ("llama-405b-mha", 8_064),
    ],
)
def test_bytes_per_token_of_the_reference(shapes: Shapes, load: Loader, name: str, kib: int) -> None:
    assert estimate(load(shapes[name])).bytes_per_token == kib * KIB


def test_budget_of_the_reference(shapes: Shapes, systems: Systems, load: Loader) -> None:
    found = estimate(load(shapes["llama-3.1-70b"]), home(systems["h200-8"]))
    assert found.nominal is not None
    budget = found.nominal.budget
    assert budget is not None
    assert found.layout == Layout(8)
    assert found.layout_chosen
    assert budget.hbm_bytes == 1_128 * GB
    assert budget.hbm_bytes // GIB == 1_050
    assert budget.weight_bytes == found.nominal.weight_bytes == 140 * GB
    assert budget.weight_bytes // GIB == 130
    assert budget.reserve_bytes // GIB == 105
    assert budget.kv_bytes // GIB == 815
    assert [(cost.context, cost.fits) for cost in found.nominal.sequences] == [(SHORT, 652), (MIDDLE, 81), (LONG, 20)]
    assert [cost.bytes for cost in found.nominal.sequences] == [5 * GIB // 4, 10 * GIB, 40 * GIB]


def test_exact_weights_move_the_reference_slightly(shapes: Shapes, systems: Systems, load: Loader) -> None:
    found = estimate(load(shapes["llama-3.1-70b"]), home(systems["h200-8"]))
    exact = found.exact
    assert exact.parameters == 70_553_706_496
    assert exact.weight_bytes == 2 * 70_553_706_496
    assert exact.crossover_tokens == 430_625
    assert exact.budget is not None
    assert exact.budget.kv_bytes == 1_128 * GB - 8 * 14_100_000_000 - 141_107_412_992
    assert exact.kv_tokens == 874_092_587_008 // 327_680
    assert [(cost.context, cost.fits) for cost in exact.sequences] == [(SHORT, 651), (MIDDLE, 81), (LONG, 20)]


def test_crossover_of_the_reference(shapes: Shapes, load: Loader) -> None:
    nominal = estimate(load(shapes["llama-3.1-70b"])).nominal
    assert nominal is not None
    assert nominal.crossover_tokens == 427_246
    per_context = [round(nominal.crossover_tokens / context, 1) for context in (LONG, MIDDLE, SHORT)]
    assert per_context == [3.3, 13.0, 104.3]


def test_cells_of_the_reference(shapes: Shapes, systems: Systems, load: Loader) -> None:
    found = estimate(load(shapes["llama-3.1-70b"]), home(systems["h200-8"]))
    cells = {(cell.context, cell.concurrency): cell for cell in found.exact.cells}
    assert len(cells) == 12
    assert cells[MIDDLE, 32] == Cell(MIDDLE, 32, 320 * GIB, True)
    unfit = {key for key, cell in cells.items() if not cell.fits}
    assert unfit == {(MIDDLE, 128), (LONG, 32), (LONG, 128)}


@pytest.mark.parametrize(
    ("name", "intensity", "share"),
    [("llama-70b-mha", 1, "0.5"), ("llama-3.1-70b", 8, "3.9"), ("llama-70b-mqa", 64, "31.0")],
)
def test_intensity_against_the_ridge(
    shapes: Shapes, systems: Systems, load: Loader, name: str, intensity: int, share: str
) -> None:
    found = estimate(load(shapes[name]), home(systems["h200-8"]), Layout(1))
    assert found.intensity == intensity
    assert found.ridge is not None
    assert round(found.ridge) == 206
    assert f"{float(found.intensity / found.ridge * 100):.1f}" == share


def test_fewer_bits(shapes: Shapes, load: Loader) -> None:
    sixteen, eight, three = (estimate(load(shapes["llama-3.1-70b"], kv=kv)) for kv in ("bf16", "fp8", "turboquant-3.5"))
    assert sixteen.intensity is not None
    assert eight.intensity == 2 * sixteen.intensity
    assert f"{float(sixteen.bytes_per_token / three.bytes_per_token):.2f}" == "4.57"


def test_tp_16_costs_the_same_per_gpu_as_tp_8(shapes: Shapes, systems: Systems, load: Loader) -> None:
    question = load(shapes["llama-3.1-70b"])
    eight, sixteen = (estimate(question, home(systems["h200-16"]), Layout(tp)) for tp in (8, 16))
    assert eight.bytes_per_token / 8 == sixteen.bytes_per_token / 16 == 40 * KIB
    assert estimate(question, home(systems["h200-16"])).layout == Layout(8)


def test_dcp_undoes_the_replication(shapes: Shapes, systems: Systems, load: Loader) -> None:
    question = load(shapes["llama-3.1-70b"])
    found = estimate(question, home(systems["h200-16"]), Layout(16, dcp=2))
    assert found.bytes_per_token == 320 * KIB


@pytest.mark.parametrize(("name", "ratio"), [("h200-8", "5.2"), ("b200-8", "6.5"), ("b300-8", "7.3")])
def test_deepseek_attention_dp_against_tp(
    shapes: Shapes, systems: Systems, load: Loader, name: str, ratio: str
) -> None:
    question = load(shapes["deepseek-v3"], weights="fp8")
    on = home(systems[name])
    tp = estimate(question, on, layout_for(question.model, 8))
    dp = estimate(question, on, layout_for(question.model, 1, 8))
    assert tp.exact.weight_bytes == dp.exact.weight_bytes == question.model.parameters
    assert dp.bytes_per_token == 70_272
    assert tp.bytes_per_token == 8 * 70_272
    assert tp.exact.kv_tokens is not None
    assert dp.exact.kv_tokens is not None
    assert f"{dp.exact.kv_tokens / tp.exact.kv_tokens:.1f}" == ratio
    assert estimate(question, on).layout == Layout(1, attention_dp=8, ep=8)
    if name == "h200-8":
        assert round(dp.exact.kv_tokens / 1e6, 2) == 3.19
        assert round(tp.exact.kv_tokens / 1e6, 2) == 0.61


def test_deepseek_intensity(shapes: Shapes, load: Loader) -> None:
    intensity = estimate(load(shapes["deepseek-v3"])).intensity
    assert intensity is not None
    assert round(float(intensity), 1) == 241.8


def test_a_sequence_lives_in_one_pool(shapes: Shapes, systems: Systems, load: Loader) -> None:
    context = 40_000
    question = load(shapes["deepseek-v3"], weights="fp8", contexts=(context,), concurrencies=(72, 73))
    exact = estimate(question, home(systems["h200-8"])).exact
    assert exact.budget is not None
    per_pool = exact.budget.kv_bytes // (context * 70_272)
    assert exact.sequences[0].fits == 8 * per_pool == 72
    assert 8 * exact.budget.kv_bytes // (context * 70_272) == 79
    assert [cell.fits for cell in exact.cells] == [True, False]


def test_windows_of_gpt_oss(shapes: Shapes, load: Loader) -> None:
    found = estimate(load(shapes["gpt-oss-120b"], weights="mxfp4"))
    row = 2 * 8 * 64 * 2
    assert found.bytes_per_token == 18 * row
    assert found.window_bytes == 18 * 128 * row
    assert [cost.bytes for cost in found.exact.sequences] == [
        18 * row * (length + 128) for length in (4096, 32768, LONG)
    ]
    assert round(found.exact.sequences[-1].bytes / GIB, 2) == 4.50
    assert [(kind.name, count) for kind, count in found.layers] == [("sliding", 18), ("full", 18)]


def test_equal_attentions_count_together(shapes: Shapes, load: Loader) -> None:
    layers = estimate(load(shapes["deepseek-v3"])).layers
    assert [(kind.name, count) for kind, count in layers] == [("latent", 61)]


def test_nothing_fits_where_weights_do_not(shapes: Shapes, systems: Systems, load: Loader) -> None:
    found = estimate(load(shapes["llama-3.1-405b"]), home(systems["h200-8"]), Layout(8))
    assert found.exact.budget is not None
    assert found.exact.weights_fit
    found = estimate(load(shapes["llama-3.1-405b"]), home(systems["h200-8"]), Layout(4))
    assert found.exact.weights_fit is False
    assert found.exact.kv_tokens == 0
    assert {cost.fits for cost in found.exact.sequences} == {0}
    assert {cell.fits for cell in found.exact.cells} == {False}
    assert found.exact.budget is not None
    assert found.exact.budget.kv_bytes == 4 * 141 * GB * 9 // 10 - 811_706_777_600


def test_where_weights_fit_nowhere_the_least_lacking_layout_is_shown(
    shapes: Shapes, systems: Systems, load: Loader
) -> None:
    found = estimate(load(shapes["llama-3.1-405b"], reserve=Fraction(9, 10)), home(systems["h200-8"]))
    assert found.exact.weights_fit is False
    assert found.layout == Layout(8)


def test_without_a_system(shapes: Shapes, load: Loader) -> None:
    found = estimate(load(shapes["llama-3.1-70b"]))
    assert found.layout == Layout(1)
    assert found.layout_chosen
    assert found.exact.budget is None
    assert found.exact.kv_tokens is None
    assert found.exact.weights_fit is None
    assert found.ridge is None
    assert {cost.fits for cost in found.exact.sequences} == {None}
    assert {cell.fits for cell in found.exact.cells} == {None}


def test_a_model_of_windows_costs_nothing_per_token(shapes: Shapes, systems: Systems, load: Loader) -> None:
    found = estimate(load(shapes["windows-only"], contexts=(8_192,)), home(systems["h200-8"]))
    assert found.bytes_per_token == 0
    assert found.exact.kv_tokens is None
    assert found.exact.crossover_tokens is None
    assert found.exact.sequences[0].bytes == 4_096 * 128 * KIB
    assert found.exact.sequences[0].fits


def test_a_model_without_a_rounded_name_has_no_nominal(shapes: Shapes, load: Loader) -> None:
    assert estimate(load(shapes["phi-4"], contexts=(4_096,))).nominal is None


def test_nominal_scales_a_mixed_format(shapes: Shapes, systems: Systems, load: Loader) -> None:
    question = load(shapes["gpt-oss-120b"], weights="mxfp4")
    found = estimate(question, home(systems["h200-8"]), layout_for(question.model, 4))
    assert found.nominal is not None
    exact_share = Fraction(found.exact.weight_bytes, found.exact.parameters)
    assert abs(found.nominal.weight_bytes - exact_share * 117 * 10**9) < 1


def test_driver_basis(shapes: Shapes, systems: Systems, load: Loader) -> None:
    found = estimate(load(shapes["llama-3.1-70b"]), home(systems["h200-8"], "driver"))
    assert found.exact.budget is not None
    assert found.exact.budget.hbm_bytes == 8 * 150_754_820_096


def test_phi_4_splits_over_the_divisors_of_its_heads(shapes: Shapes) -> None:
    phi = shapes["phi-4"]
    assert legal_tps(phi, 8) == (1, 2, 5)
    assert legal_tps(phi, 10) == (1, 2, 5, 10)
    assert layout_refusal(phi, Layout(4), 8) == "TP 4 neither divides 10 KV heads nor is a multiple of them"
    assert layout_refusal(phi, Layout(3), 8) == "40 query heads cannot be split over TP 3"
    assert layout_refusal(phi, Layout(5), 8) is None
    assert off_ladder(Layout(5), 8)
    assert not off_ladder(Layout(2), 8)


def test_a_replica_never_leaves_its_domain(shapes: Shapes) -> None:
    model = shapes["llama-3.1-70b"]
    assert layout_refusal(model, Layout(16), 8) == "a replica of 16 GPUs does not fit into a domain of 8"
    assert layout_refusal(model, Layout(8, attention_dp=2), 8) == "a replica of 16 GPUs does not fit into a domain of 8"
    assert layout_refusal(model, Layout(16), None) is None


def test_ties_go_to_fewer_gpus(shapes: Shapes, systems: Systems, load: Loader) -> None:
    """256 experts are 4 on each of 64 and of 72 GPUs: the pools are equal, so 64 GPUs win."""
    found = estimate(load(shapes["deepseek-v3"], weights="fp8"), home(systems["rack-72"]))
    assert found.layout == Layout(1, attention_dp=64, ep=64)


@pytest.mark.parametrize(
    ("limit", "contexts"),
    [
        (131_072, (4_096, 32_768, 131_072)),
        (16_384, (4_096, 16_384)),
        (2_048, (2_048,)),
        (10**7, (4_096, 32_768, 131_072)),
    ],
)
def test_default_contexts(limit: int, contexts: tuple[int, ...]) -> None:
    assert default_contexts(limit) == contexts


@given(context=st.integers(1, 10**6), hbm=st.integers(20, 400), reserve=st.fractions(0, 1))
def test_held_sequences_fit_and_one_more_does_not(
    shapes: Shapes, systems: Systems, load: Loader, context: int, hbm: int, reserve: Fraction
) -> None:
    system = systems["h200-8"]
    question = load(shapes["llama-3.1-8b"], contexts=(context,), reserve=reserve)
    found: KvEstimate = estimate(question, Home(system, "label", hbm * GB))
    budget, cost = found.exact.budget, found.exact.sequences[0]
    assert budget is not None
    assert cost.fits is not None
    per_pool = cost.fits // found.layout.attention_dp
    assert budget.hbm_bytes == budget.reserve_bytes + budget.weight_bytes + budget.kv_bytes
    if budget.kv_bytes >= 0:
        assert per_pool * cost.bytes <= budget.kv_bytes < (per_pool + 1) * cost.bytes
    else:
        assert cost.fits == 0


@given(context=st.integers(1, 200_000))
def test_a_longer_sequence_never_costs_less(shapes: Shapes, load: Loader, context: int) -> None:
    for name in ("llama-3.1-70b", "deepseek-v3", "gpt-oss-120b", "windows-only"):
        shorter, longer = estimate(load(shapes[name], contexts=(context, context + 1))).exact.sequences
        assert shorter.bytes <= longer.bytes


def test_the_choice_is_the_best_of_all_offered(shapes: Shapes, systems: Systems, load: Loader) -> None:
    for name in ("llama-3.1-8b", "phi-4", "deepseek-v3", "gpt-oss-120b"):
        question = replace(load(shapes[name], weights="fp8"), contexts=(4_096,))
        for system in ("h200-8", "rack-72"):
            on = home(systems[system])
            best = estimate(question, on)
            assert best.exact.kv_tokens is not None
            for layout in layouts(question.model, on.system.domain_gpus)[0]:
                other = estimate(question, on, layout)
                assert other.exact.kv_tokens is not None
                assert (
                    other.exact.kv_tokens * best.layout.gpus_per_replica
                    <= best.exact.kv_tokens * layout.gpus_per_replica
                )
