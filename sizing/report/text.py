"""Text that came from a workload or a catalog, made safe to print: what cannot be shown is replaced visibly."""

import re
from fractions import Fraction
from unicodedata import combining, east_asian_width

UNKNOWN = "unknown"
"""What stands in place of a figure that is not known; blank is for what does not apply."""

ENDED_EARLY = "was ended early, by --time-limit or Ctrl-C"
NOT_GIVEN = "not given"
"""What stands in place of a limit or an option that the workload left out."""

_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
_XML_ESCAPE = re.compile("_(?=x[0-9A-Fa-f]{4}_)")
_FIRST_CONTROL_PICTURE = 0x2400
_DELETE = 0x7F
_SPACE = 0x20
_ZERO_WIDTH = frozenset("\u200b\u200c\u200d\u2060\ufe0e\ufe0f\ufeff")


def visible(text: str) -> str:
    """`text` with a sign for every character that XML or a terminal cannot hold (`␀`, `⟨U+FFFE⟩`).

    So too for those that reorder the text around them: letters that run from right to left need none of these.
    """
    return _UNPRINTABLE.sub(_sign, text)


def _sign(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < _SPACE:
        return chr(_FIRST_CONTROL_PICTURE + code)
    return "␡" if code == _DELETE else f"⟨U+{code:04X}⟩"


def escaped_for_xml(text: str) -> str:
    """`text` as a cell holds it: visible, and `_x0041_` in it not read as an escape (ECMA-376, ST_Xstring)."""
    return _XML_ESCAPE.sub("_x005F_", visible(text))


def width(text: str) -> int:
    """Columns that `text` takes on a terminal: two for a wide character, none for a combining one."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def _columns(character: str) -> int:
    if character in _ZERO_WIDTH or combining(character):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


def cut(text: str, columns: int) -> tuple[str, str]:
    """(what fits into `columns`, the rest), broken at a space where there is one; the first part is never empty."""
    taken = columns if text.isascii() else _taken(text, columns)
    if taken >= len(text):
        return text, ""
    space = text.rfind(" ", 1, taken + 1)
    if space > 0:
        return text[:space], text[space + 1 :]
    return text[:taken], text[taken:]


def _taken(text: str, columns: int) -> int:
    """Characters that fit, at least one."""
    used = 0
    for taken, character in enumerate(text):
        used += _columns(character)
        if used > columns and taken:
            return taken
    return len(text)


def wrapped(text: str, columns: int) -> list[str]:
    """`text` in lines of at most `columns`; a word that is longer is broken."""
    lines = []
    rest = text
    while rest:
        line, rest = cut(rest, columns)
        lines.append(line)
    return lines or [""]


def plural(count: int, one: str, many: str | None = None) -> str:
    """`1 Pod`, `2 Pods`, `1,280 GPUs`."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def amount(value: Fraction | int) -> str:
    """An amount with at most three decimals and no trailing zeros: `5,000`, `49.6`."""
    text = f"{float(value):,.3f}"
    return text.rstrip("0").rstrip(".")


def cents(value: Fraction | int) -> str:
    """An amount of money, with two decimals where it is no whole number: `1,440,000`, `0.50`."""
    return f"{float(value):,.2f}".removesuffix(".00")


def share(value: Fraction) -> str:
    """A share in percent, as somebody writes it: `10 %`, `12.5 %`."""
    return f"{amount(value * 100)} %"
