"""A small catalog for the tests of requests: names to objects, without files."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest

from sizing.facility.pod import PodType
from sizing.facility.system import Status, System
from sizing.pool.engines.ideal import IdealEngine
from sizing.pool.gpu import Gpu
from sizing.pool.precision import KvPrecision
from sizing.sequence.feed_forward import Experts, GatedMlp
from sizing.sequence.heads import FullAttention
from sizing.sequence.model import Block, ModelShape
from sizing.units.errors import BadInput, Problem
from sizing.units.figures import Figure
from sizing.units.names import nearest


def figure(value: Any) -> Figure[Any]:
    return Figure(value, "", ("test",), "2026-01-01", "high")


def optional(value: str | None) -> Figure[Fraction] | None:
    return None if value is None else figure(Fraction(value))


def gpu(name: str, driver_bytes: int | None) -> Gpu:
    hbm = None if driver_bytes is None else figure(driver_bytes)
    return Gpu(name, name, "test", "hopper", "HBM3e", figure(Fraction(141)), hbm, None, {}, None)


def system(
    name: str,
    *,
    status: Status = Status.ON_SALE,
    gpus: int = 8,
    cooling: str = "air",
    kw: str | None = "10.2",
    liquid: str | None = "0",
    driver_bytes: int | None = 150_000_000_000,
) -> System:
    return System(
        name=name,
        title=name,
        vendor="test",
        status=status,
        gpu=gpu(f"{name}-gpu", driver_bytes),
        domain_gpus=gpus,
        domains_per_system=1,
        scale_up="NVLink",
        cooling=cooling,
        nameplate_kw=optional(kw),
        liquid_kw=optional(liquid),
        rack_units=None,
    )


def pod(
    name: str, *, cooling: str = "direct-to-chip liquid", liquid: str | None = None, air: str | None = None
) -> PodType:
    return PodType(
        name, name, figure(128), figure(Fraction(1000)), cooling, None, optional(liquid), optional(air), None
    )


def model(name: str, limit: int, alias: str, experts: bool = False) -> ModelShape:
    feed_forward = Experts(experts=8, active_experts=2, intermediate=64) if experts else GatedMlp(intermediate=256)
    block = Block(2, FullAttention(query_heads=8, kv_heads=2, head_dim=16), feed_forward)
    return ModelShape(name, name, 128, 1000, False, (block,), "bf16", limit, aliases=(alias,))


class FakeCatalog:
    """What a request asks of a catalog."""

    def __init__(self) -> None:
        self.sections: Mapping[str, Mapping[str, Any]] = {
            "systems": _by_name(
                system("air-8"),
                system("liquid-8", cooling="liquid", kw="14.5", liquid="12.5"),
                system("rack-72", gpus=72, cooling="liquid", kw="142", liquid="120"),
                system("announced-8", status=Status.ANNOUNCED, cooling="liquid", liquid="8"),
                system("retired-8", status=Status.END_OF_LIFE),
                system("no-power-8", cooling="liquid", kw=None, liquid=None),
                system("no-split-8", cooling="liquid", liquid=None),
                system("no-driver-8", cooling="liquid", liquid="8", driver_bytes=None),
                system("row-144", gpus=144, cooling="liquid", liquid="8"),
            ),
            "models": _by_name(model("dense-7b", 131_072, "Org/Dense-7B"), model("moe-8x1b", 4_096, "Org/MoE", True)),
            "precisions": _by_name(
                KvPrecision("bf16", "bf16", ("fp16",), figure(Fraction(16)), frozenset({"hopper"}), ()),
                KvPrecision("fp8", "fp8", (), figure(Fraction(8)), frozenset({"hopper"}), ()),
            ),
            "pods": _by_name(
                pod("podos-1mw"),
                pod("air-pod", cooling="air", air="300"),
                pod("both-pod", cooling="liquid and air", liquid="900", air="12"),
            ),
            "engines": {"ideal": IdealEngine(Fraction(1, 10)), "vllm": IdealEngine(Fraction(1, 5))},
        }

    def overlaid(self, section: str) -> tuple[str, ...]:
        return ()

    def names(self, section: str) -> tuple[str, ...]:
        return tuple(self.sections[section])

    def including(self, models: Mapping[str, Any]) -> "FakeCatalog":
        raise BadInput(*(Problem("is no model of this catalog", f"models.{name}") for name in models))

    def system(self, name: str) -> Any:
        return self._find("systems", name)

    def model(self, name: str) -> Any:
        return self._find("models", name)

    def kv_precision(self, name: str) -> Any:
        return self._find("precisions", name)

    def pod(self, name: str) -> Any:
        return self._find("pods", name)

    def engine(self, name: str) -> Any:
        return self._find("engines", name)

    def entry(self, section: str, name: str) -> dict[str, Any]:
        missing = {"nameplate_kw": "No data sheet states it."} if name == "no-power-8" else {}
        return {"name": name, "section": section, "missing": missing}

    def _find(self, section: str, name: str) -> Any:
        for known, value in self.sections[section].items():
            if name == known or name in getattr(value, "aliases", ()):
                return value
        known_names = self.names(section)
        raise BadInput(
            Problem(f"{section} {name} unknown", accepted=", ".join(known_names), nearest=nearest(name, known_names))
        )


def _by_name(*objects: Any) -> dict[str, Any]:
    return {thing.name: thing for thing in objects}


@pytest.fixture
def fake_catalog() -> Any:
    return FakeCatalog()


@pytest.fixture
def workload() -> dict[str, Any]:
    """The smallest workload, as Python gives it; a test changes what it is about."""
    return {"name": "test", "classes": [{"name": "chat", "model": "dense-7b", "context": "4k", "concurrency": 20}]}
