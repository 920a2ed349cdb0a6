"""All rows of the table of right values, where that data lies beside the checkout; skipped where it does not."""

import csv
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest

from sizing.intake.huggingface import ImportedModel, import_config
from sizing.pool.storage import FP8_ROWS, IdealStorage, RowStorage
from sizing.sequence.sharding import WHOLE
from sizing.sequence.weights import checkpoint_bytes
from sizing.units.errors import BadInput

DATA = Path(__file__).parents[3] / "shared" / "data"
pytestmark = pytest.mark.skipif(not (DATA / "models.tsv").is_file(), reason="the table of models is not there")

BF16 = IdealStorage(Fraction(16))
FP8 = RowStorage(Fraction(8), FP8_ROWS)
REFUSED = {"RWKV__rwkv-5-world-3b.json": "recurrent state"}

# Where the table's total is not what the file and its code say, with the reason; all but the last within 0.003 %.
OTHER_TOTALS = {
    # attention over blocks of layers ends in a query and a norm of its own (attn_res_block_size)
    "moonshotai__Kimi-K3.json": 2 * 7168,
    "OrionStarAI__Orion-14B.json": 81 * 5120,  # layer norms, which have a bias (vLLM models/orion.py)
    "tencent__Tencent-Hunyuan-Large.json": 64 * 160,  # use_qk_norm: two norms of the head dimension a layer
    # mlp_layer_types makes the first layer dense, and the router is corrected. The total is then 29,943,393,920, to the
    # last parameter what llama.cpp counts in the published checkpoint (n_params); the table's 30,494,024,448 is not.
    "zai-org__GLM-4.7-Flash_default_glm4_moe_lite.json": 3 * 2048 * 10240
    - (65 * 3 * 2048 * 1536 + 64 * 2048)
    + 46 * 64,
}
CHECKPOINTS_GIB = {  # sizes of published files
    "deepseek-ai__DeepSeek-R1.json": "641.30",
    "deepseek-ai__DeepSeek-V4-Pro.json": "805.3",
    "moonshotai__Kimi-K2.6.json": "554.32",
    "MiniMaxAI__MiniMax-M2.7.json": "214.34",
    "openai__gpt-oss-20b.json": "12.81",
    "zai-org__GLM-5.2-FP8.json": "703.75",
}


def rows() -> Iterator[dict[str, str]]:
    if (DATA / "models.tsv").is_file():
        with (DATA / "models.tsv").open(encoding="utf-8") as stream:
            yield from csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE)


ROWS = {Path(row["file"]).name: row for row in rows()}
READ = sorted(set(ROWS) - set(REFUSED))


@cache
def imported(name: str) -> ImportedModel:
    return import_config(DATA / "configs" / name)


def storage(name: str) -> IdealStorage:
    """The table gives DeepSeek-V4 in rows of 8 bits, and everything else in 16."""
    return FP8 if "V4" in ROWS[name]["attention_kind"] else BF16


@pytest.mark.parametrize("name", READ)
def test_bytes_per_token(name: str) -> None:
    model, store = imported(name).shape, storage(name)
    index = model.index_bytes_per_token(WHOLE, store)
    found = model.bytes_per_token(WHOLE, store)
    if store is BF16:
        found -= index
        assert index == int(ROWS[name]["indexer_bytes_per_token"])
    assert round(float(found), 3) == float(ROWS[name]["kv_bytes_per_token_fp16"])


@pytest.mark.parametrize("name", READ)
def test_windows_and_states(name: str) -> None:
    model = imported(name).shape
    assert model.window_bytes(WHOLE, storage(name)) == int(ROWS[name]["window_or_ring_bytes_per_seq_fp16"])
    assert model.constant_bytes(1) == int(ROWS[name]["state_bytes_per_seq_vllm_default"])


@pytest.mark.parametrize("name", READ)
def test_parameters(name: str) -> None:
    model, row = imported(name).shape, ROWS[name]
    assert model.parameters - int(row["params_total"]) == OTHER_TOTALS.get(name, 0)
    assert abs(model.active_parameters - int(row["params_active"])) <= int(row["params_active"]) / 100
    if int(row["mtp_params"]):
        assert model.mtp_parameters == int(row["mtp_params"])


@pytest.mark.skipif("zai-org__GLM-4.7-Flash_default_glm4_moe_lite.json" not in ROWS, reason="no such row")
def test_glm_4_7_flash_is_as_large_as_its_checkpoint() -> None:
    assert imported("zai-org__GLM-4.7-Flash_default_glm4_moe_lite.json").shape.parameters == 29_943_393_920


@pytest.mark.parametrize("name", READ)
def test_layers_heads_and_no_free_sequence(name: str) -> None:
    model = imported(name).shape
    assert model.layer_count == int(ROWS[name]["layers"])
    assert model.sequence_bytes(1, WHOLE, BF16) > 0


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_is_refused_says_why(name: str) -> None:
    if name in ROWS:
        with pytest.raises(BadInput, match=REFUSED[name]):
            import_config(DATA / "configs" / name)


@pytest.mark.parametrize("name", sorted(CHECKPOINTS_GIB))
def test_checkpoints_are_as_large_as_their_files(name: str) -> None:
    published = Fraction(CHECKPOINTS_GIB[name]) * 2**30
    assert abs(checkpoint_bytes(imported(name).shape) - published) <= published / 500


@pytest.mark.parametrize("path", sorted((DATA / "configs").glob("*.json")), ids=lambda path: path.name)
def test_every_file_is_in_the_table_or_belongs_to_one_that_is(path: Path) -> None:
    assert path.name in ROWS or path.name.endswith("hf_quant_config.json")
