"""A plan as JSON: the contract `sizing.plan/1`.

Exact amounts become integers where they are whole, else the nearest float; unknown is null. Ranges of the placement are
[first, last], counted from 1 (sizing/plan/placement.py). A class's `precision` is one pair of weight and KV precision;
where the policy lets a class be split it is the list of its pairs. What is read back stands in `told.py`.

Most of a document follows from the rest of it and the catalog (`FOLLOWING`). `sha256` has the hashes of the other keys,
which carry what only a search knows, so that a change there is noticed too; it is no signature.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from sizing.facility.deployment import Precisions
from sizing.plan.bill import BillLine, bill_of_units
from sizing.plan.brief import brief_of_plan
from sizing.plan.inventory import to_buy
from sizing.plan.plan import (
    Alternative,
    Alternatives,
    FilledPods,
    Limit,
    NoPlan,
    Partial,
    PlacedReplicas,
    Plan,
    PlanInBrief,
    PlannedDeployment,
    PriceRanges,
    Sensitivity,
    SensitivityCase,
    ServedClass,
    StageResult,
    StatedLimit,
    TokenCount,
)
from sizing.request.canonical import sha256_of
from sizing.request.request import Rejection, Request
from sizing.units.amounts import number
from sizing.units.version import version

SCHEMA = "sizing.plan/1"

FOLLOWING = frozenset(
    {
        *(
            "schema",
            "status",
            "pods",
            "systems",
            "to_buy",
            "totals",
            "deployments",
            "classes",
            "tokens",
            "memory",
            "limits",
        ),
        *("placement", "bill", "request", "catalog", "input_sha256", "sha256", "content_sha256"),
    }
)
"""Keys of which every part is a decision that can be checked, or follows from others."""


def plan_document(plan: Plan) -> dict[str, Any]:
    """The JSON form of a plan, keys in the order of the contract."""
    return _sealed(_plan(plan))


def _plan(plan: Plan) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "status": plan.status.value,
        "objective": [_stage(stage) for stage in plan.stages],
        "pods": [_pods(filled) for filled in plan.pods],
        "systems": dict(plan.systems),
        "to_buy": _to_buy(plan),
        "totals": _plain(asdict(plan.totals)),
        "deployments": [deployment_document(planned) for planned in plan.deployments],
        "classes": [_class(served, plan.request.policy.split_precision) for served in plan.classes],
        "tokens": _tokens(plan.tokens)
        | {"by_model": {name: _tokens(count) for name, count in sorted(plan.tokens_by_model.items())}},
        "memory": asdict(plan.memory),
        "limits": [_limit(limit) for limit in plan.limits],
        "placement": [placed_document(box) for box in plan.placement],
        "bill": [_bill_line(line) for line in bill_of_units(plan)],
        "assumptions": list(plan.assumptions),
        "reproducible": plan.reproducible,
        "sensitivity": None if plan.sensitivity is None else _sensitivity(plan.sensitivity),
        **_alternatives(plan.alternatives),
        **_provenance(plan.request, plan.rejected),
    }


def no_plan_document(no_plan: NoPlan) -> dict[str, Any]:
    """The same shape where there is no plan: nothing is bought, and `reasons` and what follows them say why."""
    return _sealed(_no_plan(no_plan))


def _no_plan(no_plan: NoPlan) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "status": no_plan.status.value,
        "reasons": list(no_plan.reasons),
        "relaxations": [_plain(asdict(relaxation)) for relaxation in no_plan.relaxations],
        "conflicts": [[_stated(limit) for limit in conflict] for conflict in no_plan.conflicts],
        "partial": None if no_plan.partial is None else _partial(no_plan.partial),
        "objective": [],
        "pods": [],
        "systems": {},
        "to_buy": None,
        "totals": None,
        "deployments": [],
        "classes": [],
        "tokens": None,
        "memory": None,
        "limits": [],
        "placement": [],
        "bill": [],
        "assumptions": list(no_plan.request.assumptions),
        "reproducible": no_plan.reproducible,
        "sensitivity": None,
        **_alternatives(None),
        **_provenance(no_plan.request, no_plan.rejected),
    }


def to_json(document: Mapping[str, Any]) -> str:
    """The text of a document: the same for the same document, in UTF-8 as it stands, one newline at its end.

    Raises ValueError for a number that JSON does not have.
    """
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def seals(document: Mapping[str, Any]) -> dict[str, str]:
    """The hash of every key that follows from no other, whether its numbers are written `59` or `59.0`."""
    return {key: sha256_of(_plain(value)) for key, value in document.items() if key not in FOLLOWING}


def content_sha256(document: Mapping[str, Any]) -> str:
    """The hash of all that a document says but for this hash, whether its numbers are written `59` or `59.0`."""
    return sha256_of(_plain({key: value for key, value in document.items() if key != "content_sha256"}))


def is_untouched(document: Mapping[str, Any]) -> bool:
    """Whether a document says what it said when it was written: its content still has the hash that stands in it."""
    return document.get("content_sha256") == content_sha256(document)


def _sealed(document: dict[str, Any]) -> dict[str, Any]:
    sealed = document | {"sha256": seals(document)}
    return sealed | {"content_sha256": content_sha256(sealed)}


def _provenance(request: Request, rejected: Iterable[Rejection]) -> dict[str, Any]:
    return {
        "rejected": [asdict(rejection) for rejection in rejected],
        "request": _plain(request.document),
        "catalog": {"sha256": request.catalog_sha256, "entries": _plain(request.entries)},
        "input_sha256": request.input_sha256,
        "version": version(),
    }


def _stage(stage: StageResult) -> dict[str, Any]:
    return {
        "stage": stage.stage,
        "value": stage.value,
        "unit": stage.unit,
        "bound": stage.bound,
        "gap": stage.gap,
        "conditional": stage.conditional,
    }


def _to_buy(plan: Plan) -> dict[str, Any]:
    pods, systems = to_buy(plan)
    return {"pods": pods, "systems": systems}


def _pods(filled: FilledPods) -> dict[str, Any]:
    return {
        "site": filled.site,
        "pod": filled.pod,
        "fill": dict(filled.systems),
        "planned": dict(filled.fill.systems),
        "count": filled.count,
    }


def deployment_document(planned: PlannedDeployment) -> dict[str, Any]:
    """The JSON form of one deployment."""
    deployment = planned.deployment
    return {
        "id": deployment.id,
        "system": deployment.system.name,
        "gpu": deployment.system.gpu.name,
        "domain_gpus": deployment.system.domain_gpus,
        "model": deployment.model.name,
        "weights": deployment.weights,
        "kv_precision": deployment.kv_precision.name,
        "layout": asdict(deployment.layout),
        "gpus_per_replica": deployment.gpus_per_replica,
        "replicas": planned.replicas,
        "pools": planned.pools,
        "kv_budget_bytes_per_pool": deployment.budget.kv_bytes,
        "bytes_per_token": number(deployment.bytes_per_token),
        "patterns": [{"count": pattern.count, "sequences": dict(pattern.sequences)} for pattern in planned.patterns],
    }


def _class(served: ServedClass, may_be_split: bool) -> dict[str, Any]:
    return {
        "name": served.name,
        "demand": served.demand,
        "served": served.served,
        "precision": _precisions(served, may_be_split),
        "placements": [asdict(place) for place in served.placements],
    }


def _precisions(served: ServedClass, may_be_split: bool) -> Any:
    """One pair, or the list of them where a class may be split."""
    pairs = [_precision(pair) for pair in served.precisions]
    return pairs if may_be_split or len(pairs) != 1 else pairs[0]


def _precision(pair: Precisions) -> dict[str, str]:
    return {"weights": pair.weights, "kv_precision": pair.kv}


def _tokens(count: TokenCount) -> dict[str, Any]:
    return {"committed": count.committed, "spare": count.spare, "capacity": count.capacity}


def _limit(limit: Limit) -> dict[str, Any]:
    return {
        "name": limit.name,
        "site": limit.site,
        "used": number(limit.used),
        "limit": _plain(limit.limit),
        "unit": limit.unit,
        "binding": limit.binding,
    }


def _stated(limit: StatedLimit) -> dict[str, Any]:
    return {"limit": limit.name, "site": limit.site, "value": number(limit.value), "unit": limit.unit}


def _partial(partial: Partial) -> dict[str, Any]:
    return {
        "share": number(partial.share),
        "at_most": number(partial.at_most),
        "classes": [{"name": name, "demand": demand, "served": served} for name, demand, served in partial.served],
        **_brief(partial.bought),
    }


def placed_document(box: PlacedReplicas) -> dict[str, Any]:
    """The JSON form of one run of the placement."""
    return {
        "site": box.site,
        "pods": list(box.pods),
        "system": box.system,
        "systems": list(box.systems),
        "domains": list(box.domains),
        "replicas": [{"deployment": name, "count": count, "gpus": gpus} for name, count, gpus in box.replicas],
        "idle_gpus": box.idle_gpus,
    }


def _bill_line(line: BillLine) -> dict[str, Any]:
    follows = {name: getattr(line, name) for name in ("spares", "ordered", "total_kw", "total_usd")}
    return {key: _plain(value) for key, value in (asdict(line) | follows).items()}


def _sensitivity(sensitivity: Sensitivity) -> dict[str, Any]:
    hbm, power = sensitivity.hbm, sensitivity.power
    return {
        "hbm": {
            "basis": hbm.basis,
            "changes": hbm.changes,
            "proven": hbm.proven,
            "without_figure": list(hbm.without_figure),
            "plan": None if hbm.plan is None else _brief(hbm.plan),
        },
        "power": {
            "decided": power.decided,
            "nameplate_range_kw": _plain(power.nameplate_range_kw),
            "others": [_brief(other) for other in power.others],
        },
        "prices": None if sensitivity.prices is None else _price_ranges(sensitivity.prices),
        "ideal": None
        if sensitivity.ideal is None
        else {
            "proven": sensitivity.ideal.proven,
            "plan": None if sensitivity.ideal.plan is None else _brief(sensitivity.ideal.plan),
        },
        "cases": None if sensitivity.cases is None else [_case(case) for case in sensitivity.cases],
    }


def _case(case: SensitivityCase) -> dict[str, Any]:
    return {
        "what": case.what,
        "key": case.key,
        "site": case.site,
        "now": _plain(case.now),
        "asked": _plain(case.asked),
        "unit": case.unit,
        "status": case.status.value,
        "plan": None if case.plan is None else _brief(case.plan),
        "changes": case.changes,
    }


def _alternatives(alternatives: Alternatives | None) -> dict[str, Any]:
    """Both keys null where alternatives were not asked for."""
    if alternatives is None:
        return {"alternatives": None, "no_alternatives": None}
    return {
        "alternatives": [_alternative(each) for each in alternatives.plans],
        "no_alternatives": [asdict(each) for each in alternatives.none],
    }


def _alternative(alternative: Alternative) -> dict[str, Any]:
    plan, totals = alternative.plan, alternative.plan.totals
    return {
        "name": alternative.name,
        "differs": list(alternative.differs),
        "status": plan.status.value,
        "objective": [_stage(stage) for stage in plan.stages],
        "plan": {
            "pods": totals.pods,
            "systems": dict(plan.systems),
            "gpus": totals.gpus,
            "nameplate_kw": number(totals.nameplate_kw),
            "nameplate_range_kw": _plain(brief_of_plan(plan).nameplate_range_kw),
            "precisions": {
                served.name: _precisions(served, plan.request.policy.split_precision) for served in plan.classes
            },
            "spare_tokens": plan.tokens.spare,
            "cost_usd": _plain(totals.cost_usd),
        },
    }


def _price_ranges(prices: PriceRanges) -> dict[str, Any]:
    return {
        "decided": prices.decided,
        "cost_range_usd": _plain(prices.cost_range_usd),
        "others": [_brief(each.plan) | {"cost_range_usd": _plain(each.cost_range_usd)} for each in prices.others],
    }


def _brief(plan: PlanInBrief) -> dict[str, Any]:
    return {
        "pods": plan.pods,
        "systems": dict(plan.systems),
        "gpus": plan.gpus,
        "nameplate_kw": number(plan.nameplate_kw),
        "nameplate_range_kw": _plain(plan.nameplate_range_kw),
    }


def _plain(value: Any) -> Any:
    """Mappings, sequences and exact amounts as JSON has them."""
    if isinstance(value, Fraction | float):
        return number(Fraction(value))
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value
