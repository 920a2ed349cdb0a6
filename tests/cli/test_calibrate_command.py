"""`sizing calibrate` from end to end."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from sizing.cli.main import run

LOG = """\
INFO vLLM API server version 0.19.0
INFO Initializing a V1 LLM engine (v0.19.0) with config: model='meta-llama/Llama-3.1-8B-Instruct', \
dtype=torch.bfloat16, max_seq_len=8192, tensor_parallel_size=1, quantization=None, kv_cache_dtype=auto
INFO Model loading took 14.99 GiB memory and 3.2 seconds
DEBUG Initial free memory: 78.68 GiB; Requested memory: 0.950000 (util), 75.23 GiB
INFO Available KV cache memory: 58.11 GiB
INFO GPU KV cache size: 476,016 tokens
INFO Maximum concurrency for 8,192 tokens per request: 58.11x
"""
H100 = ("--system", "hgx-h100-8")
FEW = "Available KV cache memory: 58.11 GiB\nGPU KV cache size: 476,016 tokens\n"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "start.log"
    path.write_text(LOG, encoding="utf-8")
    return path


def told(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    assert run(["calibrate", *map(str, arguments), "--json", "-"]) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert run(["calibrate", *map(str, arguments)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "Traceback" not in said.err
    return said.err


def test_a_whole_log(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = told(capsys, log)
    assert found["schema"] == "sizing.calibration/1"
    assert (found["engine"], found["profile"], found["model"]) == ("vllm", "vllm-0.19", "llama-3.1-8b")
    figures = {each["figure"]: each for each in found["figures"]}
    assert set(figures) == {"weights", "token", "outside", "cache", "tokens", "sequences"}
    assert abs(figures["token"]["error"]) < 0.005
    assert abs(figures["tokens"]["error"]) < 0.05
    assert figures["tokens"]["log"] == 476_016


def test_on_the_screen(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["calibrate", str(log)]) == 0
    said = " ".join(capsys.readouterr().out.split())  # the name of the file decides where lines are broken
    assert "vllm 0.19.0 against the profile vllm-0.19: llama-3.1-8b" in said
    assert "as the profile stores it" in said
    assert "weights are counted in bf16" in said


def test_a_few_lines_with_what_they_lack(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "few.log"
    path.write_text(FEW, encoding="utf-8")
    (found,) = told(capsys, path, "--model", "llama-3.1-8b", "--system", "hgx-h100-8", "--engine", "vllm-0.19")
    assert "the log prints no tensor parallel size: taken as 1" in found["taken"]
    assert "the log names no version: the newest profile is taken" not in found["taken"]
    figures = {each["figure"]: each for each in found["figures"]}
    assert figures["token"]["log"] == pytest.approx(131_078, abs=1)


def test_several_logs(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert len(told(capsys, log, log)) == 2


def test_an_overlay_is_what_the_next_call_takes(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "measured"
    (found,) = told(capsys, log, *H100, "-o", folder)
    assert sorted(path.name for path in folder.iterdir()) == ["engines.yaml", "sources.yaml"]
    (again,) = told(capsys, log, *H100, "--catalog", folder)
    figures = {each["figure"]: each for each in again["figures"]}
    assert abs(figures["outside"]["error"]) < 1e-6
    assert abs(figures["tokens"]["error"]) < 1e-4
    call = ["kv", "llama-3.1-8b", "--system", "hgx-h100-8", "--engine", "vllm-0.19", "--tp", "1", "--json", "-"]
    assert run(call) == 0
    before = json.loads(capsys.readouterr().out)[0]["reserve_bytes"]
    assert run([*call, "--catalog", str(folder)]) == 0
    assert json.loads(capsys.readouterr().out)[0]["reserve_bytes"] != before
    assert found["outside_bytes"] > 0


def test_an_overlay_never_overwrites(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "measured"
    told(capsys, log, *H100, "-o", folder)
    kept = (folder / "engines.yaml").read_bytes()
    assert "is there already" in refused(capsys, log, *H100, "-o", folder, "--tp", "1")
    assert (folder / "engines.yaml").read_bytes() == kept
    told(capsys, log, *H100, "-o", folder, "--force")


def test_of_two_logs_the_greater_counts(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = tmp_path / "other.log"
    other.write_text(LOG.replace("memory: 58.11", "memory: 57.11"), encoding="utf-8")
    folder = tmp_path / "measured"
    found = told(capsys, log, other, *H100, "-o", folder)
    text = (folder / "engines.yaml").read_text(encoding="utf-8")
    low, high = sorted(each["outside_bytes"] for each in found)
    assert f"value: {high} bytes" in text
    assert f"range: [{low} bytes, {high} bytes]" in text


def test_bad_input(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "no such file" in refused(capsys, tmp_path / "none.log")
    few = tmp_path / "few.log"
    few.write_text(FEW, encoding="utf-8")
    assert "few.log: names no model (accepted: --model)" in refused(capsys, few)
    nothing = tmp_path / "nothing.log"
    nothing.write_text("all is well\n", encoding="utf-8")
    said = refused(capsys, nothing, few, "--tp", "x")
    assert "says nothing of an engine's memory" in said
    assert "few.log: names no model" in said
    assert "--tp" in said
    assert "did you mean" in refused(capsys, log, "--engine", "vlm")
    assert "cannot be split over TP 5" in refused(capsys, few, "--model", "llama-3.1-8b", "--tp", "5")
    staged = tmp_path / "staged.log"
    staged.write_text(LOG.replace("quantization", "pipeline_parallel_size=2, quantization"), encoding="utf-8")
    assert "pipeline parallel size 2" in refused(capsys, staged)
    unknown = tmp_path / "unknown.log"
    unknown.write_text(LOG.replace("Llama-3.1-8B-Instruct", "Llama-9-8B"), encoding="utf-8")
    assert "its model is not in the catalog" in refused(capsys, unknown)


def test_nothing_to_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "few.log"
    path.write_text("GPU KV cache size: 476,016 tokens\n", encoding="utf-8")
    said = refused(capsys, path, "--model", "llama-3.1-8b", "-o", tmp_path / "measured")
    assert "no log shows what its engine takes beside the cache" in said
    assert not (tmp_path / "measured").exists()


def test_a_log_that_shows_no_overhead_is_told(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A cache larger than what the GPU has beside the weights: the overlay holds the other log alone."""
    other = tmp_path / "other.log"
    other.write_text(LOG.replace("memory: 58.11", "memory: 68.11"), encoding="utf-8")
    folder = tmp_path / "measured"
    assert run(["calibrate", str(log), str(other), *H100, "-o", str(folder)]) == 0
    assert "other.log: less than nothing is seen beside cache and weights" in " ".join(capsys.readouterr().out.split())
    assert (folder / "engines.yaml").read_text(encoding="utf-8").count("model:") == 1
    assert "no log shows" in refused(capsys, log, *H100, "--engine", "ideal", "-o", tmp_path / "none")
    assert "no log names its GPU: --system does" in refused(capsys, log, "-o", tmp_path / "none")


