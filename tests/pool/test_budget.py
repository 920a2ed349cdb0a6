"""HBM less reserve less weights, in whole bytes per GPU."""

from collections.abc import Mapping
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from sizing.facility.system import System
from sizing.pool.budget import pool_budget
from sizing.pool.layout import Layout
from sizing.pool.precision import KvPrecision
from sizing.sequence.weights import WeightBytes
from sizing.units.amounts import GB


def weights(size: int) -> WeightBytes:
    return WeightBytes(Fraction(8 * size), ())


def test_reference_budget() -> None:
    budget = pool_budget(141 * GB, Fraction(1, 10), weights(140 * GB), Layout(8))
    assert (budget.hbm_bytes, budget.reserve_bytes, budget.kv_bytes) == (1_128 * GB, 112_800_000_000, 875_200_000_000)


def test_a_missing_budget_is_negative_by_what_is_missing() -> None:
    assert pool_budget(80 * GB, Fraction(0), weights(140 * GB), Layout(1)).kv_bytes == -60 * GB


def test_the_reserve_rounds_up_on_every_gpu() -> None:
    assert pool_budget(11, Fraction(1, 10), weights(0), Layout(4)).reserve_bytes == 8


@given(
    hbm=st.integers(0, 10**12), reserve=st.fractions(0, 1), size=st.integers(0, 10**12), tp=st.sampled_from([1, 2, 8])
)
def test_every_byte_is_accounted_for(hbm: int, reserve: Fraction, size: int, tp: int) -> None:
    budget = pool_budget(hbm, reserve, weights(size), Layout(tp))
    assert budget.kv_bytes + budget.reserve_bytes + budget.weight_bytes == tp * hbm
    assert reserve * tp * hbm <= budget.reserve_bytes < reserve * tp * hbm + tp


def test_hbm_by_label_and_by_driver(systems: Mapping[str, System]) -> None:
    gpu = systems["h200-8"].gpu
    assert gpu.hbm_bytes("label") == 141 * GB
    assert gpu.hbm_bytes("driver") == 143_771 * 2**20 == 150_754_820_096
    assert systems["b200-8"].gpu.hbm_bytes("driver") is None
    assert gpu.ridge_flop_per_byte == Fraction("989.5") / Fraction("4.8")


def test_a_precision_runs_on_its_generations(precisions: Mapping[str, KvPrecision]) -> None:
    assert precisions["fp8"].runs_on("hopper")
    assert not precisions["fp8"].runs_on("ampere")
