"""Which family's rule a `model_type` or an architecture follows. What is not here is refused by name, never guessed."""

from collections.abc import Mapping
from dataclasses import replace

from sizing.intake.families import deepseek, dense, gemma, linear, llama, mamba, mixture, qwen, special
from sizing.intake.families.dense import (
    LLAMA,
    Style,
    decoder,
    first_of,
    fixed,
    key,
    no,
    per_head,
    per_width,
    slides_by_pattern,
    slides_everywhere,
    slides_globally,
    slides_late,
    slides_on_even,
    when,
    whole_width,
    yes,
)
from sizing.intake.families.mixture import (
    after_dense,
    all_but_first,
    averaged_shared,
    biased_experts,
    by_step,
    counted_shared,
    deepseek_moe,
    ernie_experts,
    ernie_layers,
    from_first,
    full_width_experts,
    full_width_shared,
    gated_shared,
    granite_shared,
    grok_experts,
    plain_experts,
)
from sizing.intake.families.mixture import (
    mixture as with_experts,
)
from sizing.intake.families.neural_search import nemotron_nas
from sizing.intake.parts import Family

_BIASED_BY_KEY = Style(qkv_bias=key("attention_bias"), output_bias=key("attention_bias"))
_QWEN2 = Style(qkv_bias=yes, slides=slides_late)
_QWEN3 = replace(_BIASED_BY_KEY, qk_norm=fixed(per_head), slides=slides_late)
_BIASED = Style(qkv_bias=key("use_bias"), output_bias=key("use_bias"), mlp_bias=key("use_bias"))
_GRANITE = replace(_BIASED_BY_KEY, mlp_bias=key("mlp_bias"))
_GLM4_MOE = Style(qkv_bias=key("attention_bias", True), qk_norm=when("use_qk_norm", per_head))
_COHERE = replace(_BIASED_BY_KEY, norms=1, qk_norm=when("use_qk_norm", per_width), tied=True)
_OLMO_NORMS = replace(_BIASED_BY_KEY, qk_norm=fixed(per_width))

_MINICPM = replace(_BIASED_BY_KEY, tied=True)
_EXAONE = Style(qk_norm=fixed(per_head), slides=slides_by_pattern(4))
_NO_OUTPUT_BIAS = replace(LLAMA, output_bias=no)
_SARVAM = replace(_NO_OUTPUT_BIAS, qk_norm=when("use_qk_norm", per_head, True))
_COHERE2 = replace(_BIASED_BY_KEY, norms=1, tied=True, slides=slides_by_pattern(4))

