"""Sheet `Assumptions and sources`: what was assumed, what was asked, every figure with its source, what was rejected."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sizing.plan.bill import BillLine
from sizing.plan.plan import Plan
from sizing.report.cautions import assumption_sentences, clock_sentences, policy_sentence, precision_findings
from sizing.report.page import Column, Page, Row, Value
from sizing.report.sources import Source, SourcedFigure, sourced_figures
from sizing.report.styles import Style

FIGURES = (
    Column("Catalog", most=14),
    Column("Entry", most=26),
    Column("Figure", most=30),
    Column("Value", style=Style.GENERAL, most=18),
    Column("Unit", most=12),
    Column("Range from", style=Style.GENERAL, most=12),
    Column("Range to", style=Style.GENERAL, most=12),
    Column("Confidence", most=11),
    Column("Read on", most=11),
    Column("Source", most=50),
    Column("Address", most=50),
    Column("Published", most=11),
    Column("Basis and note", most=40),
)
FINDINGS = (
    Column("KV precision", most=14),
    Column("For or against", most=26),
    Column("Evidence", most=30),
    Column("Finding", most=18),
)
REQUEST = (Column("Section", most=14), Column("Key", most=26), Column("Value", most=30))
REJECTED = (Column("System", most=14), Column("Model", most=26), Column("Why", most=30))


def write(page: Page, plan: Plan, lines: tuple[BillLine, ...]) -> None:
    """Figures first, because they are the longest table and keep their headings in view."""
