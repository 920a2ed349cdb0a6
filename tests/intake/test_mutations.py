"""Whatever is done to a configuration, there is a shape that keeps something or a refusal; never another error."""

import copy
import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from sizing.catalog.written import as_yaml, entry_of
from sizing.intake.huggingface import import_tree
from sizing.pool.storage import IdealStorage
from sizing.sequence.sharding import WHOLE
from sizing.sequence.weights import checkpoint_bytes
from sizing.units.errors import BadInput

BF16 = IdealStorage(Fraction(16))
CASES: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("family_cases.json").read_text("utf-8"))
MUTANTS = 12  # of every case

NUMBERS: list[Any] = [
    0,
    -1,
    1,
    3,
    7,
    10**6,
    10**13,
    10**20,
    10**400,
    0.5,
    96.0,
    1e30,
    float("inf"),
    float("-inf"),
    float("nan"),
]
OTHERS: list[Any] = [
    None,
    True,
    False,
    "",
    "x",
    "64",
    "auto",
    [],
    [1],
    [None],
    [[]],
    [{}],
    ["x"] * 4,
    [0] * 4,
    {},
    {"a": 1},
]
WRAPPINGS = ["text_config", "llm_config", "language_config", "thinker_config"]
ADDED = [
    "architectures",
    "head_dim",
    "layer_types",
    "mlp_only_layers",
    "moe_layer_freq",
    "moe_layers_enum",
    "num_key_value_heads",
    "num_nextn_predict_layers",
    "per_layer_config",
    "rope_scaling",
    "sliding_window",
    "vision_config",
]
WEIGHTS = {"num_bits": 4, "type": "int", "group_size": 32}
QUANTISATIONS: list[dict[str, Any]] = [
    {"quant_method": "awq", "bits": 4, "group_size": 128},
    {"quant_method": "gptq", "bits": "4", "group_size": -1},
    {"quant_method": "gptq", "bits": 0, "dynamic": {"-:[": {}}},
    {"quant_method": "fp8", "weight_block_size": [0, 0]},
    {"quant_method": "fp8", "weight_block_size": "128", "ignored_layers": ["*" * 60 + "a"]},
    {"quant_method": "compressed-tensors", "config_groups": {"a": {"weights": WEIGHTS}}, "ignore": ["re:["]},
    {"quant_method": "compressed-tensors", "config_groups": {"a": {"weights": {**WEIGHTS, "num_bits": "x"}}}},
    {"quant_method": "compressed-tensors", "config_groups": {"a": 5}},
    {"quant_method": "compressed-tensors", "config_groups": [1]},
    {"quant_method": "modelopt", "quant_algo": "NVFP4", "exclude_modules": ["lm_head", None]},
    {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "quantized_layers": [1]},
    {"quant_method": "bitsandbytes", "load_in_4bit": "yes"},
    {"quant_method": "quark", "global_quant_config": {"weight": {"dtype": []}}},
    {"quant_method": "torchao", "quant_type": "int4_weight_only"},
    {"quant_method": 5},
]


def mutant(config: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    """The configuration with one to three keys spoiled, added, nested or taken away."""
    found = copy.deepcopy(config)
    for _ in range(chance.choice((1, 1, 2, 3))):
        key, what = chance.choice(sorted(found)), chance.random()
        if what < 0.3:
            del found[key]
        elif what < 0.75:
            found[key] = copy.deepcopy(chance.choice(NUMBERS + OTHERS))
        elif what < 0.85:
            found[chance.choice(ADDED)] = copy.deepcopy(chance.choice(NUMBERS + OTHERS))
        elif what < 0.95:
            found["quantization_config"] = copy.deepcopy(chance.choice(QUANTISATIONS))
        else:
            found = {"model_type": chance.choice(["llava", "gemma3", "llama", None]), chance.choice(WRAPPINGS): found}
    return found


@pytest.mark.parametrize("case", sorted(CASES))
def test_a_mutant_is_read_or_refused_and_never_free(case: str) -> None:
    chance = random.Random(case)
    for _ in range(MUTANTS):
        tree = mutant(CASES[case]["config"], chance)
        try:
            found = import_tree(tree, file="config.json")
        except BadInput:
            continue
        model = found.shape
        assert model.sequence_bytes(1, WHOLE, BF16) > 0, tree
        assert model.parameters > 0, tree
        assert checkpoint_bytes(model) > 0, tree
        assert as_yaml(entry_of(model, {"confidence": "high"})), tree


@pytest.mark.parametrize("quantisation", QUANTISATIONS, ids=lambda block: str(block["quant_method"]))
@pytest.mark.parametrize("case", ["llama", "qwen3_moe", "deepseek_v3"])
def test_a_quantisation_beside_the_file_is_read_or_refused(case: str, quantisation: dict[str, Any]) -> None:
    for beside in (quantisation, {"quantization": quantisation}):
        try:
            model = import_tree(CASES[case]["config"], beside=beside).shape
        except BadInput:
            continue
        assert 0 < checkpoint_bytes(model) <= checkpoint_bytes(import_tree(CASES[case]["config"]).shape)
