"""The proposal in Markdown, for tickets and wikis: GitHub's tables; text of a workload stays text."""

import re
from collections.abc import Iterable

from sizing.plan.plan import NoPlan, Status
from sizing.report.answer import MEMORY_ONLY, headline, standing
from sizing.report.cautions import rejections_in_brief
from sizing.report.no_plan import partial_sentences, way_sentences
from sizing.report.reported import Reported
from sizing.report.seal import sealed
from sizing.report.story import Section, Table, facts, sections
from sizing.report.text import visible
from sizing.report.unsettled import not_settled

_MARKUP = re.compile(r"([\\`*_\[\]<>|~&$])")
_AT_THE_START = re.compile(r"^(\s*)(?:([#+=-])|(\d+)([.)])(?=\s|$))")
_ADDRESS = re.compile(r"(?i)\b(https?|ftp):")
_NAME = re.compile(r"(?i)\bwww\.")
_TABLES = frozenset({"sources"})
"""Sections that are too long for a ticket; they stand in the page and in the workbook."""


def markdown(reported: Reported) -> bytes:
    """The whole file."""
    plan = reported.plan
    parts = [
        f"# {escaped(plan.request.name)}",
        f"{escaped(MEMORY_ONLY)}",
        f"**{escaped(headline(plan))}**",
        escaped(standing(plan)),
        *([escaped(unsettled)] if (unsettled := not_settled(plan)) else []),
        _listed([f"{fact.name}: {fact.value}" + (f" ({fact.remark})" if fact.remark else "") for fact in facts(plan)]),
        *(_section(section) for section in sections(reported) if section.key not in _TABLES),
    ]
    return sealed(("\n\n".join(parts) + "\n\n").encode())


def no_plan_markdown(no_plan: NoPlan) -> bytes:
    """Why there is none, and what would do."""
    found = "no plan was found" if no_plan.status is Status.TIMEOUT else "infeasible: no plan holds this load"
    listed = {
        "Why": no_plan.reasons,
        "What would do, each by itself": way_sentences(no_plan),
        "What does fit": partial_sentences(no_plan.partial),
        "Assumed": no_plan.request.assumptions,
        "Not considered": rejections_in_brief(no_plan.rejected),
    }
    parts = [
        f"# {escaped(no_plan.request.name)}",
        f"**{escaped(found)}**",
        *(f"## {escaped(heading)}\n\n{_listed(list(sentences))}" for heading, sentences in listed.items() if sentences),
    ]
    return sealed(("\n\n".join(parts) + "\n\n").encode())


def escaped(text: str) -> str:
    """`text` as a line of Markdown that shows it as it stands: neither heading, list nor markup."""
    return _AT_THE_START.sub(_escaped_start, _inline(text))


def _inline(text: str) -> str:
    """No markup, no table cell, no HTML, no link, and nobody is mentioned."""
    marked = _MARKUP.sub(r"\\\1", visible(text))
    return _NAME.sub("www&#46;", _ADDRESS.sub(r"\1&#58;", marked)).replace("@", "@&#8203;")


def _escaped_start(found: re.Match[str]) -> str:
    space, mark, digits, point = found.groups()
    return f"{space}\\{mark}" if mark else f"{space}{digits}\\{point}"


def _section(section: Section) -> str:
    parts = [f"## {escaped(section.heading)}"]
    parts += [escaped(section.lead)] if section.lead else []
    parts += [_table(section.table)] if section.table else []
    parts += [_listed(list(section.sentences))] if section.sentences else []
    return "\n\n".join(parts)


def _table(table: Table) -> str:
    heads = [_inline(column.heading) for column in table.columns]
    rules = ["---:" if column.number else "---" for column in table.columns]
    return "\n".join(_row(cells) for cells in (heads, rules, *(map(_inline, row) for row in table.rows)))


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _listed(sentences: list[str]) -> str:
    return "\n".join(f"- {escaped(sentence)}" for sentence in sentences)
