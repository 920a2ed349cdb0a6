"""What one model's cache costs, and how much of it one replica on one system holds: the arithmetic of `sizing kv`.

Pure data, exact: bytes are whole, rates are fractions. Nothing here prints or reads a file.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sizing.facility.system import System
from sizing.pool.budget import RESERVE, PoolBudget
from sizing.pool.engines.ideal import IdealEngine
from sizing.pool.engines.measured import Measurement
from sizing.pool.engines.profile import Engine, Memory
from sizing.pool.gpu import HbmBasis
from sizing.pool.layout import Layout, ladder, layout_for, layouts
from sizing.pool.precision import KvPrecision
from sizing.sequence.attention import AttentionKind, Storage
from sizing.sequence.model import ModelShape
from sizing.sequence.sharding import Sharding
from sizing.sequence.weights import WeightFormat, weight_bytes


@dataclass(frozen=True, slots=True)
class Load:
    """What is asked of a model: at which precisions, as which engine stores it, which contexts, how many at once.

    `measurements` are what is known of engine logs, of every profile.
    """

    model: ModelShape
    weights: WeightFormat
    kv_precision: KvPrecision
    engine: Engine
    contexts: tuple[int, ...]
    concurrencies: tuple[int, ...]
    measurements: tuple[Measurement, ...] = ()

    @property
    def storage(self) -> Storage:
        return self.engine.storage(self.model, self.kv_precision)


@dataclass(frozen=True, slots=True)
class Home:
    """One system and how its HBM is counted: `hbm_bytes` of one GPU by `basis`."""

    system: System
    basis: HbmBasis
    hbm_bytes: int

    @property
    def memory(self) -> Memory:
        return Memory(self.hbm_bytes, self.system.gpu.vendor, self.system.gpu.name)


@dataclass(frozen=True, slots=True)
class SequenceCost:
    """One sequence of `context` tokens: `bytes` over its pool, and how many such sequences one replica holds."""

    context: int
    bytes: int
    fits: int | None


@dataclass(frozen=True, slots=True)
class Cell:
    """`concurrency` sequences of `context` tokens: their bytes, and whether one replica holds them all."""

    context: int
    concurrency: int
    bytes: int
    fits: bool | None


@dataclass(frozen=True, slots=True)
class Holding:
    """What a replica holds beside weights of one size. Without a system, all that depends on it is None.

    `weight_bytes` is one copy, `crossover_tokens` how many cached tokens weigh as much, `kv_tokens` how many tokens the
    replica holds, each pool floored (0 where the weights do not fit). Both are None where a token costs nothing.
    """

    parameters: int
    weight_bytes: int
    crossover_tokens: int | None
    budget: PoolBudget | None
    pools: int
    kv_tokens: int | None
    sequences: tuple[SequenceCost, ...]
    cells: tuple[Cell, ...]

    @property
    def weights_fit(self) -> bool | None:
        return None if self.budget is None else self.budget.kv_bytes >= 0

    @property
    def hbm_bytes(self) -> int | None:
        """Of the replica, like the three that follow."""
        return None if self.budget is None else self.pools * self.budget.hbm_bytes

    @property
    def reserve_bytes(self) -> int | None:
        return None if self.budget is None else self.pools * self.budget.reserve_bytes

    @property
    def weight_bytes_on_replica(self) -> int | None:
        return None if self.budget is None else self.pools * self.budget.weight_bytes

    @property
    def kv_budget_bytes(self) -> int | None:
        """Negative by what is missing where the weights do not fit."""
        return None if self.budget is None else self.pools * self.budget.kv_bytes


@dataclass(frozen=True, slots=True)
class KvEstimate:
    """The whole calculation of one model. `exact` has the model's own parameter count, `nominal` that of its name.

    `ideal` is the same in the same layout by the arithmetic itself, where `load` asks for another engine.
    """

    load: Load
    home: Home | None
    layout: Layout
    layout_chosen: bool
    bytes_per_token: Fraction
    constant_bytes: int
    window_bytes: int
    intensity: Fraction | None
    exact: Holding
    nominal: Holding | None
    ideal: "KvEstimate | None" = None

    @property
    def layers(self) -> tuple[tuple[AttentionKind, int], ...]:
        """(attention, layers), equal attentions together, in the order in which they first occur."""
        counts: dict[AttentionKind, int] = {}
        for count, kind in self.load.model.layers():
            counts[kind] = counts.get(kind, 0) + count
        return tuple(counts.items())

    @property
    def ridge(self) -> Fraction | None:
        """FLOP per byte at which the GPU's dense 16-bit arithmetic and its HBM are level; None where unknown."""
        return None if self.home is None else self.home.system.gpu.ridge_flop_per_byte


def layout_refusal(model: ModelShape, layout: Layout, domain_gpus: int | None) -> str | None:
    """Why `layout` cannot be, by the heads of the model or the GPUs of the domain (decision 3); None where it can."""
    refused = model.refusal(layout.sharding)
    if refused:
        return refused
    if domain_gpus is not None and layout.gpus_per_replica > domain_gpus:
        return f"a replica of {layout.gpus_per_replica} GPUs does not fit into a domain of {domain_gpus}"
    return None


