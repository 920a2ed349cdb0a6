"""How a checkpoint stores its weights: which roles are quantised to how many bits, layer by layer.

Read from `quantization_config` (inside or outside a nested configuration), `compression_config`, and the
`hf_quant_config.json` of ModelOpt beside the file. Widths: kv_rules 7.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from sizing.intake.configuration import ABSENT, LARGEST, Configuration
from sizing.intake.modules import DRAFTS, HEADS, Patterns, names, prefixes
from sizing.intake.parts import Layer, Parts
from sizing.sequence.model import RoleBits
from sizing.sequence.tensors import Role
from sizing.sequence.weights import BF16_BITS, FORMATS, LINEARS
from sizing.units.errors import Problem, shown

BLOCKS = ("quantization_config", "compression_config")
QUANTISATION_FILE = "hf_quant_config.json"
NAME_OF_ALL = "Linear"


@dataclass(frozen=True, slots=True)
class Width:
    """Bits of a quantised weight with its scales, and the format that is nearest to it by name.

    `per_input` are bits for each input channel of a matrix, which GPTQ spends on the order of its groups.
    """

    name: str
    bits: Fraction
    per_input: int = 0


FP8 = Width("fp8", Fraction(8))
FP8_BLOCK = Width("fp8-block", FORMATS["fp8-block"].bits)
NVFP4 = Width("nvfp4", FORMATS["nvfp4"].bits)
MXFP4 = Width("mxfp4", FORMATS["mxfp4"].bits)
MXFP8 = Width("fp8", 8 + Fraction(8, 32))
INT8 = Width("int8", Fraction(8))
ALGORITHMS: Mapping[str, Width] = {  # names that ModelOpt gives
    "FP8": FP8,
    "FP8_PER_CHANNEL_PER_TOKEN": FP8,
    "FP8_PB_REAL": FP8_BLOCK,
    "FP8_PB_WO": FP8_BLOCK,
    "INT8": INT8,
    "W8A8_SQ_PER_CHANNEL": INT8,
    "MXFP4": MXFP4,
    "W4A8_MXFP4_FP8": MXFP4,
    "MXFP8": MXFP8,
    "NVFP4": NVFP4,
    "NVFP4_AWQ": NVFP4,
    "W4A16_NVFP4": NVFP4,
    "W4A8_NVFP4_FP8": NVFP4,
    "W4A16_AWQ": Width("int4", 4 + Fraction(16, 128)),
    "W4A8_AWQ": Width("int4", 4 + Fraction(16, 128)),
}
MIXED = "MIXED_PRECISION"


@dataclass(frozen=True, slots=True)
class Scheme:
    """What a checkpoint quantises: `default` for all linear layers or none, `named` modules, `kept` modules.

    `roles` narrows the default, as formats that are for experts alone do; `experts` is their default where it differs.
    """

    default: Width | None = None
    experts: Width | None = None
    named: tuple[tuple[Patterns, Width], ...] = ()
    kept: Patterns = field(default_factory=lambda: Patterns(()))
    roles: frozenset[Role] = LINEARS
    listed: tuple[str, ...] = ()

    def of(self, module: str, role: Role) -> tuple[Width | None, bool]:
        """(width of a module, None for 16 bits; whether the checkpoint names it)."""
        for patterns, width in self.named:
            if module in patterns:
                return width, True
        if module in self.kept:
            return None, True
        return self.usual(role), False

    def usual(self, role: Role) -> Width | None:
        """The width of a role where no list names it."""
        if role is Role.ROUTED_EXPERTS and self.experts is not None:
            return self.experts
        return self.default if role in self.roles else None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The checkpoint's format: its name among the weight precisions, the bits by role, and per layer what differs.

    `kv_precision` is what it asks an engine to cache in; `notes` are sentences for the reader.
    """

    weights: str
    bits: RoleBits = ()
    layers: tuple[RoleBits, ...] = ()
    kv_precision: str | None = None
    notes: tuple[str, ...] = ()
    is_known: bool = True

    def layer_bits(self, index: int) -> RoleBits:
        """What differs in a layer; layers for multi-token prediction are counted on."""
        return self.layers[index] if index < len(self.layers) else ()


