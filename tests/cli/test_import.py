"""`sizing import` from a file to a catalog that other commands read, and `sizing kv` of files."""

import json
from pathlib import Path
from typing import Any

import pytest

from sizing.cli.main import run

CASES: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "intake" / "family_cases.json").read_text("utf-8")
)
CONFIGS = Path(__file__).parents[3] / "shared" / "data" / "configs"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "My-Falcon" / "config.json"
    path.parent.mkdir()
    path.write_text(json.dumps(CASES["falcon_h1"]["config"]), encoding="utf-8")
    return path


def documents(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    assert run(["kv", *arguments, "--json", "-"]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


def test_the_entry_gives_what_the_file_gives(capsys: pytest.CaptureFixture[str], config: Path, tmp_path: Path) -> None:
    assert run(["import", str(config), "-o", str(tmp_path / "mine")]) == 0
    assert (tmp_path / "mine" / "models" / "my-falcon.yaml").is_file()
    capsys.readouterr()
    (by_path,) = documents(capsys, str(config))
    (by_name,) = documents(capsys, "my-falcon", "--catalog", str(tmp_path / "mine"))
    assert by_path == by_name
    assert by_path["parameters"] == CASES["falcon_h1"]["parameters"]
    assert run(["catalog", "models", "my-falcon", "--catalog", str(tmp_path / "mine")]) == 0
    said = capsys.readouterr().out
    assert "falcon_h1" in said
    assert "mamba2" in said


def test_without_a_target_the_entry_is_printed(capsys: pytest.CaptureFixture[str], config: Path) -> None:
    assert run(["import", str(config)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("title: My-Falcon\n")
    assert "sha256: " in out


def test_the_folder_of_a_checkpoint_will_do(capsys: pytest.CaptureFixture[str], config: Path, tmp_path: Path) -> None:
    assert run(["import", str(config)]) == 0
    of_the_file = capsys.readouterr().out
    assert run(["import", str(config.parent)]) == 0
    assert capsys.readouterr().out == of_the_file
    assert documents(capsys, str(config.parent))[0]["model"] == "my-falcon"
    assert run(["import", str(tmp_path)]) == 2
    assert "is a folder (accepted: a config.json, or a folder with one)" in capsys.readouterr().err


def test_an_entry_in_place_of_a_shipped_model_is_told(
    capsys: pytest.CaptureFixture[str], config: Path, tmp_path: Path
) -> None:
    for name, told in (("llama-3.1-70b", True), ("tiny", False)):
        assert run(["import", str(config), "--name", name, "-o", str(tmp_path / "mine")]) == 0
        assert ("in place of the shipped model" in capsys.readouterr().err) is told


def test_an_entry_in_place_of_a_shipped_model_keeps_nothing_of_it(
    capsys: pytest.CaptureFixture[str], config: Path, tmp_path: Path
) -> None:
    overlay = tmp_path / "mine"
    assert run(["import", str(config), "--name", "llama-3.1-70b", "-o", str(overlay)]) == 0
    assert (overlay / "models" / "llama-3.1-70b.yaml").read_text("utf-8").startswith("replaces: true\n")
    capsys.readouterr()
    (found,) = documents(capsys, "llama-3.1-70b", "--catalog", str(overlay))
    assert found["parameters"] == CASES["falcon_h1"]["parameters"]
    assert found["nominal"] is None
    assert run(["kv", "meta-llama/Llama-3.1-70B", "--catalog", str(overlay)]) == 2
    capsys.readouterr()
    assert run(["catalog", "models", "llama-3.1-70b", "--catalog", str(overlay), "--json", "-"]) == 0
    entry = json.loads(capsys.readouterr().out)
    assert "llama3_70b_config" not in json.dumps(entry)
    assert "replaces" not in json.dumps(entry)


def test_what_a_file_leaves_open_is_told_by_every_command(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "mine" / "config.json"
    path.parent.mkdir()
    quantised = {"quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8"}}
    path.with_name("hf_quant_config.json").write_text(json.dumps(quantised), encoding="utf-8")
    tree = {key: value for key, value in CASES["llama"]["config"].items() if key != "num_key_value_heads"}
    path.write_text(json.dumps(tree), encoding="utf-8")
    told = ["Its file leaves out num_key_value_heads: taken as its architecture has it by default."]
    told.append("The checkpoint asks for a KV cache in fp8.")
    assert documents(capsys, str(path))[0]["notes"] == told
    assert run(["kv", str(path)]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert all(note in " ".join(said.out.split()) for note in told)
    assert run(["import", str(path), "-o", str(tmp_path / "catalog")]) == 0
    capsys.readouterr()
    assert documents(capsys, "mine", "--catalog", str(tmp_path / "catalog"))[0]["notes"] == told
    workload, plan = tmp_path / "w.yaml", tmp_path / "plan.json"
    workload.write_text(
        "name: Mine\nclasses:\n- {name: c, model: ./mine, context: 64, concurrency: 3}\n"
        "policy: {systems: [hgx-h200-8]}\n",
        encoding="utf-8",
    )
    assert run(["solve", str(workload), "--json", str(plan), "--out", str(tmp_path)]) == 0
    said_by_solve = " ".join(capsys.readouterr().out.split())
    assert all(f"mine: {note}" in said_by_solve for note in told)
    assert run(["verify", str(plan)]) == 0


def test_nothing_is_overwritten_unasked(capsys: pytest.CaptureFixture[str], config: Path, tmp_path: Path) -> None:
    target = tmp_path / "other.yaml"
    target.write_text("mine", encoding="utf-8")
    assert run(["import", str(config), "-o", str(target)]) == 2
    assert "other.yaml: this file is there already" in capsys.readouterr().err
    assert target.read_text("utf-8") == "mine"
    assert run(["import", str(config), "-o", str(target), "--force"]) == 0
    assert target.read_text("utf-8").startswith("title: My-Falcon")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--name", "a/b"), "--name: is no name of an entry (seen: 'a/b'"),
        (("--name", "b", "-o", "a.yaml"), "--out: an entry is named after its file (seen: 'a.yaml'; accepted: b.yaml"),
    ],
)
def test_names(capsys: pytest.CaptureFixture[str], config: Path, arguments: tuple[str, ...], said: str) -> None:
    assert run(["import", str(config), *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_name_of_ones_own(capsys: pytest.CaptureFixture[str], config: Path, tmp_path: Path) -> None:
    assert run(["import", str(config), "--name", "tiny", "-o", str(tmp_path / "mine")]) == 0
    capsys.readouterr()
    assert documents(capsys, "tiny", "--catalog", str(tmp_path / "mine"))[0]["model"] == "tiny"


def test_an_architecture_without_a_rule_writes_nothing(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text('{"model_type": "lama"}', encoding="utf-8")
    assert run(["import", str(path), "-o", str(tmp_path / "mine")]) == 2
    assert f"{path}:1: model_type: no rule for lama" in capsys.readouterr().err
    assert not (tmp_path / "mine").exists()


def test_one_refused_file_hides_no_other(capsys: pytest.CaptureFixture[str], config: Path, tmp_path: Path) -> None:
    odd = tmp_path / "odd.json"
    odd.write_text('{"model_type": "lama"}', encoding="utf-8")
    arguments = ["kv", str(odd), str(config), "lamma", "llama-3.1-8b", "--json", "-"]
    assert run(arguments) == 2
    said = capsys.readouterr()
    assert [found["model"] for found in json.loads(said.out)] == ["my-falcon", "llama-3.1-8b"]
    assert f"{odd}:1: model_type: no rule for lama" in said.err
    assert "MODEL: model 'lamma' is not known" in said.err


def test_nothing_is_printed_where_an_option_is_wrong(capsys: pytest.CaptureFixture[str], config: Path) -> None:
    assert run(["kv", str(config), "--tp", "x", "--json", "-"]) == 2
    assert capsys.readouterr().out == ""


def test_all_configurations_in_one_call(capsys: pytest.CaptureFixture[str]) -> None:
    if not CONFIGS.is_dir():
        pytest.skip("the configurations are not at hand")
    paths = [str(path) for path in sorted(CONFIGS.glob("*.json")) if "hf_quant_config" not in path.name]
    assert run(["kv", *paths, "--json", "-"]) == 2
    said = capsys.readouterr()
    assert len(json.loads(said.out)) == len(paths) - 1
    assert "rwkv5" in said.err


def test_a_plan_with_a_model_of_ones_own_is_verified_without_its_file(
    capsys: pytest.CaptureFixture[str], config: Path, tmp_path: Path
) -> None:
    workload, plan = tmp_path / "w.yaml", tmp_path / "plan.json"
    workload.write_text(
        "name: Mine\nclasses:\n- {name: c, model: My-Falcon/config.json, context: 128, concurrency: 3}\n"
        "policy: {systems: [hgx-h200-8]}\n",
        encoding="utf-8",
    )
    assert run(["solve", str(workload), "--json", str(plan), "--out", str(tmp_path)]) == 0
    config.unlink()
    document = json.loads(plan.read_text("utf-8"))
    assert str(tmp_path) not in plan.read_text("utf-8")
    assert document["request"]["classes"][0]["model"] == "my-falcon"
    assert run(["verify", str(plan)]) == 0
    document["request"]["models"]["my-falcon"]["layers"][0]["attention"]["kv_heads"] *= 2
    plan.write_text(json.dumps(document), encoding="utf-8")
    capsys.readouterr()
    assert run(["verify", str(plan)]) == 5
    said = capsys.readouterr().out
    assert "memory.weights: says" in said
    assert "input_sha256" in said
