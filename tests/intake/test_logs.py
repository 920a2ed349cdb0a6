"""Start-up logs: lines as the engines print them."""

import gzip
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing.intake import logs
from sizing.intake.logs import parse_log, read_log
from sizing.units.amounts import GIB
from sizing.units.errors import BadInput

VLLM = """\
INFO 03-01 10:00:01 [utils.py:230] vLLM API server version 0.19.0
INFO 03-01 10:00:01 [utils.py:233] non-default args: {'model': 'org/model', 'max_num_seqs': 64}
INFO [core.py:58] Initializing a V1 LLM engine (v0.19.0) with config: model='org/model', dtype=torch.bfloat16, \
max_seq_len=8192, tensor_parallel_size=2, pipeline_parallel_size=1, data_parallel_size=1, quantization=None, \
kv_cache_dtype=auto
(Worker_TP0) INFO Model loading took 14.99 GiB memory and 3.2 seconds
(Worker_TP1) INFO Model loading took 14.99 GiB memory and 3.3 seconds
DEBUG Initial free memory: 78.68 GiB; Requested memory: 0.950000 (util), 75.23 GiB
DEBUG Total non KV cache memory: 17.12GiB; torch peak memory increase: 1.89GiB; non-torch forward increase memory: \
0.25GiB; weights memory: 14.99GiB
(Worker_TP0) INFO Available KV cache memory: 58.20 GiB
(Worker_TP1) INFO Available KV cache memory: 58.11 GiB
INFO GPU KV cache size: 476,016 tokens
INFO Maximum concurrency for 8,192 tokens per request: 58.11x
INFO Graph capturing finished in 9 secs, took 0.91 GiB
"""
VLLM_0 = """\
INFO Initializing an LLM engine (v0.6.4) with config: model='org/model', tensor_parallel_size=1, \
kv_cache_dtype=fp8_e5m2, quantization=awq_marlin
INFO Loading model weights took 14.9888 GB
INFO the current vLLM instance can use total_gpu_memory (22.07GiB) x gpu_memory_utilization (0.90) = 19.86GiB
INFO model weights take 14.99GiB; non_torch_memory takes 0.05GiB; PyTorch activation peak memory takes 0.22GiB; \
the rest of the memory reserved for KV Cache is 4.60GiB.
INFO # CUDA blocks: 2356, # CPU blocks: 2048
INFO Maximum concurrency for 131072 tokens per request: 0.29x
"""
SGLANG = """\
[2025-03-25] server_args=ServerArgs(model_path='org/model', tp_size=4, mem_fraction_static=0.85, \
kv_cache_dtype='auto', chunked_prefill_size=2048)
[TP0] Load weight begin. avail mem=21.63 GB
[TP0] Load weight end. type=Qwen2ForCausalLM, dtype=torch.bfloat16, avail mem=6.09 GB, mem usage=15.54 GB.
[TP0] KV Cache is allocated. #tokens: 46611, K size: 1.42 GB, V size: 1.42 GB
[TP0] Memory pool end. avail mem=2.09 GB
[TP0] Capture cuda graph end. Time elapsed: 5.2 s. mem usage=0.93 GB. avail mem=0.53 GB.
[TP0] max_total_num_tokens=46611, chunked_prefill_size=2048, max_prefill_tokens=16384, context_len=131072
"""
TENSORRT_LLM = """\
[TRT-LLM] [I] TensorRT-LLM version: 1.2.1
[TRT-LLM] [I] Peak memory during memory usage profiling (torch + non-torch): 20.50 GiB, available KV cache memory \
when calculating max tokens: 52.82 GiB, fraction is set 0.9, kv size is 131072. device total memory 79.19 GiB, \
[TRT-LLM] [I] Number of tokens per block: 32.
[TRT-LLM] [I] Allocated 52.81 GiB for max tokens in paged KV cache (432640).
"""
PIECES = [
    *"\n\n\n, 0-19.",
    "GPU KV cache size: ",
    " tokens",
    "Available KV cache memory: ",
    " GiB",
    "KV Cache is allocated. #tokens: ",
    ", K size: ",
    " GB, V size: ",
    " GB",
    "max_total_num_tokens=",
    "Load weight end. avail mem=",
    "Memory pool end. avail mem=",
    "tp_size=",
    "dp_size=",
    "enable_dp_attention=True",
    "tensor_parallel_size=",
    "gpu_memory_utilization=",
    "Requested memory: 0.",
    " (util), ",
    "Number of tokens per block: ",
    "Number of blocks in KV cache primary pool: ",
    "max tokens in paged kv cache: total: ",
    " GiB, available: ",
]


