"""Folders laid over the shipped catalogs: what they may change, and how their mistakes are told."""

from fractions import Fraction
from pathlib import Path

import pytest

from sizing.catalog import layers
from sizing.catalog.catalog import Catalog
from sizing.pool.budget import pool_budget
from sizing.pool.layout import layout_for
from sizing.request.load import load_workload
from sizing.sequence.weights import FORMATS, weight_bytes
from sizing.units.document import read_document
from sizing.units.errors import MOST_PROBLEMS, BadInput, Problem

FIGURE = "sources: [quotation], date: 2026-12-01, confidence: high"
SOURCES = "quotation: {title: A quotation, address: mail, date: 2026-12-01}\n"
SYSTEM = f"""\
title: Our server
vendor: NVIDIA
status: on sale
gpu: h200
domain_gpus: 8
domains_per_system: 1
scale_up: NVLink 4
cooling: air
nameplate_kw: {{value: 9.8, {FIGURE}}}
"""
MODEL = """\
title: Small
aliases: [our/Small-1B]
hidden: 2048
vocabulary: 32000
tied_embeddings: true
weights: bf16
context_limit: 8k
sources: [quotation]
date: 2026-12-01
confidence: high
layers:
  - count: 16
    attention: {kind: full, query_heads: 32, kv_heads: 8, head_dim: 64}
    feed_forward: {kind: gated, intermediate: 8192}
"""


def indented(text: str) -> str:
    return "".join(f"  {line}\n" for line in text.splitlines())


def folder(path: Path, **files: str) -> Path:
    """A folder of catalogs: `systems="..."` is written to systems.yaml, `models_small` to models/small.yaml."""
    path.mkdir(parents=True, exist_ok=True)
    (path / "sources.yaml").write_text(SOURCES, encoding="utf-8")
    for name, text in files.items():
        section, _, model = name.partition("_")
        inner = path / "models" / f"{model}.yaml" if section == "models" else path / f"{name}.yaml"
        inner.parent.mkdir(exist_ok=True)
        inner.write_text(text, encoding="utf-8")
    return path


def problems(*overlays: Path) -> tuple[Problem, ...]:
    with pytest.raises(BadInput) as caught:
        Catalog(overlays)
    return caught.value.problems


def test_one_figure_is_overridden_and_the_rest_stays(tmp_path: Path) -> None:
    mine = folder(tmp_path / "mine", systems=f"hgx-b300-8:\n  nameplate_kw: {{value: 15.1, {FIGURE}}}\n")
    shipped, overlaid = Catalog().system("hgx-b300-8"), Catalog([mine]).system("hgx-b300-8")
    assert overlaid.nameplate_kw is not None
    assert overlaid.nameplate_kw.value == Fraction("15.1")
    assert overlaid.nameplate_kw.sources == ("quotation",)
    assert overlaid.nameplate_kw.range is None  # a figure is replaced whole
    assert overlaid.rack_units == shipped.rack_units
    assert overlaid.gpu == shipped.gpu
    assert Catalog([mine]).system("hgx-h200-8") == Catalog().system("hgx-h200-8")


def test_a_figure_inside_a_mapping_is_overridden(tmp_path: Path) -> None:
    mine = folder(tmp_path / "mine", gpus=f"b300:\n  dense_tflops:\n    fp4: {{value: 14000, {FIGURE}}}\n")
    gpu = Catalog([mine]).system("hgx-b300-8").gpu
    assert gpu.dense_tflops["fp4"].value == 14_000
    assert gpu.dense_tflops["bf16"].value == 2_250


def test_new_entries_are_added_after_the_shipped_ones(tmp_path: Path) -> None:
    mine = folder(tmp_path / "mine", systems=f"our-8:\n{indented(SYSTEM)}", models_small=MODEL)
    catalog = Catalog([mine])
    assert catalog.names("systems") == (*Catalog().names("systems"), "our-8")
    assert catalog.system("our-8").gpu.name == "h200"
    assert catalog.system("our-8").liquid_kw is None
    assert catalog.model("our/Small-1B").name == "small"
    assert "small" in catalog.names("models")
    assert catalog.entry("systems", "our-8")["nameplate_kw"]["sources"][0]["title"] == "A quotation"


def test_the_last_folder_wins(tmp_path: Path) -> None:
    first = folder(tmp_path / "first", systems=f"hgx-b200-8:\n  nameplate_kw: {{value: 14.4, {FIGURE}}}\n  note: one\n")
    second = folder(tmp_path / "second", systems=f"hgx-b200-8:\n  nameplate_kw: {{value: 14.6, {FIGURE}}}\n")
    both, turned = Catalog([first, second]).system("hgx-b200-8"), Catalog([second, first]).system("hgx-b200-8")
    assert both.nameplate_kw is not None
    assert turned.nameplate_kw is not None
    assert (both.nameplate_kw.value, both.note) == (Fraction("14.6"), "one")
    assert turned.nameplate_kw.value == Fraction("14.4")


