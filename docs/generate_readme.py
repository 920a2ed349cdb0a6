"""Fills the README from real runs of `workloads/customer.yaml`: the answer, and what each line does to it.

Run by `make readme` whenever the workload, a catalog or the program changes the answer; a test holds the answer to it.
"""

import copy
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import sizing
from sizing.report.answer import headline
from sizing.units.document import key_path, read_document
from sizing.units.quantities import parse_count, parse_power_kw, parse_tokens

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
WORKLOAD = Path("workloads/customer.yaml")
LEFT_OUT_OF_README = "Fewer bits"  # the first part of the printed answer that the README does not repeat

Keys = tuple[str | int, ...]
GONE = object()


def printed_answer() -> str:
    """What `make solve` prints, up to the notes on sources and assumptions."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "sizing.cli.main", "solve", str(WORKLOAD), "--out", folder]
        run = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, encoding="utf-8")
    sections = run.stdout.rstrip().replace(folder, "reports").split("\n\n")
    shown = next(index for index, section in enumerate(sections) if section.startswith(LEFT_OUT_OF_README))
    return "\n\n".join([*sections[:shown], "...", sections[-1]])


def changes(tree: Mapping[str, Any]) -> Iterator[tuple[Keys, str, Any]]:
    """(key, what is changed, its new value) line by line: twice the load, half the limit, and no such line at all."""
    for index, service in enumerate(tree["classes"]):
        base: Keys = ("classes", index)
        tokens, sequences = parse_tokens(service["context"]), parse_count(service["concurrency"])
        yield (*base, "context"), f"{2 * tokens:,} tokens", str(2 * tokens)
        yield (*base, "concurrency"), f"{2 * sequences:,} sequences", str(2 * sequences)
        for key in ("weights", "kv_precision", "allow_longer_context"):
            if key in service:
                yield (*base, key), "left out", GONE
    for key, value in tree.get("site", {}).items():
        if key in ("power", "liquid_heat", "air_heat", "pod_liquid_heat", "pod_air_heat"):
            half = parse_power_kw(value) / 2
            yield ("site", key), f"{float(half):,g} kW", f"{_digits(half)} kW"
        elif key == "pods":
            fewer = parse_count(value) - 1
            yield ("site", key), str(fewer), str(fewer)
        if key != "pod":
            yield ("site", key), "left out", GONE
    for key in tree.get("policy", {}):
        yield ("policy", key), "left out", GONE


def _digits(value: Fraction) -> str:
    return f"{float(value):f}".rstrip("0").rstrip(".")


def changed(tree: Mapping[str, Any], keys: Keys, value: Any) -> dict[str, Any]:
    """`tree` with another value at `keys`, or without it."""
    copied: Any = copy.deepcopy(tree)
    inner = copied
    for key in keys[:-1]:
        inner = inner[key]
    if value is GONE:
        del inner[keys[-1]]
    else:
        inner[keys[-1]] = value
    return dict(copied)


def in_brief(workload: Mapping[str, Any]) -> str:
    """The answer to a workload in one line, with the limits that bind."""
    try:
        request = sizing.load_workload(workload)
    except sizing.BadInput as refused:
        return "refused: " + "; ".join(problem.what for problem in refused.problems)
    found = sizing.solve(request, time_limit=120)
    if isinstance(found, sizing.NoPlan):
        return f"{found.status}: {'; '.join(found.reasons)}"
    by_precision: dict[str, list[str]] = {}
    for served in found.classes:
        by_precision.setdefault("/".join(pair.kv for pair in served.precisions), []).append(served.name)
    kept = [f"{precision} KV for {', '.join(names)}" for precision, names in sorted(by_precision.items())]
    binding = [limit.name for limit in found.limits if limit.binding]
    return "; ".join([headline(found), *kept, *([f"binds: {', '.join(binding)}"] if binding else [])])


def lines_table() -> str:
    """One row a change; a row that changes nothing says so."""
    document = read_document(ROOT / WORKLOAD)
    now = in_brief(document.tree)
    rows = ["| line | change | answer |", "|---|---|---|", f"| | as it is | {now} |"]
    for keys, what, value in changes(document.tree):
        answer = in_brief(changed(document.tree, keys, value))
        rows.append(f"| `{_shown(keys, document.tree)}` | {what} | {'the same' if answer == now else answer} |")
        print(rows[-1], file=sys.stderr)
    return "\n".join(rows)


def _shown(keys: Keys, tree: Mapping[str, Any]) -> str:
    """A key as a reader finds it: classes by their name."""
    if keys[0] == "classes" and isinstance(keys[1], int):
        return f"{tree['classes'][keys[1]]['name']}: {key_path(keys[2:])}"
    return key_path(keys)


def block(text: str, name: str) -> str:
    """What stands between the marks of a block of the README."""
    found = re.search(_marks(name), text, re.DOTALL)
    assert found, f"README.md has no block {name}"
    return found[2]


def with_block(text: str, name: str, content: str) -> str:
    """The README with other content in a block."""
    return re.sub(_marks(name), lambda found: found[1] + content + found[3], text, flags=re.DOTALL)


def _marks(name: str) -> str:
    return rf"(<!-- {name}:begin[^>]*-->\n)(.*?)(<!-- {name}:end -->)"


def fenced(answer: str) -> str:
    """The answer as a block of the README."""
    return f"\n```text\n{answer}\n```\n\n"


if __name__ == "__main__":
    filled = with_block(README.read_text(encoding="utf-8"), "answer", fenced(printed_answer()))
    filled = with_block(filled, "lines", f"\n{lines_table()}\n\n")
    README.write_text(filled, encoding="utf-8", newline="\n")
