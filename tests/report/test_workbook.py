import os
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from io import BytesIO
from pathlib import Path
from time import sleep
from typing import Any
from xml.etree import ElementTree
from zipfile import ZipFile

import pytest
from openpyxl import load_workbook
from openpyxl.worksheet.worksheet import Worksheet

from sizing.plan.bill import bill_of_units
from sizing.report.answer import MEMORY_ONLY
from sizing.report.workbook import workbook_bytes
from tests.report.report_plans import ENTRIES, REJECTED, SHEET, open_plan, sourced_plan
from tests.report.spreadsheet import cell_of

SUM = "Sum of what is known"
SHEETS = [
    "Proposal",
    "Bill of units",
    "Token budget",
    "Classes",
    "Placement",
    "Power and cooling",
    "Assumptions",
    "Sources",
    "Audit",
    "Not considered",
]
ROOT = Path(__file__).resolve().parents[2]


def opened(content: bytes) -> Any:
    """With the values that stand beside formulas."""
    return load_workbook(BytesIO(content), data_only=True)


def formulas(content: bytes) -> Any:
    return load_workbook(BytesIO(content))


def rows(sheet: Worksheet) -> list[tuple[Any, ...]]:
    return [tuple(cell for cell in row) for row in sheet.iter_rows(values_only=True)]


def row_of(sheet: Worksheet, first: str) -> tuple[Any, ...]:
    return next(row for row in rows(sheet) if row[0] == first)


def table(sheet: Worksheet, first_heading: str) -> list[dict[str, Any]]:
    """The rows below a heading up to the next blank row, by heading; equal headings keep the first."""
    return all_tables(sheet, first_heading)[0]


def all_tables(sheet: Worksheet, first_heading: str) -> list[list[dict[str, Any]]]:
    listed = rows(sheet)
    return [_table(listed, at) for at, row in enumerate(listed) if row[0] == first_heading]


def _table(listed: list[tuple[Any, ...]], at: int) -> list[dict[str, Any]]:
    headings = [heading for heading in listed[at] if heading is not None]
    found = []
    for row in listed[at + 1 :]:
        if all(value is None for value in row):
            break
        found.append(dict(reversed(list(zip(headings, row, strict=False)))))
    return found


@pytest.fixture(scope="module")
def book() -> Any:
    return opened(workbook_bytes(sourced_plan()))


def test_every_sheet_is_there_in_order(book: Any) -> None:
    assert book.sheetnames == SHEETS


def test_the_proposal_has_the_answer_of_the_plan(book: Any) -> None:
    plan, sheet = sourced_plan(), book["Proposal"]
    texts = [row[0] for row in rows(sheet)]
    assert texts[:4] == [
        "Example customer",
        MEMORY_ONLY,
        "As planned: 2 Pods, 3 x node-8, 2 x rack-72, 168 GPUs, 314.6 kW nameplate",
        "optimal: every stage of the objective is proven",
    ]
    assert row_of(sheet, "Pods")[1] == plan.totals.pods
    assert row_of(sheet, "GPUs")[1] == plan.totals.gpus
    assert row_of(sheet, "Systems: rack-72")[1] == 2
    assert row_of(sheet, "Nameplate of the systems")[1] == 314.6
    assert row_of(sheet, "Tokens spare")[1:3] == (plan.tokens.spare, plan.tokens.spare)
    assert row_of(sheet, "The plan holds")[1] == "ok"
    classes = table(sheet, "Class")
    assert classes[3]["How it decomposes, as planned"] == "68 per pool x 2 pools = 136 for 110 asked"
    assert "fp8 KV, against: Four points lost in one [A study, 2025]" in texts


def test_open_stages_show_value_bound_and_gap() -> None:
    stages = table(opened(workbook_bytes(open_plan()))["Audit"], "Stage of the objective")
    power = stages[1]
    assert (power["Value"], power["Unit"], power["Lower bound"]) == (314.6, "kW", 283.1)
    assert power["Gap"] == pytest.approx(315 / 3146)
    assert stages[3]["Lower bound"] == "unknown"


def test_the_bill_has_every_line_and_its_sums(book: Any) -> None:
    lines = bill_of_units(sourced_plan())
    listed = table(book["Bill of units"], "No.")
    assert [(line["Part"], line["Quantity"] or line["Contained in them"]) for line in listed[:-1]] == [
        (line.part, line.quantity) for line in lines
    ]
    assert listed[-1]["Power (kW)"] == float(sum(line.total_kw or 0 for line in lines))
    unpriced = next(line for line in listed if line["Group"] == "Pods")
    assert unpriced["Price each (USD)"] == "unknown"


