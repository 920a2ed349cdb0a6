"""A start-up log against the prediction of an engine profile, figure by figure, each difference with its reason."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from sizing.intake.logs import EngineLog
from sizing.plan.calibration import Calibration, Comparison
from sizing.pool.budget import RESERVE
from sizing.pool.engines.ideal import IdealEngine
from sizing.pool.engines.measured import MeasuredEngine, Measurement
from sizing.pool.engines.profile import Engine, Memory, Outside, Start
from sizing.pool.layout import Layout, ladder, layout_for
from sizing.pool.precision import KvPrecision
from sizing.sequence.model import ModelShape
from sizing.sequence.weights import WeightBytes, WeightFormat, weight_bytes
from sizing.units.amounts import GIB, gib, percent

SAME = Fraction(1, 200)  # a difference below this is none: sizes are printed with two decimals
FIVE_PERCENT = Fraction(1, 20)
IMPLAUSIBLE = Fraction(1, 5)
"""Weights, or a token, that are further off are of another model, precision or TP: of such a log nothing is written."""
TPS = ladder(32)
NAMES = {"weights": "weights", "token": "bytes of a token"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a log was started with, read from it or said beside it. `hbm_bytes` None: nothing says it. `system` and
    `gpu` are names of the catalog, None where they were not named."""

    model: ModelShape
    weights: WeightFormat
    kv_precision: KvPrecision
    layout: Layout
    hbm_bytes: int | None
    vendor: str
    start: Start
    system: str | None = None
    gpu: str | None = None
    taken: tuple[str, ...] = ()


def start_of(log: EngineLog, element_bytes: int = 2) -> Start:
    """How the engine was started, as far as the log says. With prefix caching vLLM keeps two states of a sequence
    (0.32.0 `v1/core/kv_cache_utils.py`, `mamba_cache_mode` "align"), without it one."""
    return Start(
        utilisation=log.utilisation,
        longest=log.longest,
        batched_tokens=log.batched_tokens,
        sequences=log.sequences,
        element_bytes=element_bytes,
        graphs_inside=False if log.eager else None,
        state_copies=None if log.prefix_caching is None else 1 + log.prefix_caching,
    )


def calibrate(log: EngineLog, setting: Setting, engine: Engine) -> Calibration:
    """`log` against what `engine` predicts for `setting`."""
    model, layout = setting.model, setting.layout
    weights = weight_bytes(model, setting.weights)
    memory = None if setting.hbm_bytes is None else Memory(setting.hbm_bytes, setting.vendor, setting.gpu or "")
    if isinstance(engine, MeasuredEngine):
        known = None if memory is None else engine.of(memory, model, weights, setting.kv_precision, layout)
        started = None if known is None else known.started(setting.start)
        engine, setting = engine.engine, setting if started is None else replace(setting, start=started)
    start = setting.start
    loaded = Fraction(engine.loaded(model, weights, layout, start), layout.tp)
    outside = None if memory is None else engine.outside(memory, model, weights, layout, start)
    cache = None if memory is None or outside is None else memory.hbm_bytes - outside.total - loaded
    seen = _seen_outside(log, setting, engine, memory, weights, loaded)
    comparisons = tuple(_comparisons(log, setting, engine, memory, outside, cache, loaded, seen))
    unwritten = _unwritten(comparisons, setting, seen)
    return Calibration(
        file=log.file,
        engine=log.engine,
        version=log.version,
        profile=engine.name,
        model=model.name,
        weights=setting.weights.name,
        kv_precision=setting.kv_precision.name,
        gpus=layout.gpus_per_replica,
        layout=str(layout),
        comparisons=comparisons,
        outside_bytes=None if seen is None else int(seen),
        measured=None if unwritten is not None else _measurement(log, setting, engine, int(seen or 0)),
        unwritten=unwritten,
        system=setting.system,
        taken=setting.taken,
    )


