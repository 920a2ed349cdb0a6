"""A large request: 20 models x 8 classes x all systems on sale x 3 KV precisions. How near is the plan to its bound?

    python benchmarks/scale.py [SECONDS] [SEED]

Prints every better plan and every bound with its time, then the value, bound and gap of each stage, the share of the
time that was spent inside HiGHS, and which aims are met. Contexts are partly round and partly odd; demands are
log-normal, so that some classes are large.
"""

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic, process_time
from typing import Any

import highspy

import sizing
from sizing.catalog.catalog import Catalog
from sizing.plan.plan import Plan

SECONDS = 300.0
FIRST_PLAN_SECONDS = 20.0
MOST_GAP = 0.02
MOST_OUTSIDE_HIGHS = 0.5
MODELS = 20
CLASSES_OF_A_MODEL = 8
TOKENS_OF_A_CLASS = 80e6
PRECISIONS = ("bf16", "fp8", "nvfp4")
CONTEXTS = (2_048, 4_096, 5_000, 8_192, 12_345, 16_384, 32_768, 65_536, 77_777, 100_000, 131_072)


def workload(seed: int) -> dict[str, Any]:
    """The request as a workload, the same for the same seed and catalog."""
    catalog = Catalog()
    chosen = random.Random(seed)
    models = [catalog.model(name) for name in chosen.sample(catalog.names("models"), MODELS)]
    classes = []
    for model in models:
        for number in range(CLASSES_OF_A_MODEL):
            context = min(chosen.choice(CONTEXTS), model.context_limit)
            sequences = chosen.lognormvariate(0, 1) * TOKENS_OF_A_CLASS / context
            classes.append(
                {
                    "name": f"{model.name} {number}",
                    "model": model.name,
                    "context": context,
                    "concurrency": max(1, round(sequences)),
                    "kv_precision": list(PRECISIONS),
                }
            )
    systems = [name for name in catalog.names("systems") if catalog.system(name).status == "on sale"]
    return {"name": "Large", "classes": classes, "policy": {"systems": systems}}


@contextmanager
def seconds_in_highs() -> Iterator[list[float]]:
    """The seconds that HiGHS has run since, kept in a list of one."""
    spent = [0.0]
    run = highspy.Highs.run

    def timed(highs: highspy.Highs) -> Any:
        started = monotonic()
        try:
            return run(highs)
        finally:
            spent[0] += monotonic() - started

    highspy.Highs.run = timed
    try:
        yield spent
    finally:
        highspy.Highs.run = run


@dataclass
class Log:
    """What the search told and when, printed as it comes. `first_plan` in seconds; None as long as there is none."""

    started: float
    first_plan: float | None = None

    def tell(self, text: str) -> None:
        seconds = monotonic() - self.started
        if self.first_plan is None and "a plan of" in text:
            self.first_plan = seconds
        print(f"{seconds:7.1f} s  {text}", flush=True)


def targets(plan: Plan, first_plan: float, share: float) -> Iterator[tuple[str, bool]]:
    """What is aimed at, and whether this run meets it."""
    stages = {stage.stage: stage for stage in plan.stages}
    pods = stages["pods"]
    yield f"first plan within {FIRST_PLAN_SECONDS:.0f} s", first_plan <= FIRST_PLAN_SECONDS
    yield "Pods within one of their bound", pods.value - (pods.bound or 0) <= 1
    for name in ("power", "gpus"):
        yield f"{name} within {MOST_GAP:.0%} of its bound", (stages[name].gap or 0) <= MOST_GAP
    yield f"at most {MOST_OUTSIDE_HIGHS:.0%} of the time outside HiGHS", 1 - share <= MOST_OUTSIDE_HIGHS


def main() -> None:
    limit = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    request = sizing.load_workload(workload(int(sys.argv[2]) if len(sys.argv) > 2 else 1))
    log = Log(monotonic())
    processor = process_time()
    with seconds_in_highs() as spent:
        plan = sizing.solve(request, time_limit=limit, progress=log.tell)
    whole = monotonic() - log.started
    if not isinstance(plan, Plan) or log.first_plan is None:
        print(f"no plan: {plan.status}")
        return
    print(f"{'stage':20}{'value':>12}{'bound':>12}{'gap':>8}  unit")
    for stage in plan.stages:
        bound, gap = (stage.bound, stage.gap) if stage.bound is not None else (0, 1.0)
        conditional = ", conditional" if stage.conditional else ""
        print(f"{stage.stage:20}{stage.value:12,}{bound:12,}{gap:8.1%}  {stage.unit}{conditional}")
    share = spent[0] / whole
    print(
        f"first plan after {log.first_plan:.1f} s; {whole:.1f} s in all, {share:.0%} of it in HiGHS; "
        f"{process_time() - processor:.1f} s of processor time"
    )
    for aim, met in targets(plan, log.first_plan, share):
        print(f"{'met' if met else 'NOT MET':8} {aim}")


if __name__ == "__main__":
    main()
