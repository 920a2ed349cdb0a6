"""Engines: `engines.yaml` -> the profiles of `pool/engines/`. The rules are code, the figures stand in the entries."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from sizing.catalog.border import Entry, Flag, Name, Names, PositiveCount, Share, Text
from sizing.catalog.figures import BytesFigure, CountFigure, PositiveFigure, ShareFigure, Sources
from sizing.catalog.gpus import Generation
from sizing.pool.budget import RESERVE
from sizing.pool.engines.ideal import IdealEngine
from sizing.pool.engines.measured import MeasuredEngine, Measurement
from sizing.pool.engines.profile import Engine
from sizing.pool.engines.sglang import Captures, SglangEngine
from sizing.pool.engines.supports import Supports
from sizing.pool.engines.tensorrt_llm import TensorRtEngine
from sizing.pool.engines.vllm import Batch, VllmEngine
from sizing.sequence.weights import FORMATS
from sizing.units.errors import BadInput, Problem, shown
from sizing.units.names import nearest
from sizing.units.quantities import NotAccepted, parse_memory_bytes

if TYPE_CHECKING:
    from sizing.catalog.catalog import Catalog

VERSION_ACCEPTED = "a version such as 0.19 or 0.5.23"
_VERSION = re.compile(r"\d+(\.\d+)*")
_UNTAGGED = re.compile(r"0\.1\.dev\d")
_DIGITS = 9  # of one part of a version
_GPUS = re.compile(r"[1-9]\d* GPUs")

Version = tuple[int, ...]


def _release(text: str) -> str:
    if not _VERSION.fullmatch(text):
        raise NotAccepted("is no version", VERSION_ACCEPTED)
    return text


Release = Annotated[Name, AfterValidator(_release)]


class Versions(Entry):
    """Releases that a profile is for, both ends included: the last one with all its patches."""

    first: Release
    last: Release


class BatchEntry(Entry):
    """What runs at once by default; its key is the least memory of a GPU, such as `70 GiB`."""

    tokens: CountFigure
    sequences: CountFigure


class CaptureEntry(BatchEntry):
    """What SGLang captures by default: tokens of a prefill step, sequences of a decode step below TP 4 and from it."""

    sequences_of_many: CountFigure


def _memory_key(text: str) -> str:
    parse_memory_bytes(text)
    return text


def _gpus_key(text: str) -> str:
    if not _GPUS.fullmatch(text):
        raise NotAccepted("is no number of GPUs", "such as 8 GPUs")
    return text


def _format(text: str) -> str:
    if text not in FORMATS:
        raise NotAccepted("is no format of weights", ", ".join(FORMATS), nearest(text, FORMATS))
    return text


FromMemory = Annotated[Name, AfterValidator(_memory_key)]
FromGpus = Annotated[Name, AfterValidator(_gpus_key)]


class MeasuredEntry(Entry):
    """What logs showed of one model on one kind of replica: memory of one GPU beside the cache and the weights as they
    are predicted, and what the start was given, where it was given anything. `logs` are the names of their files."""

    model: Name
    gpu: Name
    gpus: PositiveCount
    tp: PositiveCount
    dcp: PositiveCount = 1
    weights: Annotated[Name, AfterValidator(_format)]
    kv_precision: Name
    share: Share | None = None
    batched_tokens: PositiveCount | None = None
    sequences: PositiveCount | None = None
    longest: PositiveCount | None = None
    eager: Flag = False
    logs: Names
    outside_memory: BytesFigure

    @property
    def replica(self) -> tuple[object, ...]:
        """What decides where it holds."""
        return self.model, self.gpu, self.gpus, self.tp, self.dcp, self.weights, self.kv_precision


class SupportsEntry(Entry):
    """What an engine runs on, each with its sources. `vendors` and `kv_precisions` are all that it has, nothing where
    that is not known; `weights_unsupported` are GPU generations on which it does not run a format of weights."""

    vendors: dict[Name, Sources] = Field(default_factory=dict)
    kv_precisions: dict[Name, Sources] = Field(default_factory=dict)
    weights_unsupported: dict[Name, dict[Generation, Sources]] = Field(default_factory=dict)


class EngineEntry(Entry):
    """What every entry has."""

    title: Text
    explanation: Text


class IdealEntry(EngineEntry):
    """The arithmetic itself."""

    rules: Literal["ideal"] = "ideal"


class ProfileEntry(EngineEntry):
    """What every profile of an engine has."""

    versions: Versions
    hidden_memory: BytesFigure
    supports: SupportsEntry = SupportsEntry()
    measured: dict[Name, MeasuredEntry] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _measures_a_replica_once(self) -> "ProfileEntry":
        first: dict[tuple[object, ...], str] = {}
        for name, one in self.measured.items():
            other = first.setdefault(one.replica, name)
            if other != name:
                raise NotAccepted(f"measured.{other} and measured.{name} are of the same replica", "one of the two")
        return self


class VllmEntry(ProfileEntry):
    """Figures of `VllmEngine`."""

    rules: Literal["vllm"]
    utilisation: ShareFigure
    batches: dict[FromMemory, BatchEntry]
    logit_bytes: PositiveFigure
    base_memory: BytesFigure
    non_torch_memory: BytesFigure
    non_torch_memory_in_group: BytesFigure
    graph_memory: BytesFigure
    graph_memory_per_layer: BytesFigure
    graphs_inside: Flag
    steps_in_flight: PositiveCount
    block_tokens: CountFigure
    sparse_block_tokens: CountFigure
    mxfp4_multiple: CountFigure
    state_copies: CountFigure
    chunks_in_full: Flag
    windows_in_full: Flag
    buffers_stay: Flag
    whole_prompts: Flag
    prints_concurrency: Flag


class SglangEntry(ProfileEntry):
    """Figures of `SglangEngine`. The share is stated in `shares` by the least GPUs of a replica, or follows from
    `captures` and what they take."""

    rules: Literal["sglang"]
    context_memory: BytesFigure
    loading_memory: BytesFigure
    loading_memory_in_group: BytesFigure
    shares: dict[FromGpus, ShareFigure] = Field(default_factory=dict)
    captures: dict[FromMemory, CaptureEntry] = Field(default_factory=dict)
    token_memory: BytesFigure | None = None
    sequence_memory: BytesFigure | None = None
    group_memory: BytesFigure | None = None
    base_memory: BytesFigure | None = None
    least_outside_memory: BytesFigure | None = None
    amd_share: ShareFigure
    window_share: ShareFigure
    state_copies: CountFigure
    state_pool_share: ShareFigure

    @model_validator(mode="after")
    def _gives_a_share(self) -> "SglangEntry":
        captured = (self.token_memory, self.sequence_memory, self.group_memory, self.base_memory)
        if not self.shares and (not self.captures or None in (*captured, self.least_outside_memory)):
            raise NotAccepted("no share follows", "shares, or captures with the memory that they take")
        return self


class TensorRtEntry(ProfileEntry):
    """Figures of `TensorRtEngine`."""

    rules: Literal["tensorrt-llm"]
    utilisation: ShareFigure
    batched_tokens: CountFigure
    base_memory: BytesFigure
    non_torch_memory: BytesFigure
    non_torch_memory_in_group: BytesFigure
    block_tokens: CountFigure


KINDS: Mapping[str, type[EngineEntry]] = {
    "ideal": IdealEntry,
    "vllm": VllmEntry,
    "sglang": SglangEntry,
    "tensorrt-llm": TensorRtEntry,
}


def ENTRY(tree: Any) -> type[EngineEntry]:  # noqa: N802  a section declares it by this name
    """The entry by its `rules`; without them, or with unknown ones, the entry that says what is wrong."""
    rules = tree.get("rules", "ideal") if isinstance(tree, dict) else "ideal"
    return KINDS.get(rules, IdealEntry)


REFERENCES: Mapping[str, str] = {}


def build(name: str, entry: EngineEntry) -> Engine:
    """The profile as the physics takes it, with what was measured over it."""
    match entry:
        case VllmEntry():
            engine: Engine = _vllm(name, entry)
        case SglangEntry():
            engine = _sglang(name, entry)
        case TensorRtEntry():
            engine = _tensorrt(name, entry)
        case _:
            return IdealEngine(RESERVE)
    assert isinstance(entry, ProfileEntry)
    if not entry.measured:
        return engine
    return MeasuredEngine(engine, tuple(_measurement(name, one) for one in entry.measured.values()))


def _measurement(profile: str, entry: MeasuredEntry) -> Measurement:
    return Measurement(
        profile=profile,
        seen_in=entry.logs,
        model=entry.model,
        gpu=entry.gpu,
        gpus=entry.gpus,
        tp=entry.tp,
        dcp=entry.dcp,
        weights=entry.weights,
        kv_precision=entry.kv_precision,
        outside_bytes=entry.outside_memory.value,
        utilisation=entry.share,
        batched_tokens=entry.batched_tokens,
        sequences=entry.sequences,
        longest=entry.longest,
        eager=entry.eager,
    )


def _supports(entry: SupportsEntry) -> Supports:
    return Supports(
        vendors=frozenset(entry.vendors) or None,
        kv_precisions=frozenset(entry.kv_precisions) or None,
        weights_unsupported={name: frozenset(found) for name, found in entry.weights_unsupported.items()},
    )


def _vllm(name: str, entry: VllmEntry) -> VllmEngine:
    batches = sorted(((parse_memory_bytes(least), batch) for least, batch in entry.batches.items()), key=_descending)
    return VllmEngine(
        name=name,
        utilisation=entry.utilisation.value,
        hidden_bytes=entry.hidden_memory.value,
        batches=tuple(Batch(least, batch.tokens.value, batch.sequences.value) for least, batch in batches),
        logit_bytes=entry.logit_bytes.value,
        base_bytes=entry.base_memory.value,
        non_torch_bytes=entry.non_torch_memory.value,
        non_torch_bytes_in_group=entry.non_torch_memory_in_group.value,
        graph_bytes=entry.graph_memory.value,
        graph_bytes_per_layer=entry.graph_memory_per_layer.value,
        graphs_inside=entry.graphs_inside,
        steps_in_flight=entry.steps_in_flight,
        block=entry.block_tokens.value,
        sparse_block=entry.sparse_block_tokens.value,
        mxfp4_multiple=entry.mxfp4_multiple.value,
        state_copies=entry.state_copies.value,
        chunks_in_full=entry.chunks_in_full,
        windows_in_full=entry.windows_in_full,
        buffers_stay=entry.buffers_stay,
        whole_prompts=entry.whole_prompts,
        prints_concurrency=entry.prints_concurrency,
        supports=_supports(entry.supports),
    )


def _sglang(name: str, entry: SglangEntry) -> SglangEngine:
    captures = sorted(((parse_memory_bytes(least), each) for least, each in entry.captures.items()), key=_descending)
    shares = sorted(((int(least.split()[0]), share.value) for least, share in entry.shares.items()), key=_descending)
    return SglangEngine(
        name=name,
        hidden_bytes=entry.hidden_memory.value,
        context_bytes=entry.context_memory.value,
        loading_bytes=entry.loading_memory.value,
        loading_bytes_in_group=entry.loading_memory_in_group.value,
        shares=tuple(shares),
        captures=tuple(
            Captures(least, each.tokens.value, each.sequences.value, each.sequences_of_many.value)
            for least, each in captures
        ),
        token_bytes=_bytes(entry.token_memory),
        sequence_bytes=_bytes(entry.sequence_memory),
        group_bytes=_bytes(entry.group_memory),
        base_bytes=_bytes(entry.base_memory),
        least_outside_bytes=_bytes(entry.least_outside_memory),
        amd_share=entry.amd_share.value,
        window_share=entry.window_share.value,
        state_copies=entry.state_copies.value,
        state_pool_share=entry.state_pool_share.value,
        supports=_supports(entry.supports),
    )


def _descending(keyed: tuple[int, Any]) -> int:
    return -keyed[0]


def _bytes(figure: BytesFigure | None) -> int:
    return 0 if figure is None else figure.value


def _tensorrt(name: str, entry: TensorRtEntry) -> TensorRtEngine:
    return TensorRtEngine(
        name=name,
        utilisation=entry.utilisation.value,
        hidden_bytes=entry.hidden_memory.value,
        batched_tokens=entry.batched_tokens.value,
        base_bytes=entry.base_memory.value,
        non_torch_bytes=entry.non_torch_memory.value,
        non_torch_bytes_in_group=entry.non_torch_memory_in_group.value,
        block=entry.block_tokens.value,
        supports=_supports(entry.supports),
    )


def measurements(catalog: "Catalog") -> tuple[Measurement, ...]:
    """What the user's folders hold of logs, of all profiles."""
    engines = (catalog.engine(name) for name in catalog.overlaid("engines"))
    return tuple(one for engine in engines if isinstance(engine, MeasuredEngine) for one in engine.measured)


