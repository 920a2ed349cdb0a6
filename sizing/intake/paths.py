"""Whether the name of a model is a path to its configuration. Imports nothing: every use of a name asks this."""

PATH_ACCEPTED = "a catalog name, the Hugging Face id of a model in the catalog, or a path to a config.json"


def is_path(name: str) -> bool:
    """A name that ends in .json, or begins as a path does; an id such as `owner/model` is none."""
    return name.endswith(".json") or name.startswith((".", "/", "~", "\\")) or name[1:3] in (":\\", ":/")
