"""A finished answer as data: what to buy, where it stands, what it holds, what binds. No solver is known here."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING

from sizing.facility.deployment import Deployment, Precisions
from sizing.facility.pod import Fill
from sizing.pool.gpu import HbmBasis
from sizing.request.request import Rejection, Request

if TYPE_CHECKING:
    from pandas import DataFrame


class Status(StrEnum):
    """How good an answer is known to be."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    TIMEOUT = "timeout"


@dataclass(frozen=True, slots=True)
class StageResult:
    """One stage of the objective. `value` and `bound` are whole numbers of `unit`; the bound is valid or None.

    `conditional`: the bound holds only given the values of the stages before, one of which is not proven.
    """

    stage: str
    unit: str
    value: int
    bound: int | None
    conditional: bool = False

    @property
    def gap(self) -> float | None:
        return None if self.bound is None else (self.value - self.bound) / max(1, self.value)


@dataclass(frozen=True, slots=True)
class Pattern:
    """`count` pools that hold `sequences` (class, number), sorted by class; an empty pool holds none."""

    count: int
    sequences: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class PlannedDeployment:
    """`replicas` of a deployment and how their pools are filled; pattern counts add up to the pools."""

    deployment: Deployment
    replicas: int
    patterns: tuple[Pattern, ...]

    @property
    def pools(self) -> int:
        return self.replicas * self.deployment.pools_per_replica

    @property
    def gpus(self) -> int:
        return self.replicas * self.deployment.gpus_per_replica


@dataclass(frozen=True, slots=True)
class FilledPods:
    """`count` Pods at `site` with the same systems in them; `fill` is what their balance of plant is counted for."""

    site: str
    pod: str
    systems: tuple[tuple[str, int], ...]
    fill: Fill
    count: int


@dataclass(frozen=True, slots=True)
class ClassPlacement:
    """Sequences of a class on one deployment, and what limits them there."""

    deployment: str
    sequences: int
    sequence_bytes: int
    binding: str


@dataclass(frozen=True, slots=True)
class ServedClass:
    """A class and where its demand is held."""

    name: str
    demand: int
    served: int
    precisions: tuple[Precisions, ...]
    placements: tuple[ClassPlacement, ...]


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit of a site, or of supply over all sites (`site` None): used against limit (None: unlimited), in `unit`.

    `binding`: one more Pod or system of any kind in the plan would exceed it.
    """

    name: str
    site: str | None
    used: Fraction
    limit: Fraction | None
    unit: str
    binding: bool


@dataclass(frozen=True, slots=True)
class TokenCount:
    """Tokens of context: `committed` to the demand, `spare` in what is left of every pool."""

    committed: int
    spare: int

    @property
    def capacity(self) -> int:
        return self.committed + self.spare


@dataclass(frozen=True, slots=True)
class Memory:
    """HBM bought, to the byte: bought = idle + reserve + weights + committed + spare + remainder."""

    bought: int
    idle: int
    reserve: int
    weights: int
    committed: int
    spare: int
    remainder: int


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over all that stands, what is installed included. kW of systems only; balance of plant apart.

    `cost_usd` counts what is bought (`plan/cost.py`), prices that are ranges with their high end, `cost_low_usd` with
    their low end; None where a price is unknown.
    """

    pods: int
    systems: int
    domains: int
    gpus: int
    idle_gpus: int
    stranded_slots: int
    free_slots: int
    nameplate_kw: Fraction
    liquid_kw: Fraction | None
    air_kw: Fraction | None
    balance_kw: Fraction
    balance_liquid_kw: Fraction
    balance_air_kw: Fraction
    cost_usd: Fraction | None = None
    cost_low_usd: Fraction | None = None


@dataclass(frozen=True, slots=True)
class PlacedReplicas:
    """A run of equal domains: each holds `replicas` (deployment id, number, GPUs of one), in order of its GPUs.

    `pods` and `systems` are (first, last), counted from 1: Pods within the site, systems of this kind within the Pod;
    `domains` are (first, last) within each of those systems.
    """

    site: str
    pods: tuple[int, int]
    system: str
    systems: tuple[int, int]
    domains: tuple[int, int]
    replicas: tuple[tuple[str, int, int], ...]
    idle_gpus: int


