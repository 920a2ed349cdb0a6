"""Start-up logs of vLLM, SGLang and TensorRT-LLM: what an engine said of its memory. Whole logs, or the lines of it.

Sizes that engines print as GB are GiB (vLLM and SGLang divide by 2^30). Of several ranks the least cache counts, as the
engines take it; everything else is that of the rank that spoke first.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO

from sizing.units.amounts import GIB
from sizing.units.errors import BadInput, Problem, shown

VLLM, SGLANG, TENSORRT_LLM = "vllm", "sglang", "tensorrt-llm"
LARGEST_FILE_BYTES = 256 * 2**20
VLLM_BLOCK = 16  # tokens of a block where nothing else is said
MOST_DIGITS = 1_000
MOST_TOKENS = 10**12  # of a cache; hundreds of GPUs hold a thousandth of it
MOST_OF_A_LINE = 20_000  # bytes that are looked at together
ACCEPTED = "the start-up log of vLLM, SGLang or TensorRT-LLM, or its lines on memory"
ONE_START = "the log of one start"


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineLog:
    """What one start printed. None is not printed. Bytes and shares are of one GPU.

    `model` is what the engine was given, `generation` that of vLLM's engine (0 or 1), `total_bytes` what the process
    can see of a GPU, `free_bytes` what was free before weights were loaded, `used_bytes` what was taken at the peak of
    a first run, weights included (TensorRT-LLM). `tp` GPUs share a sequence, `dp` pools make a replica; `tokens` and
    `concurrency` are of one pool. `longest` is the longest sequence in tokens, `batched_tokens` and `sequences` the
    most of one step. `blocks` have `block_tokens` tokens each. `eager` starts capture no CUDA graphs.
    """

    file: str
    engine: str
    version: str | None = None
    generation: int | None = None
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
    eager: bool | None = None
    prefix_caching: bool | None = None
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


UNITS = {"b": 1, "K": 2**10, "M": 2**20, "G": GIB, "T": 2**40}


def _text(text: str) -> str:
    return text


def _number(text: str) -> Fraction:
    return Fraction(text.replace(",", ""))


def _whole(text: str) -> int:
    digits = text.replace(",", "")
    return int(digits[:MOST_DIGITS])  # of more, no number is looked at closer than that


def _size(*parts: str) -> int:
    """Bytes of one or several sizes together, each a number and its unit."""
    sizes = zip(parts[::2], parts[1::2], strict=True)
    return sum(round(_number(number) * UNITS[unit[0]]) for number, unit in sizes)


def _pool(tokens: str, *parts: str | None) -> tuple[int, int]:
    """Tokens and bytes of a pool of SGLang."""
    return _whole(tokens), _size(*(part for part in parts if part is not None))


def _said(*_: str) -> bool:
    return True


def _is_true(text: str) -> bool:
    return text == "True"


Pattern = tuple[str, str, Callable[..., Any]]  # (field, expression, reading of its groups)

NUMBER = r"(-?\d[\d,]{0,14}(?:\.\d{1,12})?)"
COUNT = r"(\d[\d,]{0,14})(?![\d,]*\d)"
TOKENS = r"(-?\d[\d,]*+)"  # as they are printed: what cannot be is told
SIZE = NUMBER + r"\s*([KMGT]i?B|bytes)"
SHARE = r"(\d?\.\d{1,12}|[01](?![\d.]))"
NAME = r"([^\s'\",)]+)"


def _option(name: str, value: str) -> str:
    """An option as a configuration or a command line has it: `tp_size=2`, `'tp_size': 2`, `--tp-size 2`."""
    written = name.replace("_", "[-_]")
    return rf"(?:(?<![\w-]){written}['\"]?\s*[=:]\s*|--{written}[=\s]\s*)['\"]?{value}"


def _after(*words: str) -> str:
    """What stands on one line after the first of each of `words`, which are looked for once."""
    return "^" + "".join(rf"(?>.*?{each})" for each in words) + ".*?"


def _options(read: Callable[..., Any], value: str, **fields: str) -> list[Pattern]:
    """A field for each option, by the names that engines have for it, the first that is said before the others."""
    return [(field, _option(name, value), read) for field, names in fields.items() for name in names.split()]


VLLM_LINES: Sequence[Pattern] = (
    ("version", r"(?:LLM engine \(v|vLLM API server version v?|vLLM version:? v?|█\s+version v?)(\d[^\s),]*)", _text),
    ("generation", r"Initializing a V([01]) LLM engine", int),
    ("model", _after("LLM engine") + r"\bmodel='([^']+)'", _text),
    ("model", _after("args: ") + r"\bmodel(?:_tag)?(?:'?: |=)'([^']+)'", _text),
    ("model", r"\bvllm serve ([^\s'\"-][^\s'\"]*)", _text),
    ("model", r"Starting to load model (\S+?)\.\.\.", _text),
    ("weights", _after("LLM engine") + r"\bquantization=([\w-]+)", _text),
    ("kv_precision", _after("LLM engine") + r"\bkv_cache_dtype=([\w.]+)", _text),
    ("kv_precision", r"Using (\w+) data type to store kv cache", _text),
    *_options(_text, NAME, weights="quantization", kv_precision="kv_cache_dtype"),
    *_options(
        _whole,
        COUNT,
        tp="tensor_parallel_size",
        pp="pipeline_parallel_size",
        dp="data_parallel_size",
        dcp="decode_context_parallel_size",
        longest="max_seq_len max_model_len",
        batched_tokens="max_num_batched_tokens",
        sequences="max_num_seqs",
    ),
    *_options(_is_true, "(True|False)", eager="enforce_eager", prefix_caching="enable_prefix_caching"),
    ("eager", r"--enforce-eager(?![\w=-])", _said),
    ("prefix_caching", r"--enable-prefix-caching(?![\w=-])", _said),
    ("longest", rf"(?:Maximum concurrency for|Using max model len) {COUNT}", _whole),
    ("utilisation", rf"gpu_memory_utilization[=':\s(]+{SHARE}", Fraction),
    ("utilisation", rf"Requested memory: {SHARE}\d* \(util\)", Fraction),
    ("utilisation", rf"[Dd]esired GPU memory utilization (?:is )?\({SHARE},", Fraction),
    ("utilisation", rf"(?<!current )(?<!to )--gpu-memory-utilization[= ]{SHARE}", Fraction),
    ("block_tokens", rf"Setting attention block size to {COUNT} tokens", _whole),
    *_options(_whole, COUNT, block_tokens="block_size"),
    ("blocks", rf"(?:\b(?:GPU|cuda|CUDA) blocks:|num_gpu_blocks is:) {COUNT}", _whole),
    ("total_bytes", rf"total_gpu_memory[ =(]+{SIZE}", _size),
    ("total_bytes", rf"Free memory on device \(-?[\d.]+/{SIZE}\)", _size),
    ("requested_bytes", rf"Requested memory: [\d.]+ \(util\), {SIZE}", _size),
    ("weight_bytes", rf"(?:Model loading|Loading model weights) took {SIZE}", _size),
    ("weight_bytes", rf"model weights take {SIZE}", _size),
    ("weight_bytes", rf"Actual usage is {SIZE} for weight", _size),
    ("activation_bytes", rf"(?:torch peak memory increase:|activation peak memory takes) {SIZE}", _size),
    ("activation_bytes", rf"{SIZE} for peak activation", _size),
    ("non_torch_bytes", rf"(?:non-torch forward increase memory: |non_torch_memory(?: takes |[ =])){SIZE}", _size),
    ("non_torch_bytes", rf"{SIZE} for non-torch memory", _size),
    ("graph_bytes", rf"(?:CUDA graph pool memory|Estimated CUDA graph memory): {SIZE}", _size),
    ("graph_bytes", _after("Graph capturing finished") + rf" took {SIZE}", _size),
    ("graph_bytes", rf"{SIZE} for CUDAGraph memory", _size),
    (
        "cache_bytes",
        rf"(?:Available KV cache memory: |reserved for KV Cache is |available_kv_cache_memory[ =]){SIZE}",
        _size,
    ),
    ("cache_bytes", rf"kv_cache_size={SIZE}", _size),
    ("cache_bytes", rf"Current kv cache memory in use is {SIZE}", _size),
    ("tokens", rf"GPU KV cache size: {TOKENS} tokens", _whole),
    ("concurrency", rf"Maximum concurrency for [\d,]+ tokens per request: {NUMBER}x", _number),
)
SGLANG_LINES: Sequence[Pattern] = (
    ("version", r"[Ss][Gg][Ll]ang (?:version:? )?v?(\d+\.\d+[^\s),]*)", _text),
    *_options(_text, NAME, model="model_path"),
    ("weights", _after(r"Load weight end\.") + r"quant=([\w-]+)", _text),
    ("kv_precision", _after(r"KV Cache is allocated\.") + r"dtype: torch\.(\w+)", _text),
    *_options(_text, NAME, weights="quantization", kv_precision="kv_cache_dtype"),
    *_options(
        _whole,
        COUNT,
        tp="tp_size tensor_parallel_size tp",
        pp="pp_size pipeline_parallel_size",
        dp="dp_size data_parallel_size dp",
        longest="context_len context_length",
        batched_tokens="chunked_prefill_size",
    ),
    *_options(_whole, TOKENS, tokens="max_total_num_tokens"),
    ("shares_attention", r"enable[-_]dp[-_]attention(?:['\"]?[=:]\s*True|\s|$)", _said),
    ("utilisation", rf"reduce --mem-fraction-static to {SHARE}", Fraction),
    *_options(Fraction, SHARE, utilisation="mem_fraction_static"),
    ("free_bytes", _after(r"Load weight begin\.") + rf"avail mem={SIZE}", _size),
    ("weight_bytes", _after(r"Load weight end\.") + rf"mem usage={SIZE}", _size),
    ("loaded_free_bytes", _after(r"Load weight end\.") + rf"avail mem={SIZE}", _size),
    ("left_free_bytes", _after(r"Memory pool end\.") + rf"avail mem={SIZE}", _size),
    ("graph_bytes", _after(r"Capture [\w ]{0,40}graph end\.") + rf"mem usage={SIZE}", _size),
    (
        "pools",
        _after(r"KV Cache is allocated\.", rf"#tokens: {TOKENS}") + rf"(?:K size: {SIZE}, V|KV) size: {SIZE}",
        _pool,
    ),
    ("states", _after(r"Mamba Cache is allocated\.", rf"conv_state size: {SIZE}") + rf"ssm_state size: {SIZE}", _size),
)
TENSORRT_LLM_LINES: Sequence[Pattern] = (
    ("version", r"TensorRT-LLM version:? v?(\d[^\s),]*)", _text),
    ("model", r"\btrtllm-serve (?:serve )?([^\s'\"-][^\s'\"]*)", _text),
    *_options(_text, NAME, kv_precision="kv_cache_dtype"),
    *_options(
        _whole,
        COUNT,
        tp="tensor_parallel_size tp_size",
        pp="pipeline_parallel_size pp_size",
        longest="max_seq_len",
        batched_tokens="max_num_tokens",
        sequences="max_batch_size",
    ),
    ("utilisation", rf"fraction is set {SHARE}", Fraction),
    *_options(Fraction, SHARE, utilisation="free_gpu_memory_fraction kv_cache_free_gpu_mem_fraction"),
    ("weight_bytes", rf"Loaded engine size: {SIZE}", _size),
    ("block_tokens", rf"Number of tokens per block: {COUNT}", _whole),
    ("blocks", rf"Number of blocks in KV cache primary pool: {COUNT}", _whole),
    ("total_bytes", rf"(?:device total memory|paged kv cache: total:) {SIZE}", _size),
    ("free_after_run_bytes", _after("paged kv cache: total:") + rf"available: {SIZE}", _size),
    ("used_bytes", rf"Peak memory during memory usage profiling \(torch \+ non-torch\): {SIZE}", _size),
    ("cache_bytes", rf"Allocated {SIZE} for max tokens in paged KV cache", _size),
    ("tokens", rf"for max tokens in paged KV cache \({TOKENS}\)", _whole),
    ("tokens", rf"Using {TOKENS} tokens in paged KV cache", _whole),
)
_LINES: Mapping[str, Sequence[tuple[str, re.Pattern[str], Callable[..., Any]]]] = {
    engine: [(field, re.compile(expression), read) for field, expression, read in lines]
    for engine, lines in ((VLLM, VLLM_LINES), (SGLANG, SGLANG_LINES), (TENSORRT_LLM, TENSORRT_LLM_LINES))
}
_TELLING = {  # fields whose lines one engine alone prints
    VLLM: {"cache_bytes", "tokens", "weight_bytes", "concurrency", "blocks", "total_bytes", "requested_bytes"},
    SGLANG: {"free_bytes", "weight_bytes", "pools", "tokens", "left_free_bytes"},
    TENSORRT_LLM: {"cache_bytes", "tokens", "blocks", "block_tokens", "used_bytes", "total_bytes"},
}
_WORTH_READING = re.compile(  # what a line has that says anything, and no line on requests has
    r"version|LLM engine|args|serve |load model|--|blocks|tokens (?:per|in)|KV [cC]ache (?:size|is)|data type|"
    r"max model|[KMGT]i?B\b|bytes\b|"
    r"[_-](?:size|len|model|path|seqs|tokens|fraction|utilization|attention|torch|memory|eager|caching)"
)
_COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_RANK = re.compile(r"(?:\b(?:DP|TP|PP|EP)\d+ ?)+")
_NOTHING = {"None", "auto", "none", "null"}
_LEAST = frozenset({"cache_bytes", "tokens", "blocks", "concurrency"})  # the least of all ranks
_ALIKE = {  # what all ranks of one start have in common
    "model": "models",
    "version": "versions",
    "tp": "tensor parallel sizes",
    "utilisation": "shares of memory",
}
_COUNTED = ("tp", "dp", "pp", "dcp", "longest", "block_tokens", "total_bytes")

Found = dict[str, list[tuple[str, Any]]]  # by field, every value with the rank whose line it is


def read_log(path: Path) -> EngineLog:
    """The log at `path`. Raises BadInput for what cannot be read and for what is no start-up log of a known engine."""
    file = str(path)
    try:
        with path.open("rb") as stream:
            return _parsed(_lines(stream, file), file)
    except FileNotFoundError:
        raise BadInput(Problem("no such file", file=file, accepted=ACCEPTED)) from None
    except IsADirectoryError:
        raise BadInput(Problem("is a folder", file=file, accepted=ACCEPTED)) from None
    except OSError as error:
        raise BadInput(Problem(f"cannot be read: {error.strerror}", file=file)) from None


def parse_log(text: str, file: str = "") -> EngineLog:
    """What the lines of a log say. Raises BadInput as `read_log` does."""
    return _parsed(text.splitlines(), file)


def _lines(stream: BinaryIO, file: str) -> Iterator[str]:
    """The lines of a file, those that are longer than `MOST_OF_A_LINE` in pieces."""
    start = stream.peek(4096)[:4096] if hasattr(stream, "peek") else b""
    if not start:
        raise BadInput(Problem("is empty", file=file, accepted=ACCEPTED))
    if start.startswith((b"\x1f\x8b", b"PK\x03\x04", b"BZh", b"\x28\xb5\x2f\xfd", b"\xfd7zXZ")):
        raise BadInput(Problem("is compressed", file=file, accepted="the log unpacked"))
    if b"\0" in start:
        wide = start.startswith((b"\xff\xfe", b"\xfe\xff"))
        what, accepted = ("is text in UTF-16", "text in UTF-8") if wide else ("is no text", ACCEPTED)
        raise BadInput(Problem(what, file=file, accepted=accepted))
    read = 0
    while line := stream.readline(MOST_OF_A_LINE):
        read += len(line)
        if read > LARGEST_FILE_BYTES:
            most = f"at most {LARGEST_FILE_BYTES // 2**20} MiB; the lines of the start are enough"
            raise BadInput(Problem("too large", file=file, accepted=most))
        yield line.decode("utf-8", errors="replace")


def _parsed(lines: Iterable[str], file: str) -> EngineLog:
    found = _found(lines)
    said = {engine: fields for engine, fields in found.items() if _TELLING[engine] & fields.keys()}
    if not said:
        raise BadInput(Problem("says nothing of an engine's memory", file=file, accepted=ACCEPTED))
    if len(said) > 1:
        raise BadInput(Problem(f"speaks of {' and '.join(said)}", file=file, accepted=ONE_START))
    ((engine, fields),) = said.items()
    problems = list(_problems(fields, file))
    if problems:
        raise BadInput(*problems)
    values = {field: (min if field in _LEAST else _first)(value for _, value in each) for field, each in fields.items()}
    for field in ("weights", "kv_precision"):
        if values.get(field) in _NOTHING:
            del values[field]
    _DERIVED[engine](values, fields)
    known = {field: value for field, value in values.items() if field in EngineLog.__dataclass_fields__}
    return EngineLog(file=file, engine=engine, **known)


def _first(values: Iterable[Any]) -> Any:
    return next(iter(values))


def _found(lines: Iterable[str]) -> dict[str, Found]:
    """By engine, the values of every field; of its expressions the one counts that stands first and is there."""
    by_expression: dict[tuple[str, int], list[tuple[str, Any]]] = {}
    for line in lines:
        plain = _COLOURS.sub("", line)
        if not _WORTH_READING.search(plain):
            continue
        rank = _RANK.search(plain)
        for engine, expressions in _LINES.items():
            for place, (_, expression, read) in enumerate(expressions):
                match = expression.search(plain)
                if match:
                    value = read(*match.groups())
                    by_expression.setdefault((engine, place), []).append((rank.group() if rank else "", value))
    found: dict[str, Found] = {engine: {} for engine in _LINES}
    for (engine, place), values in sorted(by_expression.items()):
        found[engine].setdefault(_LINES[engine][place][0], values)
    return found


def _of_vllm(values: dict[str, Any], _: Found) -> None:
    """Tokens by blocks, as before version 1 of the engine, and the memory that the share is of."""
    if "tokens" not in values and "blocks" in values:
        values["tokens"] = values["blocks"] * values.get("block_tokens", VLLM_BLOCK)
    if "requested_bytes" in values and "utilisation" in values:
        values.setdefault("total_bytes", round(values["requested_bytes"] / values["utilisation"]))


def _of_sglang(values: dict[str, Any], fields: Found) -> None:
    """The cache of the rank that has the least; with attention data parallel, TP counts all GPUs."""
    before, after = (_by_rank(fields, field) for field in ("loaded_free_bytes", "left_free_bytes"))
    sizes = _pools(fields) or {rank: before[rank] - left for rank, left in after.items() if rank in before}
    if sizes:
        values["cache_bytes"] = min(sizes.values())
    if "tokens" not in values and "pools" in fields:
        values["tokens"] = min(tokens for _, (tokens, _) in fields["pools"])
    if "loaded_free_bytes" in values and "weight_bytes" in values:
        values.setdefault("free_bytes", values["loaded_free_bytes"] + values["weight_bytes"])
    if "shares_attention" in values and values.get("tp", 1) % values.get("dp", 1) == 0:
        values["tp"] = values.get("tp", 1) // values.get("dp", 1)
    else:
        values.pop("dp", None)  # replicas of their own


def _by_rank(fields: Found, field: str) -> dict[str, Any]:
    """What each rank said first."""
    return dict(reversed(fields.get(field, [])))


def _pools(fields: Found) -> dict[str, int]:
    """Bytes of all pools by rank. A further pool of as many tokens is that of a draft model, and no part of it."""
    by_rank: dict[str, dict[int, int]] = {}
    for rank, (tokens, size) in fields.get("pools", ()):
        by_rank.setdefault(rank, {}).setdefault(tokens, size)
    states = _by_rank(fields, "states")
    return {rank: sum(pools.values()) + states.get(rank, 0) for rank, pools in by_rank.items()}


def _of_tensorrt_llm(values: dict[str, Any], _: Found) -> None:
    if "tokens" not in values and "blocks" in values and "block_tokens" in values:
        values["tokens"] = values["blocks"] * values["block_tokens"]
    if "free_after_run_bytes" in values and "total_bytes" in values:
        values.setdefault("used_bytes", values["total_bytes"] - values["free_after_run_bytes"])


_DERIVED = {VLLM: _of_vllm, SGLANG: _of_sglang, TENSORRT_LLM: _of_tensorrt_llm}


def _problems(fields: Found, file: str) -> Iterator[Problem]:
    """What cannot be of one start."""
    for field, what in _ALIKE.items():
        values = list(dict.fromkeys(value for _, value in fields.get(field, ())))
        if len(values) > 1:
            told = ", ".join(shown(str(float(value) if isinstance(value, Fraction) else value)) for value in values)
            yield Problem(f"names several {what}", file=file, seen=told, accepted=ONE_START)
    share = _first(value for _, value in fields.get("utilisation", (("", Fraction(1)),)))
    if not 0 < share <= 1:
        yield Problem(
            "what an engine may use of a GPU is no share of its memory",
            file=file,
            seen=str(float(share)),
            accepted="more than 0, at most 1",
        )
    for tokens in _tokens(fields):
        if not 0 <= tokens <= MOST_TOKENS:
            what = "what the cache holds is no number of tokens"
            yield Problem(what, file=file, seen=shown(tokens), accepted=f"0 to {MOST_TOKENS:,}")
    for field in _COUNTED:
        if any(value <= 0 for _, value in fields.get(field, ())):
            yield Problem(f"{field.replace('_', ' ')} of 0", file=file, seen="0", accepted="more than 0")


def _tokens(fields: Found) -> list[int]:
    """Every count of tokens, those of pools too."""
    return [tokens for _, tokens in fields.get("tokens", ())] + [tokens for _, (tokens, _) in fields.get("pools", ())]
