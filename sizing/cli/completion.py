"""What the shell may put in the place of a name. Entries are not read for it, only what they are called."""

from collections.abc import Callable, Iterable
from pathlib import Path

from click import Context, Parameter
from click.shell_completion import CompletionItem

Completion = Callable[[Context, Parameter, str], list[CompletionItem]]


def entries(section: str) -> Completion:
    """Names of a section of the catalogs: those that are shipped, and those of the folders named before."""

    def complete(context: Context, _parameter: Parameter, typed: str) -> list[CompletionItem]:
        return _beginning_with(typed, _names(section, context))

    return complete


def entries_of_named_section(context: Context, _parameter: Parameter, typed: str) -> list[CompletionItem]:
    """Names of the section that the argument before says."""
    section = context.params.get("section")
    return _beginning_with(typed, _names(section, context)) if section else []


def models_or_files(context: Context, _parameter: Parameter, typed: str) -> list[CompletionItem]:
    """Models by name; files where a path is being typed."""
    found = _beginning_with(typed, _names("models", context))
    return found or [CompletionItem(typed, type="file")]


def folders(_context: Context, _parameter: Parameter, typed: str) -> list[CompletionItem]:
    """Folders, which the shell itself knows."""
    return [CompletionItem(typed, type="dir")]


def choices(names: Iterable[str]) -> Completion:
    """Some of a few names."""

    def complete(_context: Context, _parameter: Parameter, typed: str) -> list[CompletionItem]:
        return _beginning_with(typed, names)

    return complete


def _beginning_with(typed: str, names: Iterable[str]) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(typed)]


def _names(section: str, context: Context) -> list[str]:
    from sizing.catalog.folders import catalogs_folder, names_in

    laid_over = [Path(folder) for folder in context.params.get("folders") or ()]
    return sorted({name for folder in (catalogs_folder(), *laid_over) for name in names_in(folder, section)})
