"""Plan the smallest facility that serves a language-model workload, counted in tokens of KV cache."""

TYPE_CHECKING = False  # `typing` is slow to import, and Ctrl-C while this file is imported shows a traceback
if TYPE_CHECKING:
    from typing import Any

    from sizing.api import capacity, load_workload, solve
    from sizing.plan.capacity import Capacity
    from sizing.plan.plan import NoPlan, Plan
    from sizing.request.request import Request
    from sizing.units.errors import BadInput, CheckFailed, SizingError

__all__ = [
    "BadInput",
    "Capacity",
    "CheckFailed",
    "NoPlan",
    "Plan",
    "Request",
    "SizingError",
    "capacity",
    "load_workload",
    "solve",
]

_HOMES = {
    "BadInput": "sizing.units.errors",
    "Capacity": "sizing.plan.capacity",
    "CheckFailed": "sizing.units.errors",
    "NoPlan": "sizing.plan.plan",
    "Plan": "sizing.plan.plan",
    "Request": "sizing.request.request",
    "SizingError": "sizing.units.errors",
    "capacity": "sizing.api",
    "load_workload": "sizing.api",
    "solve": "sizing.api",
}


def __getattr__(name: str) -> "Any":
    """Names of the interface are imported when they are first used, so that a command starts at once."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return list(__all__)
