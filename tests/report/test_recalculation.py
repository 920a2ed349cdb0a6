"""The workbook is alive: LibreOffice comes to the values that the plan has, and follows what is changed in it."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook

from sizing.api import load_workload, solve
from sizing.facility.prices import Price
from sizing.plan.cost import cost_lines, total_cost
from sizing.plan.plan import NoPlan, Plan
from sizing.report.sheets.proposal import ALL_PRICED, COUNTED_COST
from sizing.report.unsettled import not_settled
from sizing.report.workbook import no_plan_workbook_bytes, workbook_bytes
from tests.report.report_plans import open_plan, sourced_plan
from tests.report.spreadsheet import PROGRAM, cell_of, cells, changed, recalculated, rows

pytestmark = [
    pytest.mark.needs_program(PROGRAM),
    pytest.mark.xdist_group("recalculation"),  # so that one process writes and recalculates for all of them
]

CLOSE = 1e-9
"""Of a value: far below the last digit that is shown, and above what adding doubles loses."""

HGX_NAME = "hgx_b300_8_liquid"
HGX, H200, RACK = "hgx-b300-8-liquid", "hgx-h200-8", "gb300-nvl72"
ENERGY = {"tariff": ["0.08 USD/kWh", "0.12 USD/kWh"], "horizon": "4 years"}
PRICES = {
    "systems": {HGX: "450_000 USD", RACK: ["3_500_000 USD", "4_000_000 USD"], H200: "300_000.50 USD"},
    "pods": {"podos-1mw": "1_500_000 USD"},
    "energy": ENERGY,
}
SITES = [
    {"name": "north", "pod": "podos-1mw", "power": "1 MW", "liquid_heat": "700 kW", "air_heat": "150 kW", "pods": 1},
    {"name": "south", "pod": "podos-1mw", "power": "3 MW", "pods": 1},
]


def a_class(name: str, model: str, context: Any, concurrency: int, **more: Any) -> dict[str, Any]:
    return {"name": name, "model": model, "context": context, "concurrency": concurrency, **more}


CHAT = a_class("chat", "llama-3.1-70b", "8k", 3_000, kv_precision=["bf16", "fp8"])
LONG = a_class("long", "llama-3.1-70b", "128k", 60)
AGENTS = a_class("agents", "deepseek-v3", "64k", 1_500, kv_precision=["bf16", "fp8"])
SMALL = a_class("small", "llama-3.1-8b", "4k", 300)
TWO_SITES = [CHAT | {"concurrency": 20_000}, AGENTS | {"concurrency": 3_000}]


def workload(*classes: Mapping[str, Any], sites: Any = None, **policy: Any) -> dict[str, Any]:
    """Classes in a Pod that takes the systems named here."""
    where = {"sites": sites} if isinstance(sites, list) else {"site": {"pod": "podos-1mw", **(sites or {})}}
    return {"name": "Generated", "classes": list(classes), **where, "policy": {"systems": [HGX], **policy}}


WORKLOADS: Mapping[str, Mapping[str, Any]] = {
    "dense": workload(CHAT, LONG),
    "one-class": workload(SMALL),
    "latent": workload(AGENTS),
    "headroom": workload(a_class("fifty", "llama-3.1-8b", "4k", 50), CHAT, headroom="10 %", reserve="12.5 %"),
    "spare": workload(CHAT, AGENTS, spare_systems=1, headroom="7 %"),
    "racks": workload(AGENTS, systems=[RACK]),
    "two-kinds": workload(AGENTS, CHAT, LONG, systems=[RACK, HGX], mixed_pods=True, objective=["pods", "gpus"]),
    "air": workload(CHAT, LONG, sites={"pod_air_heat": "250 kW"}, systems=[H200]),
    "servers": workload(CHAT, sites={"pod_air_heat": "300 kW"}, systems=["h200-nvl-8"]),
    "other-vendor": workload(CHAT, systems=["mi355x-8"]),
    "limits": workload(CHAT, AGENTS, sites={"power": "5 MW", "liquid_heat": "2 MW", "air_heat": "152 kW", "pods": 5}),
    "installed-basis": workload(CHAT, sites={"power": "400 kW", "air_heat": "200 kW"}, power_basis="installed"),
    "two-sites": workload(*TWO_SITES, sites=SITES),
    "two-sites-prices": workload(*TWO_SITES, sites=SITES, systems=[HGX, RACK], prices=PRICES),
    "prices": workload(CHAT, LONG, prices=PRICES),
    "prices-stage": workload(AGENTS, systems=[HGX, RACK], prices=PRICES, objective=["pods", "cost"]),
    "prices-pue": workload(CHAT, prices=PRICES | {"energy": ENERGY | {"pue": 1.25}}),
    "prices-in-part": workload(CHAT, prices={"pods": {"podos-1mw": "2_000_000 USD"}}),
    "installed": workload(CHAT, AGENTS, sites={"installed": {"systems": {HGX: 3}, "pods": 1}}, prices=PRICES),
    "all-installed": workload(SMALL, sites={"installed": {"systems": {HGX: 1}, "pods": 1}}, prices=PRICES),
    "installed-and-empty": workload(
        *TWO_SITES,
        sites=[
            SITES[0] | {"installed": {"systems": {HGX: 2}, "pods": 1}},
            {"name": "south", "pod": "podos-1mw", "installed": {"pods": 2}},
        ],
        systems=[HGX, RACK],
        prices=PRICES,
    ),
    "supply": workload(AGENTS, CHAT, systems=[HGX, RACK], supply={RACK: 1}, mixed_pods=True),
    "driver": workload(CHAT, sites={"pod_air_heat": "250 kW"}, systems=[H200], hbm="driver"),
    "hybrid": workload(
        a_class("states", "qwen3-next-80b-a3b", "32k", 400),
        a_class("mamba", "jamba-1.5-mini", "64k", 100),
        a_class("windows", "gpt-oss-120b", "16k", 500),
        a_class("chunks", "llama-4-scout-17b-16e", "20k", 200),
    ),
    "sparse": workload(
        a_class("index", "deepseek-v3.2", "64k", 300), a_class("compressed", "deepseek-v4-flash", "200000", 300)
    ),
    "short-windows": workload(
        a_class("below", "gpt-oss-20b", 100, 200),
        a_class("above", "gemma-3-27b", 5_000, 200),
        a_class("state", "falcon-mamba-7b", 700, 900),
    ),
    "vllm": workload(CHAT | {"kv_precision": ["bf16"]}, SMALL, engine="vllm", reserve=None),
    "sglang": workload(a_class("windows", "gpt-oss-120b", "16k", 500), engine="sglang", reserve=None),
    "four-bits": workload(a_class("few", "llama-3.1-70b", "16k", 900, kv_precision="nvfp4"), dcp=True),
}


SHIPPED = {path.stem: path for path in sorted((Path(__file__).resolve().parents[2] / "workloads").glob("*.yaml"))}
OWN_RULES = """
podos-1mw:
  networks:
    xdr-800g: {unit_ports: 576}
  lines:
    xdr-leaf-optic:
      spares: {value: 3 %, sources: [ra_digest], date: 2026-11-29, confidence: low, basis: as agreed}
    xdr-leaf:
      unit_kw: {value: 2.5, sources: [ra_digest], date: 2026-11-29, confidence: low}
      liquid_share: 40 %
