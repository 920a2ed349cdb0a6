"""Small random instances as plain numbers: what a request is made of, and what the oracle counts with."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random
from typing import Literal

from sizing.facility.bill_rules import BillRules, RuleLine
from sizing.facility.pod import PodType
from sizing.facility.quantities import PerPod
from sizing.facility.selection import Selection
from sizing.facility.site import Site
from sizing.pool.precision import KvPrecision
from sizing.request.request import Request
from sizing.sequence.feed_forward import Experts, FeedForward, GatedMlp
from sizing.sequence.heads import FullAttention
from sizing.sequence.model import ModelShape
from tests import plan_builders as build

GB = 10**9
QUERY_HEADS = 72
HEAD_DIM = 16
HIDDEN = QUERY_HEADS * HEAD_DIM
LAYERS = 8
VOCABULARY = 1_000

STAGES = ("pods", "system_kinds", "power", "gpus", "precision", "weight_precision")


@dataclass(frozen=True)
class SystemCase:
    """Power in tenths of a kW; `liquid` of it goes to liquid."""

    name: str
    domain_gpus: int
    domains: int
    hbm_gb: int
    power: int
    liquid: int
    generation: str

    @property
    def gpus(self) -> int:
        return self.domain_gpus * self.domains


@dataclass(frozen=True)
class ModelCase:
    """`experts` 0: a dense model with one gated feed-forward a layer of `intermediate`."""

    name: str
    kv_heads: int
    intermediate: int
    experts: int


@dataclass(frozen=True)
class ClassCase:
    """Accepted precisions, best first."""

    name: str
    model: str
    context: int
    demand: int
    weights: tuple[str, ...]
    kv: tuple[str, ...]


@dataclass(frozen=True)
class SiteCase:
    """Power and heat in tenths of a kW; None is unlimited. A Pod carries `balance` beside its systems, all to air."""

    name: str
    slots: int = 128
    pod_power: int = 10_000
    pod_air: int | None = None
    pod_liquid: int | None = None
    balance: int = 0
    pods: int | None = None
    power: int | None = None
    air: int | None = None
    liquid: int | None = None


@dataclass(frozen=True)
class Instance:
    """One small case, all of it."""

    systems: tuple[SystemCase, ...]
    models: tuple[ModelCase, ...]
    classes: tuple[ClassCase, ...]
    sites: tuple[SiteCase, ...] = (SiteCase("site"),)
    reserve: tuple[int, int] = (1, 10)
    spare: int = 0
    supply: tuple[tuple[str, int], ...] = ()
    mixed: bool = False
    split: bool = False
    basis: Literal["provisioned", "installed"] = "provisioned"
    objective: tuple[str, ...] = STAGES[:5]


KV: dict[str, KvPrecision] = {
    "bf16": build.kv_precision("bf16", 16),
    "fp8": build.kv_precision("fp8", 8, frozenset({"new"})),
}


def request_of(instance: Instance) -> Request:
    """The instance as the program reads it."""
    shapes = {case.name: _shape(case) for case in instance.models}
    systems = [
        build.system(
            case.name,
            domain_gpus=case.domain_gpus,
            domains=case.domains,
            hbm_gb=case.hbm_gb,
            kw=str(Fraction(case.power, 10)),
            liquid_kw=str(Fraction(case.liquid, 10)),
            generation=case.generation,
        )
        for case in instance.systems
    ]
    classes = [
        build.service_class(
            case.name, shapes[case.model], case.context, case.demand, case.weights, [KV[name] for name in case.kv]
        )
        for case in instance.classes
    ]
    rules = build.policy(
        reserve=Fraction(*instance.reserve),
        spare_systems=instance.spare,
        supply=dict(instance.supply),
        mixed_pods=instance.mixed,
        split_precision=instance.split,
        power_basis=instance.basis,
        objective=instance.objective,
    )
    return build.request(classes, systems, [_site(case) for case in instance.sites], rules)


def _shape(case: ModelCase) -> ModelShape:
    attention = FullAttention(query_heads=QUERY_HEADS, kv_heads=case.kv_heads, head_dim=HEAD_DIM)
    feed_forward: FeedForward = (
        Experts(experts=case.experts, active_experts=2, intermediate=case.intermediate)
        if case.experts
        else GatedMlp(intermediate=case.intermediate)
    )
    return build.model(case.name, [(LAYERS, attention, feed_forward)], HIDDEN, VOCABULARY)


def _site(case: SiteCase) -> Site:
    plant = RuleLine(
        name="plant",
        group="network",
        manufacturer="test",
        part="plant",
        description="what a Pod has beside its systems",
        unit="each",
        rule=PerPod(1, Selection()),
        sources=("test",),
        date="2026-01-01",
        confidence="high",
        unit_kw=build.figure(Fraction(case.balance, 10), "kW"),
    )
    pod = PodType(
        name=f"pod-of-{case.name}",
        title="A Pod",
        gpu_slots=build.figure(case.slots, "GPUs"),
        power_kw=build.figure(Fraction(case.pod_power, 10), "kW"),
        cooling="liquid and air",
        pue=None,
        liquid_kw=None if case.pod_liquid is None else build.figure(Fraction(case.pod_liquid, 10), "kW"),
        air_kw=None if case.pod_air is None else build.figure(Fraction(case.pod_air, 10), "kW"),
        bill_rules=BillRules("plant", "Plant", (plant,)) if case.balance else None,
    )
    return Site(
        case.name,
        pod,
        power_kw=None if case.power is None else Fraction(case.power, 10),
        liquid_kw=None if case.liquid is None else Fraction(case.liquid, 10),
        air_kw=None if case.air is None else Fraction(case.air, 10),
        pods=case.pods,
    )


def parameters(case: ModelCase) -> tuple[int, int]:
    """(parameters without routed experts, parameters of one routed expert in one layer), by hand."""
    attention = HIDDEN * HEAD_DIM * (2 * QUERY_HEADS + 2 * case.kv_heads)
    gated = 3 * HIDDEN * case.intermediate
    feed_forward = HIDDEN * case.experts if case.experts else gated
    rest = LAYERS * (attention + feed_forward + 2 * HIDDEN) + HIDDEN + 2 * VOCABULARY * HIDDEN
    return rest, gated if case.experts else 0


def random_instance(seed: int) -> Instance:
    """One instance a seed. Contexts are long: of each, 2 to 20 fill a pool of some deployment."""
    random = Random(seed)
    systems = _systems(random)
    models = tuple(_model(random, f"model-{number}", systems[0]) for number in range(random.choice((1, 1, 2))))
    classes = _classes(random, systems, models)
    split = random.random() < 0.15
    if split:  # every way to split is tried: few sequences, and two classes with a choice
        classes = tuple(replace(each, demand=min(each.demand, 4)) for each in classes)
        classes = (*classes[:2], *(replace(each, weights=each.weights[:1], kv=each.kv[:1]) for each in classes[2:]))
    instance = Instance(
        systems=systems,
        models=models,
        classes=classes,
        reserve=random.choice(((0, 1), (1, 10), (1, 10), (1, 20))),
        spare=random.choice((0, 0, 0, 1)),
        mixed=random.random() < 0.4,
        split=split,
        basis=random.choice(("provisioned", "installed")),
        objective=_objective(random),
    )
    instance = replace(instance, sites=_sites(random, systems))
    scarce = random.choice(((), (), (), systems[:1], systems))
    least = 1 if len(scarce) > 1 else 0
    return replace(instance, supply=tuple((system.name, random.randint(least, 3)) for system in scarce))


def _objective(random: Random) -> tuple[str, ...]:
    if random.random() < 0.35:
        return STAGES[:5]
    stages = list(STAGES)
    random.shuffle(stages)
    if random.random() < 0.5:  # what often takes systems of several kinds
        stages.sort(key=lambda stage: stage not in {"power", "gpus"})
    return tuple(stages[: random.randint(1, 6)])


def _systems(random: Random) -> tuple[SystemCase, ...]:
    found = []
    for number in range(random.choice((1, 2, 2, 3))):
        domain_gpus, domains = random.choice((1, 2, 4, 4, 8, 8, 9)), random.choice((1, 1, 1, 2))
        power = domain_gpus * domains * random.randint(10, 14) + random.randint(0, 9)
        found.append(
            SystemCase(
                name=f"system-{number}",
                domain_gpus=domain_gpus,
                domains=domains,
                hbm_gb=random.choice((1, 2, 2, 3, 4)),
                power=power,
                liquid=random.choice((0, power * 7 // 10, power)),
                generation=random.choice(("old", "new", "new", "new")),
            )
        )
    return tuple(found)


def _model(random: Random, name: str, system: SystemCase) -> ModelCase:
    """Weights between a twentieth and one and a half times of one GPU of the first system, at two bytes."""
    kv_heads = random.choice((1, 2, 8, 9, 36, 72))
    experts = random.choice((0, 0, 4, 6, 16))
    bare = ModelCase(name, kv_heads, 1, experts)
    wanted = random.uniform(0.05, 1.5) * system.hbm_gb * GB / 2
    per_width = 3 * HIDDEN * LAYERS * max(1, experts)
    return replace(bare, intermediate=max(1, int((wanted - parameters(bare)[0]) / per_width)))


def _classes(random: Random, systems: Sequence[SystemCase], models: Sequence[ModelCase]) -> tuple[ClassCase, ...]:
    count = random.choice((2, 2, 3, 3, 4, 5, 6))
    most = {2: 24, 3: 9, 4: 5, 5: 3, 6: 2}[count]
    found = []
    for number in range(count):
        model, system = random.choice(models), random.choice(systems)
        rest, expert = parameters(model)
        gpus = random.choice([size for size in (1, 2, 4, 8, 8, 8) if size <= system.domain_gpus])
        room = gpus * system.hbm_gb * GB * 9 // 10 - 2 * (rest + LAYERS * model.experts * expert)
        per_token = 4 * LAYERS * HEAD_DIM * max(model.kv_heads, gpus)
        fit = 2 + int(19 * random.random() ** 2)
        context = max(1, max(room, system.hbm_gb * GB // 4) // (fit * per_token))
        if random.random() < 0.3:
            context = max(1, context // 256) * 256
        found.append(
            ClassCase(
                name=f"class-{number}",
                model=model.name,
                context=context,
                demand=random.randint(1, most),
                weights=random.choice((("bf16",), ("bf16",), ("fp8",), ("bf16", "fp8"))),
                kv=random.choice((("bf16",), ("bf16",), ("bf16", "fp8"), ("fp8", "bf16"), ("fp8",))),
            )
        )
    if count == 6 and found[0].demand == 1:
        found.append(replace(found[0], name="class-6", context=found[0].context * 7 // 8 + 1))
    return tuple(found)


def _sites(random: Random, systems: Sequence[SystemCase]) -> tuple[SiteCase, ...]:
    sites = []
    for name in ("north", "south")[: random.choice((1, 1, 1, 2))]:
        gpus, power = random.choice(systems).gpus, random.choice(systems).power
        site = SiteCase(name)
        if random.random() < 0.7:  # Pods of a few systems
            site = replace(
                site,
                slots=gpus * random.choice((1, 1, 2, 3)) + random.randint(0, 4),
                pod_power=random.choice((10_000, power * random.randint(1, 3) + random.randint(0, 50))),
                balance=random.choice((0, 0, 5)),
            )
        if random.random() < 0.2:
            site = replace(site, pod_air=power * random.randint(1, 2) + random.randint(0, 20))
        if random.random() < 0.1:
            site = replace(site, pod_liquid=power * random.randint(0, 3) + random.randint(0, 20))
        limit = random.random()
        if limit < 0.15:
            site = replace(site, pods=random.choice((0, 1, 2, 2, 3, 4)))
        elif limit < 0.3:
            site = replace(site, power=random.choice((site.pod_power, power)) * random.randint(1, 4))
        elif limit < 0.4:
            site = replace(site, air=power * random.choice((0, 1, 2, 3, 4, 5)))
        elif limit < 0.45:
            site = replace(site, liquid=power * random.choice((0, 1, 2, 3, 4, 5)))
        sites.append(site)
    return tuple(sites)
