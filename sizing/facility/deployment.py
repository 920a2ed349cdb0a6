"""A deployment: one model at one pair of precisions in one layout on one system."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from sizing.facility.system import System
from sizing.pool.budget import PoolBudget
from sizing.pool.layout import Layout
from sizing.pool.precision import KvPrecision
from sizing.sequence.attention import Storage
from sizing.sequence.model import ModelShape
from sizing.sequence.streams import Stored, bytes_of_sequence


@dataclass(frozen=True, slots=True)
class Precisions:
    """What a class is served at: weight precision and KV precision, by name."""

    weights: str
    kv: str

    def __str__(self) -> str:
        return f"{self.weights} weights, {self.kv} KV"


@dataclass(frozen=True)
class Deployment:
    """Replicas of `model` on `system`. A pool's contents depend on nothing else."""

    system: System
    model: ModelShape
    weights: str
    kv_precision: KvPrecision
    layout: Layout
    budget: PoolBudget
    storage: Storage

    @cached_property
    def id(self) -> str:
        layout = self.layout
        parts = [f"tp{layout.tp}"]
        if layout.dcp > 1:
            parts.append(f"dcp{layout.dcp}")
        if layout.attention_dp > 1:
            parts.append(f"adp{layout.attention_dp}")
        return "/".join((self.system.name, self.model.name, self.weights, self.kv_precision.name, "-".join(parts)))

    @cached_property
    def precisions(self) -> Precisions:
        return Precisions(self.weights, self.kv_precision.name)

    @property
    def gpus_per_replica(self) -> int:
        return self.layout.gpus_per_replica

    @property
    def pools_per_replica(self) -> int:
        return self.layout.attention_dp

    @property
    def bytes_per_token(self) -> Fraction:
        """What one more token costs at a long context, over a whole pool."""
        return self.model.bytes_per_token(self.layout.sharding, self.storage)

    def sequence_bytes(self, context: int) -> int:
        """Bytes of one sequence of `context` tokens, over its whole pool."""
        return bytes_of_sequence(self.stored, context)

    @cached_property
    def stored(self) -> tuple[Stored, ...]:
        """What a pool stores of a sequence, stream by stream: the same for every class."""
        return self.storage.stored(self.model.layers(), self.layout.sharding)