def read_checkpoint(
    root: Configuration, config: Configuration, parts: Parts, beside: Mapping[str, Any] | None
) -> Checkpoint:
    """What the configuration and the file beside it say of the weights; 16 bits where they say nothing.

    The first that is known goes. Where one calls the weights otherwise the file is refused: either could be right.
    """
    found = [block for where in (config, root) for key in BLOCKS if (block := where.inner(key)) is not None]
    if beside is not None:
        outside = Configuration(beside, root.file, (QUANTISATION_FILE,), None, root)
        found.append(outside.inner("quantization") or outside)
    blocks = list({id(block.tree): block for block in found}.values())
    read = [_read(config, block, parts) for block in blocks]
    known = [(block, each) for block, each in zip(blocks, read, strict=True) if each.is_known]
    used = known[0][1] if known else Checkpoint("bf16", notes=tuple(note for each in read for note in each.notes))
    notes = list(used.notes)
    for block, each in known[1:]:
        first, second = ".".join(known[0][0].path), ".".join(block.path)
        if each.weights != used.weights:
            what = f"says that weights are in {each.weights}, and {first} that they are in {used.weights}"
            block.problems.append(Problem(what, second, root.file or None, accepted="one precision of the weights"))
        elif (each.bits, each.layers) != (used.bits, used.layers):
            notes.append(f"{first} and {second} differ in how many bits which weights have: {first} goes.")
    kv = next((stated for block in blocks if (stated := _kv_precision(block)) is not None), None)
    if kv is not None:
        notes.append(f"The checkpoint asks for a KV cache in {kv}.")
    return replace(used, kv_precision=kv, notes=tuple(notes))


def _read(config: Configuration, block: Configuration, parts: Parts) -> Checkpoint:
    """What one block says; 16 bits and why where its quantisation is not known here."""
    scheme, notes = _scheme(config, block)
    return Checkpoint("bf16", notes=notes, is_known=False) if scheme is None else _apply(scheme, parts, notes)


def _kv_precision(block: Configuration) -> str | None:
    """What the checkpoint asks an engine to cache in: FP8 by `kv_cache_quant_algo` or `kv_cache_scheme`."""
    for key in ("kv_cache_quant_algo", "kv_cache_scheme"):
        value = block.tree.get(key)
        if isinstance(value, str):
            return "fp8" if value in ("static", "dynamic") else value.lower()
        if isinstance(value, dict) and value.get("num_bits") == 8:
            return "fp8" if value.get("type") == "float" else "int8"
    return None


def _scheme(config: Configuration, block: Configuration) -> tuple[Scheme | None, tuple[str, ...]]:
    method = (block.text("quant_method") or "").lower().replace("_", "-")
    algorithm = block.text("quant_algo")
    kept = _texts(block, "ignore", "exclude_modules", "modules_to_not_convert", "ignored_layers")
    if algorithm is not None and method in ("", "modelopt", "modelopt-fp4"):
        return _modelopt(block, algorithm, kept)
    if method == "fp8":
        return _fp8(config, block, kept), ()
    if method in ("compressed-tensors", "modelopt") or (not method and "config_groups" in block.tree):
        return _groups(block, kept)
    if method in ("mxfp4", "gpt-oss-mxfp4"):
        return Scheme(MXFP4, kept=Patterns(kept), roles=FORMATS["mxfp4"].quantised, listed=kept), ()
    if method in ("awq", "gptq", "gptqmodel", "auto-round", "awq-marlin", "gptq-marlin"):
        return _integers(block, method, kept)
    if method in ("fbgemm-fp8", "ptpc-fp8"):
        return Scheme(FP8, kept=Patterns(kept), listed=kept), ()
    if method == "bitsandbytes":
        return _bitsandbytes(block, kept), ()
    if method == "quark":
        return _quark(block)
    if method == "torchao":
        return _torchao(block, kept)
    if not method and algorithm is None and _kv_precision(block) is not None:
        return None, ()  # of the cache alone
    called = method or algorithm or "without a name"
    return None, (f"Quantisation {called} is not known here; weights are counted in 16 bits.",)


def _texts(block: Configuration, *keys: str) -> tuple[str, ...]:
    for key in keys:
        value = block.tree.get(key)
        if isinstance(value, list):
            return tuple(item for item in value if isinstance(item, str))
    return ()


def _algorithm(block: Configuration, name: Any, group: Any = None) -> Width | None:
    if not isinstance(name, str) or name not in ALGORITHMS:
        block.refuse("is an algorithm that is not known here", "quant_algo", name, ", ".join((*ALGORITHMS, MIXED)))
        return None
    width = ALGORITHMS[name]
    if width.name == "int4" and isinstance(group, int) and group > 0:
        return Width("int4", 4 + Fraction(16, group))
    return width


