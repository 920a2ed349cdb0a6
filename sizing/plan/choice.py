"""What a search decides, before it is made into a plan: whole numbers of everything that is bought or run."""

from collections.abc import Mapping
from dataclasses import dataclass

from sizing.facility.deployment import Deployment, Precisions
from sizing.facility.pod import Fill

Sequences = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """`pods` by (site, fill), `systems` by (site, system), `pools` by (deployment id, sequences of each class).

    `served` are sequences by (class, precisions); pools may hold more.
    """

    pods: Mapping[tuple[str, Fill], int]
    systems: Mapping[tuple[str, str], int]
    deployments: Mapping[str, Deployment]
    replicas: Mapping[str, int]
    pools: Mapping[tuple[str, Sequences], int]
    served: Mapping[tuple[str, Precisions], int]
