"""Plan the smallest facility that serves a language-model workload, counted in tokens of KV cache."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sizing.api import load_workload, solve
    from sizing.plan.plan import NoPlan, Plan
    from sizing.request.request import Request
    from sizing.units.errors import BadInput, CheckFailed, SizingError

__all__ = ["BadInput", "CheckFailed", "NoPlan", "Plan", "Request", "SizingError", "load_workload", "solve"]

_HOMES = {
    "BadInput": "sizing.units.errors",
    "CheckFailed": "sizing.units.errors",
    "NoPlan": "sizing.plan.plan",
    "Plan": "sizing.plan.plan",
    "Request": "sizing.request.request",
    "SizingError": "sizing.units.errors",
    "load_workload": "sizing.api",
    "solve": "sizing.api",
}


def __getattr__(name: str) -> Any:
    """Names of the interface are imported when they are first used, so that a command starts at once."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return list(__all__)
