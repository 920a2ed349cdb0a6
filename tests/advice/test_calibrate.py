"""Logs against profiles, figure by figure."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from sizing.advice.calibrate import Setting, calibrate, start_of
from sizing.catalog.catalog import Catalog
from sizing.intake.logs import EngineLog
from sizing.plan.calibration import Calibration
from sizing.pool.engines.profile import Start
from sizing.pool.layout import layout_for
from sizing.sequence.weights import FORMATS
from sizing.units.amounts import GIB

CATALOG = Catalog()
ENGINE = CATALOG.engine("vllm-0.19")
MODEL = CATALOG.model("llama-3.1-8b")
LOADED = 2 * MODEL.parameters + 131_072 * 128 * 2  # with the table of positions


def gib(size: str) -> int:
    return round(Fraction(size) * GIB)


LOG = EngineLog(
    file="start.log",
    engine="vllm",
    version="0.19.0",
    utilisation=Fraction(95, 100),
    longest=8192,
    total_bytes=gib("79.19"),
    weight_bytes=gib("14.99"),
    activation_bytes=gib("1.89"),
    non_torch_bytes=gib("0.25"),
    cache_bytes=gib("58.11"),
    tokens=476_016,
    concurrency=Fraction("58.11"),
)


def compared(log: EngineLog = LOG, tp: int = 1, **changes: Any) -> Calibration:
    setting = Setting(
        model=MODEL,
        weights=FORMATS["bf16"],
        kv_precision=CATALOG.kv_precision("bf16"),
        layout=layout_for(MODEL, tp),
        hbm_bytes=ENGINE.hbm_bytes(log.total_bytes, log.free_bytes),
        vendor="NVIDIA",
        start=start_of(log),
    )
    return calibrate(log, replace(setting, **changes), ENGINE)


def test_every_figure_is_within_its_goal() -> None:
    found = compared()
    errors = {each.quantity: each.error for each in found.comparisons}
    goals = {"weights": 0.01, "token": 0.005, "outside": 0.05, "cache": 0.05, "tokens": 0.05, "sequences": 0.05}
    assert errors.keys() == goals.keys()
    for quantity, error in errors.items():
        assert error is not None
        assert abs(float(error)) < goals[quantity]
    assert found.of("token").why == "as the profile stores it"


def test_ideal_stands_beside() -> None:
    found = compared()
    assert found.of("token").ideal == pytest.approx(131_072, rel=1e-4)
    assert found.of("weights").ideal == 2 * MODEL.parameters
    assert (found.of("cache").ideal or 0) < (found.of("cache").predicted or 0)


def test_what_is_outside_is_what_the_log_leaves() -> None:
    found = compared()
    rest = gib("79.19") * Fraction(95, 100) - gib("58.11") - LOADED
    assert found.outside_bytes == pytest.approx(float(rest), rel=1e-3)


def test_without_the_memory_of_the_gpu_the_parts_are_summed() -> None:
    found = compared(hbm_bytes=None)
    assert found.outside_bytes == pytest.approx(gib("1.89") + gib("0.25") + gib("14.99") - LOADED, abs=2)
    assert found.of("tokens").predicted is None
    assert "--system" in found.of("cache").why


@pytest.mark.parametrize(
    ("factor", "tp", "why"),
    [
        (Fraction(1, 2), 1, "half: the cache has 8 bits"),
        (Fraction(2), 1, "twice: the cache has 16 bits"),
        (Fraction(1, 4), 4, "a 4th: more GPUs than TP 4"),
        (Fraction(4), 4, "TP 1 in place of 4 explains it"),  # and so do the weights
        (Fraction(3), 1, "neither precision nor TP explains it"),
    ],
)
def test_a_difference_of_a_token_is_explained(factor: Fraction, tp: int, why: str) -> None:
    tokens = int(476_016 * tp / factor)
    found = compared(replace(LOG, tokens=tokens), tp)
    assert found.of("token").why.startswith(why)


@pytest.mark.parametrize(
    ("printed", "why"),
    [
        ("14.99", "within what allocation rounds up"),
        ("15.60", "the engine holds 0.61 GiB more"),
        ("13.99", "the checkpoint has fewer bits than bf16"),
        ("8.49", "off by more than 20 %: the checkpoint has fewer bits than bf16"),
        ("45", "off by more than 20 %: the checkpoint has more bits than bf16"),
    ],
)
def test_a_difference_of_weights_is_explained(printed: str, why: str) -> None:
    assert why in compared(replace(LOG, weight_bytes=gib(printed))).of("weights").why


def test_what_is_not_printed_is_said() -> None:
    found = compared(EngineLog(file="f", engine="vllm", cache_bytes=gib("58.11")), start=Start())
    assert found.of("tokens").why == "the log does not print it"
    assert found.of("token").measured is None
    assert found.of("weights").error is None


def test_a_cache_that_is_a_share_of_what_is_left_shows_what_was_taken() -> None:
    """TensorRT-LLM leaves a tenth alone of what is free; with no more than the cache printed, that follows."""
    engine = CATALOG.engine("tensorrt-llm")
    hbm = engine.hbm_bytes(gib("79.19"), None)
    log = EngineLog(file="f", engine="tensorrt-llm", total_bytes=gib("79.19"), cache_bytes=gib("54"), tokens=442_368)
    setting = Setting(
        model=MODEL,
        weights=FORMATS["bf16"],
        kv_precision=CATALOG.kv_precision("bf16"),
        layout=layout_for(MODEL, 1),
        hbm_bytes=hbm,
        vendor="NVIDIA",
        start=start_of(log),
    )
    found = calibrate(log, setting, engine)
    assert found.outside_bytes == pytest.approx(gib("79.19") - LOADED - gib("60"), abs=10)
    peak = calibrate(replace(log, used_bytes=LOADED + GIB), setting, engine)
    assert peak.outside_bytes == GIB
    assert "the peak of a first run, with weights, 15.99 GiB" in peak.of("outside").why


@pytest.mark.parametrize(("cache", "tokens"), [("-3.04", None), ("0", 0), ("0.5", 0)])
def test_a_start_without_room_is_told(cache: str, tokens: int | None) -> None:
    found = compared(replace(LOG, cache_bytes=gib(cache), tokens=tokens, concurrency=None))
    assert found.of("token").measured is None
    assert found.of("tokens").error is None
    assert found.outside_bytes is not None
    assert found.outside_bytes > 10 * GIB


def test_tokens_are_those_of_one_pool() -> None:
    one, eight = (compared(layout=layout_for(MODEL, 1, pools)).of("tokens").predicted for pools in (1, 8))
    assert one is not None
    assert eight == pytest.approx(float(one), rel=0.05)


def test_how_an_engine_was_started() -> None:
    start = start_of(replace(LOG, eager=True, prefix_caching=True, sequences=64))
    assert (start.graphs_inside, start.state_copies, start.sequences) == (False, 2, 64)
    assert start_of(replace(LOG, prefix_caching=False)).state_copies == 1
    assert start_of(LOG) == Start(utilisation=Fraction(95, 100), longest=8192)


LINES = EngineLog(file="lines.log", engine="vllm", weight_bytes=gib("32.90"), cache_bytes=gib("36"), tokens=471_856)


def of_70b(log: EngineLog, tp: int, **changes: Any) -> Calibration:
    model = CATALOG.model("llama-3.3-70b")
    given = {"model": model, "layout": layout_for(model, tp), "hbm_bytes": 85_520_809_984, "gpu": "h100"}
    return compared(log, **{**given, **changes})


@pytest.mark.parametrize("said", [1, 2, 8])
def test_the_parallel_size_that_explains_a_log_is_named(said: int) -> None:
    found = of_70b(LINES, said)
    assert {found.of(each).why for each in ("weights", "token")} == {f"TP 4 in place of {said} explains it"}
    assert found.measured is None
    assert "weights are off by more than 20 %" in (found.unwritten or "")
    fits = of_70b(LINES, 4)
    assert fits.of("weights").why == "within what allocation rounds up"
    assert fits.of("token").why == "as the profile stores it"
    assert fits.measured is not None


def test_without_weights_precision_and_parallel_size_cannot_be_told_apart() -> None:
    why = of_70b(replace(LINES, weight_bytes=None), 2).of("token").why
    assert why.startswith("half: the cache has 8 bits")
    assert why.endswith("or TP is 4")


def test_eight_bits_are_no_other_parallel_size() -> None:
    why = of_70b(replace(LINES, tokens=2 * 471_856), 4).of("token").why
    assert why == "half: the cache has 8 bits an element, not 16"


def test_less_than_nothing_is_implausible() -> None:
    found = compared(replace(LOG, cache_bytes=gib("68.11"), tokens=557_936), gpu="h100")
    assert (found.outside_bytes or 0) < 0
    assert found.of("outside").why.startswith("implausible")
    assert found.unwritten == "less than nothing is seen beside cache and weights"


def test_what_is_measured_says_for_which_replica() -> None:
    assert compared().unwritten == "no log names its GPU: --system does"
    found = compared(replace(LOG, eager=True, batched_tokens=2048), gpu="h100").measured
    assert found is not None
    assert (found.profile, found.gpu, found.gpus, found.tp, found.dcp) == ("vllm-0.19", "h100", 1, 1, 1)
    assert (found.weights, found.kv_precision) == ("bf16", "bf16")
    assert (found.utilisation, found.longest, found.batched_tokens, found.eager) == (Fraction(19, 20), 8192, 2048, True)


def test_sequences_without_the_memory_of_a_gpu() -> None:
    assert "name it by --system" in compared(hbm_bytes=None).of("sequences").why
    silent = replace(LOG, concurrency=None)
    assert compared(silent, hbm_bytes=None).of("sequences").why == "not printed by this engine"
