"""One odd input a seed: a workload, and where it comes with one, a folder of catalogs. The same seed gives the same."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from random import Random
from unittest.mock import patch

from sizing.catalog import layers
from sizing.catalog.catalog import Catalog
from sizing.catalog.folders import catalogs_folder
from sizing.request.request import Request
from sizing.units.errors import BadInput
from tests.robustness.judge import answered, is_clear, loaded
from tests.robustness.odd_catalogs import odd_catalog, workload
from tests.robustness.odd_texts import hostile, mutated
from tests.robustness.odd_workloads import as_yaml, plausible, spoiled

ROOT = Path(__file__).resolve().parent.parent.parent
KINDS = ("text",) * 4 + ("plausible",) * 2 + ("spoiled",) * 3 + ("mapping",) * 2 + ("catalog",) * 3 + ("hostile",)
CONFIGURATION = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 1024,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "head_dim": 128,
    "intermediate_size": 4096,
    "vocab_size": 32000,
    "max_position_embeddings": 32768,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}


@dataclass(frozen=True)
class Outcome:
    """`kind` of input, and what came of it: refused, loaded, or the status of the answer."""

    kind: str
    came: str


class OddInputs:
    """Tries inputs in a folder of its own; shipped catalogs are parsed once, which is most of the time of a case."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._catalog = Catalog()
        self._texts = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "workloads").glob("*.yaml"))]
        for place, width in ((folder, 4096), (folder / "odd name =1+1", 2048)):
            place.mkdir(exist_ok=True)
            configuration = json.dumps({**CONFIGURATION, "intermediate_size": width})
            (place / "config.json").write_text(configuration, encoding="utf-8")

    def outcome(self, seed: int, time_limit: float | None = None) -> Outcome:
        """Load what the seed gives and judge what comes of it; with a time limit, in seconds, plan with it as well.

        Raises AssertionError, or whatever the program wrongly lets through.
        """
        random = Random(seed)
        kind = random.choice(KINDS)
        catalog = self._catalog
        if kind == "catalog":
            laid = self._laid_over(random)
            if isinstance(laid, BadInput):
                return Outcome(kind, "refused")
            catalog = laid
        request = self._request(kind, random, catalog)
        if isinstance(request, BadInput):
            return Outcome(kind, "refused")
        return Outcome(kind, "loaded" if time_limit is None else answered(request, time_limit, catalog))

    def _laid_over(self, random: Random) -> Catalog | BadInput:
        folder = self._folder / "mine"
        shutil.rmtree(folder, ignore_errors=True)
        for path, content in odd_catalog(random).items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        try:
            return Catalog([folder])
        except BadInput as refused:
            is_clear(refused, from_file=True)
            return refused

    def _request(self, kind: str, random: Random, catalog: Catalog) -> Request | BadInput:
        if kind == "mapping":
            return loaded(spoiled(plausible(random), random), catalog, self._folder)
        file = self._folder / "workload.yaml"
        match kind:
            case "text":
                file.write_bytes(mutated(random.choice(self._texts), random))
            case "catalog":
                file.write_bytes(workload(random))
            case "hostile":
                file.write_bytes(hostile(random))
            case "plausible":
                file.write_bytes(as_yaml(plausible(random), random))
            case "spoiled":
                file.write_bytes(as_yaml(spoiled(plausible(random), random), random))
        return loaded(file, catalog, self._folder)


@contextmanager
def shipped_documents_kept() -> Iterator[None]:
    """While it lasts, each shipped file of catalogs is parsed once, whatever lies over it."""
    shipped, before = catalogs_folder(), layers.read_document
    kept = cache(before)
    with patch.object(layers, "read_document", lambda path: (kept if path.is_relative_to(shipped) else before)(path)):
        yield
