"""Names, aliases, and what is read when."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sizing.catalog import layers
from sizing.catalog.catalog import Catalog
from sizing.catalog.folders import catalogs_folder
from sizing.units.document import Document, read_document
from sizing.units.errors import BadInput, Problem


def refused(call: Callable[..., Any], *arguments: Any) -> Problem:
    with pytest.raises(BadInput) as caught:
        call(*arguments)
    (problem,) = caught.value.problems
    return problem


def test_names_keep_the_order_of_the_file() -> None:
    catalog = Catalog()
    assert catalog.names("systems")[:3] == ("hgx-a100-8", "hgx-h100-8", "h100-nvl-8")
    assert catalog.names("precisions")[0] == "bf16"
    assert list(catalog.names("models")) == sorted(catalog.names("models"))
    assert catalog.names("engines")[:2] == ("ideal", "vllm")


def test_a_model_answers_to_its_hugging_face_id() -> None:
    catalog = Catalog()
    assert catalog.model("meta-llama/Llama-3.1-70B-Instruct") is catalog.model("llama-3.1-70b")
    assert catalog.entry("models", "openai/gpt-oss-120b")["name"] == "gpt-oss-120b"


def test_a_precision_answers_to_its_alias() -> None:
    catalog = Catalog()
    assert catalog.kv_precision("fp16") is catalog.kv_precision("bf16")
    assert catalog.entry("precisions", "fp16")["name"] == "bf16"


@pytest.mark.parametrize(
    ("method", "name", "alike"),
    [
        ("gpu", "b3O0", "b300"),
        ("system", "hgx-b30-8", "hgx-b300-8"),
        ("model", "llama-3-1-405b", "llama-3.1-405b"),
        ("model", "meta-llama/llama-3.1-8b", "meta-llama/Llama-3.1-8B"),
        ("kv_precision", "fp-8", "fp8"),
        ("pod", "podos", "podos-1mw"),
    ],
)
def test_unknown_names_get_the_nearest(method: str, name: str, alike: str) -> None:
    problem = refused(getattr(Catalog(), method), name)
    assert problem.what.endswith(f"'{name}' is not known")
    assert problem.nearest == alike
    assert problem.accepted is not None


def test_a_part_of_an_alias_is_no_alias() -> None:
    assert "'Llama-3.1' is not known" in refused(Catalog().model, "Llama-3.1").what


def test_objects_are_built_once() -> None:
    catalog = Catalog()
    assert catalog.system("hgx-h200-8") is catalog.system("hgx-h200-8")
    assert catalog.system("hgx-h200-8").gpu is catalog.gpu("h200")


def test_only_what_is_asked_for_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def watched(path: Path) -> Document:
        read.append(path.name)
        return read_document(path)

    monkeypatch.setattr(layers, "read_document", watched)
    catalog = Catalog()
    assert read == []
    catalog.model("llama-3.1-70b")
    assert read == ["llama-3.1-70b.yaml"]
    catalog.model("openai/gpt-oss-120b")
    assert read == ["llama-3.1-70b.yaml", "gpt-oss-120b.yaml"]
    catalog.system("hgx-h200-8")
    catalog.system("gb200-nvl72")
    assert read == ["llama-3.1-70b.yaml", "gpt-oss-120b.yaml", "systems.yaml", "gpus.yaml"]


def test_an_entry_is_written_out_with_units_and_sources() -> None:
    entry = Catalog().entry("systems", "gb200-nvl72")
    assert list(entry)[:3] == ["name", "title", "vendor"]
    assert entry["gpu"] == "gb200"
    nameplate = entry["nameplate_kw"]
    assert (nameplate["value"], nameplate["unit"], nameplate["range"]) == (132, "kW", [120, 132])
    assert nameplate["sources"][0]["title"].startswith("HPE QuickSpecs")
    assert entry["psu_upper_bound_kw"] is None
    gpu = Catalog().entry("gpus", "h200")
    assert gpu["dense_tflops"]["bf16"]["unit"] == "TFLOPS"
    assert gpu["dense_tflops"]["bf16"]["value"] == 989.5
    assert gpu["hbm_driver_bytes"] == {
        "value": 143_771 * 2**20,
        "unit": "bytes",
        "sources": gpu["hbm_driver_bytes"]["sources"],
        "date": "2026-11-29",
        "confidence": "high",
    }


def test_evidence_carries_its_source() -> None:
    first, *_ = Catalog().entry("precisions", "nvfp4")["evidence"]
    assert first["verdict"] == "for"
    assert first["source"] == {
        "title": "NVIDIA developer blog, NVFP4 KV cache",
        "address": "developer.nvidia.com/blog/?p=109878",
        "date": "2025-12-08",
    }


def test_catalogs_are_found() -> None:
    assert (catalogs_folder() / "sources.yaml").is_file()
