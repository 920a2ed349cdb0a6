"""What `verify` found, in lines."""

from sizing.plan.verify import Verdict
from sizing.report.answer import headline
from sizing.report.text import plural, visible

MOST_SHOWN = 100


def verdict_report(verdict: Verdict, file: str) -> str:
    """One line where the plan holds, else a line for each finding, of the first 100."""
    found = verdict.findings
    if verdict.plan is not None and not found:
        return visible(f"{file} holds: {headline(verdict.plan)}, {verdict.plan.status}") + "\n"
    lines = [f"{file} does not hold: {plural(len(found), 'finding')}", *map(str, found[:MOST_SHOWN])]
    if len(found) > MOST_SHOWN:
        lines.append(f"and {len(found) - MOST_SHOWN} more")
    return "".join(f"{visible(line)}\n" for line in lines)
