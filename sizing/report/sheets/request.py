"""Sheet `Request`: what was asked, every default written out, and which catalog and input it was."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sizing.report.page import Column, Page, Row, Value
from sizing.report.reported import Reported
from sizing.report.styles import Style
from sizing.report.text import NOT_GIVEN

COLUMNS = (Column("Key", most=60), Column("Value", style=Style.DECIMALS, most=80))


def write(page: Page, reported: Reported) -> None:
    """One row for each value of the resolved request."""
    plan = reported.plan
    page.title("Request", "As it was resolved: names to catalog entries, defaults written out.")
    page.table(COLUMNS, _values("", plan.request.document), main=True)
    page.notes(
        "Fingerprints",
        (
            f"SHA-256 of the request: {plan.request.input_sha256}",
            f"SHA-256 of the catalog: {plan.request.catalog_sha256}",
        ),
    )


def _values(path: str, node: Any) -> Iterator[Row]:
    if isinstance(node, Mapping) and node:
        for key, value in node.items():
            yield from _values(f"{path}.{key}" if path else str(key), value)
    elif isinstance(node, Sequence) and not isinstance(node, str) and node:
        for position, value in enumerate(node):
            yield from _values(f"{path}[{position}]", value)
    else:
        yield Row((path, _cell(node)))


def _cell(value: Any) -> Value:
    if value is None:
        return NOT_GIVEN
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float | str):
        return value
    return "none"
