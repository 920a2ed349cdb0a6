"""Plans for the report's tests: `two_sites` with sources, weak figures, open stages and names of all kinds."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from sizing.facility.pod import Balance
from sizing.plan.plan import Limit, NoPlan, Partial, Plan, PlanInBrief, Relaxation, StageResult, Status
from sizing.request.request import Rejection, Request
from sizing.units.figures import Figure
from tests.plan_builders import NODE, RACK, filled, two_sites

SHEET = {"title": "A data sheet", "address": "https://example.org/sheet", "date": "2026-01"}
RULE = {"title": "A provisioning rule", "address": "https://example.org/rule", "date": None}
STUDY = {"title": "A study", "address": "https://example.org/study", "date": "2025"}

ENTRIES: Mapping[str, Mapping[str, Any]] = {
    "systems": {
        "node-8": {
            "title": "Node",
            "nameplate_kw": {
                "value": 10.2,
                "unit": "kW",
                "sources": [SHEET],
                "date": "2026-02-03",
                "confidence": "high",
                "basis": "vendor maximum",
            },
            "missing": {"rack_units": "No data sheet states it."},
        },
        "rack-72": {
            "title": "Rack",
            "nameplate_kw": {
                "value": 142,
                "unit": "kW",
                "sources": [SHEET, RULE],
                "date": "2026-02-03",
                "confidence": "low",
                "range": [132, 142],
                "basis": "derived by a rule",
                "note": "no vendor maximum was found",
            },
        },
    },
    "precisions": {
        "fp8": {
            "title": "8 bits",
            "generations": {"old": [SHEET]},
            "evidence": [
                {"verdict": "for", "finding": "No loss in six tasks.", "source": STUDY, "weight": "strong"},
                {"verdict": "for", "finding": "Used by many.", "source": STUDY, "weight": "practice"},
                {"verdict": "against", "finding": "Four points lost in one.", "source": STUDY, "weight": "weak"},
            ],
        },
        "bf16": {"evidence": [{"verdict": "for", "finding": "The reference.", "source": STUDY, "weight": "strong"}]},
    },
}
REJECTED = (
    Rejection("old-8", None, "end of life"),
    Rejection("older-8", None, "end of life"),
    Rejection("node-8", "latent-671b", "the weights do not fit"),
)
ASSUMED = "The Pod takes air-cooled systems because policy.systems names them."


def sourced_plan(notes: str = "notes", title: str = "Example customer") -> Plan:
    """`two_sites` as a plan from catalogs, its class `notes` and the request under names of choice."""
    plan = two_sites()
    weak = Figure(
        Fraction(142), "kW", ("rule",), "2026-02-03", "low", (Fraction(132), Fraction(142)), "derived by a rule"
    )
    request = replace(
        plan.request,
        name=title,
        classes=tuple(
            replace(service, name=notes) if service.name == "notes" else service for service in plan.request.classes
        ),
        candidates=(NODE, replace(RACK, nameplate_kw=weak)),
        rejected=REJECTED,
        assumptions=(ASSUMED,),
        document={"name": title, "classes": [{"name": notes, "context_tokens": 32768}], "policy": {"dcp": False}},
        entries=ENTRIES,
    )
    return replace(
        plan,
        request=request,
        deployments=tuple(
            replace(
                planned,
                patterns=tuple(
                    replace(pattern, sequences=tuple((_named(name, notes), held) for name, held in pattern.sequences))
                    for pattern in planned.patterns
                ),
            )
            for planned in plan.deployments
        ),
        classes=tuple(replace(served, name=_named(served.name, notes)) for served in plan.classes),
        limits=(*plan.limits[:-1], Limit("supply:rack-72", None, Fraction(2), Fraction(2), "systems", True)),
        rejected=REJECTED,
        assumptions=(ASSUMED,),
    )


def _named(name: str, notes: str) -> str:
    return notes if name == "notes" else name


def open_plan() -> Plan:
    """Feasible, not proven: one stage with a gap, one without a bound; ended early."""
    plan = sourced_plan()
    stages = (
        StageResult("pods", "Pods", 2, 2),
        StageResult("power", "0.1 kW", 3146, 2831),
        StageResult("gpus", "GPUs", 168, 150, conditional=True),
        StageResult("precision", "steps", 110, None),
    )
    return replace(plan, status=Status.FEASIBLE, stages=stages, reproducible=False)


def standing_alone(systems: dict[str, int], full: dict[str, int], balance: Balance | None = None) -> Plan:
    """A plan whose one kind of Pod, two of it, holds `systems` of the fill `full`."""
    plan = sourced_plan()
    return replace(plan, pods=(filled("north", systems, full, 2, balance),))


def no_plan(status: Status = Status.INFEASIBLE) -> NoPlan:
    request: Request = sourced_plan().request
    return NoPlan(
        request,
        status,
        ("One sequence of agents needs 1,968 GiB; node-8 leaves 815 GiB.",),
        (
            Relaxation("power", "north", Fraction(4500), Fraction(5000), "kW"),
            Relaxation("supply:rack-72", None, Fraction(2), Fraction(5), "systems", option=2, proven=False),
            Relaxation("pods", "south", Fraction(0), Fraction(1), "Pods", option=2, proven=False),
            Relaxation("kv_precision:long", None, "bf16", "fp8", "KV precision", option=3),
            Relaxation("concurrency", None, Fraction(100), Fraction(86), "%", option=4),
        ),
        REJECTED,
        Partial(
            share=Fraction(1259, 1260),
            at_most=Fraction(1),
            served=(("chat", 1_260, 1_259), ("long", 20, 20)),
            bought=PlanInBrief(1, (("node-8", 2),), 16, Fraction("20.4"), (Fraction("20.4"), Fraction("20.4"))),
        ),
    )