def _modelopt(block: Configuration, algorithm: str, kept: tuple[str, ...]) -> tuple[Scheme | None, tuple[str, ...]]:
    """One algorithm for all linear layers that are not excluded, or with MIXED_PRECISION a map of layers."""
    if algorithm != MIXED:
        default = _algorithm(block, algorithm, block.raw("group_size"))
        return Scheme(default, kept=Patterns(kept), listed=kept), ()
    kept_apart = Patterns(kept)
    return Scheme(None, None, _quantised_layers(block), kept_apart, listed=_layer_names(block, kept)), ()


def _quantised_layers(block: Configuration) -> tuple[tuple[Patterns, Width], ...]:
    by_width: dict[Width, list[str]] = {}
    for layer, entry in _layer_map(block).items():
        if isinstance(entry, dict):
            width = _algorithm(block, entry.get("quant_algo"), entry.get("group_size"))
            if width is not None:
                by_width.setdefault(width, []).append(layer)
    return tuple((Patterns(found), width) for width, found in by_width.items())


def _layer_map(block: Configuration) -> Mapping[str, Any]:
    """What `quantized_layers` says of each layer that it names."""
    layers = block.inner("quantized_layers")
    return {} if layers is None else layers.tree


def _layer_names(block: Configuration, kept: tuple[str, ...]) -> tuple[str, ...]:
    return (*_layer_map(block), *kept)


def _fp8(config: Configuration, block: Configuration, kept: tuple[str, ...]) -> Scheme:
    """Blocks with a scale each, or one scale a tensor; `expert_dtype: fp4` puts experts in 4 bits (DeepSeek-V4)."""
    default = _blocked(block, "weight_block_size", block.raw("weight_block_size"))
    experts = MXFP4 if config.text("expert_dtype") == "fp4" else None
    if block.text("quant_algo") == MIXED:  # a map of layers on top, whose exclusions are from the map alone
        return Scheme(default, experts, _quantised_layers(block), listed=_layer_names(block, ()))
    return Scheme(default, experts, kept=Patterns(kept), listed=kept)


def _blocked(block: Configuration, key: str, shape: Any) -> Width:
    """FP8 with a 32-bit scale for every block of a `shape`, or without one a scale for every tensor."""
    if shape is ABSENT or shape is None:
        return FP8
    sides = shape if isinstance(shape, list) and len(shape) == 2 else [0]
    if any(isinstance(side, bool) or not isinstance(side, int) or not 0 < side <= LARGEST for side in sides):
        block.refuse("is no shape of a block", key, shape, "two whole numbers")
        return FP8
    return Width("fp8-block", 8 + Fraction(32, sides[0] * sides[1]))


def _groups(block: Configuration, kept: tuple[str, ...]) -> tuple[Scheme | None, tuple[str, ...]]:
    """compressed-tensors: groups of targets with a width each; `Linear` stands for all that is not ignored."""
    groups = block.tree.get("config_groups")
    if not isinstance(groups, dict) or not groups:
        block.refuse("is missing", "config_groups", accepted="at least one group")
        return None, ()
    default: Width | None = None
    named: list[tuple[Patterns, Width]] = []
    listed: list[str] = list(kept)
    integers: list[int] = []
    for name, group in groups.items():
        weights = group.get("weights") if isinstance(group, dict) else None
        if not isinstance(weights, dict):
            continue
        width = _group_width(block, f"config_groups.{name}", weights)
        if width is not None and width.name in INTEGERS:
            integers.append(weights["num_bits"])
        targets = [target for target in group.get("targets") or [NAME_OF_ALL] if isinstance(target, str)]
        if NAME_OF_ALL in targets:
            default = width
        elif width is not None:
            named.append((Patterns(targets), width))
            listed += targets
    return Scheme(default, None, tuple(named), Patterns(kept), listed=tuple(listed)), _other_width(integers)


def _group_width(block: Configuration, path: str, weights: Mapping[str, Any]) -> Width | None:
    bits, kind, group = weights.get("num_bits"), weights.get("type"), weights.get("group_size")
    if not isinstance(bits, int) or not 1 < bits <= 16:
        block.refuse("is no width", f"{path}.weights.num_bits", bits, "2 to 16")
        return None
    if kind == "float" and bits == 8:
        return (
            MXFP8 if group == 32 else _blocked(block, f"{path}.weights.block_structure", weights.get("block_structure"))
        )
    if kind == "float" and bits == 4:
        return MXFP4 if group == 32 else NVFP4
    if bits >= 8 or not isinstance(group, int) or group <= 0:
        return Width(_integer_name(bits), Fraction(bits))
    zeros = 0 if weights.get("symmetric", True) else bits
    return Width(_integer_name(bits), bits + Fraction(16 + zeros, group))


