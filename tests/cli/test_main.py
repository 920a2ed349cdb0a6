"""The frame: lazy commands, help without imports, exit codes and clean messages."""

import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from sizing.cli import main as frame
from sizing.cli.main import COMMANDS, LazyCommand, commands, run
from sizing.units.errors import BadInput, CheckFailed, Problem

ROOT = Path(__file__).resolve().parent.parent.parent
CALL = "from sizing.cli.start import main; main()"


def process(*arguments: str, code: str = CALL, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        check=False,
        timeout=60,
    )


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> dict[str, LazyCommand]:
    """Commands of this test instead of the real ones; what each does is set as an attribute of the frame."""
    table: dict[str, LazyCommand] = {}
    monkeypatch.setattr(frame, "COMMANDS", table)
    return table


def offer(table: dict[str, LazyCommand], monkeypatch: pytest.MonkeyPatch, action: object) -> None:
    """A command `act` that raises `action`, or returns it."""

    @click.command()
    def act() -> object:
        if isinstance(action, BaseException):
            raise action
        click.echo("done")
        return action

    monkeypatch.setattr(frame, "act", act, raising=False)
    table["act"] = LazyCommand("sizing.cli.main", "act", "Act.")


@pytest.mark.parametrize("name", COMMANDS)
def test_short_help_is_that_of_the_command(name: str) -> None:
    command = commands.get_command(click.Context(commands), name)
    assert command is not None
    assert command.name == name
    assert command.get_short_help_str(limit=1000) == COMMANDS[name].short_help


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sizing", "--version"],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout == process("--version").stdout


def test_help_lists_every_command_and_imports_none() -> None:
    code = (
        "import sys\nfrom sizing.cli.main import run\nassert run(['--help']) == 0\n"
        "print(sorted(name for name in sys.modules if name.split('.')[0] in "
        "{'sizing', 'pydantic', 'yaml', 'pyomo', 'highspy', 'numpy', 'pandas', 'openpyxl', 'tabulate'}))"
    )
    done = process(code=code)
    assert done.returncode == 0, done.stderr
    text, modules = done.stdout.decode().rsplit("\n", 2)[:2]
    assert modules == "['sizing', 'sizing.cli', 'sizing.cli.main']"
    for name, lazy in COMMANDS.items():
        assert f"  {name} " in text
        assert lazy.short_help in text


def test_version(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda name: f"1.2.3 of {name}")
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == "sizing 1.2.3 of sizing\n"


