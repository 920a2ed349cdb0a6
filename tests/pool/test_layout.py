"""Layouts on the ladder, and why others are dropped."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing.pool.layout import Layout, ladder, layout_for, layouts
from sizing.sequence.model import ModelShape

Shapes = Mapping[str, ModelShape]


@pytest.mark.parametrize(
    ("domain", "sizes"),
    [(1, (1,)), (2, (1, 2)), (4, (1, 2, 4)), (6, (1, 2, 4, 6)), (8, (1, 2, 4, 8)), (72, (1, 2, 4, 8, 16, 32, 64, 72))],
)
def test_ladder(domain: int, sizes: tuple[int, ...]) -> None:
    assert ladder(domain) == sizes


def test_a_dense_model_runs_at_the_powers_of_two(shapes: Shapes) -> None:
    offered, dropped = layouts(shapes["llama-3.1-70b"], 8)
    assert offered == (Layout(1), Layout(2), Layout(4), Layout(8))
    assert [drop.layout.tp for drop in dropped] == []


def test_a_dense_model_on_a_rack(shapes: Shapes) -> None:
    offered, dropped = layouts(shapes["llama-3.1-70b"], 72)
    assert offered == tuple(Layout(tp) for tp in (1, 2, 4, 8, 16, 32, 64))
    assert [(drop.layout.tp, drop.why) for drop in dropped] == [(72, "64 query heads cannot be split over TP 72")]


def test_ten_kv_heads(shapes: Shapes) -> None:
    """phi-4 allows TP 1, 2, 5 and 10: of these 5 is off the ladder of eight GPUs and says so."""
    offered, dropped = layouts(shapes["phi-4"], 8)
    assert offered == (Layout(1), Layout(2))
    assert {drop.layout.tp: drop.why for drop in dropped} == {
        4: "TP 4 neither divides 10 KV heads nor is a multiple of them",
        5: "no replica size on the ladder (1, 2, 4, 8) is a multiple of TP 5",
        8: "TP 8 neither divides 10 KV heads nor is a multiple of them",
    }


def test_ten_gpus_take_a_tp_off_the_ladder_as_two_pools(shapes: Shapes) -> None:
    offered, _ = layouts(shapes["phi-4"], 10)
    assert Layout(5, attention_dp=2) in offered
    assert Layout(10) in offered
    assert Layout(2, attention_dp=5) not in offered


def test_a_mixture_splits_into_pools(shapes: Shapes) -> None:
    offered, dropped = layouts(shapes["deepseek-v3"], 8)
    pairs = [(layout.tp, layout.attention_dp) for layout in offered]
    assert pairs == [(1, 1), (1, 2), (2, 1), (1, 4), (2, 2), (4, 1), (1, 8), (2, 4), (4, 2), (8, 1)]
    assert {layout.ep for layout in offered if layout.gpus_per_replica == 8} == {8}
    assert dropped == ()


def test_dcp_only_where_asked_for(shapes: Shapes) -> None:
    without, _ = layouts(shapes["deepseek-v3"], 8)
    assert {layout.dcp for layout in without} == {1}
    with_dcp, _ = layouts(shapes["deepseek-v3"], 8, dcp=True)
    assert layout_for(shapes["deepseek-v3"], 8, 1, 8) in with_dcp
    assert set(without) < set(with_dcp)
    dense, _ = layouts(shapes["llama-3.1-70b"], 16, dcp=True)
    assert Layout(16, 2) in dense
    assert Layout(8, 2) not in dense


@given(domain=st.integers(1, 72), dcp=st.booleans())
def test_every_offered_layout_is_legal(shapes: Shapes, domain: int, dcp: bool) -> None:
    for name in ("llama-3.1-70b", "phi-4", "deepseek-v3", "gpt-oss-120b"):
        offered, _ = layouts(shapes[name], domain, dcp)
        assert len(set(offered)) == len(offered)
        for layout in offered:
            assert layout.gpus_per_replica in ladder(domain)
            assert layout.tp % layout.dcp == 0
            assert shapes[name].refusal(layout.sharding) is None


def test_names_of_layouts() -> None:
    assert str(Layout(8)) == "TP 8"
    assert str(Layout(16, 2)) == "TP 16, DCP 2"
    assert str(Layout(1, attention_dp=8, ep=8)) == "TP 1, attention DP 8"
