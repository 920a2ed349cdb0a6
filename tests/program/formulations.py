"""Formulations built by hand: chosen deployments and patterns, and no more."""

from collections.abc import Sequence

from sizing.facility.deployment import Deployment
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
from tests.plan_builders import TEST_POD, request

SITE = Site("site", TEST_POD)


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
