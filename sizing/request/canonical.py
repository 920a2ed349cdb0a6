"""The canonical form of a request: JSON-able, every default written out, hashed; and the way back from it."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from hashlib import sha256
from json import dumps
from typing import TYPE_CHECKING, Any

from sizing.facility.prices import Price, Prices
from sizing.facility.site import Site
from sizing.facility.system import System
from sizing.request.request import Policy, ServiceClass
from sizing.units.amounts import number

if TYPE_CHECKING:
    from sizing.catalog.catalog import Catalog


def canonical_json(value: Any) -> bytes:
    """JSON with sorted keys, no blanks and no escapes, in UTF-8: one text for equal values."""
    return dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def sha256_of(value: Any) -> str:
    """The SHA-256 of the canonical JSON of `value`, in hexadecimal."""
    return sha256(canonical_json(value)).hexdigest()


def document_of(
    name: str,
    classes: Iterable[ServiceClass],
    sites: Iterable[Site],
    policy: Policy,
    models: Mapping[str, Mapping[str, Any]] | None = None,
) -> dict[str, Any]:
    """A request as plain data. Units stand in the keys; None is a limit or a list that was left out.

    `models` are those that the workload brings along, as entries of a catalog; the key is there only with any.

    `demand` follows from concurrency and headroom, and `weights` from the model where the workload names none.
    A fraction that is no decimal of 15 digits becomes the nearest float.
    """
    return {
        "name": name,
        "classes": [
            {
                "name": service.name,
                "model": service.model.name,
                "context_tokens": service.context,
                "concurrency": service.concurrency,
                "demand": service.demand,
                "weights": list(service.weights),
                "kv_precision": [precision.name for precision in service.kv_precisions],
                "allow_longer_context": service.context > service.model.context_limit,
            }
            for service in classes
        ],
        "sites": [
            {
                "name": site.name,
                "pod": site.pod.name,
                "power_kw": _number(site.power_kw),
                "liquid_heat_kw": _number(site.liquid_kw),
                "air_heat_kw": _number(site.air_kw),
                "pods": site.pods,
                "pod_liquid_heat_kw": _number(site.pod_liquid_kw),
                "pod_air_heat_kw": _number(site.pod_air_kw),
                "installed": {"systems": dict(site.installed_systems), "pods": site.installed_pods},
            }
            for site in sites
        ],
        "policy": {
            "reserve_share": number(policy.reserve) if policy.profile is None else None,
            "headroom_share": number(policy.headroom),
            "spare_systems": policy.spare_systems,
            "systems": None if policy.systems is None else list(policy.systems),
            "supply": dict(policy.supply),
            "objective": list(policy.objective),
            "mixed_pods": policy.mixed_pods,
            "split_precision": policy.split_precision,
            "dcp": policy.dcp,
            "engine": policy.engine,
            "hbm": policy.hbm,
            "power_basis": policy.power_basis,
            "prices": _prices(policy.prices),
        },
        **({"models": {name: dict(models[name]) for name in sorted(models)}} if models else {}),
    }


def workload_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """The workload that a canonical form says: read again, it gives the same form.

    Raises KeyError, TypeError or ValueError where `document` is no such form.
    """
    return {
        "name": document["name"],
        "classes": [
            {key.removesuffix("_tokens"): value for key, value in service.items() if key != "demand"}
            for service in document["classes"]
        ],
        "sites": [
            {
                key.removesuffix("_kw"): f"{_digits(value)} kW" if key.endswith("_kw") else value
                for key, value in site.items()
                if value is not None
            }
            for site in document["sites"]
        ],
        "policy": {
            key.removesuffix("_share"): f"{_digits(value, 100)} %" if key.endswith("_share") else value
            for key, value in document["policy"].items()
            if value is not None
        }
        | {"prices": _prices_as_written(document["policy"]["prices"])},
        "models": document.get("models", {}),
    }


def entries_of(
    catalog: "Catalog",
    classes: Iterable[ServiceClass],
    sites: Iterable[Site],
    systems: Iterable[System],
    policy: Policy,
) -> dict[str, dict[str, Any]]:
    """The catalog entries in use, in full, by section and name."""
    names: dict[str, set[str]] = {
        "systems": {system.name for system in systems},
        "gpus": {system.gpu.name for system in systems},
        "models": {service.model.name for service in classes},
        "precisions": {precision.name for service in classes for precision in service.kv_precisions},
        "pods": {site.pod.name for site in sites},
        "engines": {policy.engine},
        "bill_rules": {site.pod.bill_rules.name for site in sites if site.pod.bill_rules is not None},
    }
    return {section: {name: catalog.entry(section, name) for name in sorted(names[section])} for section in names}


def _prices(prices: Prices) -> dict[str, Any]:
    """Every price that the workload states, with its unit in the key; empty where it states none."""
    if prices == Prices():
        return {}
    energy = prices.energy
    return {
        "systems_usd": {name: _ends(price) for name, price in prices.systems.items()},
        "pods_usd": {name: _ends(price) for name, price in prices.pods.items()},
        "energy": None
        if energy is None
        else {
            "tariff_usd_per_kwh": _ends(energy.tariff_usd_per_kwh),
            "horizon_years": number(energy.horizon_years),
            "pue": _number(energy.pue),
        },
    }


def _ends(price: Price) -> Any:
    """A number, or [low, high]."""
    return [number(price.low), number(price.high)] if price.is_range else number(price.low)


def _prices_as_written(prices: Mapping[str, Any]) -> dict[str, Any]:
    if not prices:
        return {}
    energy = prices["energy"]
    written: dict[str, Any] = {
        "systems": {name: _with_unit(price, "USD") for name, price in prices["systems_usd"].items()},
        "pods": {name: _with_unit(price, "USD") for name, price in prices["pods_usd"].items()},
    }
    if energy is not None:
        written["energy"] = {
            "tariff": _with_unit(energy["tariff_usd_per_kwh"], "USD/kWh"),
            "horizon": f"{_digits(energy['horizon_years'])} years",
            **({} if energy["pue"] is None else {"pue": _digits(energy["pue"])}),
        }
    return written


def _with_unit(amount: Any, unit: str) -> Any:
    """A number, or both ends of a range, with the unit."""
    if isinstance(amount, list):
        return [_with_unit(end, unit) for end in amount]
    return f"{_digits(amount)} {unit}"


def _number(value: Fraction | None) -> int | float | None:
    return None if value is None else number(value)


def _digits(value: int | float, factor: int = 1) -> str:
    """A JSON number as decimal digits, without an exponent."""
    text = format(Decimal(repr(value)) * factor, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text
