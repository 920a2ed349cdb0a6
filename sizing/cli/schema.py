"""`sizing schema`: the JSON Schema of an input file, for editors."""

import click


@click.command()
@click.argument("file_kind", metavar="workload", type=click.Choice(["workload"]), expose_value=False)
def schema() -> None:
    """Print the JSON Schema of a workload file.

    Editors that read YAML with a schema complete keys and catalog names with it, and mark errors while you type.
    """
    from json import dumps

    from sizing.catalog.catalog import Catalog
    from sizing.request.json_schema import workload_schema

    click.echo(dumps(workload_schema(Catalog()), indent=2, ensure_ascii=False))
