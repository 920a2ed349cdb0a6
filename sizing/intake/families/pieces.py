"""Pieces that many families share: heads, windows, experts, and what stands outside the layers.

Aliases and their order follow vLLM 0.32.0 `transformers_utils/model_arch_config_convertor.py`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sizing.intake.configuration import ABSENT, LARGEST, MOST_LAYERS, Configuration
from sizing.intake.parts import Layer, Parts
from sizing.sequence.feed_forward import Experts, FeedForward, GatedMlp, PlainMlp
from sizing.sequence.heads import FullAttention, SlidingAttention
from sizing.sequence.tensors import Role, Tensors

HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads")
KV_HEADS = ("num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num", "num_attention_groups")
HEAD_DIM = ("head_dim", "hidden_size_per_head", "kv_channels", "attention_head_dim")
HIDDEN = ("hidden_size", "d_model", "n_embd")
INTERMEDIATE = ("intermediate_size", "ffn_hidden_size", "ffn_dim", "n_inner")
VOCABULARY = ("vocab_size", "padded_vocab_size")
ROPE = ("rope_scaling", "rope_parameters")
LIMIT = (
    "max_position_embeddings",
    "max_position_embedding",
    "max_seq_len",
    "max_sequence_length",
    "n_positions",
    "seq_length",
    "context_length",
)
EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
TOP_K = (
    "num_experts_per_tok",
    "num_experts_per_token",
    "moe_topk",
    "moe_k",
    "moe_top_k",
    "top_k_experts",
    "experts_per_token",
)
EXPERT_WIDTH = ("moe_intermediate_size", "expert_ffn_hidden_size")

FULL = "full"
SLIDING = "sliding"
LAYER_TYPES = {"full_attention": FULL, "attention": FULL, "sliding_attention": SLIDING}
TypeRule = Callable[[int], str]


@dataclass(frozen=True, slots=True)
class Heads:
    """How the heads of a model's usual attention are cut."""

    query: int
    kv: int
    dim: int

    @property
    def fields(self) -> dict[str, Any]:
        """As the fields of an attention."""
        return {"query_heads": self.query, "kv_heads": self.kv, "head_dim": self.dim}


