"""Sheet `Audit`: what was asked and by which versions it was answered, how far that is proven, and the check."""

from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed
from typing import Any

from sizing.plan.check import CHECKS, check
from sizing.plan.plan import NoPlan, Status
from sizing.report.answer import stage_parts, standing
from sizing.report.cells import Value
from sizing.report.page import Column, Page, Row
from sizing.report.reported import Reported
from sizing.report.styles import Style
from sizing.report.text import ENDED_EARLY, NOT_GIVEN, UNKNOWN
from sizing.request.request import Request
from sizing.units.version import version

FINGERPRINTS = (Column("What", most=44), Column("Value", most=80))
STAGES = (
    Column("Stage of the objective", most=44),
    Column("Value", style=Style.DECIMALS, most=80),
    Column("Unit", most=14),
    Column("Lower bound", style=Style.DECIMALS),
    Column("Gap", style=Style.SHARE),
    Column("Standing", style=Style.RUN_ON),
)
COLUMNS = (Column("Key of the workload", most=44), Column("Value", style=Style.DECIMALS, most=80))
SOLVERS = ("highspy", "pyomo")


def write(page: Page, reported: Reported) -> None:
    """Hashes and versions, stages with bounds, the check's verdict, then one row for each value of the request."""
    plan = reported.plan
    page.title("Audit", f"As planned: {standing(plan)}")
    page.table(FINGERPRINTS, _fingerprints(reported))
    page.section("How far it is proven")
    page.table(STAGES, _stages(reported))
    page.section("The workload: names resolved, defaults written out")
    page.table(COLUMNS, _values("", plan.request.document), main=True)


def write_without_plan(page: Page, no_plan: NoPlan) -> None:
    """Hashes and versions, then one row for each value of the request."""
    page.title("Audit", "Without a plan.")
    page.table(FINGERPRINTS, _versions(no_plan.request, no_plan.status, no_plan.reproducible))
    page.section("The workload: names resolved, defaults written out")
    page.table(COLUMNS, _values("", no_plan.request.document), main=True)


def _fingerprints(reported: Reported) -> Iterator[Row]:
    plan = reported.plan
    yield from _versions(plan.request, plan.status, plan.reproducible)
    findings = check(plan)
    verdict = f"holds: {len(CHECKS)} checks passed" if not findings else "does not hold: " + "; ".join(findings)
    yield Row(("The independent check of the plan", verdict))


def _versions(request: Request, status: Status, reproducible: bool) -> Iterator[Row]:
    yield Row(("Status", status.value))
    yield Row(("Reproducible", "yes" if reproducible else f"no: it {ENDED_EARLY} (decision 9)"))
    yield Row(("SHA-256 of the request", request.input_sha256))
    yield Row(("SHA-256 of the catalog", request.catalog_sha256))
    yield Row(("Version of sizing", version()))
    for name in SOLVERS:
        yield Row((f"Version of {name}", _version(name)))


def _version(name: str) -> str:
    try:
        return installed(name)
    except PackageNotFoundError:
        return UNKNOWN


def _stages(reported: Reported) -> Iterator[Row]:
    for stage in reported.plan.stages:
        value, unit = stage_parts(stage, stage.value)
        bound = UNKNOWN if stage.bound is None else stage_parts(stage, stage.bound)[0]
        gap = UNKNOWN if stage.gap is None else stage.gap
        standing_of = "given the stages before" if stage.conditional else "proven" if stage.gap == 0 else "open"
        yield Row((stage.stage, value, unit, bound, gap, standing_of))


def _values(path: str, node: Any) -> Iterator[Row]:
    if isinstance(node, Mapping) and node:
        for key, value in node.items():
            yield from _values(f"{path}.{key}" if path else str(key), value)
    elif isinstance(node, Sequence) and not isinstance(node, str) and node:
        for position, value in enumerate(node):
            yield from _values(f"{path}[{position}]", value)
    else:
        yield Row((path, _cell(node)))


def _cell(value: Any) -> Value:
    if value is None:
        return NOT_GIVEN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float | str):
        return value
    return "none"
