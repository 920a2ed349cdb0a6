"""Decoders whose feed-forward is routed experts in some or all layers.

Which layers, under which names, and what stands beside the experts differs by family; each has its rule here.
"""

from collections.abc import Callable
from typing import Any

from sizing.intake.configuration import Configuration
from sizing.intake.families.dense import (
    LLAMA,
    Style,
    per_head,
    self_attentions,
    slides_everywhere,
    yes,
)
from sizing.intake.families.pieces import (
    HIDDEN,
    INTERMEDIATE,
    attention,
    experts,
    has_experts,
    head_bias,
    heads,
    mlp,
    model,
    mtp_count,
    shared_width,
)
from sizing.intake.parts import Family, Layer, Parts
from sizing.sequence.feed_forward import FeedForward
from sizing.sequence.tensors import Role, Tensors, copied

Expertise = Callable[[Configuration], FeedForward]
Which = Callable[[Configuration, int], frozenset[int]]


def all_layers(_: Configuration, layers: int) -> frozenset[int]:
    """Every layer."""
    return frozenset(range(layers))


def from_first(config: Configuration, layers: int) -> frozenset[int]:
    """`mlp_layer_types`, a list in `moe_layer_freq`, or every `moe_layer_freq`-th from `first_k_dense_replace` on."""
    named = config.types(layers, "mlp_layer_types", {"dense": "dense", "sparse": "sparse"})
    if named is not None:
        return frozenset(layer for layer, name in enumerate(named) if name == "sparse")
    if isinstance(config.raw("moe_layer_freq"), list):
        found = config.counts("moe_layer_freq", layers) or []
        return frozenset(layer for layer, on in enumerate(found) if on)
    first, step = config.count_or(0, "first_k_dense_replace"), config.step("moe_layer_freq")
    _within(config, layers, first, "first_k_dense_replace")
    return frozenset(layer for layer in range(first, layers) if layer % step == 0)


def after_dense(config: Configuration, layers: int) -> frozenset[int]:
    """All but the first `num_dense_layers`."""
    first = config.count_or(0, "num_dense_layers")
    _within(config, layers, first, "num_dense_layers")
    return frozenset(range(first, layers))


def _within(config: Configuration, layers: int, dense: int, key: str) -> None:
    """Note more dense layers than there are layers."""
    if dense > layers:
        config.contradict(f"makes {dense:,} of {layers:,} layers dense", key, dense, f"at most {layers:,}")


def all_but_first(config: Configuration, layers: int) -> frozenset[int]:
    """As the file says, and where it says nothing all but the first layer."""
    stated = config.has("mlp_layer_types", "moe_layer_freq", "first_k_dense_replace")
    return from_first(config, layers) if stated else frozenset(range(1, layers))


def by_step(config: Configuration, layers: int) -> frozenset[int]:
    """Every `decoder_sparse_step`-th layer, but not those in `mlp_only_layers` (Qwen)."""
    dense = config.indices("mlp_only_layers", layers) or frozenset()
    step = config.step("decoder_sparse_step")
    if not has_experts(config):
        return frozenset()
    return frozenset(layer for layer in range(layers) if (layer + 1) % step == 0 and layer not in dense)


def feed_forwards(
    config: Configuration, layers: int, expertise: Expertise, which: Which, style: Style = LLAMA
) -> list[FeedForward]:
    """The feed-forward of every layer: experts where `which` says so, else an MLP of the style."""
    sparse = which(config, layers)
    routed = expertise(config) if sparse else None
    width = config.count("prefix_dense_intermediate_size", *INTERMEDIATE) if len(sparse) < layers else None
    dense = None if width is None else mlp(width, style.gated, style.mlp_bias(config))
    chosen = (routed if layer in sparse else dense for layer in range(layers))
    return [inner for inner in chosen if inner is not None]