@dataclass(frozen=True, slots=True)
class PlanInBrief:
    """What another plan buys. `nameplate_range_kw`: all its nameplates at the low, and at the high end of their ranges.

    A nameplate without a range counts with its value at both ends.
    """

    pods: int
    systems: tuple[tuple[str, int], ...]
    gpus: int
    nameplate_kw: Fraction
    nameplate_range_kw: tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class OtherHbm:
    """Whether HBM by the other basis, `basis`, changes the kinds of system or the number of Pods (design, section 2).

    `changes` None: not settled. `plan` is the plan by that basis where it does change them; None: there is none.
    `proven`: the best plan by that basis is. Candidates `without_figure` have no HBM by that basis and drop out.
    """

    basis: HbmBasis
    changes: bool | None
    proven: bool
    without_figure: tuple[str, ...]
    plan: PlanInBrief | None = None


@dataclass(frozen=True, slots=True)
class PowerRanges:
    """Whether the choice of systems stands wherever in their ranges the nameplates truly are (decision 8).

    `others` are of other kinds, as good in every stage before `power`, and their kW overlap those of the plan,
    `nameplate_range_kw`. `decided` is False where there are any, None where it is not settled whether there are.
    """

    decided: bool | None
    nameplate_range_kw: tuple[Fraction, Fraction]
    others: tuple[PlanInBrief, ...] = ()


@dataclass(frozen=True, slots=True)
class WithoutEngine:
    """What the arithmetic itself plans, with its reserve, in place of the policy's engine profile.

    `plan` None: nothing was found. `proven`: it is the best, or that there is none.
    """

    plan: PlanInBrief | None
    proven: bool


@dataclass(frozen=True, slots=True)
class PricedPlan:
    """Another plan and what it costs: every price at its low end, and at its high end."""

    plan: PlanInBrief
    cost_range_usd: tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class PriceRanges:
    """Whether the choice stands wherever in their ranges the prices truly are.

    The stage takes every price at its high end. `others` are as good in every stage before it and better in it where
    what only they buy is at its low end, or energy is. `decided` is False where there are any, None where that is not
    settled.
    """

    decided: bool | None
    cost_range_usd: tuple[Fraction, Fraction]
    others: tuple[PricedPlan, ...] = ()


Setting = Fraction | str | bool | None
"""What a limit or a policy is set to. None: no limit."""


@dataclass(frozen=True, slots=True)
class SensitivityCase:
    """What the answer becomes where one limit, or one choice of the policy, is another.

    `what` says the change: `site power 5 MW -> 4.5 MW`. `key` is a limit (`power`, `pods`, `supply:<system>`; `site`
    None: over all sites), a key of the policy (`reserve`, `hbm`, `headroom`, `mixed_pods`, ...), `kv_precision:<class>`
    (`now` and `asked` list what it accepts), or `demand` (that of every class, in percent of what it is).

    `status` is that of the search for it: `infeasible` where there is no plan, `timeout` where that was not settled or
    not reached. `changes`: whether kinds of system, their number, or Pods are others than in the answer; None: not
    known.
    """

    what: str
    key: str
    site: str | None
    now: Setting
    asked: Setting
    unit: str
    status: Status
    plan: PlanInBrief | None
    changes: bool | None


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """What the plan hangs on: figures that are published in two ways, or as ranges.

    `prices` None: no stage counts cost, or no price is a range. `ideal` None: the policy names no engine profile.
    `cases` None: not asked for.
    """

    hbm: OtherHbm
    power: PowerRanges
    prices: PriceRanges | None = None
    ideal: WithoutEngine | None = None
    cases: tuple[SensitivityCase, ...] | None = None


@dataclass(frozen=True, slots=True)
class Alternative:
    """The best plan under a restriction that the answer does not keep: `only hgx-h200-8`, `KV bf16 only`.

    `differs` says in words what of it is other than in the answer. `plan.request` has the restriction in it where it is
    one of the policy.
    """

    name: str
    differs: tuple[str, ...]
    plan: "Plan"


