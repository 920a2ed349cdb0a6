"""Models that a workload brings along: shapes under `models`, and paths to configurations in its classes.

A path is read here and nowhere later: what enters the request is the shape, under the name of its file.
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sizing.catalog.layers import Layer
from sizing.intake.paths import PATH_ACCEPTED, is_path
from sizing.units.document import Document, KeyPath, key_path
from sizing.units.errors import BadInput, Problem, shown

if TYPE_CHECKING:
    from sizing.catalog.catalog import Catalog

KEY = "models"


@dataclass(frozen=True, slots=True)
class Brought:
    """A workload with names in place of paths, the catalog with its models, their names, and what is wrong with them.

    `unread` are the keys of models that say no more than what `problems` say already.
    """

    document: Document
    catalog: "Catalog"
    models: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    unread: frozenset[str] = frozenset()


def with_models(document: Document, catalog: "Catalog", folder: Path | None) -> Brought:
    """Read the models that a workload brings along. Paths are relative to `folder`; without one they are refused."""
    tree = document.tree
    if not isinstance(tree, Mapping):
        return Brought(document, catalog)
    stated = tree.get(KEY)
    names = [name for name in stated if isinstance(name, str)] if isinstance(stated, Mapping) else []
    layers = {name: Layer(document, (KEY, name), False) for name in names}
    read = _Paths(document, catalog, folder, layers)
    classes = tree.get("classes")
    if isinstance(classes, list | tuple):
        tree = {**tree, "classes": [read.resolved(index, item) for index, item in enumerate(classes)]}
    problems, unread = [*read.problems, *read.clashes()], read.unread
    found = catalog
    if layers:
        try:
            found = catalog.including(layers)
        except BadInput as error:
            problems += error.problems
            unread |= read.named(layers)
    return Brought(
        replace(document, tree=tree), found, tuple(layers), tuple(dict.fromkeys(problems)), frozenset(unread)
    )


class _Paths:
    """Paths of classes, read one by one into `layers`; what is wrong is collected."""

    def __init__(self, document: Document, catalog: "Catalog", folder: Path | None, layers: dict[str, Layer]) -> None:
        self.problems: list[Problem] = []
        self.unread: set[str] = set()
        self._document, self._catalog, self._folder, self._layers = document, catalog, folder, layers
        self._by_path: dict[Path, str] = {}
        self._by_name: list[tuple[KeyPath, str]] = []
        self._by_catalog: list[tuple[KeyPath, str]] = []

    def resolved(self, index: int, item: Any) -> Any:
        """A class as it was written, with the name of its model where that is given by path."""
        model = item.get("model") if isinstance(item, Mapping) else None
        if not isinstance(model, str):
            return item
        where = ("classes", index, "model")
        if not is_path(model):
            self._by_name.append((where, model))
            self._by_catalog.append((where, model))
            return item
        name = self._read(where, model)
        if name is None:
            self.unread.add(key_path(where))
            return item
        self._by_name.append((where, name))
        return {**item, "model": name}

    def named(self, models: Container[str]) -> set[str]:
        """The keys of classes whose model is one of `models`."""
        return {key_path(where) for where, model in self._by_name if model in models}

    def clashes(self) -> list[Problem]:
        """Classes that name a model of the catalog as a file of another class is named."""
        of_files = set(self._by_path.values())
        problems = []
        for where, model in self._by_catalog:
            try:
                name = self._catalog.model(model).name
            except BadInput:
                continue  # told where names are resolved
            if name in of_files:
                self.unread.add(key_path(where))
                problems.append(self._same_name(where, model, "that of the catalog and that of a file"))
        return problems

    def _read(self, where: KeyPath, model: str) -> str | None:
        if self._folder is None:
            self.problems.append(
                self._document.problem(where, "a path says nothing here", shown(model), "the name of a model")
            )
            return None
        path = self._folder / Path(model).expanduser()
        if path in self._by_path:
            return self._by_path[path]
        if not path.exists():
            self.problems.append(self._document.problem(where, "no such file", shown(model), PATH_ACCEPTED))
            return None
        from sizing.intake.entry import imported_entry

        try:
            found = imported_entry(path)
        except BadInput as error:
            self.problems += error.problems
            return None
        layer = Layer(Document(str(path), found.entry), (), False)
        if found.name in self._layers and self._layers[found.name].tree != layer.tree:
            self.problems.append(self._same_name(where, model, "those of two files, or of a file and of models"))
            return None
        self._layers.setdefault(found.name, layer)
        self._by_path[path] = found.name
        return found.name

    def _same_name(self, where: KeyPath, model: str, which: str) -> Problem:
        what = f"two models have the same name: {which}"
        return self._document.problem(where, what, shown(model), "another name of the file or of its folder")
