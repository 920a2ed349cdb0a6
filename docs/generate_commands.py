"""Writes docs/commands.md, or the file it is given, from the help texts of the commands.

Run by `make docs`; a test holds the page to it.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from sizing.cli.main import PROGRAM, commands

PAGE = Path(__file__).parent / "commands.md"
WIDTH = 100
INTRODUCTION = """\
# Commands

Written from `--help` by `make docs`; change the help texts, not this page. What the commands print and their exit
codes: [outputs](outputs.md). What a workload says: [workload](workload.md).
"""


def contexts(command: click.Command, name: str, parent: click.Context | None = None) -> Iterator[click.Context]:
    """The context of a command and of every command below it, in the order of its help."""
    settings = {**command.context_settings, "terminal_width": WIDTH, "max_content_width": WIDTH}
    context = click.Context(command, info_name=name, parent=parent, **settings)
    yield context
    if isinstance(command, click.Group):
        for inner in command.list_commands(context):
            found = command.get_command(context, inner)
            if found is not None and not found.hidden:
                yield from contexts(found, inner, context)


def page() -> str:
    """The whole page."""
    sections = [
        f"## {context.command_path}\n\n```text\n{context.command.get_help(context).rstrip()}\n```\n"
        for context in contexts(commands, PROGRAM)
    ]
    return "\n".join([INTRODUCTION, *sections])


if __name__ == "__main__":
    written = Path(sys.argv[1]) if len(sys.argv) > 1 else PAGE
    written.write_text(page(), encoding="utf-8", newline="\n")
    print(f"wrote {written}")