"""


def with_own_rules(folder: Path) -> Plan:
    """A plan with spares, whole scalable units and switches that are cooled by liquid in part."""
    catalog = folder / "catalog"
    catalog.mkdir()
    (catalog / "bill_rules.yaml").write_text(OWN_RULES, encoding="utf-8")
    found = solve(load_workload(WORKLOADS["limits"], catalog=[catalog]))
    assert isinstance(found, Plan)
    return found


def a_plan(name: str) -> Plan:
    if name in SHIPPED:
        return planned(SHIPPED[name])
    asked = dict(WORKLOADS[name])
    asked["policy"] = {key: value for key, value in asked["policy"].items() if value is not None}
    return planned(asked)


def planned(asked: Path | Mapping[str, Any]) -> Plan:
    found = solve(load_workload(asked))
    assert isinstance(found, Plan), asked
    return found


@dataclass(frozen=True)
class Written:
    """A plan with its workbook as written, and as LibreOffice works it out."""

    plan: Plan
    file: Path
    anew: Path


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Written]:
    """Every plan, written and worked out anew in one go."""
    folder = tmp_path_factory.mktemp("workbooks")
    plans = {name: a_plan(name) for name in (*WORKLOADS, *SHIPPED)} | {
        "own-rules": with_own_rules(folder),
        "by-hand": sourced_plan(),
        "open": open_plan(),
        "odd-names": sourced_plan('=HYPERLINK("http://x","y")', "<r>x</r>"),
        "ok": sourced_plan("ok", "@SUM(A1)"),
    }
    files = {name: folder / f"{name}.xlsx" for name in plans}
    for name, plan in plans.items():
        files[name].write_bytes(workbook_bytes(plan))
    (folder / UNPLANNED).write_bytes(no_plan_workbook_bytes(without_plan()))
    *anew, _ = recalculated([*files.values(), folder / UNPLANNED], folder)
    return {name: Written(plans[name], files[name], again) for name, again in zip(plans, anew, strict=True)}


UNPLANNED = "without-plan.xlsx"


def without_plan() -> NoPlan:
    """A request that its site cannot hold, with what does fit."""
    found = solve(load_workload(workload(*TWO_SITES, sites={"pods": 1}, headroom="10 %")))
    assert isinstance(found, NoPlan)
    assert found.partial is not None
    return found


def test_an_answer_without_a_plan_is_worked_out_too(written: Mapping[str, Written]) -> None:
    folder = written["dense"].file.parent
    file, anew = folder / UNPLANNED, written["dense"].anew.parent / UNPLANNED
    assert not list(differences(file, anew))
    assert column(anew, "Proposal", "With headroom (sequences)", "Class") == [3_300, 22_000]
    shares = column(anew, "Proposal", "Share", "Class")
    assert all(0 < share < 1 for share in shares)


def differences(file: Path, anew: Path) -> Iterator[str]:
    again = cells(anew)
    for sheet, stored in cells(file).items():
        for address, cell in stored.items():
            if cell.formula is not None:
                found = again[sheet][address].value if address in again[sheet] else None
                if not agree(cell.value, found):
                    told = f"the plan has {cell.value!r}, LibreOffice {found!r}"
                    yield f"{sheet}!{address} {cell.formula[:200]}: {told}"


def agree(stored: Any, found: Any) -> bool:
    """Blank text is stored as such or as nothing."""
    if isinstance(stored, int | float) and isinstance(found, int | float):
        return abs(stored - found) <= CLOSE * max(1, abs(stored))
    return bool((stored or "") == (found or ""))


def test_there_are_many_kinds_of_plan(written: Mapping[str, Written]) -> None:
    plans = [each.plan for each in written.values()]
    assert len(plans) >= 25
    assert len({run.site for run in written["two-sites-prices"].plan.pods}) == 2
    assert any(len(run.systems) > 1 for run in written["mixed-pods"].plan.pods)
    assert any(plan.totals.cost_usd is not None for plan in plans)
    assert any(plan.totals.cost_usd is None for plan in plans)
    assert any(plan.request.policy.profile is not None for plan in plans)


def test_a_spreadsheet_program_comes_to_the_values_of_the_plan(written: Mapping[str, Written]) -> None:
    found = [f"{name}: {told}" for name, each in written.items() for told in differences(each.file, each.anew)]
    assert not found, "\n".join(found[:20])


def test_no_cell_is_an_error(written: Mapping[str, Written]) -> None:
    for each in written.values():
        for sheet, found in cells(each.anew).items():
            wrong = [address for address, cell in found.items() if cell.is_error]
            assert not wrong, (each.file.name, sheet, wrong)


def test_every_check_holds_but_what_is_not_settled(written: Mapping[str, Written]) -> None:
    for each in written.values():
        told = "not settled" if not_settled(each.plan) else "ok"
        assert shown(each.anew, "Proposal", "The plan holds") == told, each.file.name
        assert shown(each.anew, "Proposal", "Limits are kept") == told, each.file.name
    assert not_settled(written["customer"].plan)


def test_own_rules_count(written: Mapping[str, Written]) -> None:
    """One scalable unit of 576 ports is 8 leaves and 4 spines for every Pod; 3 % of its optics are spares."""
    plan, file = written["own-rules"].plan, written["own-rules"].anew
    bill = {row[4]: row for row in rows(file, "Bill of units") if len(row) > 12}
    pods = plan.totals.pods
    assert bill["leaf switch, 144 x 800G InfiniBand"][5] == 8 * pods
    assert bill["spine switch, 144 x 800G InfiniBand"][5] == 4 * pods
    optics = bill["optic in leaf switches, 800G InfiniBand"]
    assert optics[5:9] == [352 * pods, 0, -(-352 * pods * 3 // 100), 352 * pods - (-352 * pods * 3 // 100)]
    assert plan.totals.balance_liquid_kw == 8 * pods


def shown(file: Path, sheet: str, first: str, column: int = 1) -> Any:
    """The value in a row that starts with `first`, so many columns to the right."""
    return next(row[column] for row in rows(file, sheet) if row and row[0] == first)


def test_key_figures_are_those_of_the_document(written: Mapping[str, Written]) -> None:
    for each in written.values():
        totals, memory = each.plan.totals, each.plan.memory
        for what, value in (
            ("Pods", totals.pods),
            ("GPUs", totals.gpus),
            ("GPUs in no replica", totals.idle_gpus),
            ("Nameplate of the systems", totals.nameplate_kw),
            ("Balance of plant", totals.balance_kw),
            ("Of it to liquid", totals.balance_liquid_kw),
            ("Tokens committed", each.plan.tokens.committed),
            ("Tokens spare", each.plan.tokens.spare),
            ("Free slots", totals.free_slots),
            ("Stranded slots", totals.stranded_slots),
        ):
            assert agree(float(value), shown(each.anew, "Proposal", what)), (each.file.name, what)
        for line, size in (
            ("HBM of all GPUs", memory.bought),
            ("committed", memory.committed),
            ("spare", memory.spare),
        ):
            assert shown(each.anew, "Token budget", line) == size
        if totals.cost_usd is not None:
            assert agree(float(totals.cost_usd), shown(each.anew, "Proposal", COUNTED_COST))


# What follows when somebody changes an input


def with_reserve(plan: Plan, reserve: Fraction) -> list[int]:
    """KV budgets of a pool of every deployment, as the tool itself has them for another reserve."""
    from sizing.pool.engines.profile import Memory
    from sizing.sequence.weights import FORMATS, weight_bytes

    rules = replace(plan.request.policy, reserve=reserve).rules
    budgets = []
    for planned in plan.deployments:
        deployment = planned.deployment
        hbm = deployment.system.gpu.hbm_bytes(plan.request.policy.hbm)
        assert hbm is not None
        weights = weight_bytes(deployment.model, FORMATS[deployment.weights])
        memory = Memory(hbm, deployment.system.gpu.vendor, deployment.system.gpu.name)
        budget = rules.budget(memory, deployment.model, weights, deployment.kv_precision, deployment.layout)
        budgets.append(budget.kv_bytes)
    return budgets


@pytest.fixture(scope="module")
def changes(written: Mapping[str, Written], tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """Copies in which inputs were changed, worked out anew in one go."""
    folder = tmp_path_factory.mktemp("changed")
    priced = written["two-sites-prices"]
    open_powers = unknown_powers(written["customer"])
    first_price = next(name for name in names(written["prices"]) if re.fullmatch(r"part_\d+_price", name))
    inputs: dict[str, tuple[str, dict[str, Any]]] = {
        "reserve": ("limits", {"reserve": 0.15}),
        "price": (priced.file.stem, {"price_hgx_b300_8_liquid_high": 500_000, "tariff_high": 0.2}),
        "nameplate": (priced.file.stem, {"nameplate_kw_hgx_b300_8_liquid": 14.5}),
        "context": (
            "hybrid",
            {"class_states_context": 40_000, "class_windows_context": 60_000, "class_chunks_context": 3_000},
        ),
        "concurrency": ("dense", {"class_chat_concurrency": 4_000, "headroom": 0.1}),
        "limit": ("limits", {"site_1_air_heat": 10}),
        "no-nameplate": ("customer", {f"nameplate_kw_{HGX_NAME}": None}),
        "no-heat": ("customer", {f"liquid_kw_{HGX_NAME}": "unknown"}),
        "hot": ("customer", {f"liquid_kw_{HGX_NAME}": 13.5}),
        "settled": ("customer", dict.fromkeys(open_powers, 0)),
        "too-warm": ("customer", dict.fromkeys(open_powers, 1)),
        "none-installed": ("all-installed", {f"site_1_installed_{HGX_NAME}": 0, "site_1_installed_pods": 0}),
        "text-limit": ("customer", {"site_1_air_heat": "152 kW"}),
        "blank-limit": ("customer", {"site_1_air_heat": None}),
        "no-limit": ("customer", {"site_1_air_heat": "not given"}),
        "unpriced": ("dense", {f"price_{HGX_NAME}_high": 400_000, "pod_podos_1mw_price_high": 1_000_000}),
        "part-price": ("prices", {first_price: 1_000}),
    }
    files = {
        name: changed(written[base].file, folder / f"{name}.xlsx", values) for name, (base, values) in inputs.items()
    }
    files["no-parts"] = without_a_part(written["dense"].file, folder / "no-parts.xlsx")
    return dict(zip(files, recalculated([*files.values()], folder), strict=True))


def without_a_part(source: Path, target: Path) -> Path:
    """A copy in which the quantity of the last part of the bill was set to 0."""
    book = load_workbook(source)
    listed = list(book["Bill of units"].iter_rows())
    heading = next(row for row in listed if row[0].value == "No.")
    quantity = next(cell.column for cell in heading if cell.value == "Quantity")
    [*_, last] = (row for row in listed if isinstance(row[0].value, int))
    last[quantity - 1].value = 0
    book.save(target)
    return target


def names(each: Written) -> list[str]:
    return list(load_workbook(each.file).defined_names)


def unknown_powers(each: Written) -> list[str]:
    """Names of parts whose power is unknown."""
    book = load_workbook(each.file)
    return [
        name
        for name in book.defined_names
        if re.fullmatch(r"part_\d+_kw", name) and cell_of(book, name).value == "unknown"
    ]


def column(file: Path, sheet: str, heading: str, below: str) -> list[Any]:
    """The cells of a column in the first table of a sheet that has it, below the heading `below`."""
    listed = rows(file, sheet)
    at = next(place for place, row in enumerate(listed) if row and row[0] == below and heading in row)
    position = listed[at].index(heading)
    found = []
    for row in listed[at + 1 :]:
        if not row or row[0] is None:
            break
        found.append(row[position] if position < len(row) else None)
    return found


def test_another_reserve_moves_every_pool(written: Mapping[str, Written], changes: Mapping[str, Path]) -> None:
    plan = written["limits"].plan
    told = column(changes["reserve"], "Token budget", "Left for KV (bytes a pool)", "Deployment")
    assert told == with_reserve(plan, Fraction(15, 100))
    assert told != with_reserve(plan, plan.request.policy.reserve)
    assert shown(changes["reserve"], "Proposal", "The plan holds") == "does not hold"
    assert "do not hold" in shown(changes["reserve"], "Proposal", "Every pool holds its sequences")


def test_another_price_moves_the_cost(written: Mapping[str, Written], changes: Mapping[str, Path]) -> None:
    plan = written["two-sites-prices"].plan
    prices = plan.request.policy.prices
    assert prices.energy is not None
    tariff = prices.energy.tariff_usd_per_kwh
    dearer = replace(
        prices,
        systems={**prices.systems, HGX: Price(prices.systems[HGX].low, Fraction(500_000))},
        energy=replace(prices.energy, tariff_usd_per_kwh=Price(tariff.low, Fraction("0.2"))),
    )
    request = replace(plan.request, policy=replace(plan.request.policy, prices=dearer))
    cost = total_cost(request, cost_lines(request, plan.pods))
    assert cost is not None
    assert HGX in dict(plan.systems)
    assert agree(float(cost.high), shown(changes["price"], "Proposal", COUNTED_COST))
    assert agree(float(cost.low), shown(changes["price"], "Proposal", f"{COUNTED_COST}, all prices at their low end"))


def test_another_nameplate_moves_power_heat_bill_and_cost(
    written: Mapping[str, Written], changes: Mapping[str, Path]
) -> None:
    plan, file = written["two-sites-prices"].plan, changes["nameplate"]
    assert plan.totals.cost_usd is not None
    more = (Fraction("14.5") - Fraction("13.1")) * dict(plan.systems)[HGX]
    assert agree(float(plan.totals.nameplate_kw + more), shown(file, "Proposal", "Nameplate of the systems"))
    assert plan.totals.air_kw is not None
    assert agree(float(plan.totals.air_kw + more), shown(file, "Proposal", "Heat to air"))
    assert shown(file, "Proposal", COUNTED_COST) > plan.totals.cost_usd
    line = next(row for row in rows(file, "Bill of units") if len(row) > 3 and row[3] == HGX)
    assert 14.5 in line


def test_another_context_moves_the_bytes_of_a_sequence(
    written: Mapping[str, Written], changes: Mapping[str, Path]
) -> None:
    """Windows, chunks and states stay as they are where they are full."""
    plan = written["hybrid"].plan
    contexts = {service.name: service.context for service in plan.request.classes}
    contexts |= {"states": 40_000, "windows": 60_000, "chunks": 3_000}
    told = iter(column(changes["context"], "Classes", "One sequence (bytes)", "Deployment (#)"))
    names = iter(column(changes["context"], "Classes", "Class", "Deployment (#)"))
    for planned in plan.deployments:
        for _ in {name for pattern in planned.patterns for name, _ in pattern.sequences}:
            assert next(told) == planned.deployment.sequence_bytes(contexts[next(names)])


def test_more_concurrency_leaves_a_class_short(changes: Mapping[str, Path]) -> None:
    file = changes["concurrency"]
    assert column(file, "Classes", "With headroom (sequences)", "No.")[0] == 4_400
    assert column(file, "Classes", "Check", "No.")[0] == "short by 1400"
    assert shown(file, "Proposal", "The plan holds") == "does not hold"


def test_a_lower_limit_is_exceeded(changes: Mapping[str, Path]) -> None:
    assert shown(changes["limit"], "Proposal", "Limits are kept") == "1 of 4 do not hold"


def test_a_figure_that_is_unknown_is_not_0(changes: Mapping[str, Path]) -> None:
    for change, what in (("no-nameplate", "Nameplate of the systems"), ("no-heat", "Heat to liquid")):
        assert shown(changes[change], "Proposal", what) == "unknown", change
        assert shown(changes[change], "Proposal", "The plan holds") == "does not hold", change
    assert column(changes["no-heat"], "Power and cooling", "Check", "Limit") == ["ok", "unknown", "unknown", "ok"]
    assert column(changes["no-heat"], "Power and cooling", "Used", "Limit")[1:3] == ["unknown", "unknown"]
    assert column(changes["no-nameplate"], "Assumptions", "Check", "Of").count("not a number") == 1


def test_more_heat_to_liquid_than_power_is_told(changes: Mapping[str, Path]) -> None:
    assert "more heat to liquid than nameplate" in column(changes["hot"], "Power and cooling", "Check", "System")
    assert shown(changes["hot"], "Proposal", "The plan holds") == "does not hold"


def test_power_of_the_parts_settles_a_limit(written: Mapping[str, Written], changes: Mapping[str, Path]) -> None:
    for file, told in (
        (written["customer"].anew, "not settled"),
        (changes["settled"], "ok"),
        (changes["too-warm"], "exceeded"),
    ):
        assert column(file, "Power and cooling", "Check", "Limit")[2] == told
    assert shown(changes["settled"], "Proposal", "The plan holds") == "ok"
    assert shown(changes["too-warm"], "Proposal", "The plan holds") == "does not hold"


def test_a_limit_is_a_number_or_not_given(changes: Mapping[str, Path]) -> None:
    for change, told in (("text-limit", "not a number"), ("blank-limit", "not a number"), ("no-limit", "ok")):
        assert column(changes[change], "Power and cooling", "Check", "Limit")[2] == told, change
    for change in ("text-limit", "blank-limit"):
        assert shown(changes[change], "Proposal", "Every assumption is a number").startswith("1 of ")


def test_what_is_bought_beyond_the_bill_is_told(changes: Mapping[str, Path]) -> None:
    file = changes["none-installed"]
    assert shown(file, "Proposal", f"Systems to buy: {HGX}") == 1
    assert shown(file, "Proposal", "Pods to buy") == 1
    for what in ("Systems to buy are in the bill", "Pods to buy are in the bill"):
        assert shown(file, "Proposal", what) == "1 of 1 do not hold"
    assert shown(file, "Proposal", "The plan holds") == "does not hold"


def test_a_bill_that_lacks_a_part_is_told(changes: Mapping[str, Path]) -> None:
    assert shown(changes["no-parts"], "Proposal", "Parts are in the bill").startswith("1 of ")
    assert shown(changes["no-parts"], "Proposal", "The plan holds") == "does not hold"


def test_every_price_that_is_typed_counts(written: Mapping[str, Written], changes: Mapping[str, Path]) -> None:
    plan = written["dense"].plan
    bought = 400_000 * dict(plan.systems)[HGX] + 1_000_000 * plan.totals.pods
    assert shown(changes["unpriced"], "Proposal", ALL_PRICED) == bought
    before, now = (shown(file, "Proposal", ALL_PRICED) for file in (written["prices"].anew, changes["part-price"]))
    assert now > before
    cost = (shown(file, "Proposal", COUNTED_COST) for file in (written["prices"].anew, changes["part-price"]))
    assert len(set(cost)) == 1


def test_formulas_call_inputs_by_name(written: Mapping[str, Written]) -> None:
    found = cells(written["prices"].file)
    texts = {cell.formula for sheet in found.values() for cell in sheet.values() if cell.formula is not None}
    assert any("nameplate_kw_hgx_b300_8_liquid" in text for text in texts)
    assert any("reserve" in text for text in texts)
    assert not any("[" in text or "http" in text for text in texts)
