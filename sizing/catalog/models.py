"""Models: one file a model in `models/` -> ModelShape.

The kinds of layer are those registered in `sequence/`. The fields of a kind's class are the keys of its entry, so that
a new kind can be read here without a change.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, fields
from fractions import Fraction
from functools import cache, reduce
from importlib import import_module
from operator import or_
from pkgutil import iter_modules
from types import UnionType
from typing import Annotated, Any, Generic, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from pydantic import AfterValidator, Field, PlainValidator, create_model, model_validator

import sizing.sequence
from sizing.catalog.border import Count, Decimal, Entry, Flag, Name, Names, PositiveCount, PositiveTokens, Text
from sizing.catalog.figures import Confidence, Date, Sources
from sizing.catalog.written import notes_of
from sizing.sequence.attention import KINDS as ATTENTION
from sizing.sequence.feed_forward import KINDS as FEED_FORWARD
from sizing.sequence.model import Block, ModelShape, RoleBits
from sizing.sequence.tensors import Role, Tensors
from sizing.sequence.weights import FORMATS
from sizing.units.errors import shown
from sizing.units.names import nearest
from sizing.units.quantities import NotAccepted, parse_decimal

BITS_ACCEPTED = "bits such as 4.5, or a fraction such as 13/3"


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


def _known(kinds: Mapping[str, type[Any]], named: frozenset[str]) -> tuple[type[Any], ...]:
    """The kinds that are `named`; all kinds where one is unknown."""
    return tuple(kinds[name] for name in sorted(named)) if named and named <= kinds.keys() else tuple(kinds.values())


def _one_of(kinds: Iterable[type[Any]]) -> Any:
    """The entry of any one of some kinds, told apart by `kind`."""
    entries = [_entry_of(cast(Any, kind)) for kind in kinds]
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


def _role(name: str) -> Role:
    if name not in [*Role]:
        raise NotAccepted(f"role {shown(name)} is not known", ", ".join(Role), nearest(name, [*Role]))
    return Role(name)


def _bits(value: Any) -> Fraction:
    """Bits of one weight: a decimal, or a fraction where the scales of a group make no decimal of them."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}/[1-9][0-9]{0,8}", value):
        bits = Fraction(value)
    else:
        bits = parse_decimal(value)
    if not 0 < bits <= MOST_BITS:
        raise NotAccepted("is no number of bits", f"{BITS_ACCEPTED}, at most {MOST_BITS}")
    return bits


MOST_BITS = 64
RoleName = Annotated[Name, AfterValidator(_role)]
Bits = Annotated[Fraction, PlainValidator(_bits)]


class TensorsEntry(Entry):
    """Weights of one role, as `sequence/tensors.py` has them."""

    role: RoleName
    parameters: Count
    experts: PositiveCount = 1
    active_experts: Count = 1
    most_shards: PositiveCount | None = None


Attention = TypeVar("Attention")
FeedForward = TypeVar("FeedForward")


class BlockEntry(Entry, Generic[Attention, FeedForward]):
    """`count` equal layers; `norms` vectors of the model's width in each.

    `also` are further attentions or states of the same layer, `extra` its other weights, `native_bits` the bits of a
    weight in the checkpoint by role, where they differ from those of the model.
    """

    count: PositiveCount
    attention: Attention
    feed_forward: FeedForward
    norms: Count = 2
    also: tuple[Attention, ...] = ()
    extra: tuple[TensorsEntry, ...] = ()
    native_bits: dict[RoleName, Bits] = Field(default_factory=dict)


class ImportedEntry(Entry):
    """The file that a shape was read from: its name and SHA-256, the rule of its architecture, and what the reader had
    to add. `defaults` are keys that the file leaves to its class, `notes` sentences for the reader."""

    file: Text
    sha256: Annotated[Name, Field(pattern="^[0-9a-f]{64}$")]
    rule: Name
    architecture: Text = ""
    defaults: tuple[Name, ...] = ()
    notes: tuple[Text, ...] = ()


