"""Families with a rule of their own: gpt-oss, MiniMax-M3, MiMo, Step 3 to 3.7, Bailing, Laguna."""

from collections.abc import Mapping
from typing import Any

from sizing.intake.configuration import ABSENT, MOST_LAYERS, Configuration
from sizing.intake.families.dense import slides_late, slides_on_even
from sizing.intake.families.mixture import (
    all_but_first,
    by_step,
    counted_shared,
    feed_forwards,
    from_first,
    gpt_oss_experts,
    mtp_outer,
)
from sizing.intake.families.pieces import (
    FULL,
    HEADS,
    HIDDEN,
    SLIDING,
    Heads,
    always,
    attention,
    check_heads,
    experts,
    heads,
    layer_types,
    mlp,
    model,
    mtp_count,
    shared_width,
    window_of,
    windows,
)
from sizing.intake.parts import Family, Layer, Parts
from sizing.sequence.feed_forward import FeedForward
from sizing.sequence.heads import FullAttention, IndexedAttention
from sizing.sequence.tensors import Role, Tensors, copied

INDEXED = "indexed"
M3_TYPES = {"full_attention": FULL, "minimax_m3_sparse": INDEXED, "indexed_attention": INDEXED}
SPARSE_KEYS = ("sparse_num_index_heads", "sparse_index_dim")


def by_version(families: Mapping[str, Family]) -> Family:
    """The family that the key `version` names (MiniCPM-V and MiniCPM-o, whose language models differ)."""

    def family(config: Configuration) -> Parts:
        version = config.raw("version")
        found = families.get(str(version))
        if found is None:
            accepted = f"one of {', '.join(families)}"
            if version is ABSENT:
                config.refuse("is missing, and says which language model it has", "version", accepted=accepted)
            else:
                config.refuse("is no version with a rule here", "version", version, accepted)
            return model(config, [])
        return found(config)

    return family


def gpt_oss(config: Configuration) -> Parts:
    """gpt-oss: even layers slide; a learned sink per head, biases everywhere, also on experts and router."""
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    cut, bias = heads(config, hidden), config.flag("attention_bias", True)
    inner = gpt_oss_experts(config)
    types = layer_types(config, layers, slides_on_even(config))
    found = [
        Layer(
            attention(
                window,
                cut,
                qkv_bias=bias,
                output_bias=bias,
                sinks=True,
            ),
            inner,
        )
        for window in windows(config, types)
    ]
    return model(config, found)


def mimo(config: Configuration) -> Parts:
    """MiMo-7B: Qwen2 with a layer for multi-token prediction, which repeats nothing."""
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    cut = heads(config, hidden)
    inner = mlp(config.count("intermediate_size"))
    types = layer_types(config, layers, slides_late(config))
    found = [Layer(attention(window, cut, qkv_bias=True), inner) for window in windows(config, types)]
    count = mtp_count(config)
    return model(config, found, mtp=found[-1:] * count, mtp_extra=mtp_outer(config, hidden, False) * count)


def mimo_v2(config: Configuration) -> Parts:
    """MiMo-V2: `hybrid_layer_pattern` has 1 where a layer slides; sliding layers have heads of their own (`swa_*`).

    Keys are wider than values. `attention_chunk_size` means nothing here: no layer is chunked (kv_rules 2.6).
    """
    layers, query = config.layer_count(), config.count(*HEADS)
    wide = Heads(query, config.count_or(query, "num_key_value_heads", least=1), config.count("head_dim"))
    local = Heads(
        config.count_or(query, "swa_num_attention_heads", least=1),
        config.count_or(wide.kv, "swa_num_key_value_heads", least=1),
        config.count_or(wide.dim, "swa_head_dim", least=1),
    )
    check_heads(config, wide.query, wide.kv)
    check_heads(config, local.query, local.kv, "swa_num_key_value_heads")
    value = config.count_or(wide.dim, "v_head_dim", least=1)
    local_value = config.count_or(value, "swa_v_head_dim", least=1)
    slides = config.counts("hybrid_layer_pattern", layers)
    if slides is None and not config.has("layer_types"):
        config.refuse("is missing", "hybrid_layer_pattern", accepted="it or layer_types")
    if not config.has("moe_layer_freq", "mlp_layer_types", "first_k_dense_replace"):
        config.refuse("is missing", "moe_layer_freq", accepted="0 or 1 for each layer")
    types = (
        [SLIDING if on else FULL for on in slides] if slides is not None else layer_types(config, layers, always(FULL))
    )
    bias = config.flag("attention_bias")
    inner = feed_forwards(config, layers, counted_shared, from_first)

    def mixer(window: int | None) -> FullAttention:
        cut, of_value = (wide, value) if window is None else (local, local_value)
        name = "add_full_attention_sink_bias" if window is None else "add_swa_attention_sink_bias"
        return attention(
            window,
            cut,
            value_head_dim=of_value,
            qkv_bias=bias,
            sinks=config.flag(name, window is not None),
        )

    found = [Layer(mixer(window), width) for window, width in zip(windows(config, types), inner, strict=True)]
    return model(config, found)


