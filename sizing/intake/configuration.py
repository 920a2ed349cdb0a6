"""Reading a configuration with types: aliases, absent keys, class defaults, and every problem collected.

A getter that finds nothing usable notes the problem and returns a stand-in, so that reading goes on and all problems
are told at once; `finish` raises them, and nothing is built from a stand-in.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from sizing.units.errors import BadInput, Problem, shown

STAND_IN = 1
MOST_LAYERS = 10_000
LARGEST = 10**13  # no size in any configuration comes near it
ABSENT = object()


class Configuration:
    """One mapping of a configuration file.

    `path` is where it stands in the file, `defaults` what absent keys mean. `taken` collects the keys for which a
    default was used, `read` those that were asked for.
    """

    def __init__(
        self,
        tree: Mapping[str, Any],
        file: str,
        path: tuple[str, ...] = (),
        defaults: Mapping[str, Any] | None = None,
        around: "Configuration | None" = None,
    ) -> None:
        self.tree = tree
        self.file = file
        self.path = path
        self.defaults: Mapping[str, Any] = defaults or {}
        self.problems: list[Problem] = [] if around is None else around.problems
        self.taken: list[str] = [] if around is None else around.taken
        self.around = around
        self.read: set[str] = set()

    def name(self, key: str) -> str:
        """A key as a user would point at it."""
        return ".".join((*self.path, key))

    def refuse(self, what: str, key: str = "", seen: Any = ABSENT, accepted: str | None = None) -> None:
        """Note a problem."""
        stated = None if seen is ABSENT else shown(seen)
        self.problems.append(Problem(what, self.name(key), self.file or None, seen=stated, accepted=accepted))

    def contradict(self, what: str, key: str = "", seen: Any = ABSENT, accepted: str | None = None) -> None:
        """Note that a value does not go with others; not where a stand-in may be among them."""
        if not self.problems:
            self.refuse(what, key, seen, accepted)

    def finish(self) -> None:
        """Raise BadInput with every problem that was noted."""
        if self.problems:
            raise BadInput(*dict.fromkeys(self.problems))

    def raw(self, *keys: str) -> Any:
        """The value of the first of `keys` that is there and not null, else the class default, else ABSENT."""
        self.read.update(keys)
        present = [key for key in keys if key in self.tree]
        for key in present:
            if self.tree[key] is not None:
                return self.tree[key]
        if not present:
            for key in keys:
                if self.defaults.get(key) is not None:
                    self._take(key)
                    return self.defaults[key]
        return ABSENT

    def has(self, *keys: str) -> bool:
        return self.raw(*keys) is not ABSENT

    def _whole(self, value: Any, key: str, least: int) -> int:
        whole = int(value) if isinstance(value, float) and value.is_integer() else value
        if isinstance(whole, bool) or not isinstance(whole, int) or not least <= whole <= LARGEST:
            self.refuse("is no size", key, value, f"a whole number of {least} to {LARGEST:,}")
            return max(STAND_IN, least)
        return whole

    def count(self, *keys: str, least: int = 1) -> int:
        """A size that must be stated."""
        found = self.optional(*keys, least=least)
        if found is None:
            self.refuse("is missing", keys[0], accepted=None if len(keys) == 1 else f"one of {', '.join(keys)}")
            return STAND_IN
        return found

    def optional(self, *keys: str, least: int = 1) -> int | None:
        """A size, or None where it is absent or null."""
        value = self.raw(*keys)
        return None if value is ABSENT else self._whole(value, self._stated(keys), least)

    def one_size(self, *keys: str) -> None:
        """Note names of one size that say two."""
        first, *others = [key for key in keys if self.tree.get(key) is not None] or keys[:1]
        for other in others:
            if self.tree[other] != self.tree[first]:
                what = f"contradicts {first}, which is {shown(self.tree[first])}"
                self.refuse(what, other, self.tree[other], "the same, or only one of the two")

    def count_or(self, default: int, *keys: str, least: int = 0) -> int:
        """A size, or `default` where it is absent or null; a default of more than 0 is listed as taken."""
        found = self.optional(*keys, least=least)
        if found is None and default:
            self._take(next((key for key in keys if key in self.tree), keys[0]))
        return default if found is None else found

    def _take(self, key: str) -> None:
        """List a key whose default was used."""
        if key not in self.taken:
            self.taken.append(key)

    def step(self, *keys: str) -> int:
        """Every so-manieth layer. Absent it is every one, which nobody need be told."""
        return self.optional(*keys) or 1

    def flag(self, key: str, default: bool = False) -> bool:
        value = self.raw(key)
        if value is ABSENT:
            if default:
                self._take(key)
            return default
        if isinstance(value, bool):
            return value
        self.refuse("is no flag", key, value, "true or false")
        return default

    def text(self, key: str) -> str | None:
        value = self.raw(key)
        if value is ABSENT:
            return None
        if isinstance(value, str):
            return value
        self.refuse("is no text", key, value, "text")
        return None

    def items(self, key: str, length: int | None = None, longer: bool = False) -> list[Any] | None:
        """A list; `length` is what it must have, `longer` lets it have more. None where it is absent or null."""
        value = self.raw(key)
        if value is ABSENT:
            return None
        if not isinstance(value, list):
            self.refuse("is no list", key, value, "a list")
            return None
        if length is not None and len(value) != length and not (longer and len(value) > length):
            self.refuse(f"has {len(value)} entries for {length} layers", key, accepted="one entry a layer")
            return None
        return value

    def counts(self, key: str, length: int | None = None, longer: bool = False) -> list[int] | None:
        """A list of whole numbers from 0."""
        found = self.items(key, length, longer)
        return None if found is None else [self._whole(value, key, 0) for value in found]

    def indices(self, key: str, layers: int, first: int = 0) -> frozenset[int] | None:
        """A list of layers, counted from `first`, as layers counted from 0."""
        found = self.counts(key)
        if found is None:
            return None
        outside = [index for index in found if not first <= index < layers + first]
        if outside:
            self.refuse(f"names layer {outside[0]} of {layers}", key, accepted=f"{first} to {layers + first - 1}")
        return frozenset(index - first for index in found)

    def per_layer(self, layers: int, *keys: str, least: int = 1) -> list[int]:
        """A size that may be one number for all layers or a list with one for each."""
        if isinstance(self.raw(*keys), list):
            key = self._stated(keys)
            found = self.items(key, layers, longer=True)
            values = [STAND_IN] * layers if found is None else [self._whole(value, key, least) for value in found]
            return values[:layers]
        return [self.count(*keys, least=least)] * layers

    def types(self, layers: int, key: str, known: Mapping[str, str]) -> list[str] | None:
        """A list that names a type for every layer, translated by `known`; None where it is absent or wrong."""
        found = self.items(key, layers)
        if found is None:
            return None
        unknown = [value for value in found if not isinstance(value, str) or value not in known]
        if unknown:
            self.refuse("is a type of layer that this architecture is not known to have", key, unknown[0], _list(known))
            return None
        return [known[value] for value in found]

    def inner(self, key: str, defaults: Mapping[str, Any] | None = None) -> "Configuration | None":
        """The mapping under `key`; None where it is absent or null."""
        value = self.raw(key)
        if value is ABSENT:
            return None
        if not isinstance(value, dict):
            self.refuse("is no mapping", key, value, "a mapping")
            return None
        return Configuration(value, self.file, (*self.path, key), defaults, self)

    def layer_count(self) -> int:
        """The number of layers."""
        layers = self.count("num_hidden_layers", "n_layer", "n_layers", "num_layers")
        if layers > MOST_LAYERS:
            self.refuse("is no number of layers", "num_hidden_layers", layers, f"at most {MOST_LAYERS:,}")
            return STAND_IN
        return layers

    def _stated(self, keys: Collection[str]) -> str:
        return next((key for key in keys if self.tree.get(key) is not None), next(iter(keys)))


def _list(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
