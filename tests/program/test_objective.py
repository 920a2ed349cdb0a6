"""What each stage counts, term by term."""

from fractions import Fraction

import pytest

from sizing.facility.site import Site
from sizing.plan.choice import Sequences
from sizing.program.formulation import Formulation
from sizing.program.objective import STAGES, TIE_BREAKS, Stage, share_of, stage_of, stages_of
from sizing.program.solver import stage_value
from sizing.request.schema import DEFAULT_OBJECTIVE
from tests.plan_builders import BF16, DENSE_70B, FP8, NODE, TEST_POD, deployment, policy, request, service_class
from tests.program.formulations import AGENTS, CHAT, LONG, ON_RACK, formulation_of, whole_program
from tests.program.rows import terms

CHOOSY = service_class("choosy", context=4_096, concurrency=7, weights=("fp8", "bf16"), kv=(FP8, BF16))
ALL_PAIRS = [
    deployment(NODE, DENSE_70B, weights=weights, kv=kv, tp=8) for weights in ("bf16", "fp8") for kv in (BF16, FP8)
]


def written(stage: Stage, formulation: Formulation) -> str:
    return terms(stage.terms(formulation))


@pytest.mark.parametrize(
    ("stage", "counts"),
    [
        ("pods", "pods[site,0] + pods[site,1] + pods[site,2]"),
        ("system_kinds", "kind_is_used[rack-72]"),  # a node is installed already
        ("power", "102 systems[site,node-8] + 1420 systems[site,rack-72]"),
        ("gpus", "8 systems[site,node-8] + 72 systems[site,rack-72]"),
        ("precision", "served[2]"),  # chat at fp8
        ("weight_precision", ""),  # no class has a choice
    ],
)
def test_terms_of_a_stage(stage: str, counts: str) -> None:
    assert written(STAGES[stage], whole_program()) == counts


@pytest.mark.parametrize(
    ("stage", "other", "share"),
    [
        ("gpus", "power", Fraction(72, 1420)),
        ("power", "gpus", Fraction(102, 8)),
        ("power", "power", Fraction(1)),
        ("pods", "power", Fraction(0)),
        ("power", "precision", Fraction(0)),
    ],
)
def test_gpus_and_power_come_together(stage: str, other: str, share: Fraction) -> None:
    """No plan has fewer GPUs than were all its power that of racks, nor less power than were all its GPUs in nodes."""
    assert share_of(STAGES[stage], STAGES[other], whole_program()) == share


def test_a_blend_promises_nothing_where_sequences_alone_may_make_it_up() -> None:
    formulation = formulation_of([CHOOSY], ALL_PAIRS)
    blend = stage_of(formulation.sets.request, "30 gpus + precision")
    assert share_of(STAGES["gpus"], blend, formulation) == 0
    assert share_of(blend, STAGES["gpus"], formulation) == 30


def test_what_may_count_less_than_nothing_is_never_promised() -> None:
    idle, _ = TIE_BREAKS
    assert share_of(idle, STAGES["gpus"], whole_program()) == 0


def test_precision_counts_steps_in_the_order_of_the_class() -> None:
    """Best is what stands first in its list, however many bits that has; weights and KV apart."""
    formulation = formulation_of([CHOOSY], ALL_PAIRS)
    pairs = [(pair.weights, pair.kv) for _, pair in formulation.pairs]
    assert pairs == [("fp8", "fp8"), ("fp8", "bf16"), ("bf16", "fp8"), ("bf16", "bf16")]
    assert written(STAGES["precision"], formulation) == "served[1] + served[3]"
    assert written(STAGES["weight_precision"], formulation) == "served[2] + served[3]"


def test_stages_count_over_all_sites() -> None:
    sites = [Site("north", TEST_POD), Site("south", TEST_POD)]
    formulation = formulation_of([LONG, AGENTS], [deployment(NODE, DENSE_70B, tp=8), ON_RACK], sites=sites)
    assert written(STAGES["pods"], formulation) == "pods[north,0] + pods[north,1] + pods[south,0] + pods[south,1]"
    assert written(STAGES["gpus"], formulation) == (
        "8 systems[north,node-8] + 72 systems[north,rack-72] + 8 systems[south,node-8] + 72 systems[south,rack-72]"
    )
    assert written(STAGES["system_kinds"], formulation) == "kind_is_used[node-8] + kind_is_used[rack-72]"


def test_tie_breaks_fill_what_works_and_then_follow_names() -> None:
    formulation = whole_program()
    dense = "replicas[node-8/dense-70b/bf16/bf16/tp8]"
    half = "replicas[node-8/dense-70b/bf16/fp8/tp8]"
    latent = "replicas[rack-72/latent-671b/fp8/bf16/tp1-adp8]"
    idle, names = TIE_BREAKS
    assert written(idle, formulation) == (
        f"8 domains[node-8] + 72 domains[rack-72] - 8 {dense} - 8 {half} - 8 {latent}"
    )
    assert written(names, formulation) == (
        f"3 {dense} + 4 {half} + 5 {latent} + systems[site,node-8] + 2 systems[site,rack-72] "
        "+ pods[site,0] + 2 pods[site,1] + 3 pods[site,2] "
        "+ installed_pods[site,0] + 2 installed_pods[site,1] + 3 installed_pods[site,2] + 4 installed_pods[site,3]"
    )


def test_no_plan_has_less_than_one_pod_of_one_kind_unless_something_is_there() -> None:
    bare = request([CHAT], [NODE], rules=policy(objective=DEFAULT_OBJECTIVE))
    assert [(stage.name, stage.floor) for stage in stages_of(bare)] == [
        *(("pods", 1), ("system_kinds", 1), ("power", 0), ("gpus", 0), ("precision", 0)),
    ]
    there = request([CHAT], [NODE], [Site("site", TEST_POD, installed_systems={"node-8": 1}, installed_pods=1)])
    assert {stage_of(there, name).floor for name in STAGES} == {0}


def test_a_value_is_whole_whatever_the_tolerance_left() -> None:
    pattern: Sequences = (("long", 20),)
    formulation = formulation_of([LONG], [deployment(NODE, DENSE_70B, tp=8)], patterns=[[pattern]])
    formulation.model.systems["site", "node-8"].set_value(2.9999993)
    assert stage_value(STAGES["power"], formulation) == 306
    assert stage_value(STAGES["gpus"], formulation) == 24
    assert stage_value(STAGES["pods"], formulation) == 0  # no value at all


def test_power_is_nameplate_to_the_tenth() -> None:
    """10.2 in binary is a little less; 3 x 10.2 kW are 306 tenths all the same."""
    formulation = formulation_of([LONG], [deployment(NODE, DENSE_70B, tp=8)])
    ((coefficient, _),) = STAGES["power"].terms(formulation)
    assert coefficient == 102
    assert isinstance(coefficient, int)
    assert NODE.nameplate_kw is not None
    assert NODE.nameplate_kw.value == Fraction("10.2")
