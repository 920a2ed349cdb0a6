"""Formulations built by hand: chosen deployments and patterns, and no more."""

from collections.abc import Sequence
from fractions import Fraction

from sizing.facility.bill_rules import BillRules, RuleLine
from sizing.facility.deployment import Deployment
from sizing.facility.loads import PowerBasis
from sizing.facility.pod import PodType
from sizing.facility.quantities import PerPod
from sizing.facility.selection import Selection
from sizing.facility.site import Site
from sizing.facility.system import System
from sizing.plan.choice import Sequences
from sizing.program.contents import Contents, PatternContents
from sizing.program.deployments import Candidate
from sizing.program.formulation import Formulation, declare
from sizing.program.patterns import Columns
from sizing.program.sets import sets_of
from sizing.program.slack import RIGID, Slack
from sizing.request.request import Policy, ServiceClass
from tests.plan_builders import (
    BF16,
    DENSE_70B,
    FP8,
    LATENT_671B,
    NODE,
    RACK,
    TEST_POD,
    TINY,
    deployment,
    figure,
    policy,
    request,
    service_class,
    system,
)

SITE = Site("site", TEST_POD)

CHAT = service_class("chat", context=4_096, concurrency=12, kv=(BF16, FP8))
LONG = service_class("long", context=131_072, concurrency=20)
AGENTS = service_class("agents", LATENT_671B, 65_536, 201, ("fp8",))
SMALL = service_class("small", TINY, 4_096)

AT_BF16 = deployment(NODE, DENSE_70B, tp=8)
AT_FP8 = deployment(NODE, DENSE_70B, kv=FP8, tp=8)
ON_RACK = deployment(RACK, LATENT_671B, weights="fp8", tp=1, attention_dp=8)

NINE = system("nine", domain_gpus=9, domains=2, kw="9.9", liquid_kw="6.6")
ON_NINE = [deployment(NINE, TINY, tp=tp) for tp in (1, 4, 8, 9)]

PLANT = RuleLine(
    name="pump",
    group="cooling",
    manufacturer="test",
    part="pump",
    description="one pump a Pod",
    unit="each",
    rule=PerPod(1, Selection()),
    sources=("test",),
    date="2026-01-01",
    confidence="high",
    unit_kw=figure(Fraction(5), "kW"),
    liquid_share=Fraction(3, 5),
)
POD_WITH_PLANT = PodType(
    name="pod-with-plant",
    title="A Pod with 5 kW of plant",
    gpu_slots=figure(128, "GPUs"),
    power_kw=figure(Fraction(1000), "kW"),
    cooling="liquid",
    pue=None,
    liquid_kw=None,
    air_kw=None,
    bill_rules=BillRules("plant", "Plant", (PLANT,)),
)


def candidates_of(classes: Sequence[ServiceClass], deployments: Sequence[Deployment]) -> list[Candidate]:
    """Each deployment with the bytes of the classes that it may serve."""
    return [
        Candidate(
            each,
            {
                service.name: each.sequence_bytes(service.context)
                for service in classes
                if service.model == each.model and each.precisions in service.precisions
            },
        )
        for each in deployments
    ]


def formulation_of(
    classes: Sequence[ServiceClass],
    deployments: Sequence[Deployment],
    *,
    patterns: Sequence[Sequence[Sequences]] | None = None,
    sites: Sequence[Site] = (SITE,),
    rules: Policy | None = None,
    slack: Slack = RIGID,
    contents: Contents | None = None,
) -> Formulation:
    """Variables alone. `patterns` are those of each deployment in turn; none unless they are what a case is about."""
    candidates = candidates_of(classes, deployments)
    systems: dict[str, System] = {each.system.name: each.system for each in deployments}
    asked = request(classes, list(systems.values()), sites, rules)
    listed = patterns or [()] * len(candidates)
    columns = Columns({each.id: of for each, of in zip(deployments, listed, strict=True)}, complete=True)
    return declare(sets_of(asked, candidates, slack), contents or PatternContents(columns))


def whole_program(basis: PowerBasis = "provisioned") -> Formulation:
    """A formulation in which every statement has something to say."""
    site = Site(
        "site",
        POD_WITH_PLANT,
        power_kw=Fraction(4500),
        liquid_kw=Fraction(800),
        air_kw=Fraction(650),
        pods=5,
        installed_systems={"node-8": 1},
        installed_pods=1,
    )
    rules = policy(supply={"rack-72": 2}, spare_systems=1, mixed_pods=True, power_basis=basis)
    patterns: list[list[Sequences]] = [[(("chat", 11), ("long", 20))], [], [(("agents", 34),)]]
    return formulation_of(
        [CHAT, LONG, AGENTS], [AT_BF16, AT_FP8, ON_RACK], patterns=patterns, sites=[site], rules=rules
    )
