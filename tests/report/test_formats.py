"""Every format in which a proposal is written: the same bytes for the same plan, text that stays text, changes seen."""

import csv
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from hashlib import sha256
from html.parser import HTMLParser
from io import StringIO
from itertools import pairwise
from pathlib import Path

import pytest

from sizing.plan.bill import bill_of_units
from sizing.plan.compared import plan as compared_plan
from sizing.plan.document import plan_document
from sizing.plan.plan import Plan, Status
from sizing.report.bill_csv import COLUMNS, read_bill_csv
from sizing.report.formats import FORMATS, rendered
from sizing.report.text import cents, visible
from sizing.units.errors import BadInput
from tests.report.report_plans import no_plan, open_plan, sourced_plan

ROOT = Path(__file__).resolve().parent.parent.parent
TEXTS = ("html", "csv", "json", "markdown")
NAMES = {
    "a formula": '=HYPERLINK("http://example.org","x")',
    "a plus": "+1",
    "an at sign": "@SUM(A1)",
    "a minus": "-2+3",
    "long": "W" * 300,
    "right to left": "שלום עולם",
    "an override": "a\u202eb",
    "emoji": "👩‍🚀 🚀",
    "markup": "<script>alert(1)</script>",
    "an entity": "&lt;b&gt; &amp;",
    "a pipe": "a|b",
    "backticks": "`x` ``y``",
    "lines": "one\ntwo\r\nthree",
    "a template": "{{ 7 * 7 }} {% raw %}",
    "Markdown": "[l](javascript:1) **b** _i_ # h www.example.org @team",
    "a comment": "--> <!-- sizing.content",
    "a quote": '"><img src=x onerror=alert(1)>',
}


def written(name: str, plan: Plan) -> bytes:
    return rendered(plan, [name])[name]


def can_write_pdf() -> bool:
    try:
        FORMATS["pdf"].check()
    except BadInput:
        return False
    return True


@pytest.mark.parametrize("name", [*TEXTS, "xlsx"])
def test_a_file_is_known_as_ours_until_somebody_changes_it(name: str) -> None:
    content = written(name, sourced_plan())
    is_untouched = FORMATS[name].is_untouched
    assert is_untouched(content)
    assert not is_untouched(content.replace(b"rack-72", b"rack-73"))
    assert not is_untouched(content[:-2])
    for other in (b"", b"mine", b"{}", b"a,b\n1,2\n", b"<html></html>\n", b"\xff\xfe", b"[" * 100_000, content[::-1]):
        assert not is_untouched(other)


def test_formats_do_not_take_each_other_for_their_own() -> None:
    plan = sourced_plan()
    contents = rendered(plan, TEXTS)
    for name in ("csv", "json", "xlsx", "pdf"):
        assert not any(FORMATS[name].is_untouched(content) for other, content in contents.items() if other != name)


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("title", NAMES.values(), ids=NAMES)
def test_files_with_names_of_any_kind_are_whole_and_ours(name: str, title: str) -> None:
    content = written(name, sourced_plan(title, title))
    assert FORMATS[name].is_untouched(content)
    assert content.decode().endswith("\n")
    assert "\r" not in content.decode()


# CSV


def records(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(content.decode("utf-8-sig"))))


def with_part(text: str) -> Plan:
    """A plan that buys a system of that title and vendor."""
    plan = sourced_plan()
    kinds = tuple(
        replace(kind, title=text, vendor=text) if kind.name == "node-8" else kind for kind in plan.request.candidates
    )
    return replace(plan, request=replace(plan.request, candidates=kinds))


def test_the_header_is_stable() -> None:
    header = written("csv", sourced_plan()).decode("utf-8-sig").splitlines()[0]
    assert header == (
        "number,group,manufacturer,part,description,quantity,spares,ordered,installed,needed,unit,contained,"
        "unit_kw,total_kw,unit_usd,total_usd,rule,confidence,source,remark,bill_sha256"
    )
    assert header.split(",") == [*COLUMNS]


