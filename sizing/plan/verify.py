"""A plan document against the catalog at hand: is it right, and if not, what is wrong where.

Nothing that follows is taken from the document. The request is read again from its canonical form; the plan is built
again from what the document buys, runs and holds, passes the independent check, and is then written as a document and
compared with the one at hand. What only a search can know (bounds, what it left out) is held to its hash.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sizing.plan.check import check
from sizing.plan.compare import RIGHT_IS, Finding, differences
from sizing.plan.document import SCHEMA, placed_document, plan_document, seals
from sizing.plan.plan import Plan
from sizing.plan.reading import parse_json, read_content
from sizing.plan.rebuild import FROM, Rebuilt, rebuild
from sizing.plan.told import Told, read_told
from sizing.request.canonical import sha256_of
from sizing.request.load import request_from_document
from sizing.request.request import Request
from sizing.units.document import key_path, shown_file
from sizing.units.errors import BadInput, Problem, shown

if TYPE_CHECKING:
    from sizing.catalog.catalog import Catalog

LONG_TO_PARSE = 2**20
"""Bytes from which on a file is looked through for the schema's name first: junk is then refused at once."""
KIND = SCHEMA.partition("/")[0]

_AT_HAND = "the catalog at hand says"
_COMPARED = (
    *(
        "status",
        "objective",
        "pods",
        "systems",
        "to_buy",
        "totals",
        "deployments",
        "classes",
        "tokens",
        "memory",
        "limits",
    ),
    *("placement", "bill", "assumptions", "rejected", "request"),
)
_SUBJECTS = (
    ("placement", "placement"),
    ("Pod at ", "pods"),
    ("the fill of a Pod", "pods"),
    ("site ", "limits"),
    ("limit ", "limits"),
    ("stage", "objective"),
    ("status", "status"),
)
_UNITS_IN_KEYS = ("_tokens", "_kw", "_share")


@dataclass(frozen=True, slots=True)
class Verdict:
    """`plan` as rebuilt from the document, None where it could not be; it holds where nothing was found."""

    plan: Plan | None
    findings: tuple[Finding, ...]


def verify_file(path: Path, catalog: "Catalog") -> Verdict:
    """Verify the plan document at `path`.

    Raises BadInput where it is no document of a plan, and where a file of the catalog is wrong.
    """
    file, content = shown_file(str(path)), read_content(path)
    if len(content) > LONG_TO_PARSE and KIND.encode() not in content:
        raise BadInput(Problem("is no plan document", "schema", file, seen="a file without it", accepted=SCHEMA))
    return verify_document(parse_json(content, file), catalog, file)


def verify_document(document: Any, catalog: "Catalog", file: str = "") -> Verdict:
    """Verify a plan document that was read from JSON; `file` is the name that errors carry. Raises BadInput."""
    told = read_told(document, file)
    try:
        request = request_from_document(told.request, catalog)
    except BadInput as error:
        return Verdict(None, (*_of_other_catalog(told, catalog), *_of_request(error, told, file), *_unsealed(told, ())))
    findings = [*_of_catalog(told, request), *_of_input(told, request)]
    rebuilt = rebuild(told, request)
    if isinstance(rebuilt, Rebuilt):
        findings += _of_plan(told, rebuilt)
    else:
        findings += [*differences(told.request, request.document, ("request",)), *rebuilt]
    findings = list(dict.fromkeys([*findings, *_unsealed(told, findings)]))
    return Verdict(rebuilt.plan if isinstance(rebuilt, Rebuilt) else None, tuple(findings))


def _of_catalog(told: Told, request: Request) -> Iterator[Finding]:
    """The entries in use, one by one, and their hash."""
    right = {"sha256": told.catalog_sha256, "entries": request.entries}
    yield from differences(told.tree["catalog"], right, ("catalog",), _AT_HAND)
    if told.catalog_sha256 != request.catalog_sha256:
        own = sha256_of(told.entries) == told.catalog_sha256
        why = "the plan was made with another catalog" if own else "it is not the hash of catalog.entries"
        yield Finding(
            "catalog.sha256",
            f"says {_written(told.catalog_sha256)}, the entries in use here give {request.catalog_sha256}: {why}",
        )


