"""Models: one file a model in `models/` -> ModelShape.

The kinds of layer are those registered in `sequence/`. The fields of a kind's class are the keys of its entry, so that
a new kind can be read here without a change.
"""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from fractions import Fraction
from functools import cache, reduce
from importlib import import_module
from operator import or_
from pkgutil import iter_modules
from types import UnionType
from typing import Annotated, Any, Generic, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from pydantic import AfterValidator, Field, create_model, model_validator

import sizing.sequence
from sizing.catalog.border import Count, Decimal, Entry, Flag, Name, Names, PositiveCount, PositiveTokens, Text
from sizing.catalog.figures import Confidence, Date, Sources
from sizing.sequence.attention import KINDS as ATTENTION
from sizing.sequence.feed_forward import KINDS as FEED_FORWARD
from sizing.sequence.model import Block, ModelShape
from sizing.sequence.weights import FORMATS
from sizing.units.errors import shown
from sizing.units.names import nearest
from sizing.units.quantities import NotAccepted


class KindEntry(Entry):
    """One layer's attention or feed-forward; a subclass for each kind has the kind's fields as keys."""

    kind: Any

    @model_validator(mode="after")
    def _heads_and_experts_agree(self) -> "KindEntry":
        queries, keys = getattr(self, "query_heads", 0), getattr(self, "kv_heads", 1)
        if queries % keys:
            raise NotAccepted(f"{queries} query heads cannot share {keys} KV heads", "kv_heads that divide query_heads")
        if getattr(self, "active_experts", 0) > getattr(self, "experts", 0):
            raise NotAccepted("more active_experts than experts", "at most as many as there are")
        return self


_TYPES = {bool: Flag, Fraction: Decimal, str: Text}


def _key(declared: Any, default: Any) -> tuple[Any, Any]:
    """(type, default) of the key for one field of a kind's class."""
    if get_origin(declared) in (Union, UnionType):
        inner, _ = _key(get_args(declared)[0], MISSING)
        declared = inner | None if default is None else inner
    elif declared is int:
        declared = Count if default == 0 else PositiveCount  # what defaults to none may be none
    else:
        declared = _TYPES[declared]
    return declared, ... if default is MISSING else default


@cache
def _entry_of(kind: Any) -> type[KindEntry]:
    """The entry of one kind of layer; `kind` is its class."""
    hints = get_type_hints(kind)
    keys: dict[str, Any] = {"kind": (Literal[kind.name], ...)}
    keys |= {field.name: _key(hints[field.name], field.default) for field in fields(kind)}
    return create_model(kind.__name__, __base__=KindEntry, **keys)


def _one_of(kinds: Mapping[str, type[Any]], named: frozenset[str]) -> Any:
    """The entry of any one of the kinds that are `named`, told apart by `kind`; of all kinds where one is unknown."""
    known = [kinds[name] for name in sorted(named)] if named and named <= kinds.keys() else [*kinds.values()]
    entries = [_entry_of(cast(Any, kind)) for kind in known]
    return Annotated[reduce(or_, entries), Field(discriminator="kind")] if len(entries) > 1 else entries[0]


def _register(named: frozenset[str]) -> None:
    """Import the modules of kinds until all that are named are known: a kind registers itself when it is imported."""
    for module in iter_modules(sizing.sequence.__path__):
        if named <= ATTENTION.keys() | FEED_FORWARD.keys():
            return
        import_module(f"{sizing.sequence.__name__}.{module.name}")


def _weight_precision(name: str) -> str:
    if name not in FORMATS:
        raise NotAccepted(f"weight precision {shown(name)} is not known", ", ".join(FORMATS), nearest(name, FORMATS))
    return name


Attention = TypeVar("Attention")
FeedForward = TypeVar("FeedForward")


class BlockEntry(Entry, Generic[Attention, FeedForward]):
    """`count` equal layers; `norms` vectors of the model's width in each."""

    count: PositiveCount
    attention: Attention
    feed_forward: FeedForward
    norms: Count = 2


class ModelEntry(Entry, Generic[Attention, FeedForward]):
    """The shape of a model, as its configuration states it. Sources, date and confidence hold for all of it."""

    title: Text
    aliases: Names = ()
    hidden: PositiveCount
    vocabulary: PositiveCount
    tied_embeddings: Flag
    weights: Annotated[Name, AfterValidator(_weight_precision)]
    context_limit: PositiveTokens
    nominal_parameters: PositiveCount | None = None
    sources: Sources
    date: Date
    confidence: Confidence
    note: Text = ""
    layers: Annotated[tuple[BlockEntry[Attention, FeedForward], ...], Field(min_length=1)]


def entry_type(tree: Any) -> type[ModelEntry[Any, Any]]:
    """The entry of a model with those kinds of layer that `tree` names.

    To build the entries of all kinds takes longer than everything else that is done to read a model.
    """
    layers = tree.get("layers") if isinstance(tree, dict) else None
    attention, feed_forward = _named(layers, "attention"), _named(layers, "feed_forward")
    _register(attention | feed_forward)
    kinds = (_one_of(ATTENTION, attention), _one_of(FEED_FORWARD, feed_forward))
    return cast(type[ModelEntry[Any, Any]], ModelEntry.__class_getitem__(kinds))


def _named(layers: Any, part: str) -> frozenset[str]:
    """The names of the kinds of one part of all layers; the empty name, which no kind has, where one is missing."""
    parts = [layer.get(part) if isinstance(layer, dict) else None for layer in layers or ()]
    kinds = [each.get("kind") if isinstance(each, dict) else None for each in parts]
    return frozenset(kind if isinstance(kind, str) else "" for kind in kinds)


ENTRY = entry_type
REFERENCES: Mapping[str, str] = {}


def build(name: str, entry: ModelEntry[Any, Any]) -> ModelShape:
    """The model as the physics takes it."""
    return ModelShape(
        name=name,
        title=entry.title,
        hidden=entry.hidden,
        vocabulary=entry.vocabulary,
        tied_embeddings=entry.tied_embeddings,
        blocks=tuple(
            Block(
                count=layer.count,
                attention=ATTENTION[layer.attention.kind](**_fields(layer.attention)),
                feed_forward=FEED_FORWARD[layer.feed_forward.kind](**_fields(layer.feed_forward)),
                norms=layer.norms,
            )
            for layer in entry.layers
        ),
        native_weights=entry.weights,
        context_limit=entry.context_limit,
        nominal_parameters=entry.nominal_parameters,
        aliases=entry.aliases,
        sources=entry.sources,
    )


def _fields(entry: KindEntry) -> dict[str, Any]:
    return {name: value for name, value in entry if name != "kind"}