def legal_tps(model: ModelShape, domain_gpus: int | None) -> tuple[int, ...]:
    """Every TP that the heads of the model allow, up to the GPUs of the domain or else to its query heads."""
    most = model.query_heads if domain_gpus is None else domain_gpus
    return tuple(tp for tp in range(1, most + 1) if model.refusal(Sharding(tp)) is None)


def off_ladder(layout: Layout, domain_gpus: int) -> bool:
    """Whether no program would offer a replica of this size on such a domain."""
    return layout.gpus_per_replica not in ladder(domain_gpus)


def chosen_layout(load: Load, home: Home | None) -> Layout:
    """The layout on the ladder that holds most tokens per GPU, ties to fewer GPUs; TP 1 without a system.

    Where a token costs nothing, sequences at the model's limit are counted instead. Where the weights fit nowhere, it
    is the layout that lacks least per GPU.
    """
    if home is None:
        return layout_for(load.model, 1)
    offered, _ = layouts(load.model, home.system.domain_gpus)

    def merit(layout: Layout) -> tuple[Fraction, Fraction, int]:
        budget = _budget(load, home, layout)
        unit = load.model.bytes_per_token(layout.sharding, load.storage)
        if unit == 0:
            unit = Fraction(load.model.sequence_bytes(load.model.context_limit, layout.sharding, load.storage))
        held = layout.attention_dp * _floor(budget.kv_bytes, unit)
        missing = min(0, budget.kv_bytes)
        return Fraction(held, layout.gpus_per_replica), Fraction(missing, layout.tp), -layout.gpus_per_replica

    return max(offered, key=merit)


def estimate(load: Load, home: Home | None = None, layout: Layout | None = None) -> KvEstimate:
    """The calculation for `load`, on `home` if given; `layout` None lets the tool choose.

    A given layout must be one that `layout_refusal` lets pass.
    """
    chosen = layout is None
    layout = layout or chosen_layout(load, home)
    model, storage, sharding = load.model, load.storage, layout.sharding
    budget = None if home is None else _budget(load, home, layout)
    one_copy = weight_bytes(model, load.weights).one_copy
    exact = _holding(load, layout, model.parameters, one_copy, budget)
    ideal = None
    if not isinstance(load.engine, IdealEngine):
        ideal = estimate(replace(load, engine=IdealEngine(RESERVE)), home, layout)
    return KvEstimate(
        load=load,
        home=home,
        layout=layout,
        layout_chosen=chosen,
        bytes_per_token=model.bytes_per_token(sharding, storage),
        constant_bytes=model.constant_bytes(layout.tp, storage),
        window_bytes=model.window_bytes(sharding, storage),
        intensity=model.intensity(sharding, storage),
        exact=exact,
        nominal=_nominal(load, layout, exact),
        ideal=ideal,
    )


def _floor(available: int, each: Fraction | int) -> int:
    return max(0, available) // each


def _budget(load: Load, home: Home, layout: Layout) -> PoolBudget:
    weights = weight_bytes(load.model, load.weights)
    return load.engine.budget(home.memory, load.model, weights, load.kv_precision, layout)


def _nominal(load: Load, layout: Layout, exact: Holding) -> Holding | None:
    """The same with the weights scaled to the rounded parameter count that the model is named after."""
    parameters = load.model.nominal_parameters
    if parameters is None:
        return None

    def scaled(size: int) -> int:
        return -(-size * parameters // exact.parameters)

    budget = exact.budget and PoolBudget(
        exact.budget.hbm_bytes, exact.budget.reserve_bytes, scaled(exact.budget.weight_bytes)
    )
    return _holding(load, layout, parameters, scaled(exact.weight_bytes), budget)


def _holding(load: Load, layout: Layout, parameters: int, one_copy: int, budget: PoolBudget | None) -> Holding:
    model, storage, sharding, pools = load.model, load.storage, layout.sharding, layout.attention_dp
    per_token = model.bytes_per_token(sharding, storage)
    sequences: list[SequenceCost] = []
    cells: list[Cell] = []
    for context in load.contexts:
        size = model.sequence_bytes(context, sharding, storage)
        held = None if budget is None else pools * _floor(budget.kv_bytes, size)
        sequences.append(SequenceCost(context, size, held))
        cells.extend(
            Cell(context, count, count * size, None if held is None else count <= held) for count in load.concurrencies
        )
    return Holding(
        parameters=parameters,
        weight_bytes=one_copy,
        crossover_tokens=one_copy // per_token if per_token else None,
        budget=budget,
        pools=pools,
        kv_tokens=None if budget is None or not per_token else pools * _floor(budget.kv_bytes, per_token),
        sequences=tuple(sequences),
        cells=tuple(cells),
    )


def default_contexts(limit: int, contexts: Sequence[int] = (4_096, 32_768, 131_072)) -> tuple[int, ...]:
    """The contexts to show when none is asked for: short, middle and long, none beyond the model's limit."""
    return tuple(sorted({min(context, limit) for context in contexts}))
