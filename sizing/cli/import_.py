"""`sizing import`: a model's configuration file into an entry of a catalog."""

from pathlib import Path

import click


@click.command("import")
@click.argument("config", metavar="CONFIG.json", type=click.Path(path_type=Path))
@click.option(
    "-o",
    "--out",
    "target",
    metavar="DIR|FILE.yaml",
    type=click.Path(path_type=Path),
    help="A folder of catalogs, which gets models/NAME.yaml, or a file. Without it the entry is printed.",
)
@click.option("--name", metavar="N", help="Name of the model; by default that of its file or folder.")
@click.option("--force", is_flag=True, help="Overwrite a file that is there.")
def import_(config: Path, target: Path | None, name: str | None, force: bool) -> None:
    """Read a model's config.json into a catalog entry.

    The file is one of the Hugging Face hub, or a folder with it; a hf_quant_config.json beside it is read too. The
    entry names the file, its SHA-256, the rule of its architecture and every key that was taken from the defaults of
    its class; with `--catalog DIR` other commands then know the model by its name. An architecture without a rule is
    refused.
    """
    from sizing.catalog.catalog import NAME_ACCEPTED, Catalog, is_name
    from sizing.catalog.folders import MODELS
    from sizing.catalog.layers import REPLACES
    from sizing.catalog.written import as_yaml
    from sizing.intake.entry import imported_entry
    from sizing.report.files import write_new
    from sizing.units.errors import BadInput, Problem, shown

    found = imported_entry(config)
    known_as, path = found.name if name is None else name, None
    if not is_name(known_as):
        raise BadInput(Problem("is no name of an entry", "--name", None, None, shown(known_as), NAME_ACCEPTED))
    if target is not None and target.suffix == ".yaml":
        if name is not None and target.stem != name:
            what, seen = "an entry is named after its file", shown(str(target))
            raise BadInput(Problem(what, "--out", seen=seen, accepted=f"{name}.yaml, or no --name"))
        known_as, path = target.stem, target
    elif target is not None:
        path = target / MODELS / f"{known_as}.yaml"
    if not is_name(known_as):
        raise BadInput(Problem("is no name of an entry", "--out", None, None, shown(known_as), NAME_ACCEPTED))
    is_shipped = known_as in Catalog().names(MODELS)
    text = as_yaml({REPLACES: True, **found.entry} if is_shipped else found.entry)
    if path is None:
        click.echo(text, nl=False)
        return
    write_new(path, text, force)
    shipped = " in place of the shipped model" if is_shipped else ""
    click.echo(f"wrote {path}: {found.entry['title']}, known as {known_as} with --catalog{shipped}", err=True)
