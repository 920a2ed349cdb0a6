"""A Hugging Face `config.json` -> ModelShape, by the rule of its architecture; refused by name where there is none."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from sizing.catalog.written import notes_of
from sizing.intake.aliases import (
    ARCHITECTURES,
    ENCODER_AND_DECODER,
    JUDGES,
    LOOKS_BOTH_WAYS,
    NO_DECODERS,
    NO_WRITERS,
    PICTURES,
    SAME_AS,
    WRAPPERS,
)
from sizing.intake.architectures import MODEL_TYPES
from sizing.intake.class_defaults import class_defaults
from sizing.intake.configuration import Configuration
from sizing.intake.parts import Parts, blocks
from sizing.intake.paths import is_file
from sizing.intake.quantisation import QUANTISATION_FILE, Checkpoint, read_checkpoint
from sizing.intake.towers import encoder_parameters
from sizing.sequence.model import ModelShape
from sizing.sequence.tensors import Role, Tensors
from sizing.units.errors import BadInput, Problem, shown
from sizing.units.names import nearest

LARGEST_FILE_BYTES = 16 * 2**20
LARGEST_SEARCHED = 2**20  # beyond that, finding the line of a problem would take seconds
NESTED = ("text_config", "llm_config", "language_config", "thinker_config", "language_model_config", "llm_cfg")
TOWERS = ("vision_config", "audio_config", "speech_config", "encoder_config", "vq_config", "mm_vision_tower")
DIFFUSERS = ("_class_name", "_diffusers_version")  # keys of pipelines and their parts
UNSTATED_LIMIT = 2**20  # where a file states no longest sequence; the provenance says so
BY_LAYER = "per_layer_config"
TIED = "tie_word_embeddings"
FILE = "config.json"


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a shape comes from: the file, its SHA-256, its architecture, and what was taken without being written.

    `defaults` are the keys for which the class default was used, `kv_precision` what the checkpoint asks an engine to
    cache in (None: nothing), `notes` sentences for the reader.
    """

    file: str
    sha256: str
    model_type: str
    architecture: str | None
    rule: str
    defaults: tuple[str, ...]
    kv_precision: str | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ImportedModel:
    """A shape and where it comes from."""

    shape: ModelShape
    provenance: Provenance


def import_config(path: Path) -> ImportedModel:
    """The model whose configuration is at `path`, a file or a folder; a `hf_quant_config.json` beside it is read too.

    Raises BadInput for a file that cannot be read, an unknown architecture, and for every key that is missing, of the
    wrong type or in contradiction to another.
    """
    if is_file(path / FILE):
        path = path / FILE
    text, tree = _read(path)
    beside = _quantisation_beside(path)
    try:
        return import_tree(tree, file=str(path), name=_name(path), digest=sha256(text).hexdigest(), beside=beside)
    except BadInput as wrong:
        raise BadInput(*(_with_line(problem, text) for problem in wrong.problems)) from None


def import_tree(
    tree: Mapping[str, Any],
    file: str = "",
    name: str = "model",
    digest: str = "",
    beside: Mapping[str, Any] | None = None,
) -> ImportedModel:
    """The model that a parsed configuration describes. Raises BadInput as `import_config` does."""
    root = Configuration(tree, file)
    config, model_type, rule = _resolve(root)
    if config is root and config.raw("use_bidirectional_attention") in (True, "all"):
        config.refuse(LOOKS_BOTH_WAYS, "use_bidirectional_attention", True, "a decoder")
        config.finish()
    parts = MODEL_TYPES[rule](config)
    if config.tree.get(BY_LAYER) and BY_LAYER not in config.read:
        config.refuse("is not read for this architecture", BY_LAYER)
    config.finish()
    encoder = encoder_parameters(root, parts.hidden)
    checkpoint = read_checkpoint(root, config, parts, beside)
    config.finish()
    _keeps_something(config, parts, model_type)
    shape, of_shape = _shape(parts, checkpoint, name, encoder or 0)
    notes = (*_notes(root, config, encoder), *of_shape, *checkpoint.notes)
    provenance = Provenance(
        file=file,
        sha256=digest,
        model_type=model_type,
        architecture=_architecture(root),
        rule=rule,
        defaults=tuple(config.taken),
        kv_precision=checkpoint.kv_precision,
        notes=notes,
    )
    return ImportedModel(replace(shape, notes=notes_of(provenance.defaults, notes)), provenance)


def _read(path: Path) -> tuple[bytes, Mapping[str, Any]]:
    file = str(path)
    try:
        with path.open("rb") as stream:
            content = stream.read(LARGEST_FILE_BYTES + 1)
    except FileNotFoundError:
        raise BadInput(Problem("no such file", file=file)) from None
    except IsADirectoryError:
        raise BadInput(Problem("is a folder", file=file, accepted=f"a {FILE}, or a folder with one")) from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise BadInput(Problem(f"cannot be read: {why}", file=file)) from None
    if len(content) > LARGEST_FILE_BYTES:
        raise BadInput(Problem("too large", file=file, accepted=f"at most {LARGEST_FILE_BYTES // 2**20} MiB"))
    return content, parse(content, file)


