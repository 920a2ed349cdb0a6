"""Start-up logs: lines as the engines print them."""

from fractions import Fraction
from pathlib import Path

import pytest

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
        (VLLM.replace("Requested memory: 0.950000", "Requested memory: 0.000000"), "the share of memory is none"),
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


def test_bytes_that_are_no_utf8_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "start.log"
    path.write_bytes(b"\xff\xfe broken \xe4\nGPU KV cache size: 5 tokens\n")
    assert read_log(path).tokens == 5
