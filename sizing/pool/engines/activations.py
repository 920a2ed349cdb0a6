"""Memory of one step beside weights and cache: logits, what a feed-forward holds, buffers of experts and of indexers.

Rules: vLLM 0.32.0 `v1/worker/gpu_model_runner.py` (`profile_run`, `_dummy_sampler_run`), `layers/fused_moe`
(`workspace_shapes`), `v1/attention/backends/mla/flashmla_sparse.py` and `indexer.py` (prefill workspaces).
"""

from fractions import Fraction

from sizing.pool.engines.widths import expert_widths, sparse_latent, widest_mlp
from sizing.sequence.model import ModelShape

INDEX_LOGITS_BYTES = 512 * 2**20  # VLLM_SPARSE_INDEXER_MAX_LOGITS_MB
LATENT_ROWS = 5  # rows of the workspace of sparse latents for each token of the longest sequence, 16 bits an element
INDEX_ROWS = 40  # and of index keys
INDEX_ROW_BYTES = 132


def sampling_bytes(model: ModelShape, sequences: int, logit_bytes: Fraction) -> Fraction:
    """`logit_bytes` for every logit of `sequences` that are sampled together, on every GPU."""
    return sequences * model.vocabulary * logit_bytes


def hidden_bytes(model: ModelShape, tokens: int, element_bytes: int) -> int:
    """The activations between two layers."""
    return tokens * model.hidden * element_bytes


def forward_bytes(model: ModelShape, tokens: int, tp: int, element_bytes: int) -> Fraction:
    """Gate and up projection and their product, and a layer's input, output and residual."""
    inner = tokens * element_bytes * 3 * Fraction(widest_mlp(model), tp)
    return inner + 3 * hidden_bytes(model, tokens, element_bytes)


def expert_bytes(model: ModelShape, tokens: int, tp: int, element_bytes: int) -> Fraction:
    """The two buffers that routed experts work in: for each token and expert that it uses, the wider of the product
    and the output, and the wider of the two projections and the output."""
    experts = expert_widths(model)
    if experts is None:
        return Fraction(0)
    inner = Fraction(experts.intermediate, tp)
    widths = max(inner, Fraction(experts.hidden)) + max(2 * inner, Fraction(experts.hidden))
    return tokens * experts.active * element_bytes * widths


def indexer_bytes(model: ModelShape, longest: int) -> int:
    """Buffers of sparse latents and their indexer, for a longest sequence of so many tokens."""
    sparse = sparse_latent(model)
    if sparse is None:
        return 0
    return longest * (LATENT_ROWS * sparse.latent_elements * 2 + INDEX_ROWS * INDEX_ROW_BYTES) + INDEX_LOGITS_BYTES
