"""What absent keys mean: the defaults of the configuration classes of transformers 5.24.0 (`configuration_*.py`).

Files that hold a nested configuration often write only its difference from these. Sizes that a file of its own must
state are taken from here for nested configurations alone.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

SIZES = frozenset(
    {
        "ffn_dim",
        "hidden_size",
        "intermediate_size",
        "intermediate_size_mlp",
        "kv_lora_rank",
        "linear_key_head_dim",
        "linear_num_key_heads",
        "linear_num_value_heads",
        "linear_value_head_dim",
        "moe_intermediate_size",
        "moe_k",
        "moe_num_experts",
        "moe_topk",
        "n_routed_experts",
        "num_attention_heads",
        "num_experts",
        "num_experts_per_tok",
        "num_heads",
        "num_hidden_layers",
        "num_local_experts",
        "q_lora_rank",
        "qk_nope_head_dim",
        "qk_rope_head_dim",
        "v_head_dim",
        "vocab_size",
    }
)


@cache
def _all() -> Mapping[str, Mapping[str, Any]]:
    found: Mapping[str, Mapping[str, Any]] = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))
    return found


def class_defaults(model_type: str, rule: str, nested: bool) -> Mapping[str, Any]:
    """What absent keys mean for a `model_type`, or for the rule that it follows."""
    names = (model_type, rule, f"{rule}_text", f"{rule}_vl_text")
    found: Mapping[str, Any] = next((_all()[name] for name in names if name in _all()), {})
    return found if nested else {key: value for key, value in found.items() if key not in SIZES}
