"""What the program may choose from, what is dropped and why, and what stands in the way of a class."""

import re
from random import Random

import pytest

from sizing.program.deployments import Candidate, Options, drop_dominated, enumerate_options
from sizing.program.exact import NotFound
from sizing.program.search import Found, search
from sizing.program.solver import Effort
from sizing.sequence.feed_forward import GatedMlp
from sizing.sequence.heads import FullAttention
from tests.plan_builders import (
    BF16,
    DENSE_70B,
    FP8,
    LATENT_671B,
    NEW_ONLY,
    NODE,
    RACK,
    TINY,
    deployment,
    model,
    policy,
    request,
    service_class,
    system,
)
from tests.program.formulations import candidates_of

ONE_HEAD = FullAttention(query_heads=32, kv_heads=1, head_dim=128)
SMALL_GPUS = system("small-8", hbm_gb=24)


def ids(options: Options) -> list[str]:
    return [candidate.deployment.id for candidate in options.candidates]


def whys(options: Options, system_name: str = "node-8") -> list[str]:
    return [rejection.why for rejection in options.rejected if rejection.system == system_name]


def test_every_layout_that_is_not_dominated() -> None:
    """One long sequence fits no pool of one GPU; more GPUs hold more of it, and TP 8 four times as many as TP 2."""
    options = enumerate_options(request([service_class("long", context=131_072)], [NODE]))
    assert ids(options) == [f"node-8/dense-70b/bf16/bf16/tp{tp}" for tp in (2, 4, 8)]
    assert [candidate.alone("long") for candidate in options.candidates] == [2, 8, 20]
    assert [candidate.budget for candidate in options.candidates] == [
        tp * 141_000_000_000 * 9 // 10 - 141_107_412_992 for tp in (2, 4, 8)
    ]
    assert options.obstacles == ()


def test_candidates_are_sorted_whatever_the_order_of_classes_and_systems() -> None:
    classes = [
        service_class("a", LATENT_671B, 65_536, weights=("fp8",)),
        service_class("b", DENSE_70B, 4_096, kv=(FP8, BF16)),
    ]
    one = enumerate_options(request(classes, [NODE, RACK]))
    other = enumerate_options(request(classes[::-1], [RACK, NODE]))
    assert ids(one) == sorted(ids(one))
    assert ids(one) == ids(other)
    assert one.rejected == other.rejected


def test_a_class_is_held_only_at_what_it_accepts() -> None:
    classes = [
        service_class("either", kv=(BF16, FP8)),
        service_class("exact"),
        service_class("light", weights=("fp8",), kv=(FP8,)),
    ]
    held = {
        (candidate.deployment.weights, candidate.deployment.kv_precision.name): set(candidate.sizes)
        for candidate in enumerate_options(request(classes, [NODE])).candidates
    }
    assert held == {("bf16", "bf16"): {"either", "exact"}, ("bf16", "fp8"): {"either"}, ("fp8", "fp8"): {"light"}}


def test_a_kv_precision_that_the_gpu_lacks_is_an_obstacle() -> None:
    classes = [service_class("chat", kv=(NEW_ONLY,)), service_class("long", context=131_072)]
    options = enumerate_options(request(classes, [NODE, RACK]))
    (obstacle,) = options.obstacles
    assert (obstacle.system, obstacle.model, obstacle.services) == ("node-8", "dense-70b", frozenset({"chat"}))
    assert "nvfp4" in obstacle.why
    assert obstacle.why in whys(options)
    assert any(name.startswith("rack-72/dense-70b/bf16/nvfp4/") for name in ids(options))


def test_weights_that_do_not_fit_are_missing_to_the_byte() -> None:
    """8 x 24 GB x 0.9 = 172.8 GB hold no 671 billion bytes."""
    options = enumerate_options(request([service_class("agents", LATENT_671B, weights=("fp8",))], [SMALL_GPUS]))
    assert options.candidates == ()
    (obstacle,) = options.obstacles
    least = deployment(SMALL_GPUS, LATENT_671B, weights="fp8", tp=8)
    assert obstacle.missing_bytes == -least.budget.kv_bytes
    assert f"{-least.budget.kv_bytes:,} bytes are missing" in obstacle.why