def heads(config: Configuration, hidden: int, *, kv: int | None = None) -> Heads:
    """Query heads, KV heads and head dimension, checked against each other.

    `kv` overrules what the KV keys say. The dimension is derived from the width only where no key states it.
    """
    for names in (HIDDEN, HEADS, KV_HEADS, HEAD_DIM):
        config.one_size(*names)
    query = config.count(*HEADS)
    kv_heads = kv if kv is not None else config.count_or(query, *KV_HEADS, least=1)
    dim = config.optional(*HEAD_DIM)
    if dim is None:
        if hidden % query:
            config.contradict(
                f"{hidden} is no multiple of {query} heads, and no head_dim says how wide one is", HEADS[0]
            )
        dim = max(1, hidden // query)
    check_heads(config, query, kv_heads)
    return Heads(query, kv_heads, dim)


PER_LAYER = ("num_attention_heads", "num_key_value_heads", "head_dim", "v_head_dim")


def overrides(config: Configuration, layers: int) -> list[Configuration | None]:
    """What `per_layer_config` says of each layer, as transformers 5 writes files whose layers differ.

    It may speak of heads alone; anything else in it is a problem.
    """
    found: list[Configuration | None] = [None] * layers
    outer = config.inner("per_layer_config")
    for key in () if outer is None else outer.tree:
        inner = outer.inner(key) if outer is not None else None
        if not key.isdigit() or int(key) >= layers or inner is None:
            config.refuse(f"names layer {key} of {layers}", "per_layer_config")
            continue
        for unread in sorted(set(inner.tree) - set(PER_LAYER)):
            inner.refuse("is not read for single layers", unread, accepted=", ".join(PER_LAYER))
        found[int(key)] = inner
    return found


def recut(cut: Heads, override: Configuration | None) -> Heads:
    """The heads of a layer for which something else is said."""
    if override is None:
        return cut
    changed = Heads(
        override.optional("num_attention_heads") or cut.query,
        override.optional("num_key_value_heads") or cut.kv,
        override.optional("head_dim") or cut.dim,
    )
    check_heads(override, changed.query, changed.kv)
    return changed


def check_heads(config: Configuration, query: int, kv: int, key: str = KV_HEADS[0]) -> None:
    """Note a number of KV heads that does not divide the query heads, and where it is not from the file itself."""
    if query % kv:
        what, accepted = f"{query} query heads cannot share {kv} KV heads", "KV heads that divide the query heads"
        if key in config.taken:
            config.contradict(f"is missing, and {what}, the default of this architecture", key, accepted=accepted)
        else:
            config.contradict(what, key, kv, accepted)


def layer_types(
    config: Configuration, layers: int, default: TypeRule, known: dict[str, str] | None = None
) -> list[str]:
    """The type of every layer: `layer_types` where the file has it, else by the family's rule."""
    found = config.types(layers, "layer_types", LAYER_TYPES if known is None else known)
    return [default(layer) for layer in range(layers)] if found is None else found


def every(period: int) -> TypeRule:
    """Every `period`-th layer attends to all, the others slide."""
    return lambda layer: FULL if (layer + 1) % period == 0 else SLIDING


def always(name: str) -> TypeRule:
    """All layers alike."""
    return lambda _: name


def window_of(config: Configuration) -> int | None:
    """The window in tokens; None where it is off (absent, null, 0 or -1)."""
    keys = ("sliding_window", "sliding_window_size")
    return None if config.raw(*keys) == -1 else config.count_or(0, *keys) or None


def windows(config: Configuration, types: Sequence[str]) -> list[int | None]:
    """The window of every layer, None for those that attend to all."""
    window = window_of(config) if SLIDING in types else None
    if window is None and SLIDING in types:
        config.refuse("is missing, and layers slide", "sliding_window")
    return [window if name == SLIDING else None for name in types]


def attention(window: int | None, cut: Heads, **more: Any) -> FullAttention:
    """Full attention, or sliding over `window` tokens; `more` are further fields of it."""
    fields = {**cut.fields, **more}
    return FullAttention(**fields) if window is None else SlidingAttention(window=window, **fields)


def mlp(intermediate: int, gated: bool = True, bias: bool = False) -> FeedForward:
    """An MLP with or without a gate."""
    return GatedMlp(intermediate=intermediate, bias=bias) if gated else PlainMlp(intermediate=intermediate, bias=bias)


def has_experts(config: Configuration) -> bool:
    """Whether there are experts. Keys that speak of them without saying how many there are make it a problem."""
    count = config.optional(*EXPERTS, least=0)
    if count is None and (config.count_or(0, *TOP_K) or config.has(*EXPERT_WIDTH)):
        config.refuse(
            "is missing, and other keys speak of experts", EXPERTS[0], accepted=f"one of {', '.join(EXPERTS)}"
        )
    return bool(count)


def experts(config: Configuration, **fields: Any) -> Experts:
    """Routed experts by the usual aliases; `fields` are those of `Experts` that the family knows better."""
    for names in (EXPERTS, TOP_K, EXPERT_WIDTH):
        config.one_size(*names)
    count = fields.pop("experts", None) or config.count(*EXPERTS)
    active = fields.pop("active_experts", None) or config.count(*TOP_K)
    width = fields.pop("intermediate", None) or config.count(*EXPERT_WIDTH)
    if active > count:
        config.contradict(f"{active} experts a token of {count}", TOP_K[0], active, "at most as many as there are")
    return Experts(experts=count, active_experts=active, intermediate=width, **fields)


def shared_width(config: Configuration, width: int, *keys: str) -> int:
    """The width of all shared experts, from how many there are of a width."""
    return width * config.count_or(0, *(keys or ("n_shared_experts", "num_shared_experts", "num_shared_expert")))


def tied(config: Configuration, default: bool = False) -> bool:
    """Whether embedding and head are one; the flag may stand outside a nested configuration."""
    for key in ("tie_word_embeddings", "tie_embedding", "weight_tying"):
        if config.raw(key) is not ABSENT and key in config.tree:
            return config.flag(key)
    if config.around is not None and "tie_word_embeddings" in config.around.tree:
        return config.around.flag("tie_word_embeddings")
    return config.flag("tie_word_embeddings", default)


def limit(config: Configuration) -> int | None:
    """The longest sequence that the file states; None where it states none.

    `model_max_length` goes before the length of the rotary table (Command R). YaRN stretches the length that it was
    trained from (vLLM 0.32.0 `config/model.py:_get_and_verify_max_len`).
    """
    stated = config.optional("model_max_length") or config.optional(*LIMIT)
    rope = next((found for key in ROPE if isinstance(found := config.raw(key), dict)), {})
    if rope.get("rope_type", rope.get("type")) != "yarn":
        return stated
    stretched = _positive(rope.get("factor")) * _positive(rope.get("original_max_position_embeddings"))
    return max(stated or 0, min(LARGEST, int(stretched))) or None


def _positive(value: Any) -> float:
    """A number that may stretch a context; 0 for anything else."""
    usable = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= LARGEST
    return value if usable else 0


def model(
    config: Configuration,
    layers: Sequence[Layer],
    *,
    hidden: int | None = None,
    tied_by_default: bool = False,
    final_norms: int = 1,
    extra: tuple[Tensors, ...] = (),
    mtp: Sequence[Layer] = (),
    mtp_extra: tuple[Tensors, ...] = (),
    notes: tuple[str, ...] = (),
) -> Parts:
    """The parts with embedding, head and limit as most files state them."""
    return Parts(
        hidden=hidden or config.count(*HIDDEN),
        vocabulary=config.count(*VOCABULARY),
        tied=tied(config, tied_by_default),
        layers=tuple(layers),
        context_limit=limit(config),
        final_norms=final_norms,
        extra=extra,
        mtp=tuple(mtp),
        mtp_extra=mtp_extra,
        notes=notes,
    )


def head_bias(config: Configuration) -> Tensors:
    """A bias for every word of the vocabulary."""
    return Tensors(Role.SMALL, config.count(*VOCABULARY))


def mtp_count(config: Configuration, default: int = 0) -> int:
    """Layers for multi-token prediction that the checkpoint brings."""
    keys = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers")
    count = config.count_or(default, *keys)
    if count > MOST_LAYERS:
        config.refuse("is no number of layers", keys[0], count, f"at most {MOST_LAYERS:,}")
        return default
    return count
