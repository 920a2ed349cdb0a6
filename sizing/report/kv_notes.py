"""What a reader of a KV estimate must know beside its numbers."""

from collections.abc import Iterator

from sizing.facility.estimate import KvEstimate, off_ladder
from sizing.facility.system import Status
from sizing.report.measured import Replica, assumed_sentence, measured_sentences, refusal, unchecked
from sizing.report.text import amount


def notes(found: KvEstimate) -> Iterator[str]:
    """Sentences on contexts beyond the model, and on a precision, layout or system that no plan would offer."""
    yield from cautions(found)
    yield from remarks(found)


def cautions(found: KvEstimate) -> Iterator[str]:
    """What puts the answer itself in doubt: contexts beyond the model, a precision that the GPU does not hold."""
    load, home = found.load, found.home
    limit = load.model.context_limit
    beyond = [f"{context:,}" for context in load.contexts if context > limit]
    if beyond:
        yield f"{load.model.name} is made for at most {limit:,} tokens: {', '.join(beyond)} is beyond its limit."
    if home is not None and not load.kv_precision.runs_on(home.system.gpu.generation):
        system = home.system
        yield (
            f"{system.name} has {system.gpu.generation} GPUs, which the catalog does not list for a KV cache in "
            f"{load.kv_precision.name}: `sizing solve` never pairs them."
        )
    replica = _replica(found)
    refused = None if replica is None else refusal(replica)
    if refused is not None:
        yield f"{refused}: `sizing solve` never pairs them."


def remarks(found: KvEstimate) -> Iterator[str]:
    """What else a reader must know: windows without an end, what the model's file leaves open or asks for, and a layout
    or system that no plan would offer by itself."""
    yield from _windows(found)
    yield from found.load.model.notes
    replica = _replica(found)
    if replica is not None:
        assumed = assumed_sentence(replica, found.load.measurements)
        of_engine = [] if assumed is None else [assumed]
        of_engine += [*unchecked(replica), *measured_sentences([replica], found.load.measurements)]
        yield from (f"{sentence[0].upper()}{sentence[1:]}." for sentence in of_engine)
    if found.home is None:
        return
    system = found.home.system
    if off_ladder(found.layout, system.domain_gpus):
        size, domain = found.layout.gpus_per_replica, system.domain_gpus
        yield f"A replica of {size} GPUs is off the ladder of a domain of {domain}: `sizing solve` never uses one."
    if system.status is not Status.ON_SALE:
        yield f"{system.name} is not on sale: {system.status}."


def _replica(found: KvEstimate) -> Replica | None:
    load, home = found.load, found.home
    if home is None:
        return None
    return Replica(load.engine, home.system, home.basis, load.model, load.weights.name, load.kv_precision, found.layout)


def _windows(found: KvEstimate) -> Iterator[str]:
    """What a token costs where `bytes_per_token`, the cost beyond all windows, never comes to bear or is none."""
    model, layout = found.load.model, found.layout
    windows = model.windows(layout.sharding, found.load.storage)
    if not windows:
        return
    limit, largest = model.context_limit, windows[-1]
    if largest >= limit:
        yield (
            f"No sequence fills the window of {largest:,} tokens, for the limit of {model.name} is {limit:,}: each "
            f"token costs {_cost(found, limit)}. The {amount(found.bytes_per_token)} bytes per token are those beyond "
            "the window."
        )
    elif not found.bytes_per_token:
        yield (
            f"All that holds tokens is a window: a token costs {_cost(found, windows[0])} up to {windows[0]:,} tokens, "
            f"and nothing beyond {largest:,}."
        )


def _cost(found: KvEstimate, context: int) -> str:
    size = found.load.model.bytes_per_token_within(context, found.layout.sharding, found.load.storage)
    return f"{amount(size)} bytes"
