"""Every profile on every model that is shipped: it answers, and stores no less than the arithmetic."""

import pytest

from sizing.catalog.catalog import Catalog
from sizing.pool.engines.profile import Memory, Start
from sizing.pool.engines.sglang import windows_have_a_pool
from sizing.pool.layout import layout_for
from sizing.sequence.sharding import Sharding
from sizing.sequence.weights import FORMATS, weight_bytes
from sizing.units.amounts import GB

CATALOG = Catalog()
MEMORY = Memory(141 * GB, "NVIDIA")
BF16 = CATALOG.kv_precision("bf16")
IDEAL = CATALOG.engine("ideal")


@pytest.mark.parametrize("name", CATALOG.names("engines"))
def test_a_profile_answers_for_every_model(name: str) -> None:
    engine = CATALOG.engine(name)
    for model in map(CATALOG.model, CATALOG.names("models")):
        shares_windows = name.startswith("sglang") and windows_have_a_pool([kind for _, kind in model.layers()])
        weights = weight_bytes(model, FORMATS[model.native_weights])
        for tp in (1, 8):
            if model.refusal(Sharding(tp)):
                continue
            layout = layout_for(model, tp)
            for context in (1, 131_072):
                stored, plain = (
                    model.sequence_bytes(context, layout.sharding, each.storage(model, BF16))
                    for each in (engine, IDEAL)
                )
                assert stored >= plain or shares_windows, model.name
            budget = engine.budget(MEMORY, model, weights, BF16, layout, Start())
            assert budget.hbm_bytes == 141 * GB * tp
            assert budget.weight_bytes >= weights.on_pool(tp, tp)
            assert 0 < budget.reserve_bytes < budget.hbm_bytes / 2
            printed = engine.printed(MEMORY, model, BF16, layout, 20 * GB, Start())
            assert printed.tokens >= 0


def test_windows_have_a_pool_in_the_architectures_that_sglang_lists() -> None:
    """`is_hybrid_swa_model` of SGLang 0.5.23 lists Llama 4, gpt-oss, MiMo-V2, Step 3.5 and Gemma 4 by name; a shape has
    no architecture, so that its attention has to tell."""
    found = {name for name in CATALOG.names("models") if _windows_have_a_pool(name)}
    listed = ("llama-4-", "gpt-oss-", "mimo-v2-", "step-3.5-", "gemma-4-")
    assert found == {name for name in CATALOG.names("models") if name.startswith(listed)}


def _windows_have_a_pool(name: str) -> bool:
    return windows_have_a_pool([kind for _, kind in CATALOG.model(name).layers()])
