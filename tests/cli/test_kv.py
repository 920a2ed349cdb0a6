"""`sizing kv` from the command line to JSON and text, on the shipped catalogs."""

import json
import os
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from sizing.cli.main import run

ROOT = Path(__file__).resolve().parent.parent.parent
GIB = 2**30
HEAVY = ("pyomo", "highspy", "numpy", "pandas", "openpyxl")
KEYS = {
    "schema",
    "model",
    "parameters",
    "active_parameters",
    "layers",
    "kv_precision",
    "engine",
    "ideal",
    "layout",
    "layout_chosen",
    "bytes_per_token",
    "constant_bytes",
    "window_bytes",
    "sequences",
    "cells",
    "weights",
    "weight_bytes",
    "intensity_flop_per_byte",
    "crossover_tokens",
    "nominal",
    "notes",
}
KEYS_WITH_A_SYSTEM = {
    "system",
    "hbm",
    "reserve",
    "weights_fit",
    "hbm_bytes",
    "reserve_bytes",
    "weight_bytes_on_replica",
    "kv_budget_bytes",
    "kv_budget_bytes_per_pool",
    "kv_tokens",
    "ridge_flop_per_byte",
}


@pytest.fixture
def kv(capsys: pytest.CaptureFixture[str]):
    """The documents of one call with `--json -`."""

    def call(*arguments: str) -> list[dict[str, Any]]:
        assert run(["kv", *arguments, "--json", "-"]) == 0
        told = capsys.readouterr()
        assert told.err == ""
        return json.loads(told.out)

    return call


@pytest.fixture
def text(capsys: pytest.CaptureFixture[str]):
    def call(*arguments: str) -> str:
        assert run(["kv", *arguments]) == 0
        return " ".join(capsys.readouterr().out.split())

    return call


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]):
    """What is said of a call with bad input, line by line."""

    def call(*arguments: str) -> list[str]:
        assert run(["kv", *arguments]) == 2
        told = capsys.readouterr()
        assert told.out == ""
        return told.err.splitlines()

    return call


def test_the_call_of_the_readme(kv) -> None:
    (found,) = kv("llama-3.1-70b", "--system", "hgx-h200-8", "--context", "131072")
    assert set(found) == KEYS | KEYS_WITH_A_SYSTEM
    assert found["schema"] == "sizing.kv/1"
    assert found["model"] == "llama-3.1-70b"
    assert found["parameters"] == 70_553_706_496
    assert found["layers"] == [{"kind": "full", "count": 80}]
    assert found["layout"] == {"tp": 8, "dcp": 1, "attention_dp": 1, "ep": 1}
    assert found["layout_chosen"] is True
    assert found["bytes_per_token"] == 327_680
    assert found["weights"] == found["kv_precision"] == "bf16"
    assert found["weight_bytes"] == found["weight_bytes_on_replica"] == 141_107_412_992
    assert found["hbm_bytes"] == 1_128_000_000_000
    assert found["reserve_bytes"] == 112_800_000_000
    assert found["kv_budget_bytes"] == found["kv_budget_bytes_per_pool"] == 874_092_587_008
    assert found["kv_tokens"] == 2_667_518
    assert found["crossover_tokens"] == 430_625
    assert found["intensity_flop_per_byte"] == 8
    assert round(found["ridge_flop_per_byte"], 2) == 206.15
    assert found["sequences"] == [{"context": 131_072, "bytes": 40 * GIB, "fits": 20}]
    assert [(cell["concurrency"], cell["bytes"], cell["fits"]) for cell in found["cells"]] == [
        (1, 40 * GIB, True),
        (8, 320 * GIB, True),
        (32, 1_280 * GIB, False),
        (128, 5_120 * GIB, False),
    ]
    assert found["nominal"]["parameters"] == 70_000_000_000
    assert found["nominal"]["weight_bytes"] == 140_000_000_000
    assert found["nominal"]["kv_budget_bytes"] == 875_200_000_000
    assert found["nominal"]["kv_budget_bytes"] // GIB == 815
    assert found["nominal"]["crossover_tokens"] == 427_246
    assert found["notes"] == []