def test_vllm() -> None:
    log = parse_log(VLLM)
    assert (log.engine, log.version, log.model) == ("vllm", "0.19.0", "org/model")
    assert (log.tp, log.pp, log.dp, log.longest, log.sequences) == (2, 1, 1, 8192, 64)
    assert (log.weights, log.kv_precision, log.utilisation) == (None, None, Fraction(95, 100))
    assert log.weight_bytes == round(Fraction("14.99") * GIB)
    assert (log.activation_bytes, log.non_torch_bytes) == (round(Fraction("1.89") * GIB), GIB // 4)
    assert log.graph_bytes == round(Fraction("0.91") * GIB)
    assert (log.tokens, log.concurrency) == (476_016, Fraction("58.11"))
    assert log.total_bytes == pytest.approx(79.19 * GIB, rel=1e-4)


def test_the_least_cache_of_all_ranks_counts() -> None:
    assert parse_log(VLLM).cache_bytes == round(Fraction("58.11") * GIB)


def test_vllm_of_version_0() -> None:
    log = parse_log(VLLM_0)
    assert (log.version, log.weights, log.kv_precision) == ("0.6.4", "awq_marlin", "fp8_e5m2")
    assert log.total_bytes == round(Fraction("22.07") * GIB)
    assert log.utilisation == Fraction(9, 10)
    assert log.cache_bytes == round(Fraction("4.60") * GIB)
    assert (log.blocks, log.tokens, log.longest) == (2356, 2356 * 16, 131_072)


def test_sglang() -> None:
    log = parse_log(SGLANG)
    assert (log.engine, log.model, log.tp, log.utilisation) == ("sglang", "org/model", 4, Fraction(85, 100))
    assert log.free_bytes == round(Fraction("21.63") * GIB)
    assert log.weight_bytes == round(Fraction("15.54") * GIB)
    assert log.cache_bytes == 2 * round(Fraction("1.42") * GIB)
    assert log.graph_bytes == round(Fraction("0.93") * GIB)
    assert (log.tokens, log.longest, log.batched_tokens) == (46_611, 131_072, 2048)


def test_sglang_with_one_size_for_latents() -> None:
    log = parse_log("KV Cache is allocated. dtype: torch.float8_e4m3fn, #tokens: 396096, KV size: 17.73 GB")
    assert (log.kv_precision, log.tokens) == ("float8_e4m3fn", 396_096)
    assert log.cache_bytes == round(Fraction("17.73") * GIB)


def test_tensorrt_llm() -> None:
    log = parse_log(TENSORRT_LLM)
    assert (log.engine, log.version, log.block_tokens) == ("tensorrt-llm", "1.2.1", 32)
    assert (log.tokens, log.utilisation) == (432_640, Fraction(9, 10))
    assert log.used_bytes == round(Fraction("20.5") * GIB)
    assert log.total_bytes == round(Fraction("79.19") * GIB)


def test_a_few_lines_are_enough() -> None:
    log = parse_log("Available KV cache memory: 9.75 GiB\nGPU KV cache size: 155,600 tokens\n")
    assert (log.engine, log.tokens, log.model, log.tp) == ("vllm", 155_600, None, None)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "says nothing of an engine's memory"),
        ("Traceback (most recent call last):\n  torch.OutOfMemoryError", "says nothing of an engine's memory"),
        (VLLM + SGLANG, "speaks of vllm and sglang"),
        (VLLM + VLLM.replace("org/model", "org/other"), "names several models"),
        (VLLM + VLLM.replace("v0.19.0", "v0.21.0").replace("version 0.19.0", "version 0.21.0"), "several versions"),
        (VLLM.replace("Requested memory: 0.950000", "Requested memory: 0.000000"), "no share of its memory"),
        (VLLM.replace("Requested memory: 0.950000", "Requested memory: 1.7"), "no share of its memory"),
    ],
)
def test_bad_logs_are_clear_errors(text: str, what: str) -> None:
    with pytest.raises(BadInput, match=what) as raised:
        parse_log(text, "start.log")
    assert all(problem.file == "start.log" for problem in raised.value.problems)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such file"):
        read_log(tmp_path / "none.log")
    with pytest.raises(BadInput, match="is a folder"):
        read_log(tmp_path)
    binary = tmp_path / "binary.log"
    binary.write_bytes(b"GPU KV cache size: 5 tokens\0")
    with pytest.raises(BadInput, match="is no text"):
        read_log(binary)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "is empty"),
        ("GPU KV cache size: 5 tokens\n".encode("utf-16"), "is text in UTF-16"),
        (gzip.compress(b"GPU KV cache size: 5 tokens\n", mtime=0), "is compressed"),
        (bytes(range(1, 256)) * 40, "says nothing of an engine's memory"),
        (b"x" * 100_000, "says nothing of an engine's memory"),
    ],
)
def test_files_that_are_no_logs(tmp_path: Path, content: bytes, what: str) -> None:
    path = tmp_path / "start.log"
    path.write_bytes(content)
    with pytest.raises(BadInput, match=what):
        read_log(path)


