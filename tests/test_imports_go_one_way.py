"""The order of the house (CONTRIBUTING.md, "The house"): every module imports downwards only.

Imports inside functions count. What a type checker alone reads (`if TYPE_CHECKING:`) counts too: a layer that names
the types of one above it depends on it.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "sizing"

# Each may import itself and what stands after it.
ORDER = (
    "cli",
    "sizing",  # the Python API: modules directly in sizing/
    "report",
    "advice",
    "program",
    "plan",
    "request",
    "intake",
    "catalog",
    "facility",
    "pool",
    "sequence",
    "units",
)
# `report` reads plans and knows nothing of how they are found.
CLOSED = {("report", "advice"), ("report", "program")}

# Third-party packages and the only layers that may import them.
ROOMS = {
    "click": {"cli"},
    "pydantic": {"catalog", "request"},
    "pydantic_core": {"catalog", "request"},
    "pyomo": {"program"},
    "highspy": {"program"},
    "openpyxl": {"report"},
    "xlsxwriter": {"report"},
    "jinja2": {"report"},
    "markupsafe": {"report"},
    "weasyprint": {"report"},
    "yaml": {"units"},
}
# What takes too long to import for a command that must feel instant.
HEAVY = {"numpy", "pandas", "pyomo", "highspy", "openpyxl", "xlsxwriter", "jinja2", "weasyprint"}
HEAVY_FOR_HELP = HEAVY | {"pydantic", "yaml"}


class When(StrEnum):
    """When an import runs: with its module, when a function is called, or never (type checkers only)."""

    AT_ONCE = "at once"
    LATER = "later"
    NEVER = "never"


@dataclass(frozen=True)
class Import:
    """One imported module, by its full name."""

    module: str
    line: int
    when: When


def module_name(file: Path) -> str:
    parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_name(file): file for file in sorted(PACKAGE.rglob("*.py"))}


def layer(module: str) -> str:
    """The folder under sizing/ that a module stands in; `sizing` for those directly in it."""
    folder = (module + ".").split(".")[1]
    if folder == "__main__":
        return "cli"
    return folder if folder and (PACKAGE / folder).is_dir() else "sizing"


def imports_in(tree: ast.AST, module: str, when: When = When.AT_ONCE) -> Iterator[Import]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, node.lineno, when)
        elif isinstance(node, ast.ImportFrom):
            origin = node.module or ""
            if node.level:
                package = module.split(".") if FILES[module].name == "__init__.py" else module.split(".")[:-1]
                kept = package[: len(package) - node.level + 1]
                origin = ".".join([*kept, origin] if origin else kept)
            for alias in node.names:
                full = f"{origin}.{alias.name}"
                yield Import(full if full in FILES else origin, node.lineno, when)
        else:
            inner = when
            if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
                inner = When.NEVER
            elif when is When.AT_ONCE and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                inner = When.LATER
            yield from imports_in(node, module, inner)


@cache
def imports(module: str) -> tuple[Import, ...]:
    return tuple(imports_in(ast.parse(FILES[module].read_text(encoding="utf-8")), module))


def is_ours(module: str) -> bool:
    return module == "sizing" or module.startswith("sizing.")


def may_import(importer: str, imported: str) -> bool:
    return ORDER.index(importer) <= ORDER.index(imported) and (importer, imported) not in CLOSED


def test_every_folder_has_its_place_in_the_order() -> None:
    folders = {layer(module) for module in FILES}
    assert folders <= set(ORDER)
    assert set(ORDER) - {"sizing"} == {file.parent.name for file in PACKAGE.glob("*/__init__.py")}


@pytest.mark.parametrize("module", FILES)
def test_imports_go_one_way(module: str) -> None:
    wrong = [
        f"{FILES[module].relative_to(PACKAGE.parent)}:{found.line} imports {found.module}"
        for found in imports(module)
        if is_ours(found.module) and not may_import(layer(module), layer(found.module))
    ]
    assert not wrong, f"{layer(module)} imports a layer above it: {wrong}"


@pytest.mark.parametrize("module", FILES)
def test_libraries_stay_in_their_rooms(module: str) -> None:
    wrong = [
        f"{FILES[module].relative_to(PACKAGE.parent)}:{found.line} imports {found.module}"
        for found in imports(module)
        if layer(module) not in ROOMS.get(found.module.split(".")[0], {layer(module)})
    ]
    assert not wrong


def loaded_with(module: str, with_later: bool) -> set[str]:
    """Our modules that come in with `module`, `with_later` also those that its functions and theirs import.

    Packages above an import run too, but none of their functions does.
    """
    loaded: set[str] = set()
    waiting = [module]
    while waiting:
        current = waiting.pop()
        if current in loaded or current not in FILES:
            continue
        loaded.add(current)
        waiting.append(current.rpartition(".")[0])
        followed = {When.AT_ONCE}
        if with_later and FILES[current].name != "__init__.py":
            followed.add(When.LATER)
        waiting += [found.module for found in imports(current) if found.when in followed]
    return loaded


def heavy_at_once(modules: set[str], heavy: set[str]) -> list[str]:
    """Module-level imports of heavy libraries, as file:line."""
    return [
        f"{FILES[module].relative_to(PACKAGE.parent)}:{found.line} imports {found.module}"
        for module in sorted(modules)
        for found in imports(module)
        if found.when is When.AT_ONCE and found.module.split(".")[0] in heavy
    ]


def test_help_loads_nothing_heavy() -> None:
    modules = loaded_with("sizing.cli.main", with_later=False)
    assert "sizing.cli.main" in modules
    assert not heavy_at_once(modules, HEAVY_FOR_HELP)


@pytest.mark.parametrize("command", ["kv", "catalog"])
def test_nothing_that_an_instant_command_may_need_is_heavy(command: str) -> None:
    modules = loaded_with(f"sizing.cli.{command}", with_later=True)
    assert f"sizing.cli.{command}" in modules
    assert not heavy_at_once(modules, HEAVY)
    assert not {module for module in modules if layer(module) in {"program", "advice"}}


def test_the_test_itself_sees_upward_and_later_imports() -> None:
    text = """
import sizing.units.amounts
if TYPE_CHECKING:
    from sizing.plan import plan
def later():
    from sizing.cli import main
"""
    found = {(item.module, item.when) for item in imports_in(ast.parse(text), "sizing.units.amounts")}
    assert found == {
        ("sizing.units.amounts", When.AT_ONCE),
        ("sizing.plan.plan", When.NEVER),
        ("sizing.cli.main", When.LATER),
    }
    assert not may_import("units", "cli")
    assert not may_import("report", "program")
    assert not may_import("program", "report")
    assert may_import("report", "plan")
