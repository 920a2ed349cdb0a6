"""Whether figures of engine logs were used, and why not where there are some; what an engine runs on."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sizing.facility.system import System
from sizing.pool.engines.ideal import IdealEngine
from sizing.pool.engines.measured import Measurement
from sizing.pool.engines.profile import AS_SHIPPED, Engine, Memory
from sizing.pool.gpu import HbmBasis
from sizing.pool.layout import Layout
from sizing.pool.precision import KvPrecision
from sizing.report.text import plural, share
from sizing.sequence.model import ModelShape
from sizing.sequence.weights import FORMATS, weight_bytes
from sizing.units.amounts import gib


@dataclass(frozen=True, slots=True)
class Replica:
    """One copy of a model on a system as an engine is asked to run it; `basis` is how HBM is counted."""

    engine: Engine
    system: System
    basis: HbmBasis
    model: ModelShape
    weights: str
    kv_precision: KvPrecision
    layout: Layout

    @property
    def memory(self) -> Memory:
        gpu = self.system.gpu
        return Memory(gpu.hbm_bytes(self.basis) or 0, gpu.vendor, gpu.name)

    def differences(self, measured: Measurement) -> list[str]:
        """Why a measurement does not hold for it; empty where it does."""
        weights = weight_bytes(self.model, FORMATS[self.weights])
        name = self.engine.name
        return [*measured.differences(name, self.memory, self.model, weights, self.kv_precision, self.layout)]


def refusal(replica: Replica) -> str | None:
    """Why the engine cannot run so, as far as its profile says."""
    gpu, engine = replica.system.gpu, replica.engine
    return engine.supports.refusal(engine.name, gpu.vendor, gpu.generation, replica.weights, replica.kv_precision)


def unchecked(replica: Replica) -> Iterator[str]:
    """What the profile does not say of the engine."""
    if isinstance(replica.engine, IdealEngine):
        return
    found = replica.engine.supports.unchecked(replica.weights, replica.kv_precision)
    if found:
        generation = replica.system.gpu.generation
        yield f"whether {replica.engine.name} runs {' and '.join(found)} on {generation} GPUs is not checked"


def measured_sentences(replicas: Iterable[Replica], known: Iterable[Measurement]) -> Iterator[str]:
    """What of `known` was used for `replicas`, and for each of their models what was not, and why."""
    replicas = list(replicas)
    for measured in known:
        of_model = [replica for replica in replicas if replica.model.name == measured.model]
        used = next((replica for replica in of_model if not replica.differences(measured)), None)
        if used is not None:
            yield _used(measured, used)
        elif of_model:
            why = min((replica.differences(measured) for replica in of_model), key=len)
            yield f"{_of(measured)} is not used: {'; '.join(why)}"


def _of(measured: Measurement) -> str:
    layout = f"TP {measured.tp}" + (f", DCP {measured.dcp}" if measured.dcp > 1 else "")
    return (
        f"what was measured in {', '.join(measured.seen_in)} of {measured.model} ({measured.weights} weights, "
        f"{measured.kv_precision} KV, {measured.gpus} x {measured.gpu}, {layout}) under {measured.profile}"
    )


def _used(measured: Measurement, replica: Replica) -> str:
    given = [
        *([f"share {share(measured.utilisation)}"] if measured.utilisation is not None else []),
        *([f"{measured.batched_tokens:,} tokens a step"] if measured.batched_tokens else []),
        *([f"{measured.sequences:,} sequences"] if measured.sequences else []),
        *(["no CUDA graphs"] if measured.eager else []),
    ]
    said = (
        f"measured in {', '.join(measured.seen_in)}: a GPU takes {gib(measured.outside_bytes, 2)} beside weights and "
        f"cache ({measured.model} on {measured.gpus} x {measured.gpu}, TP {measured.tp})"
    )
    said += f", started with {', '.join(given)}" if given else ""
    label, driver = (replica.system.gpu.hbm_bytes(basis) for basis in ("label", "driver"))
    if replica.basis == "label" and label is not None and driver is not None and label != driver:
        gap = gib(abs(driver - label), 2)
        said += f"; HBM is counted by label, {gap} a GPU {'less' if driver > label else 'more'} than the driver reports"
        said += ": hbm driver gives what the log shows"
    return said


def assumed_sentence(replica: Replica, known: Iterable[Measurement]) -> str | None:
    """The share of memory and the steps that a profile assumes of a start; None for the arithmetic itself."""
    start = AS_SHIPPED
    for measured in known:
        if not replica.differences(measured):
            start = measured.started(start) or start
    settings = replica.engine.settings(replica.memory, replica.model, replica.layout, start)
    if settings is None:
        return None
    steps = [
        *([f"{settings.batched_tokens:,} tokens a step"] if settings.batched_tokens else []),
        *([plural(settings.sequences, "sequence") + " at once"] if settings.sequences else []),
    ]
    told = ", ".join([f"{share(round(settings.share, 3))} of {settings.of}", *steps])
    return f"assumed of a start of {replica.engine.name}: {told}; docs/engines.md says how to set your own"
