"""Folders of catalogs that are nearly right, and the workload that asks for what they bring."""

from random import Random

from tests.robustness.odd_texts import hostile, mutated
from tests.robustness.odd_values import NEARLY_NUMBERS

_TOLD = "sources: [quotation], date: 2026-12-01, confidence: high"
FILES = {
    "sources.yaml": "quotation: {title: A quotation, address: mail, date: 2026-12-01}\n",
    "gpus.yaml": f"""\
our-gpu:
  title: Our GPU
  vendor: NVIDIA
  generation: hopper
  memory_kind: HBM3e
  hbm_label_gb: {{value: 96, {_TOLD}, range: [90, 100]}}
  hbm_driver_bytes: {{value: 95 GiB, {_TOLD}}}
  hbm_tb_s: {{value: 4.8, {_TOLD}}}
  dense_tflops: {{bf16: {{value: 989.5, {_TOLD}}}}}
  tdp_w: {{value: 700, {_TOLD}}}
h200:
  hbm_label_gb: {{value: 150, {_TOLD}}}
""",
    "systems.yaml": f"""\
our-8:
  title: Our server
  vendor: NVIDIA
  status: on sale
  gpu: our-gpu
  domain_gpus: 8
  domains_per_system: 1
  scale_up: NVLink 4
  cooling: liquid
  nameplate_kw: {{value: 9.8, {_TOLD}, range: [9, 10]}}
  liquid_kw: {{value: 9, {_TOLD}}}
  rack_units: {{value: 8, {_TOLD}}}
  price_usd: {{value: 310000, range: [295000, 310000], {_TOLD}}}
hgx-h200-8:
  nameplate_kw: {{value: 9.9, {_TOLD}, basis: our own}}
  missing: {{rack_units: nobody knows}}
  rack_units: null
""",
    "pods.yaml": f"""\
our-pod:
  title: Our block
  gpu_slots: {{value: 64, {_TOLD}}}
  power_kw: {{value: 600, {_TOLD}, basis: electrical input}}
  cooling: liquid and air
  pue: {{value: 1.15, {_TOLD}}}
  liquid_kw: {{value: 450, {_TOLD}}}
  air_kw: {{value: 120, {_TOLD}}}
  bill_rules: our-rules
  price_usd: {{value: 1, {_TOLD}}}
""",
    "kv_precisions.yaml": f"""\
our-kv:
  title: Our bits
  aliases: [our-alias]
  bits: {{value: 5.5, {_TOLD}}}
  generations: {{hopper: [quotation], blackwell: [quotation]}}
  evidence:
    - {{verdict: against, finding: it is new, source: quotation, weight: weak}}
""",
    "engines.yaml": f"""\
vllm:
  utilisation: {{value: 90 %, {_TOLD}}}
  base_memory: {{value: 66 MiB, {_TOLD}}}
  block_tokens: {{value: 32, {_TOLD}}}
  state_copies: {{value: 1, {_TOLD}}}
  batches:
    0 bytes:
      tokens: {{value: 4096, {_TOLD}}}
      sequences: {{value: 256, {_TOLD}}}
""",
    "bill_rules.yaml": f"""\
our-rules:
  title: Our rules
  networks:
    net:
      tiers: 2
      switch_ports: 64
      ports_per_optic: 2
      attachments:
        - {{systems: {{vendors: [AMD]}}, ports: 0}}
        - {{ports: 1, gpus: 1}}
    slow: {{tiers: 1, switch_ports: 48, at_least: 2, pod_ports: 13, attachments: [{{ports: 4}}]}}
  racks:
    any:
      - {{systems: {{form: node, cooling: liquid}}, most: 4, units: 48}}
      - {{kw: 30 kW, units: 48}}
  lines:
    leaf:
      group: Network
      manufacturer: any
      part: a switch
      description: leaf
      quantity: {{rule: switches, network: net, tier: leaf}}
      unit_kw: {{value: 1.7, {_TOLD}, range: [1, 1.7]}}
      {_TOLD.replace(", ", chr(10) + "      ")}
    rack:
      group: Racks
      manufacturer: any
      part: a rack
      description: rack
      quantity: {{rule: racks, racks: any}}
      no_power: passive
      {_TOLD.replace(", ", chr(10) + "      ")}
""",
    "models/small.yaml": """\
title: Small
aliases: [our/Small-1B]
hidden: 2048
vocabulary: 32000
tied_embeddings: true
weights: bf16
context_limit: 64k
sources: [quotation]
date: 2026-12-01
confidence: high
layers:
  - count: 12
    attention: &heads {kind: full, query_heads: 32, kv_heads: 8, head_dim: 64}
    feed_forward: {kind: gated, intermediate: 8192}
  - count: 4
    attention: {kind: sliding, window: 4096, query_heads: 32, kv_heads: 8, head_dim: 64}
    feed_forward: {kind: experts, experts: 8, active_experts: 2, intermediate: 1024}
  - count: 2
    attention: {kind: mamba2, heads: 32, head_dim: 64, state: 128, groups: 1, conv_kernel: 4}
    also: [*heads]
    feed_forward: {kind: none}
""",
    "models/latent.yaml": """\
title: Latent
hidden: 1024
vocabulary: 32000
tied_embeddings: false
weights: fp8-block
context_limit: 1M
sources: [quotation]
date: 2026-12-01
confidence: low
extra: [{role: small, parameters: 65541, most_shards: 1}]
layers:
  - count: 10
    attention: {kind: latent, query_heads: 16, kv_lora_rank: 512, rope_head_dim: 64, nope_head_dim: 128,
      value_head_dim: 128, query_lora_rank: 1536}
    feed_forward: {kind: plain, intermediate: 4096}
""",
}

WORKLOAD = """\
name: Ours
classes:
  - {name: a, model: small, context: 4k, concurrency: 50, kv_precision: [bf16, our-kv]}
  - {name: b, model: latent, context: 16k, concurrency: 20}
site: {pod: our-pod}
policy: {systems: [our-8, hgx-h200-8], mixed_pods: true, engine: ENGINE}
"""


def odd_catalog(random: Random) -> dict[str, bytes]:
    """The files of a folder by path: all of them in order but one or two, or a file that is none."""
    files = {path: text.encode() for path, text in FILES.items()}
    for path in random.sample(sorted(FILES), random.choice((1, 1, 2))):
        chance = random.random()
        if chance < 0.03:
            files[path] = hostile(random)
        elif chance < 0.4:
            files[path] = _other_number(FILES[path], random).encode()
        else:
            files[path] = mutated(FILES[path], random)
    return files


def workload(random: Random) -> bytes:
    """A workload that asks for the entries of such a folder."""
    return WORKLOAD.replace("ENGINE", random.choice(("ideal", "ideal", "vllm"))).encode()


def _other_number(text: str, random: Random) -> str:
    """One to three numbers replaced by others that can be read."""
    import re

    for _ in range(random.choice((1, 1, 2, 3))):
        found = list(re.finditer(r"(?<=: )[0-9][0-9.]*(?=[ ,}\n])", text))
        if found:
            place = random.choice(found)
            text = text[: place.start()] + random.choice(NEARLY_NUMBERS) + text[place.end() :]
    return text