def test_a_file_that_is_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "LARGEST_FILE_BYTES", 1000)
    path = tmp_path / "start.log"
    path.write_text("a line\n" * 1000, encoding="utf-8")
    with pytest.raises(BadInput, match="too large"):
        read_log(path)


@pytest.mark.parametrize("text", [VLLM, VLLM_0, SGLANG, TENSORRT_LLM])
def test_lines_may_stand_in_any_order_in_colour_and_among_others(text: str) -> None:
    plain = parse_log(text)
    lines = [f"\x1b[36m(Worker pid=7)\x1b[0;0m {line}\r\n" for line in reversed(text.splitlines())]
    noise = 'INFO: 127.0.0.1:0 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
    assert parse_log(noise.join(lines)) == plain


@given(st.integers(0, 10**6), st.sampled_from([VLLM, VLLM_0, SGLANG, TENSORRT_LLM]))
def test_a_log_that_breaks_off_is_read_or_refused(place: int, text: str) -> None:
    with suppress(BadInput):
        found = parse_log(text[: place % len(text)], "start.log")
        assert found.engine == parse_log(text).engine


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_any_pieces_are_read_or_refused(text: str) -> None:
    with suppress(BadInput):
        found = parse_log(text, "start.log")
        assert all(value is None or value > 0 for value in (found.tp, found.dp, found.longest, found.total_bytes))


def test_what_vllm_says_of_what_it_took() -> None:
    """As 0.10 to 0.20 say it, with the ranks' prefixes."""
    log = parse_log(
        "(APIServer pid=1) INFO non-default args: {'model_tag': 'org/model', 'tensor_parallel_size': 4, "
        "'gpu_memory_utilization': 0.9, 'quantization': 'awq_marlin', 'kv_cache_dtype': 'fp8'}\n"
        "(Worker_TP2_EP2 pid=2080) INFO 09-24 [gpu_worker.py:391] Free memory on device (43.93/44.42 GiB) on startup. "
        "Desired GPU memory utilization is (0.9, 39.98 GiB). Actual usage is 27.72 GiB for weight, 1.4 GiB for peak "
        "activation, 0.21 GiB for non-torch memory, and 3.45 GiB for CUDAGraph memory. Replace gpu_memory_utilization "
        "config with `--kv-cache-memory=7564378828` to fit into requested memory. Current kv cache memory in use is "
        "11423138508 bytes.\n"
        "(EngineCore_DP0 pid=1944) INFO [kv_cache_utils.py:864] GPU KV cache size: 238,208 tokens\n"
    )
    assert (log.model, log.tp, log.weights, log.kv_precision) == ("org/model", 4, "awq_marlin", "fp8")
    assert (log.utilisation, log.cache_bytes) == (Fraction(9, 10), 11_423_138_508)
    sizes = (log.total_bytes, log.weight_bytes, log.activation_bytes, log.non_torch_bytes, log.graph_bytes)
    assert sizes == tuple(round(Fraction(size) * GIB) for size in ("44.42", "27.72", "1.4", "0.21", "3.45"))