INTEGERS = {"int4": 4, "int8": 8}


def _integer_name(bits: int) -> str:
    """The weight precision after which integers of so many bits are called."""
    return "int8" if bits >= INTEGERS["int8"] else "int4"


def _other_width(widths: Iterable[int]) -> tuple[str, ...]:
    """A sentence on integers of a width that has no name of its own."""
    return tuple(
        f"Weights have {bits} bits and are counted so; they go by the name of {_integer_name(bits)}."
        for bits in dict.fromkeys(widths)
        if bits not in INTEGERS.values()
    )


def _integers(block: Configuration, method: str, kept: tuple[str, ...]) -> tuple[Scheme, tuple[str, ...]]:
    """AWQ, GPTQ and AutoRound: groups with a 16-bit scale and a zero each; GPTQ numbers the group of every input."""
    bits = block.count_or(4, "bits", "w_bit", least=2)
    group = block.raw("group_size", "q_group_size")
    size = group if isinstance(group, int) and group > 0 else None
    scales = Fraction(0) if size is None else Fraction(16 + bits, size)
    numbered = 32 if method.startswith("gptq") else 0
    default = Width(_integer_name(bits), bits + scales, numbered)
    dynamic = block.tree.get("dynamic")  # GPTQModel: `-:` before an expression keeps what it matches
    skipped = [f"re:{key[2:]}" for key in dynamic if key.startswith("-:")] if isinstance(dynamic, dict) else []
    return Scheme(default, kept=Patterns((*kept, *skipped)), listed=kept), _other_width([bits])


def _bitsandbytes(block: Configuration, kept: tuple[str, ...]) -> Scheme:
    """Eight bits, or four with a 32-bit scale per 64, itself quantised where `bnb_4bit_use_double_quant` says so."""
    kept = (*kept, *_texts(block, "llm_int8_skip_modules"))
    if not block.flag("load_in_4bit"):
        return Scheme(INT8, kept=Patterns(kept), listed=kept)
    scale = Fraction(8, 64) + Fraction(32, 64 * 256) if block.flag("bnb_4bit_use_double_quant") else Fraction(32, 64)
    return Scheme(Width("int4", 4 + scale), kept=Patterns(kept), listed=kept)


QUARK: Mapping[str, Width] = {"fp8_e4m3": FP8, "fp8_e5m2": FP8, "int8": INT8, "fp4": MXFP4, "mxfp4": MXFP4}


def _quark(block: Configuration) -> tuple[Scheme | None, tuple[str, ...]]:
    """AMD Quark: one width for all that is not in `exclude`."""
    overall = block.tree.get("global_quant_config")
    weight = overall.get("weight") if isinstance(overall, dict) else None
    weight = weight[0] if isinstance(weight, list) and weight else weight
    dtype = weight.get("dtype") if isinstance(weight, dict) else None
    width = QUARK.get(dtype) if isinstance(dtype, str) else None
    if width is None:
        return None, (f"Quark's type {shown(dtype)} is not known here; weights are counted in 16 bits.",)
    kept = _texts(block, "exclude")
    return Scheme(width, kept=Patterns(kept), listed=kept), ()


TORCHAO: Mapping[str, Width] = {"int4": Width("int4", 4 + Fraction(32, 128)), "int8": INT8, "float8": FP8}


def _torchao(block: Configuration, kept: tuple[str, ...]) -> tuple[Scheme | None, tuple[str, ...]]:
    """torchao: `int4_weight_only` and its like, or the name of a class under `quant_type.default._type`.

    Groups of 4 bits have a scale and a zero of 16 bits each (torchao 0.9 `Int4WeightOnlyConfig`).
    """
    stated = block.raw("quant_type")
    stated = stated.get("default", stated) if isinstance(stated, dict) else stated
    named, data = (stated.get("_type"), stated.get("_data")) if isinstance(stated, dict) else (stated, None)
    weights = re.search(r"(int4|int8|float8)_?weight", str(named).lower())
    if weights is None:
        return None, (f"torchao's type {shown(named)} is not known here; weights are counted in 16 bits.",)
    width, group = TORCHAO[weights[1]], data.get("group_size") if isinstance(data, dict) else None
    if width.name == "int4" and isinstance(group, int) and 0 < group <= LARGEST:
        width = Width("int4", 4 + Fraction(32, group))
    return Scheme(width, kept=Patterns(kept), listed=kept), ()