def test_a_figure_that_was_missing_is_given(tmp_path: Path) -> None:
    mine = folder(tmp_path / "mine", systems=f"vr-nvl72:\n  liquid_kw: {{value: 200, {FIGURE}}}\n")
    entry = Catalog([mine]).entry("systems", "vr-nvl72")
    assert entry["liquid_kw"]["value"] == 200
    assert set(entry["missing"]) == {"rack_units"}


def test_a_figure_can_be_taken_away(tmp_path: Path) -> None:
    text = "hgx-h200-8:\n  nameplate_kw: null\n  missing: {nameplate_kw: not trusted here}\n"
    mine = folder(tmp_path / "mine", systems=text)
    assert Catalog([mine]).system("hgx-h200-8").nameplate_kw is None


def test_a_pod_without_balance_of_plant(tmp_path: Path) -> None:
    mine = folder(tmp_path / "mine", pods="podos-1mw:\n  bill_rules: null\n  pue: null\n")
    pod = Catalog([mine]).pod("podos-1mw")
    assert pod.bill_rules is None
    assert pod.it_power_kw == 1000


def test_a_model_is_changed_key_by_key(tmp_path: Path) -> None:
    mine = folder(tmp_path / "mine", **{"models_qwen3-32b": "context_limit: 128k\n"})
    model = Catalog([mine]).model("Qwen/Qwen3-32B")
    assert model.context_limit == 131_072
    assert model.parameters == 32_762_123_264


def test_hidden_files_are_passed_over(tmp_path: Path) -> None:
    mine = folder(tmp_path / "mine")
    (mine / ".notes").write_text("anything")
    assert Catalog([mine]).names("pods") == Catalog().names("pods")


def test_folders_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "quotes").mkdir()
    file = tmp_path / "file.yaml"
    file.write_text("x: y\n")
    absent, no_folder = problems(tmp_path / "qoutes", file)
    assert absent.what == "no such folder of catalogs"
    assert absent.nearest == str(tmp_path / "quotes")
    assert no_folder.what == "is no folder"


def test_files_that_no_section_reads(tmp_path: Path) -> None:
    mine = folder(tmp_path / "mine", models_small=MODEL)
    (mine / "system.yaml").write_text("x: y\n")
    (mine / "models" / "small.yml").write_text("x: y\n")
    model, system = problems(mine)
    assert model.file == str(mine / "models" / "small.yml")
    assert system.file == str(mine / "system.yaml")
    assert system.nearest == "systems.yaml"
    assert "kv_precisions.yaml" in str(system.accepted)


def test_all_mistakes_at_once_with_file_and_line(tmp_path: Path) -> None:
    systems = f"""\
hgx-b300-8:
  nameplate_kw: {{value: 15.15, {FIGURE}}}
  rack_unit: 10
our-8:
  title: Our server
  gpu: h300
hgx-h200-8:
  nameplate_kw: 9.9
hgx-b200-8:
  nameplate_kw: {{value: 15, range: [12, 14], {FIGURE}}}
"""
    pods = "podos-1mw:\n  gpu_slots: {value: 128, sources: [quotaton], date: 2026-12-01, confidence: certain}\n"
    mine = folder(tmp_path / "mine", systems=systems, pods=pods)
    found = problems(mine)
    told = {(problem.line, problem.path): problem for problem in found if problem.file == str(mine / "systems.yaml")}
    assert told[2, "hgx-b300-8.nameplate_kw.value"].what == "has more than one decimal"
    assert told[3, "hgx-b300-8.rack_unit"].nearest == "rack_units"
    assert told[4, "our-8.vendor"].what == "missing"
    assert told[8, "hgx-h200-8.nameplate_kw"].accepted is not None
    assert "sources" in str(told[8, "hgx-h200-8.nameplate_kw"].accepted)
    assert told[10, "hgx-b200-8.nameplate_kw.range"].what == "12 to 14 does not hold the value 15"
    (pod,) = (problem for problem in found if problem.file == str(mine / "pods.yaml"))
    assert (pod.line, pod.path) == (2, "podos-1mw.gpu_slots.confidence")


def test_what_contradicts_a_shipped_figure_is_told_of_the_users_entry(tmp_path: Path) -> None:
    """A lower nameplate leaves the shipped heat split larger than the whole."""
    text = f"# ours\ngb200-nvl72:\n  nameplate_kw: {{value: 100, {FIGURE}}}\n"
    mine = folder(tmp_path / "mine", systems=text)
    (problem,) = problems(mine)
    assert problem.what == "115 kW to liquid are more than the nameplate, 100 kW"
    assert (problem.file, problem.line, problem.path) == (str(mine / "systems.yaml"), 2, "gb200-nvl72.liquid_kw")


