"""Latent attention and what was built on it: DeepSeek V2 to V4, Kimi K2, GLM-5, LongCat, MiniCPM3.

Keys that speak of KV heads or of a head dimension mean nothing here: the cache is the latent (kv_rules 2.2).
"""

from dataclasses import replace
from typing import Any

from sizing.intake.configuration import Configuration
from sizing.intake.families.dense import LLAMA, Style
from sizing.intake.families.mixture import (
    Expertise,
    Which,
    all_but_first,
    counted_shared,
    deepseek_moe,
    feed_forwards,
    from_first,
    mixture,
    mtp_outer,
)
from sizing.intake.families.pieces import HEADS, HIDDEN, experts, has_experts, mlp, model, mtp_count
from sizing.intake.parts import Family, Layer, Parts
from sizing.sequence.compressed import CompressedAttention
from sizing.sequence.feed_forward import Experts
from sizing.sequence.latent import LatentAttention, SparseLatentAttention
from sizing.sequence.tensors import Role, copied

MOST_COMPRESSION = 4_096
UNRATED = "sliding_attention"
RATED = {name: name for name in (UNRATED, "compressed_sparse_attention", "heavily_compressed_attention")}
HASHED = {"hash_moe": "hash", "moe": "score"}


def latent_fields(config: Configuration, value_head_dim: int | None = None) -> dict[str, Any]:
    """The fields of `LatentAttention`; `value_head_dim` where the family does not state it."""
    return {
        "query_heads": config.count(*HEADS),
        "kv_lora_rank": config.count("kv_lora_rank"),
        "rope_head_dim": config.count("qk_rope_head_dim", least=0),
        "nope_head_dim": config.count("qk_nope_head_dim"),
        "value_head_dim": value_head_dim or config.count("v_head_dim"),
        "query_lora_rank": config.optional("q_lora_rank"),
        "bias": config.flag("attention_bias"),
    }


def corrected(config: Configuration) -> bool:
    """Whether the router carries the correction bias of loss-free balancing."""
    return config.text("topk_method") in (None, "noaux_tc")


def deepseek_v2(config: Configuration) -> Parts:
    """DeepSeek-V2 and V2-Lite: no correction bias in the router. With `use_mla` off heads are cached (DeepSeek-VL2)."""
    if not config.flag("use_mla", True):
        return mixture(LLAMA, deepseek_moe, from_first)(config)
    return _latent_model(config, deepseek_moe, mtp_repeats=True)


def deepseek_v3(config: Configuration) -> Parts:
    """DeepSeek-V3, R1, V3.1 and Kimi K2; the layers for multi-token prediction repeat embedding and head."""
    return _latent_model(config, counted_shared if corrected(config) else deepseek_moe, mtp_repeats=True)


def glm4_moe_lite(config: Configuration) -> Parts:
    """GLM-4.7-Flash: the same with the first layer dense unless `mlp_layer_types` says otherwise."""
    return _latent_model(config, counted_shared, mtp_repeats=True, which=all_but_first)


def axk1(config: Configuration) -> Parts:
    """A.X K1: DeepSeek-V3 with a norm behind the experts."""
    parts = _latent_model(config, counted_shared, mtp_repeats=True, which=all_but_first)
    routed = [isinstance(layer.feed_forward, Experts) for layer in parts.layers]
    layers = tuple(
        replace(layer, norms=layer.norms + behind) for layer, behind in zip(parts.layers, routed, strict=True)
    )
    return replace(parts, layers=layers)


def _no_layers(_config: Configuration, _layers: int) -> frozenset[int]:
    return frozenset()


def _latent_model(config: Configuration, expertise: Expertise, mtp_repeats: bool, which: Which = from_first) -> Parts:
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    attention = LatentAttention(**latent_fields(config))
    inner = feed_forwards(config, layers, expertise, which if has_experts(config) else _no_layers, Style())
    found = [Layer(attention, width) for width in inner]
    count = mtp_count(config)
    return model(config, found, mtp=found[-1:] * count, mtp_extra=mtp_outer(config, hidden, mtp_repeats) * count)


def sparse(mtp_repeats: bool) -> Family:
    """DeepSeek-V3.2 (whose layers for multi-token prediction repeat embedding and head) and GLM-5 (whose do not)."""

    def family(config: Configuration) -> Parts:
        hidden, layers = config.count(*HIDDEN), config.layer_count()
        fields = latent_fields(config) | {
            "index_heads": config.count("index_n_heads"),
            "index_head_dim": config.count("index_head_dim"),
        }
        owner = SparseLatentAttention(**fields)
        reader = SparseLatentAttention(indexer=False, **fields)
        inner = feed_forwards(config, layers, counted_shared, from_first, Style())
        owns = index_owners(config, layers)
        found = [Layer(owner if own else reader, width) for own, width in zip(owns, inner, strict=True)]
        count = mtp_count(config)
        return model(
            config,
            found,
            mtp=[Layer(owner, inner[-1])] * count,
            mtp_extra=mtp_outer(config, hidden, mtp_repeats) * count,
        )

    return family


