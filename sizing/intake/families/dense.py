"""Decoders with one attention and one MLP a layer: a style says in what they differ.

Weights as in transformers 5.24 `models/*/modeling_*.py`; files of remote code by their published sources.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from sizing.intake.configuration import Configuration
from sizing.intake.families.pieces import (
    FULL,
    HIDDEN,
    INTERMEDIATE,
    SLIDING,
    Heads,
    TypeRule,
    always,
    attention,
    every,
    head_bias,
    heads,
    layer_types,
    mlp,
    model,
    overrides,
    recut,
    tied,
    window_of,
    windows,
)
from sizing.intake.parts import Family, Layer, Parts
from sizing.sequence.tensors import Role, Tensors, copied

Asks = Callable[[Configuration], bool]
Width = Callable[[Heads], int]


def yes(_: Configuration) -> bool:
    """Always there."""
    return True


def no(_: Configuration) -> bool:
    """Never there."""
    return False


def key(name: str, default: bool = False) -> Asks:
    """What the file says under `name`."""
    return lambda config: config.flag(name, default)


def nothing(_: Heads) -> int:
    """No weights."""
    return 0


def per_head(cut: Heads) -> int:
    """A norm of the head dimension for queries and one for keys."""
    return 2 * cut.dim


def per_width(cut: Heads) -> int:
    """Norms over all query heads and over all key heads."""
    return (cut.query + cut.kv) * cut.dim


def whole_width(cut: Heads) -> int:
    """The width of all query heads."""
    return cut.query * cut.dim


def when(name: str, width: Width, default: bool = False) -> Callable[[Configuration], Width]:
    """A query and key norm that the file switches on."""
    return lambda config: width if config.flag(name, default) else nothing


def fixed(width: Width) -> Callable[[Configuration], Width]:
    """A query and key norm that is always there."""
    return lambda _: width


NO_QK_NORM = fixed(nothing)


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """In what a decoder differs from Llama.

    `norm` is 1 for a norm of weights alone, 2 for one with a bias, 0 for one without either. `gate` is the width of a
    gate on the attention's output. `slides` gives the type of a layer where the file has no `layer_types`.
    """

    norm: int = 1
    norms: int = 2
    final_norm: int | None = None
    gated: bool = True
    qkv_bias: Asks = no
    output_bias: Asks = no
    mlp_bias: Asks = no
    head_bias: Asks = no
    qk_norm: Callable[[Configuration], Width] = NO_QK_NORM
    gate: Width = nothing
    sinks: bool = False
    tied: bool = False
    slides: Callable[[Configuration], TypeRule] = lambda _: always(FULL)


def self_attentions(config: Configuration, style: Style, cut: Heads, layers: int) -> list[Layer]:
    """One layer each with its attention; the feed-forward is still to come."""
    types = layer_types(config, layers, style.slides(config))
    qk_norm, norms = style.qk_norm(config), style.norms * style.norm
    rest = {
        "qkv_bias": style.qkv_bias(config),
        "output_bias": style.output_bias(config),
        "sinks": style.sinks,
    }
    found = []
    for window, override in zip(windows(config, types), overrides(config, layers), strict=True):
        mine = recut(cut, override)
        mixer = attention(window, mine, qk_norm=qk_norm(mine), gate_width=style.gate(mine), **rest)
        found.append(Layer(mixer, norms=norms))
    return found


def decoder(style: Style) -> Family:
    """The family of a style."""

    def family(config: Configuration) -> Parts:
        hidden, layers = config.count(*HIDDEN), config.layer_count()
        cut = heads(config, hidden)
        inner = mlp(config.count(*INTERMEDIATE), style.gated, style.mlp_bias(config))
        return model(
            config,
            [Layer(layer.attention, inner, layer.norms) for layer in self_attentions(config, style, cut, layers)],
            tied_by_default=style.tied,
            final_norms=style.norm if style.final_norm is None else style.final_norm,
            extra=(head_bias(config),) if style.head_bias(config) else (),
        )

    return family


def slides_everywhere(config: Configuration) -> TypeRule:
    """A `sliding_window` alone slides every layer (vLLM 0.32.0 `layers/attention/attention.py`)."""
    return always(SLIDING if window_of(config) else FULL)


def slides_late(config: Configuration) -> TypeRule:
    """Layers from `max_window_layers` on slide, if the file switches windows on (Qwen2, Qwen3)."""
    if not config.flag("use_sliding_window") or window_of(config) is None:
        return always(FULL)
    first = config.count_or(0, "max_window_layers")
    return lambda layer: SLIDING if layer >= first else FULL


def slides_by_pattern(default: int) -> Callable[[Configuration], TypeRule]:
    """`sliding_window_pattern` p: every p-th layer attends to all; as text, L slides and G does not (EXAONE 4)."""

    def rule(config: Configuration) -> TypeRule:
        for name in ("sliding_window_pattern", "_sliding_window_pattern"):
            pattern = config.raw(name)
            if isinstance(pattern, str):
                if not pattern or set(pattern) - {"L", "G"}:
                    config.refuse("is no pattern", name, pattern, "letters L (local) and G (global)")
                    return always(FULL)
                return lambda layer, pattern=pattern: FULL if pattern[layer % len(pattern)] == "G" else SLIDING  # type: ignore[misc]
        if window_of(config) is None:
            return always(FULL)
        period = config.count_or(default, "sliding_window_pattern", "_sliding_window_pattern")
        return every(period) if period else always(FULL)

    return rule


def slides_on_even(config: Configuration) -> TypeRule:
    """Layers 0, 2, 4 ... slide (Gemma 2, gpt-oss)."""
    return lambda layer: FULL if layer % 2 or window_of(config) is None else SLIDING


def slides_globally(config: Configuration) -> TypeRule:
    """Every `global_attn_every_n_layers`-th layer attends to all (AFMoE)."""
    return every(config.count_or(4, "global_attn_every_n_layers", least=1))


def first_of(period: int) -> Callable[[Configuration], TypeRule]:
    """The first of so many layers attends to all, the others slide (Granite with windows)."""
    return lambda _: lambda layer: SLIDING if layer % period else FULL


LLAMA = Style(qkv_bias=key("attention_bias"), output_bias=key("attention_bias"), mlp_bias=key("mlp_bias"), norms=2)
LAYER_NORM = Style(norm=2, gated=False, qkv_bias=yes, output_bias=yes, mlp_bias=yes)


def positions(config: Configuration, *keys: str, more: int = 0) -> Tensors:
    """A learned vector for every position."""
    return Tensors(Role.LOOKUP, (config.count(*keys) + more) * config.count(*HIDDEN))


def gpt2(config: Configuration) -> Parts:
    """GPT-2, and with one KV head GPT-BigCode: learned positions, biases everywhere, 4 x hidden unless stated."""
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    multi_query = config.flag("multi_query", True) if config.text("model_type") == "gpt_bigcode" else False
    cut = heads(config, hidden, kv=1 if multi_query else None)
    inner = mlp(config.count_or(4 * hidden, *INTERMEDIATE, least=1), gated=False, bias=True)
    layer = Layer(
        attention(None, cut, qkv_bias=True, output_bias=True),
        inner,
        norms=4,
    )
    return model(
        config,
        [layer] * layers,
        tied_by_default=True,
        final_norms=2,
        extra=(positions(config, "n_positions", "max_position_embeddings"),),
    )


def falcon(config: Configuration) -> Parts:
    """Falcon: one KV head with `multi_query` unless the new decoder states some; no bias unless stated."""
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    newer, parallel = config.flag("new_decoder_architecture"), config.flag("parallel_attn", True)
    kv = 1 if config.flag("multi_query", True) and not newer else None
    cut = heads(config, hidden, kv=kv)
    bias = config.flag("bias")
    norms = config.count_or(2 if newer else 1, "num_ln_in_parallel_attn") if parallel else 2
    layer = Layer(
        attention(None, cut, qkv_bias=bias, output_bias=bias),
        mlp(config.count_or(4 * hidden, *INTERMEDIATE, least=1), gated=False, bias=bias),
        norms=2 * norms,
    )
    return model(config, [layer] * layers, tied_by_default=True, final_norms=2)


def mpt(config: Configuration) -> Parts:
    """MPT: no biases, 4 x hidden unless `expansion_ratio` differs, `attn_config.kv_n_heads` where it has them."""
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    inner = config.inner("attn_config")
    cut = heads(config, hidden, kv=None if inner is None else inner.optional("kv_n_heads"))
    bias = not config.flag("no_bias", True)
    layer = Layer(
        attention(None, cut, qkv_bias=bias, output_bias=bias),
        mlp(hidden * config.count_or(4, "expansion_ratio", least=1), gated=False, bias=bias),
        norms=2 + 2 * bias,
    )
    return model(config, [layer] * layers, tied_by_default=True, final_norms=1 + bias)


def bloom(config: Configuration) -> Parts:
    """BLOOM: 4 x hidden, biases, and a norm behind the embedding."""
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    cut = heads(config, hidden)
    layer = Layer(
        attention(None, cut, qkv_bias=True, output_bias=True),
        mlp(4 * hidden, gated=False, bias=True),
        norms=4,
    )
    return model(config, [layer] * layers, tied_by_default=True, final_norms=4)


def opt(config: Configuration) -> Parts:
    """OPT: learned positions and two more, projections where the embedding is narrower than the layers."""
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    width = config.count_or(hidden, "word_embed_proj_dim", least=1)
    cut, bias = heads(config, hidden), config.flag("enable_bias", True)
    affine = 2 * config.flag("layer_norm_elementwise_affine", True)
    layer = Layer(
        attention(None, cut, qkv_bias=bias, output_bias=bias),
        mlp(config.count("ffn_dim"), gated=False, bias=bias),
        norms=2 * affine,
    )
    tables = 1 if tied(config, True) else 2
    narrower = tables * config.count("vocab_size") * (width - hidden) + 2 * width * hidden * (width != hidden)
    last = config.flag("do_layer_norm_before", True) and not config.flag("_remove_final_layer_norm")
    return model(
        config,
        [layer] * layers,
        tied_by_default=True,
        final_norms=affine * last,
        extra=(positions(config, "max_position_embeddings", more=2), Tensors(Role.EMBEDDING, narrower)),
    )


def gpt_j(config: Configuration) -> Parts:
    """GPT-J and CodeGen: attention without biases beside an MLP with them, one norm for both, a bias on the head."""
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    cut = heads(config, hidden)
    layer = Layer(
        attention(None, cut),
        mlp(config.count_or(4 * hidden, *INTERMEDIATE, least=1), gated=False, bias=True),
        norms=2,
    )
    return model(config, [layer] * layers, final_norms=2, extra=(head_bias(config),))


def gpt_neo(config: Configuration) -> Parts:
    """GPT-Neo: `attention_types` alternates global and local layers, a local one keeps `window_size` tokens."""
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    cut, window = heads(config, hidden), config.count_or(256, "window_size", least=1)
    kinds: list[str] = []
    for group in config.items("attention_types") or [[["global", "local"], layers // 2]]:
        kinds += list(group[0]) * group[1] if isinstance(group, list) and len(group) == 2 else ["?"]
    if len(kinds) != layers or set(kinds) - {"global", "local"}:
        config.refuse("does not name one type for each layer", "attention_types", accepted="global and local")
        kinds = ["global"] * layers
    inner = mlp(config.count_or(4 * hidden, *INTERMEDIATE, least=1), gated=False, bias=True)
    found = [
        Layer(
            attention(
                window if kind == "local" else None,
                cut,
                output_bias=True,
            ),
            inner,
            norms=4,
        )
        for kind in kinds
    ]
    return model(
        config, found, tied_by_default=True, final_norms=2, extra=(positions(config, "max_position_embeddings"),)
    )


def chatglm(config: Configuration) -> Parts:
    """ChatGLM2, ChatGLM3 and GLM-4 of remote code: `multi_query_group_num` KV heads with `multi_query_attention`."""
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    cut = heads(
        config, hidden, kv=None if config.flag("multi_query_attention") else config.count("num_attention_heads")
    )
    bias = config.flag("add_bias_linear")
    norm = 1 if config.flag("rmsnorm", True) else 2
    layer = Layer(
        attention(
            None,
            cut,
            qkv_bias=bias or config.flag("add_qkv_bias"),
            output_bias=bias,
        ),
        mlp(config.count("ffn_hidden_size"), bias=bias),
        norms=2 * norm,
    )
    last = norm if config.flag("post_layer_norm", True) else 0
    return model(config, [layer] * layers, final_norms=last)


def qwen1(config: Configuration) -> Parts:
    """Qwen of remote code: bias on q, k and v."""
    return _halved(config, qkv_bias=True)


def molmo(config: Configuration) -> Parts:
    """Molmo's decoder, whose vocabulary is `embedding_size`; norms over all heads where the file asks for them."""
    return _halved(config, config.flag("qkv_bias"), config.flag("attention_layer_norm"))


