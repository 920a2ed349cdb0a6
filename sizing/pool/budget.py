"""The KV budget of one pool: HBM of its GPUs, less reserve, less weights."""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from sizing.pool.layout import Layout
from sizing.sequence.weights import WeightBytes

RESERVE = Fraction(1, 10)
"""Share of HBM that is kept free where neither a workload nor an engine profile says otherwise (decision 2)."""


@dataclass(frozen=True, slots=True)
class PoolBudget:
    """Bytes over all GPUs of one pool. `kv_bytes` is negative where the weights do not fit."""

    hbm_bytes: int
    reserve_bytes: int
    weight_bytes: int

    @property
    def kv_bytes(self) -> int:
        return self.hbm_bytes - self.reserve_bytes - self.weight_bytes


def pool_budget(hbm_bytes_per_gpu: int, reserve: Fraction, weights: WeightBytes, layout: Layout) -> PoolBudget:
    """The budget of one pool of `layout.tp` GPUs; `reserve` is a share of HBM (decision 2), rounded up per GPU."""
    return PoolBudget(
        hbm_bytes=layout.tp * hbm_bytes_per_gpu,
        reserve_bytes=layout.tp * ceil(reserve * hbm_bytes_per_gpu),
        weight_bytes=weights.on_pool(layout.tp, layout.gpus_per_replica),
    )