def _unwritten(comparisons: Sequence[Comparison], setting: Setting, seen: Fraction | None) -> str | None:
    """Why nothing can be written of a log: it is not of this model started so, shows nothing, or on no known GPU."""
    for each in comparisons:
        if each.quantity in ("weights", "token") and _is_implausible(each.measured, each.predicted):
            return (
                f"its {NAMES[each.quantity]} are off by more than {percent(IMPLAUSIBLE)}: it is of another model, "
                "precision or tensor parallel size than is said"
            )
    if seen is None:
        return "nothing is seen beside cache and weights"
    if seen < 0:
        return "less than nothing is seen beside cache and weights"
    return "no log names its GPU: --system does" if setting.gpu is None else None


def _is_implausible(measured: Fraction | None, predicted: Fraction | None) -> bool:
    return bool(measured and predicted) and abs(Fraction(measured or 0) / Fraction(predicted or 1) - 1) > IMPLAUSIBLE


def _measurement(log: EngineLog, setting: Setting, engine: Engine, outside_bytes: int) -> Measurement:
    layout = setting.layout
    return Measurement(
        profile=engine.name,
        seen_in=(Path(log.file).name,),
        model=setting.model.name,
        gpu=setting.gpu or "",
        gpus=layout.gpus_per_replica,
        tp=layout.tp,
        dcp=layout.dcp,
        weights=setting.weights.name,
        kv_precision=setting.kv_precision.name,
        outside_bytes=outside_bytes,
        utilisation=log.utilisation,
        batched_tokens=log.batched_tokens,
        sequences=log.sequences,
        longest=log.longest,
        eager=bool(log.eager),
    )


def _seen_outside(
    log: EngineLog,
    setting: Setting,
    engine: Engine,
    memory: Memory | None,
    weights: WeightBytes,
    loaded: Fraction,
) -> Fraction | None:
    """What one GPU took beside cache and predicted weights: what the cache of the log leaves for it, or its parts where
    the memory of the GPU is unknown. The cache is linear in what is taken, if only a share of what is left."""
    if isinstance(engine, IdealEngine):  # which counts nothing beside its reserve
        return None
    if log.used_bytes is not None:
        return log.used_bytes - loaded
    if memory is not None and log.cache_bytes is not None:
        nothing, something = (
            memory.hbm_bytes
            - engine.outside(
                memory, setting.model, weights, setting.layout, replace(setting.start, taken_bytes=taken)
            ).total
            for taken in (0, GIB)
        )
        if nothing != something:
            return (nothing - loaded - log.cache_bytes) * Fraction(GIB, nothing - something)
    if log.activation_bytes is not None and log.non_torch_bytes is not None:
        beyond = Fraction(0) if log.weight_bytes is None else log.weight_bytes - loaded
        return log.activation_bytes + log.non_torch_bytes + beyond
    return None


