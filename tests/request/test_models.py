"""Models that a workload brings along: by path and under `models`; what enters the request is the shape."""

import json
from pathlib import Path
from typing import Any

import pytest

from sizing.catalog.border import LONGEST_NAME
from sizing.catalog.catalog import Catalog
from sizing.request.canonical import canonical_json
from sizing.request.load import load_workload, request_from_document, workload_from
from sizing.request.request import Request
from sizing.units.errors import BadInput

CASES: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parents[1] / "intake" / "family_cases.json").read_text("utf-8")
)


def config(folder: Path, model_type: str = "llama") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "config.json"
    path.write_text(json.dumps(CASES[model_type]["config"]), encoding="utf-8")
    return path


def workload(*models: str) -> dict[str, Any]:
    classes = [{"name": f"c{n}", "model": model, "context": 64, "concurrency": 3} for n, model in enumerate(models)]
    return {"name": "Own models", "classes": classes, "policy": {"systems": ["hgx-h200-8"]}}


def request(folder: Path, *models: str) -> Request:
    return workload_from(workload(*models), Catalog(), folder=folder)


def refused(folder: Path, *models: str) -> list[str]:
    with pytest.raises(BadInput) as caught:
        request(folder, *models)
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize("model_type", ["llama", "falcon_h1", "deepseek_v4", "nemotron_h"])
def test_a_path_enters_as_its_shape(tmp_path: Path, model_type: str) -> None:
    config(tmp_path / "mine", model_type)
    found = request(tmp_path, "mine/config.json", "llama-3.1-8b")
    assert [service.model.name for service in found.classes] == ["mine", "llama-3.1-8b"]
    assert found.classes[0].model.parameters == CASES[model_type]["parameters"]
    assert [*found.document["models"]] == ["mine"]
    assert found.entries["models"]["mine"]["imported"]["file"] == "config.json"
    assert str(tmp_path).encode() not in canonical_json([found.document, found.entries])


def test_the_request_reads_back_without_the_file(tmp_path: Path) -> None:
    path = config(tmp_path / "mine", "falcon_h1")
    found = request(tmp_path, "mine/config.json")
    path.unlink()
    assert request_from_document(json.loads(json.dumps(found.document)), Catalog()) == found


