"""Mamba and Mamba-2, alone (Mamba, Falcon-Mamba, Codestral) and beside attention (Jamba, Bamba, Granite 4, Nemotron-H,
Falcon-H1, Zamba2)."""

from collections.abc import Callable, Mapping

from sizing.intake.configuration import Configuration
from sizing.intake.families.mixture import full_width_experts, granite_shared, mtp_outer
from sizing.intake.families.pieces import (
    EXPERTS,
    HEADS,
    HIDDEN,
    KV_HEADS,
    Heads,
    attention,
    check_heads,
    experts,
    has_experts,
    heads,
    mlp,
    model,
    mtp_count,
)
from sizing.intake.families.qwen import state_bits
from sizing.intake.parts import Layer, Parts
from sizing.sequence.attention import AttentionKind
from sizing.sequence.feed_forward import FeedForward, NoFeedForward
from sizing.sequence.heads import FullAttention, NoAttention
from sizing.sequence.recurrent import Mamba, Mamba2
from sizing.sequence.tensors import Role, Tensors, copied

STATE, FULL = "state", "full"
TYPES = {"mamba": STATE, "linear_attention": STATE, "attention": FULL, "full_attention": FULL}


def mamba(config: Configuration) -> Parts:
    """Mamba and Falcon-Mamba: one norm and one Mamba a layer. `intermediate_size` goes before `expand`."""
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    inner = config.optional("intermediate_size", "d_inner") or config.count("expand") * hidden
    kind = Mamba(
        inner=inner,
        state=config.count("state_size"),
        conv_kernel=config.count("conv_kernel"),
        time_step_rank=_time_step_rank(config, hidden, "time_step_rank"),
        conv_bias=config.flag("use_conv_bias", True),
        projection_bias=config.flag("use_bias"),
    )
    by_default = config.text("model_type") == "mamba"
    return model(config, [Layer(kind, norms=1)] * layers, tied_by_default=by_default)