def engine_named(catalog: "Catalog", name: str) -> str:
    """The profile of that name, or the one that is for the version that a name such as `vllm-0.31` has.

    Raises BadInput with the nearest profile for all others.
    """
    known = catalog.names("engines")
    if name in known:
        return name
    what, alike = f"engine {shown(name)} is not known", nearest(name, known)
    rules, _, version = name.rpartition("-")
    if rules in KINDS and as_version(version):
        profile = profile_of(catalog, rules, version)
        if is_for(catalog, profile, version):
            return profile
        what, alike = f"{what}: no profile is for {rules} {version}", profile
    raise BadInput(Problem(what, accepted=f"{', '.join(known)}, or a version of these engines", nearest=alike))


def as_version(text: str) -> Version:
    """The leading numbers of a version: `0.20.2rc1.dev249` is (0, 20, 2). None where a build has no version, as those
    of a checkout without tags (`0.1.dev19262`)."""
    found = _VERSION.match(text.strip().removeprefix("v"))
    if found is None or _UNTAGGED.match(text):
        return ()
    return tuple(int(part[:_DIGITS]) for part in found.group().split("."))


def profile_of(catalog: "Catalog", rules: str, version: str | None, generation: int | None = None) -> str:
    """The name of the profile for a release of an engine: the last one that begins with it or before, or the oldest.

    `rules` is the engine's name and that of its newest profile, which also stands for a version that is unknown.
    `generation` is that of vLLM's engine, 0 or 1, where a log says it: around 0.8 and 0.9 either could be chosen.
    """
    first: dict[str, Version] = {}
    for name in catalog.names("engines"):
        entry = catalog.entry("engines", name)
        if entry["rules"] == rules and (generation is None or entry.get("whole_prompts", False) is (generation == 0)):
            first[name] = as_version(entry["versions"]["first"])
    oldest_first = sorted(first, key=lambda name: first[name])
    release = as_version(version or "")
    if not release or not oldest_first:
        return oldest_first[-1] if oldest_first else rules
    return next((name for name in reversed(oldest_first) if first[name] <= release), oldest_first[0])


def is_for(catalog: "Catalog", name: str, version: str) -> bool:
    """Whether `version` lies within those that a profile is for; also where it is none."""
    versions, release = catalog.entry("engines", name).get("versions"), as_version(version)
    if versions is None or not release:
        return True
    first, last = as_version(versions["first"]), as_version(versions["last"])
    return release[: len(first)] >= first and release[: len(last)] <= last
