"""Entries in layers: what is shipped, and what a user's folders change of it, key by key.

Mappings are merged key by key, the later layer wins. A figure (a mapping with a `value`) is replaced whole, so that no
value keeps the source of another. A figure that a layer adds is no longer `missing`. An entry with `replaces: true`
stands in place of what is under it: nothing of that is kept.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sizing.catalog.folders import model_files
from sizing.units.document import Document, KeyPath, read_document
from sizing.units.errors import BadInput, Problem, shown
from sizing.units.quantities import NotAccepted, parse_flag

REPLACES = "replaces"


@dataclass(frozen=True, slots=True)
class Layer:
    """One folder's part of an entry: a value in a document. `shipped` is False for a folder of the user."""

    document: Document
    path: KeyPath
    shipped: bool

    @property
    def tree(self) -> Any:
        tree = self.document.tree
        for part in self.path:
            tree = tree[part]
        return tree


@dataclass(frozen=True, slots=True)
class LayeredDocument(Document):
    """Layers merged into one value at `path`; a problem is told of the user's layer that its value came from.

    What is shipped is right by itself: where a shipped value is wrong, what a user's layer says beside it made it so.
    """

    layers: tuple[Layer, ...] = ()

    def problem(
        self,
        path: KeyPath,
        what: str,
        seen: str | None = None,
        accepted: str | None = None,
        nearest: str | None = None,
    ) -> Problem:
        """A fault of the value at `path`, with file and line of the last of the user's layers that has most of it."""
        below = path[len(self.layers[0].path) :]
        own = [layer for layer in self.layers if not layer.shipped] or self.layers
        layer = max(reversed(own), key=lambda layer: _depth(layer.tree, below))
        return layer.document.problem((*layer.path, *below), what, seen, accepted, nearest)


@dataclass(frozen=True, slots=True)
class Merged:
    """An entry: the value at `path` of a document. `overlaid` where a user's folder has a part in it."""

    document: Document
    path: KeyPath
    overlaid: bool

    @property
    def tree(self) -> Any:
        return Layer(self.document, self.path, not self.overlaid).tree


def merged(layers: tuple[Layer, ...]) -> Merged:
    """All layers of one entry as one value, the last on top, from the last that replaces what is under it.

    Raises BadInput where `replaces` is neither true nor false.
    """
    replacing = [place for place, layer in enumerate(layers) if _replaces(layer)]
    layers = tuple(_without_replaces(layer) for layer in layers[max(replacing, default=0) :])
    last = layers[-1]
    overlaid = not all(layer.shipped for layer in layers)
    if len(layers) == 1:
        return Merged(last.document, last.path, overlaid)
    tree = layers[0].tree
    for layer in layers[1:]:
        tree = _merge(tree, layer.tree)
    for part in reversed(last.path):
        tree = {part: tree}
    return Merged(LayeredDocument(last.document.file, tree, layers=layers), last.path, overlaid)


def _replaces(layer: Layer) -> bool:
    """Whether an entry stands in place of the layers under it."""
    if not isinstance(layer.tree, dict) or REPLACES not in layer.tree:
        return False
    stated = layer.tree[REPLACES]
    try:
        return parse_flag(stated)
    except NotAccepted as refused:
        where = (*layer.path, REPLACES)
        raise BadInput(layer.document.problem(where, refused.what, shown(stated), refused.accepted)) from None


def _without_replaces(layer: Layer) -> Layer:
    """The same entry without the key, which is none of its kind."""
    if not isinstance(layer.tree, dict) or REPLACES not in layer.tree:
        return layer
    tree: Any = {key: value for key, value in layer.tree.items() if key != REPLACES}
    for part in reversed(layer.path):
        tree = {part: tree}
    return replace(layer, document=replace(layer.document, tree=tree))


def _merge(under: Any, over: Any) -> Any:
    if not (isinstance(under, dict) and isinstance(over, dict)) or "value" in under or "value" in over:
        return over
    both = {**under, **{key: _merge(under[key], value) if key in under else value for key, value in over.items()}}
    return _with_missing(both, over)


def _with_missing(tree: Any, over: Any) -> Any:
    """`tree` without the explanations of what `over` gives."""
    if not (isinstance(tree, dict) and isinstance(over, dict) and isinstance(tree.get("missing"), dict)):
        return tree
    told = over.get("missing")
    kept = {
        key: why
        for key, why in tree["missing"].items()
        if (isinstance(told, dict) and key in told) or _value_at(over, key) is None
    }
    return {**tree, "missing": kept}


