"""A workload as it is written: classes, site or sites, policy. The contract of the file, with every default.

Names are resolved while the tree is checked, with the catalog as context, so that all problems come at once.
"""

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Field, ValidationInfo, WithJsonSchema

from sizing.catalog.border import (
    GIVEN,
    ONE_OR_MORE,
    PRICE_USD,
    TARIFF_USD_PER_KWH,
    Count,
    Entry,
    Flag,
    Name,
    PositiveCount,
    PositiveDecimal,
    PositiveTokens,
    PositiveYears,
    PowerKw,
    Share,
)
from sizing.catalog.engines import engine_named
from sizing.facility.loads import PowerBasis
from sizing.facility.prices import Price
from sizing.pool.gpu import HbmBasis
from sizing.request.objective import PATTERN, parse_aim
from sizing.sequence.weights import FORMATS
from sizing.units.errors import BadInput
from sizing.units.names import nearest
from sizing.units.quantities import NotAccepted, below_all

if TYPE_CHECKING:
    from sizing.catalog.catalog import Catalog

DEFAULT_OBJECTIVE = ("pods", "system_kinds", "power", "gpus", "precision")
DEFAULT_POD = "podos-1mw"
DEFAULT_SITE = "site"
DEFAULT_ENGINE = "ideal"

MOST_SEQUENCES = 10**9
MOST_TOKENS = 10**9
MOST_SYSTEMS = 10**6
MOST_PODS = 10**6
MOST_KW = 10**9
MOST_HEADROOM = 10
MOST_USD = 10**12
MOST_TARIFF = 10**6
MOST_YEARS = 100
MOST_PUE = 10
MOST_ITEMS = 20_000


def _at_most(limit: int, written: str) -> AfterValidator:
    """Refuse what no facility will ever be, before it reaches a solver."""

    def check(value: Any) -> Any:
        if value is not None and value > limit:
            raise NotAccepted("is absurdly large", f"at most {written}")
        return value

    return AfterValidator(check)


def _at_least_one(value: Fraction) -> Fraction:
    if value < 1:
        raise NotAccepted("is below 1", "a PUE of 1 or more")
    return value


def _price_of_at_most(limit: int, unit: str) -> AfterValidator:
    def check(ends: tuple[Fraction, Fraction]) -> Price:
        if ends[1] > limit:
            raise NotAccepted("is absurdly large", f"at most {limit:,} {unit}")
        return Price(*ends)

    return AfterValidator(check)


def _named(resolve: Callable[["Catalog", str], str]) -> AfterValidator:
    """Resolve a name to the one that the catalog uses; without a catalog as context, leave it as it is."""

    def check(name: str, info: ValidationInfo) -> str:
        if info.context is None:
            return name
        try:
            return resolve(info.context, name)
        except BadInput as error:
            problem = error.problems[0]
            if problem.file is not None:  # not the name is wrong, but a file of the catalog
                raise
            raise NotAccepted(problem.what, problem.accepted or "a name of the catalog", problem.nearest) from None

    return AfterValidator(check)


def _model(catalog: "Catalog", name: str) -> str:
    return catalog.model(name).name


def _engine(catalog: "Catalog", name: str) -> str:
    """The profile, also by a version that it is for."""
    return engine_named(catalog, name)


def _one_of(what: str, known: Iterable[str]) -> AfterValidator:
    names = tuple(known)

    def check(name: str) -> str:
        if name not in names:
            raise NotAccepted(f"unknown {what}", ", ".join(names), nearest(name, names))
        return name

    return AfterValidator(check)


def _stage(name: str) -> str:
    """A stage in the one way to write it: the parts of a blend by their weights."""
    return str(parse_aim(name))


def _within_limit(context: int, info: ValidationInfo) -> int:
    """Decision 13. Nothing is said where the model or the permission is wrong itself."""
    catalog, model = info.context, info.data.get("model")
    if catalog is None or model is None or info.data.get("allow_longer_context", True):
        return context
    limit = catalog.model(model).context_limit
    if context > limit:
        raise NotAccepted(
            f"{context:,} tokens are beyond the limit of {model} (decision 13)",
            f"at most {limit:,}, or allow_longer_context: true",
        )
    return context


