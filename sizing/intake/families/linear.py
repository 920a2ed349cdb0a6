"""Linear attention and short convolutions beside attention: MiniMax-M1, Kimi-Linear and K3, Ling and Ring, LFM2, OLMo
hybrid."""

from sizing.intake.configuration import ABSENT, Configuration
from sizing.intake.families.deepseek import latent_fields
from sizing.intake.families.mixture import (
    all_but_first,
    counted_shared,
    feed_forwards,
    from_first,
    full_width_experts,
    mtp_outer,
)
from sizing.intake.families.pieces import (
    HEADS,
    HIDDEN,
    attention,
    experts,
    has_experts,
    heads,
    layer_types,
    mlp,
    model,
    mtp_count,
)
from sizing.intake.families.qwen import LINEAR, delta_net
from sizing.intake.families.qwen import TYPES as DELTA_TYPES
from sizing.intake.families.special import bailing_attention, bailing_experts
from sizing.intake.parts import Layer, Parts
from sizing.sequence.attention import AttentionKind
from sizing.sequence.feed_forward import FeedForward
from sizing.sequence.heads import FullAttention
from sizing.sequence.latent import LatentAttention
from sizing.sequence.recurrent import KimiDeltaAttention, LightningAttention, ShortConvolution
from sizing.sequence.tensors import Role, copied


def minimax_text(config: Configuration) -> Parts:
    """MiniMax-Text-01 and M1: `attn_type_list` says 1 for attention and 0 for lightning; experts in every layer."""
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    cut = heads(config, hidden)
    full = FullAttention(**cut.fields)
    lightning = LightningAttention(heads=cut.query, head_dim=cut.dim)
    attends = config.counts("attn_type_list", layers)
    if attends is None:
        named = config.types(layers, "layer_types", DELTA_TYPES)
        if named is None:
            config.refuse("is missing", "attn_type_list", accepted="it or layer_types")
        attends = [int(name != LINEAR) for name in named or ["full"] * layers]
    inner = full_width_experts(config)
    return model(config, [Layer(full if on else lightning, inner) for on in attends])


def kimi_linear(config: Configuration) -> Parts:
    """Kimi-Linear and Kimi-K3: `linear_attn_config` names the layers of each kind, counted from 1.

    K3 adds a gate on the latent attention, full-rank gates, experts in a width of their own, and residuals that attend
    over blocks of layers: a query and a norm before every attention and MLP, and once at the end.
    """
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    linear = config.inner("linear_attn_config") or config
    full_at = _latent_layers(config, linear, layers)
    fields = latent_fields(config)
    gate = fields["query_heads"] * fields["value_head_dim"] * config.flag("mla_use_output_gate")
    full = LatentAttention(gate_width=gate, **fields)
    short = linear is not config
    state = KimiDeltaAttention(
        heads=linear.count("num_heads" if short else "linear_num_heads"),
        head_dim=linear.count("head_dim" if short else "linear_head_dim"),
        conv_kernel=linear.count("short_conv_kernel_size" if short else "linear_conv_kernel_dim"),
        full_rank_gate=linear.flag("use_full_rank_gate"),
    )
    residual = config.has("attn_res_block_size")
    inner = feed_forwards(config, layers, _kimi_experts, all_but_first)
    extra = (copied(Role.SMALL, 4 * hidden),) if residual else ()
    found = [Layer(full if index in full_at else state, width, extra=extra) for index, width in enumerate(inner)]
    return model(config, found, extra=(copied(Role.SMALL, 2 * hidden),) if residual else ())


def _latent_layers(config: Configuration, linear: Configuration, layers: int) -> frozenset[int]:
    """The layers with latent attention, by the lists or by `layer_types`."""
    named = config.types(layers, "layer_types", DELTA_TYPES) if linear is config else None
    if named is not None:
        return frozenset(index for index, name in enumerate(named) if name != LINEAR)
    full_at = linear.indices("full_attn_layers", layers, first=1)
    states_at = linear.indices("kda_layers", layers, first=1)
    if full_at is None or states_at is None:
        linear.refuse("is missing", "full_attn_layers" if full_at is None else "kda_layers")
        return frozenset()
    if full_at & states_at or len(full_at) + len(states_at) != layers:
        seen = f"{len(full_at)} and {len(states_at)}"
        linear.refuse(f"does not put each of {layers} layers into one list", "full_attn_layers", seen)
    return full_at


def _kimi_experts(config: Configuration) -> FeedForward:
    latent = config.optional("routed_expert_hidden_size")
    if latent is None:
        return counted_shared(config)
    width = config.count("moe_intermediate_size")
    return experts(
        config,
        shared_intermediate=width * config.count_or(0, "num_shared_experts"),
        router_bias=True,
        latent=latent,
        latent_norm=config.flag("latent_moe_use_norm"),
    )


