"""Shapes and systems that the tests of the arithmetic share, written down apart from the catalogs."""

import os
import shutil
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest

from sizing.facility.system import Status, System
from sizing.pool.gpu import Gpu
from sizing.pool.precision import KvPrecision
from sizing.sequence.feed_forward import Experts, GatedMlp
from sizing.sequence.heads import FullAttention, SlidingAttention
from sizing.sequence.latent import LatentAttention
from sizing.sequence.model import Block, ModelShape
from sizing.units.figures import Figure


def figure(value: Any, unit: str = "") -> Figure[Any]:
    return Figure(value, unit, ("test",), "2026-01-01", "high")


def dense(
    name: str,
    *,
    layers: int,
    hidden: int,
    heads: int,
    kv_heads: int,
    intermediate: int,
    vocabulary: int,
    head_dim: int = 128,
    limit: int = 131_072,
    nominal: int | None = None,
) -> ModelShape:
    attention = FullAttention(query_heads=heads, kv_heads=kv_heads, head_dim=head_dim)
    block = Block(layers, attention, GatedMlp(intermediate=intermediate))
    return ModelShape(name, name, hidden, vocabulary, False, (block,), "bf16", limit, nominal)


def llama_70b(kv_heads: int, name: str = "llama-3.1-70b") -> ModelShape:
    return dense(
        name,
        layers=80,
        hidden=8_192,
        heads=64,
        kv_heads=kv_heads,
        intermediate=28_672,
        vocabulary=128_256,
        nominal=70 * 10**9,
    )


def llama_8b(kv_heads: int, name: str = "llama-3.1-8b") -> ModelShape:
    return dense(
        name,
        layers=32,
        hidden=4_096,
        heads=32,
        kv_heads=kv_heads,
        intermediate=14_336,
        vocabulary=128_256,
        nominal=8 * 10**9,
    )


def llama_405b(kv_heads: int, name: str = "llama-3.1-405b") -> ModelShape:
    return dense(
        name,
        layers=126,
        hidden=16_384,
        heads=128,
        kv_heads=kv_heads,
        intermediate=53_248,
        vocabulary=128_256,
        nominal=405 * 10**9,
    )


def phi_4() -> ModelShape:
    return dense(
        "phi-4",
        layers=40,
        hidden=5_120,
        heads=40,
        kv_heads=10,
        intermediate=17_920,
        vocabulary=100_352,
        limit=16_384,
    )


def deepseek_v3() -> ModelShape:
    attention = LatentAttention(
        query_heads=128,
        kv_lora_rank=512,
        rope_head_dim=64,
        nope_head_dim=128,
        value_head_dim=128,
        query_lora_rank=1_536,
    )
    experts = Experts(experts=256, active_experts=8, intermediate=2_048, shared_intermediate=2_048, router_bias=True)
    blocks = (Block(3, attention, GatedMlp(intermediate=18_432)), Block(58, attention, experts))
    return ModelShape("deepseek-v3", "DeepSeek-V3", 7_168, 129_280, False, blocks, "fp8-block", 163_840, 671 * 10**9)


def gpt_oss_120b() -> ModelShape:
    experts = Experts(experts=128, active_experts=4, intermediate=2_880, router_bias=True, expert_bias=True)
    heads: dict[str, Any] = {
        "query_heads": 64,
        "kv_heads": 8,
        "head_dim": 64,
        "qkv_bias": True,
        "output_bias": True,
        "sinks": True,
    }
    blocks = (
        Block(18, SlidingAttention(window=128, **heads), experts),
        Block(18, FullAttention(**heads), experts),
    )
    return ModelShape("gpt-oss-120b", "gpt-oss-120b", 2_880, 201_088, False, blocks, "mxfp4", 131_072, 117 * 10**9)


def windows_only() -> ModelShape:
    attention = SlidingAttention(query_heads=32, kv_heads=8, head_dim=128, window=4_096)
    block = Block(32, attention, GatedMlp(intermediate=14_336))
    return ModelShape("windows-only", "Windows only", 4_096, 32_000, False, (block,), "bf16", 32_768)


@pytest.fixture(scope="session")
def shapes() -> Mapping[str, ModelShape]:
    built = (
        llama_8b(8),
        llama_70b(8),
        llama_405b(8),
        llama_8b(32, "llama-8b-mha"),
        llama_70b(64, "llama-70b-mha"),
        llama_405b(128, "llama-405b-mha"),
        llama_70b(1, "llama-70b-mqa"),
        phi_4(),
        deepseek_v3(),
        gpt_oss_120b(),
        windows_only(),
    )
    return {model.name: model for model in built}


def eight_gpus(
    name: str, hbm_gb: int, driver_bytes: int | None, tb_s: str, tflops: str, domain_gpus: int = 8
) -> System:
    gpu = Gpu(
        name=f"{name}-gpu",
        title=name,
        vendor="test",
        generation="hopper",
        memory_kind="HBM3e",
        hbm_label_gb=figure(Fraction(hbm_gb), "GB"),
        hbm_driver_bytes=None if driver_bytes is None else figure(driver_bytes, "bytes"),
        hbm_tb_s=figure(Fraction(tb_s), "TB/s"),
        dense_tflops={"bf16": figure(Fraction(tflops), "TFLOPS")},
        tdp_w=None,
    )
    return System(
        name=name,
        title=name,
        vendor="test",
        status=Status.ON_SALE,
        gpu=gpu,
        domain_gpus=domain_gpus,
        domains_per_system=1,
        scale_up="NVLink",
        cooling="air",
        nameplate_kw=None,
        liquid_kw=None,
        rack_units=None,
    )


@pytest.fixture(scope="session")
def systems() -> Mapping[str, System]:
    built = (
        eight_gpus("h200-8", 141, 150_754_820_096, "4.8", "989.5"),
        eight_gpus("b200-8", 180, None, "7.7", "2250"),
        eight_gpus("b300-8", 288, None, "8", "2250"),
        eight_gpus("h200-16", 141, None, "4.8", "989.5", domain_gpus=16),
        eight_gpus("rack-72", 288, None, "8", "2500", domain_gpus=72),
    )
    return {system.name: system for system in built}


@pytest.fixture(scope="session")
def precisions() -> Mapping[str, KvPrecision]:
    bits = {"bf16": "16", "fp8": "8", "turboquant-3.5": "3.5"}
    return {
        name: KvPrecision(name, name, (), figure(Fraction(value), "bits"), frozenset({"hopper"}), ())
        for name, value in bits.items()
    }


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test that starts a missing program; fail it with SIZING_CI=1, where all programs must be there."""
    missing = [name for mark in item.iter_markers("needs_program") for name in mark.args if shutil.which(name) is None]
    if missing:
        say = pytest.fail if os.environ.get("SIZING_CI") == "1" else pytest.skip
        say(f"not installed: {', '.join(missing)}")
