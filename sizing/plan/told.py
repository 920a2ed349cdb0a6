"""What a plan document decides, with types: the figures that follow from it are not read, but worked out anew.

`read_told` knows the shape of a document only. Whether a name is one of the request, and whether the plan holds, is
asked later (`rebuild.py`, `verify.py`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sizing.plan.document import SCHEMA
from sizing.plan.placement import MOST_PLACED
from sizing.plan.plan import Pattern, Status
from sizing.plan.reading import Reader
from sizing.request.request import Rejection
from sizing.units.errors import BadInput

_COMPARED = ("status", "systems", "to_buy", "totals", "classes", "tokens", "memory", "limits", "bill", "version")
"""Keys that must be there and are compared whole with what follows from the rest."""

_WITHOUT_PLAN = (Status.INFEASIBLE.value, Status.TIMEOUT.value)


@dataclass(frozen=True, slots=True)
class ToldStage:
    """A stage; its bound, which only a search can find, and whether that is told as conditional."""

    stage: str
    bound: int | None
    conditional: bool


@dataclass(frozen=True, slots=True)
class ToldPods:
    """`count` Pods that hold `fill`, their balance of plant counted for `planned`; systems by name."""

    site: str
    fill: Mapping[str, int]
    planned: Mapping[str, int]
    count: int


@dataclass(frozen=True, slots=True)
class ToldDeployment:
    """A deployment by its names and its layout."""

    system: str
    model: str
    weights: str
    kv_precision: str
    tp: int
    dcp: int
    attention_dp: int
    replicas: int
    patterns: tuple[Pattern, ...]


@dataclass(frozen=True, slots=True)
class ToldBox:
    """A run of equal domains, as in `PlacedReplicas`; `replicas` are (deployment id, number)."""

    site: str
    pods: tuple[int, int]
    system: str
    systems: tuple[int, int]
    domains: tuple[int, int]
    replicas: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Told:
    """A plan document: `tree` is the whole of it, the rest what is read from it."""

    tree: Mapping[str, Any]
    stages: tuple[ToldStage, ...]
    pods: tuple[ToldPods, ...]
    deployments: tuple[ToldDeployment, ...]
    placement: tuple[ToldBox, ...]
    assumptions: tuple[str, ...]
    reproducible: bool
    rejected: tuple[Rejection, ...]
    request: Mapping[str, Any]
    catalog_sha256: str
    entries: Mapping[str, Mapping[str, Any]]
    input_sha256: str
    seals: Mapping[str, str]


def read_told(tree: Any, file: str) -> Told:
    """A plan document from its JSON.

    Raises BadInput with everything that makes it none: wrong schema, missing keys, wrong types, absurd sizes; and
    where it says that there is no plan.
    """
    root = Reader(tree, file)
    _check_kind(root)
    for name in _COMPARED:
        root.key(name)
    catalog = root.key("catalog")
    told = Told(
        tree=root.mapping(),
        stages=tuple(_stage(each) for each in root.key("objective").items()),
        pods=tuple(_pods(each) for each in root.key("pods").items()),
        deployments=tuple(_deployment(each) for each in root.key("deployments").items()),
        placement=tuple(_box(each) for each in root.key("placement").items()),
        assumptions=tuple(each.text() for each in root.key("assumptions").items()),
        reproducible=root.key("reproducible").flag(),
        rejected=tuple(_rejection(each) for each in root.key("rejected").items()),
        request=root.key("request").mapping(),
        catalog_sha256=catalog.key("sha256").text(),
        entries={section: entries.mapping() for section, entries in catalog.key("entries").entries()},
        input_sha256=root.key("input_sha256").text(),
        seals={name: hashed.text() for name, hashed in root.key("sha256").entries()},
    )
    root.key("content_sha256").text()  # whether a file was changed is another question than whether it holds
    _check_size(root, told)
    if root.problems:
        raise BadInput(*dict.fromkeys(root.problems))
    return told


def _check_kind(root: Reader) -> None:
    """Stop at what is no plan at all: that everything else is missing need not be said then."""
    schema = root.key("schema")
    if schema.value != SCHEMA:
        schema.refuse("is no plan document", SCHEMA)
    else:
        status = root.key("status")
        if status.text() in _WITHOUT_PLAN:
            status.refuse("there is no plan to verify", "the document of a plan")
    if root.problems:
        raise BadInput(*root.problems)


def _check_size(root: Reader, told: Told) -> None:
    pods = sum(max(1, each.count) for each in told.pods)
    systems = sum(max(1, each.count) * sum(map(abs, each.fill.values())) for each in told.pods)
    domains = sum(_length(box.pods) * _length(box.systems) * _length(box.domains) for box in told.placement)
    for name, number in (("pods", max(pods, systems)), ("placement", domains)):
        if number > MOST_PLACED:
            root.key(name).refuse(f"{number:,} Pods, systems or domains are too many", f"at most {MOST_PLACED:,}")


def _length(span: tuple[int, int]) -> int:
    """An empty range is counted too: others are looked through beside it."""
    return max(1, span[1] - span[0] + 1)


def _stage(told: Reader) -> ToldStage:
    bound = told.key("bound")
    return ToldStage(
        stage=told.key("stage").text(),
        bound=None if bound.is_null else bound.whole(),
        conditional=told.key("conditional").flag(),
    )


def _pods(told: Reader) -> ToldPods:
    return ToldPods(
        site=told.key("site").text(),
        fill=_counts(told.key("fill")),
        planned=_counts(told.key("planned")),
        count=told.key("count").whole(),
    )


def _deployment(told: Reader) -> ToldDeployment:
    layout = told.key("layout")
    return ToldDeployment(
        system=told.key("system").text(),
        model=told.key("model").text(),
        weights=told.key("weights").text(),
        kv_precision=told.key("kv_precision").text(),
        tp=layout.key("tp").whole(),
        dcp=layout.key("dcp").whole(),
        attention_dp=layout.key("attention_dp").whole(),
        replicas=told.key("replicas").whole(),
        patterns=tuple(
            Pattern(each.key("count").whole(), tuple(_counts(each.key("sequences")).items()))
            for each in told.key("patterns").items()
        ),
    )


def _box(told: Reader) -> ToldBox:
    return ToldBox(
        site=told.key("site").text(),
        pods=told.key("pods").span(),
        system=told.key("system").text(),
        systems=told.key("systems").span(),
        domains=told.key("domains").span(),
        replicas=tuple(
            (each.key("deployment").text(), each.key("count").whole()) for each in told.key("replicas").items()
        ),
    )


def _rejection(told: Reader) -> Rejection:
    model = told.key("model")
    return Rejection(told.key("system").text(), None if model.is_null else model.text(), told.key("why").text())


def _counts(told: Reader) -> dict[str, int]:
    """A number by name, in the order of the names."""
    return dict(sorted((name, number.whole()) for name, number in told.entries()))