MODEL_TYPES: Mapping[str, Family] = {
    # one attention and one MLP a layer
    "aquila": decoder(LLAMA),
    "apertus": dense.apertus,
    "arcee": decoder(replace(_BIASED_BY_KEY, gated=False, mlp_bias=key("mlp_bias"))),
    "baichuan": decoder(Style()),
    "bloom": dense.bloom,
    "chatglm": dense.chatglm,
    "codegen": dense.gpt_j,
    "cohere": decoder(_COHERE),
    "cohere2": decoder(_COHERE2),
    "cwm": decoder(LLAMA),
    "ernie4_5": decoder(
        Style(qkv_bias=key("use_bias"), output_bias=key("use_bias"), mlp_bias=key("use_bias"), tied=True)
    ),
    "exaone": decoder(LLAMA),
    "exaone4": decoder(_EXAONE),
    "falcon": dense.falcon,
    "gemma": decoder(replace(_BIASED_BY_KEY, tied=True)),
    "gemma2": decoder(replace(_BIASED_BY_KEY, norms=4, tied=True, slides=slides_on_even)),
    "glm": decoder(Style(qkv_bias=key("attention_bias", True))),
    "glm_ocr": decoder(Style(norms=4)),
    "glm4": decoder(Style(norms=4, qkv_bias=key("attention_bias", True))),
    "gpt2": dense.gpt2,
    "gpt_bigcode": dense.gpt2,
    "gpt_neo": dense.gpt_neo,
    "gpt_neox": decoder(
        Style(
            norm=2,
            gated=False,
            qkv_bias=key("attention_bias", True),
            output_bias=key("attention_bias", True),
            mlp_bias=yes,
        )
    ),
    "gptj": dense.gpt_j,
    "granite": decoder(_GRANITE),
    "helium": decoder(Style(qkv_bias=key("attention_bias"))),
    "granite_swa": decoder(replace(_GRANITE, sinks=True, slides=first_of(4))),
    "hunyuan_v1_dense": mixture.hunyuan,
    "hyperclovax": dense.hyperclovax,
    "iquestcoder": decoder(LLAMA),
    "jais2": decoder(
        Style(
            norm=2,
            gated=False,
            qkv_bias=key("attention_bias", True),
            output_bias=key("attention_bias", True),
            mlp_bias=key("mlp_bias", True),
        )
    ),
    "internlm": decoder(Style(qkv_bias=key("bias", True), output_bias=key("bias", True))),
    "internlm2": decoder(Style(qkv_bias=key("bias"), output_bias=key("bias"))),
    "internlm3": decoder(Style(qkv_bias=key("qkv_bias"), output_bias=key("bias"), mlp_bias=key("bias"))),
    "llama": decoder(LLAMA),
    "mimo": special.mimo,
    "minicpm": decoder(_MINICPM),
    "ministral": decoder(Style(slides=slides_everywhere)),
    "ministral3": decoder(Style(slides=slides_everywhere)),
    "minicpmv": special.by_version(
        {
            "2.0": decoder(_MINICPM),
            "2.5": decoder(LLAMA),
            "2.6": decoder(_QWEN2),
            "4.0": decoder(LLAMA),
            "4.5": decoder(_QWEN3),
        }
    ),
    "mistral": decoder(Style(slides=slides_everywhere)),
    "molmo": dense.molmo,
    "mpt": dense.mpt,
    "nemotron": decoder(replace(_BIASED_BY_KEY, norm=2, gated=False, mlp_bias=key("mlp_bias"))),
    "nemotron-nas": nemotron_nas,
    "olmo": decoder(replace(_BIASED_BY_KEY, norm=0)),
    "olmo2": decoder(_OLMO_NORMS),
    "olmo3": decoder(_OLMO_NORMS),
    "opt": dense.opt,
    "orion": decoder(Style(norm=2)),
    "persimmon": decoder(
        Style(
            norm=2,
            gated=False,
            qkv_bias=yes,
            output_bias=yes,
            mlp_bias=yes,
            qk_norm=when("qk_layernorm", dense.per_head_biased, True),
        )
    ),
    "phi": dense.phi_msft,
    "phi3": decoder(Style(slides=slides_everywhere)),
    "qwen": dense.qwen1,
    "qwen2": decoder(_QWEN2),
    "qwen3": decoder(_QWEN3),
    "seed_oss": decoder(
        Style(qkv_bias=key("attention_bias", True), output_bias=key("attention_out_bias"), mlp_bias=key("mlp_bias"))
    ),
    "smollm3": decoder(replace(_BIASED_BY_KEY, mlp_bias=key("mlp_bias"), tied=True, slides=slides_late)),
    "stablelm": dense.stablelm,
    "starcoder2": decoder(
        Style(
            norm=2,
            gated=False,
            qkv_bias=key("use_bias", True),
            output_bias=key("use_bias", True),
            mlp_bias=key("use_bias", True),
            tied=True,
            slides=slides_everywhere,
        )
    ),
    "vaultgemma": decoder(replace(_BIASED_BY_KEY, tied=True, slides=slides_on_even)),
    "xverse": decoder(Style()),
    "yi": decoder(LLAMA),
    # other attentions, and layers that share a cache
    "gemma3": gemma.gemma3,
    "gemma3n": gemma.gemma3n,
    "gemma4": gemma.gemma4,
    "mllama": llama.mllama,
    # experts
    "arctic": mixture.arctic,
    "aria": with_experts(LLAMA, full_width_shared),
    "afmoe": with_experts(
        replace(_BIASED_BY_KEY, norms=4, qk_norm=fixed(per_head), gate=whole_width, slides=slides_globally),
        counted_shared,
        after_dense,
    ),
    "bailing_moe": special.bailing,
    "cohere2_moe": with_experts(_COHERE2, averaged_shared, from_first),
    "dbrx": mixture.dbrx,
    "deepseek": with_experts(LLAMA, deepseek_moe, from_first),
    "dots1": with_experts(_QWEN3, counted_shared, from_first),
    "ernie4_5_moe": with_experts(
        Style(qkv_bias=key("use_bias"), output_bias=key("use_bias"), mlp_bias=key("use_bias"), tied=True),
        ernie_experts,
        ernie_layers,
    ),
    "ernie4_5_vl_moe": mixture.ernie_vision,
    "exaone_moe": with_experts(_EXAONE, counted_shared, from_first, mtp_repeats=False),
    "flex_olmo": with_experts(_OLMO_NORMS, full_width_experts),
    "glm4_moe": with_experts(_GLM4_MOE, counted_shared, from_first, mtp_repeats=True),
    "gpt_oss": special.gpt_oss,
    "grok": with_experts(Style(norms=4, tied=True), grok_experts),
    "grok2": with_experts(Style(norms=4), grok_experts),
    "granitemoe": with_experts(_GRANITE, full_width_experts),
    "granitemoeshared": with_experts(_GRANITE, granite_shared),
    "granitemoe_swa": with_experts(replace(_GRANITE, sinks=True, slides=first_of(4)), granite_shared),
    "hunyuan": mixture.hunyuan,
    "hunyuan_v1_moe": mixture.hunyuan,
    "hy_v3": with_experts(_QWEN3, counted_shared, all_but_first),
    "laguna": special.laguna,
    "llama4": llama.llama4,
    "mellum": with_experts(_QWEN3, plain_experts, from_first),
    "mimo_v2_flash": special.mimo_v2,
    "minimax_m2": with_experts(Style(qk_norm=when("use_qk_norm", per_width, True)), biased_experts),
    "minimax_m3": special.minimax_m3,
    "mixtral": with_experts(Style(slides=slides_everywhere), full_width_experts),
    "olmoe": with_experts(_OLMO_NORMS, full_width_experts),
    "phimoe": mixture.phimoe,
    "qwen2_moe": with_experts(Style(qkv_bias=key("qkv_bias", True), slides=slides_late), gated_shared, by_step),
    "qwen3_moe": with_experts(_QWEN3, plain_experts, by_step),
    "sarvam_moe": with_experts(_SARVAM, counted_shared, from_first, mtp_repeats=False),
    "solar_open": with_experts(_NO_OUTPUT_BIAS, counted_shared, from_first),
    "step3": special.step3,
    "step3p5": special.step3p5,
    # latents
    "axk1": deepseek.axk1,
    "deepseek_v2": deepseek.deepseek_v2,
    "deepseek_v3": deepseek.deepseek_v3,
    "deepseek_v32": deepseek.sparse(mtp_repeats=True),
    "deepseek_v4": deepseek.deepseek_v4,
    "glm4_moe_lite": deepseek.glm4_moe_lite,
    "glm_moe_dsa": deepseek.sparse(mtp_repeats=False),
    "longcat_flash": deepseek.longcat,
    "minicpm3": deepseek.minicpm3,
    # states
    "bailing_hybrid": linear.bailing_hybrid,
    "bamba": mamba.bamba,
    "falcon_h1": mamba.falcon_h1,
    "falcon_mamba": mamba.mamba,
    "granitemoehybrid": mamba.granite_hybrid,
    "jamba": mamba.jamba,
    "kimi_linear": linear.kimi_linear,
    "lfm2": linear.lfm2,
    "lfm2_moe": linear.lfm2,
    "mamba": mamba.mamba,
    "mamba2": mamba.mamba2,
    "minimax": linear.minimax_text,
    "nemotron_h": mamba.nemotron_h,
    "olmo_hybrid": linear.olmo_hybrid,
    "qwen3_5": qwen.qwen3_5,
    "qwen3_next": qwen.qwen3_next,
    "zamba2": mamba.zamba2,
}
