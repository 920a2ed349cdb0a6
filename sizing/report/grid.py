"""Plain tables for a terminal, without colour and without a library (tabulate costs 45 ms of start-up)."""

from collections.abc import Sequence
from dataclasses import dataclass

from sizing.report.text import visible, width, wrapped

WIDTH = 118
GAP = "  "
NARROWEST = 8


@dataclass(frozen=True, slots=True)
class Column:
    """A heading, and whether its cells are numbers: right-aligned and never wrapped."""

    heading: str
    number: bool = False


def table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> str:
    """Heading, rule and rows in at most `WIDTH` columns; a cell that is too wide continues on the next line."""
    texts = [[column.heading for column in columns], *([visible(cell) for cell in row] for row in rows)]
    widths = _widths(columns, texts)
    head, *body = [
        [
            [text] if column.number else wrapped(text, size)
            for column, text, size in zip(columns, row, widths, strict=True)
        ]
        for row in texts
    ]
    lines = [*_lines(columns, head, widths), GAP.join("-" * size for size in widths)]
    for row in body:
        lines.extend(_lines(columns, row, widths))
    return "\n".join(lines)


def _widths(columns: Sequence[Column], cells: Sequence[Sequence[str]]) -> list[int]:
    """The widest cell of every column; then the widest text columns give way until the table fits."""
    widths = [max(width(row[position]) for row in cells) for position in range(len(columns))]
    excess = sum(widths) + len(GAP) * (len(columns) - 1) - WIDTH
    while excess > 0:
        texts = ((size, -position) for position, size in enumerate(widths) if not columns[position].number)
        size, position = max(texts, default=(0, 0))
        if size <= NARROWEST:
            break
        widths[-position] -= 1
        excess -= 1
    return widths


def _lines(columns: Sequence[Column], cells: Sequence[Sequence[str]], widths: Sequence[int]) -> list[str]:
    height = max(len(cell) for cell in cells)
    return [
        GAP.join(
            _padded(cell[line] if line < len(cell) else "", size, column.number)
            for column, cell, size in zip(columns, cells, widths, strict=True)
        ).rstrip()
        for line in range(height)
    ]


def _padded(text: str, size: int, number: bool) -> str:
    space = " " * (size - width(text))
    return space + text if number else text + space


def paragraph(text: str) -> str:
    """Text in lines of at most `WIDTH`."""
    return "\n".join(wrapped(visible(text), WIDTH))


def bullets(sentences: Sequence[str]) -> str:
    """Sentences as a list, each wrapped under its own dash."""
    lines: list[str] = []
    for sentence in sentences:
        first, *rest = wrapped(visible(sentence), WIDTH - 2)
        lines.append(f"- {first}")
        lines.extend(f"  {line}" for line in rest)
    return "\n".join(lines)
