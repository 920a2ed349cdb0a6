"""The histogram that growth with classes is measured on: always the same sequences, and no context too long."""

import json
from pathlib import Path

import pytest

import sizing
from benchmarks.classes import CONTEXT_LIMIT, SEQUENCES, contexts_of, workload


@pytest.mark.parametrize("classes", [1, 10, 1_000])
def test_classes_divide_the_same_sequences(classes: int) -> None:
    contexts = contexts_of(None)
    request = sizing.load_workload(workload(contexts, classes))
    assert len(request.classes) == classes
    assert sum(service.demand for service in request.classes) == SEQUENCES
    assert max(service.context for service in request.classes) == max(contexts) <= CONTEXT_LIMIT


def test_traces_are_read_in_both_forms(tmp_path: Path) -> None:
    azure, mooncake = tmp_path / "azure.csv", tmp_path / "mooncake.jsonl"
    azure.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n2023,300,40\n2023,20,10\n", encoding="utf-8")
    mooncake.write_text(json.dumps({"input_length": 200_000, "output_length": 5}) + "\n", encoding="utf-8")
    assert contexts_of(azure) == [30, 340]
    assert contexts_of(mooncake) == [CONTEXT_LIMIT]
