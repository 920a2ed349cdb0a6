from dataclasses import replace
from fractions import Fraction

import pytest

from sizing.facility.bill_rules import BillRules
from sizing.facility.pod import Balance
from sizing.plan.bill import BillLine
from sizing.plan.plan import Alternatives, Plan, StageResult, Status
from sizing.report.answer import MEMORY_ONLY
from sizing.report.cautions import NOT_IN_THE_BILL, balance_sentences, fewest_kinds_sentence
from sizing.report.console import console_report, no_plan_report
from sizing.report.text import width
from sizing.report.to_know import to_know_sentences
from sizing.request.request import Rejection
from tests.plan_builders import two_sites
from tests.report.report_plans import no_plan, open_plan, sourced_plan, standing_alone


def lines(text: str) -> list[str]:
    return text.split("\n")


def test_the_first_line_says_what_the_answer_is_and_then_comes_the_headline() -> None:
    first, blank, headline, standing, *_ = lines(console_report(sourced_plan()))
    assert first == "memory only: the least that can hold this load at its design peak; latencies are not checked"
    assert not blank
    assert headline == "Example customer: 2 Pods, 3 x node-8, 2 x rack-72, 168 GPUs, 314.6 kW nameplate"
    assert standing == "optimal: every stage of the objective is proven"


def test_the_bill_is_told_last() -> None:
    assert lines(console_report(sourced_plan(), "reports/a.xlsx"))[-2:] == ["Bill of units: reports/a.xlsx", ""]
    assert "Bill of units" not in console_report(sourced_plan())


def test_gpus_and_sequences_decompose() -> None:
    text = console_report(sourced_plan())
    assert "8 GPUs = 1 replica x 8, TP 8" in text
    assert "8 GPUs = 2 replicas x 4, TP 4" in text
    assert "8 GPUs = 1 replica x 8, TP 1, attention DP 8" in text
    assert "68 per pool x 2 pools = 136 for 110 asked" in text
    assert "34 per pool x 6 pools = 204 for 201 asked" in text
    assert "11 per pool x 1 pool = 11 for 11 asked, pools shared" in text
    assert "40.00 GiB (42.95 GB)" in text


def test_of_many_classes_only_the_first_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = console_report(sourced_plan())
    assert "further lines" not in whole
    monkeypatch.setattr("sizing.report.console.MOST_CLASSES", 2)
    short = console_report(sourced_plan())
    left = sum(len(served.placements) for served in sourced_plan().classes) - 2
    assert left > 0
    assert f"and {left} further lines, all of them in the workbook and in the JSON of the plan" in short
    assert len(lines(short)) < len(lines(whole))


def test_a_class_on_two_deployments_tells_its_share() -> None:
    plan = sourced_plan()
    notes = next(served for served in plan.classes if served.name == "notes")
    split = replace(notes, placements=(replace(notes.placements[0], sequences=100),))
    others = tuple(split if served is notes else served for served in plan.classes)
    assert "for 100 of 110 asked" in console_report(replace(plan, classes=others))


def test_the_token_budget_is_written_in_gib_gb_and_tokens() -> None:
    text = lines(console_report(sourced_plan()))
    bought = next(line for line in text if line.startswith("HBM bought"))
    assert bought.split()[2:6] == ["41,775.4", "44,856.0", "100.0", "%"]
    left = next(line for line in text if line.startswith("left for KV cache"))
    assert left.split()[4:9] == ["2,691.4", "2,889.8", "6.4", "%", "25,395,368"]  # 19,443,712 and 5,951,656 tokens
    assert any("10 % of the HBM of GPUs in replicas" in line for line in text)


def test_limits_say_what_binds_and_what_was_not_given() -> None:
    text = lines(console_report(sourced_plan()))
    power = next(line for line in text if line.startswith("power") and "north" in line)
    assert power.split()[2:6] == ["1,000", "1,000", "kW", "100"]
    assert power.endswith("yes: one more would exceed it")
    air = next(line for line in text if line.startswith("air_heat") and "south" in line)
    assert "not given" in air
    assert air.endswith("no")
    assert any(line.startswith("supply:rack-72") and "all sites" in line for line in text)


def test_a_rack_in_a_pod_of_128_slots_strands_56() -> None:
    text = " ".join(console_report(standing_alone({"rack-72": 1}, {"rack-72": 1})).split())
    assert "Pods 1 to 2 at north: each 1 x rack-72, 72 GPUs in 128 slots, strands 56 slots" in text
    assert "14 % of its 1,000.0 kW" in text


def test_sixteen_nodes_use_16_percent_of_the_megawatt() -> None:
    text = " ".join(console_report(standing_alone({"node-8": 16}, {"node-8": 16})).split())
    assert "128 GPUs in 128 slots; the systems use 163.2 kW, 16 % of its 1,000.0 kW" in text
    assert "strands" not in text


