"""What a reader of a KV estimate must know beside its numbers."""

from collections.abc import Iterator

from sizing.facility.estimate import KvEstimate, off_ladder
from sizing.facility.system import Status


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


def remarks(found: KvEstimate) -> Iterator[str]:
    """What else a reader must know: a layout or system that no plan would offer by itself."""
    if found.home is None:
        return
    system = found.home.system
    if off_ladder(found.layout, system.domain_gpus):
        size, domain = found.layout.gpus_per_replica, system.domain_gpus
        yield f"A replica of {size} GPUs is off the ladder of a domain of {domain}: `sizing solve` never uses one."
    if system.status is not Status.ON_SALE:
        yield f"{system.name} is not on sale: {system.status}."
