"""Whether the name of a model is a path to its configuration: every use of a name asks this, so it imports little."""

from pathlib import Path

PATH_ACCEPTED = "a catalog name, the Hugging Face id of a model in the catalog, or a path to a config.json"


def is_path(name: str) -> bool:
    """A name that ends in .json, or begins as a path does; an id such as `owner/model` is none."""
    return name.endswith(".json") or name.startswith((".", "/", "~", "\\")) or name[1:3] in (":\\", ":/")


def is_file(path: Path) -> bool:
    """Whether there is a file; none where no file system would take such a name."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def exists(path: Path) -> bool:
    """Whether there is anything; nothing where no file system would take such a name."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def path_of(name: str) -> Path:
    """The path that a name says, `~` as the home of its user; as it is written where nobody is called so."""
    try:
        return Path(name).expanduser()
    except RuntimeError:
        return Path(name)
