"""The formats in which `solve` leaves a proposal, by name: how one is written, and how a file is told from others.

A new format is one writer and one entry here. Writers are imported where they are used.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sizing.plan.plan import NoPlan, Plan, Status
from sizing.report.reported import Reported


@dataclass(frozen=True, slots=True)
class Format:
    """`write` gives the whole file of a plan, `write_no_plan` that of an answer without one, or None where it has none.

    `is_untouched`: whether a file is as the tool wrote it, so that it may be replaced (decision 11). `check` raises
    BadInput where the format cannot be written here.
    """

    suffix: str
    write: Callable[[Reported], bytes]
    is_untouched: Callable[[bytes], bool]
    write_no_plan: Callable[[NoPlan], bytes | None] | None = None
    check: Callable[[], None] = lambda: None


def _xlsx(reported: Reported) -> bytes:
    from sizing.report.workbook import workbook_bytes

    return workbook_bytes(reported.plan)


def _no_plan_xlsx(no_plan: NoPlan) -> bytes | None:
    """Where it is known that there is no plan, and why; what the clock stopped leaves no workbook."""
    from sizing.report.workbook import no_plan_workbook_bytes

    return None if no_plan.status is Status.TIMEOUT else no_plan_workbook_bytes(no_plan)


def _is_untouched_xlsx(content: bytes) -> bool:
    from sizing.report.parts import is_untouched

    return is_untouched(content)


def _html(reported: Reported) -> bytes:
    from sizing.report.html import page

    return page(reported)


def _no_plan_html(no_plan: NoPlan) -> bytes:
    from sizing.report.html import no_plan_page

    return no_plan_page(no_plan)


def _is_sealed(content: bytes) -> bool:
    from sizing.report.seal import is_untouched

    return is_untouched(content)


def _pdf(reported: Reported) -> bytes:
    from sizing.report.pdf import pdf

    return pdf(reported)


def _is_untouched_pdf(content: bytes) -> bool:
    from sizing.report.pdf import is_untouched_pdf

    return is_untouched_pdf(content)


def _check_pdf() -> None:
    from sizing.report.pdf import check_pdf

    check_pdf()


def _csv(reported: Reported) -> bytes:
    from sizing.report.bill_csv import bill_csv

    return bill_csv(reported)


def _is_untouched_csv(content: bytes) -> bool:
    from sizing.report.bill_csv import is_untouched

    return is_untouched(content)


def _json(reported: Reported) -> bytes:
    from sizing.plan.document import plan_document, to_json

    return to_json(plan_document(reported.plan)).encode()


def _no_plan_json(no_plan: NoPlan) -> bytes:
    from sizing.plan.document import no_plan_document, to_json

    return to_json(no_plan_document(no_plan)).encode()


def _is_untouched_json(content: bytes) -> bool:
    from sizing.plan.document import is_untouched
    from sizing.plan.reading import parse_json
    from sizing.units.errors import BadInput

    try:
        document = parse_json(content, "")
    except BadInput:
        return False
    return isinstance(document, dict) and is_untouched(document)


def _markdown(reported: Reported) -> bytes:
    from sizing.report.markdown import markdown

    return markdown(reported)


def _no_plan_markdown(no_plan: NoPlan) -> bytes:
    from sizing.report.markdown import no_plan_markdown

    return no_plan_markdown(no_plan)


FORMATS: Mapping[str, Format] = {
    "xlsx": Format(".xlsx", _xlsx, _is_untouched_xlsx, _no_plan_xlsx),
    "html": Format(".html", _html, _is_sealed, _no_plan_html),
    "csv": Format(".csv", _csv, _is_untouched_csv),
    "json": Format(".json", _json, _is_untouched_json, _no_plan_json),
    "markdown": Format(".md", _markdown, _is_sealed, _no_plan_markdown),
    "pdf": Format(".pdf", _pdf, _is_untouched_pdf, check=_check_pdf),
}
"""In the order in which files are written: last what rests on libraries of the system, and may fail."""


def writers(answer: Plan | NoPlan, names: Iterable[str]) -> dict[str, Callable[[], bytes | None]]:
    """What gives the whole file of every format asked for; without a plan, of those that have something to say then.

    A writer gives None where it has nothing to say after all, and raises BadInput where the format cannot be written.
    """
    if isinstance(answer, NoPlan):
        those = {name: FORMATS[name].write_no_plan for name in names}
        return {name: partial(write, answer) for name, write in those.items() if write is not None}
    from sizing.plan.bill import bill_of_units

    reported = Reported(answer, bill_of_units(answer))
    return {name: partial(FORMATS[name].write, reported) for name in names}


def rendered(answer: Plan | NoPlan, names: Iterable[str]) -> dict[str, bytes]:
    """The whole files. Raises BadInput where one of them cannot be written."""
    written = {name: write() for name, write in writers(answer, names).items()}
    return {name: content for name, content in written.items() if content is not None}


def files_of(folder: Path, stem: str) -> dict[str, Path]:
    """Where the file of every format stands, of a workload whose file has this stem."""
    return {name: folder / f"{stem}{each.suffix}" for name, each in FORMATS.items()}


def left_over(files: Mapping[str, Path]) -> Iterator[Path]:
    """Of the files of formats, those that are there and that the tool wrote."""
    for name, path in files.items():
        try:
            if path.is_file() and FORMATS[name].is_untouched(path.read_bytes()):
                yield path
        except OSError:  # what cannot be read is none that anybody takes for the answer
            continue
