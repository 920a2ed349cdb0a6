"""Every figure that the plan rests on and somebody may want to change, one by one: what the sheet `Assumptions` lists.

Formulas call them by their keys: ("system", name, "nameplate_kw"), ("policy", "reserve").
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sizing.facility.pod import PodType
from sizing.facility.prices import HOURS_PER_YEAR, Price
from sizing.facility.site import Site
from sizing.facility.system import System
from sizing.plan.cost import FROM_WORKLOAD, source_of_price
from sizing.report.cells import Accepts, Reference, Value
from sizing.report.memory_lines import reserve_rule
from sizing.report.reported import Reported, kept
from sizing.report.sources import sources_of
from sizing.report.text import NOT_GIVEN, UNKNOWN
from sizing.request.request import Request, ServiceClass
from sizing.units.amounts import GB
from sizing.units.figures import Figure

TABLE = "assumptions"
FROM_REQUEST = "the workload"
STATED = "stated in the request"
NO_PRICE = "no price is at hand"
ENGINE_RULES = "the engine profile"
Key = tuple[Any, ...]
FigureKey = tuple[str, str, str]
LONGEST_NAME = 200  # of 255 characters that a defined name may have, so that a number fits behind it
LONGEST_CLASS = 100  # characters of the name of a class in a defined name
_NO_PART_OF_A_NAME = re.compile("[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Assumption:
    """One figure. `figure` is its (section, entry, key) in the catalog, `name` what formulas call it."""

    key: Key
    of: str
    what: str
    value: Value
    unit: str
    accepts: Accepts
    name: str
    low: Value = None
    high: Value = None
    confidence: str = ""
    source: str = ""
    note: str = ""
    figure: FigureKey | None = None


def assumed(*key: Any) -> Reference:
    """The cell of an assumption."""
    return Reference(TABLE, "value", key)


def assumptions(reported: Reported) -> tuple[Assumption, ...]:
    """All of a plan: what was asked, then what the catalogs say. Names are such as a workbook may define."""
    return _named(_all(reported))


def assumptions_of_request(request: Request) -> tuple[Assumption, ...]:
    """What was asked, where there is no plan."""
    services = sorted(request.classes, key=lambda service: service.name)
    numbered = {service.name: (number, service) for number, service in enumerate(services, start=1)}
    sites = sorted(request.sites, key=lambda site: site.name)
    return _named(
        (
            *_policy(request),
            *_classes(numbered),
            *(line for site in sites for line in _site(request, site)),
            *(line for pod in _pod_types(request) for line in _pod(request, pod)),
        )
    )


def _named(lines: Iterable[Assumption]) -> tuple[Assumption, ...]:
    taken: dict[str, int] = {}
    return tuple(replace(line, name=_free(line.name, taken)) for line in lines)


def _free(wanted: str, taken: dict[str, int]) -> str:
    """Of what defined names may hold; a number sets equal ones apart."""
    name = _NO_PART_OF_A_NAME.sub("_", wanted.lower()).strip("_")[:LONGEST_NAME]
    taken[name] = taken.get(name, 0) + 1
    return name if taken[name] == 1 else _free(f"{name}_{taken[name]}", taken)


def _all(reported: Reported) -> tuple[Assumption, ...]:
    return (
        *_policy(reported.plan.request),
        *_classes(reported.classes),
        *(line for site in reported.sites for line in _site(reported.plan.request, site)),
        *(line for pod in _pod_types(reported.plan.request) for line in _pod(reported.plan.request, pod)),
        *(line for name in sorted(reported.kinds) for line in _system(reported.plan.request, reported.kinds[name])),
        *(line for number, planned in reported.deployments for line in _deployment(reported, number)),
        *_parts(reported),
    )


def _policy(request: Request) -> Iterator[Assumption]:
    policy, share = request.policy, Accepts.SHARE
    if policy.profile is None:
        note = f"{reserve_rule(policy)}, rounded up to a whole byte for each GPU"
        yield _asked(("policy", "reserve"), "Policy", "Reserve", policy.reserve, "share", share, "reserve", note)
    note = "more sequences than asked for, rounded up to whole ones"
    yield _asked(
        ("policy", "headroom"), "Policy", "Headroom", policy.headroom, "share", Accepts.EXTRA, "headroom", note
    )
    yield _asked(
        ("policy", "spare_systems"),
        "Policy",
        "Spare systems of each kind",
        policy.spare_systems,
        "systems",
        Accepts.COUNT,
        "spare_systems",
        "stand in the Pods and hold no replica",
    )
    energy = policy.prices.energy
    if energy is not None:
        yield from _ends(
            ("policy", "tariff"), "Policy", "Tariff", energy.tariff_usd_per_kwh, "USD/kWh", "tariff", FROM_WORKLOAD
        )
        horizon = energy.horizon_years
        yield _asked(
            ("policy", "horizon"),
            "Policy",
            "Horizon",
            horizon,
            "years",
            Accepts.AMOUNT,
            "horizon_years",
            f"a year counts {HOURS_PER_YEAR:,} hours",
        )


def _asked(
    key: Key, of: str, what: str, value: Value, unit: str, accepts: Accepts, name: str, note: str = ""
) -> Assumption:
    return Assumption(key, of, what, value, unit, accepts, name, confidence=STATED, source=FROM_REQUEST, note=note)


def _classes(numbered: Mapping[str, tuple[int, ServiceClass]]) -> Iterator[Assumption]:
    for name, (number, service) in numbered.items():
        called = f"class_{name[:LONGEST_CLASS]}"
        yield _asked(
            ("class", name, "context"),
            f"Class {number}: {name}",
            "Context",
            service.context,
            "tokens",
            Accepts.COUNT,
            f"{called}_context",
            "prompt and output of one live sequence",
        )
        yield _asked(
            ("class", name, "concurrency"),
            f"Class {number}: {name}",
            "Concurrency",
            service.concurrency,
            "sequences",
            Accepts.COUNT,
            f"{called}_concurrency",
            "live at the design peak, before headroom",
        )


def _site(request: Request, site: Site) -> Iterator[Assumption]:
    of, number = f"Site {site.name}", sorted(each.name for each in request.sites).index(site.name) + 1
    limits: tuple[tuple[str, str, Fraction | int | None, str], ...] = (
        ("power", "Power", site.power_kw, "kW"),
        ("liquid_heat", "Heat rejection by liquid", site.liquid_kw, "kW"),
        ("air_heat", "Heat rejection by air", site.air_kw, "kW"),
        ("pods", "Positions for Pods", site.pods, "Pods"),
    )
    for key, what, limit, unit in limits:
        value: Value = NOT_GIVEN if limit is None else limit
        accepts = Accepts.POSITIONS if key == "pods" else Accepts.LIMIT
        note = "left out: does not limit (decision 7)" if limit is None else ""
        yield _asked(("site", site.name, key), of, what, value, unit, accepts, f"site_{number}_{key}", note)
    if site.installed_pods:
        yield _asked(
            ("site", site.name, "installed"),
            of,
            "Pods installed already",
            site.installed_pods,
            "Pods",
            Accepts.COUNT,
            f"site_{number}_installed_pods",
        )
    for name, count in sorted(site.installed_systems.items()):
        yield _asked(
            ("site", site.name, "installed", name),
            of,
            f"{name} installed already",
            count,
            "systems",
            Accepts.COUNT,
            f"site_{number}_installed_{name}",
        )
    for key, what, stated, figure in (
        ("pod_liquid_heat", "Liquid cooling of a Pod", site.pod_liquid_kw, site.pod.liquid_kw),
        ("pod_air_heat", "Air cooling of a Pod", site.pod_air_kw, site.pod.air_kw),
    ):
        name, at = f"site_{number}_{key}", ("site", site.name, key)
        if stated is not None:
            yield _asked(at, of, what, stated, "kW", Accepts.AMOUNT, name)
        else:
            found = ("pods", site.pod.name, "liquid_kw" if "liquid" in key else "air_kw")
            yield _figure(request, at, of, what, figure, "kW", name, found)


def _pod_types(request: Request) -> Sequence[PodType]:
    sites = sorted(request.sites, key=lambda site: site.name)
    return tuple({site.pod.name: site.pod for site in sites}.values())


def _pod(request: Request, pod: PodType) -> Iterator[Assumption]:
    of, name = f"Pod {pod.name}", f"pod_{pod.name}"
    for key, what, figure, unit, accepts in (
        ("gpu_slots", "GPU slots", pod.gpu_slots, "GPUs", Accepts.COUNT),
        ("power_kw", "Power at its input", pod.power_kw, "kW", Accepts.FIGURE),
    ):
        found = ("pods", pod.name, key)
        yield _figure(request, ("pod", pod.name, key), of, what, figure, unit, f"{name}_{key}", found, accepts)
    if pod.pue is not None:
        found = ("pods", pod.name, "pue")
        yield _figure(request, ("pod", pod.name, "pue"), of, "PUE", pod.pue, "ratio", f"{name}_pue", found)
    energy = request.policy.prices.energy
    if energy is not None and energy.pue is not None:
        yield _asked(
            ("pod", pod.name, "energy_pue"),
            of,
            "PUE of its energy",
            energy.pue,
            "ratio",
            Accepts.AMOUNT,
            f"{name}_energy_pue",
            "as the workload states it; enters the cost only",
        )
    price = request.policy.prices.of_pod(pod)
    source = source_of_price(request, "pods", pod.name)
    yield from _ends(("pod", pod.name, "price"), of, "Price", price, "USD", f"{name}_price", source)


def _system(request: Request, system: System) -> Iterator[Assumption]:
    of, name, key = f"System {system.name}", system.name, ("system", system.name)
    sheet = ("systems", system.name, "")
    for what, count, counts in (
        ("GPUs of a scale-up domain", system.domain_gpus, "domain_gpus"),
        ("Scale-up domains", system.domains_per_system, "domains"),
    ):
        unit = "GPUs" if counts == "domain_gpus" else "domains"
        source = _titles(request, sheet, None) or "its entry"
        yield Assumption(
            (*key, counts), of, what, count, unit, Accepts.COUNT, f"{counts}_{name}", source=source, figure=sheet
        )
    label = request.policy.hbm == "label"
    hbm = system.gpu.hbm_bytes(request.policy.hbm)
    figure = system.gpu.hbm_label_gb if label else system.gpu.hbm_driver_bytes
    yield Assumption(
        (*key, "hbm"),
        of,
        f"HBM of one GPU by {request.policy.hbm}",
        None if hbm is None else Fraction(hbm, GB),
        "GB",
        Accepts.AMOUNT,
        f"hbm_gb_{name}",
        confidence="" if figure is None else figure.confidence,
        source=_titles(request, ("gpus", system.gpu.name, "hbm_label_gb" if label else "hbm_driver_bytes"), figure),
        note="GB of 10^9 bytes",
        figure=("gpus", system.gpu.name, "hbm_label_gb" if label else "hbm_driver_bytes"),
    )
    for what, power, field in (
        ("Nameplate", system.nameplate_kw, "nameplate_kw"),
        ("Of it to liquid", system.liquid_kw, "liquid_kw"),
    ):
        found = ("systems", system.name, field)
        yield _figure(request, (*key, field), of, what, power, "kW", f"{field}_{name}", found)
    price = request.policy.prices.of_system(system)
    source = source_of_price(request, "systems", system.name)
    yield from _ends((*key, "price"), of, "Price", price, "USD", f"price_{name}", source)


def _deployment(reported: Reported, number: int) -> Iterator[Assumption]:
    planned = reported.plan.deployments[number - 1]
    deployment, of, name = planned.deployment, f"Deployment {number}", f"deployment_{number}"
    budget, model = deployment.budget, ("models", deployment.model.name, "")
    yield Assumption(
        ("deployment", number, "weights"),
        of,
        "Weights on the GPUs of a pool",
        budget.weight_bytes,
        "bytes",
        Accepts.COUNT,
        f"{name}_weights",
        source="shape of the model",
        note=f"{deployment.id}: every copy that the layout keeps",
        figure=model,
    )
    if reported.plan.request.policy.profile is not None:
        yield Assumption(
            ("deployment", number, "reserve"),
            of,
            "Not for weights and cache in a pool",
            budget.reserve_bytes,
            "bytes",
            Accepts.COUNT,
            f"{name}_reserve",
            source=ENGINE_RULES,
            note=f"{deployment.id}: {reserve_rule(reported.plan.request.policy)}",
        )
    for place, rows in enumerate(kept(deployment), start=1):
        yield Assumption(
            ("deployment", number, "kept", place),
            of,
            f"Cache of one position, kind {place}",
            rows.position_bytes,
            "bytes",
            Accepts.AMOUNT,
            f"{name}_cache_{place}",
            source="shape of the model",
            note=f"{deployment.id}: over a whole pool, all layers that keep the same positions",
            figure=model,
        )


def _parts(reported: Reported) -> Iterator[Assumption]:
    """What parts of the balance of plant draw, cost, and what is ordered of them as spares."""
    for place, rules, line in _rule_lines(reported):
        if line.contained:
            continue
        bill = reported.bill[place]
        of, key, name = f"Bill line {bill.number}: {bill.part}", ("part", place), f"part_{bill.number}"
        at = f"lines.{line.name}"
        if line.no_power:
            yield Assumption(
                (*key, "kw"),
                of,
                "Power of one",
                Fraction(0),
                "kW",
                Accepts.AMOUNT,
                f"{name}_kw",
                note=line.no_power,
                source="no power of its own",
                figure=("bill_rules", rules, at),
            )
        else:
            found = ("bill_rules", rules, f"{at}.unit_kw")
            yield _figure(
                reported.plan.request, (*key, "kw"), of, "Power of one", line.unit_kw, "kW", f"{name}_kw", found
            )
        yield Assumption(
            (*key, "price"),
            of,
            "Price of one",
            UNKNOWN if bill.unit_usd is None else bill.unit_usd,
            "USD",
            Accepts.FIGURE,
            f"{name}_price",
            source=NO_PRICE if bill.unit_usd is None else "",
            note="in the bill; not in the cost that the objective counts",
        )
        spares = line.spares
        yield Assumption(
            (*key, "spares"),
            of,
            "Spares",
            spares.value if spares else Fraction(0),
            "share",
            Accepts.EXTRA,
            f"{name}_spares",
            confidence=spares.confidence if spares else "",
            source=_titles(reported.plan.request, ("bill_rules", rules, f"{at}.spares"), spares) or "none is stated",
            note="of the quantity, rounded up; draws nothing",
            figure=("bill_rules", rules, f"{at}.spares") if spares else None,
        )


def _rule_lines(reported: Reported) -> Iterator[tuple[int, str, Any]]:
    """(place in the bill, rule set, line) of every part that the bill has, each place once."""
    seen = set()
    for use in reported.runs:
        rules = use.pod.bill_rules
        if rules is None:
            continue
        population = [(reported.kinds[name], count) for name, count in use.filled.fill.systems]
        for line in rules.lines:
            if line.rule.quantity(population):
                place = reported.line_of(line)
                if place not in seen:
                    seen.add(place)
                    yield place, rules.name, line


def _figure(
    request: Request,
    key: Key,
    of: str,
    what: str,
    figure: Figure[Any] | None,
    unit: str,
    name: str,
    found: FigureKey,
    accepts: Accepts = Accepts.FIGURE,
) -> Assumption:
    """A figure of a catalog, or that it is unknown."""
    if figure is None:
        return Assumption(key, of, what, UNKNOWN, unit, accepts, name, note=_missing(request, found))
    low, high = figure.range or (None, None)
    note = "; ".join(part for part in (figure.basis, figure.note) if part)
    source = _titles(request, found, figure)
    return Assumption(
        key, of, what, figure.value, unit, accepts, name, low, high, figure.confidence, source, note, found
    )


def _ends(key: Key, of: str, what: str, price: Price | None, unit: str, name: str, source: str) -> Iterator[Assumption]:
    """A price with both ends: the high one counts in the bill and in the stages."""
    low, high = (UNKNOWN, UNKNOWN) if price is None else (price.low, price.high)
    for end, value, note in (
        ("high", high, "counts in the bill, and in the stages of the objective where the request has it"),
        ("low", low, "equal where the price is one number"),
    ):
        yield Assumption(
            (*key, end),
            of,
            f"{what}, {end} end",
            value,
            unit,
            Accepts.FIGURE,
            f"{name}_{end}",
            confidence=STATED if source == FROM_WORKLOAD else "",
            source=NO_PRICE if price is None else source,
            note=note,
        )


def _node(request: Request, found: FigureKey) -> Mapping[str, Any]:
    section, entry, path = found
    node: Any = request.entries.get(section, {}).get(entry, {})
    for part in path.split(".") if path else ():
        node = node.get(part, {}) if isinstance(node, Mapping) else {}
    return node if isinstance(node, Mapping) else {}


def _titles(request: Request, found: FigureKey, figure: Figure[Any] | None) -> str:
    """Titles of its sources; their keys where the request carries no entries."""
    titles = [source.title for source in sources_of(_node(request, found))]
    return "; ".join(titles or (figure.sources if figure is not None else ()))


def _missing(request: Request, found: FigureKey) -> str:
    section, entry, path = found
    above, _, last = path.rpartition(".")
    return str(_node(request, (section, entry, above)).get("missing", {}).get(last, ""))