def test_what_systems_contain_is_no_line_to_order(book: Any) -> None:
    gpus = [line for line in table(book["Bill of units"], "No.") if line["Group"] == "GPUs"]
    assert [line["Contained in them"] for line in gpus] == [24, 144]
    assert {(line["No."], line["Quantity"]) for line in gpus} == {(None, None)}
    assert all(line["Description"].startswith("    ") for line in gpus)


def test_the_token_budget_adds_up_to_the_byte(book: Any) -> None:
    memory = sourced_plan().memory
    lines = {line["Line"]: line for line in table(book["Token budget"], "Line")}
    parts = ("idle GPUs", "reserve", "weights", "committed", "spare", "remainder")
    assert sum(lines[part]["Bytes"] for part in parts) == lines["HBM of all GPUs"]["Bytes"] == memory.bought
    assert lines["left for KV cache"]["Tokens"] == 25_395_368
    models = table(book["Token budget"], "Model")
    assert models[-1]["Capacity (tokens)"] == 25_395_368
    pools = table(book["Token budget"], "Deployment")
    assert sum(pool["Pools"] for pool in pools) == 11
    ways = all_tables(book["Token budget"], "Deployment")[3]
    assert sum(way["Such pools"] * way["Committed (bytes a pool)"] for way in ways) == memory.committed
    held = all_tables(book["Token budget"], "Deployment")[4]
    assert [(line["Class"], line["Held in a pool (sequences)"]) for line in held[:2]] == [("chat", 11), ("long", 20)]


def test_placement_names_every_gpu_of_every_domain_once(book: Any) -> None:
    listed = rows(book["Placement"])
    start = next(index for index, row in enumerate(listed) if row[0] == "Site") + 1
    gpus = idle = 0
    for row in listed[start:]:
        if row[0] is None:
            break
        domains = 1
        for first, last in ((1, 2), (4, 5), (6, 7)):
            domains *= row[last] - row[first] + 1
        gpus += domains * (row[9] - row[8] + 1)
        idle += domains * (row[9] - row[8] + 1) if row[10] == "idle" else 0
    totals = sourced_plan().totals
    assert (gpus, idle) == (totals.gpus, totals.idle_gpus)


def test_placement_numbers_deployments_as_the_screen_does(book: Any) -> None:
    told = {line["Holds"]: line["Deployment (#)"] for line in table(book["Placement"], "Site")}
    assert told.pop("idle") is None
    assert told == {planned.deployment.id: at for at, planned in enumerate(sourced_plan().deployments, start=1)}


def test_power_and_cooling_tell_limits_ranges_and_pods(book: Any) -> None:
    sheet = book["Power and cooling"]
    limits = table(sheet, "Limit")
    assert limits[0]["Used"] == 1000
    assert limits[0]["Binds, as planned"].startswith("yes")
    assert (limits[0]["Limit"], limits[0]["Check"]) == ("power, north", "ok")
    assert limits[-1]["Site"] == "all sites"
    rack = next(line for line in table(sheet, "System") if line["System"] == "rack-72")
    assert rack["Nameplate (kW)"] == 284
    assumed = next(
        line
        for line in table(book["Assumptions"], "Of")
        if (line["Of"], line["Assumption"]) == ("System rack-72", "Nameplate")
    )
    assert (assumed["Range from"], assumed["Range to"], assumed["Confidence"]) == (132, 142, "low")
    assert (assumed["Source"], assumed["In full"]) == ("A data sheet; A provisioning rule", "source")
    north = all_tables(sheet, "Site")[2][0]
    assert (north["GPUs"], north["Slots free"], north["Slots stranded"]) == (88, 40, 0)
    assert north["Heat to air (kW)"] == pytest.approx(34.6)
    assert north["Air cooling (kW)"] == 250
    assert north["Liquid cooling (kW)"] == "unknown"


def test_unknown_heat_is_unknown_and_not_zero() -> None:
    plan = sourced_plan()
    node, rack = plan.request.candidates
    request = replace(plan.request, candidates=(node, replace(rack, liquid_kw=None)))
    sheet = opened(workbook_bytes(replace(plan, request=request)))["Power and cooling"]
    assert all_tables(sheet, "Site")[2][0]["Heat to liquid (kW)"] == "unknown"
    assert table(sheet, "System")[1]["Heat to air (kW)"] == "unknown"


