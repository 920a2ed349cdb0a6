"""Start-up logs of vLLM, SGLang and TensorRT-LLM: what an engine said of its memory. Whole logs, or the lines of it.

Sizes that engines print as GB are GiB (vLLM and SGLang divide by 2^30). Of several ranks the least cache counts, as the
engines take it; everything else is that of the rank that spoke first.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from sizing.units.amounts import GIB
from sizing.units.errors import BadInput, Problem, shown

VLLM, SGLANG, TENSORRT_LLM = "vllm", "sglang", "tensorrt-llm"
LARGEST_FILE_BYTES = 256 * 2**20
VLLM_BLOCK = 16  # tokens of a block where nothing else is said
MOST_CHARACTERS = 100_000  # of one line that are looked at
ACCEPTED = "the start-up log of vLLM, SGLang or TensorRT-LLM, or its lines on memory"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineLog:
    """What one start printed. None is not printed. Bytes and shares are of one GPU.

    `model` is what the engine was given, `total_bytes` what the process can see of a GPU, `free_bytes` what was free
    before weights were loaded, `used_bytes` what was taken at the peak of a first run, weights included (TensorRT-LLM).
    `longest` is the longest sequence in tokens, `batched_tokens` and `sequences` the most of one step. `blocks` have
    `block_tokens` tokens each.
    """

    file: str
    engine: str
    version: str | None = None
    model: str | None = None
    weights: str | None = None
    kv_precision: str | None = None
    tp: int | None = None
    dp: int | None = None
    pp: int | None = None
    dcp: int | None = None
    utilisation: Fraction | None = None
    longest: int | None = None
    batched_tokens: int | None = None
    sequences: int | None = None
    block_tokens: int | None = None
    blocks: int | None = None
    total_bytes: int | None = None
    free_bytes: int | None = None
    used_bytes: int | None = None
    weight_bytes: int | None = None
    activation_bytes: int | None = None
    non_torch_bytes: int | None = None
    graph_bytes: int | None = None
    cache_bytes: int | None = None
    tokens: int | None = None
    concurrency: Fraction | None = None


def _gib(text: str) -> int:
    return round(Fraction(text) * GIB)


def _mib(text: str) -> int:
    return round(Fraction(text) * 2**20)


def _whole(text: str) -> int:
    return int(text.replace(",", ""))


def _text(text: str) -> str:
    return text


Pattern = tuple[str, str, Callable[[str], Any]]  # (field, expression with one group, reading of the group)

_NUMBER = r"(-?\d+(?:\.\d+)?)"
_COUNT = r"(\d[\d,]*)"
_SIZE = _NUMBER + r"\s*Gi?B"

VLLM_LINES: Sequence[Pattern] = (
    ("version", r"(?:LLM engine \(v|vLLM API server version v?|vLLM version:? v?)([0-9][^\s),]*)", _text),
    ("model", r"LLM engine.*?\bmodel='([^']+)'", _text),
    ("model", r"non-default args:.*?'model(?:_tag)?': '([^']+)'", _text),
    ("weights", r"LLM engine.*?\bquantization=([\w-]+)", _text),
    ("kv_precision", r"LLM engine.*?\bkv_cache_dtype=([\w.]+)", _text),
    ("kv_precision", r"Using (\w+) data type to store kv cache", _text),
    ("tp", r"tensor_parallel_size[=':\s]+(\d+)", int),
    ("pp", r"pipeline_parallel_size[=':\s]+(\d+)", int),
    ("dp", r"data_parallel_size[=':\s]+(\d+)", int),
    ("dcp", r"decode_context_parallel_size[=':\s]+(\d+)", int),
    ("longest", r"max_seq_len=(\d+)", int),
    ("longest", rf"max_model_len[=':\s]+{_COUNT}", _whole),
    ("longest", rf"Maximum concurrency for {_COUNT} tokens per request", _whole),
    ("utilisation", r"gpu_memory_utilization[=':\s(]+(\d?\.\d+)", Fraction),
    ("utilisation", r"Requested memory: (\d?\.\d+) \(util\)", Fraction),
    ("batched_tokens", r"max_num_batched_tokens[=':\s]+(\d+)", int),
    ("sequences", r"max_num_seqs[=':\s]+(\d+)", int),
    ("block_tokens", r"Setting attention block size to (\d+) tokens", int),
    ("blocks", rf"\b(?:GPU|cuda|CUDA) blocks: {_COUNT}", _whole),
    ("blocks", rf"num_gpu_blocks is: {_COUNT}", _whole),
    ("total_bytes", rf"total_gpu_memory[ =(]+{_SIZE}", _gib),
    ("requested_bytes", rf"Requested memory: \d?\.\d+ \(util\), {_SIZE}", _gib),
    ("weight_bytes", rf"(?:Model loading|Loading model weights) took {_SIZE}", _gib),
    ("weight_bytes", rf"model weights take {_SIZE}", _gib),
    ("activation_bytes", rf"torch peak memory increase: {_SIZE}", _gib),
    ("activation_bytes", rf"PyTorch activation peak memory takes {_SIZE}", _gib),
    ("non_torch_bytes", rf"non-torch forward increase memory: {_SIZE}", _gib),
    ("non_torch_bytes", rf"non_torch_memory (?:takes )?{_SIZE}", _gib),
    ("non_torch_bytes", rf"non_torch_memory={_SIZE}", _gib),
    ("graph_bytes", rf"(?:CUDA graph pool memory|Estimated CUDA graph memory): {_SIZE}", _gib),
    ("graph_bytes", rf"Graph capturing finished.*? took {_SIZE}", _gib),
    ("cache_bytes", rf"Available KV cache memory: {_SIZE}", _gib),
    ("cache_bytes", rf"reserved for KV Cache is {_SIZE}", _gib),
    ("cache_bytes", rf"kv_cache_size={_SIZE}", _gib),
    ("tokens", rf"GPU KV cache size: {_COUNT} tokens", _whole),
    ("concurrency", rf"Maximum concurrency for [\d,]+ tokens per request: {_NUMBER}x", Fraction),
)
SGLANG_LINES: Sequence[Pattern] = (
    ("version", r"[Ss][Gg][Ll]ang (?:version:? )?v?(\d+\.\d+[^\s),]*)", _text),
    ("model", r"model_path='([^']+)'", _text),
    ("weights", r"Load weight end\..*?quant=([\w-]+)", _text),
    ("kv_precision", r"KV Cache is allocated\..*?dtype: torch\.(\w+)", _text),
    ("kv_precision", r"kv_cache_dtype='([\w.]+)'", _text),
    ("tp", r"\btp_size=(\d+)", int),
    ("pp", r"\bpp_size=(\d+)", int),
    ("dp", r"\bdp_size=(\d+)", int),
    ("utilisation", r"mem_fraction_static=(\d?\.\d+)", Fraction),
    ("longest", r"context_len=(\d+)", int),
    ("batched_tokens", r"chunked_prefill_size=(\d+)", int),
    ("free_bytes", rf"Load weight begin\. avail mem={_SIZE}", _gib),
    ("weight_bytes", rf"Load weight end\..*?mem usage={_SIZE}", _gib),
    ("graph_bytes", rf"Capture cuda graph end\..*?mem usage={_SIZE}", _gib),
    ("cache_bytes", rf"KV Cache is allocated\..*?KV size: {_SIZE}", _gib),
    ("tokens", rf"KV Cache is allocated\..*?#tokens: {_COUNT}", _whole),
    ("tokens", r"max_total_num_tokens=(\d+)", int),
)
TENSORRT_LLM_LINES: Sequence[Pattern] = (
    ("version", r"TensorRT-LLM version:? v?([0-9][^\s),]*)", _text),
    ("weight_bytes", r"Loaded engine size: (\d+) MiB", _mib),
    ("block_tokens", r"Number of tokens per block: (\d+)", int),
    ("longest", r"\bmax_seq_len[=:\s]+(\d+)", int),
    ("batched_tokens", r"max_num_tokens[=:\s]+(\d+)", int),
    ("utilisation", r"fraction is set (\d?\.\d+)", Fraction),
    ("total_bytes", rf"device total memory {_SIZE}", _gib),
    ("used_bytes", rf"Peak memory during memory usage profiling \(torch \+ non-torch\): {_SIZE}", _gib),
    ("cache_bytes", rf"Allocated {_SIZE} for max tokens in paged KV cache", _gib),
    ("tokens", rf"for max tokens in paged KV cache \({_COUNT}\)", _whole),
    ("tokens", rf"Using {_COUNT} tokens in paged KV cache", _whole),
)
_LINES: Mapping[str, Sequence[tuple[str, re.Pattern[str], Callable[[str], Any]]]] = {
    engine: [(field, re.compile(expression), read) for field, expression, read in lines]
    for engine, lines in ((VLLM, VLLM_LINES), (SGLANG, SGLANG_LINES), (TENSORRT_LLM, TENSORRT_LLM_LINES))
}
_TELLING = {  # fields whose lines one engine alone prints
    VLLM: {"cache_bytes", "tokens", "weight_bytes", "concurrency", "blocks"},
    SGLANG: {"free_bytes", "weight_bytes", "cache_bytes", "tokens"},
    TENSORRT_LLM: {"cache_bytes", "tokens", "block_tokens", "used_bytes"},
}
_K_AND_V = re.compile(rf"KV Cache is allocated\..*?K size: {_SIZE}, V size: {_SIZE}")
_HYPHENS = {"None": None, "auto": None}
_LEAST = frozenset({"cache_bytes", "tokens", "blocks", "concurrency"})  # the least of all ranks


def read_log(path: Path) -> EngineLog:
    """The log at `path`. Raises BadInput for what cannot be read and for what is no start-up log of a known engine."""
    file = str(path)
    try:
        with path.open("rb") as stream:
            content = stream.read(LARGEST_FILE_BYTES + 1)
    except FileNotFoundError:
        raise BadInput(Problem("no such file", file=file, accepted=ACCEPTED)) from None
    except IsADirectoryError:
        raise BadInput(Problem("is a folder", file=file, accepted=ACCEPTED)) from None
    except OSError as error:
        raise BadInput(Problem(f"cannot be read: {error.strerror}", file=file)) from None
    if len(content) > LARGEST_FILE_BYTES:
        most = f"at most {LARGEST_FILE_BYTES // 2**20} MiB; the lines of the start are enough"
        raise BadInput(Problem("too large", file=file, accepted=most))
    if b"\0" in content[:4096]:
        raise BadInput(Problem("is no text", file=file, accepted=ACCEPTED))
    return parse_log(content.decode("utf-8", errors="replace"), file)


def parse_log(text: str, file: str = "") -> EngineLog:
    """What the lines of a log say. Raises BadInput as `read_log` does."""
    lines = [line[:MOST_CHARACTERS] for line in text.splitlines()]
    found = {engine: _found(engine, lines) for engine in _LINES}
    said = {engine: fields for engine, fields in found.items() if _TELLING[engine] & fields.keys()}
    if not said:
        raise BadInput(Problem("says nothing of an engine's memory", file=file, accepted=ACCEPTED))
    if len(said) > 1:
        raise BadInput(Problem(f"speaks of {' and '.join(said)}", file=file, accepted="the log of one start"))
    ((engine, fields),) = said.items()
    problems = list(_problems(fields, file))
    if problems:
        raise BadInput(*problems)
    values = {field: (min if field in _LEAST else _first)(each) for field, each in fields.items()}
    for field in ("weights", "kv_precision"):
        values[field] = _HYPHENS.get(values.get(field, "auto"), values.get(field))
    if engine == VLLM and "tokens" not in values and "blocks" in values:  # as before version 1 of the engine
        values["tokens"] = values["blocks"] * values.get("block_tokens", VLLM_BLOCK)
    requested = values.pop("requested_bytes", None)
    if requested is not None and "utilisation" in values:
        values.setdefault("total_bytes", round(requested / values["utilisation"]))
    return EngineLog(file=file, engine=engine, **values)


def _first(values: Sequence[Any]) -> Any:
    return values[0]


def _found(engine: str, lines: Sequence[str]) -> dict[str, list[Any]]:
    """Every value of every field, those of the expression that stands first before the others."""
    found: dict[str, list[Any]] = {}
    for field, expression, read in _LINES[engine]:
        if field in found:
            continue
        values = [read(match.group(1)) for line in lines if (match := expression.search(line))]
        if values:
            found[field] = values
    if engine == SGLANG and "cache_bytes" not in found:
        halves = [match for line in lines if (match := _K_AND_V.search(line))]
        if halves:
            found["cache_bytes"] = [_gib(match.group(1)) + _gib(match.group(2)) for match in halves]
    return found


def _problems(fields: Mapping[str, Sequence[Any]], file: str) -> Iterator[Problem]:
    """What cannot be of one start."""
    for field, what in (("model", "models"), ("version", "versions"), ("tp", "tensor parallel sizes")):
        values = list(dict.fromkeys(fields.get(field, ())))
        if len(values) > 1:
            told = ", ".join(shown(str(value)) for value in values)
            yield Problem(f"names several {what}", file=file, seen=told, accepted="the log of one start")
    share = fields.get("utilisation", (Fraction(1),))[0]
    if not 0 < share <= 1:
        yield Problem(
            "the share of memory is none", file=file, seen=str(float(share)), accepted="more than 0, at most 1"
        )
