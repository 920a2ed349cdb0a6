"""The catalogs: names to checked entries, and entries to the objects of the physics.

Files are read when an entry of theirs is first asked for, and only that entry is checked; of the folders laid over the
shipped catalogs every entry is checked at once.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from sizing.catalog.border import LONGEST_NAME, LONGEST_TEXT, Entry, read_as
from sizing.catalog.figures import SourceKey
from sizing.catalog.folders import FILES, MODELS, catalogs_folder, overlay_folders
from sizing.catalog.layers import FileOfEntries, FolderOfEntries, Layer, Merged, WithEntries, merged
from sizing.catalog.published import published, source_keys
from sizing.units.document import KeyPath
from sizing.units.errors import BadInput, Problem, cut, shown
from sizing.units.names import nearest

if TYPE_CHECKING:
    from sizing.facility.bill_rules import BillRules
    from sizing.facility.pod import PodType
    from sizing.facility.system import System
    from sizing.pool.engines.profile import Engine
    from sizing.pool.gpu import Gpu
    from sizing.pool.precision import KvPrecision
    from sizing.sequence.model import ModelShape

SECTIONS = {
    "gpus": "GPU",
    "systems": "system",
    "models": "model",
    "precisions": "KV precision",
    "pods": "Pod",
    "engines": "engine",
    "bill_rules": "bill rules",
}
"""Sections that can be listed and shown, and what one entry of each is called."""

MOST_NAMED = 40  # of more names, or longer ones, a message lists none
NAME_ACCEPTED = "letters, digits, '.', '_' and '-', a letter or digit first"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def is_name(text: str) -> bool:
    """Whether an entry may be called so; files of models are named after their entry."""
    return _NAME.fullmatch(text) is not None and len(text) <= LONGEST_NAME


class SectionModule(Protocol):
    """What the module of a section, `sizing.catalog.<section>`, declares.

    `ENTRY` is the type of its entries, or gives it for the tree of one. `REFERENCES` are the keys that name entries of
    other sections: key -> section. `build(name, entry, **references)` makes the object that an entry describes; None
    where that is the entry itself.
    """

    ENTRY: type[Entry] | Callable[[Any], type[Entry]]
    REFERENCES: Mapping[str, str]
    build: Callable[..., Any] | None


def _module(section: str) -> SectionModule:
    """The module of a section, imported when needed: a command reads few sections."""
    return cast(SectionModule, import_module(f"sizing.catalog.{section}"))


class Catalog:
    """The shipped catalogs with the folders of `overlays` over them, the last on top.

    Raises BadInput, here for folders and entries of `overlays` that are not acceptable, all at once; later for unknown
    names, with the nearest known one.
    """

    def __init__(self, overlays: Sequence[Path] = ()) -> None:
        folders = (catalogs_folder(), *overlay_folders(overlays))
        self._sections: dict[str, FileOfEntries | FolderOfEntries | WithEntries] = {
            **{section: FileOfEntries(folders, file) for section, file in FILES.items()},
            MODELS: FolderOfEntries(folders),
        }
        self._entries: dict[tuple[str, str], Entry] = {}
        self._objects: dict[tuple[str, str], Any] = {}
        self._known_as: dict[tuple[str, str], str | tuple[Problem, ...]] = {}
        if len(folders) > 1:
            self._check_overlays()

    def including(self, models: Mapping[str, Layer]) -> "Catalog":
        """This catalog with models of a request, which replace those of the same name.

        Raises BadInput with all that is wrong with them.
        """
        other = copy(self)
        other._sections = {**self._sections, MODELS: WithEntries(self._sections[MODELS], models)}
        other._entries = {key: entry for key, entry in self._entries.items() if key[0] != MODELS}
        other._objects = {key: made for key, made in self._objects.items() if key[0] != MODELS}
        other._known_as = {key: known for key, known in self._known_as.items() if key[0] != MODELS}
        problems = [problem for name in models for problem in other._overlay_problems(MODELS, name)]
        if problems:
            raise BadInput(*cut([*dict.fromkeys(problems)]))
        return other

    def names(self, section: str) -> tuple[str, ...]:
        """The names of a section, in the order of its files; models in the order of their names."""
        return self._sections[section].names()

    def overlaid(self, section: str) -> tuple[str, ...]:
        """The names of a section in which a user's folder has a part."""
        return tuple(self._sections[section].overlaid())

    def gpu(self, name: str) -> "Gpu":
        """The GPU of that name."""
        return cast("Gpu", self._object("gpus", name))

    def system(self, name: str) -> "System":
        """The system of that name, with its GPU."""
        return cast("System", self._object("systems", name))

    def model(self, name: str) -> "ModelShape":
        """The model of that name, or with that Hugging Face id among its aliases."""
        return cast("ModelShape", self._object(MODELS, self._by_alias(MODELS, name)))

    def kv_precision(self, name: str) -> "KvPrecision":
        """The KV precision of that name or alias."""
        return cast("KvPrecision", self._object("precisions", self._by_alias("precisions", name)))

    def pod(self, name: str) -> "PodType":
        """The type of Pod of that name, with its bill rules."""
        return cast("PodType", self._object("pods", name))

    def engine(self, name: str) -> "Engine":
        """The engine profile of that name, or for the version in it; `ideal` with the reserve of decision 2."""
        return cast("Engine", self._object("engines", self._profile(name)))

    def bill_rules(self, name: str) -> "BillRules":
        """The bill rules of that name."""
        return cast("BillRules", self._object("bill_rules", name))

    def entry(self, section: str, name: str) -> dict[str, Any]:
        """A whole entry as plain data: figures with their units, every source as {title, address, date}."""
        if section in (MODELS, "precisions"):
            name = self._by_alias(section, name)
        elif section == "engines":
            name = self._profile(name)
        return {"name": name, **published(self._entry(section, name), self._source)}

    def model_as_written(self, name: str) -> dict[str, Any]:
        """The entry of a model as its file would state it, defaults left out; read again, it gives the same entry."""
        from sizing.catalog.written import entry_of, told_of

        return entry_of(self.model(name), told_of(self._entry(MODELS, self._by_alias(MODELS, name))))

    def _source(self, key: str) -> dict[str, Any]:
        return dict(self._entry("sources", key))

    def _object(self, section: str, name: str) -> Any:
        """What the entry of that name describes, with what it refers to."""
        if (section, name) not in self._objects:
            entry = self._entry(section, name)
            module = _module(section)
            referred = {key: getattr(entry, key) for key in module.REFERENCES}
            references = {
                key: None if other is None else self._object(module.REFERENCES[key], other)
                for key, other in referred.items()
            }
            self._objects[section, name] = module.build(name, entry, **references) if module.build else entry
        return self._objects[section, name]

    def _entry(self, section: str, name: str) -> Entry:
        """The checked entry of that name."""
        if (section, name) not in self._entries:
            found = self._merged(section, name)
            module = _module(section)
            kind = module.ENTRY if isinstance(module.ENTRY, type) else module.ENTRY(found.tree)
            entry: Entry = read_as(kind, found.document, found.path)
            problems = [*self._unknown_references(module, entry, found)]
            if found.overlaid:
                problems.extend(self._unknown_sources(entry, found))
            if problems:
                raise BadInput(*problems)
            self._entries[section, name] = entry
        return self._entries[section, name]

    def _merged(self, section: str, name: str) -> Merged:
        layers = self._sections[section].of(name)
        if not layers:
            raise BadInput(self._unknown(section, name))
        return merged(layers)

    def _unknown(self, section: str, name: str) -> Problem:
        known = self.names(section)
        what = f"{SECTIONS.get(section, 'source')} {shown(name)} is not known"
        named = ", ".join(known)
        few = len(known) <= MOST_NAMED and len(named) <= LONGEST_TEXT
        accepted = named if few else f"one of the {len(known)} that `sizing catalog {section}` lists"
        return Problem(what, accepted=accepted, nearest=nearest(name, known))

    def _by_alias(self, section: str, name: str) -> str:
        """The name of an entry by its name or by one of its aliases; looked up once, for many classes ask."""
        if (section, name) not in self._known_as:
            try:
                self._known_as[section, name] = self._look_up(section, name)
            except BadInput as unknown:
                self._known_as[section, name] = unknown.problems
        known = self._known_as[section, name]
        if isinstance(known, tuple):
            raise BadInput(*known)
        return known

    def _profile(self, name: str) -> str:
        from sizing.catalog.engines import engine_named  # the only section whose names have versions

        return engine_named(self, name)

    def _look_up(self, section: str, name: str) -> str:
        entries = self._sections[section]
        if name in entries.names():
            return name
        owners = [owner for owner in entries.mentions(name) if name in self._aliases(section, owner)]
        if len(owners) > 1:
            raise BadInput(Problem(f"alias {shown(name)} names more than one entry", accepted=", ".join(owners)))
        if owners:
            return owners[0]
        problem = self._unknown(section, name)
        aliases = {alias: owner for owner in self.names(section) for alias in self._aliases(section, owner)}
        alike = nearest(name, (*self.names(section), *aliases))
        raise BadInput(Problem(problem.what, accepted=problem.accepted, nearest=alike))

    def _aliases(self, section: str, name: str) -> tuple[str, ...]:
        entry: Any = self._entry(section, name)
        return tuple(entry.aliases)

    def _unknown_references(self, module: SectionModule, entry: Entry, found: Merged) -> Iterator[Problem]:
        for key, section in module.REFERENCES.items():
            name = getattr(entry, key)
            if name is not None and name not in self.names(section):
                said = self._unknown(section, name)
                yield found.document.problem((*found.path, key), said.what, None, said.accepted, said.nearest)

    def _unknown_sources(self, entry: Entry, found: Merged) -> Iterator[Problem]:
        known = self.names("sources")
        for key in sorted(source_keys(entry).difference(known)):
            what = f"source {shown(str(key))} is not known"
            alike = nearest(key, known)
            yield found.document.problem(_path_of(key, found), what, None, "a key of sources.yaml", alike)

    def _check_overlays(self) -> None:
        """Check every entry that a user's folder has a part in, and report all that is wrong."""
        problems: list[Problem] = []
        for section, entries in self._sections.items():
            try:
                names = entries.overlaid()
            except BadInput as error:
                problems.extend(error.problems)
                continue
            for name in names:
                problems.extend(self._overlay_problems(section, name))
        if problems:
            raise BadInput(*cut([*dict.fromkeys(problems)]))

    def _overlay_problems(self, section: str, name: str) -> Sequence[Problem]:
        try:
            found = self._merged(section, name)
            if not is_name(name):
                return (found.document.problem(found.path, "is no name of an entry", shown(name), NAME_ACCEPTED),)
            self._object(section, name)
        except BadInput as error:
            return error.problems
        return ()


def _path_of(key: SourceKey, found: Merged) -> KeyPath:
    """Where an entry names a source first."""
    pending: list[tuple[KeyPath, Any]] = [(found.path, found.tree)]
    while pending:
        path, tree = pending.pop(0)
        if tree == key:
            return path
        inner = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
        pending.extend(((*path, part), value) for part, value in inner)
    return found.path
