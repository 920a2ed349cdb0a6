"""`sizing solve`: from a workload to a plan, on the screen, as JSON and in files."""

from pathlib import Path

import click

from sizing.api import load_workload
from sizing.api import solve as find_plan
from sizing.cli.options import json_path
from sizing.cli.searching import catalog_option, effort_options, interrupting, no_plan_code, refuse_same_file
from sizing.report.formats import FORMATS, files_of, left_over, writers
from sizing.units.errors import BadInput, Problem

MOST_ALTERNATIVES = 100


@click.command()
@click.argument("workload", type=click.Path(path_type=Path))
@click.option(
    "--out",
    default="reports",
    show_default=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder of the files.",
)
@click.option(
    "--format",
    "formats",
    multiple=True,
    type=click.Choice([*FORMATS]),
    default=("xlsx",),
    show_default=True,
    help="What is written to OUT/<workload>.*: the workbook; the proposal as a page, PDF or Markdown; the bill of "
    "units as CSV; the plan as JSON. May be repeated.",
)
@click.option("--json", "json_file", metavar="FILE|-", help="Write the plan as JSON; - for standard output alone.")
@catalog_option
@click.option("--objective", metavar="A,B,C", help="Stages in order, in place of those of the workload.")
@effort_options
@click.option(
    "--alternatives",
    type=click.IntRange(0, MOST_ALTERNATIVES),
    default=0,
    metavar="N",
    help="Show the N next best plans that buy something else.",
)
@click.option(
    "--sensitivity", is_flag=True, help="Show what the answer becomes at other limits and with another policy."
)
@click.option("--force", is_flag=True, help="Overwrite a file that was changed, or that is not ours.")
def solve(
    workload: Path,
    out: Path,
    formats: tuple[str, ...],
    json_file: str | None,
    catalogs: tuple[str, ...],
    objective: str | None,
    time_limit: float | None,
    gap: float,
    threads: int | None,
    alternatives: int,
    sensitivity: bool,
    force: bool,
) -> int:
    """Find the smallest facility that serves a workload.

    Chooses GPU system, scale-up domain, KV precision and the number of Pods under the site's power and cooling,
    proves the plan, says what binds, and writes the proposal with its bill of units to OUT/<workload>.xlsx,
    or in other formats.

    Ctrl-C ends the search with the best plan so far.

    Exit codes: 0 a plan; 2 bad input; 3 no plan is possible; 4 no plan was found, and that there
    is none is not proven (most often the time limit came first); 130 Ctrl-C came before a plan.
    """
    from sizing.plan.document import no_plan_document, plan_document, to_json
    from sizing.plan.plan import NoPlan
    from sizing.report.console import console_report, no_plan_report
    from sizing.report.files import check_document_place, check_place, write_document, write_file

    stages = [name.strip() for name in objective.split(",")] if objective is not None else None
    request = load_workload(workload, catalog=catalogs, objective=stages)
    own_files = files_of(out, workload.stem)
    files = {name: path for name, path in own_files.items() if name in formats}
    for name, path in files.items():
        FORMATS[name].check()
        check_place(path, FORMATS[name].is_untouched, force)
    document_file = json_path(json_file)
    if document_file is not None:
        check_document_place(document_file, force)
    refuse_same_file(
        {"workload": workload, **{f"--format {name}": files[name] for name in files}, "--json": document_file}
    )

    with interrupting() as halt:
        plan = find_plan(
            request,
            time_limit=time_limit,
            gap=gap,
            threads=threads,
            alternatives=alternatives,
            sensitivity=sensitivity,
            halt=halt,
            progress=lambda text: click.echo(text, err=True),
        )

    document = to_json(no_plan_document(plan) if isinstance(plan, NoPlan) else plan_document(plan))
    if document_file is not None:
        write_document(document_file, document, force)
    done: list[str] = []
    problems: list[Problem] = []
    for name, write in writers(plan, files).items():
        try:
            content = write()
        except BadInput as refused:  # the other files and the answer are not lost with it
            problems += refused.problems
            continue
        if content is not None:
            write_file(files[name], content, FORMATS[name].is_untouched, force)
            done.append(name)
    written = ", ".join(str(files[name]) for name in done)
    if isinstance(plan, NoPlan) and written:
        click.echo(f"written: {written}", err=True)
    stale = own_files if isinstance(plan, NoPlan) else files
    for path in left_over({name: path for name, path in stale.items() if name not in done}):
        if document_file is not None and path.samefile(document_file):
            continue
        click.echo(f"warning: {path} is of an earlier answer, not of this one", err=True)
    report = no_plan_report(plan) if isinstance(plan, NoPlan) else console_report(plan, written)
    click.echo(document if json_file == "-" else report, nl=False)
    if problems:
        raise BadInput(*problems)
    return no_plan_code(plan.status, halt) if isinstance(plan, NoPlan) else 0
