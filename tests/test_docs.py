"""The docs say what the commands, the catalogs and the decisions are: held by tests, not by good will."""

import re
from pathlib import Path

import click
import pytest

from docs.generate_commands import PAGE, PROGRAM, commands, contexts, page

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


def test_commands_page_is_what_help_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `make docs`"


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
