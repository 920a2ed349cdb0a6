"""`sizing capacity`: how much of a workload so many Pods serve, on the screen and as JSON."""

from pathlib import Path

import click

from sizing.api import capacity as largest_multiple
from sizing.api import load_workload
from sizing.cli.options import json_path
from sizing.cli.searching import catalog_option, effort_options, interrupting, no_plan_code, refuse_same_file

MOST_PODS = 10**6


@click.command()
@click.argument("workload", type=click.Path(path_type=Path))
@click.option("--pods", type=click.IntRange(1, MOST_PODS), required=True, metavar="N", help="Pods that there are.")
@click.option("--system", metavar="S", help="The only kind of system to buy; default: all that the workload may buy.")
@click.option("--site", metavar="NAME", help="The site where the Pods stand; needed where the workload has several.")
@click.option("--json", "json_file", metavar="FILE|-", help="Write the answer as JSON; - for standard output alone.")
@click.option("--force", is_flag=True, help="Overwrite a JSON file that is not ours.")
@catalog_option
@effort_options
def capacity(
    workload: Path,
    pods: int,
    system: str | None,
    site: str | None,
    json_file: str | None,
    force: bool,
    catalogs: tuple[str, ...],
    time_limit: float | None,
    gap: float,
    threads: int | None,
) -> int:
    """Find how much of a workload so many Pods serve.

    The answer is the largest multiple of the workload, proven or with a bound, the plan for it, and the tokens left to
    sell. The Pods are those of the workload's site, installed ones included; its limits of power, heat and supply hold,
    the number of Pods replaces that of the site. Every class grows or shrinks alike.

    Ctrl-C ends the search with the best answer so far.

    Exit codes: 0 an answer; 2 bad input; 3 not even one sequence of each class fits; 4 no answer was found
    (most often the time limit came first); 130 Ctrl-C came before an answer.
    """
    from sizing.plan.capacity import capacity_document
    from sizing.plan.document import to_json
    from sizing.plan.plan import NoPlan
    from sizing.report.capacity import capacity_report
    from sizing.report.files import check_document_place, write_document

    request = load_workload(workload, catalog=catalogs)
    document_file = json_path(json_file)
    if document_file is not None:
        check_document_place(document_file, force)
    refuse_same_file({"workload": workload, "--json": document_file})

    with interrupting() as halt:
        answer = largest_multiple(
            request,
            pods=pods,
            system=system,
            site=site,
            time_limit=time_limit,
            gap=gap,
            threads=threads,
            halt=halt,
            progress=lambda text: click.echo(text, err=True),
        )

    document = to_json(capacity_document(answer))
    if document_file is not None:
        write_document(document_file, document, force)
    click.echo(document if json_file == "-" else capacity_report(answer), nl=False)
    return no_plan_code(answer.status, halt) if isinstance(answer.plan, NoPlan) else 0
