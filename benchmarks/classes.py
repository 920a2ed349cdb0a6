"""One model's histogram of contexts as 10 to 10,000 classes: how does the time of the whole `sizing solve` grow?

    python benchmarks/classes.py [TRACE.csv|TRACE.jsonl]

The same live sequences every time, in finer and finer classes: each class is a quantile of the histogram, with the
longest context in it. Contexts are those of a trace (Azure's CSV with ContextTokens and GeneratedTokens, Mooncake's
JSON lines with input_length and output_length), or else log-normal from a fixed seed. Every request is a process of its
own, the command with its files. Prints the seconds by the clock and of the processor, their ratios to those of a tenth
of the classes, how the classes were merged and the loss, then value and bound of every stage.
"""

import csv
import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import monotonic
from typing import Any

MODEL = "llama-3.1-70b"
CONTEXT_LIMIT = 131_072
CLASSES = (10, 100, 1_000, 10_000)
SEQUENCES = 100_000
REQUESTS_WITHOUT_TRACE = 20_000
SEED = 1
COMMAND = "from sizing.cli.start import main; main()"


def contexts_of(trace: Path | None) -> list[int]:
    """Tokens of every request, prompt and answer, sorted; none beyond the model's limit."""
    return sorted(min(CONTEXT_LIMIT, max(1, tokens)) for tokens in (_log_normal() if trace is None else _read(trace)))


def _log_normal() -> Iterator[int]:
    chosen = random.Random(SEED)
    return (round(chosen.lognormvariate(8.5, 1.0)) for _ in range(REQUESTS_WITHOUT_TRACE))


def _read(trace: Path) -> Iterator[int]:
    with trace.open(encoding="utf-8") as file:
        if trace.suffix == ".csv":
            for row in csv.DictReader(file):
                yield int(row["ContextTokens"]) + int(row["GeneratedTokens"])
        else:
            for request in map(json.loads, file):
                yield request["input_length"] + request["output_length"]


def workload(contexts: Sequence[int], classes: int, sequences: int = SEQUENCES) -> dict[str, Any]:
    """`classes` quantiles of sorted contexts, so many live sequences in all."""
    return {
        "name": f"Histogram in {classes:,} classes",
        "classes": [
            {
                "name": f"quantile {number:05}",
                "model": MODEL,
                "context": contexts[(number + 1) * len(contexts) // classes - 1],
                "concurrency": sequences * (number + 1) // classes - sequences * number // classes,
            }
            for number in range(classes)
        ],
    }


def solved(asked: dict[str, Any]) -> tuple[float, float, dict[str, Any]]:
    """(seconds of the command as a whole process by the clock, of the processor, the plan's document)."""
    with tempfile.TemporaryDirectory() as folder:
        file, answer = Path(folder, "histogram.yaml"), Path(folder, "plan.json")
        file.write_text(json.dumps(asked, indent=1), encoding="utf-8")
        started, used = monotonic(), os.times().children_user
        subprocess.run(
            [sys.executable, "-c", COMMAND, "solve", file.name, "--out", ".", "--json", answer.name],
            cwd=folder,
            check=True,
            capture_output=True,
        )
        seconds, processor = monotonic() - started, os.times().children_user - used
        return seconds, processor, json.loads(answer.read_text(encoding="utf-8"))


def main() -> None:
    contexts = contexts_of(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    before: tuple[float, float] | None = None
    for classes in CLASSES:
        seconds, processor, plan = solved(workload(contexts, classes))
        ratio = f", {seconds / before[0]:.1f} and {processor / before[1]:.1f} times those of a tenth" if before else ""
        before = seconds, processor
        print(f"{classes:,} classes: {seconds:.1f} s, {processor:.1f} s of the processor{ratio}", flush=True)
        for assumption in plan["assumptions"]:
            if "(the loss)" in assumption:
                print(f"  {assumption}")
        for stage in plan["objective"]:
            print(f"  {stage['stage']:16}{stage['value']:>12,}  at least {stage['bound']:,}", flush=True)


if __name__ == "__main__":
    main()