def test_a_context_that_fits_no_pool_is_missing_to_the_byte() -> None:
    """8 x 24 GB x 0.9 - 141.1 GB leave 31.7 GB; 128K tokens in bf16 take 42.9 GB."""
    classes = [service_class("long", context=131_072), service_class("chat")]
    options = enumerate_options(request(classes, [SMALL_GPUS]))
    assert all("long" not in candidate.sizes for candidate in options.candidates)
    assert any("chat" in candidate.sizes for candidate in options.candidates)
    (obstacle,) = options.obstacles
    assert obstacle.services == frozenset({"long"})
    assert obstacle.missing_bytes == 131_072 * 327_680 - (8 * 24_000_000_000 * 9 // 10 - 141_107_412_992)


def test_a_layout_that_the_heads_refuse_is_told() -> None:
    """8 KV heads on 72 GPUs: TP 72 is refused, and sizes off the ladder are named with the ladder."""
    options = enumerate_options(request([service_class("chat")], [RACK]))
    assert any(why.startswith("TP 72: ") for why in whys(options, "rack-72"))


def test_a_dominated_deployment_names_its_rival() -> None:
    """One KV head on eight GPUs: split over them by decode context parallel, it costs an eighth of eight copies."""
    shape = model("one-head", [(8, ONE_HEAD, GatedMlp(intermediate=8_192))], hidden=4_096, vocabulary=32_000)
    asked = request([service_class("long", shape, 131_072)], [NODE], rules=policy(dcp=True))
    options = enumerate_options(asked)
    assert ids(options) == [f"node-8/one-head/bf16/bf16/{name}" for name in ("tp1", "tp2-dcp2", "tp4-dcp4", "tp8-dcp8")]
    said = re.compile(r"(.+) at bf16 weights, bf16 KV: dominated by (.+), which needs no more .+")
    told = [said.fullmatch(why) for why in whys(options)]
    dropped = {each[1]: each[2] for each in told if each}
    assert set(dropped) == {"TP 2", "TP 4", "TP 4, DCP 2", "TP 8", "TP 8, DCP 2", "TP 8, DCP 4"}
    assert set(dropped.values()) <= {"TP 2, DCP 2", "TP 4, DCP 4", "TP 8, DCP 8"}


def test_two_layouts_of_which_neither_covers_the_other_are_both_kept() -> None:
    """TP 4 needs fewer GPUs, TP 8 holds more in one pool."""
    classes = [service_class("long", context=131_072)]
    candidates = candidates_of(classes, [deployment(NODE, DENSE_70B, tp=tp) for tp in (4, 8)])
    kept, reasons = drop_dominated(candidates)
    assert [candidate.deployment.layout.tp for candidate in kept] == [4, 8]
    assert reasons == []


@pytest.mark.parametrize("of", ["budget", "sizes", "pools", "gpus"])
def test_each_condition_of_dominance_counts(of: str) -> None:
    """Equal in all but one respect: the better in it covers the worse, never the other way round."""
    tight = system("tight", hbm_gb=130)
    better = Candidate(deployment(NODE, DENSE_70B, tp=8), {"long": 40, "chat": 4})
    worse = {
        "budget": Candidate(deployment(tight, DENSE_70B, tp=8), {"long": 40, "chat": 4}),
        "sizes": Candidate(better.deployment, {"long": 40, "chat": 5}),
        "pools": better,
        "gpus": better,
    }[of]
    if of == "pools":
        better = Candidate(deployment(NODE, LATENT_671B, weights="fp8", tp=1, attention_dp=8), {"long": 1})
        worse = Candidate(deployment(NODE, LATENT_671B, weights="fp8", tp=8), {"long": 10**6})
    if of == "gpus":
        better = Candidate(deployment(NODE, TINY, tp=4), {"long": 1})
        worse = Candidate(deployment(NODE, TINY, tp=8), {"long": 10**6})
    for candidates in ([better, worse], [worse, better]):
        kept, reasons = drop_dominated(candidates)
        assert kept == [better]
        assert len(reasons) == 1


def test_dominated_deployments_are_not_missed() -> None:
    """The same values with them as without them."""
    for seed in range(12):
        random = Random(seed)
        shape, weights = random.choice(((DENSE_70B, "bf16"), (LATENT_671B, "fp8")))
        classes = [
            service_class(
                f"class-{number}",
                shape,
                random.randint(10_000, 100_000),
                random.randint(1, 40),
                (weights,),
                (BF16, FP8),
            )
            for number in range(2)
        ]
        asked = request(classes, [NODE, RACK])
        few = enumerate_options(asked)
        every = [
            candidate
            for name in sorted({candidate.deployment.system.name for candidate in few.candidates})
            for candidate in candidates_of(
                classes,
                [
                    deployment(of, shape, weights=weights, kv=kv, tp=tp, attention_dp=dp)
                    for of in (NODE, RACK)
                    if of.name == name
                    for kv in (BF16, FP8)
                    for tp, dp in ((1, 1), (2, 1), (4, 1), (8, 1), (1, 8), (2, 4), (4, 2))
                    if shape is LATENT_671B or dp == 1
                ],
            )
        ]
        fitting = [Candidate(c.deployment, {n: s for n, s in c.sizes.items() if 0 < s <= c.budget}) for c in every]
        with_all = search(asked, tuple(c for c in fitting if c.sizes), Effort())
        found = search(asked, few.candidates, Effort())
        assert isinstance(found, Found)
        assert isinstance(with_all, Found)
        assert [stage.value for stage in found.stages] <= [stage.value for stage in with_all.stages]


def test_no_candidate_no_plan() -> None:
    asked = request([service_class("agents", LATENT_671B, weights=("fp8",))], [SMALL_GPUS])
    assert search(asked, enumerate_options(asked).candidates, Effort()) == NotFound(proven=True, stopped=False)