def _comparisons(
    log: EngineLog,
    setting: Setting,
    engine: Engine,
    memory: Memory | None,
    outside: Outside | None,
    cache: Fraction | None,
    loaded: Fraction,
    seen: Fraction | None,
) -> Iterator[Comparison]:
    model, layout, start = setting.model, setting.layout, setting.start
    ideal = IdealEngine(RESERVE)
    weights = weight_bytes(model, setting.weights)
    plain_weights = Fraction(ideal.loaded(model, weights, layout), layout.tp)
    measured_token = None
    if log.cache_bytes is not None and log.cache_bytes > 0 and log.tokens:
        measured_token = Fraction(log.cache_bytes, log.tokens)
    other_tp = _explaining_tp(log, setting, engine, measured_token)
    why_weights = _why_weights(log, setting, loaded, other_tp)
    yield _comparison("weights", log.weight_bytes, loaded, plain_weights, why_weights)

    any_memory = memory or Memory(0, setting.vendor)
    size = log.cache_bytes if log.cache_bytes is not None else None if cache is None else int(cache)
    token = plain_token = None
    if size is not None and size > 0:
        token = engine.printed(any_memory, model, setting.kv_precision, layout, size, start).token_bytes
        plain_token = ideal.printed(any_memory, model, setting.kv_precision, layout, size, start).token_bytes
    why_token = _why_token(measured_token, token, layout, other_tp, log.weight_bytes is not None)
    yield _comparison("token", measured_token, token, plain_token, why_token)

    taken = None if outside is None else Fraction(outside.taken)
    yield _comparison("outside", seen, taken, None, _why_outside(log, outside, seen))

    plain_cache = None
    if memory is not None:
        plain = ideal.budget(memory, model, weights, setting.kv_precision, layout)
        plain_cache = Fraction(plain.kv_bytes, layout.tp)
    yield _comparison("cache", log.cache_bytes, cache, plain_cache, _why_cache(log, cache))

    tokens = sequences = plain_tokens = plain_sequences = None
    if cache is not None and plain_cache is not None and memory is not None:
        found = engine.printed(memory, model, setting.kv_precision, layout, max(0, int(cache)), start)
        simple = ideal.printed(memory, model, setting.kv_precision, layout, max(0, int(plain_cache)), start)
        tokens, sequences = found.tokens, found.concurrency
        plain_tokens, plain_sequences = simple.tokens, simple.concurrency
    yield _comparison("tokens", log.tokens, tokens, plain_tokens, _why_tokens(log, tokens))
    yield _comparison(
        "sequences",
        log.concurrency,
        sequences,
        plain_sequences,
        _why_sequences(log, memory, sequences),
    )


def _explaining_tp(log: EngineLog, setting: Setting, engine: Engine, token: Fraction | None) -> int | None:
    """The other TP with which what the log prints of weights and of a token agrees; None where the one that is said
    does, or none does."""
    fits = [tp for tp in (setting.layout.tp, *TPS) if _fits(log, setting, engine, token, tp)]
    return fits[0] if fits and fits[0] != setting.layout.tp else None


def _fits(log: EngineLog, setting: Setting, engine: Engine, token: Fraction | None, tp: int) -> bool:
    model, said = setting.model, setting.layout
    if log.weight_bytes is None and token is None:
        return tp == said.tp
    if tp % said.dcp:
        return False
    layout = layout_for(model, tp, said.attention_dp, said.dcp)
    if model.refusal(layout.sharding):
        return False
    if log.weight_bytes is not None:
        weights = weight_bytes(model, setting.weights)
        loaded = Fraction(engine.loaded(model, weights, layout, setting.start), tp)
        if abs(log.weight_bytes / loaded - 1) > FIVE_PERCENT:
            return False
    if token is None or log.cache_bytes is None:
        return True
    memory = Memory(setting.hbm_bytes or 0, setting.vendor)
    found = engine.printed(memory, model, setting.kv_precision, layout, log.cache_bytes, setting.start).token_bytes
    return bool(found) and abs(token / found - 1) <= SAME


def _comparison(
    quantity: str,
    measured: Fraction | int | None,
    predicted: Fraction | int | None,
    ideal: Fraction | int | None,
    why: str,
) -> Comparison:
    return Comparison(
        quantity=quantity,  # type: ignore[arg-type]  # one of the literals, as written above
        measured=_exact(measured),
        predicted=_exact(predicted),
        ideal=_exact(ideal),
        why=why,
    )


def _exact(value: Fraction | int | None) -> Fraction | None:
    return None if value is None else Fraction(value)


def _why_weights(log: EngineLog, setting: Setting, loaded: Fraction, other_tp: int | None) -> str:
    if log.weight_bytes is None:
        return "the log does not print it"
    if other_tp is not None:
        return f"TP {other_tp} in place of {setting.layout.tp} explains it"
    more = log.weight_bytes - loaded
    if abs(more) <= loaded / 100:
        return "within what allocation rounds up"
    name = setting.weights.name
    if _is_implausible(Fraction(log.weight_bytes), loaded):
        bits = f"{'fewer' if more < 0 else 'more'} bits than {name} takes of it"
        return f"off by more than {percent(IMPLAUSIBLE)}: the checkpoint has {bits}, or it is another model or TP"
    if more < 0:
        return f"the checkpoint has fewer bits than {name} takes of it, or layers stand elsewhere"
    encoders = "" if setting.model.encoders else "encoders that the shape lacks, "
    return f"the engine holds {gib(more, 2)} more: {encoders}a draft model, or matrices that its kernels fill up"