def _apply(scheme: Scheme, parts: Parts, notes: tuple[str, ...]) -> Checkpoint:
    before = prefixes(scheme.listed)
    layers = [
        _layer(scheme, layer, index, before, parts.hidden, index >= len(parts.layers))
        for index, layer in enumerate((*parts.layers, *parts.mtp))
    ]
    name = _name(layers)
    usual = _usual(layers)
    head = next((width for module in HEADS if (width := scheme.of(module, Role.HEAD)[0]) is not None), None)
    outer = {role: usual.get(role, BF16_BITS) for role in _roles(parts)}
    outer[Role.HEAD] = BF16_BITS if head is None else head.bits
    stated = FORMATS[name]
    bits = tuple((role, width) for role, width in outer.items() if width != stated.role_bits(role))
    differing = tuple(
        tuple((role, width.bits) for role, width in layer.items() if width.bits != outer[role]) for layer in layers
    )
    return Checkpoint(name, bits, differing, notes=notes)


SIXTEEN = Width("bf16", BF16_BITS)
OUTER = (Role.EMBEDDING, Role.HEAD, Role.NORM)


def _sizes(layer: Layer, hidden: int) -> dict[Role, int]:
    """Weights of a layer by role, an expert counted once."""
    sizes: dict[Role, int] = {}
    mixers = (tensors for kind in (layer.attention, *layer.also) for tensors in kind.tensors(hidden))
    for tensors in (*mixers, *layer.feed_forward.tensors(hidden), *layer.extra):
        if tensors.parameters:
            sizes[tensors.role] = sizes.get(tensors.role, 0) + tensors.parameters
    return sizes


def _roles(parts: Parts) -> list[Role]:
    """The roles that a model has, in the order in which roles are declared."""
    layers = (role for layer in (*parts.layers, *parts.mtp) for role in _sizes(layer, parts.hidden))
    found = {*OUTER, *layers, *(tensors.role for tensors in (*parts.extra, *parts.mtp_extra)), Role.ENCODER}
    return [role for role in Role if role in found]


def _layer(
    scheme: Scheme, layer: Layer, index: int, before: Iterable[str], hidden: int, draft: bool
) -> dict[Role, Width]:
    """The width of every quantisable role that a layer has."""
    found: dict[Role, Width] = {}
    where = (*before, DRAFTS) if draft else tuple(prefix for prefix in before if prefix != DRAFTS)
    beside = getattr(layer.feed_forward, "dense_intermediate", 0) > 0
    for role, size in _sizes(layer, hidden).items():
        if role in LINEARS:
            width = _role(scheme, role, names(role, index, where, beside))
            found[role] = width if not width.per_input else _numbered(width, layer, role, hidden, size)
    return found


def _role(scheme: Scheme, role: Role, styles: Iterable[tuple[str, ...]]) -> Width:
    """The width of most modules of a role, in the style of names of which the checkpoint names most."""
    best: list[Width | None] = [scheme.usual(role)]
    most = Fraction(0)
    for style in styles:
        widths = [scheme.of(module, role) for module in style]
        share = Fraction(sum(is_named for _, is_named in widths), len(style))
        if share > most:
            best, most = [width for width, _ in widths], share
    return max(best, key=best.count) or SIXTEEN


def _numbered(width: Width, layer: Layer, role: Role, hidden: int, size: int) -> Width:
    """GPTQ's bits for each input channel, spread over the weights of a role."""
    inner = getattr(layer.feed_forward, "intermediate", 0)
    if role is Role.SHARED_EXPERTS:
        inner = getattr(layer.feed_forward, "shared_intermediate", 0)
    inputs = 2 * hidden + inner if role in (Role.ROUTED_EXPERTS, Role.SHARED_EXPERTS, Role.FEED_FORWARD) else 4 * hidden
    return Width(width.name, width.bits + Fraction(width.per_input * inputs, size))


def _usual(layers: Iterable[Mapping[Role, Width]]) -> dict[Role, Fraction]:
    """The bits that most layers give a role."""
    found: dict[Role, list[Fraction]] = {}
    for layer in layers:
        for role, width in layer.items():
            found.setdefault(role, []).append(width.bits)
    return {role: max(widths, key=widths.count) for role, widths in found.items()}


def _name(layers: Sequence[Mapping[Role, Width]]) -> str:
    """The format after which the checkpoint is called: that of its experts, else of its MLPs, else of anything."""
    for role in (Role.ROUTED_EXPERTS, Role.FEED_FORWARD, Role.ATTENTION, Role.RECURRENT):
        widths = [layer[role].name for layer in layers if role in layer]
        usual = max(widths, key=widths.count) if widths else "bf16"
        if usual != "bf16":
            return usual
    return "bf16"