def test_balance_of_plant_is_told_beside_the_systems() -> None:
    balance = Balance(Fraction(20), Fraction(0), Fraction(20))
    text = " ".join(console_report(standing_alone({"node-8": 16}, {"node-8": 16}, balance)).split())
    assert "(183.2 kW, 18 % with balance of plant)" in text


def test_a_pod_behind_a_pue_offers_less_for_it() -> None:
    plan = standing_alone({"node-8": 16}, {"node-8": 16})
    sites = tuple(
        replace(site, pod=replace(site.pod, pue=replace(site.pod.power_kw, value=Fraction(5, 4))))
        for site in plan.request.sites
    )
    text = " ".join(console_report(replace(plan, request=replace(plan.request, sites=sites))).split())
    assert "163.2 kW, 20 % of its 800.0 kW for IT" in text


def test_idle_gpus_are_told() -> None:
    assert "144 GPUs of 168 in no replica" in console_report(sourced_plan())


def test_fewer_bits_come_with_one_finding_for_and_one_against() -> None:
    text = console_report(sourced_plan())
    assert "fp8 KV, for: No loss in six tasks [A study, 2025]" in text
    assert "fp8 KV, against: Four points lost in one [A study, 2025]" in text
    assert "Used by many" not in text
    assert "The reference" not in text
    assert "notes runs with fp8 KV; the first that it accepts is bf16" in text
    assert "agents runs with fp8 weights; the first that it accepts is fp8-block" in text


def test_without_fewer_bits_nothing_is_said_of_them() -> None:
    plan = sourced_plan()
    only_first = replace(plan, deployments=plan.deployments[:1], classes=plan.classes[1:3])
    assert "Fewer bits" not in console_report(only_first)


def test_weak_nameplates_and_assumptions_are_told() -> None:
    text = " ".join(console_report(sourced_plan()).split())
    assert "rack-72: 142.0 kW nameplate is of low confidence, range 132.0 kW to 142.0 kW (derived by a rule)" in text
    assert "node-8: 10.2 kW nameplate" not in text
    assert text.count("The Pod takes air-cooled systems because policy.systems names them.") == 1
    assert "reserve 10 % of the HBM of GPUs in replicas, headroom 10 %, 1 spare system of each kind" in text


def test_rejections_are_counted_by_reason() -> None:
    text = console_report(sourced_plan())
    assert "- 2 systems (old-8, older-8): end of life" in text
    assert "- 1 combination of one model with a system or layout" in text
    many = tuple(Rejection(f"system-{number}", None, "announced") for number in range(1, 12))
    brief = console_report(replace(sourced_plan(), rejected=many))
    assert "- 11 systems (system-1, system-2, system-3 and 8 more): announced" in brief


def test_a_plan_that_is_not_proven_tells_bound_and_gap_of_each_open_stage() -> None:
    text = " ".join(console_report(open_plan()).split())
    assert "feasible: not every stage is proven; stage power: 314.6 kW, at least 283.1 kW (gap 10.0 %)" in text
    assert "stage gpus: 168 GPUs, at least 150 GPUs (gap 10.7 %, given the stages before)" in text
    assert "stage precision: 110 steps, no bound" in text
    assert "stage pods" not in text
    assert "the search was ended early, by --time-limit or Ctrl-C" in text
    assert "more time may prove more" in text
    assert "ended early" not in console_report(sourced_plan())


def test_a_proven_plan_stays_proven_where_what_was_asked_beside_it_is_cut_short() -> None:
    text = " ".join(console_report(replace(sourced_plan(), reproducible=False)).split())
    assert "optimal: every stage of the objective is proven" in text
    assert "the plan is proven, but looking for what it hangs on, and for what was asked beside it, was ended" in text
    assert "more time may prove more" not in text


def test_a_bound_of_nothing_is_none() -> None:
    (stage, *_), *_ = (open_plan().stages,)
    plan = replace(open_plan(), stages=(replace(stage, bound=0),))
    assert f"stage {stage.stage}: {stage.value} {stage.unit}, no bound" in " ".join(console_report(plan).split())


def test_a_search_that_ended_by_itself_says_what_would_help() -> None:
    text = " ".join(console_report(replace(open_plan(), reproducible=True)).split())
    assert "the search ended by itself, after its share of work" in text
    assert "a smaller gap may prove more" in text
    assert "ended early" not in text
    assert "ended by itself" not in console_report(sourced_plan())


def bill_line(part: str, unit_kw: Fraction | None) -> BillLine:
    return BillLine(1, "Network", "", part, "a part", 2, "piece", "", unit_kw, None, (), "", "")