@dataclass(frozen=True, slots=True)
class NoAlternative:
    """A restriction under which no plan was found, and why in brief.

    `status`: `infeasible`, or `timeout` where it is not settled whether there is one.
    """

    name: str
    why: str
    status: Status = Status.INFEASIBLE

    @property
    def standing(self) -> str:
        return "no plan" if self.status is Status.INFEASIBLE else "not settled"


@dataclass(frozen=True, slots=True)
class Alternatives:
    """The next best plans that buy something else, best first by the stages of the objective; and what has no plan."""

    plans: tuple[Alternative, ...]
    none: tuple[NoAlternative, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """The answer to a request. `reproducible` is false where the clock stopped the search (decision 9).

    `sensitivity` None: not looked at. `alternatives` None: not asked for.
    """

    request: Request
    status: Status
    stages: tuple[StageResult, ...]
    pods: tuple[FilledPods, ...]
    systems: tuple[tuple[str, int], ...]
    deployments: tuple[PlannedDeployment, ...]
    classes: tuple[ServedClass, ...]
    totals: Totals
    tokens: TokenCount
    tokens_by_model: Mapping[str, TokenCount]
    memory: Memory
    limits: tuple[Limit, ...]
    placement: tuple[PlacedReplicas, ...]
    rejected: tuple[Rejection, ...]
    assumptions: tuple[str, ...] = ()
    reproducible: bool = True
    sensitivity: Sensitivity | None = None
    alternatives: Alternatives | None = None

    def data_frame(self, name: str) -> "DataFrame":
        """One table of the plan as a pandas data frame; the tables stand in `sizing/plan/frames.py`.

        Raises BadInput where there is no table of that name.
        """
        from sizing.plan.frames import data_frame

        return data_frame(self, name)

    def data_frames(self) -> "dict[str, DataFrame]":
        """Every table of the plan by its name."""
        from sizing.plan.frames import data_frames

        return data_frames(self)


@dataclass(frozen=True, slots=True)
class StatedLimit:
    """A limit that a request states: of a site, or of supply over all sites (`site` None).

    Its excess is measured as a share of `measure`: the limit itself or, where it is 0, one Pod, what one Pod draws, or
    one system.
    """

    name: str
    site: str | None
    value: Fraction
    unit: str
    measure: Fraction

    @property
    def key(self) -> tuple[str, str | None]:
        return self.name, self.site


@dataclass(frozen=True, slots=True)
class Relaxation:
    """A change that, with those of the same `option`, would make a request feasible; each option does so by itself.

    `limit` is a limit of the request (`site` None: over all sites), with amounts in `unit`; or `kv_precision:<class>`:
    it accepts `now` and would have to accept `needed` too; or `concurrency`: percent of that of every class.
    `proven`: no less will do. Otherwise less may do: the limit `needed` is at most what is needed.
    """

    limit: str
    site: str | None
    now: Fraction | str
    needed: Fraction | str
    unit: str
    option: int = 1
    proven: bool = True


@dataclass(frozen=True, slots=True)
class Partial:
    """The largest common share of the demand that fits: each of the classes gets at least `share` of its demand.

    `at_most`: no plan has a larger share; equal to `share` where that is proven. `served` is (class, demand, served);
    a class that fits no system at all gets none, and the share is that of the others. `bought` serves them.
    """

    share: Fraction
    at_most: Fraction
    served: tuple[tuple[str, int, int], ...]
    bought: PlanInBrief


@dataclass(frozen=True, slots=True)
class NoPlan:
    """Why a request has no plan. `conflicts` are sets of limits that cannot be kept together, no limit in two of them.

    `partial` tells how much of the demand fits, where that was found. `reproducible` is false where the clock stopped
    a search (decision 9).
    """

    request: Request
    status: Status
    reasons: tuple[str, ...]
    relaxations: tuple[Relaxation, ...]
    rejected: tuple[Rejection, ...]
    partial: Partial | None = None
    conflicts: tuple[tuple[StatedLimit, ...], ...] = ()
    reproducible: bool = True
