"""A request that was changed: what may be bought is judged again, canonical form and hashes are made anew."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from sizing.facility.site import Site
from sizing.request.candidates import choose_candidates, refusal
from sizing.request.canonical import document_of, sha256_of
from sizing.request.request import Request
from sizing.units.errors import BadInput, Problem, shown
from sizing.units.names import nearest


def at_one_site(request: Request, pods: int, site: str | None = None, system: str | None = None) -> Request:
    """The request at one of its sites with so many Pods, where only `system` is bought if one is named.

    Raises BadInput where there is no such site or system, several sites and none is named, or more Pods are installed.
    """
    place = _site(request, site)
    if place.installed_pods > pods:
        raise BadInput(
            Problem(
                f"more Pods are installed at {place.name!r}",
                "pods",
                seen=f"{pods:,}",
                accepted=f"{place.installed_pods:,} or more, which counts them",
            )
        )
    policy, considered = request.policy, list(request.candidates)
    if system is not None:
        _check_system(request, place, system)
        policy = replace(policy, systems=(system,))
        considered = [each for each in considered if each.name == system or place.installed(each.name)]
    missing = {
        each.name: {**_missing(request, "gpus", each.gpu.name), **_missing(request, "systems", each.name)}
        for each in considered
    }
    sites = (replace(place, pods=pods),)
    chosen = choose_candidates(considered, sites, policy, missing)
    rejected = chosen.rejected if system is not None else (*request.rejected, *chosen.rejected)
    return restated(
        replace(
            request,
            sites=sites,
            policy=policy,
            candidates=chosen.systems,
            rejected=tuple(sorted(rejected, key=lambda each: each.system)),
            assumptions=chosen.assumptions,
        )
    )


def serving(request: Request, demands: Sequence[int]) -> Request:
    """The request for so many sequences of each class, in their order, no headroom on top."""
    classes = tuple(
        replace(service, concurrency=number, demand=number)
        for service, number in zip(request.classes, demands, strict=True)
    )
    return restated(replace(request, classes=classes, policy=replace(request.policy, headroom=Fraction(0))))


def restated(request: Request) -> Request:
    """The same with the canonical form, the catalog entries in use and the hashes that go with it."""
    models = request.document.get("models")
    form = document_of(request.name, request.classes, request.sites, request.policy, models)
    systems = {system.name for system in request.candidates}
    in_use = {"systems": systems, "gpus": {system.gpu.name for system in request.candidates}}
    entries = {
        section: {name: entry for name, entry in named.items() if name in in_use.get(section, named)}
        for section, named in request.entries.items()
    }
    return replace(
        request,
        document=form,
        entries=entries,
        catalog_sha256=sha256_of(entries),
        input_sha256=sha256_of(form),
    )


def _missing(request: Request, section: str, name: str) -> Mapping[str, str]:
    """The catalog's reasons why figures of an entry are unknown."""
    return request.entries.get(section, {}).get(name, {}).get("missing") or {}


def _site(request: Request, name: str | None) -> Site:
    sites = {site.name: site for site in request.sites}
    accepted = ", ".join(sites)
    if name is None:
        if len(sites) > 1:
            raise BadInput(Problem("missing: the workload has several sites", "site", accepted=accepted))
        return request.sites[0]
    if name not in sites:
        raise BadInput(
            Problem("is no site of the workload", "site", None, None, shown(name), accepted, nearest(name, sites))
        )
    return sites[name]


def _check_system(request: Request, site: Site, name: str) -> None:
    known = {system.name: system for system in request.candidates}
    if name not in known:
        why = next((each.why for each in request.rejected if each.system == name and each.model is None), None)
        what = f"is no candidate: {why}" if why else "is not among the systems that the workload may buy"
        raise BadInput(Problem(what, "system", None, None, shown(name), ", ".join(known), nearest(name, known)))
    why = refusal(known[name], site, request.policy)
    if why is not None:
        raise BadInput(Problem(f"may not be bought for {site.name!r}: {why}", "system", seen=shown(name)))
