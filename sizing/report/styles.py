"""The cell formats of the workbook: what a cell shows by its style, and what it is for by its colour."""

from enum import Enum
from typing import Any

from xlsxwriter import Workbook
from xlsxwriter.format import Format

from sizing.report.cells import Role

INK = "#1F2A37"
QUIET = "#6B7280"
HEADER = "#1F3A5F"
BAND = "#EEF2F7"
RULE = "#CBD5E1"
INPUT_INK = "#1D4ED8"
INPUT_FILL = "#FEF9C3"
DECISION_FILL = "#DCFCE7"
LINK_INK = "#0B5CAD"
OPEN_INK = "#92400E"
OPEN_FILL = "#FEF3C7"
WRONG_INK = "#991B1B"
WRONG_FILL = "#FEE2E2"
FONT = "Calibri"


class Style(Enum):
    """What a cell is: its number format, and how it stands out."""

    TITLE = "title"
    LEAD = "lead"
    SECTION = "section"
    NOTE = "note"
    HEADING = "heading"
    HEADING_NUMBER = "heading of numbers"
    TEXT = "text"
    LINK = "text that leads elsewhere"
    LINK_ON = "text that leads elsewhere and runs on"
    RUN_ON = "text that runs on"
    COUNT = "count"
    ONE_DECIMAL = "one decimal"
    TWO_DECIMALS = "two decimals"
    DECIMALS = "up to three decimals"
    SHARE = "share"
    INSTEAD = "words in place of a number"


FORMATS = {
    Style.COUNT: "#,##0",
    Style.ONE_DECIMAL: "#,##0.0",
    Style.TWO_DECIMALS: '#,##0.00;-#,##0.00;"-"',
    Style.DECIMALS: "#,##0.0##",
    Style.SHARE: "0.0 %",
}
NUMBERS = frozenset(FORMATS)
OPEN = frozenset({Style.TITLE, Style.LEAD, Style.SECTION, Style.NOTE})
"""Styles of text outside tables."""


class Formats:
    """The format of every (style, role, in a line of sums), made once for a workbook and shared by all cells."""

    def __init__(self, workbook: Workbook) -> None:
        self._workbook = workbook
        self._made: dict[tuple[Style, Role, bool], Format] = {}

    def of(self, style: Style, role: Role = Role.FIXED, is_sum: bool = False) -> Format:
        key = style, role, is_sum
        if key not in self._made:
            self._made[key] = self._workbook.add_format(_properties(*key))
        return self._made[key]

    def unsettled(self) -> Format:
        """What a check looks like that hangs on a figure nobody has yet."""
        return self._workbook.add_format({"bold": True, "font_color": OPEN_INK, "bg_color": OPEN_FILL})

    def wrong(self) -> Format:
        """What a check looks like that does not hold."""
        return self._workbook.add_format({"bold": True, "font_color": WRONG_INK, "bg_color": WRONG_FILL})


def _properties(style: Style, role: Role, is_sum: bool) -> dict[str, Any]:
    return {
        "font_name": FONT,
        "num_format": FORMATS.get(style, "General"),
        # Text stays text when somebody edits the cell (decision 10).
        "quote_prefix": style not in NUMBERS and role is Role.FIXED,
        **_font(style, is_sum),
        **_alignment(style),
        **_borders(style, is_sum),
        **_colours(style, role),
    }


def _font(style: Style, is_sum: bool) -> dict[str, Any]:
    match style:
        case Style.TITLE:
            return {"font_size": 16, "bold": True, "font_color": HEADER}
        case Style.SECTION:
            return {"font_size": 12, "bold": True, "font_color": HEADER}
        case Style.HEADING | Style.HEADING_NUMBER:
            return {"font_size": 10, "bold": True, "font_color": "#FFFFFF", "bg_color": HEADER}
        case Style.INSTEAD:
            return {"font_size": 10, "italic": True, "font_color": QUIET}
        case Style.LINK | Style.LINK_ON:
            return {"font_size": 10, "font_color": LINK_INK, "underline": 1}
        case _:
            band = {"bg_color": BAND} if is_sum else {}
            return {"font_size": 10, "bold": is_sum or style is Style.LEAD, "font_color": INK, **band}


def _colours(style: Style, role: Role) -> dict[str, Any]:
    """Blue on yellow to change, blue on green what the search decided, grey what is fixed, black what is computed."""
    match role:
        case Role.INPUT:
            return {"font_color": INPUT_INK, "bg_color": INPUT_FILL}
        case Role.DECISION:
            return {"font_color": INPUT_INK, "bg_color": DECISION_FILL}
        case Role.FIXED if style in NUMBERS:
            return {"font_color": QUIET}
        case _:
            return {}


def _borders(style: Style, is_sum: bool) -> dict[str, Any]:
    if style in OPEN:
        return {}
    top = {"top": 1, "top_color": HEADER} if is_sum else {}
    return {"bottom": 1, "bottom_color": RULE, **top}


def _alignment(style: Style) -> dict[str, Any]:
    if style in (Style.TITLE, Style.SECTION):
        return {"valign": "vcenter"}
    if style is Style.HEADING_NUMBER:
        return {"align": "right", "valign": "vcenter", "text_wrap": True}
    if style is Style.HEADING:
        return {"align": "left", "valign": "vcenter", "indent": 1, "text_wrap": True}
    if style in NUMBERS or style is Style.INSTEAD:
        return {"align": "right", "valign": "top"}
    # Indented, so that text does not touch the number in the column before it.
    wrap = style not in (Style.RUN_ON, Style.LINK_ON)
    return {"align": "left", "valign": "top", "indent": 0 if style in OPEN else 1, "text_wrap": wrap}