def bailing_hybrid(config: Configuration) -> Parts:
    """Ling and Ring whose layers attend in groups: the last of `layer_group_size` looks at all tokens, the others keep
    a state.

    With `group_norm_size` the states are lightning attention (2.5, 2.6 and the `linear` models), without KDA (3.0,
    whose gates have full rank). Attention is latent where there is a `kv_lora_rank`, else over heads; in 3.0 it has a
    gate per head (vLLM 0.32.0 `bailing_moe_linear`, transformers 5.24 `bailing_hybrid`).
    """
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    lightning = config.has("group_norm_size")
    query = config.count(*HEADS)
    if config.has("kv_lora_rank"):
        fields = latent_fields(config)
        full: AttentionKind = LatentAttention(gate_width=0 if lightning else query, **fields)
    else:
        full = bailing_attention(config, hidden)
    dim = config.count("linear_head_dim", "head_dim")
    state: AttentionKind = (
        LightningAttention(heads=query, head_dim=dim, qk_norm=2 * dim * config.flag("use_qk_norm", True))
        if lightning
        else KimiDeltaAttention(
            heads=config.count_or(query, "linear_num_heads", least=1),
            head_dim=dim,
            conv_kernel=config.count_or(4, "short_conv_kernel_size", "linear_conv_kernel_dim", least=1),
            full_rank_gate=True,
            full_rank_decay=True,
        )
    )
    group = config.count("layer_group_size")
    types = layer_types(config, layers, lambda layer: LINEAR if (layer + 1) % group else "full", DELTA_TYPES)
    inner = feed_forwards(config, layers, bailing_experts if lightning else counted_shared, from_first)
    found = [Layer(state if name == LINEAR else full, width) for name, width in zip(types, inner, strict=True)]
    count = mtp_count(config)
    return model(
        config,
        found,
        mtp=[Layer(full, inner[-1])] * count,
        mtp_extra=mtp_outer(config, hidden, False) * count,
    )


CONV = "conv"
LFM_TYPES = {"conv": CONV, "short_conv": CONV, "full_attention": "full"}


def lfm2(config: Configuration) -> Parts:
    """LFM2: short convolutions and attention by `layer_types` or `full_attn_idxs`; the width is adjusted unless off.

    The adjusted width is 2/3 of `intermediate_size` times a multiplier, rounded up to `block_multiple_of`.
    """
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    cut = heads(config, hidden)
    full = FullAttention(**cut.fields, qk_norm=2 * cut.dim)
    conv = ShortConvolution(
        width=hidden, conv_kernel=config.count_or(3, "conv_L_cache", least=1), bias=config.flag("conv_bias")
    )
    attends = config.indices("full_attn_idxs", layers)
    known = frozenset(range(layers)) if attends is None else attends
    types = layer_types(config, layers, lambda layer: "full" if layer in known else CONV, LFM_TYPES)
    if has_experts(config):
        width = config.count("intermediate_size")
        first = config.count_or(0, "num_dense_layers")
        routed = experts(
            config, intermediate=config.count("moe_intermediate_size"), router_bias=config.flag("use_expert_bias", True)
        )
        inner: list[FeedForward] = [mlp(width) if layer < first else routed for layer in range(layers)]
    else:
        inner = [mlp(lfm2_width(config))] * layers
    found = [Layer(conv if name == CONV else full, width) for name, width in zip(types, inner, strict=True)]
    return model(config, found, tied_by_default=True)


def lfm2_width(config: Configuration) -> int:
    """The width of the MLP after the adjustment that `block_auto_adjust_ff_dim` switches."""
    width = config.count("intermediate_size", "block_ff_dim")
    if not config.flag("block_auto_adjust_ff_dim", True):
        return width
    width = 2 * width // 3
    factor = config.raw("block_ffn_dim_multiplier")
    if factor is not ABSENT:
        if isinstance(factor, bool) or not isinstance(factor, int | float) or not 0 < factor < 1000:
            config.refuse("is no factor", "block_ffn_dim_multiplier", factor, "a positive number")
            return width
        width = int(factor * width)
    multiple = config.count_or(256, "block_multiple_of", least=1)
    return -(-width // multiple) * multiple


def olmo_hybrid(config: Configuration) -> Parts:
    """OLMo hybrid: gated delta nets, and attention with norms over all heads at every fourth layer unless stated."""
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    cut, bias = heads(config, hidden), config.flag("attention_bias")
    full = attention(
        None,
        cut,
        qk_norm=(cut.query + cut.kv) * cut.dim,
        qkv_bias=bias,
        output_bias=bias,
    )
    types = layer_types(config, layers, lambda layer: LINEAR if (layer + 1) % 4 else "full", DELTA_TYPES)
    linear = delta_net(config, 16)
    inner = mlp(config.count("intermediate_size"))
    return model(config, [Layer(linear if name == LINEAR else full, inner) for name in types])
