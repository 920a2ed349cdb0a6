"""Engines: how a cache is stored, by name. `engines.yaml`."""

from collections.abc import Mapping

from sizing.catalog.border import Entry, Text


class EngineEntry(Entry):
    """What an engine profile is, in words; its rules are code."""

    title: Text
    explanation: Text


ENTRY = EngineEntry
REFERENCES: Mapping[str, str] = {}
build = None