def mixture(style: Style, expertise: Expertise, which: Which = all_layers, mtp_repeats: bool | None = None) -> Family:
    """The family of a style with experts in the layers that `which` names.

    `mtp_repeats` says whether layers for multi-token prediction bring copies of embedding and head; None where the
    family has no such layers.
    """

    def family(config: Configuration) -> Parts:
        hidden, layers = config.count(*HIDDEN), config.layer_count()
        cut = heads(config, hidden)
        inner = feed_forwards(config, layers, expertise, which, style)
        mixers = self_attentions(config, style, cut, layers)
        found = [Layer(layer.attention, width, layer.norms) for layer, width in zip(mixers, inner, strict=True)]
        count = 0 if mtp_repeats is None else mtp_count(config)
        return model(
            config,
            found,
            tied_by_default=style.tied,
            final_norms=style.norm if style.final_norm is None else style.final_norm,
            extra=(head_bias(config),) if style.head_bias(config) else (),
            mtp=found[-1:] * count,
            mtp_extra=mtp_outer(config, hidden, bool(mtp_repeats)) * count,
        )

    return family


def mtp_outer(config: Configuration, hidden: int, repeats: bool) -> tuple[Tensors, ...]:
    """What a layer for multi-token prediction brings beside itself: a projection of two widths into one, three norms.

    With `repeats` embedding and head are in the checkpoint once more (DeepSeek-V3, GLM-4.5).
    """
    own = (copied(Role.SMALL, 2 * hidden * hidden), copied(Role.NORM, 3 * hidden))
    if not repeats:
        return own
    embedding = config.count("vocab_size") * hidden
    return (*own, Tensors(Role.EMBEDDING, embedding), Tensors(Role.HEAD, embedding))


def plain_experts(config: Configuration) -> FeedForward:
    """Experts alone, no bias in the router (Qwen3-MoE)."""
    return experts(config)


def full_width_experts(config: Configuration) -> FeedForward:
    """The same of the width that the file gives for MLPs (Mixtral, OLMoE, GraniteMoE)."""
    return experts(config, intermediate=config.count("intermediate_size"))


def full_width_shared(config: Configuration) -> FeedForward:
    """Experts of that width, and so are the shared ones (Aria)."""
    width = config.count("intermediate_size")
    return experts(config, intermediate=width, shared_intermediate=width * config.count_or(2, "moe_num_shared_experts"))


def averaged_shared(config: Configuration) -> FeedForward:
    """The same under another name (Cohere MoE)."""
    width = config.count("intermediate_size")
    return experts(config, intermediate=width, shared_intermediate=shared_width(config, width))


def grok_experts(config: Configuration) -> FeedForward:
    """Experts of the full width (Grok-1), or with `residual_moe` narrower ones beside an MLP (Grok-2)."""
    width = config.count("intermediate_size")
    if not config.flag("residual_moe"):
        return experts(config, intermediate=width)
    return experts(config, intermediate=config.count("moe_intermediate_size"), dense_intermediate=width)


def biased_experts(config: Configuration) -> FeedForward:
    """Experts alone, with a correction bias unless the file says there is none (MiniMax-M2)."""
    return experts(
        config, intermediate=config.count("intermediate_size"), router_bias=config.flag("use_routing_bias", True)
    )


def gated_shared(config: Configuration) -> FeedForward:
    """A shared expert of a width of its own behind a gate (Qwen2-MoE, Qwen3-Next)."""
    width = config.count_or(0, "shared_expert_intermediate_size")
    return experts(config, shared_intermediate=width, shared_gate=width > 0)


def counted_shared(config: Configuration) -> FeedForward:
    """Shared experts of the routed width, and the correction bias of loss-free balancing (GLM-4.5, Dots)."""
    width = config.count("moe_intermediate_size")
    return experts(config, shared_intermediate=shared_width(config, width), router_bias=True)


def deepseek_moe(config: Configuration) -> FeedForward:
    """The same without a bias (DeepSeek-MoE, the first of its family)."""
    width = config.count("moe_intermediate_size")
    return experts(config, shared_intermediate=shared_width(config, width))


