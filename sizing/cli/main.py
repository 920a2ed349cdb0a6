"""The frame of the command line: commands that are imported only when they are used, and one way out of all of them.

Exit codes: 0 done; 1 internal error; 2 bad input; 130 interrupted; a command adds its own by returning a number.
"""

import errno
import gc
import io
import os
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise
from typing import NamedTuple, NoReturn

import click

PROGRAM = "sizing"
INTERRUPTED = 130
NO_OUTPUT = {errno.ENOSPC: "no space is left", errno.EBADF: "it is not open for writing"}


class LazyCommand(NamedTuple):
    """Where a command stands, and its short help, so that `--help` need not import it."""

    module: str
    attribute: str
    short_help: str


COMMANDS = {
    "solve": LazyCommand("sizing.cli.solve", "solve", "Find the smallest facility that serves a workload."),
    "capacity": LazyCommand("sizing.cli.capacity", "capacity", "Find how much of a workload so many Pods serve."),
    "kv": LazyCommand("sizing.cli.kv", "kv", "Show what a model's cache costs and what a system holds of it."),
    "catalog": LazyCommand("sizing.cli.catalog", "catalog", "List catalog entries, or show one with its sources."),
    "calibrate": LazyCommand("sizing.cli.calibrate", "calibrate", "Compare start-up logs of engines with profiles."),
    "import": LazyCommand("sizing.cli.import_", "import_", "Read a model's config.json into a catalog entry."),
    "verify": LazyCommand("sizing.cli.verify", "verify", "Check a plan of `solve --json`, figure by figure."),
    "diff": LazyCommand("sizing.cli.diff", "diff", "Tell what changed from one plan or bill to another, and why."),
    "schema": LazyCommand("sizing.cli.schema", "schema", "Print the JSON Schema of a workload file."),
}


class LazyGroup(click.Group):
    """A group that imports the module of a command when the command is invoked, and never for its own help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        lazy = COMMANDS[cmd_name]
        command = getattr(import_module(lazy.module), lazy.attribute)
        assert isinstance(command, click.Command)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, lazy.short_help) for name, lazy in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            from sizing.units.errors import BadInput, Problem, shown
            from sizing.units.names import nearest

            raise BadInput(
                Problem("no such command", "", None, None, shown(name), ", ".join(COMMANDS), nearest(name, COMMANDS))
            )
        return super().resolve_command(ctx, args)


def _print_version(ctx: click.Context, _parameter: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        from sizing.units.version import version

        click.echo(f"{PROGRAM} {version()}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_version,
    help="Show the version and exit.",
)
def commands() -> None:
    """Plan the smallest facility that serves a language-model workload, counted in tokens of KV cache."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; `arguments` are those of the process if None."""
    _open_closed_streams()
    _speak_utf8()
    try:
        code = _invoke(sys.argv[1:] if arguments is None else list(arguments))
        _flush()
    except BrokenPipeError:  # the reader has what it wanted, as in `sizing catalog systems | head`
        _drop_output()
        return 0
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last line of defence: a user never sees a traceback
        return _failed(error)
    return code


def _invoke(arguments: list[str]) -> int:
    if f"_{PROGRAM.upper()}_COMPLETE" in os.environ:  # a shell asks for completions
        commands.main(arguments, prog_name=PROGRAM)
    _refuse_empty(arguments)
    try:
        with commands.make_context(PROGRAM, arguments) as context:
            returned = commands.invoke(context)
    except click.exceptions.Exit as done:
        return done.exit_code
    except click.ClickException as wrong:
        wrong.show()
        return wrong.exit_code
    return returned if isinstance(returned, int) else 0


def _refuse_empty(arguments: Sequence[str]) -> None:
    """Raise BadInput for empty arguments, as `--json "$UNSET"` gives them: as a path, each would be this folder."""
    empty = [
        before if before.startswith("-") else "an argument"
        for before, argument in pairwise(("", *arguments))
        if not argument
    ]
    parts = [argument.partition("=") for argument in arguments if argument.startswith("--")]
    empty += [option for option, sign, value in parts if sign and not value]
    if empty:
        from sizing.units.errors import BadInput, Problem

        raise BadInput(*(Problem("is empty", where, accepted="a value") for where in empty))


def _failed(error: Exception) -> int:
    from sizing.units.errors import SizingError

    if isinstance(error, OSError) and error.errno in NO_OUTPUT:
        _drop_output()
        click.echo(f"the output cannot be written: {NO_OUTPUT[error.errno]}", err=True)
        return 1
    if isinstance(error, SizingError):
        click.echo(str(error), err=True)
        return error.exit_code
    if os.environ.get("SIZING_DEBUG") == "1":
        import traceback

        click.echo("".join(traceback.format_exception(error)), err=True, nl=False)
    else:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        click.echo(f"internal error: {said} (SIZING_DEBUG=1 shows where)", err=True)
    _drop_output()
    return 1


def _open_closed_streams() -> None:
    """A stream that the caller closed leads nowhere: else the next file that is opened would get what is printed."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def _speak_utf8() -> None:
    """Output is UTF-8 whatever the locale; what no encoding can hold is written as an escape."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()


def _drop_output() -> None:
    """Send what is still buffered nowhere if it cannot be written, so that the interpreter does not complain."""
    try:
        _flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def main() -> NoReturn:
    """The process of a command. Looking for garbage would be a fifth of the time of an instant command."""
    gc.set_threshold(100_000, 10, 10)  # imports make many objects and hardly any garbage
    code = run()
    gc.freeze()  # what still lives goes with the process: nobody need look through it on the way out
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # all is said: Ctrl-C from here on ends the process without a word
    sys.exit(code)


if __name__ == "__main__":
    main()