def test_the_folder_of_the_workload_does_not_matter(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        config(tmp_path / folder / "mine")
        text = "name: Own models\nclasses: [{name: c, model: ./mine/config.json, context: 64, concurrency: 3}]\n"
        (tmp_path / folder / "w.yaml").write_text(text, encoding="utf-8")
    first, second = (load_workload(tmp_path / folder / "w.yaml", Catalog()) for folder in ("a", "b"))
    assert first.input_sha256 == second.input_sha256


def test_a_shape_may_stand_in_the_workload(tmp_path: Path) -> None:
    config(tmp_path / "mine")
    by_path = request(tmp_path, "mine/config.json")
    stated = {
        **workload("mine"),
        "models": {**by_path.document["models"], "unused": by_path.document["models"]["mine"]},
    }
    assert workload_from(stated, Catalog()).document == by_path.document


def test_a_shape_that_is_wrong_is_told_with_its_key(tmp_path: Path) -> None:
    config(tmp_path / "mine")
    models = json.loads(json.dumps(request(tmp_path, "mine/config.json").document["models"]))
    models["mine"]["layers"][0]["attention"]["head_dims"] = 3
    models["mine"]["sources"] = ["nowhere"]
    with pytest.raises(BadInput) as caught:
        workload_from({**workload("mine"), "models": models}, Catalog())
    said = "\n".join(str(problem) for problem in caught.value.problems)
    assert "models.mine.layers[0].attention.head_dims: unknown key" in said


def test_one_file_may_serve_several_classes(tmp_path: Path) -> None:
    config(tmp_path / "mine")
    found = request(tmp_path, "mine/config.json", "./mine/config.json")
    assert found.classes[0].model == found.classes[1].model


def test_folders_tell_models_of_one_name_apart(tmp_path: Path) -> None:
    config(tmp_path / "a" / "mine")
    config(tmp_path / "b" / "mine", "mistral")
    config(tmp_path / "x y" / "llama-3.1-8b")
    found = request(tmp_path, "a/mine/config.json", "./b/mine", "./a/mine")
    assert [service.model.name for service in found.classes] == ["a-mine", "b-mine", "a-mine"]
    assert [*found.document["models"]] == ["a-mine", "b-mine"]
    assert request_from_document(json.loads(json.dumps(found.document)), Catalog()) == found
    found = request(tmp_path, "x y/llama-3.1-8b/config.json", "meta-llama/Llama-3.1-8B")
    assert [service.model.name for service in found.classes] == ["x-y-llama-3.1-8b", "llama-3.1-8b"]
    assert found.classes[0].model.parameters == CASES["llama"]["parameters"]
    assert [*found.document["models"]] == ["x-y-llama-3.1-8b"]


def test_a_file_named_like_a_stated_shape_is_told_apart(tmp_path: Path) -> None:
    config(tmp_path / "a" / "mine")
    config(tmp_path / "b" / "mine", "mistral")
    models = request(tmp_path, "./a/mine").document["models"]
    found = workload_from({**workload("mine", "./b/mine"), "models": models}, Catalog(), folder=tmp_path)
    assert [service.model.name for service in found.classes] == ["mine", "b-mine"]


def test_the_same_file_under_two_paths_is_one_model(tmp_path: Path) -> None:
    config(tmp_path / "a" / "mine")
    config(tmp_path / "b" / "mine")
    found = request(tmp_path, "a/mine/config.json", "b/mine/config.json")
    assert [service.model.name for service in found.classes] == ["mine", "mine"]


def test_a_name_too_long_to_be_told_apart_says_the_way_out(tmp_path: Path) -> None:
    name = "m" * (LONGEST_NAME - 1)
    config(tmp_path / "a" / name)
    config(tmp_path / "b" / name, "mistral")
    lines = refused(tmp_path, f"./a/{name}", f"./b/{name}")
    assert [line.split(":")[0] for line in lines] == ["classes[0].model", "classes[1].model"]
    assert all("another model of the workload has the same name" in line for line in lines)
    assert all("accepted: another name of the file or of its folder" in line for line in lines)


def test_what_a_file_leaves_open_is_an_assumption_of_the_plan(tmp_path: Path) -> None:
    path = config(tmp_path / "mine")
    tree = {**CASES["llama"]["config"], "quantization_config": {"quant_method": "frobnicate"}}
    tree.pop("num_key_value_heads", None)
    path.write_text(json.dumps(tree), encoding="utf-8")
    found = request(tmp_path, "mine/config.json", "deepseek-v3")
    own = [sentence for sentence in found.assumptions if sentence.startswith("mine: ")]
    assert any("leaves out num_key_value_heads" in sentence for sentence in own)
    assert any("Quantisation frobnicate is not known here" in sentence for sentence in own)
    assert not any(sentence.startswith("deepseek-v3: ") for sentence in found.assumptions)
    assert request_from_document(json.loads(json.dumps(found.document)), Catalog()).assumptions == found.assumptions


def test_what_is_wrong_with_files_is_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "odd.json").write_text('{"model_type": "lama"}', encoding="utf-8")
    lines = refused(tmp_path, "odd.json", "none/config.json")
    assert any("odd.json" in line and "no rule for lama" in line for line in lines)
    assert any(line.startswith("classes[1].model: no such file") for line in lines)


def test_the_home_of_nobody_is_no_folder(tmp_path: Path) -> None:
    (line,) = refused(tmp_path, "~nobody-is-called-so/config.json")
    assert line.startswith("classes[0].model: no such file (seen: '~nobody-is-called-so/config.json'")