def _value_at(tree: Any, dotted: str) -> Any:
    for part in dotted.split("."):
        tree = tree.get(part) if isinstance(tree, dict) else None
    return tree


def _depth(tree: Any, path: KeyPath) -> int:
    """How many parts of `path` exist in `tree`."""
    for depth, part in enumerate(path):
        try:
            tree = tree[part]
        except (KeyError, IndexError, TypeError):
            return depth
    return len(path)


class FileOfEntries:
    """The section that one file a folder holds: a mapping of names to entries."""

    def __init__(self, folders: tuple[Path, ...], file: str) -> None:
        self._paths = tuple(folder / file for folder in folders)
        self._layers: dict[str, tuple[Layer, ...]] | None = None

    def layers(self) -> Mapping[str, tuple[Layer, ...]]:
        """All entries, those of the first folder first; read when first asked for."""
        if self._layers is None:
            found: dict[str, tuple[Layer, ...]] = {}
            for path in self._paths:
                if path.exists():
                    document = read_document(path)
                    for name in _names(document):
                        found[name] = (*found.get(name, ()), Layer(document, (name,), path is self._paths[0]))
            self._layers = found
        return self._layers

    def names(self) -> tuple[str, ...]:
        return tuple(self.layers())

    def overlaid(self) -> tuple[str, ...]:
        """The names of entries in which a user's folder has a part; nothing is read where it has no such file."""
        if not any(path.exists() for path in self._paths[1:]):
            return ()
        return tuple(name for name, layers in self.layers().items() if not layers[-1].shipped)

    def of(self, name: str) -> tuple[Layer, ...]:
        """The layers of one entry; empty for an unknown name."""
        return self.layers().get(name, ())

    def mentions(self, text: str) -> Iterator[str]:
        """Entries that may contain `text`."""
        yield from self.layers()


class FolderOfEntries:
    """The section that has one file an entry, named after it. Only what is asked for is read."""

    def __init__(self, folders: tuple[Path, ...]) -> None:
        self._folders = folders
        self._paths: dict[str, list[tuple[Path, bool]]] | None = None
        self._contents: dict[str, bytes] | None = None

    def _files(self) -> dict[str, list[tuple[Path, bool]]]:
        """(file, whether it is shipped) of every layer, by entry."""
        if self._paths is None:
            found: dict[str, list[tuple[Path, bool]]] = {}
            for folder in self._folders:
                for name, path in model_files(folder).items():
                    found.setdefault(name, []).append((path, folder is self._folders[0]))
            self._paths = found
        return self._paths

    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self._files()))

    def overlaid(self) -> tuple[str, ...]:
        """The names of entries in which a user's folder has a part."""
        return tuple(sorted(name for name, paths in self._files().items() if not paths[-1][1]))

    def of(self, name: str) -> tuple[Layer, ...]:
        """The layers of one entry; empty for an unknown name."""
        return tuple(Layer(read_document(path), (), shipped) for path, shipped in self._files().get(name, []))

    def mentions(self, text: str) -> Iterator[str]:
        """Entries whose files contain `text`, found without parsing them."""
        if self._contents is None:
            files = sorted(self._files().items())
            self._contents = {name: b"\n".join(path.read_bytes() for path, _ in paths) for name, paths in files}
        wanted = text.encode(errors="surrogatepass")
        yield from (name for name, content in self._contents.items() if wanted in content)


class WithEntries:
    """A section with entries in its place for one request: they replace those of the same name whole."""

    def __init__(self, section: "FileOfEntries | FolderOfEntries | WithEntries", entries: Mapping[str, Layer]) -> None:
        self._section, self._entries = section, entries

    def names(self) -> tuple[str, ...]:
        return tuple(sorted({*self._section.names(), *self._entries}))

    def overlaid(self) -> tuple[str, ...]:
        return tuple(self._entries)

    def of(self, name: str) -> tuple[Layer, ...]:
        """The layers of one entry; empty for an unknown name."""
        return (self._entries[name],) if name in self._entries else self._section.of(name)

    def mentions(self, text: str) -> Iterator[str]:
        """Entries that may contain `text`."""
        yield from self._entries
        yield from (name for name in self._section.mentions(text) if name not in self._entries)


def _names(document: Document) -> Iterator[str]:
    if not isinstance(document.tree, dict):
        raise BadInput(document.problem((), "is no mapping", accepted="a mapping of names to entries"))
    yield from document.tree
