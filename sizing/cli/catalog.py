"""`sizing catalog`: what the catalogs hold, and where every figure comes from."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sizing.cli.completion import entries_of_named_section
from sizing.cli.completion import folders as complete_folders

if TYPE_CHECKING:  # pydantic and YAML come in only when a catalog is opened
    from sizing.catalog.catalog import Catalog

SECTIONS = ("gpus", "systems", "models", "precisions", "pods", "engines")
SCHEMA = "sizing.catalog/1"


@click.command()
@click.argument("section", type=click.Choice(SECTIONS), metavar="|".join(SECTIONS))
@click.argument("name", required=False, shell_complete=entries_of_named_section)
@click.option(
    "--catalog",
    "folders",
    metavar="DIR",
    multiple=True,
    is_eager=True,  # read before names, so that completion knows them
    shell_complete=complete_folders,
    help="Entries that add to the shipped ones, or change them by name. May be repeated.",
)
@click.option("--json", "json_target", metavar="-", type=click.Choice(["-"]), help="Print one JSON document.")
def catalog(section: str, name: str | None, folders: tuple[str, ...], json_target: str | None) -> None:
    """List catalog entries, or show one with its sources.

    The list has key figures, what can be bought, and what is missing. With NAME: every figure of that entry with its
    range, date, confidence and source.
    """
    from sizing.catalog.catalog import Catalog

    opened = Catalog([Path(folder) for folder in folders])
    names = opened.names(section) if name is None else (name,)
    entries = {entry["name"]: entry for entry in (_entry(opened, section, each) for each in names)}
    if json_target:
        import json

        document = {"schema": SCHEMA, "section": section, "entries": entries}
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
        return
    from sizing.report.catalog import catalog_entry, catalog_list

    if name is None:
        click.echo(catalog_list(section, entries), nl=False)
    else:
        for known_as, entry in entries.items():
            click.echo(catalog_entry(section, known_as, entry), nl=False)


def _entry(opened: "Catalog", section: str, name: str) -> dict[str, Any]:
    entry = opened.entry(section, name)
    if section == "models":
        from sizing.report.catalog import computed

        entry = {**entry, **computed(opened.model(name))}
    return entry