def test_csv_has_every_line_of_the_bill() -> None:
    plan = sourced_plan()
    found = records(written("csv", plan))
    lines = bill_of_units(plan)
    assert [(row["part"], int(row["quantity"])) for row in found] == [(line.part, line.quantity) for line in lines]
    assert [row["number"] for row in found] == ["" if line.contained else str(line.number) for line in lines]
    assert found[1]["total_kw"] == "30.6"
    assert found[1]["total_usd"] == ""  # not known
    assert len({row["bill_sha256"] for row in found}) == 1


@pytest.mark.parametrize("text", NAMES.values(), ids=NAMES)
def test_no_cell_begins_like_a_formula_and_reading_gives_the_text_back(text: str) -> None:
    content = written("csv", with_part(text))
    cells = [cell for row in csv.reader(StringIO(content.decode("utf-8-sig"))) for cell in row]
    assert not [cell for cell in cells if cell.lstrip().startswith(("=", "+", "-", "@"))]
    plan = with_part(text)
    own = compared_plan(json.loads(json.dumps(plan_document(plan))), "a").items
    again = read_bill_csv(content, "b").items
    if text == visible(text):
        assert again == own
    else:
        assert len(again) == len(own)


def saved(content: bytes, delimiter: str) -> bytes:
    """As a spreadsheet of a land with decimal commas saves it."""
    rows = list(csv.reader(StringIO(content.decode("utf-8-sig"))))
    places = [COLUMNS.index(name) for name in ("unit_kw", "total_kw", "unit_usd", "total_usd")]
    text = StringIO()
    csv.writer(text, delimiter=delimiter).writerows(
        [cell.replace(".", ",") if place in places else cell for place, cell in enumerate(row)] for row in rows
    )
    return text.getvalue().encode("utf-8-sig")


@pytest.mark.parametrize("delimiter", [";", "\t"])
def test_a_bill_that_a_spreadsheet_saved_is_read(delimiter: str) -> None:
    content = written("csv", sourced_plan())
    assert read_bill_csv(saved(content, delimiter), "b").items == read_bill_csv(content, "a").items
    assert not FORMATS["csv"].is_untouched(saved(content, delimiter))


def test_a_figure_that_a_spreadsheet_took_for_a_date_is_told() -> None:
    content = saved(written("csv", sourced_plan()), ";").replace(b"30,6", b"30. Jun")
    with pytest.raises(BadInput, match=r"total_kw is no number.*for a date"):
        read_bill_csv(content, "b.csv")


def with_installed_nodes() -> Plan:
    plan = sourced_plan()
    north, south = plan.request.sites
    sites = (replace(north, installed_pods=1, installed_systems={"node-8": 2}), south)
    return replace(plan, request=replace(plan.request, sites=sites))


def test_what_is_installed_is_not_to_order_in_any_format() -> None:
    plan = with_installed_nodes()
    rows = {row["part"]: row for row in records(written("csv", plan)) if row["group"] == "Installed already"}
    assert {part: (row["quantity"], row["installed"], row["ordered"]) for part, row in rows.items()} == {
        "test-pod": ("1", "1", "0"),
        "node-8": ("2", "2", "0"),
    }
    text = written("markdown", plan).decode()
    (head,) = re.findall(r"^\| no\. .*$", text, re.MULTILINE)
    assert "| quantity | to order |" in head
    (line,) = re.findall(r"^.*Installed already .* node-8 .*$", text, re.MULTILINE)
    assert "| 2 | 0 | piece |" in line
    assert "- Pods: 2 (1 to buy, 1 installed already; " in text
    assert "- Systems: 5 (3 to buy, 2 installed already; 3 x node-8, 2 x rack-72)" in text
    assert "to order" not in written("markdown", sourced_plan()).decode()


