"""How long commands take as whole processes, against processes that only import the libraries which they must.

    python benchmarks/startup.py [RUNS] [--uncompiled]

Commands and floors run in turn, so that whatever else the machine does falls on both. The ratio is that of medians.
Everything runs from compiled bytecode, as an installed package does; `--uncompiled` measures this checkout as it lies.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
RUNS = 31
COMMAND = "from sizing.cli.start import main; main()"
CLICK = "import click"
SOLVER_LIBRARIES = "import pyomo.environ, highspy, xlsxwriter, pydantic, click"
CATALOG_LIBRARIES = """
import click, pydantic, yaml
yaml.CSafeLoader
class Entry(pydantic.BaseModel):
    name: str
"""


class Case(NamedTuple):
    """A command line, the floor that it is held against, and the ratio that is aimed at; {folder} is scratch space."""

    arguments: str
    floor: str
    floor_name: str
    aim: float


CASES = (
    Case("--help", CLICK, "click", 1.5),
    Case(
        "kv llama-3.1-70b --system hgx-h200-8 --context 131072 --json -",
        CATALOG_LIBRARIES,
        "click, YAML, one pydantic model",
        1.5,
    ),
    Case("kv llama-3.1-70b --system hgx-h200-8", CATALOG_LIBRARIES, "click, YAML, one pydantic model", 1.5),
    Case("catalog systems", CATALOG_LIBRARIES, "click, YAML, one pydantic model", 1.5),
    Case(
        "solve workloads/customer.yaml --out {folder}",
        SOLVER_LIBRARIES,
        "pyomo.environ, highspy, xlsxwriter, pydantic, click",
        1.3,
    ),
)


def environment(bytecode: str | None) -> dict[str, str]:
    """That of the measured processes; `bytecode` is the folder in which they keep what they compile."""
    kept = {**os.environ, "PYTHONPATH": str(ROOT)}
    if bytecode is not None:
        kept.pop("PYTHONDONTWRITEBYTECODE", None)
        kept["PYTHONPYCACHEPREFIX"] = bytecode
    return kept


def seconds(environ: dict[str, str], code: str, *arguments: str) -> float:
    """Wall time of one whole process."""
    started = perf_counter()
    subprocess.run(
        [sys.executable, "-c", code, *arguments],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
        env=environ,
    )
    return perf_counter() - started


def measure(case: Case, runs: int, environ: dict[str, str], folder: str) -> tuple[float, float]:
    """(median of the command, median of its floor), after one run of each that nobody counts."""
    command, floor = [], []
    arguments = case.arguments.format(folder=folder).split()
    for run in range(runs + 1):
        times = seconds(environ, COMMAND, *arguments), seconds(environ, case.floor)
        if run:
            command.append(times[0])
            floor.append(times[1])
    return median(command), median(floor)


def main() -> None:
    runs = next((int(argument) for argument in sys.argv[1:] if argument.isdigit()), RUNS)
    print(f"{'sizing':64}{'ms':>6}{'floor':>8}{'ratio':>7}{'aim':>6}  floor")
    with tempfile.TemporaryDirectory() as folder:
        environ = environment(None if "--uncompiled" in sys.argv else f"{folder}/bytecode")
        for case in CASES:
            command, floor = measure(case, runs, environ, folder)
            print(
                f"{case.arguments:64}{1000 * command:6.0f}{1000 * floor:8.0f}{command / floor:7.2f}{case.aim:6.1f}"
                f"  {case.floor_name}"
            )


if __name__ == "__main__":
    main()
