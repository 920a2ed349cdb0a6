"""`sizing verify`: whether a plan document is right, worked out anew against the catalog at hand."""

from pathlib import Path

import click

from sizing.cli.completion import folders

WRONG = 5


@click.command()
@click.argument("plan", metavar="PLAN.json", type=click.Path(path_type=Path))
@click.option(
    "--catalog",
    "overlays",
    multiple=True,
    metavar="DIR",
    shell_complete=folders,
    help="Entries that add to the shipped ones, or change them by name. May be repeated.",
)
def verify(plan: Path, overlays: tuple[str, ...]) -> int:
    """Check a plan of `solve --json`, figure by figure.

    Reads the request in it again, with the catalog at hand, works every figure out anew, checks every limit, and says
    what is wrong and where. Needs no solver; bounds are as the search told them.

    Exit codes: 0 the plan holds; 2 no document of a plan; 5 the plan is wrong.
    """
    from sizing.catalog.catalog import Catalog
    from sizing.plan.verify import verify_file
    from sizing.report.verify import verdict_report

    verdict = verify_file(plan, Catalog([Path(folder) for folder in overlays]))
    click.echo(verdict_report(verdict, str(plan)), nl=False)
    return WRONG if verdict.findings else 0