def test_what_vllm_proposes_is_no_share() -> None:
    log = parse_log(
        "The current --gpu-memory-utilization=0.8800 is equivalent to --gpu-memory-utilization=0.8592 without CUDA "
        "graph memory profiling. To maintain the same effective KV cache size as before, increase "
        "--gpu-memory-utilization to 0.9008.\nAvailable KV cache memory: 9.84 GiB\n"
    )
    assert log.utilisation is None


def test_a_command_line() -> None:
    log = parse_log(
        "+ vllm serve org/model --tensor-parallel-size 8 --data-parallel-size=2 --gpu-memory-utilization 0.94 "
        "--max-model-len 262144 --max-num-seqs 128 --enforce-eager --enable-prefix-caching\n"
        "GPU KV cache size: 5 tokens\n"
    )
    assert (log.model, log.tp, log.dp, log.utilisation) == ("org/model", 8, 2, Fraction(94, 100))
    assert (log.longest, log.sequences) == (262_144, 128)
    assert (log.eager, log.prefix_caching) == (True, True)


def test_options_that_are_on_or_off() -> None:
    log = parse_log("config: enforce_eager=False, 'enable_prefix_caching': False\nGPU KV cache size: 5 tokens")
    assert (log.eager, log.prefix_caching) == (False, False)
    assert parse_log("--no-enable-prefix-caching\nGPU KV cache size: 5 tokens").prefix_caching is None


@pytest.mark.parametrize(("line", "generation"), [("V0 LLM engine", 0), ("V1 LLM engine", 1), ("LLM engine", None)])
def test_the_generation_of_vllm(line: str, generation: int | None) -> None:
    with_article = f"Initializing {'an' if generation is None else 'a'} {line} (v0.8.2) with config: model='m'"
    assert parse_log(f"{with_article}\nGPU KV cache size: 5 tokens").generation == generation


def test_a_draft_model_of_sglang_is_no_part_of_the_cache() -> None:
    """Two GPUs, of which the second has less; then the draft model's pools of as many tokens."""
    log = parse_log(
        "".join(
            f"[2026-09-12 00:22:48 TP{rank}] KV Cache is allocated. dtype: torch.float8_e4m3fn, #tokens: 454112, "
            f"K size: {size} GB, V size: {size} GB\n"
            for rank, size in ((0, "3.46"), (0, "1.08"), (1, "3.45"), (1, "1.08"))
        )
    )
    assert (log.cache_bytes, log.tokens) == (2 * round(Fraction("3.45") * GIB), 454_112)


def test_pools_of_windows_and_of_states_are_part_of_the_cache() -> None:
    log = parse_log(
        "Mamba Cache is allocated. max_mamba_cache_size: 60, conv_state size: 0.50GB, ssm_state size: 12.00GB\n"
        "KV Cache is allocated. #tokens: 800, K size: 2.00 GB, V size: 2.00 GB\n"
        "KV Cache is allocated. #tokens: 1000, K size: 1.00 GB, V size: 1.00 GB\n"
        "max_total_num_tokens=1000, chunked_prefill_size=8192\n"
    )
    assert (log.cache_bytes, log.tokens) == (round(Fraction("18.5") * GIB), 1000)


def test_sglang_that_prints_free_memory_alone() -> None:
    log = parse_log(
        "Load weight end. type=LlamaForCausalLM, dtype=torch.bfloat16, avail mem=176.33 GB, mem usage=15.00 GB.\n"
        "Memory pool end. avail mem=22.83 GB\nmax_total_num_tokens=1256440\n"
    )
    assert log.cache_bytes == round(Fraction("153.5") * GIB)
    assert log.free_bytes == round(Fraction("191.33") * GIB)


