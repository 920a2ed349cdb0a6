"""A shape that is written as an entry reads back equal, whatever it is made of."""

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from sizing.catalog.border import read_as
from sizing.catalog.models import build, entry_type
from sizing.catalog.written import LINE_LENGTH, as_yaml, entry_of
from sizing.intake.huggingface import import_config, import_tree
from sizing.sequence.attention import KINDS
from sizing.sequence.model import ModelShape
from sizing.sequence.tensors import Role
from sizing.units.document import Document, parse_document
from sizing.units.errors import BadInput

CASES: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "intake" / "family_cases.json").read_text("utf-8")
)
CONFIGS = Path(__file__).parents[3] / "shared" / "data" / "configs"
IMPORTED = {"file": "config.json", "sha256": "0" * 64, "rule": "llama", "notes": ['Say: "so" # or, {not}']}
TOLD = {"confidence": "high", "imported": IMPORTED}


def reads_back(model: ModelShape) -> None:
    model = replace(model, notes=tuple(IMPORTED["notes"]))
    entry = entry_of(model, TOLD)
    text = as_yaml(entry, ["A remark of several words, " * 10])
    assert max(len(line) for line in text.splitlines() if '"' not in line) <= LINE_LENGTH
    for document in (parse_document(text, "model.yaml"), Document("", json.loads(json.dumps(entry)))):
        read = read_as(entry_type(document.tree), document)
        assert build(model.name, read) == model
        assert read.imported is not None
        assert read.imported.notes == tuple(IMPORTED["notes"])


@pytest.mark.parametrize("model_type", sorted(CASES))
def test_every_family_reads_back(model_type: str) -> None:
    reads_back(import_tree(CASES[model_type]["config"], name="Some/Model").shape)


def test_every_configuration_reads_back() -> None:
    if not CONFIGS.is_dir():
        pytest.skip("the configurations are not at hand")
    kinds = set()
    for path in sorted(CONFIGS.glob("*.json")):
        if path.name.endswith(".hf_quant_config.json"):
            continue
        try:
            model = import_config(path).shape
        except BadInput:
            continue
        reads_back(model)
        kinds |= {kind.name for _, kind in model.layers()}
    assert len(kinds) >= len(KINDS) - 3


def test_bits_that_are_no_decimal_keep_their_value() -> None:
    model = import_tree(CASES["llama"]["config"]).shape
    odd = ((Role.ATTENTION, Fraction(13, 3)), (Role.HEAD, Fraction(16)))
    reads_back(replace(model, native_bits=odd))
    assert entry_of(replace(model, native_bits=odd), TOLD)["native_bits"] == {"attention": "13/3", "head": 16}


def test_equal_layers_are_written_once() -> None:
    text = as_yaml(entry_of(import_tree(CASES["gpt_oss"]["config"]).shape, TOLD))
    assert "feed_forward: &experts {kind: experts" in text
    assert "feed_forward: *experts" in text
