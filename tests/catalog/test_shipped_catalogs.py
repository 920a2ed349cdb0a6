"""What is shipped: everything loads, every figure has its source, and the published numbers come out."""

import json
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import pytest

from sizing.catalog.catalog import SECTIONS, Catalog
from sizing.catalog.folders import FILES, MODELS, catalogs_folder
from sizing.catalog.published import source_keys
from sizing.facility.system import Status, System
from sizing.pool.storage import IdealStorage
from sizing.sequence.sharding import WHOLE

CATALOG = Catalog()
SYSTEMS = [CATALOG.system(name) for name in CATALOG.names("systems")]

ON_SALE = """hgx-h200-8 hgx-h200-8-liquid h200-nvl-8 hgx-b200-8 hgx-b200-8-liquid hgx-b300-8 hgx-b300-8-liquid
    gb200-nvl4 gb200-nvl72 gb300-nvl72 rtx-pro-6000-8 l40s-8 mi300x-8 mi325x-8 mi350x-8 mi355x-8 mi355x-8-air
    gaudi3-8"""
RESTRICTED = "hgx-h20-8 hgx-h20-141-8"
ANNOUNCED = "rubin-nvl8 vr-nvl72 helios-72"
END_OF_LIFE = "hgx-a100-8 hgx-h100-8 h100-nvl-8 gh200-nvl2 gh200-nvl32"

MODELS_BY_DATA = {
    "llama-3.1-8b": (8_030_261_248, 131_072, "bf16", 131_072),
    "llama-3.1-70b": (70_553_706_496, 327_680, "bf16", 131_072),
    "llama-3.3-70b": (70_553_706_496, 327_680, "bf16", 131_072),
    "llama-3.1-405b": (405_853_388_800, 516_096, "bf16", 131_072),
    "mixtral-8x7b": (46_702_792_704, 131_072, "bf16", 32_768),
    "qwen3-32b": (32_762_123_264, 262_144, "bf16", 40_960),
    "qwen3-235b-a22b": (235_093_634_560, 192_512, "bf16", 40_960),
    "deepseek-v3": (671_026_419_200, 70_272, "fp8-block", 163_840),
    "gpt-oss-120b": (116_829_156_672, 36_864, "mxfp4", 131_072),
    "deepseek-r1": (671_026_419_200, 70_272, "fp8-block", 163_840),
    "qwen3-next-80b-a3b": (79_674_391_296, 24_576, "bf16", 262_144),
    "kimi-k2.6": (1_026_408_232_448, 70_272, "int4", 262_144),
    "gemma-3-27b": (27_009_346_304, 81_920, "bf16", 131_072),
    "nemotron-3-nano-30b-a3b": (31_577_940_288, 6_144, "bf16", 262_144),
}


def entries() -> Iterator[tuple[str, str]]:
    for section in SECTIONS:
        for name in CATALOG.names(section):
            yield section, name