def _of_other_catalog(told: Told, catalog: "Catalog") -> Iterator[Finding]:
    """What the catalog at hand says of the entries that a plan carries, where its request does not fit that catalog."""
    from sizing.catalog.catalog import SECTIONS

    for section, entries in told.entries.items():
        known = catalog.names(section) if section in SECTIONS else ()
        for name, entry in entries.items():
            path = ("catalog", "entries", section, name)
            if name not in known:
                yield Finding(key_path(path), "is not in the catalog at hand")
            else:
                yield from differences(entry, catalog.entry(section, name), path, _AT_HAND)


def _of_request(error: BadInput, told: Told, file: str) -> Iterator[Finding]:
    """Why no request can be made of what the document tells. Raises BadInput where that is none at all."""
    if any(problem.file is not None for problem in error.problems):  # a file of the catalog is wrong
        raise error
    if any(problem.path == "request" for problem in error.problems):
        raise BadInput(Problem("is no request", "request", file or None)) from None
    for problem in error.problems:
        seen = "" if problem.seen is None else f", seen {problem.seen}"
        path = f"request.{_as_written(problem.path, told.request)}".rstrip(".")
        yield Finding(path, f"{problem.what}{seen}")


def _as_written(path: str, request: Mapping[str, Any]) -> str:
    """The path of a workload's key in its canonical form, whose keys carry their unit."""
    keys = [key for group in (*request["classes"], *request["sites"], request["policy"]) for key in group]
    written = {key.removesuffix(unit): key for key in keys for unit in _UNITS_IN_KEYS if key.endswith(unit)}
    return re.sub(r"\w+", lambda part: written.get(part[0], part[0]), path)


def _of_input(told: Told, request: Request) -> Iterator[Finding]:
    if told.input_sha256 != request.input_sha256:
        yield Finding(
            "input_sha256",
            f"says {_written(told.input_sha256)}, request gives {request.input_sha256}: "
            "this is not the request that was planned",
        )


def _of_plan(told: Told, rebuilt: Rebuilt) -> Iterator[Finding]:
    """What the independent check says, then every figure that does not follow."""
    right = plan_document(rebuilt.plan)
    checked = [_located(sentence, right) for sentence in check(rebuilt.plan)]
    yield from checked
    for key in _COMPARED:
        yield from differences(told.tree[key], right[key], (key,), FROM.get(key, RIGHT_IS))
    if any(finding.path == "placement" for finding in checked):
        holding = [placed_document(box) for box in rebuilt.placement]
        yield from differences(told.tree["placement"], holding, ("placement",), "a placement that holds has")


def _located(sentence: str, right: Mapping[str, Any]) -> Finding:
    """A sentence of the check with the key that it is about: the check knows plans, and no documents."""
    of_names = [
        *((f"{each['id']}:", f"deployments[{number}]") for number, each in enumerate(right["deployments"])),
        *((f"class {each['name']!r}", f"classes[{number}]") for number, each in enumerate(right["classes"])),
    ]
    for beginning, path in (*of_names, *_SUBJECTS):
        if sentence.startswith(beginning):
            return Finding(path, sentence.removeprefix(f"{path}: "))
    return Finding("placement" if " stand spare, " in sentence else "", sentence)


def _unsealed(told: Told, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Keys that follow from no other and are not as they were written; nothing of those where more is known."""
    found, right = {finding.path.split(".")[0].split("[")[0] for finding in findings}, seals(told.tree)
    for key in dict.fromkeys((*right, *told.seals)):
        if key in found or told.seals.get(key) == right.get(key):
            continue
        path = key_path((key,))
        if key not in right:
            yield Finding(path, f"is missing, or sha256 has a key {shown(key)} too much")
        elif key not in told.seals:
            yield Finding(path, "does not belong here, or its hash is missing in sha256")
        else:
            yield Finding(path, f"is not as it was written, or its hash in sha256 is not: it gives {right[key]}")


def _written(sha256: str) -> str:
    """A hash in full, anything else as a message can print it."""
    return sha256 if re.fullmatch("[0-9a-f]{64}", sha256) else shown(sha256)