def granite_shared(config: Configuration) -> FeedForward:
    """Routed experts beside a gated MLP of `shared_intermediate_size`."""
    shared = config.count_or(0, "shared_intermediate_size")
    return experts(config, intermediate=config.count("intermediate_size"), shared_intermediate=shared)


def gpt_oss_experts(config: Configuration) -> FeedForward:
    """Experts whose projections and router have biases (gpt-oss)."""
    return experts(config, intermediate=config.count("intermediate_size"), router_bias=True, expert_bias=True)


def ernie_experts(config: Configuration) -> FeedForward:
    """Shared experts by `moe_num_shared_experts`, a corrected router (ERNIE 4.5)."""
    width = config.count("moe_intermediate_size")
    shared = width * config.count_or(2, "moe_num_shared_experts")
    return experts(config, shared_intermediate=shared, router_bias=True)


def ernie_layers(config: Configuration, layers: int) -> frozenset[int]:
    """From `moe_layer_start_index` to `moe_layer_end_index`, every `moe_layer_interval`-th (ERNIE 4.5)."""
    first, last = config.count_or(1, "moe_layer_start_index"), config.raw("moe_layer_end_index")
    end = last if isinstance(last, int) and 0 <= last < layers else layers - 1
    step = config.step("moe_layer_interval")
    return frozenset(layer for layer in range(first, end + 1) if (layer + 1) % step == 0)


def phimoe(config: Configuration) -> Parts:
    """Phi-3.5-MoE: biases on attention and head, whatever the file says (vLLM 0.32.0 `models/phimoe.py`)."""
    style = Style(norm=2, qkv_bias=yes, output_bias=yes, head_bias=yes, slides=slides_everywhere)
    return mixture(style, full_width_experts)(config)


def dbrx(config: Configuration) -> Parts:
    """DBRX: heads in `attn_config`, experts in `ffn_config`; norms of weights alone."""
    hidden, layers = config.count("d_model"), config.layer_count()
    inner, ffn = config.inner("attn_config"), config.inner("ffn_config")
    if inner is None or ffn is None:
        config.refuse("is missing", "attn_config" if inner is None else "ffn_config")
        return model(config, [])
    cut = heads(config, hidden, kv=inner.count_or(1, "kv_n_heads", least=1))
    routed = experts(
        config,
        experts=ffn.count("moe_num_experts"),
        active_experts=ffn.count("moe_top_k"),
        intermediate=ffn.count("ffn_hidden_size"),
    )
    layer = Layer(attention(None, cut), routed)
    return model(config, [layer] * layers, hidden=hidden)


def arctic(config: Configuration) -> Parts:
    """Snowflake Arctic: experts every `moe_layer_frequency`-th layer, beside an MLP as wide as the model behind a norm
    of its own (vLLM 0.10 `models/arctic.py`)."""
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    cut, width = heads(config, hidden), config.count("intermediate_size")
    step, beside = config.count_or(2, "moe_layer_frequency", least=1), config.flag("use_residual", True)
    routed = experts(config, intermediate=width, dense_intermediate=hidden * beside)
    sparse = Layer(attention(None, cut), routed, norms=2 + beside)
    dense = Layer(attention(None, cut), mlp(width))
    return model(config, [dense if (layer + 1) % step else sparse for layer in range(layers)])


