"""What a reader must know before trusting a plan: fewer bits, weak figures, lines without power, rejected systems."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sizing.facility.system import System
from sizing.plan.bill import BillLine, runs_with_installed
from sizing.plan.plan import Plan, Status
from sizing.pool.precision import FULL_BITS
from sizing.report.measured import Replica, assumed_sentence, measured_sentences, unchecked
from sizing.report.memory_lines import reserve_rule
from sizing.report.sources import Source, sources_of
from sizing.report.text import ENDED_EARLY, plural, share
from sizing.request.objective import parse_aim
from sizing.request.request import Rejection
from sizing.units.amounts import kw, thousands

NAMES_SHOWN = 4
KINDS = "system_kinds"
SAVED_BY_MORE_KINDS = frozenset({"pods", "power", "gpus", "cost"})
NOT_IN_THE_BILL = (
    "not in the bill, and to be asked for: software licences and subscriptions (for GPUs, for the management of the "
    "network), support and warranty, freight, installation, taxes and duties. Lead times, the lengths of cables and "
    "until when a price holds are not known"
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One published finding on a KV precision in use; `verdict` is "for" or "against"."""

    precision: str
    verdict: str
    finding: str
    weight: str
    source: Source


def precision_findings(plan: Plan) -> list[Finding]:
    """What is published for and against every KV precision of fewer than 16 bits in the plan (decision 12)."""
    fewer = {
        planned.deployment.kv_precision.name
        for planned in plan.deployments
        if planned.deployment.kv_precision.bits.value < FULL_BITS
    }
    entries = plan.request.entries.get("precisions", {})
    return [finding for name in sorted(fewer) for finding in _findings(name, entries.get(name, {}))]


def _findings(precision: str, entry: Mapping[str, Any]) -> Iterator[Finding]:
    for node in entry.get("evidence", ()):
        source, *_ = sources_of(node) or (Source(""),)
        yield Finding(precision, str(node["verdict"]), str(node["finding"]), str(node.get("weight") or ""), source)


def precision_sentences(plan: Plan) -> list[str]:
    """Which classes run at fewer bits than they like best, and one finding for and against each precision."""
    sentences = [*_below_best(plan), *_fewer_weight_bits(plan)]
    shown: set[tuple[str, str]] = set()
    for finding in precision_findings(plan):
        if (finding.precision, finding.verdict) not in shown:
            shown.add((finding.precision, finding.verdict))
            where = ", ".join(part for part in (finding.source.title, finding.source.date) if part)
            sentences.append(f"{finding.precision} KV, {finding.verdict}: {finding.finding.rstrip('.')} [{where}]")
    return sentences


def _below_best(plan: Plan) -> Iterator[str]:
    services = {service.name: service for service in plan.request.classes}
    for served in plan.classes:
        service = services[served.name]
        for precisions in served.precisions:
            if service.kv_steps_below_best(precisions):
                best = service.kv_precisions[0].name
                yield f"{served.name} runs with {precisions.kv} KV; the first that it accepts is {best}"
            if service.weight_steps_below_best(precisions):
                best = service.weights[0]
                yield f"{served.name} runs with {precisions.weights} weights; the first that it accepts is {best}"


def _fewer_weight_bits(plan: Plan) -> Iterator[str]:
    """Weights other than the checkpoint's own: the catalog carries no quality figures for them, and that is said."""
    pairs = {
        (planned.deployment.model.name, planned.deployment.weights, planned.deployment.model.native_weights)
        for planned in plan.deployments
    }
    for model, weights, native in sorted(pairs):
        if weights not in (native, "bf16"):
            yield f"{model} runs with {weights} weights, its checkpoint is {native}: no quality figures are at hand"


def weak_nameplates(plan: Plan) -> list[str]:
    """Systems in the plan whose nameplate is derived or of low confidence (decision 8)."""
    kinds = {system.name: system for system in plan.request.candidates}
    return [sentence for name, _ in plan.systems if (sentence := _weak(kinds[name]))]


def _weak(system: System) -> str | None:
    figure = system.nameplate_kw
    if figure is None or (figure.confidence != "low" and not figure.basis.startswith("derived")):
        return None
    spread = f", range {kw(figure.range[0])} to {kw(figure.range[1])}" if figure.range else ""
    basis = f" ({figure.basis})" if figure.basis else ""
    return f"{system.name}: {kw(figure.value)} nameplate is of {figure.confidence} confidence{spread}{basis}"


def balance_sentences(plan: Plan, lines: tuple[BillLine, ...]) -> list[str]:
    """Whether the balance of plant is counted, and which lines of the bill have no known power."""
    totals = plan.totals
    if totals.balance_kw:
        counted = f"balance of plant is counted at full Pods: {kw(totals.balance_kw)} beside the systems"
    else:
        counted = "balance of plant is not counted in kW: the Pod's entry gives it none"
    unknown = sorted({line.part or line.description for line in lines if line.unit_kw is None})
    notes = sorted({site.pod.bill_rules.note for site in plan.request.sites if site.pod.bill_rules})
    return [
        counted,
        *_plant_that_stands(plan),
        *([f"power unknown and in no sum: {'; '.join(unknown)}"] if unknown else []),
        *(f"bill of units: {note}" for note in notes if note),
        NOT_IN_THE_BILL,
    ]