def _quantises_something(weights: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
    """Refuse a format that leaves every weight of the model in bf16, such as mxfp4 for a model without experts."""
    catalog, model = info.context, info.data.get("model")
    if catalog is not None and model is not None:
        roles = {tensors.role for _, tensors in catalog.model(model).tensors() if tensors.total}
        for name in weights:
            if not FORMATS[name].quantised & roles:
                raise NotAccepted(f"{name} is {FORMATS[name].title}, of which {model} has none", "another precision")
    return weights


Sequences = Annotated[PositiveCount, _at_most(MOST_SEQUENCES, f"{MOST_SEQUENCES:,} sequences")]
Context = Annotated[PositiveTokens, _at_most(MOST_TOKENS, f"{MOST_TOKENS:,} tokens"), AfterValidator(_within_limit)]
Systems = Annotated[Count, _at_most(MOST_SYSTEMS, f"{MOST_SYSTEMS:,} systems")]
Pods = Annotated[Count, _at_most(MOST_PODS, f"{MOST_PODS:,} Pods")]
Usd = Annotated[Price, *PRICE_USD, _price_of_at_most(MOST_USD, "USD")]
Tariff = Annotated[Price, *TARIFF_USD_PER_KWH, _price_of_at_most(MOST_TARIFF, "USD/kWh")]
Horizon = Annotated[PositiveYears, _at_most(MOST_YEARS, f"{MOST_YEARS} years")]
Pue = Annotated[PositiveDecimal, AfterValidator(_at_least_one), _at_most(MOST_PUE, f"{MOST_PUE}")]
Limit = Annotated[PowerKw, _at_most(MOST_KW, "1000 GW")]

ModelName = Annotated[Name, _named(_model)]
SystemName = Annotated[Name, _named(lambda catalog, name: catalog.system(name).name)]
PodName = Annotated[Name, _named(lambda catalog, name: catalog.pod(name).name)]
KvPrecisionName = Annotated[Name, _named(lambda catalog, name: catalog.kv_precision(name).name)]
EngineName = Annotated[Name, _named(_engine)]
WeightName = Annotated[Name, _one_of("weight precision", FORMATS)]
Stage = Annotated[Name, AfterValidator(_stage), WithJsonSchema({"type": "string", "pattern": PATTERN})]

SystemNames = Annotated[tuple[SystemName, ...], *ONE_OR_MORE]
KvPrecisionNames = Annotated[tuple[KvPrecisionName, ...], *ONE_OR_MORE]
WeightNames = Annotated[tuple[WeightName, ...], *ONE_OR_MORE, AfterValidator(_quantises_something)]
Stages = Annotated[tuple[Stage, ...], *ONE_OR_MORE]


class ClassEntry(Entry):
    """Live sequences of one length on one model."""

    name: Name = Field(description="Name of the class, once in a workload.")
    model: ModelName = Field(
        description="A catalog name, the Hugging Face id of a model in the catalog, or a path to a config.json."
    )
    allow_longer_context: Flag = Field(default=False, description="Accept a context beyond the model's limit.")
    context: Context = Field(description="Tokens held by one live sequence, prompt and output; k = 1,024.")
    concurrency: Sequences = Field(description="Live sequences at the design peak, without a suffix.")
    weights: Annotated[WeightNames | None, GIVEN] = Field(
        default=None, description="Weight precisions that are accepted, best first. Default: the checkpoint's own."
    )
    kv_precision: KvPrecisionNames = Field(
        default=("bf16",), description="KV precisions that are accepted, best first."
    )


class InstalledEntry(Entry):
    """What is there already."""

    systems: dict[SystemName, Systems] = Field(default_factory=dict, description="Systems that are there, by name.")
    pods: Pods = Field(default=0, description="Pods that are there.")


class SiteEntry(Entry):
    """Where Pods stand. A limit that is left out is unlimited; a limit of 0 is zero."""

    name: Name = Field(default=DEFAULT_SITE, description="Name of the site.")
    pod: PodName = Field(default=DEFAULT_POD, description="Type of Pod, a catalog name.")
    power: Annotated[Limit | None, GIVEN] = Field(default=None, description="Utility power, with its unit.")
    liquid_heat: Annotated[Limit | None, GIVEN] = Field(
        default=None, description="Heat that the site takes from liquid."
    )
    air_heat: Annotated[Limit | None, GIVEN] = Field(default=None, description="Heat that the site takes from air.")
    pods: Annotated[Pods | None, GIVEN] = Field(default=None, description="Pod positions.")
    pod_liquid_heat: Annotated[Limit | None, GIVEN] = Field(
        default=None, description="Heat that one Pod takes from liquid."
    )
    pod_air_heat: Annotated[Limit | None, GIVEN] = Field(default=None, description="Heat that one Pod takes from air.")
    installed: InstalledEntry = Field(
        default_factory=InstalledEntry,
        description="What is there already: it may be used, limits count it, and it is not bought again.",
    )


class NamedSiteEntry(SiteEntry):
    """One of several sites."""

    name: Name = Field(description="Name of the site, once in a workload.")


class EnergyEntry(Entry):
    """What energy costs over a horizon, at nameplate."""

    tariff: Tariff = Field(description="Price of energy with its unit, or [low, high].")
    horizon: Horizon = Field(description="Years over which energy is paid; a year has 8,760 hours.")
    pue: Annotated[Pue | None, GIVEN] = Field(
        default=None, description="Power at the meter over power of systems. Default: that of the Pod's entry."
    )


class PricesEntry(Entry):
    """What things cost, where the catalog does not say or says something else. A range is [low, high]."""

    systems: dict[SystemName, Usd] = Field(default_factory=dict, description="Price of one system, by name.")
    pods: dict[PodName, Usd] = Field(
        default_factory=dict, description="Price of one Pod without what stands in it, by name."
    )
    energy: Annotated[EnergyEntry | None, GIVEN] = Field(
        default=None, description="Counted in the cost where it is given."
    )


class PolicyEntry(Entry):
    """How to plan."""

    reserve: Annotated[Share, AfterValidator(below_all)] = Field(
        default=Fraction(1, 10), description="Share of HBM kept free of weights and cache. Default: 10 %."
    )
    headroom: Annotated[Share, _at_most(MOST_HEADROOM, f"{MOST_HEADROOM * 100:,} %")] = Field(
        default=Fraction(0), description="Sequences to provide beyond the concurrency. Default: 0 %."
    )
    spare_systems: Systems = Field(
        default=0, description="Systems to buy beyond the need, for every kind that is used."
    )
    systems: Annotated[SystemNames | None, GIVEN] = Field(
        default=None, description="Systems that may be bought. Default: all on sale that the Pod can cool."
    )
    supply: dict[SystemName, Systems] = Field(
        default_factory=dict, description="The most systems of a kind, over all sites."
    )
    objective: Stages = Field(
        default=DEFAULT_OBJECTIVE,
        description="What is minimised, in this order; a stage may be a weighted sum such as cost + 500 power.",
    )
    mixed_pods: Flag = Field(default=False, description="Whether a Pod may hold two kinds of system.")
    split_precision: Flag = Field(default=False, description="Whether a class may run at several precisions.")
    dcp: Flag = Field(default=False, description="Whether decode context parallel is tried.")
    engine: EngineName = Field(
        default=DEFAULT_ENGINE, description="How an engine stores a cache; ideal is the arithmetic itself."
    )
    hbm: HbmBasis = Field(default="label", description="HBM by the vendor's label or as drivers report it.")
    power_basis: PowerBasis = Field(default="provisioned", description="How Pods count against the power of a site.")
    prices: PricesEntry = Field(default_factory=PricesEntry, description="What things cost, for the stage cost.")


class Workload(Entry):
    """What a customer wants to serve, and where."""

    name: Name = Field(description="Title of the plan.")
    classes: tuple[ClassEntry, ...] = Field(
        min_length=1, max_length=MOST_ITEMS, description="What is served: live sequences of one length on one model."
    )
    models: dict[Name, dict[Name, Any]] = Field(
        default_factory=dict, description="Shapes of models by name, with the keys of a file of catalogs/models."
    )
    site: Annotated[SiteEntry | None, GIVEN] = Field(default=None, description="The one site.")
    sites: Annotated[tuple[NamedSiteEntry, ...] | None, GIVEN] = Field(
        default=None,
        min_length=1,
        max_length=MOST_ITEMS,
        description="Several sites, each with a name, instead of one.",
    )
    policy: PolicyEntry = Field(default_factory=PolicyEntry, description="How to plan.")