def _time_step_rank(config: Configuration, hidden: int, key: str) -> int:
    """A number, or `auto` for hidden / 16 rounded up."""
    if config.raw(key) == "auto":
        return -(-hidden // 16)
    return config.count(key)


def mamba2(config: Configuration) -> Parts:
    """Mamba-2 alone (Mamba-Codestral)."""
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    kind = Mamba2(
        heads=config.count("num_heads"),
        head_dim=config.count("head_dim"),
        state=config.count("state_size"),
        groups=config.count("n_groups"),
        conv_kernel=config.count("conv_kernel"),
        conv_bias=config.flag("use_conv_bias", True),
        projection_bias=config.flag("use_bias"),
    )
    inner = config.count_or(2, "expand", least=1) * hidden
    if kind.inner != inner:
        config.contradict(
            f"{kind.heads} heads of {kind.head_dim} are not the {inner} channels that expand says", "num_heads"
        )
    return model(config, [Layer(kind, norms=1)] * layers)


def jamba(config: Configuration) -> Parts:
    """Jamba: attention every `attn_layer_period`-th layer, experts every `expert_layer_period`-th, else Mamba, MLP."""
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    cut = heads(config, hidden)
    full = FullAttention(**cut.fields)
    state = Mamba(
        inner=config.count_or(2, "mamba_expand", least=1) * hidden,
        state=config.count_or(16, "mamba_d_state", least=1),
        conv_kernel=config.count_or(4, "mamba_d_conv", least=1),
        time_step_rank=_time_step_rank(config, hidden, "mamba_dt_rank"),
        conv_bias=config.flag("mamba_conv_bias", True),
        projection_bias=config.flag("mamba_proj_bias"),
        inner_norms=True,
    )
    attends = _periodic(config, "attn_layer_period", "attn_layer_offset", 8, 4)
    routes = _periodic(config, "expert_layer_period", "expert_layer_offset", 2, 1)
    dense = mlp(config.count("intermediate_size"))
    many = has_experts(config) and config.count(*EXPERTS) > 1
    routed = full_width_experts(config) if many else dense
    found = [Layer(full if attends(layer) else state, routed if routes(layer) else dense) for layer in range(layers)]
    return model(config, found)


def _periodic(config: Configuration, period: str, offset: str, every: int, first: int) -> Callable[[int], bool]:
    step, start = config.count_or(every, period, least=1), config.count_or(first, offset)
    return lambda layer: layer % step == start


def mamba2_of(config: Configuration, hidden: int, gated_norm: bool = True) -> Mamba2:
    """Mamba-2 by the `mamba_*` keys (Bamba, Granite 4, Falcon-H1); heads and dimension must give the inner width."""
    expanded = config.optional("mamba_d_ssm") or config.count_or(2, "mamba_expand", least=1) * hidden
    count = config.count("mamba_n_heads")
    dim = expanded // count if config.raw("mamba_d_head") == "auto" else config.count("mamba_d_head")
    if count * dim != expanded:
        config.contradict(f"{count} heads of {dim} are not the {expanded} channels of the layer", "mamba_n_heads")
    return Mamba2(
        heads=count,
        head_dim=dim,
        state=config.count("mamba_d_state"),
        groups=config.count_or(1, "mamba_n_groups", least=1),
        conv_kernel=config.count_or(4, "mamba_d_conv", least=1),
        conv_bias=config.flag("mamba_conv_bias", True),
        projection_bias=config.flag("mamba_proj_bias"),
        gated_norm=gated_norm,
    )


def granite_hybrid(config: Configuration) -> Parts:
    """Granite 4: `layer_types` says where attention is; experts (there may be none) beside a shared MLP."""
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    cut, bias = heads(config, hidden), config.flag("attention_bias")
    full = FullAttention(**cut.fields, qkv_bias=bias, output_bias=bias)
    types = config.types(layers, "layer_types", TYPES) or config.types(layers, "layers_block_type", TYPES)
    if types is None:
        config.refuse("is missing", "layer_types", accepted="mamba or attention for each layer")
        types = [FULL] * layers
    state = mamba2_of(config, hidden) if STATE in types else None
    shared = config.count_or(0, "shared_intermediate_size")
    inner = granite_shared(config) if has_experts(config) else mlp(shared or config.count("intermediate_size"))
    return model(config, [Layer(state if name == STATE and state else full, inner) for name in types])


def bamba(config: Configuration) -> Parts:
    """Bamba: `attn_layer_indices` attend, the others keep a state; an MLP everywhere."""
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    cut, bias = heads(config, hidden), config.flag("attention_bias")
    full = FullAttention(**cut.fields, qkv_bias=bias, output_bias=bias)
    attends = config.indices("attn_layer_indices", layers) or frozenset()
    state = mamba2_of(config, hidden)
    inner = mlp(config.count("intermediate_size"), bias=config.flag("mlp_bias"))
    return model(config, [Layer(full if layer in attends else state, inner) for layer in range(layers)])


def falcon_h1(config: Configuration) -> Parts:
    """Falcon-H1: every layer has attention and Mamba-2 side by side. The inner width is `mamba_d_ssm`."""
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    cut, bias = heads(config, hidden), config.flag("attention_bias")
    full = FullAttention(**cut.fields, qkv_bias=bias, output_bias=bias)
    state = mamba2_of(config, hidden, gated_norm=config.flag("mamba_rms_norm"))
    inner = mlp(config.count("intermediate_size"), bias=config.flag("mlp_bias"))
    return model(config, [Layer(full, inner, also=(state,))] * layers)


NEMOTRON_H: Mapping[str, str] = {
    "M": "mamba",
    "*": "attention",
    "-": "mlp",
    "E": "moe",
    "mamba": "mamba",
    "linear_attention": "mamba",
    "attention": "attention",
    "full_attention": "attention",
    "mlp": "mlp",
    "moe": "moe",
}


def nemotron_h(config: Configuration) -> Parts:
    """Nemotron-H and Nemotron 3: a layer is one thing, Mamba-2, attention, MLP or experts, each behind one norm.

    The pattern is `hybrid_override_pattern` (letters) or `layers_block_type` (names); without `num_hidden_layers` its
    length is their number. MLPs have no gate. vLLM keeps the recurrent state as `mamba_ssm_cache_dtype`, else 32 bits.
    """
    hidden = config.count(*HIDDEN)
    names = _nemotron_pattern(config, "hybrid_override_pattern", "layers_block_type")
    if not names:
        config.refuse("is missing", "hybrid_override_pattern", accepted="it or layers_block_type")
    stated = config.optional("num_hidden_layers")
    if stated is not None and names and stated != len(names):
        config.contradict(f"the pattern has {len(names)} layers", "num_hidden_layers", stated, str(len(names)))
    parts = {name: _nemotron_layer(config, hidden, name) for name in dict.fromkeys(names)}
    drafts = _nemotron_pattern(config, "mtp_hybrid_override_pattern", "mtp_layers_block_type")
    count = mtp_count(config)
    mtp = [parts[name] if name in parts else _nemotron_layer(config, hidden, name) for name in drafts] * count
    return model(config, [parts[name] for name in names], mtp=mtp, mtp_extra=mtp_outer(config, hidden, False) * count)


def _nemotron_pattern(config: Configuration, letters: str, names: str) -> list[str]:
    pattern = config.text(letters) if config.has(letters) else None
    found = list(pattern) if pattern is not None else config.items(names) or []
    unknown = [name for name in found if not isinstance(name, str) or name not in NEMOTRON_H]
    if unknown:
        config.refuse("is no layer of this architecture", letters if pattern else names, unknown[0], "M, *, - or E")
        return []
    return [NEMOTRON_H[name] for name in found]


def _nemotron_layer(config: Configuration, hidden: int, name: str) -> Layer:
    if name == "mamba":
        return Layer(_nemotron_state(config), norms=1)
    if name == "attention":
        return Layer(attention(None, heads(config, hidden)), norms=1)
    return Layer(NoAttention(), _nemotron_inner(config, name), norms=1)


def _nemotron_state(config: Configuration) -> AttentionKind:
    return Mamba2(
        heads=config.count("mamba_num_heads"),
        head_dim=config.count("mamba_head_dim"),
        state=config.count("ssm_state_size"),
        groups=config.count("n_groups"),
        conv_kernel=config.count("conv_kernel"),
        conv_bias=config.flag("use_conv_bias", True),
        projection_bias=config.flag("mamba_proj_bias") or config.flag("use_bias"),
        state_bits=state_bits(config, "mamba_ssm_cache_dtype", default=32),
    )


def _nemotron_inner(config: Configuration, name: str) -> FeedForward:
    if name == "mlp":
        return mlp(config.count("intermediate_size"), gated=False, bias=config.flag("mlp_bias"))
    shared = config.count_or(0, "n_shared_experts") * config.count_or(
        config.count("moe_intermediate_size"), "moe_shared_expert_intermediate_size", least=1
    )
    return experts(
        config,
        shared_intermediate=shared,
        router_bias=True,
        gated=False,
        latent=config.optional("moe_latent_size"),
    )


def zamba2(config: Configuration) -> Parts:
    """Zamba2: Mamba-2 in every layer; in some a block that all of them share attends first, with a cache of its own.

    `num_mem_blocks` such blocks take turns. They read the layer's input beside the embedding, twice as wide, and each
    use brings a matrix back to the model's width and low-rank adapters of its own (transformers 5.24 `zamba2`).
    """
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    query = config.count(*HEADS)
    dim = config.count_or(max(1, 2 * hidden // query), "attention_head_dim", least=1)
    cut = Heads(query, config.count_or(query, *KV_HEADS, least=1), dim)
    check_heads(config, cut.query, cut.kv)
    inner = config.count_or(2, "mamba_expand", least=1) * hidden
    count = config.count_or(8, "n_mamba_heads", least=1)
    head_dim = config.count_or(max(1, inner // count), "mamba_headdim", least=1)
    if count * head_dim != inner:
        config.contradict(f"{count} heads of {head_dim} are not the {inner} channels of the layer", "n_mamba_heads")
    state = Mamba2(
        heads=count,
        head_dim=head_dim,
        state=config.count_or(64, "mamba_d_state", least=1),
        groups=config.count_or(1, "mamba_ngroups", least=1),
        conv_kernel=config.count_or(4, "mamba_d_conv", least=1),
        conv_bias=config.flag("use_conv_bias", True),
        projection_bias=config.flag("add_bias_linear"),
    )
    names = config.types(layers, "layers_block_type", {**TYPES, "hybrid": "hybrid"})
    listed = config.indices("hybrid_layer_ids", layers)
    if names is None and listed is None:
        config.refuse("is missing", "layers_block_type", accepted="it or hybrid_layer_ids")
    stated = None if names is None else frozenset(index for index, name in enumerate(names) if name == "hybrid")
    if stated is not None and listed is not None and stated != listed:
        config.contradict("contradicts layers_block_type", "hybrid_layer_ids")
    uses = stated if stated is not None else listed or frozenset()
    full = FullAttention(**cut.fields, own_weights=False)
    back = Tensors(Role.ATTENTION, hidden * hidden)
    plain = Layer(state, NoFeedForward(), norms=1)
    both = Layer(full, NoFeedForward(), norms=1, also=(state,), extra=(back,))
    shared = _zamba_shared(config, hidden, cut.query * cut.dim, cut.kv * cut.dim, len(uses))
    return model(
        config,
        [both if index in uses else plain for index in range(layers)],
        tied_by_default=True,
        extra=shared,
    )


def _zamba_shared(config: Configuration, hidden: int, query: int, key: int, uses: int) -> tuple[Tensors, ...]:
    """The shared blocks, and an adapter for every use; a token passes one block at each use."""
    blocks = config.count_or(1, "num_mem_blocks", least=1)
    width, rank = config.count("intermediate_size"), config.count_or(128, "adapter_rank", least=1)
    attends = 2 * hidden * (query + 2 * key) + query * hidden
    gated = 3 * hidden * width
    adapter = rank * (hidden + 2 * width)
    if config.flag("use_shared_attention_adapter"):
        adapter += 3 * rank * 2 * query
    return (
        Tensors(Role.ATTENTION, attends, experts=blocks, active_experts=uses),
        Tensors(Role.FEED_FORWARD, gated, experts=blocks, active_experts=uses),
        Tensors(Role.SMALL, adapter, experts=uses, active_experts=uses),
        copied(Role.NORM, 3 * hidden * blocks),
        Tensors(Role.SMALL, (2 * width + hidden) * config.flag("add_bias_linear"), experts=blocks, active_experts=uses),
    )