@pytest.mark.parametrize(
    ("entry", "line", "what", "nearest"),
    [
        (SYSTEM.replace("gpu: h200", "gpu: b3O0"), 5, "GPU 'b3O0' is not known", "b300"),
        (SYSTEM.replace("quotation", "quotaton"), 10, "source 'quotaton' is not known", "quotation"),
        (SYSTEM.replace("cooling: air", "cooling: lquid"), 9, "is not one of the accepted values", "liquid"),
        (SYSTEM.replace("domain_gpus: 8", "domain_gpus: 100000"), 6, "is absurdly large", None),
        (SYSTEM.replace("domain_gpus: 8", "domain_gpus: -8"), 6, "must not be negative", None),
        (SYSTEM.replace("confidence: high", "confidence: hihg"), 10, "is not one of the accepted values", "high"),
        (SYSTEM.replace("date: 2026-12-01", "date: 1.12.2026"), 10, "is no date", None),
        (
            SYSTEM + "missing: {nameplate_kw: nobody knows}\n",
            11,
            "'nameplate_kw' is given and said to be missing",
            None,
        ),
        (SYSTEM + "missing: {namplate_kw: nobody knows}\n", 11, "'namplate_kw' is no key", "nameplate_kw"),
        (
            SYSTEM + f"liquid_kw: {{value: 9, {FIGURE}}}\n",
            11,
            "9 of 9.8 kW to liquid contradict the cooling",
            None,
        ),
    ],
)
def test_mistakes_of_a_system(tmp_path: Path, entry: str, line: int, what: str, nearest: str | None) -> None:
    mine = folder(tmp_path / "mine", systems=f"our-8:\n{indented(entry)}")
    (problem,) = problems(mine)
    assert (problem.file, problem.line) == (str(mine / "systems.yaml"), line)
    assert (problem.what, problem.nearest) == (what, nearest)


@pytest.mark.parametrize(
    ("old", "new", "path", "what"),
    [
        ("kind: full", "kind: fall", "layers[0].attention", "kind 'fall' is not known"),
        ("kind: full, ", "", "layers[0].attention.kind", "missing"),
        ("kv_heads: 8", "kv_head: 8", "layers[0].attention.kv_heads", "missing"),
        ("kv_heads: 8", "kv_heads: 7", "layers[0].attention", "32 query heads cannot share 7 KV heads"),
        ("count: 16", "count: 0", "layers[0].count", "must be more than 0"),
        ("weights: bf16", "weights: fp-8", "weights", "weight precision 'fp-8' is not known"),
        ("context_limit: 8k", "context_limit: 8 kB", "context_limit", "'kB' is no suffix of tokens"),
        ("hidden: 2048", "hidden: 2k", "hidden", "'2k' could be 2,000 or 2,048: a count takes no suffix"),
        ("tied_embeddings: true", "tied_embeddings: yes", "tied_embeddings", "is neither true nor false"),
        ("sources: [quotation]", "sources: []", "sources", "is empty"),
    ],
)
def test_mistakes_of_a_model(tmp_path: Path, old: str, new: str, path: str, what: str) -> None:
    mine = folder(tmp_path / "mine", models_small=MODEL.replace(old, new))
    told = {problem.path: problem for problem in problems(mine)}
    assert told[path].what == what
    assert told[path].file == str(mine / "models" / "small.yaml")
    assert told[path].line is not None


def test_more_active_experts_than_experts(tmp_path: Path) -> None:
    experts = "{kind: experts, experts: 4, active_experts: 8, intermediate: 512}"
    mine = folder(tmp_path / "mine", models_small=MODEL.replace("{kind: gated, intermediate: 8192}", experts))
    (problem,) = problems(mine)
    assert problem.what == "more active_experts than experts"


def test_a_name_that_paths_and_reports_could_not_carry(tmp_path: Path) -> None:
    mine = folder(tmp_path / "mine", systems=f'"a/b":\n{indented(SYSTEM)}')
    (problem,) = problems(mine)
    assert problem.what == "is no name of an entry"


def test_one_alias_for_two_models(tmp_path: Path) -> None:
    mine = folder(tmp_path / "mine", models_small=MODEL.replace("our/Small-1B", "openai/gpt-oss-120b"))
    with pytest.raises(BadInput, match="names more than one entry"):
        Catalog([mine]).model("openai/gpt-oss-120b")


def test_a_file_that_is_no_mapping(tmp_path: Path) -> None:
    mine = folder(tmp_path / "mine", systems="- hgx-b300-8\n")
    (problem,) = problems(mine)
    assert problem.what == "is no mapping"
    assert problem.file == str(mine / "systems.yaml")


