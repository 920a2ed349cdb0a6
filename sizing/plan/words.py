"""How limits, and changes of them, are said: the same words in reasons and on the screen."""

from fractions import Fraction

from sizing.plan.plan import Relaxation, StatedLimit
from sizing.request.request import Request
from sizing.units.amounts import plain

LABELS = {"power": "power", "liquid_heat": "liquid heat", "air_heat": "air heat", "pods": "Pods"}
KV_PRECISION = "kv_precision:"
WEIGHTS = "weights:"
CONCURRENCY = "concurrency"
SUPPLY = "supply:"


def limit_in_words(request: Request, name: str, site: str | None) -> str:
    """`site power`, or with several sites `power of site `north``; `supply of gb300-nvl72`."""
    if site is None:
        return f"supply of {name.removeprefix(SUPPLY)}"
    label = LABELS[name]
    return f"site {label}" if len(request.sites) == 1 else f"{label} of site `{site}`"


def amount_in_words(value: Fraction | int, unit: str) -> str:
    """`4.5 MW`, `1 Pod`, `3 systems`."""
    text = plain(value, unit)
    return text.removesuffix("s") if value == 1 else text


def stated_in_words(request: Request, limit: StatedLimit) -> str:
    """A limit with its value: `site power 3 MW`, `site Pods 2`, `supply of gb300-nvl72 3`."""
    return f"{limit_in_words(request, limit.name, limit.site)} {bare_amount(limit.value, limit.unit)}"


def change_in_words(request: Request, change: Relaxation) -> str:
    """`site power 3 MW -> 5 MW`, `allow fp8 for `documents``, `14 % less concurrency`."""
    at_most = "" if change.proven else "at most "
    if isinstance(change.now, str) or isinstance(change.needed, str):
        if change.limit.startswith(WEIGHTS):
            return f"allow weights in {change.needed} for `{change.limit.removeprefix(WEIGHTS)}`"
        return f"allow {change.needed} for `{change.limit.removeprefix(KV_PRECISION)}`"
    if change.limit == CONCURRENCY:
        return f"{at_most}{plain(change.now - change.needed, '%')} less concurrency"
    limit = limit_in_words(request, change.limit, change.site)
    return f"{limit} {bare_amount(change.now, change.unit)} -> {at_most}{bare_amount(change.needed, change.unit)}"


def bare_amount(value: Fraction | int, unit: str) -> str:
    """An amount after the name of its limit, which says already what is counted."""
    return plain(value, unit) if unit == "kW" else plain(value, "").rstrip()


def signed(value: Fraction | int, unit: str) -> str:
    """A difference: `+1 Pod`, `-24 GPUs`, `+12.3 kW`; of money in whole cents."""
    if unit == "USD":
        value = round(Fraction(value), 2)
    return f"{'-' if value < 0 else '+'}{amount_in_words(-value if value < 0 else value, unit)}"
