"""The bill of units as CSV: one line of the bill a record, the same columns always, and back from it.

Back also from one that a spreadsheet saved with semicolons or tabs between the fields, and with decimal commas.

A spreadsheet that opens it must not take text for a formula: text that begins like one gets an apostrophe before it
(OWASP, CSV Injection), as does text that begins with an apostrophe, so that reading takes back what writing added.
CSV has no place for a hash beside its records, so each carries that of the whole bill.
"""

import csv
from codecs import BOM_UTF8
from collections.abc import Sequence
from fractions import Fraction
from hashlib import sha256
from io import StringIO

from sizing.plan.bill import BillLine
from sizing.plan.compared import Compared, Item, Ordered, bill
from sizing.report.reported import Reported
from sizing.report.text import visible
from sizing.units.amounts import number
from sizing.units.errors import BadInput, Problem, shown
from sizing.units.names import nearest

SEAL = "bill_sha256"
COLUMNS = (
    *("number", "group", "manufacturer", "part", "description", "quantity", "spares"),
    *("ordered", "installed", "needed", "unit", "contained"),
    *("unit_kw", "total_kw", "unit_usd", "total_usd", "rule", "confidence", "source", "remark"),
    SEAL,
)
"""The header. Blank: a line without a number is contained in others; a figure is not known."""

_BEGINS_A_FORMULA = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # the full-width ones too
_MARK = "'"
_DELIMITERS = (",", ";", "\t")
_MOST_LINES = 100_000

Record = Sequence[str]


def bill_csv(reported: Reported) -> bytes:
    """The whole file, in UTF-8 with a byte order mark: without one, spreadsheets take it for another encoding."""
    records = [_record(line) for line in reported.bill]
    seal = _seal(records)
    return BOM_UTF8 + _written([COLUMNS, *((*record, seal) for record in records)])


def is_untouched(content: bytes) -> bool:
    """Whether a file is exactly what the tool wrote: the hash in every record is that of all of them."""
    try:
        header, *records = _read(content, "")
    except (BadInput, ValueError):
        return False
    if tuple(header) != COLUMNS or BOM_UTF8 + _written([header, *records]) != content:
        return False
    return {record[-1] for record in records} <= {_seal([record[:-1] for record in records])}


def read_bill_csv(content: bytes, file: str) -> Compared:
    """The bill that a CSV file of ours lists, whoever changed it since; columns may stand in any order.

    Raises BadInput with every line that is none.
    """
    delimiter = _delimiter(content)
    header, *records = _read(content, file, delimiter) or [[]]
    asked = ("group", "manufacturer", "part", "description", "ordered", "unit", "total_kw", "total_usd")
    lacking = [name for name in asked if name not in header]
    if lacking:
        what = f"is no bill of sizing: no column {', '.join(lacking)}"
        accepted = "a plan of `solve --json`, a workbook of sizing, or a bill of `solve --format csv`"
        raise BadInput(Problem(what, file=file, line=1, accepted=accepted, nearest=nearest(lacking[0], header)))
    places = [header.index(name) for name in asked]
    problems: list[Problem] = []
    lines = []
    for position, record in enumerate(records, start=2):
        if len(record) != len(header):
            what = f"{len(record)} fields in record {position}"
            problems.append(Problem(what, file=file, accepted=f"{len(header)}, as the header has"))
            continue
        group, manufacturer, part, description, ordered, unit, kw, usd = (_text(record[place]) for place in places)
        item = Item(group, manufacturer, part, description, unit)
        amounts = [
            _number(text if delimiter == "," else text.replace(",", "."), name, position, file, problems)
            for name, text in (("ordered", ordered), ("total_kw", kw), ("total_usd", usd))
        ]
        if ordered == "":
            problems.append(Problem("no quantity", f"record {position}", file))
        lines.append((item, Ordered(amounts[0] or Fraction(0), amounts[1], amounts[2])))
    if problems:
        raise BadInput(*problems)
    return bill(file, lines)


def _record(line: BillLine) -> Record:
    return (
        "" if line.number is None else str(line.number),
        *map(_safe, (line.group, line.manufacturer, line.part, line.description)),
        *map(str, (line.quantity, line.spares, line.ordered, line.installed)),
        "" if line.needed is None else str(line.needed),
        _safe(line.unit),
        "yes" if line.contained else "no",
        *(_digits(amount) for amount in (line.unit_kw, line.total_kw, line.unit_usd, line.total_usd)),
        *map(_safe, (line.rule, line.confidence, line.source, line.remark)),
    )


def _safe(text: str) -> str:
    said = visible(text)
    return _MARK + said if _needs_mark(said) else said


def _text(field: str) -> str:
    return field[1:] if field.startswith(_MARK) and _needs_mark(field[1:]) else field


def _needs_mark(text: str) -> bool:
    return text.lstrip().startswith((*_BEGINS_A_FORMULA, _MARK))


def _digits(amount: Fraction | None) -> str:
    return "" if amount is None else str(number(amount))


def _seal(records: Sequence[Record]) -> str:
    return sha256(_written(records)).hexdigest()


def _written(records: Sequence[Record]) -> bytes:
    text = StringIO()
    csv.writer(text, lineterminator="\n").writerows(records)
    return text.getvalue().encode()


def _delimiter(content: bytes) -> str:
    """What stands most often in the header, of which no name has any: a comma where none does."""
    header = content.removeprefix(BOM_UTF8).lstrip().partition(b"\n")[0]
    return max(_DELIMITERS, key=lambda delimiter: header.count(delimiter.encode()))


def _read(content: bytes, file: str, delimiter: str = ",") -> list[list[str]]:
    try:
        text = content.decode("utf-8-sig")
        records = list(csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True))
    except UnicodeDecodeError:
        accepted = "a plan, a workbook, or a bill in CSV; a spreadsheet saves that as `CSV UTF-8`"
        raise BadInput(Problem("not UTF-8", file=file, accepted=accepted)) from None
    except csv.Error as error:
        raise BadInput(Problem(f"no CSV: {error}", file=file)) from None
    if len(records) > _MOST_LINES:
        raise BadInput(Problem(f"{len(records):,} records", file=file, accepted=f"at most {_MOST_LINES:,}"))
    return [record for record in records if record]


def _number(text: str, name: str, position: int, file: str, problems: list[Problem]) -> Fraction | None:
    """A decimal number without an exponent beyond a double; None where the field is blank."""
    if not text:
        return None
    try:
        value = float(text)
        if value - value == 0:  # neither NaN nor infinite
            return Fraction(repr(value))
    except ValueError:
        pass
    accepted = "digits, as sizing wrote them: a spreadsheet may have taken them for a date or for text"
    problems.append(Problem(f"{name} is no number", f"record {position}", file, seen=shown(text), accepted=accepted))
    return None
