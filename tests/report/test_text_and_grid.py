from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing.report.grid import WIDTH, Column, bullets, table
from sizing.report.text import amount, escaped_for_xml, visible, width, wrapped

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=200)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\x00b", "a␀b"),
        ("\x1b[31mred", "␛[31mred"),
        ("two\nlines\tand", "two␊lines␉and"),
        ("\x7f", "␡"),
        ("\x85", "⟨U+0085⟩"),
        ("\ud800", "⟨U+D800⟩"),
        ("\uffff", "⟨U+FFFF⟩"),
        ("שלום 😀 日本語 é", "שלום 😀 日本語 é"),
    ],
)
def test_what_cannot_be_shown_is_replaced_visibly(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(ANY_TEXT)
def test_every_text_becomes_valid_xml(text: str) -> None:
    element = ElementTree.Element("t")
    element.text = escaped_for_xml(text)
    assert ElementTree.fromstring(ElementTree.tostring(element)).text == (element.text or None)


def test_what_looks_like_an_escaped_character_stays_as_it_is_written() -> None:
    assert escaped_for_xml("_x0041_") == "_x005F_x0041_"
    assert escaped_for_xml("_x_y_") == "_x_y_"


@given(ANY_TEXT, st.integers(2, 60))
def test_wrapping_keeps_every_character_but_spaces(text: str, columns: int) -> None:
    lines = wrapped(visible(text), columns)
    assert all(width(line) <= columns for line in lines)
    assert "".join(lines).replace(" ", "") == visible(text).replace(" ", "")


def test_wide_and_combining_characters_are_measured_as_a_terminal_shows_them() -> None:
    assert width("日本") == 4
    assert width("e\u0301") == 1
    assert width("😀") == 2


@given(st.lists(st.tuples(ANY_TEXT, ANY_TEXT), min_size=1, max_size=4))
def test_a_table_never_exceeds_its_width(rows: list[tuple[str, str]]) -> None:
    text = table((Column("first"), Column("second")), rows)
    assert all(width(line) <= WIDTH for line in text.split("\n"))


def test_numbers_are_right_aligned_and_never_wrapped() -> None:
    rows = [("word " * 60, "1,234"), ("x", "7")]
    first, rule, *body = table((Column("text"), Column("count", number=True)), rows).split("\n")
    assert width(rule) == WIDTH
    assert first.endswith("count")
    assert body[0].endswith("1,234")
    assert body[-1].startswith("x ")
    assert body[-1].endswith("    7")


def test_bullets_indent_what_continues() -> None:
    lines = bullets(["word " * 40, "short"]).split("\n")
    assert [line[:2] for line in lines] == ["- ", "  ", "- "]


@pytest.mark.parametrize(("value", "text"), [(5000, "5,000"), (0, "0"), (100, "100")])
def test_amounts_lose_no_digits(value: int, text: str) -> None:
    assert amount(value) == text


def test_a_table_of_numbers_alone_may_be_too_wide() -> None:
    columns = [Column(str(number), number=True) for number in range(100)]
    head, rule, row = table(columns, [[str(number) for number in range(100)]]).splitlines()
    assert head == row
    assert len(rule) > WIDTH
