"""The engine profiles against what engines printed at start-up.

    python benchmarks/engine_logs.py [FOLDER] [--rows] [--write]

FOLDER holds `engine_logs.json` and `configs/` (by default ../shared/data beside this checkout). For every row the
memory of a token on one GPU and the tokens of the cache are predicted by the profile of its version, and by the
arithmetic itself with a reserve of 10 %: from the model's shape, the GPU and the flags that the row states, and from
the memory that the row prints for the cache. `engine_log_facts.json` holds what a row leaves open and its source
states, each with where it stands. `--rows` lists all rows, `--write` puts the tables into docs/engines.md.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from sizing.advice.calibrate import Setting, calibrate  # noqa: E402  the checkout goes first
from sizing.catalog.catalog import Catalog  # noqa: E402
from sizing.catalog.engines import is_for, profile_of  # noqa: E402
from sizing.intake.huggingface import import_config, import_tree  # noqa: E402
from sizing.intake.logs import EngineLog  # noqa: E402
from sizing.plan.calibration import Calibration  # noqa: E402
from sizing.pool.engines.profile import Memory, Start  # noqa: E402
from sizing.pool.layout import layout_for  # noqa: E402
from sizing.pool.precision import KvPrecision  # noqa: E402
from sizing.sequence.model import ModelShape  # noqa: E402
from sizing.sequence.weights import ALL, FORMATS, WeightFormat  # noqa: E402
from sizing.units.amounts import GIB  # noqa: E402
from sizing.units.errors import BadInput  # noqa: E402

FACTS = ROOT / "benchmarks" / "engine_log_facts.json"
FOLDER = ROOT.parent / "shared" / "data"
DOCUMENT = ROOT / "docs" / "engines.md"
MARKS = ("<!-- engine_logs -->", "<!-- /engine_logs -->")
TOKEN_GOAL = 0.005
TOKENS_GOAL = 0.05

LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "tie_word_embeddings": False,
         "max_position_embeddings": 4096, "vocab_size": 32000}  # fmt: skip
TREES: Mapping[str, dict[str, Any]] = {  # shapes of models whose configuration is not at hand, as their cards give them
    "gemma-2-2b": {
        "model_type": "gemma2", "architectures": ["Gemma2ForCausalLM"], "hidden_size": 2304, "intermediate_size": 9216,
        "num_hidden_layers": 26, "num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256,
        "vocab_size": 256000, "sliding_window": 4096, "max_position_embeddings": 8192,
    },
    "gemma-3-4b": {
        "model_type": "gemma3", "architectures": ["Gemma3ForConditionalGeneration"],
        "text_config": {"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240,
                        "num_hidden_layers": 34, "sliding_window": 1024},
        "vision_config": {"model_type": "siglip_vision_model", "hidden_size": 1152, "intermediate_size": 4304,
                          "num_attention_heads": 16, "num_hidden_layers": 27, "patch_size": 14, "image_size": 896},
    },
    "granite-3.1-2b": {
        "model_type": "granite", "architectures": ["GraniteForCausalLM"], "hidden_size": 2048,
        "intermediate_size": 8192, "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 8,
        "vocab_size": 49155, "tie_word_embeddings": True, "max_position_embeddings": 131072,
    },
    "mistral-small-3.1-24b": {
        "model_type": "mistral3", "architectures": ["Mistral3ForConditionalGeneration"], "spatial_merge_size": 2,
        "multimodal_projector_bias": False,
        "text_config": {"model_type": "mistral", "hidden_size": 5120, "intermediate_size": 32768,
                        "num_hidden_layers": 40, "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
                        "vocab_size": 131072, "max_position_embeddings": 131072, "sliding_window": None,
                        "tie_word_embeddings": False},
        "vision_config": {"model_type": "pixtral", "hidden_size": 1024, "intermediate_size": 4096,
                          "num_hidden_layers": 24, "num_attention_heads": 16, "head_dim": 64, "patch_size": 14,
                          "image_size": 1540, "num_channels": 3},
    },
    "kimi-vl-a3b": {
        "model_type": "deepseek_v3", "architectures": ["DeepseekV3ForCausalLM"], "hidden_size": 2048,
        "intermediate_size": 11264, "moe_intermediate_size": 1408, "num_hidden_layers": 27, "num_attention_heads": 16,
        "num_key_value_heads": 16, "kv_lora_rank": 512, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64,
        "v_head_dim": 128, "q_lora_rank": None, "n_routed_experts": 64, "num_experts_per_tok": 6,
        "n_shared_experts": 2, "first_k_dense_replace": 1, "moe_layer_freq": 1, "vocab_size": 163840,
        "max_position_embeddings": 131072, "tie_word_embeddings": False,
    },
    "llama-2-7b": LLAMA | {"hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
                           "num_attention_heads": 32, "num_key_value_heads": 32},
    "qwen2-vl-7b": {
        "model_type": "qwen2_vl", "architectures": ["Qwen2VLForConditionalGeneration"], "hidden_size": 3584,
        "intermediate_size": 18944, "num_hidden_layers": 28, "num_attention_heads": 28, "num_key_value_heads": 4,
        "vocab_size": 152064, "max_position_embeddings": 32768, "tie_word_embeddings": False,
        "vision_config": {"depth": 32, "embed_dim": 1280, "hidden_size": 3584, "in_chans": 3, "mlp_ratio": 4,
                          "num_heads": 16, "patch_size": 14, "spatial_merge_size": 2, "temporal_patch_size": 2},
    },
    "tinyllama-1.1b": LLAMA | {"hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 22,
                               "num_attention_heads": 32, "num_key_value_heads": 4},
    "qwen2.5-0.5b": {
        "model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "hidden_size": 896, "intermediate_size": 4864,
        "num_hidden_layers": 24, "num_attention_heads": 14, "num_key_value_heads": 2, "vocab_size": 151936,
        "tie_word_embeddings": True, "max_position_embeddings": 32768,
    },
}  # fmt: skip
MODELS: Sequence[
    tuple[str, str]
] = (  # (expression of the row's model, file in configs/, entry of TREES or of the catalog)
    (r"DeepSeek-V2-Lite", "deepseek-ai__DeepSeek-V2-Lite"),
    (r"Qwen2\.5-7B", "Qwen__Qwen2-7B"),
    (r"gemma-2-27b", "google__gemma-2-27b"),
    (r"gemma-2-2b", "gemma-2-2b"),
    (r"gemma-3-4b", "gemma-3-4b"),
    (r"gemma-7b", "google__gemma-7b"),
    (r"granite-(3\.1-2b|vision-3\.3-2b)", "granite-3.1-2b"),
    (r"granite-3\.1-8b", "ibm-granite__granite-3.3-8b-instruct"),
    (r"R1-Distill-Llama-70B", "llama-3.1-70b"),
    (r"Llama-3\.3-70B", "llama-3.3-70b"),
    (r"Meta-Llama-3-8B$", "meta-llama__Meta-Llama-3-8B"),
    (r"Llama-3\.1-8B|Llama 8B-class", "llama-3.1-8b"),
    (r"Llama-4-Scout", "RedHatAI__Llama-4-Scout-17B-16E-Instruct-FP8-dynamic"),
    (r"Mistral-Small-3\.1-24B", "mistral-small-3.1-24b"),
    (r"Mixtral-8x7B", "mixtral-8x7b"),
    (r"Kimi-Dev-72B|Qwen2\.5-72B", "Qwen__Qwen2.5-72B"),
    (r"Kimi-VL-A3B", "kimi-vl-a3b"),
    (r"Qwen1\.5-MoE-A2\.7B", "Qwen__Qwen1.5-MoE-A2.7B"),
    (r"Qwen3-30B-A3B", "Qwen__Qwen3-30B-A3B-FP8"),
    (r"gpt-oss-20b", "openai__gpt-oss-20b"),
    (r"gpt-oss-120b", "gpt-oss-120b"),
    (r"Qwen3-0\.6B", "Qwen__Qwen3-0.6B"),
    (r"Qwen3-32B", "qwen3-32b"),
    (r"GLM-5\.1-NVFP4", "nvidia__GLM-5.1-NVFP4"),
    (r"MiniMax-M2\.5", "MiniMaxAI__MiniMax-M2.5"),
    (r"Kimi-K2\.6", "moonshotai__Kimi-K2.6"),
    (r"Kimi-K3", "moonshotai__Kimi-K3"),
    (r"Qwen3\.[68]-27B", "Qwen__Qwen3.5-27B"),
    (r"qwen3\.6-35b-a3b", "nvidia__Qwen3.6-35B-A3B-NVFP4"),
    (r"CodeLlama-34B", "codellama__CodeLlama-34b-Instruct-hf"),
    (r"Kimi-Linear-48B", "moonshotai__Kimi-Linear-48B-A3B-Instruct"),
    (r"Qwen2\.5-14B", "Qwen__Qwen2.5-14B.maxtext"),
    (r"DeepSeek-V4-Flash", "deepseek-ai__DeepSeek-V4-Flash"),
    (r"QwQ-32B", "Qwen__QwQ-32B"),
    (r"(?i)llama-2-7b", "llama-2-7b"),
    (r"Llama-2-70B", "meta-llama__Llama-2-70b-hf"),
    (r"qwen2\.5-coder-0\.5B", "qwen2.5-0.5b"),
    (r"Phi-4", "microsoft__phi-4"),
    (r"TinyLlama", "tinyllama-1.1b"),
)
TOTAL_GIB = {  # what CUDA lets a process see, where a row does not print it
    "RTX 3090": 23.58, "RTX 5090": 31.4, "A100": 79.15,
}  # fmt: skip
WEIGHTS = {
    "bfloat16": "bf16", "float16": "bf16", "compressed-tensors": "int8", "fp8": "int8", "gptq_marlin": "int4",
    "fp8 (block)": "fp8-block", "awq int4": "int4", "int8": "int8", "bnb 4bit": "int4",
}  # fmt: skip
FP32 = WeightFormat("fp32", Fraction(32), ALL, "32 bits for every weight")


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the logs, what it and its source say of its start, and the profile of its version."""

    row: Mapping[str, Any]
    facts: Mapping[str, Any]
    log: EngineLog
    setting: Setting
    profile: str

    @property
    def id(self) -> str:
        return str(self.row["id"])

    @property
    def engine(self) -> str:
        return str(self.row["engine"])

    @property
    def counts(self) -> bool:
        """Whether it prints tokens or sequences."""
        return self.log.tokens is not None or self.log.concurrency is not None