def test_every_figure_has_source_address_dates_confidence_and_range(book: Any) -> None:
    figures = table(book["Sources"], "Catalog")
    rule = next(line for line in figures if line["Source"] == "A provisioning rule")
    assert rule == {
        "Catalog": "systems",
        "Entry": "rack-72",
        "Figure": "nameplate_kw",
        "Value": 142,
        "Unit": "kW",
        "Range from": 132,
        "Range to": 142,
        "Confidence": "low",
        "Read on": "2026-02-03",
        "Source": "A provisioning rule",
        "Address": "https://example.org/rule",
        "Published": None,
        "Basis and note": "derived by a rule; no vendor maximum was found",
    }
    missing = next(line for line in figures if line["Figure"] == "rack_units")
    assert (missing["Value"], missing["Basis and note"]) == ("unknown", "No data sheet states it.")
    against = next(line for line in figures if line["Figure"] == "evidence 3: against")
    assert (against["Source"], against["Basis and note"]) == ("A study", "Four points lost in one.; weak")
    assert any(line["Figure"] == "generations.old" for line in figures)


def test_request_and_rejections_are_in_full(book: Any) -> None:
    asked = {line["Key of the workload"]: line["Value"] for line in table(book["Audit"], "Key of the workload")}
    assert asked == {
        "name": "Example customer",
        "classes[0].name": "notes",
        "classes[0].context_tokens": 32768,
        "policy.dcp": "no",
    }
    rejected = table(book["Not considered"], "System")
    assert [(line["System"], line["Model"], line["Why"]) for line in rejected] == [
        (rejection.system, rejection.model, rejection.why) for rejection in REJECTED
    ]


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ('=HYPERLINK("http://x","y")', '=HYPERLINK("http://x","y")'),
        ("=1+1", "=1+1"),
        ("+1", "+1"),
        ("-2", "-2"),
        ("@SUM(A1)", "@SUM(A1)"),
        ("#REF!", "#REF!"),
        ("1,5", "1,5"),
        ("a\x00b\x1bc", "a␀b␛c"),
        ("x" * 300, "x" * 300),
        ("שלום עולם", "שלום עולם"),
        ("😀👩‍👩‍👧 é 日本", "😀👩‍👩‍👧 é 日本"),
        ("<b>&amp;</b>", "<b>&amp;</b>"),
        ("unknown", "unknown"),
        ("<r>x</r>", "<r>x</r>"),
        ("<r><t>x</t></r>", "<r><t>x</t></r>"),
        ("_x0041_", "_x0041_"),
        ("ok", "ok"),
    ],
)
def test_names_from_a_workload_are_text_and_survive(name: str, stored: str) -> None:
    book = formulas(workbook_bytes(sourced_plan(name, name)))
    cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row if cell.value is not None]
    named = [cell for cell in cells if cell.value == stored]
    assert len(named) >= 3  # title, class and request
    assert all(cell.data_type == "s" and cell.quotePrefix for cell in named if cell.fill.fgColor.rgb != INPUT)
    for cell in cells:
        if cell.data_type == "f":
            assert cell.value not in (name, stored)
        else:
            assert isinstance(cell.value, str) == (cell.data_type == "s")


INPUT = "FFFEF9C3"


def test_no_part_holds_an_outer_link_a_macro_or_a_clock() -> None:
    content = workbook_bytes(sourced_plan('=HYPERLINK("http://x","y")'))
    with ZipFile(BytesIO(content)) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        for name in archive.namelist():
            part = archive.read(name)
            assert not name.startswith("xl/externalLinks")
            assert b'TargetMode="External"' not in part
            assert "vba" not in name.lower()
            if name.endswith((".xml", ".rels")):
                ElementTree.fromstring(part)
        core = archive.read("docProps/core.xml").decode()
    assert core.count("1980-01-01T00:00:00Z") == 2


SCRIPT = """
import sys
from hashlib import sha256
from sizing.report.workbook import workbook_bytes
from tests.report.report_plans import open_plan, sourced_plan
print(sha256(workbook_bytes(sourced_plan()) + workbook_bytes(open_plan())).hexdigest())
"""


def test_two_processes_write_the_same_bytes() -> None:
    def digest(seed: str, zone: str) -> str:
        environment = {**os.environ, "PYTHONHASHSEED": seed, "TZ": zone, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True, cwd=ROOT
        )
        return done.stdout.strip()

    first = digest("1", "UTC")
    assert len(first) == 64
    assert digest("2", "Asia/Tokyo") == first


