"""What may come of an input, whatever it is: problems that a user can act on, or an answer that holds."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sizing.api import solve
from sizing.catalog.catalog import Catalog
from sizing.plan.check import check
from sizing.plan.document import no_plan_document, plan_document, to_json
from sizing.plan.plan import NoPlan
from sizing.plan.reading import parse_json
from sizing.plan.verify import verify_document
from sizing.report.console import console_report, no_plan_report
from sizing.report.workbook import workbook_bytes
from sizing.request.load import request_from_document, workload_from
from sizing.request.request import Request
from sizing.units.document import read_document
from sizing.units.errors import MOST_PROBLEMS, BadInput, Problem

LONGEST_MESSAGE = 4_000


def loaded(workload: Path | Mapping[Any, Any], catalog: Catalog, folder: Path) -> Request | BadInput:
    """The request of a workload, which read again from its own document is the same; or clear problems."""
    from_file = isinstance(workload, Path)
    try:
        request = workload_from(
            read_document(workload) if isinstance(workload, Path) else workload, catalog, None, folder
        )
    except BadInput as refused:
        is_clear(refused, from_file)
        return refused
    again = request_from_document(request.document, catalog)
    assert again.input_sha256 == request.input_sha256
    assert again.catalog_sha256 == request.catalog_sha256
    return request


def is_clear(refused: BadInput, from_file: bool) -> None:
    """Every problem says what, where, what was seen or would be accepted, on one line that can be printed."""
    assert refused.problems
    assert len(refused.problems) <= 5 * MOST_PROBLEMS
    for problem in refused.problems:
        _is_clear(problem, from_file)


def _is_clear(problem: Problem, from_file: bool) -> None:
    text = str(problem)
    assert problem.what
    assert text.isprintable(), ascii(text)
    assert len(text) <= LONGEST_MESSAGE, text
    assert "Traceback" not in text
    if from_file:
        assert problem.file, text
        assert problem.line is not None or not problem.path, text
    else:
        assert problem.path or problem.file, text
    acts = problem.seen or problem.accepted or problem.nearest
    assert acts or problem.what.startswith(("missing", "duplicate", "YAML syntax", "JSON syntax", "and ", "alias")), (
        text
    )


def answered(request: Request, time_limit: float, catalog: Catalog) -> str:
    """The status of the answer of a request. A plan passes the check and, as a document, is verified; all reports of
    it can be written.
    """
    try:
        plan = solve(request, time_limit=time_limit, threads=1)
    except BadInput as refused:
        if all(problem.what.startswith("the plan takes ") for problem in refused.problems):
            return "too large"
        raise
    if isinstance(plan, NoPlan):
        assert plan.reasons or plan.status == "timeout"
        to_json(no_plan_document(plan))
        no_plan_report(plan)
        return str(plan.status)
    assert check(plan) == ()
    document = to_json(plan_document(plan))
    verdict = verify_document(parse_json(document.encode(), "plan.json"), catalog)
    assert verdict.findings == (), verdict.findings[:3]
    assert "\x1b" not in console_report(plan, "x.xlsx")
    assert workbook_bytes(plan).startswith(b"PK")
    return str(plan.status)