def _halved(config: Configuration, qkv_bias: bool, norm: bool = False) -> Parts:
    """A decoder whose `intermediate_size` counts gate and up together."""
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    cut = heads(config, hidden)
    mixer = attention(None, cut, qkv_bias=qkv_bias, qk_norm=per_width(cut) * norm)
    return model(config, [Layer(mixer, mlp(config.count("intermediate_size") // 2))] * layers)


def phi_msft(config: Configuration) -> Parts:
    """Phi-1, 1.5 and 2 under either set of names: one norm for attention and MLP, biases everywhere."""
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    cut = heads(config, hidden)
    layer = Layer(
        attention(
            None,
            cut,
            qkv_bias=True,
            output_bias=True,
            qk_norm=4 * cut.dim * config.flag("qk_layernorm"),
        ),
        mlp(config.count_or(4 * hidden, *INTERMEDIATE, least=1), gated=False, bias=True),
        norms=2,
    )
    return model(config, [layer] * layers, final_norms=2, extra=(head_bias(config),))


def stablelm(config: Configuration) -> Parts:
    """StableLM: one norm where attention and MLP are parallel, a norm per head where the file asks for it."""
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    cut = heads(config, hidden)
    layer = Layer(
        attention(
            None,
            cut,
            qkv_bias=config.flag("use_qkv_bias"),
            qk_norm=per_width(cut) * config.flag("qk_layernorm"),
        ),
        mlp(config.count(*INTERMEDIATE)),
        norms=2 if config.flag("use_parallel_residual") else 4,
    )
    return model(config, [layer] * layers, final_norms=2)


def apertus(config: Configuration) -> Parts:
    """Apertus: no gate, a norm per head, and two learned weights of the activation in every layer."""
    parts = decoder(
        Style(gated=False, qk_norm=fixed(per_head), qkv_bias=key("attention_bias"), output_bias=key("attention_bias"))
    )(config)
    learned = (copied(Role.SMALL, 2 * len(parts.layers)),)
    return Parts(
        parts.hidden, parts.vocabulary, parts.tied, parts.layers, parts.context_limit, parts.final_norms, learned
    )


def per_head_biased(cut: Heads) -> int:
    """Norms of the head dimension with a bias each."""
    return 4 * cut.dim


def hyperclovax(config: Configuration) -> Parts:
    """HyperCLOVA X: Llama, with norms behind attention and MLP too unless `use_post_norm` is off."""
    return decoder(replace(LLAMA, norms=4 if config.flag("use_post_norm", True) else 2))(config)
