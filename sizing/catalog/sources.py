"""Sources: title, address and date by the key that figures carry. `sources.yaml`."""

from collections.abc import Mapping

from sizing.catalog.border import Entry, Text
from sizing.catalog.figures import Date


class SourceEntry(Entry):
    """A publication. `date` is None where it is undated."""

    title: Text
    address: Text
    date: Date | None


ENTRY = SourceEntry
REFERENCES: Mapping[str, str] = {}
build = None
