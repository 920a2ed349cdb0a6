"""Where catalogs are: the shipped folder, and the folders that a user lays over it."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from sizing.units.errors import BadInput, Problem
from sizing.units.names import nearest

MODELS = "models"
FILES = {
    "sources": "sources.yaml",
    "gpus": "gpus.yaml",
    "systems": "systems.yaml",
    "precisions": "kv_precisions.yaml",
    "pods": "pods.yaml",
    "engines": "engines.yaml",
    "bill_rules": "bill_rules.yaml",
}
ACCEPTED = f"{', '.join(FILES.values())}, and {MODELS}/ with one YAML file a model"


def catalogs_folder() -> Path:
    """The shipped catalogs: inside the installed package, or beside it in a checkout."""
    package = Path(__file__).parent.parent
    for folder in (package / "catalogs", package.parent / "catalogs"):
        if (folder / FILES["sources"]).is_file():
            return folder
    raise BadInput(Problem("the shipped catalogs are missing", file=str(package / "catalogs")))


def overlay_folders(overlays: Sequence[Path]) -> tuple[Path, ...]:
    """The folders that a user names, checked: each exists and holds nothing that no section would read.

    Files whose name begins with a dot are passed over. Raises BadInput with all problems of all folders.
    """
    problems = [problem for folder in overlays for problem in _checked(folder)]
    if problems:
        raise BadInput(*problems)
    return tuple(overlays)


def model_files(folder: Path) -> dict[str, Path]:
    """The files of models in a folder of catalogs, by the name of the model."""
    files = sorted((folder / MODELS).glob("*.yaml"))
    return {path.stem: path for path in files if not path.name.startswith(".")}


def names_in(folder: Path, section: str) -> list[str]:
    """What the entries of a section are called in a folder; nothing where it has none that can be read.

    Names stand at the beginning of a line, so that no YAML need be parsed: this is for completion, which must be quick.
    """
    if section == MODELS:
        return list(model_files(folder))
    try:
        text = (folder / FILES[section]).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return []
    return re.findall(r"^([A-Za-z0-9][\w.-]*):", text, re.MULTILINE)


def _checked(folder: Path) -> list[Problem]:
    try:
        return list(_problems(folder))
    except OSError as error:
        return [Problem(f"cannot be read: {error.strerror}", file=str(folder))]


def _problems(folder: Path) -> Iterator[Problem]:
    if not folder.exists():
        beside = [path.name for path in folder.parent.iterdir() if path.is_dir()] if folder.parent.is_dir() else []
        alike = nearest(folder.name, beside)
        yield Problem(
            "no such folder of catalogs",
            file=str(folder),
            nearest=None if alike is None else str(folder.parent / alike),
        )
    elif not folder.is_dir():
        yield Problem("is no folder", file=str(folder), accepted=f"a folder of catalogs with {ACCEPTED}")
    else:
        for path in sorted(folder.iterdir()):
            if path.name.startswith("."):
                continue
            if path.name == MODELS and path.is_dir():
                yield from (
                    Problem("not a file of a model", file=str(inner), accepted="one YAML file a model, NAME.yaml")
                    for inner in sorted(path.iterdir())
                    if not inner.name.startswith(".") and (inner.suffix != ".yaml" or not inner.is_file())
                )
            elif path.name not in FILES.values() or not path.is_file():
                known = (*FILES.values(), MODELS)
                yield Problem(
                    "not a file of catalogs", file=str(path), accepted=ACCEPTED, nearest=nearest(path.name, known)
                )