def index_owners(config: Configuration, layers: int) -> list[bool]:
    """Which layers own an indexer (vLLM 0.32.0; GLM-5.2 and later have fewer owners than layers).

    `index_topk_pattern`, where S shares the choice of an earlier layer; else every `index_topk_freq`-th from
    `index_skip_topk_offset` on. `indexer_types` says the same and must not say otherwise.
    """
    pattern = config.text("index_topk_pattern")
    if pattern is not None:
        if len(pattern) < layers:
            config.refuse(f"has {len(pattern)} letters for {layers} layers", "index_topk_pattern")
            return [True] * layers
        owners = [letter != "S" for letter in pattern[:layers]]
    else:
        step = config.step("index_topk_freq")
        offset = config.count_or(2, "index_skip_topk_offset") if step > 1 else 0
        owners = [max(layer - offset + 1, 0) % step == 0 for layer in range(layers)]
    named = config.items("indexer_types", layers, longer=True)
    if named is None:
        return owners
    stated = [name == "full" for name in named[:layers]]
    keys = ("index_topk_pattern", "index_topk_freq", "index_skip_topk_offset")
    if any(key in config.tree and config.tree[key] is not None for key in keys) and stated != owners:
        config.contradict("contradicts index_topk_pattern, index_topk_freq and index_skip_topk_offset", "indexer_types")
    return stated


def longcat(config: Configuration) -> Parts:
    """LongCat-Flash: two attentions and two MLPs a layer beside the experts, some of which only pass on."""
    config.count(*HIDDEN)
    layers = config.layer_count()
    attention = LatentAttention(**latent_fields(config))
    inner = experts(
        config,
        intermediate=config.count("expert_ffn_hidden_size", "moe_intermediate_size"),
        router_bias=True,
        identity_experts=config.count_or(0, "zero_expert_num"),
        dense_intermediate=2 * config.count("ffn_hidden_size", "intermediate_size"),
    )
    return model(config, [Layer(attention, inner, norms=4, also=(attention,))] * layers)


def minicpm3(config: Configuration) -> Parts:
    """MiniCPM3: latents by its weights; vLLM expands them into heads before it caches them."""
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    value = config.count_or(max(1, hidden // config.count(*HEADS)), "v_head_dim", least=1)
    attention = LatentAttention(absorbed=False, **latent_fields(config, value))
    layer = Layer(attention, mlp(config.count("intermediate_size")))
    note = "vLLM expands the latents of MiniCPM3 into heads and caches those."
    return model(config, [layer] * layers, tied_by_default=True, notes=(note,))


def _ratios(config: Configuration, layers: int) -> list[int]:
    """`compress_ratios`, one a layer and more for drafts; or `layer_types` with the rates in `compress_rates`."""
    ratios = config.counts("compress_ratios", layers, longer=True)
    rates = config.inner("compress_rates")
    if ratios is not None:
        return ratios
    types = config.types(layers, "layer_types", RATED) if rates is not None else None
    if rates is None or types is None:
        config.refuse("is missing", "compress_ratios", accepted="one ratio a layer")
        return [0] * layers
    by_name = {name: rates.count(name) for name in dict.fromkeys(types) if name != UNRATED}
    return [by_name.get(name, 0) for name in types]


def deepseek_v4(config: Configuration) -> Parts:
    """DeepSeek-V4: windows beside compressed latents, hyper-connections, and a hash that routes the first layers."""
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    ratios = _ratios(config, layers)
    if any(ratio > MOST_COMPRESSION for ratio in ratios):
        config.refuse("is no ratio", "compress_ratios", max(ratios), f"at most {MOST_COMPRESSION}")
    fields = {
        "query_heads": config.count(*HEADS),
        "head_dim": config.count("head_dim"),
        "rope_head_dim": config.count("qk_rope_head_dim"),
        "query_lora_rank": config.count("q_lora_rank"),
        "output_lora_rank": config.count("o_lora_rank"),
        "output_groups": config.count("o_groups"),
        "window": config.count("sliding_window"),
        "index_heads": config.count("index_n_heads"),
        "index_head_dim": config.count("index_head_dim"),
    }
    streams = config.count("hc_mult")
    connections = (copied(Role.SMALL, 2 * (streams * (streams + 2) * (streams * hidden + 1) + 3)),)
    named = config.types(layers, "mlp_layer_types", HASHED)
    hashed = config.count_or(3, "num_hash_layers") if named is None else named.count("hash")
    width = config.count("moe_intermediate_size")
    shared = width * config.count_or(0, "n_shared_experts")
    by_hash = experts(config, shared_intermediate=shared)
    by_score = experts(config, shared_intermediate=shared, router_bias=True)

    def layer(index: int, ratio: int) -> Layer:
        attention = CompressedAttention(ratio=ratio, **fields)
        return Layer(attention, by_hash if index < hashed else by_score, extra=connections)

    merge = copied(Role.SMALL, streams * (streams * hidden + 1) + 1)
    count = mtp_count(config)
    return model(
        config,
        [layer(index, ratio) for index, ratio in enumerate(ratios[:layers])],
        extra=(merge,),
        mtp=[layer(layers, ratios[layers + index] if layers + index < len(ratios) else 0) for index in range(count)],
        mtp_extra=(*mtp_outer(config, hidden, False), merge) * count,
    )
