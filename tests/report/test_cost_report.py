"""What the answer says of cost and inventory, on the screen and in the workbook."""

from dataclasses import replace
from fractions import Fraction
from io import BytesIO
from typing import Any

from openpyxl import load_workbook

from sizing.facility.bill_rules import BillRules
from sizing.facility.prices import Energy, Price, Prices
from sizing.plan.cost import cost_lines, total_cost
from sizing.plan.plan import OtherHbm, Plan, PlanInBrief, PowerRanges, PricedPlan, PriceRanges, Sensitivity, StageResult
from sizing.report.answer import stage_amount
from sizing.report.console import console_report
from sizing.report.cost import cost_sentences, inventory_sentences, usd
from sizing.report.sensitivity import sensitivity_sentences
from sizing.report.sheets.proposal import COUNTED_COST
from sizing.report.workbook import workbook_bytes
from tests.plan_builders import two_sites

PRICES = Prices(
    {
        "node-8": Price(Fraction(300_000), Fraction(300_000)),
        "rack-72": Price(Fraction(3_500_000), Fraction(4_000_000)),
    },
    {"test-pod": Price(Fraction("1000000.5"), Fraction("1000000.5"))},
)
ENERGY = Energy(Price(Fraction("0.08"), Fraction("0.08")), Fraction(4), Fraction("1.25"))


def priced(prices: Prices = PRICES) -> Plan:
    plan = two_sites()
    plan = replace(plan, request=replace(plan.request, policy=replace(plan.request.policy, prices=prices)))
    cost = total_cost(plan.request, cost_lines(plan.request, plan.pods))
    totals = replace(plan.totals, cost_usd=cost.high if cost else None, cost_low_usd=cost.low if cost else None)
    return replace(plan, totals=totals)


def installed(plan: Plan) -> Plan:
    north, south = plan.request.sites
    north = replace(north, installed_systems={"node-8": 1}, installed_pods=1)
    return replace(plan, request=replace(plan.request, sites=(north, south)))


def sheet(plan: Plan, name: str) -> list[tuple[Any, ...]]:
    book = load_workbook(BytesIO(workbook_bytes(plan)), data_only=True)
    return [tuple(cell for cell in row) for row in book[name].iter_rows(values_only=True)]


def test_nothing_is_said_where_no_price_is_known() -> None:
    plan = two_sites()
    assert cost_sentences(plan) == []
    assert inventory_sentences(plan) == []
    assert "\nCost\n" not in console_report(plan)
    assert "Cost" not in load_workbook(BytesIO(workbook_bytes(plan))).sheetnames


def test_amounts_are_written_with_cents_only_where_there_are_some() -> None:
    assert usd(Price(Fraction(5), Fraction(5))) == "5 USD"
    assert usd(Price(Fraction("1234567.5"), Fraction(2_000_000))) == "1,234,567.50 to 2,000,000 USD"


def test_the_cost_is_told_part_by_part() -> None:
    assert cost_sentences(priced()) == [
        "9,900,001 to 10,900,001 USD in all",
        "north: 1 x test-pod at 1,000,000.50 USD = 1,000,000.50 USD",
        "north: 2 x node-8 at 300,000 USD = 600,000 USD",
        "north: 1 x rack-72 at 3,500,000 to 4,000,000 USD = 3,500,000 to 4,000,000 USD",
        "south: 1 x test-pod at 1,000,000.50 USD = 1,000,000.50 USD",
        "south: 1 x node-8 at 300,000 USD = 300,000 USD",
        "south: 1 x rack-72 at 3,500,000 to 4,000,000 USD = 3,500,000 to 4,000,000 USD",
        "energy is not counted: policy.prices.energy states no tariff",
    ]


def test_pue_is_said_where_it_enters() -> None:
    said = cost_sentences(priced(replace(PRICES, energy=ENERGY)))
    assert (
        "north: energy of the systems: 162.4 kW at nameplate x PUE 1.25 (as stated) x 4 years of 8,760 hours x "
        "0.08 USD/kWh = 569,049.60 USD; PUE enters the cost here and only here"
    ) in said
    assert not any("is not counted" in sentence for sentence in said)


