"""A workload into a request: names resolved against the catalog, defaults written out, all problems at once."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sizing.catalog.border import Entry, read_as
from sizing.catalog.engines import measurements
from sizing.facility.prices import Energy, Prices
from sizing.facility.site import Site
from sizing.request.candidates import choose_candidates
from sizing.request.canonical import document_of, entries_of, sha256_of, workload_of
from sizing.request.consistency import contradictions, unbuildable
from sizing.request.models import notes_of_models, with_models
from sizing.request.request import Policy, Request, ServiceClass, demand
from sizing.request.schema import (
    DEFAULT_ENGINE,
    MOST_ITEMS,
    MOST_SEQUENCES,
    ClassEntry,
    PolicyEntry,
    PricesEntry,
    SiteEntry,
    Stages,
    Workload,
)
from sizing.units.document import Document, read_document
from sizing.units.errors import BadInput, Problem, cut, shown

if TYPE_CHECKING:
    from sizing.catalog.catalog import Catalog


def load_workload(path: Path, catalog: "Catalog", objective: Sequence[str] | None = None) -> Request:
    """The workload in the YAML file at `path`; `objective` replaces that of its policy.

    Raises BadInput with all problems of the file.
    """
    return workload_from(read_document(path), catalog, objective, path.parent)


def workload_from(
    workload: Document | Mapping[str, Any],
    catalog: "Catalog",
    objective: Sequence[str] | None = None,
    folder: Path | None = None,
) -> Request:
    """A workload that was read already, or is given as a mapping with the keys of a workload file.

    Paths of models are relative to `folder`; without one they are refused.

    Raises BadInput with all its problems.
    """
    document = workload if isinstance(workload, Document) else Document("", workload)
    _refuse_too_many(document)
    problems = [*_contradictions(document)]
    entry = stages = None
    brought = with_models(document, catalog, folder)
    document, catalog = brought.document, brought.catalog
    problems += brought.problems
    try:
        entry = read_as(Workload, document, context=catalog)
    except BadInput as error:
        problems += [problem for problem in error.problems if problem.path not in brought.unread]
    try:
        stages = None if objective is None else _stages(objective)
    except BadInput as error:
        problems += error.problems
    if entry is None or problems:
        raise BadInput(*sorted(problems, key=lambda problem: problem.line or 0))
    return _resolve(entry, document, catalog, stages, brought.models)


def request_from_document(document: Mapping[str, Any], catalog: "Catalog") -> Request:
    """The request whose canonical form is `document`, as a plan carries it.

    Raises BadInput where it is no such form, or does not fit the catalog.
    """
    try:
        workload = workload_of(document)
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError):
        raise BadInput(Problem("is no request", path="request", accepted="the request of a plan")) from None
    return workload_from(workload, catalog)


class _Override(Entry):
    objective: Stages


def _stages(objective: Sequence[str]) -> tuple[str, ...]:
    return read_as(_Override, Document("", {"objective": list(objective)})).objective


def _refuse_too_many(document: Document) -> None:
    """Raise BadInput for more classes or sites than are read at all: what each of them says is not looked at."""
    tree = document.tree if isinstance(document.tree, Mapping) else {}
    problems = [
        document.problem((key,), "has too many items", f"a list of {len(items):,}", f"at most {MOST_ITEMS:,}")
        for key, items in ((key, tree.get(key)) for key in ("classes", "sites"))
        if isinstance(items, list | tuple) and len(items) > MOST_ITEMS
    ]
    if problems:
        raise BadInput(*problems)


def _contradictions(document: Document) -> list[Problem]:
    """What the parts of a workload say against each other. Read from the tree, for other parts may be wrong."""
    tree = document.tree
    if not isinstance(tree, Mapping):
        return []
    problems = [*_duplicates(document, "classes"), *_duplicates(document, "sites")]
    if "site" in tree and "sites" in tree:
        first = document.line(("site",))
        where = f" (site is on line {first})" if first else ""
        problems.append(document.problem(("sites",), f"beside site{where}", accepted="either site or sites"))
    policy = tree.get("policy")
    if isinstance(policy, Mapping) and "reserve" in policy and policy.get("engine", DEFAULT_ENGINE) != DEFAULT_ENGINE:
        problems.append(
            document.problem(
                ("policy", "reserve"),
                "an engine profile replaces the reserve (decision 2)",
                seen=shown(policy["reserve"]),
                accepted=f"either reserve or an engine other than {DEFAULT_ENGINE}",
            )
        )
    return problems


def _duplicates(document: Document, key: str) -> list[Problem]:
    items = document.tree.get(key)
    first: dict[str, int] = {}
    problems = []
    for index, item in enumerate(items if isinstance(items, list | tuple) else ()):
        name = item.get("name") if isinstance(item, Mapping) else None
        if not isinstance(name, str):
            continue
        if name in first:
            line = document.line((key, first[name], "name"))
            where = f"on line {line}" if line else f"as {key}[{first[name]}]"
            problems.append(
                document.problem((key, index, "name"), f"duplicate name, first {where}", shown(name), "every name once")
            )
        else:
            first[name] = index
    return cut(problems)


def _resolve(
    entry: Workload, document: Document, catalog: "Catalog", stages: tuple[str, ...] | None, own: tuple[str, ...]
) -> Request:
    policy = _policy(entry.policy, stages, catalog)
    classes = tuple(
        _service_class(service, policy, catalog) for service in sorted(entry.classes, key=lambda service: service.name)
    )
    total = sum(service.demand for service in classes)
    if total > MOST_SEQUENCES:
        accepted = f"at most {MOST_SEQUENCES:,} sequences over all classes, headroom included"
        raise BadInput(document.problem(("classes",), "the demand is absurdly large", f"{total:,}", accepted))
    stated = [_site(site, catalog) for site in entry.sites or (entry.site or SiteEntry(),)]
    sites = tuple(sorted(stated, key=lambda site: site.name))
    names = catalog.names("systems") if policy.systems is None else policy.systems
    installed = [name for site in sites for name in site.installed_systems]
    systems = [catalog.system(name) for name in dict.fromkeys((*names, *installed))]
    missing = {
        system.name: _missing(catalog, "gpus", system.gpu.name) | _missing(catalog, "systems", system.name)
        for system in systems
    }
    problems = [*contradictions(document, stated, systems, policy, missing)]
    if problems:
        raise BadInput(*sorted(problems, key=lambda problem: problem.line or 0))
    candidates = choose_candidates(systems, sites, policy, missing)
    problems = [*unbuildable(document, stated, candidates.systems, policy)]
    if problems:
        raise BadInput(*problems)
    used = {service.model.name for service in classes}
    models = {name: catalog.model_as_written(name) for name in own if name in used}
    form = document_of(entry.name, classes, sites, policy, models)
    entries = entries_of(catalog, classes, sites, candidates.systems, policy)
    return Request(
        name=entry.name,
        classes=classes,
        sites=sites,
        policy=policy,
        candidates=candidates.systems,
        rejected=candidates.rejected,
        assumptions=(
            *candidates.assumptions,
            *notes_of_models(service.model for service in classes if service.model.name in own),
        ),
        document=form,
        entries=entries,
        catalog_sha256=sha256_of(entries),
        input_sha256=sha256_of(form),
        kv_precisions=tuple(catalog.kv_precision(name) for name in catalog.names("precisions")),
        measurements=measurements(catalog),
    )


def _missing(catalog: "Catalog", section: str, name: str) -> dict[str, str]:
    """The catalog's reasons why figures of an entry are unknown."""
    return dict(catalog.entry(section, name).get("missing") or {})