class Logs:
    """The rows with their shapes; `unknown` are the names of those whose model is not known."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.catalog = Catalog()
        self.rows: list[dict[str, Any]] = json.loads((folder / "engine_logs.json").read_text(encoding="utf-8"))
        self.facts: dict[str, dict[str, Any]] = json.loads(FACTS.read_text(encoding="utf-8"))
        self.unknown: list[str] = []

    def read(self) -> Iterator[Row]:
        """Every row whose model is known."""
        self.unknown.clear()
        for row in self.rows:
            facts = self.facts.get(row["id"], {})
            model = self._model(row, facts)
            if model is None:
                self.unknown.append(row["id"])
            else:
                yield self._row(row, facts, model)

    def _model(self, row: Mapping[str, Any], facts: Mapping[str, Any]) -> ModelShape | None:
        said = row.get("model") or ""
        name = facts.get("model") or next((shape for words, shape in MODELS if re.search(words, said)), said)
        if name in TREES:
            return import_tree(TREES[name], name=name).shape
        file = self.folder / "configs" / f"{name.replace('/', '__')}.json"
        if file.is_file():
            return import_config(file).shape
        try:
            return self.catalog.model(name)
        except BadInput:
            return None

    def _row(self, row: Mapping[str, Any], facts: Mapping[str, Any], model: ModelShape) -> Row:
        said = str(row.get("engine_version") or "")
        version = facts.get("version") or said or None
        if row["engine"] == "sglang" and said.startswith("20"):  # a date
            version = "0.3" if said.startswith("2024") else "0.4"
        generation = re.search(r"\bV([01])\b", said)
        profile = profile_of(self.catalog, row["engine"], version, int(generation[1]) if generation else None)
        log = _log(row, facts, version)
        return Row(row, facts, log, self._setting(row, facts, model, profile, log), profile)

    def _setting(
        self, row: Mapping[str, Any], facts: Mapping[str, Any], model: ModelShape, profile: str, log: EngineLog
    ) -> Setting:
        stages = row.get("pp") or 1
        if facts.get("mtp"):
            model = replace(model, blocks=(*model.blocks, *model.mtp))
        if facts.get("encoders") is False:
            model = replace(model, encoders=())
        wide = "float32" in str(row.get("kv_dtype"))
        weights = FP32 if row.get("weight_dtype") == "float32" else self._weights(row, facts, model)
        if stages > 1:  # the last stage has its layers and the head
            blocks = tuple(replace(block, count=block.count // stages) for block in model.blocks)
            model = replace(model, blocks=blocks, tied_embeddings=True)
        layout = layout_for(model, facts.get("tp") or row.get("tp") or 1, row.get("dp") or 1, row.get("dcp") or 1)
        started = Start(
            utilisation=log.utilisation,
            longest=log.longest,
            batched_tokens=log.batched_tokens,
            sequences=log.sequences,
            element_bytes=4 if wide else 2,
            graphs_inside=False if "ESTIMATE_CUDAGRAPHS=0" in _words(row) else facts.get("graphs_inside"),
            state_copies=facts.get("state_copies"),
        )
        return Setting(
            model=model,
            weights=weights,
            kv_precision=_wide(self.catalog.kv_precision("bf16")) if wide else self._kv_precision(row),
            layout=layout,
            hbm_bytes=self._hbm_bytes(row, facts, profile),
            vendor="AMD" if "MI3" in (row.get("gpu") or "") else "NVIDIA",
            start=started,
        )

    def _weights(self, row: Mapping[str, Any], facts: Mapping[str, Any], model: ModelShape) -> WeightFormat:
        if "weights" in facts:
            return FORMATS[facts["weights"]]
        if "FP8-dynamic" in (row.get("model") or ""):
            return FORMATS["int8"]
        if "Qwen3.8" in (row.get("model") or ""):
            return FORMATS["fp8-block"]
        return FORMATS[WEIGHTS.get(row.get("weight_dtype") or "", model.native_weights)]

    def _kv_precision(self, row: Mapping[str, Any]) -> KvPrecision:
        return self.catalog.kv_precision("fp8" if "fp8" in str(row.get("kv_dtype")) else "bf16")

    def _hbm_bytes(self, row: Mapping[str, Any], facts: Mapping[str, Any], profile: str) -> int | None:
        gpu = facts.get("gpu") or row.get("gpu") or ""
        seen = row.get("gpu_total_gib") or facts.get("total_gib")
        seen = seen or next((gib for name, gib in TOTAL_GIB.items() if name in gpu), None)
        found = self.catalog.engine(profile).hbm_bytes(_bytes(seen), _bytes(facts.get("free_gib")))
        if found is None:
            label = f"-{re.sub(r'[^a-z0-9]+', '-', gpu.lower())}-"
            names = sorted(self.catalog.names("gpus"), key=len, reverse=True)
            name = next((name for name in names if f"-{name}-" in label), None)
            figure = None if name is None else self.catalog.gpu(name).hbm_driver_bytes
            found = None if figure is None else figure.value
        return found


def _words(row: Mapping[str, Any]) -> str:
    return " ".join((row.get("notes") or "", *(row.get("quote_fields") or ())))


def _stated(row: Mapping[str, Any], expression: str) -> int | None:
    found = re.search(expression, _words(row))
    return int(found.group(1)) if found else None


def _wide(precision: KvPrecision) -> KvPrecision:
    return replace(precision, bits=replace(precision.bits, value=Fraction(32)))


def _bytes(gib: float | None) -> int | None:
    return None if gib is None else int(Fraction(str(gib)) * GIB)


def _log(row: Mapping[str, Any], facts: Mapping[str, Any], version: str | None) -> EngineLog:
    share, sequences = row.get("gpu_memory_utilization") or facts.get("share"), row.get("max_concurrency")
    pools = _stated(row, r"Sum over (\d+) DP ranks") or 1
    return EngineLog(
        file=row["id"],
        engine=row["engine"],
        version=version,
        model=row.get("model"),
        utilisation=None if share is None else Fraction(str(share)),
        longest=row.get("max_model_len"),
        batched_tokens=_stated(row, r"max_num_batched_tokens['\"]?[=: ]+(\d+)") or facts.get("batched_tokens"),
        sequences=_stated(row, r"max_num_seqs['\"]?[=: ]+(?:default )?(\d+)") or facts.get("sequences"),
        weight_bytes=_bytes(row.get("model_load_gib")),
        activation_bytes=_bytes(row.get("activation_gib")),
        non_torch_bytes=_bytes(row.get("non_torch_gib")),
        graph_bytes=_bytes(row.get("cuda_graph_gib")),
        cache_bytes=_bytes(row.get("available_kv_gib")),
        tokens=row.get("kv_tokens"),
        concurrency=None if sequences is None else Fraction(str(sequences)) / pools,
    )


@dataclass(frozen=True, slots=True)
class Judged:
    """A row with its errors; None where the row lacks the figure.

    `token` is that of the memory of one token, `stored` that of tokens or sequences in the memory that the row prints
    for the cache, `tokens` that of tokens or sequences (of the cache's memory where neither is printed) from the GPU,
    `ideal` the same of the arithmetic itself. `apart` says why nothing follows from the GPU, `contradicts` why the
    row's own figures do not add up.
    """

    row: Row
    found: Calibration
    token: float | None
    stored: float | None
    tokens: float | None
    ideal: float | None
    apart: str | None
    contradicts: str | None

    @property
    def from_gpu(self) -> bool:
        return self.apart is None and self.contradicts is None and self.tokens is not None


def judged(row: Row, catalog: Catalog) -> Judged:
    """The errors of one row, by tokens or by sequences, whichever the log counts by."""
    found = calibrate(row.log, row.setting, catalog.engine(row.profile))
    by_sequences = row.log.concurrency is not None and (row.log.tokens is None or _counts_sequences(row, catalog))
    counted = found.of("sequences" if by_sequences else "tokens")
    if counted.error is None:
        counted = found.of("cache")
    apart = row.facts.get("apart")
    if apart is None and row.log.version is not None and not is_for(catalog, row.profile, row.log.version):
        apart = f"no profile is for version {row.log.version}"
    if apart is None and row.setting.hbm_bytes is None:
        apart = "the memory of the GPU is not stated"
    return Judged(
        row,
        found,
        token=_float(found.of("token").error),
        stored=_stored(row, catalog, by_sequences),
        tokens=_float(counted.error),
        ideal=_float(counted.ideal_error),
        apart=apart,
        contradicts=row.facts.get("contradicts"),
    )


def _stored(row: Row, catalog: Catalog, by_sequences: bool) -> float | None:
    """The error of what the profile prints for the cache that the row prints."""
    measured = row.log.concurrency if by_sequences else row.log.tokens
    if not measured or row.log.cache_bytes is None:
        return None
    setting = row.setting
    memory = Memory(setting.hbm_bytes or row.log.cache_bytes, setting.vendor)
    printed = catalog.engine(row.profile).printed(
        memory, setting.model, setting.kv_precision, setting.layout, row.log.cache_bytes, setting.start
    )
    predicted = printed.concurrency if by_sequences else printed.tokens
    return None if predicted is None else float(predicted / Fraction(measured) - 1)


def _counts_sequences(row: Row, catalog: Catalog) -> bool:
    """Whether that version derives the tokens from how many sequences fit, or groups make its tokens incomparable."""
    entry = catalog.entry("engines", row.profile)
    groups = any(not stream.grows for _, kind in row.setting.model.layers() for stream in kind.streams(1))
    return bool(entry.get("prints_concurrency")) or groups


def _float(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


def spread(values: Sequence[float]) -> tuple[float, float, float]:
    """(median, 90th percentile, worst) of absolute errors: the least value that so many of them do not exceed."""
    ordered = sorted(abs(value) for value in values)
    last = len(ordered) - 1
    return median(ordered), ordered[min(last, -(-9 * len(ordered) // 10) - 1)], ordered[last]


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value * 100:+.2f} %"


def main(arguments: Sequence[str]) -> int:
    """Print the tables, or write them."""
    folders = [Path(argument) for argument in arguments if not argument.startswith("--")]
    logs = Logs(folders[0] if folders else FOLDER)
    rows = [judged(row, logs.catalog) for row in logs.read()]
    if "--rows" in arguments:
        head = ["row", "profile", "token", "stored", "tokens", "ideal", "weights GiB", "outside GiB", "apart"]
        print(*table(head, map(_line, rows)), "", sep="\n")
    text = "\n".join(report(rows, logs.unknown))
    if "--write" in arguments:
        before, rest = DOCUMENT.read_text(encoding="utf-8").split(MARKS[0])
        _, after = rest.split(MARKS[1])
        DOCUMENT.write_text(f"{before}{MARKS[0]}\n{text}\n{MARKS[1]}{after}", encoding="utf-8")
    else:
        print(text)
    return 0


def _line(each: Judged) -> list[str]:
    weights, outside = each.found.of("weights"), each.found.of("outside")
    return [
        each.row.id,
        each.row.profile,
        *map(_percent, (each.token, each.stored, each.tokens, each.ideal)),
        _pair(weights.predicted, weights.measured),
        _pair(outside.predicted, outside.measured),
        each.contradicts or each.apart or "",
    ]


def _pair(predicted: Fraction | None, measured: Fraction | None) -> str:
    return " / ".join("?" if value is None else f"{float(value / GIB):.2f}" for value in (predicted, measured))


def report(rows: Sequence[Judged], unknown: Sequence[str]) -> Iterator[str]:
    """The tables of docs/engines.md."""
    yield from _report_of_a_token(rows)
    yield ""
    stored = [each for each in rows if each.stored is not None and each.contradicts is None]
    within = [each for each in stored if abs(each.stored or 0) <= TOKENS_GOAL]
    yield (
        f"Tokens or sequences in the memory that a log prints for the cache, which is how the cache is stored and "
        f"nothing else: {len(within)} of {len(stored)} rows are within 5 %."
    )
    yield ""
    yield from _by_engine(stored, "stored")
    yield ""
    counted = [each for each in rows if each.from_gpu]
    within = [each for each in counted if abs(each.tokens or 0) <= TOKENS_GOAL]
    yield (
        f"Tokens or sequences from the GPU, the version and the flags (the memory of the cache where neither is "
        f"printed): {len(within)} of {len(counted)} rows are within 5 %, {len(within) / len(counted) * 100:.1f} %."
    )
    yield ""
    spreads = ["within 5 %", "median", "90th percentile", "worst"]
    groups: dict[str, list[Judged]] = {}
    for each in counted:
        groups.setdefault(each.row.profile, []).append(each)
        groups.setdefault(f"all of {each.row.engine}", []).append(each)
    yield from table(
        ["profile", "rows", *spreads, f"ideal: {spreads[0]}", *spreads[1:]],
        (_spread_line(name, groups[name]) for name in sorted(groups)),
    )
    yield ""
    yield from table(
        ["beyond 5 %", "profile", "error", "ideal", "why"],
        (
            [each.row.id, each.row.profile, _percent(each.tokens), _percent(each.ideal), each.row.facts.get("why", "")]
            for each in counted
            if each not in within
        ),
    )
    yield ""
    yield from table(
        ["not from the GPU", "in the memory that it prints", "from the GPU all the same", "reason"],
        (
            [each.row.id, _percent(each.stored) or "-", _percent(each.tokens) or "-", each.apart or ""]
            for each in rows
            if each.apart is not None and each.contradicts is None
        ),
    )
    yield ""
    yield from table(
        ["contradicts itself", "how"],
        ([each.row.id, each.contradicts] for each in rows if each.contradicts is not None),
    )
    yield ""
    yield _altogether(rows, unknown)


def _report_of_a_token(rows: Sequence[Judged]) -> Iterator[str]:
    told = [each for each in rows if each.token is not None]
    sound = [each for each in told if "inconsistent" not in each.row.facts]
    missed = [each for each in sound if abs(each.token or 0) > TOKEN_GOAL]
    yield (
        f"Bytes of a token on one GPU: {len(told)} rows print both figures; {len(sound) - len(missed)} of "
        f"{len(sound)} are within 0.5 %, {len(told) - len(sound)} are inconsistent in themselves."
    )
    yield ""
    yield from table(
        ["row", "error", "reason"],
        ([each.row.id, _percent(each.token), each.row.facts["inconsistent"]] for each in told if each not in sound),
    )
    for each in missed:
        yield f"missed: {each.row.id} {_percent(each.token)}"
    yield ""
    yield from _by_engine(sound, "token")


def _by_engine(rows: Sequence[Judged], figure: str) -> Iterator[str]:
    by_engine: dict[str, list[float]] = {}
    for each in rows:
        by_engine.setdefault(each.row.engine, []).append(getattr(each, figure))
    yield from table(
        ["engine", "rows", "median", "90th percentile", "worst"],
        (
            [engine, str(len(errors)), *(f"{error * 100:.2f} %" for error in spread(errors))]
            for engine, errors in sorted(by_engine.items())
        ),
    )


def _altogether(rows: Sequence[Judged], unknown: Sequence[str]) -> str:
    counting = [each for each in rows if each.row.counts and each.contradicts is None]
    best = [each.tokens if each.from_gpu else each.stored for each in counting]
    within = sum(error is not None and abs(error) <= TOKENS_GOAL for error in best)
    from_gpu = sum(each.from_gpu and abs(each.tokens or 0) <= TOKENS_GOAL for each in counting)
    nothing = ", ".join(each.row.id for each, error in zip(counting, best, strict=True) if error is None)
    text = (
        f"Altogether {len(counting)} rows print tokens or sequences and do not contradict themselves. "
        f"{from_gpu} are within 5 % from the GPU, {within - from_gpu} more from the memory that they print where the "
        f"GPU does not decide: {within / len(counting) * 100:.1f} %. Nothing follows for {nothing or 'none'}."
    )
    return f"{text} No shape is known for the model of {', '.join(unknown)}." if unknown else text


def _spread_line(name: str, rows: Sequence[Judged]) -> list[str]:
    line = [name, str(len(rows))]
    for values in ([each.tokens for each in rows], [each.ideal for each in rows]):
        known = [value for value in values if value is not None]
        line.append(str(sum(abs(value) <= TOKENS_GOAL for value in known)))
        line += [f"{value * 100:.1f} %" for value in spread(known)]
    return line


def table(head: Sequence[str], lines: Any) -> Iterator[str]:
    """A table in Markdown."""
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join('---' for _ in head)} |"
    for line in lines:
        yield f"| {' | '.join(line)} |"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