def figures(node: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(node, dict):
        if "value" in node:
            yield node
        for part in node.values():
            yield from figures(part)
    elif isinstance(node, list):
        for part in node:
            yield from figures(part)


@pytest.mark.parametrize(("section", "name"), tuple(entries()))
def test_every_entry_loads_and_can_be_written_as_json(section: str, name: str) -> None:
    entry = CATALOG.entry(section, name)
    assert entry["name"] == name
    assert entry["title"]
    assert json.loads(json.dumps(entry, allow_nan=False)) == entry
    read: dict[str, Callable[[str], Any]] = {
        "gpus": CATALOG.gpu,
        "systems": CATALOG.system,
        "models": CATALOG.model,
        "precisions": CATALOG.kv_precision,
        "pods": CATALOG.pod,
        "bill_rules": CATALOG.bill_rules,
    }
    if section in read:
        assert read[section](name).name == name


@pytest.mark.parametrize(("section", "name"), tuple(entries()))
def test_every_figure_has_source_date_and_confidence(section: str, name: str) -> None:
    entry = CATALOG.entry(section, name)
    for figure in figures(entry):
        assert figure["sources"]
        assert all(set(source) == {"title", "address", "date"} for source in figure["sources"])
        assert figure["date"] >= "2026-11"
        assert figure["confidence"] in {"high", "medium", "low"}
        low, high = figure.get("range", (figure["value"], figure["value"]))
        assert low <= figure["value"] <= high


def test_no_source_is_left_over() -> None:
    used = {str(key) for section, name in entries() for key in source_keys(CATALOG._entry(section, name))}
    assert used == set(CATALOG.names("sources"))


def test_the_folder_holds_nothing_else() -> None:
    folder = catalogs_folder()
    assert {path.name for path in folder.iterdir()} == {*FILES.values(), MODELS}
    assert tuple(sorted(path.stem for path in (folder / MODELS).iterdir())) == CATALOG.names("models")


def test_systems_and_their_status() -> None:
    by_status = {
        Status.ON_SALE: ON_SALE.split(),
        Status.RESTRICTED: RESTRICTED.split(),
        Status.ANNOUNCED: ANNOUNCED.split(),
        Status.END_OF_LIFE: END_OF_LIFE.split(),
    }
    assert {system.name: system.status for system in SYSTEMS} == {
        name: status for status, names in by_status.items() for name in names
    }


def test_domains() -> None:
    domains = {system.name: (system.domains_per_system, system.domain_gpus) for system in SYSTEMS}
    special = {
        "h100-nvl-8": (4, 2),
        "h200-nvl-8": (2, 4),
        "gh200-nvl2": (1, 2),
        "gh200-nvl32": (1, 32),
        "gb200-nvl4": (1, 4),
        "gb200-nvl72": (1, 72),
        "gb300-nvl72": (1, 72),
        "vr-nvl72": (1, 72),
        "helios-72": (1, 72),
    }
    assert domains == {name: special.get(name, (1, 8)) for name in domains}


@pytest.mark.parametrize(
    ("name", "nameplate", "liquid"),
    [
        ("hgx-h100-8", "10.2", "0"),
        ("hgx-h200-8", "10.2", "0"),
        ("hgx-h200-8-liquid", "8.8", "6.16"),
        ("hgx-b200-8", "14.3", "0"),
        ("hgx-b300-8", "14.5", "0"),
        ("gb200-nvl72", "132", "115"),
        ("gb300-nvl72", "142", "127.8"),
        ("mi355x-8", "15.9", "12.2"),
    ],
)
def test_nameplates_and_heat(name: str, nameplate: str, liquid: str) -> None:
    system = CATALOG.system(name)
    assert system.nameplate_kw is not None
    assert system.liquid_kw is not None
    assert system.nameplate_kw.value == Fraction(nameplate)
    assert system.liquid_kw.value == Fraction(liquid)
    assert system.air_kw == Fraction(nameplate) - Fraction(liquid)
    assert system.mainly_air is (system.liquid_kw.value == 0)


def test_vendor_maximum_and_its_other_version() -> None:
    b300 = CATALOG.system("hgx-b300-8").nameplate_kw
    gb300 = CATALOG.system("gb300-nvl72").nameplate_kw
    assert b300 is not None
    assert gb300 is not None
    assert b300.range == (Fraction("14.5"), Fraction("15.1"))
    assert gb300.range == (Fraction(135), Fraction(155))


def gpus_alone_kw(system: System) -> Fraction:
    assert system.gpu.tdp_w is not None
    return system.gpus * system.gpu.tdp_w.value / 1000


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_nameplates_are_no_floors_and_derived_ones_say_so(system: System) -> None:
    figure = system.nameplate_kw
    if figure is None:
        assert system.name == "gh200-nvl32"
        return
    if system.gpu.tdp_w is not None:
        assert figure.value > gpus_alone_kw(system)
    vendor = figure.basis.startswith("vendor maximum")
    assert vendor or figure.basis.startswith(("derived", "Schneider", "press"))
    assert not (figure.basis.startswith("derived") and figure.confidence == "high")
    if system.psu_upper_bound_kw is not None:
        assert system.psu_upper_bound_kw.value > figure.value


def test_what_is_a_candidate_by_its_data() -> None:
    """On sale, with HBM and nameplate, and with a heat split that a limit can be held against."""
    complete = [
        system.name
        for system in SYSTEMS
        if system.status is Status.ON_SALE and system.nameplate_kw is not None and system.liquid_kw is not None
    ]
    assert complete == [name for name in CATALOG.names("systems") if name in ON_SALE.split()]


def test_what_is_lacking_is_explained() -> None:
    needed = {
        "gpus": ("hbm_driver_bytes", "hbm_tb_s", "tdp_w", "dense_tflops.bf16"),
        "systems": ("nameplate_kw", "liquid_kw", "rack_units"),
        "pods": ("pue", "liquid_kw", "air_kw"),
    }
    for section, keys in needed.items():
        for name in CATALOG.names(section):
            entry = CATALOG.entry(section, name)
            lacking = {key for key in keys if value_at(entry, key) is None}
            assert set(entry.get("missing", {})) == lacking, name
            assert all(entry["missing"][key] for key in lacking)


def value_at(entry: Mapping[str, Any], dotted: str) -> Any:
    value: Any = entry
    for part in dotted.split("."):
        value = value.get(part)
    return value


def test_ridge_of_the_h200() -> None:
    gpu = CATALOG.gpu("h200")
    assert gpu.dense_tflops["bf16"].value == Fraction("989.5")
    assert gpu.ridge_flop_per_byte == Fraction("989.5") / Fraction("4.8")
    assert round(gpu.ridge_flop_per_byte) == 206


@pytest.mark.parametrize(
    ("name", "label_gb", "driver_mib"),
    [("h200", 141, 143_771), ("b200", 180, 183_359), ("b300", 288, 275_040), ("gb200", 186, 189_471)],
)
def test_memory_by_label_and_by_driver(name: str, label_gb: int, driver_mib: int) -> None:
    gpu = CATALOG.gpu(name)
    assert gpu.hbm_bytes("label") == label_gb * 10**9
    assert gpu.hbm_bytes("driver") == driver_mib * 2**20


@pytest.mark.parametrize("name", MODELS_BY_DATA)
def test_models(name: str) -> None:
    model = CATALOG.model(name)
    parameters, bytes_per_token, weights, limit = MODELS_BY_DATA[name]
    assert model.parameters == parameters
    assert model.bytes_per_token(WHOLE, IdealStorage(Fraction(16))) == bytes_per_token
    assert model.native_weights == weights
    assert model.context_limit == limit


def test_nominal_counts_round_the_exact_ones() -> None:
    for name in CATALOG.names("models"):
        model = CATALOG.model(name)
        if model.nominal_parameters is not None:
            assert abs(model.nominal_parameters / model.parameters - 1) < 0.1


def test_windows_of_gpt_oss() -> None:
    model = CATALOG.model("gpt-oss-120b")
    assert model.window_bytes(WHOLE, IdealStorage(Fraction(16))) == 128 * 36_864
    assert [block.count for block in model.blocks] == [18, 18]


def test_aliases_name_one_model_each() -> None:
    aliases = [alias for name in CATALOG.names("models") for alias in CATALOG.model(name).aliases]
    assert len(aliases) == len(set(aliases))
    assert all(CATALOG.model(alias).aliases.count(alias) == 1 for alias in aliases)


def test_bits_of_kv_precisions() -> None:
    bits = {name: float(CATALOG.kv_precision(name).bits.value) for name in CATALOG.names("precisions")}
    assert bits == {
        "bf16": 16,
        "fp8": 8,
        "int8": 8.25,
        "int4": 4.25,
        "nvfp4": 4.5,
        "turboquant-3.5": 3.5,
        "turboquant-2.5": 2.5,
    }


def test_which_gpus_hold_a_precision() -> None:
    generations = {CATALOG.gpu(name).generation for name in CATALOG.names("gpus")}
    assert CATALOG.kv_precision("bf16").generations == generations
    assert CATALOG.kv_precision("fp8").generations == generations
    assert CATALOG.kv_precision("nvfp4").generations == {"blackwell", "rubin"}
    for name in CATALOG.names("precisions"):
        assert CATALOG.kv_precision(name).generations <= generations


def test_fewer_bits_carry_evidence_for_and_against() -> None:
    for name in CATALOG.names("precisions"):
        precision = CATALOG.kv_precision(name)
        if precision.bits.value < 16:
            assert {evidence.verdict for evidence in precision.evidence} == {"for", "against"}
            assert all(evidence.source in CATALOG.names("sources") for evidence in precision.evidence)


def test_the_pod() -> None:
    pod = CATALOG.pod("podos-1mw")
    assert pod.gpu_slots.value == 128
    assert pod.power_kw.value == 1000
    assert pod.pue is not None
    assert pod.pue.range == (Fraction("1.08"), Fraction("1.12"))
    assert pod.it_power_kw == 1000 / Fraction("1.12")
    assert pod.liquid_kw is None
    assert pod.air_kw is None
    assert pod.bill_rules is not None
    assert pod.bill_rules.name == "podos-1mw"


def test_bill_rules_speak_of_known_gpus() -> None:
    known = {*CATALOG.names("gpus")}
    named = {
        gpu
        for name in CATALOG.names("bill_rules")
        for gpu in values_under(CATALOG.entry("bill_rules", name), "gpus")
        if isinstance(gpu, str)
    }
    assert named
    assert named <= known


def values_under(node: Any, key: str) -> Iterator[Any]:
    if isinstance(node, dict):
        for inner, part in node.items():
            if inner == key and isinstance(part, list):
                yield from part
            yield from values_under(part, key)
    elif isinstance(node, list):
        for part in node:
            yield from values_under(part, key)
