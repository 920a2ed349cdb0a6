"""Small requests and plans, built by hand from the physics alone: no catalog, no solver, no file.

`two_sites` is a whole plan whose every figure is written down as a number; the comments say how it comes about.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sizing.facility.deployment import Deployment, Precisions
from sizing.facility.pod import Balance, Fill, PodType
from sizing.facility.site import Site
from sizing.facility.system import Status as SystemStatus
from sizing.facility.system import System
from sizing.plan.placement import place
from sizing.plan.plan import (
    ClassPlacement,
    FilledPods,
    Limit,
    Memory,
    Pattern,
    Plan,
    PlannedDeployment,
    ServedClass,
    StageResult,
    Status,
    TokenCount,
    Totals,
)
from sizing.pool.budget import pool_budget
from sizing.pool.gpu import Gpu
from sizing.pool.layout import layout_for
from sizing.pool.precision import KvPrecision
from sizing.pool.storage import IdealStorage
from sizing.request.request import Policy, Request, ServiceClass, demand
from sizing.sequence.attention import AttentionKind
from sizing.sequence.feed_forward import Experts, FeedForward, GatedMlp
from sizing.sequence.heads import FullAttention
from sizing.sequence.latent import LatentAttention
from sizing.sequence.model import Block, ModelShape
from sizing.sequence.weights import FORMATS, weight_bytes
from sizing.units.figures import Figure

OLD_AND_NEW = frozenset({"old", "new"})


def figure(value: Any, unit: str = "") -> Figure[Any]:
    """A figure that claims nothing of where it comes from."""
    return Figure(value, unit, ("test",), "2026-01-01", "high")


def kv_precision(name: str, bits: int | Fraction, generations: frozenset[str] = OLD_AND_NEW) -> KvPrecision:
    return KvPrecision(name, name, (), figure(Fraction(bits), "bits"), generations, ())


BF16 = kv_precision("bf16", 16)
FP8 = kv_precision("fp8", 8)
NEW_ONLY = kv_precision("nvfp4", Fraction(9, 2), frozenset({"new"}))


def gpu(name: str, label_gb: int, generation: str) -> Gpu:
    label = figure(Fraction(label_gb), "GB")
    return Gpu(name, name, "test", generation, "HBM", label, None, None, {}, None)


def system(
    name: str,
    *,
    domain_gpus: int = 8,
    domains: int = 1,
    hbm_gb: int = 141,
    kw: str | None = "10.2",
    liquid_kw: str | None = "0",
    cooling: str = "air",
    generation: str = "old",
) -> System:
    """A system as one would put it into a catalog; a power of None is unknown."""
    return System(
        name=name,
        title=name,
        vendor="test",
        status=SystemStatus.ON_SALE,
        gpu=gpu(f"gpu-of-{name}", hbm_gb, generation),
        domain_gpus=domain_gpus,
        domains_per_system=domains,
        scale_up="NVLink",
        cooling=cooling,
        nameplate_kw=None if kw is None else figure(Fraction(kw), "kW"),
        liquid_kw=None if liquid_kw is None else figure(Fraction(liquid_kw), "kW"),
        rack_units=None,
    )


NODE = system("node-8")
"""8 GPUs of 141 GB in one domain, 10.2 kW to air: an hgx-h200-8."""

RACK = system("rack-72", domain_gpus=72, hbm_gb=288, kw="142", liquid_kw="127.8", cooling="liquid", generation="new")
"""72 GPUs of 288 GB in one domain, 142 kW, nine tenths of it to liquid: a gb300-nvl72."""


def model(
    name: str, blocks: Sequence[tuple[int, AttentionKind, FeedForward]], hidden: int, vocabulary: int
) -> ModelShape:
    layers = tuple(Block(count, attention, feed_forward) for count, attention, feed_forward in blocks)
    return ModelShape(name, name, hidden, vocabulary, False, layers, "bf16", 163_840)


DENSE_70B = model(
    "dense-70b",
    [(80, FullAttention(query_heads=64, kv_heads=8, head_dim=128), GatedMlp(intermediate=28_672))],
    hidden=8_192,
    vocabulary=128_256,
)
"""Llama 3.1 70B: 70,553,706,496 parameters, 327,680 bytes per token in bf16."""

_LATENT = LatentAttention(
    query_heads=128,
    kv_lora_rank=512,
    rope_head_dim=64,
    nope_head_dim=128,
    value_head_dim=128,
    query_lora_rank=1_536,
)
_EXPERTS = Experts(experts=256, active_experts=8, intermediate=2_048, shared_intermediate=2_048, router_bias=True)

LATENT_671B = model(
    "latent-671b",
    [(3, _LATENT, GatedMlp(intermediate=18_432)), (58, _LATENT, _EXPERTS)],
    hidden=7_168,
    vocabulary=129_280,
)
"""DeepSeek-V3: 256 routed experts a layer, 70,272 bytes per token in bf16 on each rank."""

TINY = model(
    "tiny",
    [(2, FullAttention(query_heads=72, kv_heads=72, head_dim=8), GatedMlp(intermediate=64))],
    hidden=576,
    vocabulary=100,
)
"""Takes almost no memory: what is placed matters, not what it holds."""


def service_class(
    name: str,
    shape: ModelShape = DENSE_70B,
    context: int = 4_096,
    concurrency: int = 1,
    weights: Sequence[str] = ("bf16",),
    kv: Sequence[KvPrecision] = (BF16,),
    headroom: Fraction = Fraction(0),
) -> ServiceClass:
    return ServiceClass(name, shape, context, concurrency, demand(concurrency, headroom), tuple(weights), tuple(kv))


TEST_POD = PodType(
    name="test-pod",
    title="A Pod without balance of plant",
    gpu_slots=figure(128, "GPUs"),
    power_kw=figure(Fraction(1000), "kW"),
    cooling="liquid",
    pue=None,
    liquid_kw=None,
    air_kw=None,
)
"""1 MW, 128 slots, no bill rules, so that its balance of plant is zero; its cooling is unknown."""


def policy(**changes: Any) -> Policy:
    defaults = Policy(
        reserve=Fraction(1, 10),
        headroom=Fraction(0),
        spare_systems=0,
        systems=None,
        supply={},
        objective=("pods", "system_kinds", "power", "gpus", "precision"),
        mixed_pods=False,
        split_precision=False,
        dcp=False,
        engine="ideal",
        hbm="label",
        power_basis="provisioned",
    )
    return replace(defaults, **changes)


def request(
    classes: Sequence[ServiceClass],
    candidates: Sequence[System] = (NODE, RACK),
    sites: Sequence[Site] = (Site("site", TEST_POD),),
    rules: Policy | None = None,
) -> Request:
    """A request without a document or entries: what the program and the check read."""
    rules = rules or policy()
    if rules.systems is None:
        rules = replace(rules, systems=tuple(candidate.name for candidate in candidates))
    return Request(
        name="Test request",
        classes=tuple(classes),
        sites=tuple(sites),
        policy=rules,
        candidates=tuple(candidates),
        rejected=(),
        assumptions=(),
        document={"name": "Test request"},
        entries={},
        catalog_sha256="c" * 64,
        input_sha256="i" * 64,
    )


def deployment(
    of: System,
    shape: ModelShape,
    *,
    weights: str = "bf16",
    kv: KvPrecision = BF16,
    tp: int = 1,
    attention_dp: int = 1,
    reserve: Fraction = Fraction(1, 10),
) -> Deployment:
    """A deployment with the budget that label HBM and `reserve` leave."""
    layout = layout_for(shape, tp, attention_dp)
    hbm = of.gpu.hbm_bytes("label")
    assert hbm is not None
    budget = pool_budget(hbm, reserve, weight_bytes(shape, FORMATS[weights]), layout)
    return Deployment(of, shape, weights, kv, layout, budget, IdealStorage(kv.bits.value))


def filled(
    site: str, systems: dict[str, int], full: dict[str, int], count: int = 1, balance: Balance | None = None
) -> FilledPods:
    """`count` test Pods that hold `systems`, of the fill `full`."""
    fill = Fill(tuple(sorted(full.items())), balance or Balance())
    return FilledPods(site, TEST_POD.name, tuple(sorted(systems.items())), fill, count)


def two_sites() -> Plan:
    """Four classes of two models on two kinds of system at two sites, one system of each kind kept spare.

    `north` has one Pod with a rack and two nodes that work; `south` one with a rack and a node that stand spare.
    Node 1 holds one TP 8 replica of the dense model: 20 sequences of 131,072 and 11 of 4,096 tokens in bf16. Node 2
    holds two TP 4 replicas at fp8: 68 and 42 sequences of 32,768. The rack holds one replica of the latent model,
    8 pools of one GPU: 34 sequences of 65,536 fit into one, 201 fill five of them and a part of a sixth.
    """
    headroom = Fraction(1, 10)
    classes = (
        service_class("agents", LATENT_671B, 65_536, 182, ("fp8-block", "fp8"), (BF16,), headroom),
        service_class("chat", DENSE_70B, 4_096, 10, ("bf16",), (BF16, FP8), headroom),
        service_class("long", DENSE_70B, 131_072, 18, ("bf16",), (BF16,), headroom),
        service_class("notes", DENSE_70B, 32_768, 100, ("bf16",), (BF16, FP8), headroom),
    )
    sites = (
        Site(
            "north",
            TEST_POD,
            power_kw=Fraction(1000),
            liquid_kw=Fraction(200),
            air_kw=Fraction(800),
            pods=2,
            pod_air_kw=Fraction(250),
        ),
        Site("south", TEST_POD),
    )
    rules = policy(
        headroom=headroom,
        spare_systems=1,
        supply={"rack-72": 2},
        objective=("pods", "system_kinds", "power", "gpus", "precision", "weight_precision"),
        mixed_pods=True,
    )
    asked = request(classes, sites=sites, rules=rules)
    agents = deployment(RACK, LATENT_671B, weights="fp8", tp=1, attention_dp=8)
    mixed = deployment(NODE, DENSE_70B, tp=8)
    notes = deployment(NODE, DENSE_70B, kv=FP8, tp=4)
    planned = (
        PlannedDeployment(mixed, 1, (Pattern(1, (("chat", 11), ("long", 20))),)),
        PlannedDeployment(notes, 2, (Pattern(1, (("notes", 68),)), Pattern(1, (("notes", 42),)))),
        PlannedDeployment(agents, 1, (Pattern(5, (("agents", 34),)), Pattern(1, (("agents", 31),)), Pattern(2, ()))),
    )
    full = {"node-8": 7, "rack-72": 1}
    pods = (
        filled("north", {"node-8": 2, "rack-72": 1}, full),
        filled("south", {"node-8": 1, "rack-72": 1}, full),
    )
    systems = (("node-8", 3), ("rack-72", 2))
    bf16 = Precisions("bf16", "bf16")
    return Plan(
        request=asked,
        status=Status.OPTIMAL,
        stages=(
            StageResult("pods", "Pods", 2, 2),
            StageResult("system_kinds", "kinds", 2, 2),
            StageResult("power", "0.1 kW", 3146, 3146),
            StageResult("gpus", "GPUs", 168, 168),
            StageResult("precision", "sequence steps", 110, 110),  # notes at fp8, one step below bf16
            StageResult("weight_precision", "sequence steps", 201, 201),  # agents at fp8, one step below fp8-block
        ),
        pods=pods,
        systems=systems,
        deployments=planned,
        classes=(
            ServedClass(
                "agents",
                201,
                201,
                (Precisions("fp8", "bf16"),),
                (ClassPlacement(agents.id, 201, 4_605_345_792, "demand"),),  # 65,536 x 70,272; a pool is empty
            ),
            ServedClass("chat", 11, 11, (bf16,), (ClassPlacement(mixed.id, 11, 1_342_177_280, "memory"),)),
            ServedClass("long", 20, 20, (bf16,), (ClassPlacement(mixed.id, 20, 42_949_672_960, "memory"),)),
            ServedClass(
                "notes",
                110,
                110,
                (Precisions("bf16", "fp8"),),
                (ClassPlacement(notes.id, 110, 5_368_709_120, "demand"),),  # 32,768 x 163,840; a pool has room
            ),
        ),
        totals=Totals(
            pods=2,
            systems=5,
            domains=5,
            gpus=168,
            idle_gpus=144,  # 64 of the working rack, 72 and 8 of the spare ones
            stranded_slots=0,
            free_slots=88,  # 128 - 88 and 128 - 80
            nameplate_kw=Fraction("314.6"),
            liquid_kw=Fraction("255.6"),
            air_kw=Fraction("59.0"),
            balance_kw=Fraction(0),
            balance_liquid_kw=Fraction(0),
            balance_air_kw=Fraction(0),
        ),
        tokens=TokenCount(19_443_712, 5_951_656),
        tokens_by_model={
            "dense-70b": TokenCount(6_270_976, 870_328),
            "latent-671b": TokenCount(13_172_736, 5_081_328),
        },
        memory=Memory(
            bought=44_856_000_000_000,  # 24 x 141 GB + 144 x 288 GB
            idle=40_296_000_000_000,  # 8 x 141 GB + 136 x 288 GB
            reserve=456_000_000_000,
            weights=1_214_172_196_864,  # 3 x 141,107,412,992 + 8 x 98,856,244,736
            committed=2_389_989_916_672,
            spare=499_837_065_216,
            remainder=821_248,
        ),
        limits=(
            Limit("power", "north", Fraction(1000), Fraction(1000), "kW", True),
            Limit("liquid_heat", "north", Fraction("127.8"), Fraction(200), "kW", True),  # a second rack is too much
            Limit("air_heat", "north", Fraction("34.6"), Fraction(800), "kW", False),
            Limit("pods", "north", Fraction(1), Fraction(2), "Pods", False),
            Limit("power", "south", Fraction(1000), None, "kW", False),
            Limit("liquid_heat", "south", Fraction("127.8"), None, "kW", False),
            Limit("air_heat", "south", Fraction("24.4"), None, "kW", False),
            Limit("pods", "south", Fraction(1), None, "Pods", False),
            Limit("supply:rack-72", None, Fraction(2), Fraction(2), "systems", True),
        ),
        placement=place(asked, pods, planned),
        rejected=(),
    )
