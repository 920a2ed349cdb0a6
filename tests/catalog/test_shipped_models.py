"""Shipped models: enough of them, of every family, and each as the table of right values has it."""

import csv
import re
from fractions import Fraction
from pathlib import Path

import pytest

from sizing.catalog.catalog import Catalog
from sizing.pool.storage import FP8_ROWS, IdealStorage, RowStorage
from sizing.sequence.sharding import WHOLE

TABLE = Path(__file__).parents[3] / "shared" / "data" / "models.tsv"
CATALOG = Catalog()
BF16 = IdealStorage(Fraction(16))
FP8 = RowStorage(Fraction(8), FP8_ROWS)  # the table gives DeepSeek-V4 in rows of 8 bits

FAMILIES = {
    "llama-2",
    "llama-3",
    "llama-3.1",
    "llama-3.2",
    "llama-4",
    "mistral",
    "mixtral",
    "devstral",
    "qwen1.5",
    "qwen2",
    "qwen2.5",
    "qwen3",
    "qwen3-next",
    "qwen3-vl",
    "qwen3.5",
    "qwen3.6",
    "deepseek-v2",
    "deepseek-v3",
    "deepseek-v3.1",
    "deepseek-v3.2",
    "deepseek-v4",
    "deepseek-r1",
    "kimi-k2",
    "kimi-k3",
    "kimi-linear",
    "glm-4",
    "glm-5",
    "gpt-oss",
    "gemma-2",
    "gemma-3",
    "gemma-4",
    "phi",
    "granite",
    "nemotron",
    "jamba",
    "falcon",
    "minimax",
    "command",
    "olmo",
    "exaone",
    "lfm2",
    "hunyuan",
    "ernie",
    "mimo",
    "step",
    "minicpm",
    "longcat",
}

# Rows of the table under the name of another model: the vocabulary, and tied embeddings or not, say which it is.
NAMED_OTHERWISE = {"baichuan2-7b": "baichuan-inc/Baichuan-7B", "minicpm-2b-128k": "openbmb/MiniCPM-2B"}

# Where the table's total is not what the configuration says: norms, a corrected router and a dense first layer.
OTHER_TOTALS = {"kimi-k3", "orion-14b", "hunyuan-large", "glm-4.7-flash"}


def test_there_are_enough_models_of_every_family() -> None:
    names = CATALOG.names("models")
    assert len(names) >= 80
    assert {family for family in FAMILIES if not any(name.startswith(family) for name in names)} == set()
    assert all(name == name.lower() for name in names)


# Names that count otherwise: active parameters, weights without embeddings, encoders, or a rounding of their publisher.
OTHER_SIZES = {
    "gemma-2b": "its name leaves out the embeddings, 0.5 billion",
    "gemma-7b": "its name leaves out the embeddings, 0.8 billion",
    "granite-4.0-h-1b": "rounded down from 1.46 billion of its shape; no published exact total at hand",
    "internlm2.5-7b": "rounded down from 7.74 billion of its shape; no published exact total at hand",
    "lfm2.5-vl-1.6b": "with the encoder of images",
    "llama-3.2-11b-vision": "with the encoder of images",
    "llama-3.2-1b": "1.23 billion by its card",
    "llama-4-maverick-17b-128e": "17 billion active parameters",
    "llama-4-scout-17b-16e": "17 billion active parameters",
    "llama-4-scout-17b-16e-fp8": "17 billion active parameters",
    "minicpm-2b-128k": "its name leaves out embedding and head",
    "olmoe-1b-7b": "1 billion active parameters",
    "qwen3-vl-2b": "with the encoder of images",
}


def test_models_are_as_large_as_their_names_say() -> None:
    """Within a tenth; where a name counts otherwise it is listed, and no more of them than those."""
    outliers = set()
    for name in CATALOG.names("models"):
        stated = re.search(r"(?<![a-z0-9.])([0-9]+(?:\.[0-9]+)?)b(?![a-z0-9])", name)
        if stated and abs(CATALOG.model(name).parameters / (float(stated[1]) * 10**9) - 1) > 0.1:
            outliers.add(name)
    assert outliers == set(OTHER_SIZES)


def test_the_two_baichuans_differ_by_their_vocabulary() -> None:
    """Totals: the model card of Baichuan-7B; 2 x 61,696 x 4,096 more in Baichuan2."""
    assert CATALOG.model("baichuan-inc/Baichuan-7B").parameters == 7_000_559_616
    assert CATALOG.model("baichuan2-7b").parameters == 7_000_559_616 + 2 * 61_696 * 4096


def test_ids_of_the_hub_are_aliases() -> None:
    assert all(CATALOG.model(name).aliases for name in CATALOG.names("models"))
    assert CATALOG.model("deepseek-ai/DeepSeek-R1-0528").name == "deepseek-r1"
    assert CATALOG.model("Qwen/Qwen3-Next-80B-A3B-Thinking").name == "qwen3-next-80b-a3b"


def test_hybrids_keep_states_and_grow_slowly() -> None:
    falcon = CATALOG.model("falcon-h1-7b")
    assert len(falcon.blocks[0].mixers) == 2
    assert falcon.bytes_per_token(WHOLE, BF16) == 2 * 44 * 2 * 128 * 2
    assert CATALOG.model("deepseek-v3.2").index_bytes_per_token(WHOLE, BF16) == 61 * 132
    assert CATALOG.model("qwen3.5-27b").mtp_parameters > 0


@pytest.mark.skipif(not TABLE.is_file(), reason="the table of models is not at hand")
def test_every_model_is_as_the_table_has_it() -> None:
    with TABLE.open(encoding="utf-8") as stream:
        rows = {row["model"]: row for row in csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)}
    compared = 0
    for name in CATALOG.names("models"):
        model = CATALOG.model(name)
        own = {alias for alias in model.aliases if alias in rows} - {*NAMED_OTHERWISE.values()}
        for row in (rows[alias] for alias in sorted(own | {NAMED_OTHERWISE[name]} if name in NAMED_OTHERWISE else own)):
            store = FP8 if "V4" in row["attention_kind"] else BF16
            if name not in OTHER_TOTALS:
                assert model.parameters == int(row["params_total"]), name
            assert abs(model.active_parameters / int(row["params_active"]) - 1) <= 0.01, name
            assert model.layer_count == int(row["layers"]), name
            index = model.index_bytes_per_token(WHOLE, store) if store is BF16 else 0
            slope = model.bytes_per_token(WHOLE, store) - index
            assert round(float(slope), 3) == float(row["kv_bytes_per_token_fp16"]), name
            assert model.window_bytes(WHOLE, store) == int(row["window_or_ring_bytes_per_seq_fp16"]), name
            assert model.constant_bytes(1) == int(row["state_bytes_per_seq_vllm_default"]), name
            compared += 1
    assert compared >= 120
