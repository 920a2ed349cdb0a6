"""`sizing diff`: what changed from one plan or bill to another, and why."""

from pathlib import Path

import click

from sizing.cli.options import json_path


@click.command()
@click.argument("a", metavar="A")
@click.argument("b", metavar="B")
@click.option(
    "--json", "json_file", metavar="FILE|-", help="Write the differences as JSON; - for standard output alone."
)
@click.option("--force", is_flag=True, help="Overwrite a file that is no document of sizing.")
def diff(a: str, b: str, json_file: str | None, force: bool) -> None:
    """Tell what changed from one plan or bill to another, and why.

    A and B are plans of `solve --json`, or bills of units: workbooks of sizing, or CSV of `solve --format csv`; - is
    standard input. Between plans: units, systems, Pods, GPUs, power, heat, tokens, cost, precisions and limits, and
    whether input, policy, catalog or version made the difference. Where one of the two is a bill: units and totals.

    Exit codes: 0 compared, also where they differ; 2 bad input.
    """
    from sizing.plan.difference import difference, difference_document
    from sizing.plan.document import to_json
    from sizing.report.bill_reading import STANDARD_INPUT, read_side
    from sizing.report.difference import difference_report
    from sizing.report.files import check_document_place, write_document
    from sizing.units.errors import BadInput, Problem

    if a == b == STANDARD_INPUT:
        raise BadInput(Problem("both are standard input", seen="- -", accepted="a file for one of them"))
    target = json_path(json_file)
    if target is not None:
        if target.resolve() in {Path(side).resolve() for side in (a, b)}:
            raise BadInput(Problem("--json is a file that is compared", seen=str(target), accepted="another file"))
        check_document_place(target, force)
    problems: list[Problem] = []
    sides = []
    for side in (a, b):
        try:
            sides.append(read_side(side))
        except BadInput as wrong:
            problems += wrong.problems
    if problems:
        raise BadInput(*dict.fromkeys(problems))
    found = difference(*sides)
    document = to_json(difference_document(found))
    if target is not None:
        write_document(target, document, force)
    click.echo(document if json_file == "-" else difference_report(found), nl=False)
