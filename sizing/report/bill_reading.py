"""A plan or a bill for `diff`, whichever a file holds: a plan document, a workbook of ours, or a bill in CSV."""

import sys
from codecs import BOM_UTF8
from pathlib import Path

from sizing.plan.compared import Compared, plan
from sizing.plan.reading import LARGEST_FILE_BYTES, parse_json, read_content
from sizing.units.document import shown_file
from sizing.units.errors import BadInput, Problem

ACCEPTED = "a plan of `solve --json`, a workbook of sizing, or a bill of `solve --format csv`"
STANDARD_INPUT = "-"
_ZIP = b"PK"


def read_side(path: str) -> Compared:
    """What is in the file at `path`, `-` being standard input; told apart by what it holds, not by its name.

    Raises BadInput where it cannot be read, or is none of the three.
    """
    if path == STANDARD_INPUT:
        file, content = "standard input", sys.stdin.buffer.read(LARGEST_FILE_BYTES + 1)
        if len(content) > LARGEST_FILE_BYTES:
            raise BadInput(Problem("too large", file=file, accepted=f"at most {LARGEST_FILE_BYTES // 2**20} MiB"))
    else:
        file, content = shown_file(path), read_content(Path(path))
    if content.startswith(_ZIP):
        from sizing.report.bill_workbook import read_bill_workbook

        return read_bill_workbook(content, file)
    beginning = content.removeprefix(BOM_UTF8).lstrip()[:1]
    if beginning in (b"{", b"["):
        return plan(parse_json(content, file), file)
    if not beginning:
        raise BadInput(Problem("is empty", file=file, accepted=ACCEPTED))
    from sizing.report.bill_csv import read_bill_csv

    return read_bill_csv(content, file)
