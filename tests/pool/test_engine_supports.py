"""What engines run on, as their profiles say it."""

import pytest

from sizing.catalog.catalog import Catalog
from sizing.pool.engines.supports import NOTHING_KNOWN, Supports

CATALOG = Catalog()


def refusal(engine: str, gpu: str, weights: str, kv: str) -> str | None:
    profile, bought = CATALOG.engine(engine), CATALOG.gpu(gpu)
    precision = CATALOG.kv_precision(kv)
    return profile.supports.refusal(profile.name, bought.vendor, bought.generation, weights, precision)


@pytest.mark.parametrize(
    ("engine", "gpu", "weights", "kv", "why"),
    [
        ("tensorrt-llm", "mi300x", "bf16", "bf16", "tensorrt-llm does not run on GPUs of AMD"),
        ("tensorrt-llm", "h200", "bf16", "int4", "tensorrt-llm keeps no KV cache in int4"),
        ("tensorrt-llm", "h200", "nvfp4", "fp8", "tensorrt-llm does not run nvfp4 weights on hopper GPUs"),
        ("tensorrt-llm", "b200", "nvfp4", "nvfp4", None),
        ("sglang", "h200", "bf16", "turboquant-3.5", "sglang keeps no KV cache in turboquant-3.5"),
        ("sglang", "mi300x", "bf16", "fp8", None),
        ("sglang", "gaudi3", "bf16", "bf16", "sglang does not run on GPUs of Intel"),
        ("vllm", "gaudi3", "bf16", "fp8", None),
        ("vllm", "h200", "int4", "int4", None),
        ("vllm-0.11", "h200", "bf16", "int8", "vllm-0.11 keeps no KV cache in int8"),
        ("vllm-0.19", "h200", "bf16", "int8", None),  # not known, and not checked
        ("ideal", "mi300x", "nvfp4", "turboquant-2.5", None),
    ],
)
def test_what_an_engine_runs_on(engine: str, gpu: str, weights: str, kv: str, why: str | None) -> None:
    assert refusal(engine, gpu, weights, kv) == why


def test_what_is_not_known_is_told() -> None:
    bf16, fp8 = CATALOG.kv_precision("bf16"), CATALOG.kv_precision("fp8")
    known = Supports(frozenset({"NVIDIA"}), frozenset({"bf16"}), {"nvfp4": frozenset({"hopper"})})
    assert known.unchecked("nvfp4", fp8) == ()
    assert known.unchecked("int4", bf16) == ("weights in int4",)
    assert NOTHING_KNOWN.unchecked("bf16", bf16) == ("the vendor of the GPU",)
    assert NOTHING_KNOWN.unchecked("int4", fp8) == ("the vendor of the GPU", "a KV cache in fp8", "weights in int4")


@pytest.mark.parametrize("name", [name for name in CATALOG.names("engines") if name != "ideal"])
def test_every_profile_names_vendors_of_the_catalog(name: str) -> None:
    supports = CATALOG.engine(name).supports
    vendors = {CATALOG.gpu(gpu).vendor for gpu in CATALOG.names("gpus")}
    assert supports.vendors
    assert supports.vendors <= vendors
    assert (supports.kv_precisions or frozenset()) <= set(CATALOG.names("precisions"))
