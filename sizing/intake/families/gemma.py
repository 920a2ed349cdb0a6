"""Gemma 2, 3, 3n and 4: sandwich norms, windows between full layers, layers that read another layer's cache."""

from sizing.intake.configuration import Configuration
from sizing.intake.families.pieces import (
    FULL,
    HIDDEN,
    Heads,
    TypeRule,
    attention,
    every,
    experts,
    heads,
    layer_types,
    mlp,
    model,
    overrides,
    recut,
    windows,
)
from sizing.intake.parts import Layer, Parts
from sizing.sequence.attention import AttentionKind
from sizing.sequence.feed_forward import FeedForward
from sizing.sequence.heads import SharedAttention
from sizing.sequence.tensors import Role, Tensors, copied

ALT_UP_STREAMS = 4


def gemma3(config: Configuration) -> Parts:
    """Gemma 3: every `sliding_window_pattern`-th layer (6) attends to all; norms per head."""
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    cut, bias = heads(config, hidden), config.flag("attention_bias")
    period = config.count_or(6, "sliding_window_pattern", "_sliding_window_pattern", least=1)
    inner = mlp(config.count("intermediate_size"))
    found = [
        Layer(
            attention(
                window,
                cut,
                qk_norm=2 * cut.dim,
                qkv_bias=bias,
                output_bias=bias,
            ),
            inner,
            norms=4,
        )
        for window in windows(config, layer_types(config, layers, every(period)))
    ]
    return model(config, found, tied_by_default=True)


def shares_from(config: Configuration, types: list[str]) -> int:
    """The first layer that reads another's cache: the last `num_kv_shared_layers` do.

    Each reads the last earlier layer of its own type, which must be there.
    """
    layers = len(types)
    count = config.count_or(0, "num_kv_shared_layers")
    if count >= layers:
        config.contradict(
            "leaves no layer with a cache of its own", "num_kv_shared_layers", count, f"less than {layers}"
        )
        return layers
    orphans = set(types[layers - count :]) - set(types[: layers - count])
    if orphans:
        config.contradict("leaves layers without one of their type to share with", "num_kv_shared_layers", count)
    return layers - count


def gemma3n(config: Configuration) -> Parts:
    """Gemma 3n: AltUp streams, LAuReL, per-layer embeddings, shared caches (transformers 5.24 `gemma3n`)."""
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    cut, bias = heads(config, hidden), config.flag("attention_bias")
    types = layer_types(config, layers, every(5))
    first_shared = shares_from(config, types)
    streams = config.count_or(ALT_UP_STREAMS, "altup_num_inputs", least=1)
    rank, narrow = config.count_or(64, "laurel_rank", least=1), config.count_or(256, "hidden_size_per_layer_input")
    alt_up = streams**3 + streams**2 + streams * hidden + 2 * hidden
    extra = (
        copied(Role.SMALL, alt_up + 2 * hidden * rank + hidden),
        Tensors(Role.FEED_FORWARD, 2 * hidden * narrow),
    )
    found = [
        Layer(
            _attention(window, cut, bias, 2 * cut.dim) if index < first_shared else _reader(cut, bias),
            mlp(width),
            norms=5,
            extra=extra,
        )
        for index, (window, width) in enumerate(
            zip(windows(config, types), config.per_layer(layers, "intermediate_size"), strict=True)
        )
    ]
    lookup = config.count_or(262_144, "vocab_size_per_layer_input", least=1) * layers * narrow
    outer = (
        Tensors(Role.LOOKUP, lookup),
        Tensors(Role.FEED_FORWARD, layers * narrow * hidden + 2 * (streams - 1) * hidden * hidden),
        copied(Role.NORM, narrow),
    )
    return model(config, found, tied_by_default=True, extra=outer)


def _attention(window: int | None, cut: Heads, bias: bool, qk_norm: int, values: bool = True) -> AttentionKind:
    return attention(
        window,
        cut,
        qk_norm=qk_norm,
        qkv_bias=bias,
        output_bias=bias,
        value_projection=values,
    )


def _reader(cut: Heads, bias: bool) -> AttentionKind:
    return SharedAttention(**cut.fields, qk_norm=cut.dim, qkv_bias=bias, output_bias=bias)


def gemma4(config: Configuration) -> Parts:
    """Gemma 4: full layers have heads of their own, the values of which may be read off the keys; the last is full.

    With `attention_k_eq_v` there is no value projection in full layers, and `num_global_key_value_heads` holds there;
    both are cached nevertheless. `use_double_wide_mlp` doubles the layers that read another's cache.
    """
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    local, bias = heads(config, hidden), config.flag("attention_bias")
    same = config.flag("attention_k_eq_v")
    kv = config.count_or(local.kv, "num_global_key_value_heads", least=1) if same else local.kv
    wide = Heads(local.query, kv, config.count_or(512, "global_head_dim", least=1))
    types = layer_types(config, layers, _last_is_full(layers, every(6)))
    types[-1] = FULL
    first_shared = shares_from(config, types)
    doubled = config.flag("use_double_wide_mlp")
    width, narrow = config.count("intermediate_size"), config.count_or(256, "hidden_size_per_layer_input")
    has_experts = config.flag("enable_moe_block")

    stated = overrides(config, layers)

    def layer(index: int, window: int | None) -> Layer:
        cut = recut(wide if window is None else local, stated[index])
        shared = index >= first_shared
        mixer = (
            _reader(cut, bias) if shared else _attention(window, cut, bias, 2 * cut.dim, not (same and window is None))
        )
        inner = width * (2 if doubled and shared else 1)
        return Layer(
            mixer,
            _with_experts(config, inner) if has_experts else mlp(inner),
            norms=4 + 3 * has_experts + (narrow > 0),
            extra=(
                *((Tensors(Role.FEED_FORWARD, 2 * hidden * narrow),) if narrow else ()),
                *((copied(Role.NORM, hidden + config.count("num_experts")),) if has_experts else ()),
            ),
        )

    found = [layer(index, window) for index, window in enumerate(windows(config, types))]
    lookup = config.count_or(262_144, "vocab_size_per_layer_input", least=1) * layers * narrow
    outer = (
        Tensors(Role.LOOKUP, lookup),
        Tensors(Role.FEED_FORWARD, layers * narrow * hidden),
        copied(Role.NORM, narrow),
    )
    return model(config, found, tied_by_default=True, extra=outer if narrow else ())


def _with_experts(config: Configuration, dense: int) -> FeedForward:
    """Experts beside the MLP; scales of the router are with the layer."""
    return experts(config, intermediate=config.count("moe_intermediate_size"), dense_intermediate=dense)


def _last_is_full(layers: int, rule: TypeRule) -> TypeRule:
    return lambda layer: FULL if layer == layers - 1 else rule(layer)