def minimax_m3(config: Configuration) -> Parts:
    """MiniMax-M3: heads kept in full, and an index key in the sparse layers."""
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    cut = heads(config, hidden)
    fields: dict[str, Any] = {
        **cut.fields,
        "qk_norm": 2 * cut.dim * config.flag("use_qk_norm", True),
        "gate_width": cut.query * cut.dim * config.flag("attention_output_gate"),
    }
    full = FullAttention(**fields)
    at = _indexed_layers(config, layers)
    sparse = config.inner("sparse_attention_config")
    queries, keys = ("index_n_heads", "index_head_dim") if sparse is None else SPARSE_KEYS
    source = sparse or config
    indexed = full
    if any(at):
        indexed = IndexedAttention(index_heads=source.count(queries), index_head_dim=source.count(keys), **fields)
    width = config.count("intermediate_size", "moe_intermediate_size")
    routed = from_first(config, layers)
    inner_sparse = experts(
        config,
        intermediate=width,
        shared_intermediate=config.count_or(0, "shared_intermediate_size") * config.count_or(1, "n_shared_experts"),
        router_bias=config.flag("use_routing_bias", True),
    )
    inner_dense: FeedForward = mlp(config.count("dense_intermediate_size")) if len(routed) < layers else inner_sparse
    found = [
        Layer(indexed if at[layer] else full, inner_sparse if layer in routed else inner_dense)
        for layer in range(layers)
    ]
    return model(config, found)


def _indexed_layers(config: Configuration, layers: int) -> list[int]:
    """1 for a layer with index keys: by `sparse_attention_freq`, or by `layer_types` as transformers 5 writes it."""
    sparse = config.inner("sparse_attention_config")
    if sparse is not None:
        on = sparse.flag("use_sparse_attention", True)
        return (sparse.counts("sparse_attention_freq", layers) or [1] * layers) if on else [0] * layers
    return [int(name == INDEXED) for name in config.types(layers, "layer_types", M3_TYPES) or [FULL] * layers]


def step3(config: Configuration) -> Parts:
    """Step3: one KV head; queries pass a norm and a matrix of their own from `share_q_dim` (vLLM 0.32.0 `step3_text`).

    Experts are in the layers that `moe_layers_enum` names, all but the first by default, beside a shared expert.
    """
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    query, dim = config.count(*HEADS), config.count_or(256, "head_dim", least=1)
    low = config.count_or(dim, "share_q_dim", least=1)
    mixer = FullAttention(query_heads=query, kv_heads=1, head_dim=dim, own_weights=False)
    weights = (
        copied(Role.ATTENTION, hidden * (low + 2 * dim)),
        Tensors(Role.ATTENTION, (low + hidden) * query * dim, most_shards=query),
        copied(Role.NORM, low),
    )
    routed = _enumerated(config, layers)
    at = frozenset(range(1, layers)) if routed is None else routed
    sparse = experts(config, shared_intermediate=config.count_or(0, "share_expert_dim"))
    dense: FeedForward = mlp(config.count("intermediate_size")) if len(at) < layers else sparse
    found = [Layer(mixer, sparse if layer in at else dense, extra=weights) for layer in range(layers)]
    return model(config, found)


def _enumerated(config: Configuration, layers: int) -> frozenset[int] | None:
    """The layers that `moe_layers_enum` names, as text or as a list; None where it is absent."""
    stated = config.raw("moe_layers_enum")
    if isinstance(stated, list):
        return config.indices("moe_layers_enum", layers)
    named = config.text("moe_layers_enum")
    if named is None:
        return None
    numbers = [part.strip() for part in named.split(",") if part.strip()]
    wrong = [number for number in numbers if not number.isdecimal() or len(number) > len(str(MOST_LAYERS))]
    if wrong:
        config.refuse("names no layer", "moe_layers_enum", wrong[0], "numbers of layers between commas")
        return None
    return frozenset(number for number in map(int, numbers) if number < layers)