@pytest.mark.parametrize(
    "name",
    [
        "/models/Llama-3.1-8B-Instruct",
        "/data/huggingface/hub/models--meta-llama--Llama-3.1-8B-Instruct/snapshots/0e9e39f2",
        "LLAMA-3.1-8B",
    ],
)
def test_models_are_known_by_the_end_of_a_path(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "start.log"
    path.write_text(LOG.replace("meta-llama/Llama-3.1-8B-Instruct", name), encoding="utf-8")
    (found,) = told(capsys, path)
    assert found["model"] == "llama-3.1-8b"


def test_a_version_that_no_profile_is_for_is_told(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log.write_text(LOG.replace("0.19.0", "0.2.5").replace("a V1 LLM", "an LLM"), encoding="utf-8")
    (found,) = told(capsys, log)
    assert found["profile"] == "vllm-0.6"
    assert "the profile vllm-0.6 was not made for version 0.2.5" in found["taken"]
    log.write_text(FEW, encoding="utf-8")
    (found,) = told(capsys, log, "--model", "llama-3.1-8b")
    assert "the log names no version: the newest profile is taken" in found["taken"]


def test_attention_data_parallel_of_sglang(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """TP 8 and DP 8 of SGLang are one GPU a sequence, and the tokens are those of one rank."""
    path = tmp_path / "start.log"
    path.write_text(
        "server_args=ServerArgs(model_path='deepseek-ai/DeepSeek-V3', tp_size=8, dp_size=8, enable_dp_attention=True, "
        "mem_fraction_static=0.85)\n[DP0 TP0] Load weight begin. avail mem=138.00 GB\n"
        "[DP0 TP0] KV Cache is allocated. #tokens: 324889, KV size: 21.26 GB\n",
        encoding="utf-8",
    )
    (found,) = told(capsys, path)
    assert (found["layout"], found["gpus"]) == ("TP 1, attention DP 8", 8)
    errors = {each["figure"]: each["error"] for each in found["figures"]}
    assert abs(errors["token"]) < 0.005
    assert abs(errors["tokens"]) < 0.05


def test_no_gpus_are_refused(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "--tp: must be more than 0" in refused(capsys, log, "--tp", "0")


def written(log: Path, folder: Path, *more: str) -> str:
    assert run(["calibrate", str(log), *H100, "-o", str(folder), "--force", *more]) == 0
    return str(folder)


def asked(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    capsys.readouterr()
    assert run(["kv", "llama-3.1-8b", *arguments, "--json", "-"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    return found


def test_how_to_use_what_was_written_reproduces_the_log(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = written(log, tmp_path / "measured")
    said = " ".join(capsys.readouterr().out.split())
    call = re.search(r"sizing kv (\S+) (.*? --catalog) ", said)
    assert call is not None
    assert "engine: vllm-0.19 and hbm: driver" in said
    found = asked(capsys, *call[2].split(), folder)
    assert call[1] == found["model"]
    budget = found["kv_budget_bytes"]
    assert budget / 2**30 == pytest.approx(58.11, abs=0.6)  # 0.55 GiB are the driver's, more or less
    notes = " ".join(found["notes"])
    assert "Measured in start.log: a GPU takes" in notes
    assert "started with share 95 %" in notes
    assert "hbm driver" not in notes
    by_label = " ".join(asked(capsys, *H100, "--engine", "vllm-0.19", "--tp", "1", "--catalog", folder)["notes"])
    assert "5.14 GiB a GPU less than the driver reports: hbm driver gives what the log shows" in by_label


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--system", "hgx-h200-8", "--engine", "vllm-0.19", "--tp", "1"), "the GPU is h200, not h100"),
        ((*H100, "--engine", "vllm", "--tp", "1"), "the profile is vllm, not vllm-0.19"),
        ((*H100, "--tp", "1"), "the profile is ideal, not vllm-0.19"),
        ((*H100, "--engine", "vllm-0.19", "--tp", "2"), "a replica has 2 GPUs, not 1; TP is 2, not 1"),
        ((*H100, "--engine", "vllm-0.19", "--tp", "1", "--kv-precision", "fp8"), "the cache is in fp8, not bf16"),
        ((*H100, "--engine", "vllm-0.19", "--tp", "1", "--weights", "int4"), "the weights are not in bf16"),
    ],
)
def test_what_does_not_hold_changes_nothing_and_says_so(
    options: tuple[str, ...], why: str, log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = written(log, tmp_path / "measured")
    found, before = asked(capsys, *options, "--catalog", folder), asked(capsys, *options)
    assert f"under vllm-0.19 is not used: {why}." in " ".join(found.pop("notes"))
    before.pop("notes")
    assert found == before


def test_what_is_said_must_not_contradict_the_log(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(capsys, log, "--tp", "4")
    assert "start.log: --tp 4 contradicts the log, which says tensor parallel size 1" in said
    said = refused(capsys, log, "--model", "llama-3.1-70b")
    assert "start.log: --model llama-3.1-70b contradicts the log, which names llama-3.1-8b" in said
    assert "--system hgx-h200-8 contradicts the log" in refused(capsys, log, "--system", "hgx-h200-8")
    (found,) = told(capsys, log, "--tp", "1", "--model", "meta-llama/Llama-3.1-8B-Instruct", *H100)
    assert found["gpus"] == 1
    unknown = tmp_path / "unknown.log"
    unknown.write_text(LOG.replace("Llama-3.1-8B-Instruct", "our-fine-tune"), encoding="utf-8")
    assert told(capsys, unknown, "--model", "llama-3.1-8b")[0]["model"] == "llama-3.1-8b"


def test_one_refused_log_hides_no_other(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nothing = tmp_path / "nothing.log"
    nothing.write_text("all is well\n", encoding="utf-8")
    assert run(["calibrate", str(log), str(nothing), str(log)]) == 2
    said = capsys.readouterr()
    assert " ".join(said.out.split()).count("against the profile vllm-0.19") == 2
    assert "nothing.log: says nothing of an engine's memory" in said.err


def test_nothing_is_written_of_another_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "start.log"
    path.write_text(LOG.replace("meta-llama/Llama-3.1-8B-Instruct", "/models/x"), encoding="utf-8")
    said = refused(capsys, path, "--model", "qwen3-32b", *H100, "-o", tmp_path / "measured")
    assert "weights are off by more than 20 %" in said
    assert not (tmp_path / "measured").exists()
