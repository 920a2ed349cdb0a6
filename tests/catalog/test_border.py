from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any, Generic, Literal, TypeVar

import pytest
from pydantic import AfterValidator, Field, ValidationInfo

from sizing.catalog.border import (
    GIVEN,
    LONGEST_NAME,
    Count,
    Decimal,
    Entry,
    Flag,
    MemoryBytes,
    Name,
    Names,
    PositiveCount,
    PowerKw,
    Share,
    Text,
    Tokens,
    read_as,
)
from sizing.units.document import Document, parse_document
from sizing.units.errors import MOST_PROBLEMS, BadInput, Problem
from sizing.units.quantities import NotAccepted

Value = TypeVar("Value")


class Figure(Entry, Generic[Value]):
    value: Value
    note: Text = ""


class Full(Entry):
    kind: Literal["full"]
    heads: PositiveCount


class Latent(Entry):
    kind: Literal["latent"]
    rank: PositiveCount


def known(name: str, info: ValidationInfo) -> str:
    if info.context is not None and name not in info.context:
        raise NotAccepted(f"{name} is not known", ", ".join(info.context), info.context[0])
    return name


class Part(Entry):
    name: Name
    gpu: Annotated[Name, AfterValidator(known)] = "h200"
    power: Annotated[PowerKw | None, GIVEN] = None
    context: Tokens = 1
    reserve: Share = Fraction(1, 10)
    hbm: MemoryBytes = 0
    pue: Figure[Decimal] | None = None
    names: Names = ("x",)
    mixed: Flag = False
    basis: Literal["label", "driver"] = "label"
    supply: dict[Name, Count] = Field(default_factory=dict)
    blocks: tuple[Annotated[Full | Latent, Field(discriminator="kind")], ...] = ()


class Whole(Entry):
    title: Text
    parts: tuple[Part, ...] = Field(min_length=1, max_length=1000)


def read(text: str) -> Part:
    return read_as(Part, parse_document(f"parts:\n- name: a\n  {text}\n", "f.yaml"), ("parts", 0))


def only_problem(text: str) -> Problem:
    with pytest.raises(BadInput) as caught:
        read(text)
    (problem,) = caught.value.problems
    assert (problem.file, problem.line) == ("f.yaml", 3)
    return problem


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("power: 5 MW", "power", Fraction(5000)),
        ("context: 4k", "context", 4096),
        ("reserve: 12.5 %", "reserve", Fraction(1, 8)),
        ("hbm: 141 GB", "hbm", 141 * 10**9),
        ("names: no", "names", ("no",)),
        ("names: [no, 007]", "names", ("no", "007")),
        ("mixed: true", "mixed", True),
        ("supply: {h200: 3}", "supply", {"h200": 3}),
        ("pue: {value: 1.12}", "pue", Figure[Decimal](value="1.12")),
        ("blocks: [{kind: latent, rank: 512}]", "blocks", (Latent(kind="latent", rank=512),)),
    ],
)
def test_fields(text: str, field: str, value: Any) -> None:
    assert getattr(read(text), field) == value


def test_entries_are_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        read("context: 4k").context = 5  # type: ignore[misc]


@pytest.mark.parametrize(
    ("text", "path", "what", "accepted", "nearest"),
    [
        ("powr: 5 MW", "powr", "unknown key", "power", "power"),
        ("pue: {value: 1, nte: a}", "pue.nte", "unknown key", "value, note", "note"),
        ("power: 5", "power", "needs a unit", "kW", None),
        ("power:", "power", "is empty", "leave the key out", None),
        ("context: 4,096", "context", "commas", "128k", None),
        ("reserve: 10", "reserve", "1,000 %", "10 %", None),
        ("mixed: yes", "mixed", "neither true nor false", "true or false", None),
        ("basis: lable", "basis", "not one of", "label, driver", "label"),
        ("basis:", "basis", "is empty", "label, driver", None),
        ("gpu: h20", "gpu", "h20 is not known", "h200, b300", "h200"),
        ("names: [a, a]", "names", "twice", "once", None),
        ("names: []", "names", "is empty", "at least one", None),
        ("names: {a: b}", "names", "not a list", "a list", None),
        ("names: [[a]]", "names[0]", "is no name", "a name", None),
        ('names: ["ch\\u200dat"]', "names[0]", "is no name", "printable characters", None),
        ("pue: 1.12", "pue", "not a mapping", "keys value, note", None),
        ("pue: {value: [1]}", "pue.value", "is no number", "number", None),
        ("supply: {h200: -1}", "supply.h200", "negative", "whole number", None),
        ("supply: {' x': 1}", "supply[' x']", "is no name", "a name", None),
        ("supply: 3", "supply", "not a mapping", "a mapping", None),
        ("blocks: [{kind: ful, heads: 1}]", "blocks[0]", "kind 'ful' is not known", "full, latent", "full"),
        ("blocks: [{kind: full, hads: 1, heads: 2}]", "blocks[0].hads", "unknown key", "kind, heads", "heads"),
        ("blocks: [{kind: latent, rank: 0}]", "blocks[0].rank", "more than 0", "above 0", None),
        ("blocks: [5]", "blocks[0]", "not a mapping", "kind, heads, rank", None),
    ],
)
def test_problems(text: str, path: str, what: str, accepted: str, nearest: str | None) -> None:
    document = parse_document(f"name: a\n{text}\n", "f.yaml")
    with pytest.raises(BadInput) as caught:
        read_as(Part, document, context=["h200", "b300"])
    (problem,) = caught.value.problems
    assert (problem.path, problem.file, problem.line, problem.nearest) == (path, "f.yaml", 2, nearest)
    assert what in problem.what
    assert accepted in (problem.accepted or "")


