"""Models that a workload brings along: shapes under `models`, and paths to configurations in its classes.

A path is read here and nowhere later: what enters the request is the shape, under the name of its file or folder. Where
other models go by that name, the folders around tell them apart.
"""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sizing.catalog.catalog import is_name
from sizing.catalog.layers import Layer
from sizing.intake.paths import PATH_ACCEPTED, exists, is_path, path_of
from sizing.units.document import Document, KeyPath, key_path
from sizing.units.errors import BadInput, Problem, shown

if TYPE_CHECKING:
    from sizing.catalog.catalog import Catalog
    from sizing.sequence.model import ModelShape

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
        for index, item in enumerate(classes):
            read.look(index, item)
        read.name_files()
        tree = {**tree, "classes": [read.resolved(index, item) for index, item in enumerate(classes)]}
    problems, unread = read.problems, read.unread
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


def notes_of_models(models: Iterable["ModelShape"]) -> tuple[str, ...]:
    """What the files of models leave open or ask for, each sentence with the model's name."""
    named = {model.name: model for model in models}
    return tuple(f"{name}: {note}" for name in sorted(named) for note in named[name].notes)


@dataclass(slots=True)
class _File:
    """A configuration that classes name. `folders` are those around it that may tell it apart, the nearest first."""

    layer: Layer
    own_name: str
    folders: tuple[str, ...]
    named_by: list[KeyPath]
    told_apart_by: int = 0

    @property
    def name(self) -> str:
        return self._name(self.told_apart_by)

    @property
    def can_be_longer(self) -> bool:
        """Whether one folder more makes a name."""
        return self.told_apart_by < len(self.folders) and is_name(self._name(self.told_apart_by + 1))

    def _name(self, folders: int) -> str:
        return "-".join((*reversed(self.folders[:folders]), self.own_name))


class _Paths:
    """Paths of classes, read one by one, then named, into `layers`; what is wrong is collected."""

    def __init__(self, document: Document, catalog: "Catalog", folder: Path | None, layers: dict[str, Layer]) -> None:
        self.problems: list[Problem] = []
        self.unread: set[str] = set()
        self._document, self._catalog, self._folder, self._layers = document, catalog, folder, layers
        self._files: dict[Path, _File | None] = {}
        self._by_class: dict[KeyPath, _File] = {}
        self._by_name: list[tuple[KeyPath, str]] = []

    def look(self, index: int, item: Any) -> None:
        """Read the file that a class names, if it names one."""
        model = item.get("model") if isinstance(item, Mapping) else None
        if not isinstance(model, str):
            return
        where = ("classes", index, "model")
        if not is_path(model):
            self._by_name.append((where, model))
            return
        found = self._read(where, model)
        if found is None:
            self.unread.add(key_path(where))
            return
        found.named_by.append(where)
        self._by_class[where] = found

    def name_files(self) -> None:
        """Give every file a name that no other model of the workload has, by as few of its folders as will do."""
        files = [found for found in self._files.values() if found is not None]
        of_catalog = set(self._of_catalog()) if files else set()
        alike = _alike(files, self._layers, of_catalog)
        while alike:
            stuck = [found for found in alike if not found.can_be_longer]
            if stuck:
                self.problems += [self._same_name(found.named_by[0]) for found in stuck]
                self.unread |= {key_path(where) for found in alike for where in found.named_by}
                files = [found for found in files if found not in alike]
                break
            for found in alike:
                found.told_apart_by += 1
            alike = _alike(files, self._layers, of_catalog)
        for found in files:
            self._layers.setdefault(found.name, found.layer)

    def resolved(self, index: int, item: Any) -> Any:
        """A class as it was written, with the name of its model where that is given by path."""
        where = ("classes", index, "model")
        if where not in self._by_class:
            return item
        name = self._by_class[where].name
        self._by_name.append((where, name))
        return {**item, "model": name}

    def named(self, models: Container[str]) -> set[str]:
        """The keys of classes whose model is one of `models`."""
        return {key_path(where) for where, model in self._by_name if model in models}

    def _of_catalog(self) -> Iterable[str]:
        """The names of the models that classes have from the catalog."""
        for model in dict.fromkeys(model for _, model in self._by_name):
            try:
                yield self._catalog.model(model).name
            except BadInput:
                continue  # told where names are resolved

    def _read(self, where: KeyPath, model: str) -> _File | None:
        if self._folder is None:
            self.problems.append(
                self._document.problem(where, "a path says nothing here", shown(model), "the name of a model")
            )
            return None
        path = self._folder / path_of(model)
        if path not in self._files:
            self._files[path] = self._file(where, model, path)
        return self._files[path]

    def _file(self, where: KeyPath, model: str, path: Path) -> _File | None:
        if not exists(path):
            self.problems.append(self._document.problem(where, "no such file", shown(model), PATH_ACCEPTED))
            return None
        from sizing.intake.entry import entry_name, imported_entry

        try:
            found = imported_entry(path)
        except BadInput as error:
            self.problems += error.problems
            return None
        place = (path if path.is_dir() else path.parent).resolve()
        folders = [entry_name(folder) for folder in reversed(place.parts[1:])]
        around = folders[1:] if folders[:1] == [found.name] else folders
        return _File(Layer(Document(str(path), found.entry), (), False), found.name, tuple(around), [])

    def _same_name(self, where: KeyPath) -> Problem:
        model = self._document.tree["classes"][where[1]]["model"]
        what = "another model of the workload has the same name, and no folder around tells them apart"
        return self._document.problem(where, what, shown(model), "another name of the file or of its folder")


def _alike(files: Iterable[_File], stated: Mapping[str, Layer], of_catalog: Container[str]) -> list[_File]:
    """The files whose name another model has: another file, one under `models`, or one of the catalog."""
    several = [*files]
    trees: dict[str, list[Any]] = {}
    for name, tree in [*((each.name, each.layer.tree) for each in several), *((n, s.tree) for n, s in stated.items())]:
        others = trees.setdefault(name, [])
        if tree not in others:
            others.append(tree)
    return [each for each in several if len(trees[each.name]) > 1 or each.name in of_catalog]
