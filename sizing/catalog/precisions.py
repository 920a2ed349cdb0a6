"""KV precisions: `kv_precisions.yaml` -> KvPrecision."""

from collections.abc import Mapping
from typing import Literal

from sizing.catalog.border import Entry, Names, Text
from sizing.catalog.figures import PositiveFigure, Source, Sources, figure
from sizing.catalog.gpus import Generation
from sizing.pool.precision import Evidence, KvPrecision


class EvidenceEntry(Entry):
    """One published finding on quality."""

    verdict: Literal["for", "against"]
    finding: Text
    source: Source
    weight: Text


class PrecisionEntry(Entry):
    """Bits of a cached element, the GPUs that hold it (each with its sources), and what is known of its quality."""

    title: Text
    aliases: Names = ()
    bits: PositiveFigure
    generations: dict[Generation, Sources]
    evidence: tuple[EvidenceEntry, ...] = ()
    note: Text = ""


ENTRY = PrecisionEntry
REFERENCES: Mapping[str, str] = {}


def build(name: str, entry: PrecisionEntry) -> KvPrecision:
    """The precision as the physics takes it."""
    return KvPrecision(
        name=name,
        title=entry.title,
        aliases=entry.aliases,
        bits=figure("bits", entry.bits),
        generations=frozenset(entry.generations),
        evidence=tuple(Evidence(one.verdict, one.finding, one.source, one.weight) for one in entry.evidence),
    )