def test_an_emoji_of_several_is_a_name() -> None:
    joined = "\N{WOMAN}\u200d\N{ROCKET}"
    assert read_as(Part, parse_document(f"name: {joined}\n", "f.yaml"), context=["h200"]).name == joined


def test_a_missing_key_says_what_it_takes() -> None:
    assert only_problem("blocks: [{kind: full}]").accepted == "a whole number such as 2000 or 2_000, without a suffix"
    assert only_problem("blocks: [{heads: 1}]").path == "parts[0].blocks[0].kind"


def test_all_problems_at_once_in_the_order_of_the_file() -> None:
    text = "parts:\n- name:\n  powr: 1\n- 5\n- name: b\n  context: -1\n"
    with pytest.raises(BadInput) as caught:
        read_as(Whole, parse_document(text, "f.yaml"))
    assert [(problem.line, problem.path) for problem in caught.value.problems] == [
        (1, "title"),
        (2, "parts[0].name"),
        (3, "parts[0].powr"),
        (4, "parts[1]"),
        (6, "parts[2].context"),
    ]


def test_too_few_items() -> None:
    with pytest.raises(BadInput, match=r"parts: has too few items .*at least 1"):
        read_as(Whole, parse_document("title: a\nparts: []\n", "f.yaml"))


def test_endless_problems_are_counted() -> None:
    text = "title: a\nparts:\n" + "- {name: , context: x, powr: 1}\n" * 500
    with pytest.raises(BadInput) as caught:
        read_as(Whole, parse_document(text, "f.yaml"))
    assert len(caught.value.problems) == MOST_PROBLEMS + 1
    assert any(problem.what == f"and {1500 - MOST_PROBLEMS:,} more problems" for problem in caught.value.problems)


def test_a_path_that_is_not_there() -> None:
    with pytest.raises(BadInput, match=r"f\.yaml:1: parts\.b: missing"):
        read_as(Part, parse_document("parts: {a: {name: x}}\n", "f.yaml"), ("parts", "b", "deeper"))


def test_a_tree_without_a_file() -> None:
    with pytest.raises(BadInput) as caught:
        read_as(Part, Document("", {"name": "a", "context": 4.5, 3: 4}))
    assert {problem.file for problem in caught.value.problems} == {None}
    assert any("4.5 is no whole number" in problem.what for problem in caught.value.problems)


def test_any_type_can_be_read() -> None:
    assert read_as(dict[str, int], Document("", {"a": "1"})) == {"a": 1}
    with pytest.raises(BadInput, match="a: is not accepted"):
        read_as(dict[str, int], Document("", {"a": "x"}))


@pytest.mark.parametrize("name", ["", " a", "a ", "a\nb", "a\x1b[0m", "x" * (LONGEST_NAME + 1), 5, None, ["a"]])
def test_what_is_no_name(name: Any) -> None:
    with pytest.raises(BadInput, match="name: is"):
        read_as(Part, Document("", {"name": name}))


@pytest.mark.parametrize("name", ["a", "no", "Größe 70B", "=1+1", "<b>", "模型", "a" * LONGEST_NAME])
def test_what_is_a_name(name: str) -> None:
    assert read_as(Part, Document("", {"name": name})).name == name


def test_schema_of_a_quantity() -> None:
    schema = Part.model_json_schema()["properties"]
    assert schema["context"]["type"] == ["integer", "string"]
    assert schema["mixed"]["type"] == "boolean"
    assert {"type": "array", "items": {"type": "string"}} in schema["names"]["anyOf"]


def test_a_message_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    build: Callable[[], Part] = lambda: read_as(Part, Document("w.yaml", {"name": "a", "context": "\x1b[31m\n" * 50}))  # noqa: E731
    with pytest.raises(BadInput) as caught:
        build()
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 300