def ernie_vision(config: Configuration) -> Parts:
    """ERNIE 4.5 VL: one set of experts for text and one for images, each with its router; text uses the first alone.

    Files of remote code give both counts in lists, those of transformers one count for both; widths are always two.
    """
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    cut, bias = heads(config, hidden), config.flag("use_bias")
    of_text, of_images = _ernie_pair(config, "moe_num_experts")
    width, image_width = _ernie_pair(config, "moe_intermediate_size")
    shared = width * config.count_or(2, "moe_num_shared_experts")
    routed = experts(config, experts=of_text, intermediate=width, shared_intermediate=shared, router_bias=True)
    for_images = (
        Tensors(Role.ROUTED_EXPERTS, 3 * hidden * image_width, of_images, active_experts=0),
        Tensors(Role.ROUTER, (hidden + 1) * of_images, active_experts=0, most_shards=1),
    )
    named = config.types(layers, "mlp_layer_types", {"dense": "dense", "sparse": "sparse"})
    if named is None:
        first, last = _ernie_pair(config, "moe_layer_start_index", 1)[0], layers - 1
        if config.has("moe_layer_end_index"):
            last = min(last, _ernie_pair(config, "moe_layer_end_index")[0])
        named = ["sparse" if first <= layer <= last else "dense" for layer in range(layers)]
    mixer = attention(None, cut, qkv_bias=bias, output_bias=bias)
    dense = Layer(mixer, mlp(config.count("intermediate_size"), bias=bias))
    sparse = Layer(mixer, routed, extra=for_images)
    note = "The experts for images are counted in the weights; no token of text uses them."
    found = [sparse if name == "sparse" else dense for name in named]
    return model(config, found, tied_by_default=True, notes=(note,))


def _ernie_pair(config: Configuration, key: str, default: int | None = None) -> tuple[int, int]:
    """(text, images) of a key that may be one number for both."""
    if isinstance(config.raw(key), list):
        found = config.counts(key) or [1]
        if len(found) != 2 or min(found) < 1:
            config.refuse("is no pair of sizes", key, config.raw(key), "one for text and one for images")
        return max(1, found[0]), max(1, found[-1])
    both = config.count(key) if default is None else config.count_or(default, key)
    return both, both


def hunyuan(config: Configuration) -> Parts:
    """Hunyuan of remote code and v1: lists may give every layer its experts; with `use_cla` layers share a cache.

    Of `cla_share_factor` layers the first keeps K and V and the others read them; the factor alone means nothing.
    Queries and keys have norms with `use_qk_norm` (v1: always).
    """
    from sizing.sequence.heads import FullAttention, SharedAttention

    hidden, layers = config.count(*HIDDEN), config.layer_count()
    cut = heads(config, hidden)
    bias = config.flag("attention_bias")
    always_norm = (config.text("model_type") or "").startswith("hunyuan_v1")
    norm = per_head(cut) if always_norm or config.flag("use_qk_norm") else 0
    share = config.count_or(1, "cla_share_factor", least=1) if config.flag("use_cla") else 1
    fields: dict[str, Any] = {
        **cut.fields,
        "qkv_bias": bias,
        "output_bias": bias,
    }
    own = FullAttention(qk_norm=norm, **fields)
    reader = SharedAttention(qk_norm=norm, **fields)
    inner = _hunyuan_experts(config, layers)
    found = [Layer(own if index % share == 0 else reader, width) for index, width in enumerate(inner)]
    return model(config, found, tied_by_default=False)


def _names_experts(config: Configuration) -> bool:
    return isinstance(config.raw("num_experts"), list) or has_experts(config)


def _hunyuan_experts(config: Configuration, layers: int) -> list[FeedForward]:
    counts = config.per_layer(layers, "num_experts", least=1) if _names_experts(config) else [1] * layers
    dense = mlp(config.count("intermediate_size"), bias=config.flag("mlp_bias"))
    if max(counts) == 1:
        return [dense] * layers
    active = config.per_layer(layers, "moe_topk", "num_experts_per_tok")
    widths = config.per_layer(layers, "moe_intermediate_size", "intermediate_size")
    mixed = config.flag("use_mixed_mlp_moe", True)
    stated = mixed and config.has("num_shared_expert")
    shared = config.per_layer(layers, "num_shared_expert") if stated else [int(mixed)] * layers
    first = config.count_or(0, "moe_layer_num_skipped")
    return [
        dense
        if index < first or counts[index] == 1
        else experts(
            config,
            experts=counts[index],
            active_experts=active[index],
            intermediate=widths[index],
            shared_intermediate=shared[index] * widths[index],
        )
        for index in range(layers)
    ]