def test_money_has_two_decimals_at_most() -> None:
    plan = sourced_plan()
    priced = replace(plan, totals=replace(plan.totals, cost_usd=Fraction("9403497.239")))
    assert "9,403,497.24 USD" in written("html", priced).decode()
    assert cents(Fraction(5)) == "5"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is no bill of sizing"),
        (b"a,b\n1,2\n", "is no bill of sizing: no column group"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b'"a', "no CSV"),
        (",".join(COLUMNS).encode() + b"\n1,2\n", "2 fields in record 2"),
        (",".join(COLUMNS).encode() + b"\n" + b",".join([b"x"] * len(COLUMNS)) + b"\n", "ordered is no number"),
        (",".join(COLUMNS).encode() + b"\n" + b"," * (len(COLUMNS) - 1) + b"\n", "no quantity"),
        (",".join(COLUMNS).encode() + b"\n,,,,,,,nan" + b"," * (len(COLUMNS) - 8) + b"\n", "ordered is no number"),
    ],
)
def test_what_is_no_bill_is_told(content: bytes, said: str) -> None:
    with pytest.raises(BadInput, match=re.escape(said)):
        read_bill_csv(content, "b.csv")


# Markdown


def tables(text: str) -> Iterator[list[str]]:
    yield from (block.splitlines() for block in text.split("\n\n") if block.startswith("|"))


@pytest.mark.parametrize("title", NAMES.values(), ids=NAMES)
def test_markdown_keeps_rows_in_their_columns_and_names_as_text(title: str) -> None:
    text = written("markdown", sourced_plan(title, title)).decode()
    for rows in tables(text):
        assert len({len(re.split(r"(?<!\\)\|", row)) for row in rows}) == 1
    body = text.rpartition("<!-- sizing.content")[0]
    assert not re.search(r"(?<!\\)<", body)
    assert not re.search(r"(?<!\\)`", body)
    assert not re.search(r"(?<!\\)\]\(", body)
    assert not re.search(r"https?:|www\.", body)
    assert "@SUM" not in body
    assert "@team" not in body


def test_markdown_tells_the_answer_and_the_whole_bill() -> None:
    plan = sourced_plan()
    text = written("markdown", plan).decode()
    assert text.startswith("# Example customer\n\nmemory only: ")
    assert "**2 Pods, 3 x node-8, 2 x rack-72, 168 GPUs, 314.6 kW nameplate**" in text
    for heading in ("HBM budget", "Sequences and tokens per class", "Pod by Pod", "Limits", "Bill of units", "Audit"):
        assert f"\n## {heading}\n" in text
    assert text.count("\n| ") > len(bill_of_units(plan))


# The page


class Page(HTMLParser):
    """Tags that were opened and closed in order, attributes, and text."""

    EMPTY = frozenset({"meta", "wbr", "rect"})

    def __init__(self, content: bytes) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(content.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.EMPTY:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text += data

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.mark.parametrize("title", NAMES.values(), ids=NAMES)
def test_the_page_shows_names_as_text(title: str) -> None:
    page = Page(written("html", sourced_plan(title, title)))
    assert page.open == []
    assert not page.named("script")
    assert not page.named("img")
    assert visible(title) in page.text
    handlers = [key for _, attributes in page.tags for key in attributes if key.startswith("on")]
    assert not handlers


def test_the_page_loads_nothing() -> None:
    content = written("html", sourced_plan())
    page = Page(content)
    loading = {"src", "href", "srcset", "data", "action", "poster", "background", "xlink:href"}
    assert not [key for _, attributes in page.tags for key in attributes if key in loading]
    assert not re.search(rb"@import|url\(", content)
    (policy,) = [each for each in page.named("meta") if each.get("http-equiv") == "Content-Security-Policy"]
    assert policy["content"] == "default-src 'none'; style-src 'unsafe-inline'"


def test_the_page_is_accessible() -> None:
    page = Page(written("html", sourced_plan()))
    assert page.named("html")[0]["lang"] == "en"
    assert len(page.named("h1")) == 1
    assert all("scope" in each for each in page.named("th"))
    assert len(page.named("caption")) == len(page.named("table"))
    pictures = [each for each in page.named("svg") if each.get("aria-hidden") != "true"]
    assert pictures
    assert all(each.get("role") == "img" and each.get("aria-label") for each in pictures)
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch("h[1-6]", tag)]
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_the_page_tells_the_story() -> None:
    page = Page(written("html", sourced_plan()))
    for said in ("2 Pods, 3 x node-8, 2 x rack-72", "19,443,712", "HBM budget", "Bill of units", "A data sheet"):
        assert said in page.text
    labels = [str(each["aria-label"]) for each in page.named("svg") if each.get("role") == "img"]
    assert any(label.startswith("All GPUs, on average: weights: 2.7 %, reserve: 1.0 %") for label in labels)
    assert "idle: 89.8 %" in labels[0]


