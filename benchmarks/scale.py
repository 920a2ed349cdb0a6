"""A large request: 20 models x 8 classes x all systems on sale x 3 KV precisions. How near is the plan to its bound?

    python benchmarks/scale.py [SECONDS] [SEED]

Prints every improvement with its time, then the value, bound and gap of each stage, and the share of the time that was
spent inside HiGHS. Contexts are partly round and partly odd; demands are log-normal, so that some classes are large.
"""

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

import highspy

import sizing
from sizing.catalog.catalog import Catalog
from sizing.plan.plan import Plan

SECONDS = 300.0
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


def main() -> None:
    limit = float(sys.argv[1]) if len(sys.argv) > 1 else SECONDS
    request = sizing.load_workload(workload(int(sys.argv[2]) if len(sys.argv) > 2 else 1))
    started = monotonic()
    with seconds_in_highs() as spent:
        plan = sizing.solve(
            request,
            time_limit=limit,
            progress=lambda text: print(f"{monotonic() - started:7.1f} s  {text}", flush=True),
        )
    whole = monotonic() - started
    if not isinstance(plan, Plan):
        print(f"no plan: {plan.status}: {'; '.join(plan.reasons)}")
        return
    print(f"{'stage':20}{'value':>12}{'bound':>12}{'gap':>8}  unit")
    for stage in plan.stages:
        bound, gap = (stage.bound, stage.gap) if stage.bound is not None else (0, 1.0)
        print(f"{stage.stage:20}{stage.value:12,}{bound:12,}{gap:8.1%}  {stage.unit}")
    print(f"{whole:.1f} s in all, {spent[0] / whole:.0%} of it in HiGHS")


if __name__ == "__main__":
    main()