def _plant_that_stands(plan: Plan) -> Iterator[str]:
    """Of which Pods the balance of plant is not ordered, as it is taken to stand with them."""
    sites = {site.name: site for site in plan.request.sites}
    taken = [
        f"{plural(count, 'Pod')} at {run.site} for {' + '.join(f'{many} x {name}' for name, many in run.fill.systems)}"
        for run, count in runs_with_installed(plan)
        if count and sites[run.site].pod.bill_rules is not None
    ]
    if taken:
        yield (
            f"the balance of plant of installed Pods is taken to stand, whole, and is not ordered: {'; '.join(taken)}. "
            "Power and heat count it; check it against what is there"
        )


def fewest_kinds_sentence(plan: Plan) -> str | None:
    """That a smaller purchase of more kinds of system may be there, where their number goes before what it would save.

    None where alternatives, which show it, were asked for.
    """
    aims = [parse_aim(stage.stage).names for stage in plan.stages]
    kinds = next((place for place, names in enumerate(aims) if names == (KINDS,)), None)
    if kinds is None or plan.alternatives is not None or plan.stages[kinds].value >= len(plan.request.candidates):
        return None
    later = [name for names in aims[kinds + 1 :] for name in names if name in SAVED_BY_MORE_KINDS]
    if not later:
        return None
    return (
        f"the fewest kinds of system go before {' and '.join(dict.fromkeys(later))} (policy.objective): more kinds may "
        "need less; `sizing solve --alternatives 5` shows what they would buy"
    )


def clock_sentences(plan: Plan) -> list[str]:
    """Why the search ended before all was proven, and what may prove more (decision 9)."""
    if plan.status is Status.OPTIMAL:
        if plan.reproducible:
            return []
        return [
            f"the plan is proven, but looking for what it hangs on, and for what was asked beside it, {ENDED_EARLY}: "
            "another run may tell more"
        ]
    if not plan.reproducible:
        return [f"the search {ENDED_EARLY}: another run may come to another answer, and more time may prove more"]
    return [
        "the search ended by itself, after its share of work for each stage or within the --gap that was asked for: a "
        "smaller gap may prove more, a longer --time-limit proves no more; fewer systems in policy.systems make a "
        "smaller search"
    ]


def policy_sentence(plan: Plan) -> str:
    """What every figure rests on: reserve (decision 2), headroom, spare systems, HBM and power basis."""
    policy = plan.request.policy
    spare = f"{plural(policy.spare_systems, 'spare system')} of each kind"
    return (
        f"reserve {reserve_rule(policy)}, headroom {share(policy.headroom)}, {spare}, HBM by {policy.hbm}, "
        f"Pods count against power as {policy.power_basis}"
    )


def assumption_sentences(plan: Plan) -> list[str]:
    """Assumptions of the request and of the plan, each once, and what is assumed of an engine."""
    return list(dict.fromkeys((*plan.request.assumptions, *plan.assumptions, *engine_sentences(plan))))


def engine_sentences(plan: Plan) -> list[str]:
    """What a profile assumes of a start and does not say of its engine, and what of engine logs was used or was not."""
    policy, known = plan.request.policy, plan.request.measurements
    replicas = [
        Replica(policy.rules, each.system, policy.hbm, each.model, each.weights, each.kv_precision, each.layout)
        for each in (planned.deployment for planned in plan.deployments)
    ]
    assumed = (assumed_sentence(replica, known) for replica in replicas)
    return [
        *dict.fromkeys(sentence for sentence in assumed if sentence is not None),
        *dict.fromkeys(sentence for replica in replicas for sentence in unchecked(replica)),
        *measured_sentences(replicas, known),
    ]


def rejections_in_brief(rejected: tuple[Rejection, ...]) -> list[str]:
    """Rejected systems by reason, the first named; those for one model only are counted together."""
    by_reason: dict[str, list[str]] = {}
    for_one_model = 0
    for rejection in rejected:
        if rejection.model is None:
            by_reason.setdefault(rejection.why, []).append(rejection.system)
        else:
            for_one_model += 1
    sentences = [f"{plural(len(names), 'system')} ({_some(names)}): {why}" for why, names in by_reason.items()]
    if for_one_model:
        sentences.append(f"{plural(for_one_model, 'combination')} of one model with a system or layout")
    return sentences


def _some(names: list[str]) -> str:
    if len(names) <= NAMES_SHOWN:
        return ", ".join(names)
    return f"{', '.join(names[: NAMES_SHOWN - 1])} and {thousands(len(names) - NAMES_SHOWN + 1)} more"