@pytest.mark.parametrize(
    ("arguments", "layout"),
    [
        ("tp_size=8, dp_size=8, enable_dp_attention=True", (1, 8)),
        ("tp_size=8, dp_size=2, enable_dp_attention=True", (4, 2)),
        ("tp_size=4, dp_size=2, enable_dp_attention=False", (4, None)),
        ("tp_size=4, dp_size=1", (4, None)),
    ],
)
def test_tp_of_sglang_counts_all_gpus_of_attention_data_parallel(
    arguments: str, layout: tuple[int, int | None]
) -> None:
    log = parse_log(f"server_args=ServerArgs(model_path='m', {arguments})\nmax_total_num_tokens=5\n")
    assert (log.tp, log.dp) == layout


def test_the_path_of_a_draft_model_is_not_that_of_the_model() -> None:
    log = parse_log(
        "python -m sglang.launch_server --model-path org/model --speculative-draft-model-path=org/draft --tp=8\n"
        "server_args=ServerArgs(model_path='org/model', speculative_draft_model_path='org/draft')\n"
        "max_total_num_tokens=5\n"
    )
    assert (log.model, log.tp) == ("org/model", 8)


def test_memory_without_its_total() -> None:
    line = "calculating max tokens in paged kv cache: total: ?, available: 5.00 GiB\nNumber of tokens per block: 32"
    assert parse_log(line).used_bytes is None


def test_the_share_that_sglang_reduces() -> None:
    log = parse_log(
        "server_args=ServerArgs(mem_fraction_static=0.88)\nAutomatically reduce --mem-fraction-static to 0.540 because "
        "this is a multimodal model.\nLoad weight begin. avail mem=77.17 GB\n"
    )
    assert log.utilisation == Fraction(54, 100)


def test_tensorrt_llm_by_blocks() -> None:
    """NVIDIA/TensorRT-LLM#4275: 16.05 GiB are 0.9 of the 17.83 that are free of 31.84."""
    log = parse_log(
        "[TensorRT-LLM][INFO] Memory usage when calculating max tokens in paged kv cache: total: 31.84 GiB, available: "
        "17.83 GiB\n[TensorRT-LLM][INFO] Number of blocks in KV cache primary pool: 8219\n"
        "[TensorRT-LLM][INFO] Number of tokens per block: 32.\n"
        "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 16.05 GiB for max tokens in paged KV cache (263008)\n"
    )
    assert (log.blocks, log.block_tokens, log.tokens) == (8219, 32, 263_008)
    assert log.total_bytes == round(Fraction("31.84") * GIB)
    assert log.used_bytes == round(Fraction("31.84") * GIB) - round(Fraction("17.83") * GIB)
    fewer = parse_log("Number of blocks in KV cache primary pool: 8219\nNumber of tokens per block: 32.\n")
    assert fewer.tokens == 263_008


@pytest.mark.parametrize("written", ["9" * 20, "9" * 5000, "-476,016"])
@pytest.mark.parametrize(
    "line",
    [
        "GPU KV cache size: {} tokens",
        "KV Cache is allocated. #tokens: {}, K size: 4.00 GB, V size: 4.00 GB",
        "max_total_num_tokens={}, chunked_prefill_size=8192",
        "Allocated 54.00 GiB for max tokens in paged KV cache ({}).",
    ],
)
def test_no_cache_holds_such_tokens(written: str, line: str) -> None:
    with pytest.raises(BadInput, match="no number of tokens"):
        parse_log(line.format(written) + "\n")


def test_colours_between_words() -> None:
    coloured = "GPU \x1b[36mKV \x1b[33mcache\x1b[0m size: \x1b[1m476,016\x1b[0m tokens\n"
    assert parse_log(coloured).tokens == 476_016


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("tensor_parallel_size=0", "tp of 0"),
        ("max_model_len=0", "longest of 0"),
        ("gpu_memory_utilization=0", "no share of its memory"),
        ("gpu_memory_utilization=0.9\n(Worker) gpu_memory_utilization=0.8", "several shares of memory"),
    ],
)
def test_values_that_no_start_has(line: str, what: str) -> None:
    with pytest.raises(BadInput, match=what):
        parse_log(f"{line}\nGPU KV cache size: 5 tokens\n", "start.log")


def test_bytes_that_are_no_utf8_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "start.log"
    path.write_bytes(b"\xff\xfe broken \xe4\nGPU KV cache size: 5 tokens\n")
    assert read_log(path).tokens == 5
