"""Plans built by hand for the report's tests: 70B on two H200 nodes beside DeepSeek-V3 in an NVL72."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from sizing.facility.deployment import Deployment, Precisions
from sizing.facility.pod import Balance, Fill, PodType
from sizing.facility.site import Site
from sizing.facility.system import Status as SaleStatus
from sizing.facility.system import System
from sizing.plan.plan import (
    ClassPlacement,
    FilledPods,
    Limit,
    Memory,
    NoPlan,
    Pattern,
    PlacedReplicas,
    Plan,
    PlannedDeployment,
    Relaxation,
    ServedClass,
    StageResult,
    Status,
    TokenCount,
    Totals,
)
from sizing.pool.budget import pool_budget
from sizing.pool.gpu import Gpu
from sizing.pool.layout import layout_for
from sizing.pool.precision import Evidence, KvPrecision
from sizing.pool.storage import IdealStorage
from sizing.request.request import Policy, Rejection, Request, ServiceClass
from sizing.sequence.feed_forward import Experts, GatedMlp
from sizing.sequence.heads import FullAttention
from sizing.sequence.latent import LatentAttention
from sizing.sequence.model import Block, ModelShape
from sizing.sequence.weights import FORMATS, weight_bytes
from sizing.units.figures import Confidence, Figure

SHEET = {"title": "A data sheet", "address": "https://example.org/sheet", "date": "2026-01-01"}
DERIVED = {"title": "A provisioning rule", "address": "https://example.org/rule", "date": "2026-02-01"}


def figure(value: Any, unit: str, confidence: Confidence = "high", **more: Any) -> Figure[Any]:
    return Figure(value, unit, ("sheet",), "2026-01-01", confidence, **more)


def gpu(name: str, label_gb: int) -> Gpu:
    return Gpu(
        name=name,
        title=f"NVIDIA {name.upper()}",
        vendor="NVIDIA",
        generation="hopper",
        memory_kind="HBM3e",
        hbm_label_gb=figure(Fraction(label_gb), "GB"),
        hbm_driver_bytes=None,
        hbm_tb_s=figure(Fraction(48, 10), "TB/s"),
        dense_tflops={},
        tdp_w=figure(Fraction(700), "W"),
    )


H200 = System(
    name="hgx-h200-8",
    title="HGX H200, 8 GPUs",
    vendor="NVIDIA",
    status=SaleStatus.ON_SALE,
    gpu=gpu("h200", 141),
    domain_gpus=8,
    domains_per_system=1,
    scale_up="NVLink 4",
    cooling="air",
    nameplate_kw=figure(Fraction(102, 10), "kW"),
    liquid_kw=figure(Fraction(0), "kW"),
    rack_units=figure(8, "U"),
)
GB300 = System(
    name="gb300-nvl72",
    title="GB300 NVL72",
    vendor="NVIDIA",
    status=SaleStatus.ON_SALE,
    gpu=gpu("gb300", 288),
    domain_gpus=72,
    domains_per_system=1,
    scale_up="NVLink 5",
    cooling="liquid",
    nameplate_kw=figure(Fraction(142), "kW", "low", range=(Fraction(132), Fraction(142)), basis="derived: build-up"),
    liquid_kw=figure(Fraction(128), "kW"),
    rack_units=None,
)
LLAMA = ModelShape(
    name="llama-3.1-70b",
    title="Llama 3.1 70B",
    hidden=8192,
    vocabulary=128256,
    tied_embeddings=False,
    blocks=(Block(80, FullAttention(query_heads=64, kv_heads=8, head_dim=128), GatedMlp(intermediate=28672)),),
    native_weights="bf16",
    context_limit=131072,
)
DEEPSEEK = ModelShape(
    name="deepseek-v3",
    title="DeepSeek-V3",
    hidden=7168,
    vocabulary=129280,
    tied_embeddings=False,
    blocks=(
        Block(
            61,
            LatentAttention(
                query_heads=128,
                kv_lora_rank=512,
                rope_head_dim=64,
                nope_head_dim=128,
                value_head_dim=128,
                query_lora_rank=1536,
            ),
            Experts(experts=256, active_experts=8, intermediate=2048, shared_intermediate=2048),
        ),
    ),
    native_weights="fp8-block",
    context_limit=163840,
)
BF16 = KvPrecision("bf16", "16 bits", ("fp16",), figure(Fraction(16), "bits"), frozenset({"hopper"}), ())
FP8 = KvPrecision(
    "fp8",
    "8 bits, one scale per tensor",
    (),
    figure(Fraction(8), "bits"),
    frozenset({"hopper"}),
    (
        Evidence("for", "A mean loss of 0.1 points over six tasks.", "paper-for", "peer reviewed"),
        Evidence("against", "Retrieval at 128k tokens falls by 3 points.", "paper-against", "preprint"),
    ),
)
RESERVE = Fraction(1, 10)


def deployment(system: System, model: ModelShape, weights: str, kv: KvPrecision, tp: int, adp: int = 1) -> Deployment:
    layout = layout_for(model, tp, adp)
    hbm = system.gpu.hbm_bytes("label")
    assert hbm is not None
    budget = pool_budget(hbm, RESERVE, weight_bytes(model, FORMATS[weights]), layout)
    return Deployment(system, model, weights, kv, layout, budget, IdealStorage(kv.bits.value))


CHAT = deployment(H200, LLAMA, "bf16", FP8, 8)
AGENTS = deployment(GB300, DEEPSEEK, "fp8", BF16, 1, 8)


def entries() -> Mapping[str, Mapping[str, Any]]:
    nameplate = {"value": 10.2, "unit": "kW", "date": "2026-01-01", "confidence": "high", "sources": [SHEET]}
    derived = {
        "value": 142,
        "unit": "kW",
        "date": "2026-02-01",
        "confidence": "low",
        "range": [132, 142],
        "basis": "derived: build-up",
        "sources": [SHEET, DERIVED],
    }
    return {
        "systems": {
            "hgx-h200-8": {"title": "HGX H200, 8 GPUs", "nameplate_kw": nameplate},
            "gb300-nvl72": {"title": "GB300 NVL72", "nameplate_kw": derived},
        },
        "precisions": {
            "fp8": {
                "bits": {"value": 8, "unit": "bits", "date": "2026-01-01", "confidence": "high", "sources": [SHEET]},
                "evidence": [
                    {
                        "verdict": "for",
                        "finding": "A mean loss of 0.1 points over six tasks.",
                        "source": {"title": "Paper for", "address": "https://example.org/for", "date": "2025"},
                        "weight": "peer reviewed",
                    },
                    {
                        "verdict": "against",
                        "finding": "Retrieval at 128k tokens falls by 3 points.",
                        "source": {"title": "Paper against", "address": "https://example.org/against", "date": "2025"},
                        "weight": "preprint",
                    },
                ],
            }
        },
    }


def pod() -> PodType:
    return PodType(
        name="podos-1mw",
        title="PODOS, 1 MW",
        gpu_slots=figure(128, "GPUs"),
        power_kw=figure(Fraction(1000), "kW"),
        cooling="direct-to-chip liquid",
        pue=None,
        liquid_kw=None,
        air_kw=None,
    )


def request(chat_name: str = "chat", title: str = "Example customer") -> Request:
    site = Site("main", pod(), power_kw=Fraction(2000), air_kw=Fraction(40), pods=2)
    chat = ServiceClass(chat_name, LLAMA, 131072, 97, 97, ("bf16",), (BF16, FP8))
    agents = ServiceClass("agents", DEEPSEEK, 65536, 400, 400, ("fp8",), (BF16,))
    policy = Policy(
        reserve=RESERVE,
        headroom=Fraction(0),
        spare_systems=0,
        systems=None,
        supply={},
        objective=("pods", "system_kinds", "power", "gpus", "precision"),
        mixed_pods=True,
        split_precision=False,
        dcp=False,
        engine="ideal",
        hbm="label",
        power_basis="provisioned",
    )
    rejected = (
        Rejection("hgx-a100-8", None, "end of life"),
        Rejection("hgx-h100-8", None, "end of life"),
        Rejection("l40s-8", "deepseek-v3", "the weights do not fit into its domain"),
    )
    return Request(
        name=title,
        classes=(chat, agents),
        sites=(site,),
        policy=policy,
        candidates=(H200, GB300),
        rejected=rejected,
        assumptions=("The Pod takes mainly air-cooled systems because policy.systems names them.",),
        document={
            "name": title,
            "classes": [{"name": chat_name, "context": 131072, "concurrency": 97}],
            "policy": {"reserve": 0.1, "mixed_pods": True, "supply": {}},
        },
        entries=entries(),
        catalog_sha256="c" * 64,
        input_sha256="1" * 64,
    )


def plan(chat_name: str = "chat", title: str = "Example customer") -> Plan:
    """97 chats in three pools of H200, 400 agents over the 24 pools of three replicas in one NVL72."""
    chat_bytes, agent_bytes = CHAT.sequence_bytes(131072), AGENTS.sequence_bytes(65536)
    per_pool = CHAT.budget.kv_bytes // chat_bytes
    chat = PlannedDeployment(
        CHAT,
        3,
        (
            Pattern(2, ((chat_name, per_pool),)),
            Pattern(1, ((chat_name, 97 - 2 * per_pool),)),
        ),
    )
    agents = PlannedDeployment(AGENTS, 3, (Pattern(16, (("agents", 17),)), Pattern(8, (("agents", 16),))))
    bought = 24 * 141 * 10**9 + 72 * 288 * 10**9
    idle = 48 * 288 * 10**9
    reserve = 3 * CHAT.budget.reserve_bytes + 24 * AGENTS.budget.reserve_bytes
    weights = 3 * CHAT.budget.weight_bytes + 24 * AGENTS.budget.weight_bytes
    committed = 97 * chat_bytes + 400 * agent_bytes
    free = bought - idle - reserve - weights - committed
    population = (("gb300-nvl72", 1), ("hgx-h200-8", 3))
    return Plan(
        request=request(chat_name, title),
        status=Status.FEASIBLE,
        stages=(
            StageResult("pods", "Pods", 1, 1),
            StageResult("system_kinds", "kinds", 2, 1),
            StageResult("power", "0.1 kW", 1726, None, conditional=True),
        ),
        pods=(
            FilledPods(
                "main", "podos-1mw", population, Fill((("gb300-nvl72", 1), ("hgx-h200-8", 7)), Balance(Fraction(5), Fraction(0), Fraction(5))), 1
            ),
        ),
        systems=population,
        deployments=(chat, agents),
        classes=(
            ServedClass(
                chat_name,
                97,
                97,
                (Precisions("bf16", "fp8"),),
                (ClassPlacement(CHAT.id, 97, chat_bytes, "KV memory"),),
            ),
            ServedClass(
                "agents",
                400,
                400,
                (Precisions("fp8", "bf16"),),
                (ClassPlacement(AGENTS.id, 400, agent_bytes, "KV memory"),),
            ),
        ),
        totals=Totals(
            pods=1,
            systems=4,
            domains=4,
            gpus=96,
            idle_gpus=48,
            stranded_slots=0,
            free_slots=32,
            nameplate_kw=Fraction(1726, 10),
            liquid_kw=Fraction(128),
            air_kw=Fraction(446, 10),
            balance_kw=Fraction(5),
            balance_liquid_kw=Fraction(0),
            balance_air_kw=Fraction(5),
        ),
        tokens=TokenCount(97 * 131072 + 400 * 65536, 1_000_000),
        tokens_by_model={
            "deepseek-v3": TokenCount(400 * 65536, 900_000),
            "llama-3.1-70b": TokenCount(97 * 131072, 100_000),
        },
        memory=Memory(bought, idle, reserve, weights, committed, free - 12345, 12345),
        limits=(
            Limit("power", "main", Fraction(1000), Fraction(2000), "kW", False),
            Limit("air_heat", "main", Fraction(496, 10), Fraction(50), "kW", True),
            Limit("liquid_heat", "main", Fraction(128), None, "kW", False),
            Limit("pods", "main", Fraction(1), Fraction(2), "Pods", False),
        ),
        placement=(
            PlacedReplicas("main", (1, 1), "gb300-nvl72", (1, 1), (1, 1), ((AGENTS.id, 3, 8),), 48),
            PlacedReplicas("main", (1, 1), "hgx-h200-8", (1, 3), (1, 1), ((CHAT.id, 1, 8),), 0),
        ),
        rejected=request().rejected,
        assumptions=("The Pod takes mainly air-cooled systems because policy.systems names them.",),
    )


def no_plan(status: Status = Status.INFEASIBLE) -> NoPlan:
    made = request()
    return NoPlan(
        made,
        status,
        ("One sequence of agents needs 1,968 GiB; hgx-h200-8 leaves 815 GiB.",),
        (Relaxation("power", Fraction(4500), Fraction(5000), "kW"), Relaxation("pods", None, Fraction(5), "Pods")),
        made.rejected,
        {"systems": 63},
    )