def test_without_a_system(kv) -> None:
    (found,) = kv("meta-llama/Llama-3.1-70B", "--context", "4k", "--concurrency", "3")
    assert set(found) == KEYS
    assert found["model"] == "llama-3.1-70b"
    assert found["layout"]["tp"] == 1
    assert found["cells"] == [{"context": 4_096, "concurrency": 3, "bytes": 3 * 5 * GIB // 4, "fits": None}]
    assert found["sequences"][0]["fits"] is None


def test_one_entry_a_model_in_the_order_asked_for(kv) -> None:
    found = kv("llama-3.1-8b", "llama-3.1-70b", "llama-3.1-405b", "--kv-precision", "fp16")
    assert [each["bytes_per_token"] // 1024 for each in found] == [128, 320, 504]
    assert {each["kv_precision"] for each in found} == {"bf16"}


def test_defaults_of_contexts_and_concurrencies(kv) -> None:
    llama, mixtral = kv("llama-3.1-70b", "mixtral-8x7b")
    assert [cost["context"] for cost in llama["sequences"]] == [4_096, 32_768, 131_072]
    assert [cost["context"] for cost in mixtral["sequences"]] == [4_096, 32_768]
    assert [cell["concurrency"] for cell in llama["cells"]] == [1, 8, 32, 128] * 3


def test_contexts_keep_their_order_and_come_once(kv) -> None:
    (found,) = kv("llama-3.1-70b", "--context", "32k", "--context", "4096", "--context", "4k")
    assert [cost["context"] for cost in found["sequences"]] == [32_768, 4_096]


def test_deepseek_chooses_attention_data_parallel(kv) -> None:
    call = ("deepseek-v3", "--system", "hgx-h200-8", "--weights", "fp8")
    (chosen,) = kv(*call)
    (tensor,) = kv(*call, "--tp", "8")
    assert chosen["layout"] == {"tp": 1, "dcp": 1, "attention_dp": 8, "ep": 8}
    assert (chosen["layout_chosen"], tensor["layout_chosen"]) == (True, False)
    assert (chosen["bytes_per_token"], tensor["bytes_per_token"]) == (70_272, 8 * 70_272)
    assert round(chosen["kv_tokens"] / tensor["kv_tokens"], 1) == 5.2
    assert chosen["kv_budget_bytes"] == 8 * chosen["kv_budget_bytes_per_pool"]
    assert tensor["weight_bytes_on_replica"] == tensor["weight_bytes"] == 671_026_419_200
    for each in (chosen, tensor):
        assert each["kv_budget_bytes"] == each["hbm_bytes"] - each["reserve_bytes"] - each["weight_bytes_on_replica"]


@pytest.mark.parametrize(("system", "ratio"), [("hgx-b200-8", 6.5), ("hgx-b300-8", 7.3)])
def test_deepseek_on_larger_gpus(kv, system: str, ratio: float) -> None:
    call = ("deepseek-v3", "--system", system, "--weights", "fp8")
    assert round(kv(*call)[0]["kv_tokens"] / kv(*call, "--tp", "8")[0]["kv_tokens"], 1) == ratio


def test_gpt_oss_keeps_windows(kv) -> None:
    (found,) = kv("gpt-oss-120b", "--context", "131072")
    assert found["layers"] == [{"kind": "sliding", "count": 18}, {"kind": "full", "count": 18}]
    assert found["bytes_per_token"] == 36_864
    assert found["window_bytes"] == 128 * 36_864
    assert found["sequences"][0]["bytes"] == (131_072 + 128) * 36_864


def test_what_does_not_fit_is_an_answer(kv) -> None:
    (found,) = kv("llama-3.1-405b", "--system", "l40s-8", "--tp", "1")
    assert found["weights_fit"] is False
    assert found["kv_budget_bytes"] < 0
    assert found["kv_tokens"] == 0
    assert {cost["fits"] for cost in found["sequences"]} == {0}
    assert not any(cell["fits"] for cell in found["cells"])


def test_basis_and_reserve(kv) -> None:
    (found,) = kv("llama-3.1-70b", "--system", "hgx-h200-8", "--hbm", "driver", "--reserve", "0 %", "--tp", "8")
    assert found["hbm_bytes"] == 8 * 143_771 * 2**20
    assert found["reserve_bytes"] == 0
    assert (found["hbm"], found["reserve"]) == ("driver", 0)


def test_numbers_are_exact_in_json(kv) -> None:
    (found,) = kv("llama-3.1-70b", "--kv-precision", "turboquant-3.5")
    assert found["bytes_per_token"] == 71_680
    (odd,) = kv("deepseek-v3", "--kv-precision", "int8", "--context", "1")
    assert odd["bytes_per_token"] == 61 * 576 * 8.25 / 8
    assert odd["sequences"][0]["bytes"] == 36_234


def test_notes(kv) -> None:
    (found,) = kv(
        "llama-3.1-70b", "--system", "hgx-a100-8", "--context", "200k", "--kv-precision", "nvfp4", "--attention-dp", "3"
    )
    limit, precision, ladder, status = found["notes"]
    assert limit == "llama-3.1-70b is made for at most 131,072 tokens: 204,800 is beyond its limit."
    assert "does not list for a KV cache in nvfp4" in precision
    assert ladder.startswith("A replica of 3 GPUs is off the ladder of a domain of 8")
    assert status == "hgx-a100-8 is not on sale: end of life."


def test_text_begins_with_the_answer(text) -> None:
    said = text("llama-3.1-70b", "--system", "hgx-h200-8")
    assert said.startswith(
        "memory only: the least that can hold this load; latencies are not checked "
        "llama-3.1-70b (bf16 weights, bf16 KV) on hgx-h200-8 holds 20 sequences of 131,072 tokens, "
        "2,667,518 tokens of cache in all, on 8 GPUs (TP 8, the layout that holds most tokens per GPU)"
    )


def test_text_shows_every_step(text) -> None:
    said = text("llama-3.1-70b", "--system", "hgx-h200-8")
    assert "2 x 80 layers x 8 KV heads x 128 x 2 bytes = 327,680 bytes per token (320 KiB)" in said
    assert "HBM, 8 x 141 GB by label 1,128.0 1,050.5 1,128.0 1,050.5" in said
    assert "less reserve, 10 % 112.8 105.1 112.8 105.1" in said
    assert "less weights, bf16 141.1 131.4 140.0 130.4" in said
    assert "KV budget 874.1 814.1 875.2 815.1" in said
    assert "exact: 70,553,706,496 parameters in bf16" in said
    assert (
        "nominal: 70,000,000,000 parameters, the round figure of its name: 141,107,412,992 bytes x 70,000,000" in said
    )
    assert "430,625 cached tokens weigh as much as the weights (nominal 427,246)" in said
    assert "105.1 of 4,096, 13.1 of 32,768, 3.3 of 131,072 tokens" in said
    assert "8 FLOP per byte of cache that it reads; the ridge of h200 is 206.1" in said
    assert "989.5 dense bf16 TFLOPS / 4.8 TB/s): 3.9 % of it" in said


def test_text_marks_cells_that_do_not_fit(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["kv", "llama-3.1-70b", "--system", "hgx-h200-8"]) == 0
    rows = {}
    for line in capsys.readouterr().out.splitlines():
        cells = line.split("  ")
        numbers = [cell.strip() for cell in cells if cell.strip()]
        if numbers and numbers[0] in ("4,096", "32,768", "131,072"):
            rows[numbers[0]] = numbers[1:]
    assert rows == {
        "4,096": ["1.25", "651", "1.25", "10.0", "40.0", "160"],
        "32,768": ["10.0", "81", "10.0", "80.0", "320", "1,280 !"],
        "131,072": ["40.0", "20", "40.0", "320", "1,280 !", "5,120 !"],
    }


@pytest.mark.parametrize(
    ("arguments", "equation"),
    [
        (("deepseek-v3",), "61 layers x (512 + 64) x 2 bytes = 70,272 bytes per token (68.625 KiB)"),
        (("deepseek-v3", "--tp", "8"), "61 layers x (512 + 64) x 2 bytes x 8 copies over TP 8 = 562,176 bytes"),
        (
            ("deepseek-v3", "--tp", "8", "--dcp", "4"),
            "x 8 copies over TP 8 / DCP 4 = 140,544 bytes per token",
        ),
        (("llama-3.1-70b", "--tp", "16"), "x 128 x 2 bytes x 2 copies over TP 16 = 655,360 bytes per token"),
        (("llama-3.1-70b", "--kv-precision", "fp8"), "8 KV heads x 128 x 1 byte = 163,840 bytes per token"),
        (("llama-3.1-70b", "--kv-precision", "turboquant-3.5"), "x 128 x 3.5 bits / 8 = 71,680 bytes per token"),
        (
            ("gpt-oss-120b",),
            "key value, window: 2 x 18 layers x 8 KV heads x 64 x 2 bytes x 128 tokens of a full window = 4,718,592 ",
        ),
        (("gpt-oss-120b",), "together: 36,864 bytes per token (36 KiB)"),
    ],
)
def test_equations(text, arguments: tuple[str, ...], equation: str) -> None:
    assert equation in text(*arguments)


def value(product: str) -> Fraction:
    """What a printed product comes to: the words count nothing."""
    first, *divisors = product.replace(",", "").split(" / ")
    result = Fraction(1)
    for factor in first.split(" x "):
        amounts = re.findall(r"[0-9.]+", factor)
        result *= sum(map(Fraction, amounts)) if factor.startswith("(") else Fraction(amounts[0])
    for divisor in divisors:
        head, *rest = divisor.split(" x ")
        result /= Fraction(re.findall(r"[0-9]+", head)[0])
        result *= value(" x ".join(rest)) if rest else 1
    return result


@pytest.mark.parametrize("layout", [(), ("--tp", "8"), ("--tp", "16"), ("--tp", "32", "--dcp", "2")])
@pytest.mark.parametrize("precision", ["bf16", "int8", "turboquant-2.5"])
@pytest.mark.parametrize("model", ["llama-3.1-405b", "deepseek-v3", "gpt-oss-120b", "qwen3-235b-a22b"])
def test_printed_products_come_out(
    capsys: pytest.CaptureFixture[str], model: str, precision: str, layout: tuple[str, ...]
) -> None:
    assert run(["kv", model, "--kv-precision", precision, *layout]) == 0
    said = capsys.readouterr().out.split("\n\n")[2].removeprefix(f"KV cache in {precision}\n")
    lines = [line.replace("\n", " ") for line in re.split(r"^- ", said, flags=re.MULTILINE) if " = " in line]
    assert lines
    for line in lines:
        product, result = re.sub(r"^[a-z ,]+: ", "", " ".join(line.split())).split(" = ")
        assert value(product) == Fraction(result.split()[0].replace(",", "")), line


def test_text_of_what_does_not_fit(text) -> None:
    said = text("llama-3.1-405b", "--system", "hgx-h200-8", "--tp", "4")
    assert (
        "on hgx-h200-8 does not fit: beside the reserve the weights lack 304.1 GB (283.2 GiB, 304,106,777,600 bytes)"
        in said
    )


def test_text_tells_a_replica_from_the_system(text) -> None:
    half = text("llama-3.1-70b", "--system", "hgx-h200-8", "--tp", "4")
    assert "in one replica of 4 of the 8 GPUs (TP 4) the system: 2 replicas, 16 sequences, 0 GPUs left" in half
    odd = text("llama-3.1-8b", "--system", "hgx-h200-8", "--attention-dp", "3")
    assert "the system: 2 replicas, 36 sequences, 2 GPUs left" in odd
    assert "the system:" not in text("llama-3.1-70b", "--system", "hgx-h200-8")


def test_text_says_first_what_puts_the_answer_in_doubt(text) -> None:
    asked = ("--system", "hgx-h200-8", "--context", "200k", "--kv-precision", "nvfp4")
    first, _ = text("llama-3.1-70b", *asked).split(" - 2 x 80 layers", 1)
    assert "204,800 is beyond its limit" in first
    assert "does not list for a KV cache in nvfp4" in first


def test_text_without_a_system(text) -> None:
    said = text("gpt-oss-120b")
    assert "one sequence of 131,072 tokens takes 4.50 GiB (4.84 GB) of KV cache KV cache in bf16" in said
    assert "of KV cache on TP 8" in text("gpt-oss-120b", "--tp", "8")
    assert "exact: 116,829,156,672 parameters in mxfp4" in said
    assert "does not fit" not in said


def test_fewer_bits_show_the_evidence(text) -> None:
    said = text("llama-3.1-70b", "--kv-precision", "turboquant-3.5")
    assert "turboquant-3.5 takes 3.5 bits an element, 4.57 times less than bf16" in said
    assert "- for: " in said
    assert "- against: " in said
    assert "Fewer bits" not in text("llama-3.1-70b")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("llama-3.1-70",), "MODEL: model 'llama-3.1-70' is not known"),
        (("no/config.json",), "no/config.json: no such file"),
        (("llama-3.1-70b", "--system", "hgx-h200"), "did you mean 'hgx-h200-8'?"),
        (("llama-3.1-70b", "--kv-precision", "fp9"), "did you mean 'fp8'?"),
        (("llama-3.1-70b", "--weights", "fp9"), "--weights: is not known (seen: 'fp9'; accepted: bf16, fp8"),
        (("llama-3.1-70b", "--engine", "idael"), "did you mean 'ideal'?"),
        (("llama-3.1-70b", "--hbm", "lable", "--system", "hgx-h200-8"), "did you mean 'label'?"),
        (("llama-3.1-70b", "--hbm", "driver"), "--hbm: says nothing without --system"),
        (("llama-3.1-70b", "--reserve", "10 %"), "--reserve: says nothing without --system"),
        (("llama-3.1-70b", "--hbm", "real"), "--hbm: says nothing without --system (seen: 'real')"),
        (("llama-3.1-70b", "--reserve", "10"), "--reserve: says nothing without --system (seen: '10')"),
        (("x" * 300,), "MODEL: model 'xxx"),
        (("./" + "x" * 300,), "xxx: cannot be read: File name too long"),
        (("llama-3.1-70b", "--reserve", "10", "--system", "hgx-h200-8"), "--reserve: a bare '10' could be"),
        (("llama-3.1-70b", "--context", "1,5"), "--context: '1,5' could mean 1.5 or 15"),
        (("llama-3.1-70b", "--context", "0"), "--context: must be more than 0"),
        (("llama-3.1-70b", "--concurrency", "2k"), "--concurrency: '2k' could be 2,000 or 2,048"),
        (("llama-3.1-70b", "--tp", "0"), "--tp: must be more than 0"),
        (("llama-3.1-70b", "--tp", "-8"), "--tp: must not be negative"),
        (
            ("llama-3.1-70b", "--tp", "3"),
            "64 query heads cannot be split over TP 3 (seen: TP 3; accepted: TP 1, 2, 4, 8, 16, 32, 64)",
        ),
        (
            ("llama-3.1-70b", "--attention-dp", "2", "--tp", "8", "--system", "hgx-h200-8"),
            "--tp, --attention-dp: llama-3.1-70b: a replica of 16 GPUs does not fit into a domain of 8",
        ),
        (("llama-3.1-70b", "--tp", "8", "--dcp", "2"), "--tp, --dcp: llama-3.1-70b: DCP 2 needs TP of at least 16"),
        (("llama-3.1-70b", "--system", "gaudi3-8", "--hbm", "driver"), "--hbm: what drivers report for gaudi3"),
    ],
)
def test_bad_input(refused, arguments: tuple[str, ...], said: str) -> None:
    (line,) = refused(*arguments)
    assert said in line