def test_what_has_no_price_is_named() -> None:
    said = cost_sentences(priced(replace(PRICES, systems={})))
    assert said[0] == "unknown: no price of node-8, rack-72"
    assert "north: 2 x node-8: no price" in said


def test_the_balance_of_plant_is_not_in_the_cost() -> None:
    plan = priced()
    north, south = plan.request.sites
    north = replace(north, pod=replace(north.pod, bill_rules=BillRules("rules", "Rules", ())))
    plan = replace(plan, request=replace(plan.request, sites=(north, south)))
    assert any(
        sentence.startswith("not in the cost: the parts of the balance of plant") for sentence in cost_sentences(plan)
    )


def test_stages_of_cost_are_told_in_dollars() -> None:
    assert stage_amount(StageResult("cost", "500 USD", 8_000, 7_900), 7_900) == "3,950,000 USD"
    assert stage_amount(StageResult("power + 2 gpus", "0.1 points", 6_506, 1), 6_506) == "650.6 points"
    assert stage_amount(StageResult("power", "0.1 kW", 3_146, 1), 3_146) == "314.6 kW"
    assert stage_amount(StageResult("pods", "Pods", 2, 1), 2) == "2 Pods"


def test_steps_are_told_where_they_round() -> None:
    def said(value: int) -> list[str]:
        plan = priced(replace(PRICES, pods={"test-pod": Price(Fraction(0), Fraction(0))}))
        return cost_sentences(replace(plan, stages=(StageResult("cost", "500 USD", value, value),)))

    rounding = "stage cost counts in steps of 500 USD, each amount rounded to the nearest"
    assert rounding not in said(17_800)
    assert rounding in said(17_801)
    assert "prices that are ranges count with their high end in the stages" in said(17_800)


def test_what_is_installed_and_what_is_to_buy() -> None:
    plan = installed(two_sites())
    assert inventory_sentences(plan) == [
        "installed already: 1 Pod, 1 x node-8; to buy: 1 Pod, 2 x node-8, 2 x rack-72",
        "limits and totals count both; stages and cost count what is to buy",
    ]
    assert "installed already: 1 Pod, 1 x node-8; to buy:" in console_report(plan)


def test_the_choice_that_turns_inside_ranges_is_shown_with_the_other() -> None:
    other = PlanInBrief(1, (("rack-72", 2),), 144, Fraction(284), (Fraction(284), Fraction(284)))
    ranges = PriceRanges(False, (Fraction(5), Fraction(6)), (PricedPlan(other, (Fraction(4), Fraction(9))),))
    nameplate = Fraction("314.6"), Fraction("314.6")
    looked = Sensitivity(OtherHbm("driver", None, False, ()), PowerRanges(True, nameplate), ranges)
    assert (
        "the choice turns inside the ranges of prices: this plan costs 5 to 6 USD, and another 4 to 9 USD "
        "(1 Pod, 2 x rack-72, 144 GPUs, 284.0 kW nameplate)"
    ) in sensitivity_sentences(replace(two_sites(), sensitivity=looked))


def test_the_sheet_adds_up() -> None:
    rows = sheet(priced(replace(PRICES, energy=ENERGY)), "Cost")
    head = next(number for number, row in enumerate(rows) if row[0] == "Group")
    body = rows[head + 1 :]
    last = next(number for number, row in enumerate(body) if row[0] == "All")
    assert [row[1] for row in body[:4]] == ["test-pod", "node-8", "rack-72", "of the systems"]
    for column in (10, 11):
        assert sum(Fraction(str(row[column])) for row in body[:last]) == Fraction(str(body[last][column]))
    assert all(Fraction(str(row[6])) * Fraction(str(row[9])) == Fraction(str(row[11])) for row in body[:last])
    assert body[last][10:12] == (11_002_359.4, 12_002_359.4)


def test_the_proposal_shows_both_ends() -> None:
    rows = [(row[0], row[1], row[3]) for row in sheet(priced(), "Proposal")]
    assert (f"{COUNTED_COST}, all prices at their low end", 9_900_001, "USD") in rows
    assert (COUNTED_COST, 10_900_001, "USD") in rows
