"""Under which names checkpoints keep the linear layers of a role: lists of quantisers speak of names, not of roles."""

import re
from collections.abc import Iterable, Iterator, Mapping

from sizing.sequence.tensors import Role

_QKV = ("q_proj", "k_proj", "v_proj", "o_proj")
_LATENT = ("q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj", "o_proj")
_GATED = ("gate_proj", "up_proj", "down_proj")
_NUMBERED = ("w1", "w2", "w3")


def _under(parents: Iterable[str], *children: Iterable[str]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(f"{parent}.{child}" for child in names) for parent in parents for names in children)


# Each role in the styles that publishers use; a style is the modules of one layer below `layers.N.`.
STYLES: Mapping[Role, tuple[tuple[str, ...], ...]] = {
    Role.ATTENTION: (
        *_under(("self_attn", "attention", "mixer", "temporal_block", "self_attention"), _QKV),
        *_under(("self_attn",), _LATENT, ("qkv_proj", "o_proj")),
        *_under(("attn",), ("wq_a", "wq_b", "wkv", "wo_a", "wo_b"), ("fused_wqa_wkv", "wq_b", "wo_a", "wo_b"), _QKV),
    ),
    Role.RECURRENT: (
        *_under(("linear_attn",), ("in_proj_qkv", "in_proj_z", "out_proj"), ("in_proj_qkvz", "out_proj")),
        *_under(("mixer", "mamba"), ("in_proj", "out_proj")),
        *_under(("self_attn",), _QKV, ("qkv_proj", "out_proj", "output_gate")),
        *_under(("conv",), ("in_proj", "out_proj")),
    ),
    Role.INDEXER: (
        *_under(("self_attn.indexer", "attn.indexer"), ("wq_b", "wk")),
        *_under(("self_attn",), ("index_q_proj", "index_k_proj")),
    ),
    Role.FEED_FORWARD: (
        *_under(("mlp", "feed_forward", "ffn", "shared_mlp"), _GATED, _NUMBERED),
        *_under(("mlp",), ("gate_up_proj", "down_proj"), ("fc1", "fc2"), ("c_fc", "c_proj")),
        *_under(("mixer",), ("up_proj", "down_proj")),
    ),
    Role.SHARED_EXPERTS: (
        *_under(
            tuple(
                f"{block}.{name}"
                for block in ("mlp", "ffn", "block_sparse_moe", "mixer", "feed_forward", "moe")
                for name in ("shared_experts", "shared_expert")
            ),
            _GATED,
        ),
        *_under(("shared_mlp", "share_expert"), _GATED),
    ),
    Role.ROUTED_EXPERTS: (
        *_under(("mlp", "ffn", "block_sparse_moe", "mixer", "feed_forward", "moe"), ("experts",)),
        *_under(
            tuple(f"{block}.experts.0" for block in ("mlp", "ffn", "block_sparse_moe", "mixer", "feed_forward")),
            _GATED,
            _NUMBERED,
        ),
    ),
    Role.EXPERT_PROJECTIONS: (
        *_under(("mixer",), ("fc1_latent_proj", "fc2_latent_proj")),
        *_under(("block_sparse_moe", "mlp"), ("routed_expert_down_proj", "routed_expert_up_proj")),
    ),
}
BESIDE = (("experts",), *_under(("experts.0",), _GATED))  # experts of a layer that has an MLP of its own beside them
DRAFTS = "mtp."
HEADS = ("lm_head", "head", "language_model.lm_head", "output", "embed_out")
USUAL_PREFIXES = ("model.",)
_PREFIX = re.compile(r"^(?P<prefix>(?:[A-Za-z_]\w*\.)*)layers\.")


def prefixes(patterns: Iterable[str]) -> tuple[str, ...]:
    """What stands before `layers.N.` in the lists of a checkpoint; the usual where they do not say."""
    found = {match.group("prefix") for pattern in patterns if (match := _PREFIX.match(pattern))}
    return tuple(sorted(found)) or USUAL_PREFIXES


def names(role: Role, layer: int, before: Iterable[str], beside: bool = False) -> Iterator[tuple[str, ...]]:
    """The modules of a role in a layer, one tuple a style. `beside` says that experts are not inside the MLP."""
    styles = BESIDE if beside and role is Role.ROUTED_EXPERTS else STYLES.get(role, ())
    for prefix in before:
        for style in styles:
            yield tuple(f"{prefix}layers.{layer}.{name}" for name in style)


class Patterns:
    """A list of modules as quantisers write it: names, parts of names, globs with `*`, expressions after `re:`."""

    def __init__(self, patterns: Iterable[str]) -> None:
        plain: set[str] = set()
        expressions: list[str] = []
        for pattern in patterns:
            if pattern.startswith("re:"):
                expressions.append(pattern[3:])
            elif "*" in pattern:
                glob = re.sub(r"(?:\\\*)+", ".*", re.escape(pattern.rstrip("*").rstrip(".")))
                end = r".*" if pattern.endswith("*") and not pattern.endswith(".*") else r"(?:\..*)?"
                expressions.append(f"{glob}{end}$")
            else:
                plain.add(pattern)
        self._plain = frozenset(plain)
        self._expression = _compiled(expressions)

    def __contains__(self, name: str) -> bool:
        """Whether `name` is listed: itself, a module around it, or a part of its path."""
        parts = name.split(".")
        spans = ((start, end) for start in range(len(parts)) for end in range(start + 1, len(parts) + 1))
        if self._plain and any(".".join(parts[start:end]) in self._plain for start, end in spans):
            return True
        return self._expression is not None and self._expression.match(name) is not None


def _compiled(expressions: list[str]) -> "re.Pattern[str] | None":
    usable = []
    for expression in expressions:
        try:
            re.compile(expression)
        except re.error:
            continue
        usable.append(f"(?:{expression})")
    return re.compile("|".join(usable)) if usable else None