def test_all_that_is_wrong_is_said_at_once(refused) -> None:
    lines = refused("lama", "--tp", "x", "--context", "y", "--context", "4k", "--system", "z", "--reserve", "1")
    assert [line.split(":")[0] for line in lines] == ["--context", "--tp", "--reserve", "--system", "MODEL"]


def test_a_catalog_of_ones_own(kv, tmp_path: Path) -> None:
    (tmp_path / "systems.yaml").write_text(
        "four-h200:\n  title: Four\n  vendor: test\n  status: on sale\n  gpu: h200\n  domain_gpus: 4\n"
        "  domains_per_system: 1\n  scale_up: NVLink\n  cooling: air\n",
        encoding="utf-8",
    )
    (found,) = kv("llama-3.1-70b", "--system", "four-h200", "--catalog", str(tmp_path))
    assert found["layout"]["tp"] == 4
    assert found["hbm_bytes"] == 4 * 141 * 10**9


@pytest.mark.parametrize(
    "arguments", ["kv deepseek-v3 --system gb300-nvl72", "kv gpt-oss-120b --json -", "catalog gpus"]
)
def test_instant_commands_never_import_what_is_heavy(arguments: str) -> None:
    code = (
        "import sys\nfrom sizing.cli.main import run\n"
        f"assert run({arguments.split()!r}) == 0\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "[]\n")


@pytest.mark.parametrize("reserve", ["100 %", "250%"])
def test_a_reserve_that_leaves_no_memory_is_refused(reserve: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["kv", "llama-3.1-8b", "--system", "hgx-h200-8", "--reserve", reserve]) == 2
    assert capsys.readouterr().err == f"--reserve: leaves no memory (seen: {reserve!r}; accepted: less than 100 %)\n"


def test_a_window_that_no_sequence_fills_is_told(kv, text) -> None:
    """Figures of the table of models: 0 bytes beyond a window of 262,144, which is twice the limit of both models."""
    for model, cost in (("phi-4-mini", 131_072), ("phi-3.5-mini", 393_216)):
        (found,) = kv(model)
        assert (found["bytes_per_token"], found["crossover_tokens"]) == (0, None)
        (note,) = found["notes"]
        assert note.startswith(f"No sequence fills the window of 262,144 tokens, for the limit of {model} is 131,072: ")
        assert f"each token costs {cost:,} bytes" in note
        assert found["sequences"][0]["bytes"] == 4096 * cost
        assert note in text(model)


def test_windows_in_all_layers_are_told(kv) -> None:
    """Mistral 7B v0.1: 32 layers of 8 KV heads of 128, a window of 4,096."""
    (note,) = kv("mistral-7b-v0.1")[0]["notes"]
    assert "a token costs 131,072 bytes up to 4,096 tokens, and nothing beyond 4,096" in note
    assert not any("window" in other for other in kv("gemma-3-27b")[0]["notes"])


def test_states_are_a_product(text) -> None:
    """Qwen3-Next: 36 layers of 32 value heads of 128 x 128 in 16 bits, a convolution over 4 of 8,192 channels."""
    said = text("qwen3-next-80b-a3b")
    assert "conv state: 36 layers x 3 x 8,192 x 2 bytes = 1,769,472 bytes per sequence" in said
    assert "recurrent state: 36 layers x 32 x 128 x 128 x 2 bytes = 37,748,736 bytes per sequence" in said
    assert "states together: 39,518,208 bytes per sequence" in said
    assert "states together" not in text("minimax-m1-80k")
    paged = text("falcon-h1-7b", "--engine", "vllm")
    filled = re.search(r"states, filled up to pages: 44 layers x ([\d,]+) bytes x 2 copies = ([\d,]+) bytes", paged)
    assert filled is not None
    page, whole = (int(digits.replace(",", "")) for digits in filled.groups())
    assert 44 * 2 * page == whole


def test_the_weights_are_a_sum_that_can_be_checked(text) -> None:
    said = text("qwen3-30b-a3b-fp8")
    parts = re.search(r"fp8-block \(8 bits and a 32-bit scale per 128 x 128 block\): (.*?) = ([\d,]+) bytes", said)
    assert parts is not None
    bits = Fraction(0)
    for part in parts[1].removesuffix(" bits").split(" bits + "):
        count, width = part.replace(",", "").split(" x ")
        bits += int(count) * Fraction(width)
    assert bits / 8 == int(parts[2].replace(",", "")) == 31_174_545_408
    assert "70,553,706,496 x 16 bits = 141,107,412,992 bytes = 141.1 GB" in text("llama-3.1-70b")
