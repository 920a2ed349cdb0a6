"""Models: one file a model in `models/` -> ModelShape.

The kinds of layer are those registered in `sequence/`. The fields of a kind's class are the keys of its entry, so that
a new kind can be read here without a change.
"""

from collections.abc import Mapping
from dataclasses import MISSING, fields
from fractions import Fraction
from functools import reduce
from importlib import import_module
from operator import or_
from pkgutil import iter_modules
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

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


def _one_of(kinds: dict[str, Any]) -> Any:
    """The entry of any one of `kinds`, told apart by `kind`."""
    entries = []
    for name, kind in kinds.items():
        hints = get_type_hints(kind)
        keys: dict[str, Any] = {"kind": (Literal[name], ...)}
        keys |= {field.name: _key(hints[field.name], field.default) for field in fields(kind)}
        entries.append(create_model(kind.__name__, __base__=KindEntry, **keys))
    return Annotated[reduce(or_, entries), Field(discriminator="kind")]


if TYPE_CHECKING:
    AttentionEntry = KindEntry
    FeedForwardEntry = KindEntry
else:
    for module in iter_modules(sizing.sequence.__path__):
        import_module(f"{sizing.sequence.__name__}.{module.name}")  # a kind registers itself when it is imported
    AttentionEntry, FeedForwardEntry = _one_of(ATTENTION), _one_of(FEED_FORWARD)


def _weight_precision(name: str) -> str:
    if name not in FORMATS:
        raise NotAccepted(f"weight precision {shown(name)} is not known", ", ".join(FORMATS), nearest(name, FORMATS))
    return name


class BlockEntry(Entry):
    """`count` equal layers; `norms` vectors of the model's width in each."""

    count: PositiveCount
    attention: AttentionEntry
    feed_forward: FeedForwardEntry
    norms: Count = 2


class ModelEntry(Entry):
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
    layers: Annotated[tuple[BlockEntry, ...], Field(min_length=1)]


ENTRY = ModelEntry
REFERENCES: Mapping[str, str] = {}


def build(name: str, entry: ModelEntry) -> ModelShape:
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