WRITING = """
import sys
from pathlib import Path
from sizing.report.files import write_file
from sizing.report.parts import is_untouched
target, *sources = map(Path, sys.argv[1:])
contents = [source.read_bytes() for source in sources]
while True:
    for content in contents:
        write_file(target, content, is_untouched)
        print("written", flush=True)
"""


def test_killed_at_any_moment_the_old_file_or_the_new_one_stands(tmp_path: Path) -> None:
    contents = workbook_bytes(sourced_plan()), workbook_bytes(open_plan())
    sources = [tmp_path / "first", tmp_path / "second"]
    for source, content in zip(sources, contents, strict=True):
        source.write_bytes(content)
    target = tmp_path / "reports" / "plan.xlsx"
    for moment in range(8):
        writing = subprocess.Popen(
            [sys.executable, "-c", WRITING, target, *sources], stdout=subprocess.PIPE, cwd=ROOT, text=True
        )
        assert writing.stdout is not None
        writing.stdout.readline()
        sleep(moment * 0.0007)
        writing.kill()
        writing.communicate()
        assert target.read_bytes() in contents


def test_another_plan_gives_other_bytes() -> None:
    assert workbook_bytes(sourced_plan()) != workbook_bytes(open_plan())


def test_every_sheet_is_set_up_for_print_and_keeps_its_heading_in_view(book: Any) -> None:
    for sheet in book:
        assert sheet.page_setup.orientation == "landscape"
        assert sheet.page_setup.paperSize == 9
        if sheet.title not in ("Bill of units", "Placement"):  # printed side by side
            assert sheet.sheet_properties.pageSetUpPr.fitToPage
            assert (sheet.page_setup.fitToWidth, sheet.page_setup.fitToHeight) in ((1, 0), (None, 0))
        assert sheet.print_title_rows
        assert sheet.freeze_panes is not None
    bill = book["Bill of units"]
    assert bill.print_title_cols == "$A:$D"
    heading = next(row for row in bill.iter_rows() if row[0].value == "No.")
    assert heading[bill.col_breaks.brk[0].id].value == "Rule, as planned"
    assert bill[int(bill.auto_filter.ref.split(":")[1].strip("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))][1].value != SUM
    frozen = book["Bill of units"].freeze_panes
    assert book["Bill of units"].cell(int(frozen[1:]) - 1, 1).value == "No."


def named_cells(book: Any) -> list[tuple[str, Any]]:
    return [(name, cell_of(book, name)) for name in book.defined_names]


def test_inputs_are_named_coloured_and_accept_only_what_fits(book: Any) -> None:
    sheet = book["Assumptions"]
    reserve = cell_of(book, "reserve")
    assert (reserve.parent.title, reserve.value, reserve.number_format) == ("Assumptions", 0.1, "0.0 %")
    assert reserve.fill.fgColor.rgb == INPUT
    rules = {
        cell: (rule.type, rule.operator, rule.formula1, rule.formula2)
        for rule in sheet.data_validations.dataValidation
        for span in rule.sqref.ranges
        for column in range(span.min_col, span.max_col + 1)
        for cell in (sheet.cell(row, column).coordinate for row in range(span.min_row, span.max_row + 1))
    }
    assert rules[reserve.coordinate] == ("decimal", None, "0", "1")
    assert not any(rule.allowBlank for rule in sheet.data_validations.dataValidation)
    concurrency = next(cell for name, cell in named_cells(book) if name.endswith("_concurrency"))
    assert rules[concurrency.coordinate] == ("whole", "greaterThanOrEqual", "0", None)
    for name, word in (("nameplate_kw_rack_72", "unknown"), ("site_1_power", "not given")):
        kind, _, rule, _ = rules[cell_of(book, name).coordinate]
        assert kind == "custom"
        assert f'="{word}"' in rule
    named = {cell_of(book, name).coordinate for name in book.defined_names}
    assert named == set(rules)
    told = {line["Name in formulas"] for line in table(sheet, "Of")}
    assert told == set(book.defined_names)


def test_what_the_search_decided_has_a_colour_of_its_own(book: Any) -> None:
    sheet = book["Power and cooling"]
    heading = next(row for row in sheet.iter_rows() if row[2].value == "Number of Pods")
    decided = sheet.cell(heading[2].row + 1, 3)
    assert (decided.value, decided.fill.fgColor.rgb) == (1, "FFDCFCE7")
    assert [row[0] for row in rows(book["Proposal"])[-6:]] == [
        *("Blue on yellow", "Blue on green", "Black", "Grey", "Amber", "Red"),
    ]


def test_the_proposal_leads_to_the_other_sheets(book: Any) -> None:
    links = {
        cell.value: cell.hyperlink.location.split("!")[0].strip("'")
        for row in book["Proposal"].iter_rows()
        for cell in row
        if cell.hyperlink is not None
    }
    sheets = {name: target for name, target in links.items() if name in SHEETS}
    assert set(sheets) >= {"Bill of units", "Token budget", "Power and cooling", "Assumptions", "Sources"}
    assert all(name == target for name, target in sheets.items())
    assert links["Token budget: pools against replicas"] == "Token budget"


def test_a_bill_line_leads_to_its_assumption_and_its_source(book: Any) -> None:
    sheet = book["Bill of units"]
    line = next(row for row in sheet.iter_rows() if row[3].value == "rack-72")
    links = {cell.value: cell.hyperlink.location for cell in line if cell.hyperlink is not None}
    assert links.keys() == {"assumption", "source"}
    for text, location in links.items():
        name, address = location.replace("'", "").split("!")
        found = [cell.value for cell in book[name][address.replace("$", "")].parent[int(address.split("$")[2])]]
        assert name == {"assumption": "Assumptions", "source": "Sources"}[text]
        assert any("rack-72" in str(value) for value in found)
        assert any("ameplate" in str(value) for value in found)


def test_charts_have_titles_and_the_values_of_the_plan() -> None:
    with ZipFile(BytesIO(workbook_bytes(sourced_plan()))) as archive:
        charts = [archive.read(name).decode() for name in sorted(archive.namelist()) if "charts/chart" in name]
    assert [chart for chart in charts if "<c:title>" not in chart] == []
    budget, power, limits = charts
    assert "HBM budget" in budget
    assert f"<c:v>{sourced_plan().memory.spare / 10**9}</c:v>" in budget
    assert "Power of one Pod" in power
    assert "used of what is allowed" in limits


LONGEST_FORMULA = 8_192  # Excel specifications and limits


def test_every_formula_has_its_value_beside_it() -> None:
    content = workbook_bytes(sourced_plan())
    values = opened(content)
    for sheet in formulas(content):
        for row in sheet.iter_rows():
            for cell in row:
                assert cell.data_type != "f" or len(cell.value) <= LONGEST_FORMULA
                if cell.data_type == "f" and values[sheet.title][cell.coordinate].value is None:
                    assert sheet.title in ("Proposal", "Power and cooling")  # blank where nothing changed, no limit
                    assert '""' in cell.value or "!" in cell.value


def test_numbers_have_formats_and_columns_have_widths(book: Any) -> None:
    sheet = book["Token budget"]
    bought = next(row for row in sheet.iter_rows() if row[0].value == "HBM of all GPUs")
    assert [cell.number_format for cell in bought[1:6]] == ["#,##0", "#,##0.0", "#,##0.0", "0.0 %", "#,##0"]
    assert 10 < sheet.column_dimensions["B"].width < 40


def test_an_exact_figure_is_written_as_the_nearest_number() -> None:
    plan = sourced_plan()
    third = replace(plan, totals=replace(plan.totals, nameplate_kw=Fraction(1, 3)))
    assert row_of(opened(workbook_bytes(third))["Proposal"], "Nameplate of the systems")[2] == 1 / 3


def test_figures_of_what_the_plan_does_not_buy_are_left_out() -> None:
    plan = sourced_plan()
    fp8 = ENTRIES["precisions"]["fp8"]
    counted = {"part": "node-8", "description": "node-8", "sources": [SHEET], "missing": {"unit_kw": "Not published."}}
    idle = {"part": "other", "description": "counts nothing here", "sources": [SHEET]}
    entries = {
        "precisions": {"int4": fp8, "fp8": fp8},
        "systems": {"never-bought-8": ENTRIES["systems"]["node-8"], "node-8": ENTRIES["systems"]["node-8"]},
        "bill_rules": {"rules": {"lines": {"counted": counted, "idle": idle}}},
    }
    request = replace(plan.request, entries=entries)
    sheet = opened(workbook_bytes(replace(plan, request=request)))["Sources"]
    figures = table(sheet, "Catalog")
    assert list(dict.fromkeys((line["Catalog"], line["Entry"]) for line in figures)) == [
        ("systems", "node-8"),
        ("precisions", "fp8"),
        ("bill_rules", "rules"),
    ]
    rules = {line["Figure"]: line["Value"] for line in figures if line["Catalog"] == "bill_rules"}
    assert rules == {"lines.counted": None, "lines.counted.unit_kw": "unknown"}
