"""Workloads as nested data: valid ones with odd corners, and the same with values in them that are none."""

import json
from collections.abc import Iterator
from copy import deepcopy
from random import Random
from typing import Any

from tests.robustness.odd_values import python_value

MODELS = (
    *("llama-3.1-8b", "llama-3.1-70b", "meta-llama/Llama-3.1-8B", "deepseek-v3", "gpt-oss-120b", "phi-4"),
    *("gemma-3-27b", "falcon-h1-7b", "config.json", "./odd name =1+1/config.json", "own", "no-such-model"),
)
SYSTEMS = (
    *("hgx-h200-8", "hgx-h200-8-liquid", "h200-nvl-8", "hgx-b300-8", "hgx-b300-8-liquid", "gb300-nvl72"),
    *("mi355x-8", "l40s-8", "rubin-nvl8", "hgx-a100-8", "gaudi3-8", "hgx-h20-8"),
)
STAGES = ("pods", "system_kinds", "power", "gpus", "precision", "weight_precision", "cost", "pods + 2 gpus", "3 cost")
NAMES = (
    *("chat", "=1+1", "@SUM(A1)", "-2", "+3", "../../x", "a/b", "C:\\x", "no", "null", "007", "1e3", "2026-11-29"),
    *("<b>x</b>", "Ä 東京 🙂", "\u202ex", "{{7}}", "%s", "classes[0]", "x: y", "# x", "'", '"', "|", "$(x)", "a\u0301"),
)
KV = ("bf16", "fp16", "fp8", "int8", "int4", "nvfp4", "turboquant-3.5", "turboquant-2.5")
WEIGHTS = ("bf16", "fp8", "fp8-block", "int8", "int4", "mxfp4", "nvfp4")
OWN_MODEL = {
    "title": "Own",
    "hidden": 1024,
    "vocabulary": 32000,
    "tied_embeddings": False,
    "weights": "bf16",
    "context_limit": "32k",
    "sources": ["llama3_70b_config"],
    "date": "2026-11-29",
    "confidence": "high",
    "layers": [
        {
            "count": 4,
            "attention": {"kind": "full", "query_heads": 8, "kv_heads": 2, "head_dim": 128},
            "feed_forward": {"kind": "gated", "intermediate": 4096},
        }
    ],
}


def plausible(random: Random) -> dict[str, Any]:
    """A workload that is valid or nearly so: every key, sizes from one sequence to absurdly many, limits from 0 up."""
    tree: dict[str, Any] = {"name": random.choice(NAMES)}
    names = random.sample(NAMES, random.choice((1, 1, 2, 3)))
    tree["classes"] = [_class(random, name) for name in names]
    if any(each["model"] == "own" for each in tree["classes"]) or random.random() < 0.05:
        tree["models"] = {"own": deepcopy(OWN_MODEL)}
    chance = random.random()
    if chance < 0.5:
        tree["site"] = _site(random)
    elif chance < 0.65:
        sites = random.sample(NAMES, random.choice((1, 2, 3)))
        tree["sites"] = [{"name": name, **_site(random)} for name in sites]
    if random.random() < 0.7:
        tree["policy"] = _policy(random)
    return tree


def spoiled(tree: dict[str, Any], random: Random) -> dict[str, Any]:
    """One to three values of a workload replaced by what is none, or keys added."""
    for _ in range(random.choice((1, 1, 2, 3))):
        places = list(_places(tree))
        holder, key = random.choice(places)
        if isinstance(holder, dict) and random.random() < 0.2:
            holder[random.choice((*NAMES, 1, None, True, "name"))] = python_value(random)
        elif random.random() < 0.1:
            del holder[key]
        else:
            holder[key] = python_value(random)
        if not tree:
            break
    return tree


def as_yaml(tree: Any, random: Random) -> bytes:
    """A tree as a file: JSON, which YAML contains, over several lines."""
    text = json.dumps(_writable(tree), indent=1, ensure_ascii=random.random() < 0.5)
    return text.encode("utf-8", errors="surrogatepass")


