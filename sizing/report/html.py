"""The proposal as one page: self-contained HTML with drawings, for a screen and for paper.

Jinja2 escapes all text. There is no script, no font, no picture and no address that a browser would load; the page's
own policy forbids them too.
"""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sizing.plan.plan import NoPlan, Status
from sizing.report.answer import MEMORY_ONLY, headline, standing
from sizing.report.cautions import rejections_in_brief
from sizing.report.no_plan import partial_sentences, way_sentences
from sizing.report.reported import Reported
from sizing.report.seal import sealed
from sizing.report.story import Section, facts, sections
from sizing.report.text import visible
from sizing.report.unsettled import not_settled
from sizing.units.version import version

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_LONGEST_WORD = 20
_TEMPLATES = Path(__file__).parent / "templates"


def page(reported: Reported) -> bytes:
    """The whole file. Its appendices are folded: they print where a reader opens them."""
    return sealed(page_text(reported, is_open=False).encode())


def page_text(reported: Reported, is_open: bool) -> str:
    """The page; `is_open`: its appendices too, set small on paper."""
    from sizing.report.charts import budget_bars, class_bars, limit_bars, pod_bars

    plan = reported.plan
    charts = {
        "budget": budget_bars(plan),
        "classes": class_bars(plan),
        "pods": pod_bars(plan),
        "limits": limit_bars(plan),
    }
    return _rendered(
        title=plan.request.name,
        lead=MEMORY_ONLY,
        headline=headline(plan),
        standing=standing(plan).removeprefix(f"{plan.status}: "),
        not_settled=not_settled(plan),
        status=str(plan.status),
        facts=facts(plan),
        sections=sections(reported),
        charts=charts,
        is_open=is_open,
    )


def no_plan_page(no_plan: NoPlan) -> bytes:
    """Why there is no plan, and what would do."""
    found = "no plan was found" if no_plan.status is Status.TIMEOUT else "infeasible: no plan holds this load"
    listed = (
        Section("why", "Why", sentences=no_plan.reasons),
        Section("ways", "What would do, each by itself", sentences=tuple(way_sentences(no_plan))),
        Section("partial", "What does fit", sentences=tuple(partial_sentences(no_plan.partial))),
        Section("assumed", "Assumed", sentences=no_plan.request.assumptions),
        Section("rejected", "Not considered", sentences=tuple(rejections_in_brief(no_plan.rejected))),
    )
    text = _rendered(
        title=no_plan.request.name,
        lead=MEMORY_ONLY,
        headline=found,
        standing="",
        not_settled="",
        status=str(no_plan.status),
        facts=(),
        sections=tuple(section for section in listed if section.sentences),
        charts={},
        is_open=True,
    )
    return sealed(text.encode())


def _rendered(**told: Any) -> str:
    from sizing.report.charts import COLOURS, LIGHT

    told |= {"version": version(), "colours": COLOURS, "light": LIGHT}
    return _environment().get_template("page.html").render(**told) + "\n"


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    environment.filters |= {"grouped": _grouped, "breakable": _breakable}
    return environment


def _breakable(text: str) -> "Markup":
    """Text whose long words may break: a column is as wide as its longest word."""
    from markupsafe import Markup, escape

    words = (
        Markup("<wbr>").join(
            escape(word[start : start + _LONGEST_WORD]) for start in range(0, len(word), _LONGEST_WORD)
        )
        for word in visible(text).split(" ")
    )
    return Markup(" ").join(words)


def _grouped(rows: tuple[tuple[str, ...], ...], place: int) -> list[tuple[str, list[tuple[str, ...]]]]:
    """Rows in runs of the same text at `place`, which the rows themselves then lack."""
    groups: list[tuple[str, list[tuple[str, ...]]]] = []
    for row in rows:
        if not groups or groups[-1][0] != row[place]:
            groups.append((row[place], []))
        groups[-1][1].append((*row[:place], *row[place + 1 :]))
    return groups