def test_every_drawn_bar_adds_up_and_stays_inside() -> None:
    page = Page(written("html", sourced_plan()))
    parts = [each for each in page.named("rect") if "x" in each]
    assert parts
    assert all(
        float(str(each["x"])) >= 0 and float(str(each["x"])) + float(str(each["width"])) < 1000.1 for each in parts
    )


def test_an_open_stage_is_not_called_proven() -> None:
    page = Page(written("html", open_plan()))
    assert "not every stage is proven" in page.text
    assert "ended early" in page.text


# Without a plan


@pytest.mark.parametrize("name", ["html", "json", "markdown"])
def test_without_a_plan_the_reasons_are_written(name: str) -> None:
    (content,) = rendered(no_plan(), [name]).values()
    assert FORMATS[name].is_untouched(content)
    assert "1,968 GiB" in content.decode()


def test_without_a_plan_there_is_no_bill_to_write() -> None:
    assert rendered(no_plan(), ["csv", "pdf"]) == {}
    assert rendered(no_plan(Status.TIMEOUT), ["xlsx"]) == {}


# The same bytes

HASHES = """
import sys
from hashlib import sha256
from sizing.report.formats import rendered
from tests.report.report_plans import sourced_plan
for name in sys.argv[1:]:
    print(name, sha256(rendered(sourced_plan(), [name])[name]).hexdigest())
"""


def test_two_processes_write_the_same_bytes() -> None:
    names = [*TEXTS, *(["pdf"] if can_write_pdf() else [])]
    command = [sys.executable, "-c", HASHES, *names]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True).stdout
    here = {name: sha256(written(name, sourced_plan())).hexdigest() for name in names}
    assert dict(line.split() for line in told.splitlines()) == here


# PDF


def test_pdf_without_its_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    with pytest.raises(BadInput, match=re.escape("pip install 'sizing[pdf]'")):
        FORMATS["pdf"].check()
    with pytest.raises(BadInput, match="--format html"):
        rendered(sourced_plan(), ["pdf"])


@pytest.mark.needs_program("pango-view")
def test_a_pdf_that_ends_its_process_is_an_error_and_no_end_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without any font the libraries of the system end the process that calls them."""
    monkeypatch.setenv("FONTCONFIG_FILE", str(tmp_path))
    with pytest.raises(BadInput, match=r"could not be drawn as PDF.*at least one font"):
        rendered(sourced_plan(), ["pdf"])


@pytest.mark.needs_program("pdftotext", "pango-view")
def test_the_pdf_tells_the_story_and_is_ours(tmp_path: Path) -> None:
    content = written("pdf", sourced_plan("<b>notes</b>", "=HYPERLINK(1) שלום"))
    assert content.startswith(b"%PDF-")
    assert b"CreationDate" not in content
    assert FORMATS["pdf"].is_untouched(content)
    assert not FORMATS["pdf"].is_untouched(content[:-1] + b" \n")
    file = tmp_path / "a.pdf"
    file.write_bytes(content)
    text = subprocess.run(["pdftotext", str(file), "-"], capture_output=True, check=True, text=True).stdout
    for said in ("=HYPERLINK(1)", "<b>notes</b>", "168 GPUs", "Bill of units", "Assumptions and sources"):
        assert said in text