def test_lines_without_known_power_are_named_and_those_without_any_are_not() -> None:
    told = balance_sentences(two_sites(), (bill_line("switch", None), bill_line("cable", Fraction(0))))
    assert told[1:] == ["power unknown and in no sum: switch", NOT_IN_THE_BILL]
    assert "not counted" in balance_sentences(two_sites(), ())[0]


def test_what_the_bill_rules_leave_out_is_told() -> None:
    plan = two_sites()
    rules = BillRules("rules", "Rules", (), note="Storage is not covered.")
    sites = tuple(replace(site, pod=replace(site.pod, bill_rules=rules)) for site in plan.request.sites)
    told = balance_sentences(replace(plan, request=replace(plan.request, sites=sites)), ())
    assert told[1:] == ["bill of units: Storage is not covered.", NOT_IN_THE_BILL]


@pytest.mark.parametrize("said", ["licences", "support and warranty", "freight", "installation", "taxes", "Lead times"])
def test_what_no_bill_covers_is_told(said: str) -> None:
    assert said in console_report(two_sites())


def test_of_which_pods_the_plant_is_taken_to_stand_is_told() -> None:
    plan = two_sites()
    rules = BillRules("rules", "Rules", ())
    north, south = plan.request.sites
    sites = (replace(north, pod=replace(north.pod, bill_rules=rules), installed_pods=1), south)
    told = " ".join(balance_sentences(replace(plan, request=replace(plan.request, sites=sites)), ()))
    assert "is not ordered: 1 Pod at north for 7 x node-8 + 1 x rack-72." in told
    assert "not ordered" not in " ".join(balance_sentences(plan, ()))


def with_stages(*names: str, kinds: int = 1) -> Plan:
    stages = tuple(StageResult(name, "units", kinds if name == "system_kinds" else 5, 5) for name in names)
    return replace(two_sites(), stages=stages)


def test_that_fewer_kinds_go_before_a_smaller_purchase_is_told() -> None:
    said = fewest_kinds_sentence(with_stages("pods", "system_kinds", "power", "gpus", "precision"))
    assert said is not None
    assert said.startswith("the fewest kinds of system go before power and gpus ")
    assert "--alternatives" in said
    assert said in to_know_sentences(with_stages("pods", "system_kinds", "power", "gpus", "precision"), ())


def test_where_more_kinds_save_nothing_or_are_shown_nothing_is_told_of_them() -> None:
    assert fewest_kinds_sentence(with_stages("pods", "power", "gpus", "system_kinds", "precision")) is None
    assert fewest_kinds_sentence(with_stages("pods", "power")) is None
    assert fewest_kinds_sentence(with_stages("system_kinds", "power", kinds=2)) is None  # of two candidates
    asked = replace(with_stages("system_kinds", "power"), alternatives=Alternatives((), ()))
    assert fewest_kinds_sentence(asked) is None


@pytest.mark.parametrize("name", ["n" * 300, '=HYPERLINK("http://x","y")', "שלום", "日本語" * 40, "a\x1b[2Jb\nc", "😀"])
def test_hostile_names_leave_the_report_in_shape(name: str) -> None:
    text = console_report(sourced_plan(name, name))
    assert lines(text)[0] == MEMORY_ONLY
    assert all(width(line) <= 120 for line in lines(text))
    assert "\x1b" not in text


def test_no_plan_tells_why_and_the_smallest_change() -> None:
    text = no_plan_report(no_plan())
    assert lines(text)[0] == MEMORY_ONLY
    assert lines(text)[2] == "Example customer: infeasible: no plan holds this load within its limits"
    assert "- One sequence of agents needs 1,968 GiB; node-8 leaves 815 GiB." in text
    start = lines(text).index("What would do, each by itself") + 1
    assert lines(text)[start : start + 5] == [
        "- power of site `north` 4.5 MW -> 5 MW (+11.1 %)",
        "- or supply of rack-72 2 -> at most 5 (+150.0 %) and Pods of site `south` 0 -> at most 1, together",
        "- or allow fp8 for `long` (what is known of its quality: `sizing catalog precisions fp8`)",
        "- or 14 % less concurrency",
        "",
    ]
    assert "- at least 99.9 % of every class" in lines(text)
    assert "- chat: 1,259 of 1,260, long: 20 of 20" in lines(text)
    assert "- on 1 Pod, 2 x node-8, 16 GPUs, 20.4 kW nameplate" in lines(text)
    assert "No bill of units was written." in text


def test_a_timeout_is_not_called_infeasible() -> None:
    text = no_plan_report(no_plan(Status.TIMEOUT))
    assert "infeasible" not in text
    assert "no plan was found, and that there is none is not proven" in text
