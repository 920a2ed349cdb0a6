"""Qwen with gated delta net: three of four layers keep a state, the fourth keeps tokens (Qwen3-Next, Qwen3.5)."""

from dataclasses import replace

from sizing.intake.configuration import Configuration
from sizing.intake.families.mixture import by_step, feed_forwards, gated_shared, mtp_outer
from sizing.intake.families.pieces import HIDDEN, heads, layer_types, model, mtp_count
from sizing.intake.parts import Layer, Parts
from sizing.sequence.heads import FullAttention
from sizing.sequence.recurrent import GatedDeltaNet
from sizing.sequence.tensors import Role, copied

LINEAR = "linear"
FULL = "full"
TYPES = {"linear_attention": LINEAR, "full_attention": FULL}
STATE_BITS = {"float32": 32, "bfloat16": 16, "float16": 16}


def state_bits(config: Configuration, *keys: str, default: int) -> int:
    """Bits of the recurrent state, by the first of `keys` that the file has."""
    for key in keys:
        name = config.text(key)
        if name is not None:
            if name not in STATE_BITS:
                config.refuse("is no type of a state", key, name, ", ".join(STATE_BITS))
                return default
            return STATE_BITS[name]
    return default


def delta_net(config: Configuration, bits: int) -> GatedDeltaNet:
    """A gated delta net by the `linear_*` keys, its state in so many bits."""
    return GatedDeltaNet(
        key_heads=config.count("linear_num_key_heads"),
        value_heads=config.count("linear_num_value_heads"),
        key_head_dim=config.count("linear_key_head_dim"),
        value_head_dim=config.count("linear_value_head_dim"),
        conv_kernel=config.count("linear_conv_kernel_dim"),
        state_bits=bits,
    )


def qwen3_next(config: Configuration) -> Parts:
    """Qwen3-Next: states in 16 bits, as no key says otherwise; one layer for multi-token prediction, never stated."""
    return _hybrid(config, state_bits(config, "mamba_ssm_dtype", default=16), mtp_by_default=1)


def qwen3_5(config: Configuration) -> Parts:
    """Qwen3.5 and later: vLLM keeps their states as `mamba_ssm_dtype` says, 32 bits."""
    return _hybrid(config, state_bits(config, "mamba_ssm_dtype", default=32), mtp_by_default=0)


def _hybrid(config: Configuration, bits: int, mtp_by_default: int) -> Parts:
    """Attention with an output gate every `full_attention_interval`-th layer, norms per head."""
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    cut = heads(config, hidden)
    bias = config.flag("attention_bias")
    interval = config.count_or(4, "full_attention_interval", least=1)
    types = layer_types(config, layers, lambda layer: LINEAR if (layer + 1) % interval else FULL, TYPES)
    full = FullAttention(
        **cut.fields,
        qk_norm=2 * cut.dim,
        qkv_bias=bias,
        output_bias=bias,
        gate_width=cut.query * cut.dim * config.flag("attn_output_gate", True),
    )
    inner = feed_forwards(config, layers, gated_shared, by_step)
    linear = delta_net(config, bits)
    gate_bias = (copied(Role.SMALL, full.gate_width),) if bias else ()
    found = [
        Layer(full, width, extra=gate_bias) if name == FULL else Layer(linear, width)
        for name, width in zip(types, inner, strict=True)
    ]
    count = mtp_count(config, mtp_by_default)
    return model(
        config,
        found,
        mtp=[replace(found[-1], attention=full, extra=gate_bias)] * count,
        mtp_extra=mtp_outer(config, hidden, False) * count,
    )