def _policy(entry: PolicyEntry, stages: tuple[str, ...] | None, catalog: "Catalog") -> Policy:
    return Policy(
        reserve=entry.reserve,
        headroom=entry.headroom,
        spare_systems=entry.spare_systems,
        systems=None if entry.systems is None else tuple(sorted(entry.systems)),
        supply=dict(sorted(entry.supply.items())),
        objective=stages or entry.objective,
        mixed_pods=entry.mixed_pods,
        split_precision=entry.split_precision,
        dcp=entry.dcp,
        engine=entry.engine,
        hbm=entry.hbm,
        power_basis=entry.power_basis,
        prices=_prices(entry.prices),
        profile=None if entry.engine == DEFAULT_ENGINE else catalog.engine(entry.engine),
    )


def _prices(entry: PricesEntry) -> Prices:
    energy = entry.energy
    return Prices(
        systems=dict(sorted(entry.systems.items())),
        pods=dict(sorted(entry.pods.items())),
        energy=None if energy is None else Energy(energy.tariff, energy.horizon, energy.pue),
    )


def _service_class(entry: ClassEntry, policy: Policy, catalog: "Catalog") -> ServiceClass:
    model = catalog.model(entry.model)
    return ServiceClass(
        name=entry.name,
        model=model,
        context=entry.context,
        concurrency=entry.concurrency,
        demand=demand(entry.concurrency, policy.headroom),
        weights=entry.weights or (model.native_weights,),
        kv_precisions=tuple(catalog.kv_precision(name) for name in entry.kv_precision),
    )


def _site(entry: SiteEntry, catalog: "Catalog") -> Site:
    return Site(
        name=entry.name,
        pod=catalog.pod(entry.pod),
        power_kw=entry.power,
        liquid_kw=entry.liquid_heat,
        air_kw=entry.air_heat,
        pods=entry.pods,
        pod_liquid_kw=entry.pod_liquid_heat,
        pod_air_kw=entry.pod_air_heat,
        installed_systems={name: count for name, count in sorted(entry.installed.systems.items()) if count},
        installed_pods=entry.installed.pods,
    )
