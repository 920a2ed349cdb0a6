"""Odd inputs by the ten thousand: whether each is refused clearly or answered rightly, in what time and memory.

python -m benchmarks.odd_inputs --inputs 50000 --plan-every 20 --time-limit 1
"""

import argparse
import resource
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

from tests.robustness.odd_inputs import OddInputs, shipped_documents_kept

LONGEST_SHOWN = 2_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--first", type=int, default=0, help="seed of the first input")
    parser.add_argument("--inputs", type=int, default=50_000)
    parser.add_argument("--plan-every", type=int, default=20, help="plan with what loads of every N-th seed")
    parser.add_argument("--time-limit", type=float, default=1.0, help="seconds of a search")
    asked = parser.parse_args()
    came: Counter[tuple[str, str]] = Counter()
    failed: list[int] = []
    slowest: list[tuple[float, int, str]] = []
    with shipped_documents_kept(), tempfile.TemporaryDirectory() as folder:
        odd = OddInputs(Path(folder))
        for seed in range(asked.first, asked.first + asked.inputs):
            plans = seed % asked.plan_every == 0
            began = time.process_time()
            try:
                outcome = odd.outcome(seed, asked.time_limit if plans else None)
            except Exception:  # noqa: BLE001 - each is told with its seed
                failed.append(seed)
                print(f"seed {seed}: {traceback.format_exc(limit=-3)[-LONGEST_SHOWN:]}", flush=True)
                continue
            came[outcome.kind, outcome.came] += 1
            slowest = sorted([*slowest, (time.process_time() - began, seed, outcome.came)], reverse=True)[:10]
    for (kind, what), count in sorted(came.items()):
        print(f"{kind:10} {what:12} {count:7,}")
    print("slowest, CPU seconds:", ", ".join(f"{seconds:.1f} (seed {seed}, {what})" for seconds, seed, what in slowest))
    print(f"most memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:,.0f} MiB")
    print(f"failed: {len(failed)} of {asked.inputs:,} {failed[:20]}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
