"""`sizing kv` with engine profiles: what is assumed, what an engine does not run, and how lines are labelled."""

import json
from typing import Any

import pytest

from sizing.cli.main import run


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert run(["kv", *arguments, "--json", "-"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    return found


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(["kv", *arguments]) == 0
    return " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("engine", "assumed"),
    [
        ("vllm", "vllm: 92 % of total memory, 8,192 tokens a step, 1,024 sequences at once"),
        ("tensorrt-llm", "tensorrt-llm: 90 % of what is free after a first run, 8,192 tokens a step"),
        ("sglang-0.4", "sglang-0.4: 81 % of what is free before weights are loaded;"),
    ],
)
def test_what_is_assumed_of_a_start(engine: str, assumed: str, capsys: pytest.CaptureFixture[str]) -> None:
    question = ("llama-3.1-70b", "--system", "hgx-h200-8", "--engine", engine)
    assert f"Assumed of a start of {assumed}" in " ".join(asked(capsys, *question)["notes"])
    assert f"Assumed of a start of {assumed}" in printed(capsys, *question)


def test_the_arithmetic_assumes_no_start(capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(capsys, "llama-3.1-70b", "--system", "hgx-h200-8")["notes"] == []


def test_what_an_engine_does_not_run_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    question = ("llama-3.1-70b", "--system", "mi300x-8", "--engine", "tensorrt-llm")
    said = "tensorrt-llm does not run on GPUs of AMD: `sizing solve` never pairs them."
    assert said in asked(capsys, *question)["notes"]
    assert said in printed(capsys, *question)


def test_what_is_not_checked_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    question = ("llama-3.1-70b", "--system", "hgx-h200-8", "--engine", "vllm-0.19", "--kv-precision", "int8")
    said = "Whether vllm-0.19 runs a KV cache in int8 on hopper GPUs is not checked."
    assert said in asked(capsys, *question)["notes"]


def test_a_version_names_its_profile(capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(capsys, "llama-3.1-8b", "--engine", "vllm-0.31")["engine"] == "vllm"
    assert run(["kv", "llama-3.1-8b", "--engine", "vllm-0.41"]) == 2
    assert "no profile is for vllm 0.41" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("model", "engine", "line"),
    [
        (
            "gpt-oss-120b",
            "sglang",
            "key value, windows stored in full: 2 x 18 layers x 8 KV heads x 64 x 1 byte x 0.8 tokens in the pool of "
            "windows = 14,745.6 bytes per token",
        ),
        (
            "llama-4-scout-17b-16e",
            "vllm",
            "key value, windows stored in full: 2 x 36 layers x 8 KV heads x 128 x 1 byte = 73,728 bytes per token",
        ),
    ],
)
def test_windows_in_full_are_labelled(model: str, engine: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert line in printed(capsys, model, "--engine", engine, "--kv-precision", "fp8")
