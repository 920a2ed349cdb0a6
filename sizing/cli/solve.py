"""`sizing solve`: from a workload to a plan, on the screen, as JSON and as a workbook."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from types import FrameType

import click

from sizing.api import load_workload
from sizing.api import solve as find_plan
from sizing.program.halt import Halt
from sizing.units.errors import BadInput, Problem

INFEASIBLE = 3
OUT_OF_TIME = 4
INTERRUPTED = 130


def _refuse_same_file(workload: Path, workbook: Path, document: Path | None) -> None:
    """Raise BadInput where two of these are one file: one would be lost, whatever `--force` says."""
    named = {"workload": workload, "workbook": workbook, "--json": document}
    places: dict[Path, str] = {}
    for what, path in named.items():
        if path is None:
            continue
        place = path.resolve()
        if place in places:
            raise BadInput(
                Problem(f"{what} is the same file as {places[place]}", seen=str(path), accepted="another file")
            )
        places[place] = what


def _finite(_context: click.Context, _parameter: click.Parameter, value: float | None) -> float | None:
    """NaN and infinity are read as numbers, and are none that a search can be held to."""
    if value is not None and not isfinite(value):
        raise click.BadParameter(f"{value} is not a finite number")
    return value


@contextmanager
def interrupting() -> Iterator[Halt]:
    """While it lasts, Ctrl-C ends the search with the best plan so far; a second one ends the command."""
    halt = Halt()

    def interrupted(_number: int, _frame: FrameType | None) -> None:
        if halt.asked:
            raise KeyboardInterrupt
        click.echo("stopping with the best plan so far; press Ctrl-C again to give up", err=True)
        halt.ask()

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield halt
    finally:
        signal.signal(signal.SIGINT, before)


@click.command()
@click.argument("workload", type=click.Path(path_type=Path))
@click.option(
    "--out",
    default="reports",
    show_default=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of the workbook.",
)
@click.option("--json", "json_file", metavar="FILE|-", help="Write the plan as JSON; - for standard output alone.")
@click.option(
    "--catalog",
    "catalogs",
    multiple=True,
    metavar="DIR",
    help="Entries that add to the shipped ones, or change them by name. May be repeated.",
)
@click.option("--objective", metavar="A,B,C", help="Stages in order, in place of those of the workload.")
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0, min_open=True),
    callback=_finite,
    metavar="S",
    help="Seconds for the search.",
)
@click.option(
    "--gap",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.0,
    callback=_finite,
    metavar="G",
    help="Relative gap per stage at which the search may stop, such as 0.02.",
)
@click.option("--threads", type=click.IntRange(min=1), metavar="N", help="Threads of the solver.")
@click.option("--force", is_flag=True, help="Overwrite a workbook that was changed, or a file that is not ours.")
def solve(
    workload: Path,
    out: Path,
    json_file: str | None,
    catalogs: tuple[str, ...],
    objective: str | None,
    time_limit: float | None,
    gap: float,
    threads: int | None,
    force: bool,
) -> int:
    """Find the smallest facility that serves a workload.

    Chooses GPU system, scale-up domain, KV precision and the number of Pods under the site's power and cooling,
    proves the plan, says what binds, and writes the bill of units to OUT/<workload>.xlsx.

    Ctrl-C ends the search with the best plan so far.

    Exit codes: 0 a plan; 2 bad input; 3 no plan is possible; 4 the time limit came before a plan; 130 Ctrl-C did.
    """
    from sizing.plan.document import no_plan_document, plan_document, to_json
    from sizing.plan.plan import NoPlan
    from sizing.report.console import console_report, no_plan_report
    from sizing.report.files import check_document_place, check_workbook_place, write_document, write_workbook

    stages = [name.strip() for name in objective.split(",")] if objective is not None else None
    request = load_workload(workload, catalog=catalogs, objective=stages)
    workbook = out / f"{workload.stem}.xlsx"
    check_workbook_place(workbook, force)
    document_file = Path(json_file) if json_file not in (None, "-") else None
    if document_file is not None:
        check_document_place(document_file, force)
    _refuse_same_file(workload, workbook, document_file)

    with interrupting() as halt:
        plan = find_plan(
            request,
            time_limit=time_limit,
            gap=gap,
            threads=threads,
            halt=halt,
            progress=lambda text: click.echo(text, err=True),
        )

    document = to_json(no_plan_document(plan) if isinstance(plan, NoPlan) else plan_document(plan))
    if document_file is not None:
        write_document(document_file, document, force)
    if isinstance(plan, NoPlan):
        click.echo(document if json_file == "-" else no_plan_report(plan), nl=False)
        if plan.status != "timeout":
            return INFEASIBLE
        return INTERRUPTED if halt.asked else OUT_OF_TIME
    from sizing.report.workbook import workbook_bytes

    write_workbook(workbook, workbook_bytes(plan), force)
    click.echo(document if json_file == "-" else console_report(plan, str(workbook)), nl=False)
    return 0