def _why_token(
    measured: Fraction | None, predicted: Fraction | None, layout: Layout, other_tp: int | None, has_weights: bool
) -> str:
    """Without the weights of the log, TP and precision cannot be told apart."""
    if measured is None:
        return "the log does not print both memory and tokens"
    if not predicted:
        return "no prediction"
    ratio = measured / predicted
    if abs(ratio - 1) <= SAME:
        return "as the profile stores it"
    if other_tp is not None and has_weights:
        return f"TP {other_tp} in place of {layout.tp} explains it"
    or_tp = "" if other_tp is None else f", or TP is {other_tp}"
    for factor, why in (
        (Fraction(2), "twice: the cache has 16 bits an element, not 8"),
        (Fraction(1, 2), "half: the cache has 8 bits an element, not 16"),
        (Fraction(layout.tp), f"{layout.tp} times: every GPU has all heads, or TP is not {layout.tp}"),
        (Fraction(1, layout.tp), f"a {layout.tp}th: more GPUs than TP {layout.tp} share the heads"),
    ):
        if factor != 1 and abs(ratio / factor - 1) <= SAME:
            return why + or_tp
    if other_tp is not None:
        return f"TP {other_tp} in place of {layout.tp} explains it"
    return (
        "neither precision nor TP explains it: the memory is one rank's and the tokens the least of all, "
        "a draft model caches beside it, or prefix caching keeps more states"
    )


def _why_outside(log: EngineLog, outside: Outside | None, seen: Fraction | None) -> str:
    if outside is None:
        return "what the GPU has in all is not known; name it by --system"
    parts = [
        f"{what} {gib(size, 2)}"
        for what, size in (
            ("activations", outside.activations),
            ("libraries", outside.non_torch),
            ("CUDA graphs", outside.graphs),
        )
        if size
    ]
    told = [
        f"{what} {gib(size, 2)}"
        for what, size in (
            ("activations", log.activation_bytes),
            ("libraries", log.non_torch_bytes),
            ("CUDA graphs", log.graph_bytes),
            ("the peak of a first run, with weights,", log.used_bytes),
        )
        if size is not None
    ]
    said = f"predicted: {', '.join(parts) or 'nothing'}"
    if seen is not None and seen < 0:
        said = f"implausible: cache and weights are more than the GPU has for them, see the lines above; {said}"
    if told:
        said += f"; the log says: {', '.join(told)}"
    return said if seen is None else f"{said}; the log's figure is what its memory leaves beside cache and weights"


def _why_cache(log: EngineLog, cache: Fraction | None) -> str:
    if cache is None:
        return "what the GPU has in all is not known; name it by --system"
    if log.cache_bytes is None:
        return "the log does not print it"
    return "the sum of the differences above"


def _why_sequences(log: EngineLog, memory: Memory | None, sequences: Fraction | None) -> str:
    if sequences is not None:
        return "how many of the longest sequence fit"
    if log.concurrency is None:
        return "not printed by this engine"
    return "what the GPU has in all is not known; name it by --system" if memory is None else "no prediction"


def _why_tokens(log: EngineLog, tokens: int | None) -> str:
    if log.tokens is None:
        return "the log does not print it"
    if tokens is None:
        return "no prediction"
    if log.tokens == 0:
        return "no block was left for the cache"
    error = Fraction(tokens, log.tokens) - 1
    if abs(error) <= FIVE_PERCENT:
        return "within 5 %"
    return f"{percent(abs(error), 1)} {'too many' if error > 0 else 'too few'}: see the lines above"