def test_an_overlaid_gpu_changes_budget_and_reserve(tmp_path: Path) -> None:
    """Eight GPUs of 150 GB: 10 % reserve is 120 GB in all, taken GPU by GPU."""
    mine = folder(tmp_path / "mine", gpus=f"h200:\n  hbm_label_gb: {{value: 150, {FIGURE}}}\n")
    catalog = Catalog([mine])
    model, gpu = catalog.model("llama-3.1-70b"), catalog.system("hgx-h200-8").gpu
    hbm = gpu.hbm_bytes("label")
    assert hbm is not None
    weights = weight_bytes(model, FORMATS["bf16"])
    budget = pool_budget(hbm, Fraction(1, 10), weights, layout_for(model, tp=8))
    assert budget.reserve_bytes == 120 * 10**9
    assert budget.kv_bytes == 1_080 * 10**9 - 2 * model.parameters


def test_an_absurd_pod_is_told_with_its_line(tmp_path: Path) -> None:
    mine = folder(tmp_path / "mine", pods=f"podos-1mw:\n  gpu_slots: {{value: 1000000, {FIGURE}}}\n")
    (problem,) = problems(mine)
    assert (problem.file, problem.line) == (str(mine / "pods.yaml"), 2)
    assert (problem.path, problem.what) == ("podos-1mw.gpu_slots.value", "is absurdly large")


def test_a_pod_that_its_bill_rules_cannot_build_is_told_with_the_site(tmp_path: Path) -> None:
    """4,096 ports are more than two tiers of 64-port switches reach, which only a full Pod needs."""
    pod = f"podos-1mw:\n  gpu_slots: {{value: 4096, {FIGURE}}}\n  power_kw: {{value: 100000, {FIGURE}}}\n"
    catalog = Catalog([folder(tmp_path / "mine", pods=pod)])
    workload = tmp_path / "workload.yaml"
    workload.write_text(
        "name: x\nclasses: [{name: a, model: llama-3.1-8b, context: 4k, concurrency: 1}]\n"
        "site:\n  pod: podos-1mw\npolicy: {systems: hgx-h200-8}\n",
        encoding="utf-8",
    )
    with pytest.raises(BadInput) as caught:
        load_workload(workload, catalog)
    (problem,) = caught.value.problems
    assert (problem.file, problem.line, problem.path) == (str(workload), 4, "site.pod")
    assert problem.what.startswith("a Pod podos-1mw full of hgx-h200-8 cannot be built by the bill rules podos-1mw")


def test_of_very_many_problems_the_first_are_told(tmp_path: Path) -> None:
    told = problems(folder(tmp_path / "mine", kv_precisions="".join(f"key{number}: 1\n" for number in range(5_000))))
    assert len(told) == MOST_PROBLEMS + 1
    assert told[-1].what == f"and {5_000 - MOST_PROBLEMS:,} more problems"


def test_only_files_of_entries_that_are_laid_over_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = folder(tmp_path / "mine", models_small=MODEL)
    read: list[str] = []
    monkeypatch.setattr(layers, "read_document", lambda path: read.append(path.name) or read_document(path))
    Catalog([mine])
    assert set(read) == {"small.yaml", "sources.yaml"}


def test_an_entry_that_replaces_keeps_nothing_of_what_is_under_it(tmp_path: Path) -> None:
    whole = folder(tmp_path / "a", systems=f"hgx-h200-8:\n  replaces: true\n{indented(SYSTEM)}")
    path = whole / "models" / "qwen3-8b.yaml"
    path.parent.mkdir()
    path.write_text("replaces: false\n" + MODEL, encoding="utf-8")
    assert Catalog([whole]).model("qwen3-8b").nominal_parameters == Catalog().model("qwen3-8b").nominal_parameters
    path.write_text("replaces: true\n" + MODEL, encoding="utf-8")
    found = Catalog([whole])
    assert found.model("qwen3-8b").nominal_parameters is None
    assert found.model("qwen3-8b").aliases == ("our/Small-1B",)
    with pytest.raises(BadInput, match="is not known"):
        found.model("Qwen/Qwen3-8B")
    assert found.system("hgx-h200-8").title == "Our server"
    assert found.system("hgx-h200-8").liquid_kw is None
    assert "replaces" not in found.entry("systems", "hgx-h200-8")
    above = folder(tmp_path / "b", systems=f"hgx-h200-8:\n  nameplate_kw: {{value: 11, {FIGURE}}}\n")
    changed = Catalog([whole, above]).system("hgx-h200-8")
    assert changed.nameplate_kw is not None
    assert (changed.title, changed.nameplate_kw.value) == ("Our server", 11)


def test_to_replace_is_a_flag(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"systems.yaml:2: ours.replaces: is neither true nor false \(seen: 'yes'"):
        Catalog([folder(tmp_path, systems=f"ours:\n  replaces: yes\n{indented(SYSTEM)}")])