@pytest.mark.parametrize("arguments", [["--nothing"], ["kv"], ["kv", "x", "--nothing"], ["catalog", "nothing"]])
def test_wrong_usage_is_2(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert run(arguments) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "Error: " in told.err
    assert "Traceback" not in told.err


def test_unknown_command_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["catalogue"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith(f"no such command (seen: 'catalogue'; accepted: {', '.join(COMMANDS)};")
    assert "did you mean 'catalog'?" in told.err


def test_no_command_at_all_is_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) in (0, 2)  # click 8.2 made this a usage error
    told = capsys.readouterr()
    assert "Commands:" in told.out + told.err


@pytest.mark.parametrize(
    ("action", "code", "message"),
    [
        (BadInput(Problem("one", "a.b", "f.yaml", 3), Problem("two")), 2, "f.yaml:3: a.b: one\ntwo\n"),
        (CheckFailed("power is 1 kW over"), 1, "power is 1 kW over\n"),
        (ZeroDivisionError("by\nzero"), 1, "internal error: ZeroDivisionError: by zero (SIZING_DEBUG=1 shows where)\n"),
        (KeyboardInterrupt(), 130, "interrupted\n"),
        (click.Abort(), 130, "interrupted\n"),
        (click.exceptions.Exit(5), 5, ""),
        (BrokenPipeError(), 0, ""),
    ],
)
def test_ways_out(
    offered: dict[str, LazyCommand],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    action: BaseException,
    code: int,
    message: str,
) -> None:
    monkeypatch.delenv("SIZING_DEBUG", raising=False)
    offer(offered, monkeypatch, action)
    assert run(["act"]) == code
    assert capsys.readouterr() == ("", message)


@pytest.mark.parametrize(("returned", "code"), [(None, 0), (0, 0), (3, 3), ("text", 0)])
def test_a_command_returns_its_exit_code(
    offered: dict[str, LazyCommand],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    returned: object,
    code: int,
) -> None:
    offer(offered, monkeypatch, returned)
    assert run(["act"]) == code
    assert capsys.readouterr().out == "done\n"


def test_traceback_only_where_asked_for(
    offered: dict[str, LazyCommand], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SIZING_DEBUG", "1")
    offer(offered, monkeypatch, ZeroDivisionError("by zero"))
    assert run(["act"]) == 1
    told = capsys.readouterr().err
    assert told.startswith("Traceback")
    assert told.endswith("ZeroDivisionError: by zero\n")


SPEAKS = (
    "import click\nfrom sizing.cli import main as frame\n"
    "frame.act = click.command()(lambda: click.echo('Köln 東京 \\udcff'))\n"
    "frame.COMMANDS['act'] = frame.LazyCommand('sizing.cli.main', 'act', 'Act.')\n"
    "raise SystemExit(frame.run(['act']))"
)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_output_is_utf_8_whatever_the_locale(encoding: str) -> None:
    done = process(code=SPEAKS, PYTHONIOENCODING=encoding, LC_ALL="C")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode("utf-8").splitlines() == ["Köln 東京 \\udcff"]


FLOODS = (
    "import click\nfrom sizing.cli import main as frame\n"
    "frame.act = click.command()(lambda: [click.echo('x' * 10_000) for _ in range(1_000)] and None)\n"
    "frame.COMMANDS['act'] = frame.LazyCommand('sizing.cli.main', 'act', 'Act.')\n"
    "raise SystemExit(frame.run(['act']))"
)


def test_a_reader_that_leaves_early_is_no_error() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", FLOODS],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as writer:
        assert writer.stdout is not None
        assert writer.stderr is not None
        writer.stdout.read(10)
        writer.stdout.close()
        told = writer.stderr.read()
        assert (writer.wait(timeout=60), told) == (0, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
def test_a_full_disk_is_one_clean_line() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-c", CALL, "--help"],
            stdout=full,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr.decode().count("\n") == 1
    assert done.stderr == b"the output cannot be written: no space is left\n"


@pytest.mark.parametrize("descriptor", [0, 1, 2])
def test_a_closed_stream_is_one_that_leads_nowhere(descriptor: int, tmp_path: Path) -> None:
    """A file that is opened later must not get the number of the stream, nor what is printed to it."""
    code = (
        f"import os; os.close({descriptor})\n"
        "import sys; sys.stdin, sys.stdout, sys.stderr = (\n"
        f"    None if number == {descriptor} else stream\n"
        "    for number, stream in enumerate((sys.stdin, sys.stdout, sys.stderr))\n"
        ")\n"
        "import click\nfrom sizing.cli import main as frame\n"
        "def act():\n"
        f"    with open({str(tmp_path / 'file')!r}, 'w') as file:\n"
        "        assert file.fileno() > 2\n"
        "        os.write(1, b'from C ')\n"
        "        click.echo('done')\n        click.echo('said', err=True)\n"
        "frame.act = click.command()(act)\n"
        "frame.COMMANDS['act'] = frame.LazyCommand('sizing.cli.main', 'act', 'Act.')\n"
        "raise SystemExit(frame.run(['act']))"
    )
    done = process(code=code)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (b"" if descriptor == 1 else b"from C done\n")
    assert done.stderr == (b"" if descriptor == 2 else b"said\n")
    assert (tmp_path / "file").read_bytes() == b""


@pytest.mark.skipif(os.name != "posix", reason="opens standard output for reading")
def test_output_that_cannot_be_written_is_one_clean_line() -> None:
    with Path(os.devnull).open("rb") as reading:
        done = subprocess.run(
            [sys.executable, "-c", CALL, "--help"],
            stdout=reading,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, b"the output cannot be written: it is not open for writing\n")


@pytest.mark.parametrize("section", ["models", "systems"])
def test_a_list_whose_reader_leaves_early_is_quiet(section: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", CALL, "catalog", section, "--json", "-"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    ) as writer:
        assert writer.stdout is not None
        assert writer.stderr is not None
        assert writer.stdout.readline() == b"{\n"
        writer.stdout.close()
        told = writer.stderr.read()
        assert (writer.wait(timeout=60), told) == (0, b"")


def test_ctrl_c_while_the_frame_is_imported_is_no_traceback() -> None:
    code = (
        "import sys, signal, os\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a job in the background ignores it from birth
        "class Interrupting:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'click':\n"
        "            signal.raise_signal(signal.SIGINT)\n"
        "sys.meta_path.insert(0, Interrupting())\n"
        "from sizing.cli.start import main\nmain()"
    )
    done = process("--help", code=code)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        (["solve", "w.yaml", "--json", ""], ["--json"]),
        (["solve", "w.yaml", "--out=", "--catalog", ""], ["--catalog", "--out"]),
        (["kv", ""], ["an argument"]),
        (["verify", "", "--catalog", ""], ["an argument", "--catalog"]),
        (["catalog", "models", ""], ["an argument"]),
    ],
)
def test_an_empty_argument_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: list[str], where: list[str]
) -> None:
    assert run(arguments) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == [f"{each}: is empty (accepted: a value)" for each in where]


def test_the_shell_completes_commands() -> None:
    done = process(_SIZING_COMPLETE="bash_complete", COMP_WORDS="sizing cat", COMP_CWORD="1")
    assert done.stdout.decode().split() == ["plain,catalog"]