def step3p5(config: Configuration) -> Parts:
    """Step 3.5 and 3.7: sliding layers may have heads of their own (`attention_other_setting`), a gate per head.

    Experts are in the layers that `moe_layers_enum` names, or from `first_k_dense_replace` on, beside a shared expert.
    """
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    wide = heads(config, hidden)
    other = config.inner("attention_other_setting")
    local = wide if other is None else heads(other, hidden)
    if window_of(config) and not config.has("layer_types"):
        config.refuse("is missing, and there is a window", "layer_types", accepted="a type for each layer")
    types = layer_types(config, layers, always(FULL))
    gated = config.flag("use_head_wise_attn_gate", True)
    enumerated = _enumerated(config, layers)
    routed = from_first(config, layers) if enumerated is None else enumerated
    shared = config.count_or(0, "share_expert_dim", "share_expert_dims")
    inner_sparse = experts(config, shared_intermediate=shared, router_bias=config.flag("use_moe_router_bias", True))
    inner_dense: FeedForward = mlp(config.count("intermediate_size")) if len(routed) < layers else inner_sparse

    def mixer(window: int | None) -> FullAttention:
        cut = wide if window is None else local
        return attention(
            window,
            cut,
            qk_norm=2 * cut.dim,
            gate_width=cut.query * gated,
        )

    found = [
        Layer(mixer(window), inner_sparse if layer in routed else inner_dense)
        for layer, window in enumerate(windows(config, types))
    ]
    return model(config, found)


def bailing(config: Configuration) -> Parts:
    """Ling and Ring (Bailing MoE): experts from `first_k_dense_replace` on beside shared ones.

    `use_qkv_bias` and `use_bias` put biases on the projections; `use_qk_norm` and the second version norm every head;
    `moe_router_enable_expert_bias` corrects the router.
    """
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    inner = feed_forwards(config, layers, bailing_experts, from_first)
    kind = bailing_attention(config, hidden)
    found = [Layer(kind, width) for width in inner]
    count = mtp_count(config)
    return model(config, found, mtp=found[-1:] * count, mtp_extra=mtp_outer(config, hidden, False) * count)


def bailing_attention(config: Configuration, hidden: int) -> FullAttention:
    """Attention over heads as Ling and Ring have it."""
    cut = heads(config, hidden)
    return attention(
        None,
        cut,
        qk_norm=2 * cut.dim * config.flag("use_qk_norm"),
        qkv_bias=config.flag("use_qkv_bias"),
        output_bias=config.flag("use_bias"),
    )


def bailing_experts(config: Configuration) -> FeedForward:
    """Experts of Ling and Ring beside shared ones, corrected where the file says so."""
    width = config.count_or(config.count("moe_intermediate_size"), "moe_shared_expert_intermediate_size", least=1)
    return experts(
        config,
        shared_intermediate=shared_width(config, width),
        router_bias=config.flag("moe_router_enable_expert_bias"),
    )


def laguna(config: Configuration) -> Parts:
    """Laguna: `num_attention_heads_per_layer` may differ, a gate per head or per element, a shared expert."""
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    usual = heads(config, hidden)
    queries = config.counts("num_attention_heads_per_layer", layers) or [usual.query] * layers
    gating = config.raw("gating")
    per_element = isinstance(gating, str) and gating.replace("_", "-") == "per-element"
    bias = config.flag("attention_bias")
    inner = feed_forwards(config, layers, _laguna_experts, _laguna_layers)
    types = layer_types(config, layers, always(FULL))
    found = []
    for query, window, width in zip(queries, windows(config, types), inner, strict=True):
        cut = Heads(max(1, query), usual.kv, usual.dim)
        check_heads(config, cut.query, cut.kv, "num_attention_heads_per_layer")
        gate = 0 if gating is False else cut.query * (cut.dim if per_element else 1)
        mixer = attention(window, cut, qk_norm=2 * cut.dim, gate_width=gate, qkv_bias=bias, output_bias=bias)
        found.append(Layer(mixer, width))
    return model(config, found)


def _laguna_experts(config: Configuration) -> FeedForward:
    return experts(config, shared_intermediate=config.count_or(0, "shared_expert_intermediate_size"), router_bias=True)


def _laguna_layers(config: Configuration, layers: int) -> frozenset[int]:
    """By step where the file says so; else, unless it names them, all but the first."""
    if config.has("mlp_only_layers", "decoder_sparse_step"):
        return by_step(config, layers)
    return all_but_first(config, layers)
