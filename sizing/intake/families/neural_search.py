"""Nemotron-NAS (DeciLM): every layer is what a search left of it."""

from typing import Any

from sizing.intake.configuration import Configuration
from sizing.intake.families.pieces import HEADS, HIDDEN, check_heads, heads, model
from sizing.intake.parts import Layer, Parts
from sizing.sequence.attention import AttentionKind
from sizing.sequence.feed_forward import FeedForward, GatedMlp, NoFeedForward
from sizing.sequence.heads import FullAttention, NoAttention

ROUNDED_TO = 256


def nemotron_nas(config: Configuration) -> Parts:
    """`block_configs` gives every layer its heads and its width, or `no_op`, or `replace_with_linear`.

    KV heads are `num_attention_heads / n_heads_in_group`; a width is `ffn_mult` x 2/3 x hidden, rounded up to 256
    (`modeling_decilm.py` of the checkpoints). The norm goes with what it stands before.
    """
    hidden, layers = config.count(*HIDDEN), config.layer_count()
    query = config.count(*HEADS)
    dim = heads(config, hidden, kv=1).dim
    blocks = config.items("block_configs", layers)
    if blocks is None:
        config.refuse("is missing", "block_configs", accepted="one entry a layer")
        blocks = []
    found = []
    for index, tree in enumerate(blocks):
        block = _mapping(config, tree, f"block_configs[{index}]")
        mixer, inner = block.inner("attention"), block.inner("ffn")
        if mixer is None or inner is None:
            block.refuse("is missing", "attention" if mixer is None else "ffn")
            continue
        kind, width = _attention(mixer, query, dim), _feed_forward(inner, hidden)
        norms = (not mixer.flag("no_op")) + (not inner.flag("no_op"))
        found.append(Layer(kind, width, norms))
    return model(config, found)


def _mapping(config: Configuration, tree: Any, name: str) -> Configuration:
    if not isinstance(tree, dict):
        config.refuse("is no mapping", name, tree, "attention and ffn")
        tree = {}
    return Configuration(tree, config.file, (*config.path, name), None, config)


def _attention(config: Configuration, query: int, dim: int) -> AttentionKind:
    if config.flag("no_op") or config.flag("replace_with_linear"):
        return NoAttention(linear=not config.flag("no_op"))
    group = config.count("n_heads_in_group")
    if query % group:
        config.contradict(f"{query} query heads are no multiple of it", "n_heads_in_group", group)
    kv = max(1, query // group)
    check_heads(config, query, kv)
    return FullAttention(query_heads=query, kv_heads=kv, head_dim=dim)


def _feed_forward(config: Configuration, hidden: int) -> FeedForward:
    if config.flag("no_op") or config.flag("replace_with_linear"):
        return NoFeedForward(linear=not config.flag("no_op"))
    multiple = config.raw("ffn_mult")
    if isinstance(multiple, bool) or not isinstance(multiple, int | float) or not 0 < multiple < 1000:
        config.refuse("is no width", "ffn_mult", multiple, "a positive number")
        return NoFeedForward()
    width = int(2 * multiple * hidden / 3)
    return GatedMlp(intermediate=-(-width // ROUNDED_TO) * ROUNDED_TO)