def parse(content: bytes, file: str) -> Mapping[str, Any]:
    """The JSON object in `content`; `Infinity` and `NaN` are taken, which strict parsers refuse.

    Raises BadInput for what is no JSON object and for a key that stands twice.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                raise BadInput(Problem("stands twice", key, file))
            found[key] = value
        return found

    try:
        tree = json.loads(content.decode("utf-8-sig"), object_pairs_hook=unique)
    except UnicodeDecodeError:
        raise BadInput(Problem("not UTF-8", file=file, accepted="text in UTF-8")) from None
    except json.JSONDecodeError as error:
        raise BadInput(Problem(f"JSON syntax: {error.msg}", file=file, line=error.lineno)) from None
    except RecursionError:
        raise BadInput(Problem("nested too deeply", file=file)) from None
    except ValueError as error:
        raise BadInput(Problem(f"JSON syntax: {error}", file=file)) from None
    if not isinstance(tree, dict):
        raise BadInput(Problem("is no configuration", file=file, seen=shown(tree), accepted="a JSON object"))
    return tree


def _quantisation_beside(path: Path) -> Mapping[str, Any] | None:
    """The quantisation file that belongs to a configuration: beside `config.json`, or under the file's own stem."""
    candidates = [path.with_name(f"{path.stem}.{QUANTISATION_FILE}")]
    if path.name == FILE:
        candidates.append(path.with_name(QUANTISATION_FILE))
    for candidate in candidates:
        if is_file(candidate):
            return _read(candidate)[1]
    return None


def _resolve(root: Configuration) -> tuple[Configuration, str, str]:
    """(configuration of the language model, its model_type, the rule it follows)."""
    outer, nested = root.text("model_type"), _nested(root)
    root.finish()
    if nested is None:
        rule = _rule(root, outer, _architecture(root))
        return _with_defaults(root, outer or rule, rule), outer or rule, rule
    inner = nested.text("model_type")
    if outer is not None and _known(outer) is None and outer not in WRAPPERS:
        raise BadInput(_unknown(root, outer, _architecture(root)))
    known = [name for name in (inner, outer) if name is not None and _known(name) is not None]
    rule = _rule(nested, known[0] if known else inner, _architecture(nested) or _architecture(root))
    return _with_defaults(nested, inner or outer or rule, rule), inner or outer or rule, rule


def _nested(root: Configuration) -> Configuration | None:
    """The configuration of the language model inside one of several inputs."""
    for key in NESTED:
        found = root.inner(key)
        if found is not None:
            return _nested(found) or found
    return None


def _known(name: str) -> str | None:
    rule = SAME_AS.get(name, name)
    return rule if rule in MODEL_TYPES else None


def _architecture(config: Configuration) -> str | None:
    names = config.raw("architectures")
    return names[0] if isinstance(names, list) and names and isinstance(names[0], str) else None


def _rule(config: Configuration, model_type: str | None, architecture: str | None) -> str:
    if architecture is not None and architecture.endswith(NO_WRITERS):
        raise BadInput(Problem(f"no rule for {shown(architecture)}: {JUDGES}", "architectures", config.file or None))
    by_type = None if model_type is None else _known(model_type)
    by_architecture = None if architecture is None else ARCHITECTURES.get(architecture)
    if by_type is not None and by_architecture is not None and by_type != by_architecture:
        raise BadInput(
            Problem(
                f"architecture {architecture} contradicts it",
                config.name("model_type"),
                config.file or None,
                seen=shown(model_type),
                accepted=by_architecture,
            )
        )
    rule = by_type or by_architecture
    if rule is None:
        raise BadInput(_unknown(config, model_type, architecture))
    return rule


def _unknown(config: Configuration, model_type: str | None, architecture: str | None) -> Problem:
    if model_type is None and architecture is None and "quantization" in config.tree:
        return Problem(
            "says how weights are quantised, and nothing of the model",
            file=config.file or None,
            accepted="the config.json that it lies beside, with which it is read",
        )
    if model_type is None and any(key in config.tree for key in DIFFUSERS):
        called = config.tree.get("_class_name")
        return Problem(f"no rule for {shown(called)}: {PICTURES}", "_class_name", config.file or None)
    if model_type is None and architecture is None:
        return Problem(
            "names no architecture",
            config.name("model_type"),
            config.file or None,
            accepted="model_type or architectures",
        )
    both = ENCODER_AND_DECODER if config.tree.get("is_encoder_decoder") is True else None
    why = NO_DECODERS.get(model_type or "") or both
    name = model_type or architecture or ""
    known = (*MODEL_TYPES, *SAME_AS) if model_type else tuple(ARCHITECTURES)
    stated = f"architecture {architecture} of model_type {model_type}" if model_type and architecture else name
    return Problem(
        f"no rule for {stated}: " + (why or "what its layers keep and weigh is unknown here, and is not guessed"),
        config.name("model_type" if model_type else "architectures"),
        config.file or None,
        seen=shown(name),
        nearest=None if why else nearest(name, known),
    )


