"""Where text becomes typed data: the base of every declared entry, its field types, and how its errors read.

pydantic checks a whole tree at once; `read_as` turns what it found into problems with file, line and path of the key,
the value seen, what would be accepted and the nearest key or name.
"""

import re
import types
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Annotated, Any, Literal, TypeGuard, TypeVar, Union, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    PlainValidator,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import ErrorDetails

from sizing.units import quantities
from sizing.units.document import Document, KeyPath
from sizing.units.errors import MOST_PROBLEMS, BadInput, Problem, cut, shown
from sizing.units.names import is_printable, nearest
from sizing.units.quantities import NotAccepted

LONGEST_TEXT = 2000
LONGEST_NAME = 100
NAME_ACCEPTED = f"a name of at most {LONGEST_NAME} printable characters, with no blank at its ends"

_Model = TypeVar("_Model")


class Entry(BaseModel):
    """Base of everything that is declared in YAML: frozen, without unknown keys, built when it is first used."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


def _field(parse: Callable[[Any], Any], accepted: str, **schema: Any) -> tuple[Any, Any]:
    """The two marks of a field type: its parser, and what an editor checks and shows."""
    described = {"description": accepted[0].upper() + accepted[1:] + ".", **schema}
    return PlainValidator(parse), WithJsonSchema(described)


def _ends(parse: Callable[[Any], Fraction], accepted: str, **schema: Any) -> tuple[Any, Any]:
    """The marks of a field that takes one amount or a range [low, high], and gives both ends."""

    def read(value: Any) -> tuple[Fraction, Fraction]:
        if not isinstance(value, list | tuple):
            return parse(value), parse(value)
        if len(value) != 2:
            raise NotAccepted(f"is a list of {len(value)}", f"{accepted}, or a range [low, high] of two")
        low, high = (end(each) for each in value)
        if low > high:
            raise NotAccepted(f"is a range from {shown(value[0])} down to {shown(value[1])}", "[low, high]")
        return low, high

    def end(value: Any) -> Fraction:
        try:
            return parse(value)
        except NotAccepted as error:
            raise NotAccepted(f"end {shown(value)}: {error.what}", error.accepted, error.nearest) from None

    one = {"description": accepted[0].upper() + accepted[1:] + ".", "type": "string", **schema}
    several = {"type": "array", "items": one, "minItems": 2, "maxItems": 2}
    both = f"{one['description'].rstrip('.')}, or a range [low, high]."
    return PlainValidator(read), WithJsonSchema({"description": both, "anyOf": [one, several]})


def _positive(value: Any) -> Any:
    if value <= 0:
        raise NotAccepted("must be more than 0", "a number above 0")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise NotAccepted("is empty" if value is None else "is no text", "text")
    if len(value) > LONGEST_TEXT:
        raise NotAccepted("is too long", f"at most {LONGEST_TEXT:,} characters")
    return value


def _name(value: Any) -> str:
    if value is None or value == "":
        raise NotAccepted("is empty", NAME_ACCEPTED)
    if not isinstance(value, str) or value != value.strip() or not is_printable(value) or len(value) > LONGEST_NAME:
        raise NotAccepted("is no name", NAME_ACCEPTED)
    return value


def _one_or_list(value: Any) -> Any:
    """A single text stands for a list of one."""
    return (value,) if isinstance(value, str) else value


def _distinct(values: tuple[str, ...]) -> tuple[str, ...]:
    """Refuse a list that is empty or names something twice."""
    twice = next((value for index, value in enumerate(values) if value in values[:index]), None)
    if twice is not None:
        raise NotAccepted(f"names {shown(twice)} twice", "every name once")
    if not values:
        raise NotAccepted("is empty", "at least one name")
    return values


def _given(value: Any) -> Any:
    if value is None:
        raise NotAccepted("is empty", "a value; or leave the key out")
    return value


_WHOLE = ["integer", "string"]
_UNIT = r"^[0-9][0-9_]*(\.[0-9]+)?[ \u00a0\u202f]*"
_TOKENS = _field(
    quantities.parse_tokens,
    quantities.TOKENS_ACCEPTED,
    type=_WHOLE,
    minimum=0,
    pattern=_UNIT + "[kKM]?$",
    examples=[4096, "128k", "1M"],
)
_COUNT = _field(quantities.parse_count, quantities.COUNT_ACCEPTED, type=_WHOLE, minimum=0, pattern="^[0-9][0-9_]*$")
_SHARE = _field(
    quantities.parse_share,
    quantities.SHARE_ACCEPTED,
    type=["number", "string"],
    minimum=0,
    exclusiveMaximum=1,
    pattern=_UNIT + "%?$",
    examples=["10 %", 0.1],
)
_POWER = _field(
    quantities.parse_power_kw,
    quantities.POWER_ACCEPTED,
    type="string",
    pattern=_UNIT + "(W|kW|MW|GW)$",
    examples=["5 MW", "800 kW"],
)
_MEMORY = _field(
    quantities.parse_memory_bytes,
    quantities.MEMORY_ACCEPTED,
    type="string",
    pattern=_UNIT + "(bytes|B|kB|MB|GB|TB|KiB|MiB|GiB|TiB)$",
    examples=["141 GB", "64 GiB"],
)
_DECIMAL = _field(
    quantities.parse_decimal,
    quantities.DECIMAL_ACCEPTED,
    type=["number", "string"],
    minimum=0,
    pattern=_UNIT + "$",
)
PRICE_USD = _ends(  # marks a field that is given (low, high) in USD, equal where there is one price
    quantities.parse_price_usd, quantities.PRICE_ACCEPTED, pattern=_UNIT + "USD$", examples=["415_000 USD"]
)
TARIFF_USD_PER_KWH = _ends(
    quantities.parse_tariff_usd_per_kwh,
    quantities.TARIFF_ACCEPTED,
    pattern=_UNIT + "USD/[kM]Wh$",
    examples=["0.08 USD/kWh"],
)
_YEARS = _field(
    quantities.parse_years, quantities.YEARS_ACCEPTED, type="string", pattern=_UNIT + "years?$", examples=["4 years"]
)
_FLAG = _field(quantities.parse_flag, quantities.FLAG_ACCEPTED, type="boolean")

Text = Annotated[str, PlainValidator(_text), WithJsonSchema({"type": "string", "maxLength": LONGEST_TEXT})]
Name = Annotated[
    str, PlainValidator(_name), WithJsonSchema({"type": "string", "minLength": 1, "maxLength": LONGEST_NAME})
]
ONE_OR_MORE = (  # marks a tuple of names: a single name stands for a list of one
    BeforeValidator(_one_or_list, json_schema_input_type=str | list[str]),
    AfterValidator(_distinct),
)
Names = Annotated[tuple[Name, ...], *ONE_OR_MORE]
Tokens = Annotated[int, *_TOKENS]
PositiveTokens = Annotated[int, *_TOKENS, AfterValidator(_positive)]
Count = Annotated[int, *_COUNT]
PositiveCount = Annotated[int, *_COUNT, AfterValidator(_positive)]
Share = Annotated[Fraction, *_SHARE]
PowerKw = Annotated[Fraction, *_POWER]
MemoryBytes = Annotated[int, *_MEMORY]
Decimal = Annotated[Fraction, *_DECIMAL]
PositiveDecimal = Annotated[Fraction, *_DECIMAL, AfterValidator(_positive)]
PositiveYears = Annotated[Fraction, *_YEARS, AfterValidator(_positive)]
Flag = Annotated[bool, *_FLAG]
GIVEN = BeforeValidator(_given)  # marks an optional key whose value, where the key is written, must not be left blank


def read_as(kind: type[_Model], document: Document, path: KeyPath = (), context: Any = None) -> _Model:
    """The value at `path` of a document as a `kind`: an Entry, or any type that pydantic can check.

    `context` is handed to validators that ask for it. Raises BadInput with everything that is wrong with the value.
    """
    value: Any = document.tree
    for depth, part in enumerate(path):
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            raise BadInput(document.problem(path[: depth + 1], "missing")) from None
    try:
        validate = kind.model_validate if _is_model(kind) else TypeAdapter(kind).validate_python
        checked: _Model = validate(value, context=context)  # type: ignore[assignment]
    except ValidationError as error:
        raise BadInput(*_problems(error, kind, document, path)) from None
    return checked


def _problems(error: ValidationError, kind: Any, document: Document, base: KeyPath) -> list[Problem]:
    """In the order of the lines; of more than `MOST_PROBLEMS` the first and how many there are."""
    # pydantic counts the items that are right, and finds too few of them where others are wrong.
    found = error.errors(include_url=False)
    wrong = {details["loc"][:depth] for details in found for depth in range(len(details["loc"]))}
    found = [details for details in found if details["type"] != "too_short" or details["loc"] not in wrong]
    first = [_problem(details, kind, document, base) for details in found[:MOST_PROBLEMS]]
    return cut(sorted(first, key=lambda problem: problem.line or 0), more=len(found) - len(first))


def _problem(details: ErrorDetails, kind: Any, document: Document, base: KeyPath) -> Problem:
    inner, holder, declared = _locate(kind, details["loc"])
    path = base + inner
    said = details["type"]
    value, context = details["input"], details.get("ctx", {})
    if said == "missing":
        return document.problem(path, "missing", accepted=_described(holder, path[-1]))
    if said == "union_tag_not_found":
        return document.problem((*path, context["discriminator"].strip("'")), "missing")
    if said == "extra_forbidden":
        keys = _keys(holder)
        return document.problem(
            path, "unknown key", accepted=", ".join(keys) or None, nearest=nearest(str(path[-1]), keys)
        )
    what, accepted, alike = _why(said, details["msg"], context, value, declared)
    return document.problem(path, "is empty" if value is None else what, shown(value), accepted, alike)


def _why(
    said: str, message: str, context: Mapping[str, Any], value: Any, declared: Any
) -> tuple[str, str | None, str | None]:
    """(what is wrong, what would be accepted, the nearest name) of one error of pydantic."""
    refused = context.get("error")
    if isinstance(refused, NotAccepted):
        return refused.what, refused.accepted, refused.nearest
    if said == "value_error":
        return str(refused), None, None
    if said in _SHAPES:
        keys = _keys(declared)
        accepted = _SHAPES[said] + (f" with the keys {', '.join(keys)}" if keys else "")
        return f"is not {_SHAPES[said]}", accepted, None
    if said in ("too_short", "too_long"):
        bound = context.get("min_length", context.get("max_length"))
        limit = f"at {'least' if said == 'too_short' else 'most'} {bound:,}"
        return f"has {'too few' if said == 'too_short' else 'too many'} items", limit, None
    choices = context.get("expected") or context.get("expected_tags")
    if choices:
        known = re.findall(r"'([^']*)'", choices)
        tag = str(context.get("discriminator", "")).strip("'")
        seen = value.get(tag) if tag and isinstance(value, Mapping) else value
        what = f"{tag} {shown(seen)} is not known" if tag else "is not one of the accepted values"
        return what, ", ".join(known), nearest(seen, known) if isinstance(seen, str) else None
    accepted = message.removeprefix("Input should be ")
    if accepted != message:
        return "is not accepted", accepted, None
    return message[:1].lower() + message[1:], None, None


_SHAPES = {
    "string_type": "text",
    "list_type": "a list",
    "tuple_type": "a list",
    "set_type": "a list",
    "frozen_set_type": "a list",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}


def _locate(kind: Any, location: tuple[int | str, ...]) -> tuple[KeyPath, Any, Any]:
    """(path in the tree, type of what holds its last part, type of the value) of pydantic's `location`.

    pydantic adds the name of a union's member and a mark for keys to its locations; these are no part of the tree.
    """
    path: list[str | int] = []
    holder, declared = None, kind
    for part in location:
        declared = _bare(declared)
        if get_origin(declared) in (Union, types.UnionType):
            declared = _member(declared, str(part))
        elif part != "[key]" or _is_model(declared):
            path.append(part)
            holder, declared = declared, _inside(declared, part)
    return tuple(path), holder, _bare(declared)


def _is_model(kind: Any) -> TypeGuard[type[BaseModel]]:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _bare(kind: Any) -> Any:
    """A type without annotations and without `| None`."""
    while True:
        if get_origin(kind) is Annotated:
            kind = get_args(kind)[0]
            continue
        if get_origin(kind) in (Union, types.UnionType):
            members = [member for member in get_args(kind) if member is not type(None)]
            if len(members) == 1:
                kind = members[0]
                continue
        return kind


def _inside(kind: Any, part: int | str) -> Any:
    """The type of the value under a key or an index; None where nothing is declared."""
    arguments = get_args(kind)
    if _is_model(kind):
        return next((info.annotation for key, info in _fields(kind) if key == part), None)
    if not arguments:
        return None
    if get_origin(kind) is tuple and len(arguments) > 1 and arguments[1] is not ... and isinstance(part, int):
        return arguments[part] if part < len(arguments) else None
    return arguments[-1] if get_origin(kind) is not tuple else arguments[0]


def _member(union: Any, label: str) -> Any:
    """The member of a union that pydantic calls `label`: by its name, or by the tag of a tagged union."""
    for member in get_args(union):
        bare = _bare(member)
        if _is_model(bare):
            tags = {
                str(tag)
                for _, info in _fields(bare)
                if get_origin(info.annotation) is Literal
                for tag in get_args(info.annotation)
            }
            if label == bare.__name__ or label in tags:
                return bare
    return union


def _fields(model: type[BaseModel]) -> Iterator[tuple[str, Any]]:
    for name, info in model.model_fields.items():
        yield info.alias or name, info


def _keys(kind: Any) -> list[str]:
    """The keys that a type declares: of a model, or of every model of a union."""
    kind = _bare(kind)
    if _is_model(kind):
        return [key for key, _ in _fields(kind)]
    if get_origin(kind) in (Union, types.UnionType):
        return list(dict.fromkeys(key for member in get_args(kind) for key in _keys(member)))
    return []


def _described(holder: Any, key: str | int) -> str | None:
    """What a missing key would take, where its type says so."""
    if not _is_model(holder):
        return None
    for name, info in _fields(holder):
        if name == key:
            for mark in info.metadata:
                if isinstance(mark, WithJsonSchema) and mark.json_schema and "description" in mark.json_schema:
                    text = str(mark.json_schema["description"]).rstrip(".")
                    return text[0].lower() + text[1:]
    return None