class ModelEntry(Entry, Generic[Attention, FeedForward]):
    """The shape of a model, as its configuration states it. Sources, date and confidence hold for all of it.

    A shape that was imported has its file as a source; any other names its sources, and their date.
    """

    title: Text
    aliases: Names = ()
    hidden: PositiveCount
    vocabulary: PositiveCount
    tied_embeddings: Flag
    weights: Annotated[Name, AfterValidator(_weight_precision)]
    context_limit: PositiveTokens
    nominal_parameters: PositiveCount | None = None
    sources: Sources = ()
    date: Date | None = None
    confidence: Confidence
    note: Text = ""
    imported: ImportedEntry | None = None
    layers: Annotated[tuple[BlockEntry[Attention, FeedForward], ...], Field(min_length=1)]
    final_norms: Count = 1
    extra: tuple[TensorsEntry, ...] = ()
    mtp: tuple[BlockEntry[Attention, FeedForward], ...] = ()
    mtp_extra: tuple[TensorsEntry, ...] = ()
    encoders: tuple[TensorsEntry, ...] = ()
    native_bits: dict[RoleName, Bits] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _has_a_source(self) -> "ModelEntry[Attention, FeedForward]":
        if self.imported is None and not self.sources:
            raise NotAccepted("names no source", "sources, keys of sources.yaml, and their date")
        if self.sources and self.date is None:
            raise NotAccepted("has no date", "the date on which the sources were read")
        return self


def entry_type(tree: Any) -> type[ModelEntry[Any, Any]]:
    """The entry of a model with those kinds of layer that `tree` names.

    To build the entries of all kinds takes longer than everything else that is done to read a model.
    """
    layers = [*_layers(tree, "layers"), *_layers(tree, "mtp")]
    attention = _named(
        [*_parts(layers, "attention"), *(kind for also in _parts(layers, "also") for kind in also or ())]
    )
    feed_forward = _named(_parts(layers, "feed_forward"))
    _register(attention | feed_forward)
    return _with_kinds(_known(ATTENTION, attention), _known(FEED_FORWARD, feed_forward))


@cache  # pydantic drops a type that nobody holds, and building one takes longer than using it
def _with_kinds(attention: tuple[type[Any], ...], feed_forward: tuple[type[Any], ...]) -> type[ModelEntry[Any, Any]]:
    kinds = (_one_of(attention), _one_of(feed_forward))
    return cast(type[ModelEntry[Any, Any]], ModelEntry.__class_getitem__(kinds))


def _layers(tree: Any, key: str) -> list[Any]:
    layers = tree.get(key) if isinstance(tree, dict) else None
    return layers if isinstance(layers, list) else []


def _parts(layers: Iterable[Any], key: str) -> list[Any]:
    """One part of every layer; of `also`, which is a list, nothing where it is none."""
    parts = [layer.get(key) if isinstance(layer, dict) else None for layer in layers]
    return [part for part in parts if isinstance(part, list)] if key == "also" else parts


def _named(parts: Iterable[Any]) -> frozenset[str]:
    """The names of the kinds of all parts; the empty name, which no kind has, where one is missing."""
    kinds = [part.get("kind") if isinstance(part, dict) else None for part in parts]
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
        blocks=_blocks(entry.layers),
        native_weights=entry.weights,
        context_limit=entry.context_limit,
        nominal_parameters=entry.nominal_parameters,
        aliases=entry.aliases,
        sources=entry.sources,
        final_norms=entry.final_norms,
        extra=_tensors(entry.extra),
        mtp=_blocks(entry.mtp),
        mtp_extra=_tensors(entry.mtp_extra),
        encoders=_tensors(entry.encoders),
        native_bits=_role_bits(entry.native_bits),
        notes=() if entry.imported is None else notes_of(entry.imported.defaults, entry.imported.notes),
    )


def _blocks(layers: Iterable[BlockEntry[Any, Any]]) -> tuple[Block, ...]:
    return tuple(
        Block(
            count=layer.count,
            attention=_kind(ATTENTION, layer.attention),
            feed_forward=_kind(FEED_FORWARD, layer.feed_forward),
            norms=layer.norms,
            also=tuple(_kind(ATTENTION, each) for each in layer.also),
            extra=_tensors(layer.extra),
            native_bits=_role_bits(layer.native_bits),
        )
        for layer in layers
    )


def _kind(kinds: Mapping[str, type[Any]], entry: Any) -> Any:
    return kinds[entry.kind](**_fields(entry))


def _tensors(entries: Iterable[TensorsEntry]) -> tuple[Tensors, ...]:
    return tuple(Tensors(**dict(entry)) for entry in entries)


def _role_bits(bits: Mapping[str, Fraction]) -> RoleBits:
    return tuple((Role(role), width) for role, width in bits.items())


def _fields(entry: KindEntry) -> dict[str, Any]:
    return {name: value for name, value in entry if name != "kind"}