def _writable(value: Any) -> Any:
    """A tree that JSON can hold: keys as text, and what JSON does not know as a text that shows it."""
    if isinstance(value, dict):
        return {str(key): _writable(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_writable(inner) for inner in value]
    if isinstance(value, int) and value.bit_length() > 10_000:
        return "9" * 5_000
    return value if isinstance(value, str | int | float | None) else repr(value)[:30]


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """(container, key) of every value in a tree; lists and mappings that are spoiled already are not entered deeply."""
    pending = [value]
    for _ in range(300):
        if not pending:
            return
        holder = pending.pop()
        for key, inner in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
            yield holder, key
            if isinstance(inner, dict | list):
                pending.append(inner)


def _class(random: Random, name: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": name,
        "model": random.choice(MODELS[:-1] if random.random() < 0.95 else MODELS),
        "context": random.choice((1, 17, 512, "4k", "4k", 8192, "32k", "128k", 131_071, "1M", 10**9)),
        "concurrency": random.choice((1, 2, 20, 20, 100, 500, 2_000, 30_000, 10**6, 10**9)),
    }
    if random.random() < 0.3:
        found["kv_precision"] = random.sample(KV, random.choice((1, 1, 2, 3)))
    if random.random() < 0.2:
        found["weights"] = random.sample(WEIGHTS, random.choice((1, 1, 2)))
    if random.random() < 0.5:
        found["allow_longer_context"] = random.choice((True, "true", "True", False))
    return found


def _site(random: Random) -> dict[str, Any]:
    choices = {
        "pod": ("podos-1mw",),
        "power": ("0 kW", "1 W", "0.001 W", "900 kW", "5 MW", "1 GW", "1000 GW", "12.3456789 kW"),
        "liquid_heat": ("0 kW", "10 kW", "2 MW", "999999 MW"),
        "air_heat": ("0 kW", "10.05 kW", "800 kW", "2 MW"),
        "pods": (0, 1, 5, 10**6),
        "pod_air_heat": ("0 kW", "100 kW", "1 MW"),
        "pod_liquid_heat": ("0 kW", "500 kW", "1 MW"),
        "installed": ({}, {"pods": 2}, {"systems": {random.choice(SYSTEMS): random.choice((0, 1, 4, 500))}, "pods": 3}),
    }
    return {key: random.choice(values) for key, values in choices.items() if random.random() < 0.3}


def _policy(random: Random) -> dict[str, Any]:
    some = random.sample(SYSTEMS, random.choice((1, 1, 2, 3)))
    supply = {name: random.choice((0, 1, 12, 10**6)) for name in some}
    prices = {
        "systems": {name: random.choice(("0 USD", "415_000 USD", ["1 USD", "999_999_999 USD"])) for name in some},
        "pods": {"podos-1mw": random.choice(("0 USD", "1_500_000 USD", ["1.01 USD", "1.02 USD"]))},
    }
    if random.random() < 0.5:
        prices["energy"] = {"tariff": random.choice(("0 USD/kWh", "80 USD/MWh")), "horizon": "4 years"}
    choices: dict[str, tuple[Any, ...]] = {
        "reserve": ("0 %", "10 %", "99.9 %", 0.1, "0.000001 %"),
        "headroom": ("0 %", "5 %", "1000 %", "33.3333333 %"),
        "spare_systems": (0, 1, 3, 10**6),
        "systems": (some, some[0]),
        "supply": (supply,),
        "objective": (["pods"], "power", random.sample(STAGES, random.choice((1, 2, 4, 7)))),
        "mixed_pods": (True, False, "true"),
        "split_precision": (True, False),
        "dcp": (True, False),
        "engine": ("ideal", "vllm", "sglang", "tensorrt-llm", "vllm-0.25"),
        "hbm": ("label", "driver"),
        "power_basis": ("provisioned", "installed"),
        "prices": (prices,),
    }
    found = {key: random.choice(values) for key, values in choices.items() if random.random() < 0.25}
    if "engine" in found and random.random() < 0.8:
        found.pop("reserve", None)
    return found
