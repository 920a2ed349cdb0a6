"""A start-up log against the prediction of an engine profile, figure by figure, each difference with its reason."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from sizing.intake.logs import EngineLog
from sizing.plan.calibration import Calibration, Comparison
from sizing.pool.budget import RESERVE
from sizing.pool.engines.ideal import IdealEngine
from sizing.pool.engines.profile import Engine, Memory, Outside, Start
from sizing.pool.layout import Layout
from sizing.pool.precision import KvPrecision
from sizing.sequence.model import ModelShape
from sizing.sequence.weights import WeightBytes, WeightFormat, weight_bytes
from sizing.units.amounts import GIB, gib, percent

SAME = Fraction(1, 200)  # a difference below this is none: sizes are printed with two decimals
FIVE_PERCENT = Fraction(1, 20)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What a log was started with, read from it or said beside it. `hbm_bytes` None: nothing says it."""

    model: ModelShape
    weights: WeightFormat
    kv_precision: KvPrecision
    layout: Layout
    hbm_bytes: int | None
    vendor: str
    start: Start
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
    model, layout, start = setting.model, setting.layout, setting.start
    weights = weight_bytes(model, setting.weights)
    loaded = Fraction(engine.loaded(model, weights, layout, start), layout.tp)
    memory = None if setting.hbm_bytes is None else Memory(setting.hbm_bytes, setting.vendor)
    outside = None if memory is None else engine.outside(memory, model, weights, layout, start)
    cache = None if memory is None or outside is None else memory.hbm_bytes - outside.total - loaded
    seen = _seen_outside(log, setting, engine, memory, weights, loaded)
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
        comparisons=tuple(_comparisons(log, setting, engine, memory, outside, cache, loaded, seen)),
        outside_bytes=None if seen is None else int(seen),
        taken=setting.taken,
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
    yield _comparison("weights", log.weight_bytes, loaded, plain_weights, _why_weights(log, setting, loaded))

    any_memory = memory or Memory(0, setting.vendor)
    size = log.cache_bytes if log.cache_bytes is not None else None if cache is None else int(cache)
    token = plain_token = None
    if size is not None and size > 0:
        token = engine.printed(any_memory, model, setting.kv_precision, layout, size, start).token_bytes
        plain_token = ideal.printed(any_memory, model, setting.kv_precision, layout, size, start).token_bytes
    measured_token = None
    if log.cache_bytes is not None and log.cache_bytes > 0 and log.tokens:
        measured_token = Fraction(log.cache_bytes, log.tokens)
    yield _comparison("token", measured_token, token, plain_token, _why_token(measured_token, token, layout))

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
        "how many of the longest sequence fit" if sequences is not None else "not printed by this engine",
    )


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


def _why_weights(log: EngineLog, setting: Setting, loaded: Fraction) -> str:
    if log.weight_bytes is None:
        return "the log does not print it"
    more = log.weight_bytes - loaded
    if abs(more) <= loaded / 100:
        return "within what allocation rounds up"
    if more < 0:
        return f"the checkpoint has fewer bits than {setting.weights.name} takes of it, or layers stand elsewhere"
    encoders = "" if setting.model.encoders else "encoders that the shape lacks, "
    return f"the engine holds {gib(more, 2)} more: {encoders}a draft model, or matrices that its kernels fill up"


def _why_token(measured: Fraction | None, predicted: Fraction | None, layout: Layout) -> str:
    if measured is None:
        return "the log does not print both memory and tokens"
    if not predicted:
        return "no prediction"
    ratio = measured / predicted
    if abs(ratio - 1) <= SAME:
        return "as the profile stores it"
    for factor, why in (
        (Fraction(2), "twice: the cache has 16 bits an element, not 8"),
        (Fraction(1, 2), "half: the cache has 8 bits an element, not 16"),
        (Fraction(layout.tp), f"{layout.tp} times: every GPU has all heads, or TP is not {layout.tp}"),
        (Fraction(1, layout.tp), f"a {layout.tp}th: more GPUs than TP {layout.tp} share the heads"),
    ):
        if factor != 1 and abs(ratio / factor - 1) <= SAME:
            return why
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
    if told:
        said += f"; the log says: {', '.join(told)}"
    return said if seen is None else f"{said}; the log's figure is what its memory leaves beside cache and weights"


def _why_cache(log: EngineLog, cache: Fraction | None) -> str:
    if cache is None:
        return "what the GPU has in all is not known; name it by --system"
    if log.cache_bytes is None:
        return "the log does not print it"
    return "the sum of the differences above"


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
