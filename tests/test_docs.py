"""The docs say what the commands, the catalogs and the decisions are: held by tests, not by good will."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
import pytest

import sizing
from docs.generate_commands import PAGE, PROGRAM, commands, contexts
from docs.generate_readme import README, block, fenced, printed_answer
from sizing.catalog.catalog import Catalog
from sizing.cli.main import run
from sizing.request.schema import (
    ClassEntry,
    EnergyEntry,
    InstalledEntry,
    NamedSiteEntry,
    PolicyEntry,
    PricesEntry,
    Workload,
)

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md"), *ROOT.glob("[a-z]*/README.md")])


COMMANDS = {context.command_path: context for context in contexts(commands, PROGRAM)}


def slug(heading: str) -> str:
    """The anchor that a forge gives a heading: letters, digits, hyphens and underscores; blanks become hyphens."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")


def without_code(text: str) -> str:
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(file: Path) -> set[str]:
    text = without_code(file.read_text(encoding="utf-8"))
    return {slug(heading) for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE)}


def test_commands_page_is_what_help_says(tmp_path: Path) -> None:
    fresh = (
        tmp_path / "commands.md"
    )  # from a process of its own: click remembers how a command was first asked for help
    subprocess.run([sys.executable, "-m", "docs.generate_commands", str(fresh)], cwd=ROOT, check=True)
    assert PAGE.read_text(encoding="utf-8") == fresh.read_text(encoding="utf-8"), "run `make docs`"


def test_readme_shows_what_make_solve_prints() -> None:
    readme = README.read_text(encoding="utf-8")
    assert block(readme, "answer") == fenced(printed_answer()), "run `make readme`"


@pytest.mark.parametrize("path", COMMANDS)
def test_every_command_and_option_has_help(path: str) -> None:
    command = COMMANDS[path].command
    assert command.help
    silent = [
        parameter.name
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.hidden and not parameter.help
    ]
    assert not silent


@pytest.mark.parametrize("file", PAGES, ids=lambda file: str(file.relative_to(ROOT)))
def test_links_resolve(file: Path) -> None:
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(file.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        linked = (file.parent / name).resolve() if name else file
        if not linked.exists() or (anchor and anchor not in anchors(linked)):
            broken.append(target)
    assert not broken


def test_every_page_is_reached_from_the_index() -> None:
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    assert {file.name for file in DOCS.glob("*.md")} - {"README.md"} <= set(re.findall(r"\]\(([\w-]+\.md)\)", index))


def test_decisions_that_are_cited_exist() -> None:
    numbers = {int(number) for number in re.findall(r"^## (\d+)\. ", (DOCS / "decisions.md").read_text("utf-8"), re.M)}
    assert numbers == set(range(1, len(numbers) + 1))
    cited = {
        int(number)
        for folder, ending in (("sizing", "py"), ("catalogs", "yaml"), ("workloads", "yaml"), ("docs", "md"))
        for file in (ROOT / folder).rglob(f"*.{ending}")
        for number in re.findall(r"\bdecision (\d+)", file.read_text(encoding="utf-8"))
    }
    assert cited
    assert cited <= numbers


def yaml_blocks(file: Path) -> list[str]:
    return re.findall(r"^```yaml\n(.*?)^```$", file.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


WORKLOADS = [(file.name, text) for file in PAGES for text in yaml_blocks(file) if re.search(r"^classes:", text, re.M)]


@pytest.mark.parametrize("text", [text for _, text in WORKLOADS], ids=[name for name, _ in WORKLOADS])
def test_workloads_in_the_docs_are_accepted(text: str, tmp_path: Path) -> None:
    file = tmp_path / "example.yaml"
    file.write_text(text, encoding="utf-8")
    assert sizing.load_workload(file).classes


def test_entries_in_the_docs_lie_over_the_shipped_catalogs(tmp_path: Path) -> None:
    written = 0
    for text in yaml_blocks(DOCS / "catalogs.md"):
        named = re.match(r"# mine/([\w.]+)\n", text)
        if named:
            with (tmp_path / named[1]).open("a", encoding="utf-8") as file:
                file.write(text)
            written += 1
    catalog = Catalog([tmp_path])
    assert written == 4
    assert catalog.pod("our-pod").it_power_kw == Fraction(600) / Fraction("1.15")
    assert {float(catalog.system(name).nameplate_kw.value) for name in ("our-h200-8", "hgx-h200-8")} == {9.8}


HELD_BY_NAME = {"fill", "planned", "systems", "sequences", "by_model"}  # keys are systems, classes, models
DOCUMENTED_ELSEWHERE = {"request", "entries"}


def keys_of(value: Any, are_names: bool = False) -> Iterator[str]:
    """Every key of a JSON document."""
    if isinstance(value, list):
        for each in value:
            yield from keys_of(each)
    elif isinstance(value, dict):
        for key, inner in value.items():
            if not are_names:
                yield key
            if key not in DOCUMENTED_ELSEWHERE:
                yield from keys_of(inner, key in HELD_BY_NAME)


def words_of(file: Path) -> set[str]:
    return set(re.findall(r"\w+", file.read_text(encoding="utf-8")))


def json_of(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> Any:
    assert run(arguments) == 0
    return json.loads(capsys.readouterr().out)


def test_outputs_page_names_every_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    workload = tmp_path / "small.yaml"
    workload.write_text(
        "name: Small\n"
        "classes: [{name: chat, model: llama-3.1-8b, context: 4k, concurrency: 10}]\n"
        "policy: {systems: [hgx-h200-8]}\n"
    )
    plan = json_of(["solve", str(workload), "--json", "-", "--out", str(tmp_path)], capsys)
    kv = json_of(["kv", "llama-3.1-70b", "--system", "hgx-h200-8", "--json", "-"], capsys)
    assert {"status", "kv_budget_bytes"} <= set(keys_of([plan, kv])) <= words_of(DOCS / "outputs.md")


def test_workload_page_names_every_key() -> None:
    site = (NamedSiteEntry, InstalledEntry)
    policy = (PolicyEntry, PricesEntry, EnergyEntry)
    keys = {key for entry in (Workload, ClassEntry, *site, *policy) for key in entry.model_fields}
    rows = set(re.findall(r"^\| `(\w+)` \|", (DOCS / "workload.md").read_text(encoding="utf-8"), re.MULTILINE))
    assert keys == rows