def _with_defaults(config: Configuration, model_type: str, rule: str) -> Configuration:
    """The same configuration with what absent keys mean; sizes only where it is nested."""
    config.defaults = class_defaults(model_type, rule, nested=config.around is not None)
    return config


def _keeps_something(config: Configuration, parts: Parts, model_type: str) -> None:
    """Refuse a shape that would hold any sequence in zero bytes."""
    if not any(kind.streams(1) for layer in parts.layers for kind in (layer.attention, *layer.also)):
        raise BadInput(
            Problem(f"no layer of {model_type} would keep anything of a sequence", config.name(""), config.file or None)
        )


def _shape(parts: Parts, checkpoint: Checkpoint, name: str, encoder: int) -> tuple[ModelShape, tuple[str, ...]]:
    notes = list(parts.notes)
    if parts.context_limit is None:
        notes.append(f"The file states no longest sequence; up to {UNSTATED_LIMIT:,} tokens are let pass.")
    if parts.mtp:
        count = len(parts.mtp)
        notes.append(
            f"The checkpoint has {count} layer{'s' * (count > 1)} for multi-token prediction: no cache while nothing "
            "is speculated, and not in the parameters."
        )
    layers = len(parts.layers)
    shape = ModelShape(
        name=name.rpartition("/")[2].lower(),
        title=name.rpartition("/")[2],
        hidden=parts.hidden,
        vocabulary=parts.vocabulary,
        tied_embeddings=parts.tied,
        blocks=blocks((layer, checkpoint.layer_bits(index)) for index, layer in enumerate(parts.layers)),
        native_weights=checkpoint.weights,
        context_limit=parts.context_limit or UNSTATED_LIMIT,
        aliases=(name,) if "/" in name else (),
        final_norms=parts.final_norms,
        extra=parts.extra,
        mtp=blocks((layer, checkpoint.layer_bits(layers + index)) for index, layer in enumerate(parts.mtp)),
        mtp_extra=parts.mtp_extra,
        encoders=(Tensors(Role.ENCODER, encoder),) if encoder else (),
        native_bits=checkpoint.bits,
    )
    return shape, tuple(notes)


def _notes(root: Configuration, config: Configuration, encoder: int | None) -> tuple[str, ...]:
    """What is counted of a model with several inputs, by what a type that is not known here was read, and which of two
    flags for tied embeddings holds."""
    nested = config is not root
    stated = [key for key in TOWERS for where in (config, config.around, root) if where and key in where.tree]
    towers = list(dict.fromkeys(key for key in stated if isinstance(root.tree.get(key, {}), dict | str)))
    uncounted = [key for key in towers if not (encoder and key == "vision_config")]
    beside = f"; the encoder of images beside it has {encoder:,} parameters" if encoder else ""
    missing = f"; what {' and '.join(uncounted)} says of encoders is in no size here" if uncounted else ""
    notes = [f"Only the language model is counted{beside}{missing}."] if towers or nested else []
    types = [name for where in (config, root) if isinstance(name := where.tree.get("model_type"), str)]
    if types and not any(_known(name) or name in WRAPPERS for name in types):
        by = _architecture(config) or _architecture(root)
        notes.append(f"model_type {shown(types[0])} is not known here: read by its architecture, {by}.")
    inside, outside = (where.tree.get(TIED) if where is not None else None for where in (config, config.around))
    if isinstance(inside, bool) and isinstance(outside, bool) and inside is not outside:
        notes.append(f"{TIED} is {str(inside).lower()} for the language model and {str(outside).lower()} around it.")
    return tuple(notes)


def _name(path: Path) -> str:
    """The model's name by its path: a folder of the hub's cache, a folder around `config.json`, or the file's stem."""
    for folder in path.parts:
        if folder.startswith("models--"):
            return folder.removeprefix("models--").replace("--", "/", 1)
    stem = path.stem
    if stem in ("config", "") or stem.startswith("config."):
        resolved = path.resolve().parent
        stem = resolved.name or "model"
    stem = re.sub(r"[_.-]config$", "", stem)
    for separator in ("__", "--"):
        if separator in stem:
            owner, _, rest = stem.partition(separator)
            return f"{owner}/{rest}"
    return stem


def _with_line(problem: Problem, text: bytes) -> Problem:
    """The problem with the line of its key, where that can be found."""
    from sizing.units.document import parse_document

    if problem.line is not None or not problem.path or len(text) > LARGEST_SEARCHED:
        return problem
    try:
        document = parse_document(text.decode("utf-8-sig"), problem.file or "")
    except (BadInput, UnicodeDecodeError):
        return problem
    return replace(problem, line=document.line(tuple(problem.path.split("."))))
