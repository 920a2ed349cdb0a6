"""The workbook of a large plan: 200 classes in 60 Pods. Seconds and MB, beside the library alone.

    python benchmarks/workbook.py [RUNS]

The floor writes as many cells of the same kinds, texts, numbers and formulas with their values, with XlsxWriter alone.
The plan is put together by hand, each class on nodes of its own, so that nothing is searched; the check says whether
it holds.
"""

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from statistics import median
from time import perf_counter
from typing import Any
from zipfile import ZipFile

from xlsxwriter import Workbook

import sizing
from sizing.facility.fills import fills
from sizing.plan.check import check
from sizing.plan.choice import Choice
from sizing.plan.compose import compose
from sizing.plan.plan import Plan, StageResult
from sizing.program.deployments import Candidate, enumerate_options
from sizing.report.workbook import workbook_bytes

RUNS = 5
CLASSES, PODS, GPUS_OF_A_NODE = 200, 60, 8
SYSTEM = "hgx-b300-8-liquid"
MODELS = ("llama-3.1-70b", "llama-3.1-8b", "deepseek-v3", "qwen3-235b-a22b", "gpt-oss-120b", "gemma-3-27b")
CONTEXTS = (4_096, 8_192, 16_384, 32_768)


@dataclass(frozen=True)
class Kinds:
    """How many cells of each kind a workbook has."""

    texts: int
    numbers: int
    formulas: int


def workload(concurrency: dict[str, int]) -> dict[str, Any]:
    """The request; every class asks for one sequence where nothing else is said."""
    classes = [
        {
            "name": f"class {number}",
            "model": MODELS[number % len(MODELS)],
            "context": CONTEXTS[number // len(MODELS) % len(CONTEXTS)],
            "concurrency": concurrency.get(f"class {number}", 1),
        }
        for number in range(CLASSES)
    ]
    prices = {"systems": {SYSTEM: "450_000 USD"}, "energy": {"tariff": "0.1 USD/kWh", "horizon": "4 years"}}
    policy = {"systems": [SYSTEM], "objective": ["pods"], "prices": prices}
    return {"name": "Large", "classes": classes, "policy": policy}


def large_plan() -> Plan:
    """Every class on nodes of its own: 160 of them on five, 40 on four."""
    first = sizing.load_workload(workload({}))
    candidates = enumerate_options(first).candidates
    pools, replicas, served, held = Counter(), Counter(), Counter(), {}
    nodes = {name: 5 if number < 160 else 4 for number, name in enumerate(service.name for service in first.classes)}
    for name, count in nodes.items():
        candidate = on_whole_nodes(candidates, name)
        deployment, each = candidate.deployment, candidate.alone(name)
        pools[deployment.id, ((name, each),)] += count * deployment.pools_per_replica
        replicas[deployment.id] += count
        held[name] = served[name, deployment.precisions] = each * count * deployment.pools_per_replica
    request = sizing.load_workload(workload(held))
    site, systems = request.sites[0], sum(nodes.values())
    fill = next(fill for fill in fills(site, request.candidates, mixed=False) if fill.systems)
    choice = Choice(
        pods={(site.name, fill): -(-systems // fill.count(SYSTEM))},
        systems={(site.name, SYSTEM): systems},
        deployments={candidate.deployment.id: candidate.deployment for candidate in candidates},
        replicas=dict(replicas),
        pools=dict(pools),
        served=dict(served),
    )
    return compose(request, choice, (StageResult("pods", "Pods", PODS, PODS),), ())


def on_whole_nodes(candidates: Sequence[Candidate], name: str) -> Candidate:
    """The first deployment that takes a whole node and holds a class."""
    whole = (each for each in candidates if each.deployment.gpus_per_replica == GPUS_OF_A_NODE)
    return next(each for each in whole if name in each.sizes)


def kinds_of(content: bytes) -> Kinds:
    """Cells by kind, counted in the file."""
    texts = numbers = formulas = 0
    with ZipFile(BytesIO(content)) as archive:
        for name in archive.namelist():
            if name.startswith("xl/worksheets/sheet"):
                part = archive.read(name)
                found = part.count(b"<f>")
                formulas += found
                texts += part.count(b't="s"')
                numbers += part.count(b"<v>") - found - part.count(b't="s"')
    return Kinds(texts, numbers, formulas)


def floor(kinds: Kinds) -> bytes:
    """As many cells, written without anything else."""
    content = BytesIO()
    workbook = Workbook(content, {"in_memory": True})
    sheet, form = workbook.add_worksheet(), workbook.add_format({"num_format": "#,##0"})
    row = 0
    for number in range(kinds.texts):
        sheet.write_string(row + number // 10, number % 10, f"text {number}", form)
    row += kinds.texts // 10 + 1
    for number in range(kinds.numbers):
        sheet.write_number(row + number // 10, number % 10, number, form)
    row += kinds.numbers // 10 + 1
    for number in range(kinds.formulas):
        sheet.write_formula(row + number // 10, number % 10, "=A1*B1+SUM(C1:C9)", form, number)
    workbook.close()
    return content.getvalue()


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    plan = large_plan()
    print(f"{len(plan.classes)} classes, {plan.totals.pods} Pods; the check {'fails' if check(plan) else 'holds'}")
    kinds = kinds_of(workbook_bytes(plan))
    seconds: dict[str, list[float]] = {"workbook": [], "floor": []}
    for _ in range(runs):
        started = perf_counter()
        content = workbook_bytes(plan)
        between = perf_counter()
        floor(kinds)
        seconds["workbook"].append(between - started)
        seconds["floor"].append(perf_counter() - between)
    whole, least = (median(seconds[name]) for name in ("workbook", "floor"))
    print(f"{kinds.texts:,} texts, {kinds.numbers:,} numbers, {kinds.formulas:,} formulas, {len(content) / 1e6:.1f} MB")
    print(f"workbook {whole:.2f} s, the library alone {least:.2f} s: {whole / least:.2f} times")


if __name__ == "__main__":
    main()
