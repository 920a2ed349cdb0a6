"""A KV estimate on the screen: the answer first, then every step of the calculation with its numbers."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from math import floor, log10, prod

from sizing.facility.estimate import Holding, Home, KvEstimate
from sizing.pool.engines.ideal import IdealEngine
from sizing.pool.precision import FULL_BITS
from sizing.pool.storage import IdealStorage
from sizing.report.grid import Column, bullets, paragraph, table
from sizing.report.kv_notes import cautions, remarks
from sizing.report.text import amount, plural
from sizing.sequence.attention import Storage
from sizing.sequence.sharding import WHOLE
from sizing.sequence.streams import CacheRole, Stored
from sizing.sequence.weights import parameters_by_bits
from sizing.units.amounts import GB, GIB, gb, gib, percent

MEMORY_ONLY = "memory only: the least that can hold this load; latencies are not checked"
UNFIT = "!"
LARGEST_DENOMINATOR = 8  # of the bits of one element
BIT_DECIMALS = 12  # of the bits of one weight: a scale per 128 x 128 block takes nine


def kv_report(estimates: Sequence[KvEstimate]) -> str:
    """All estimates of one call, one after another."""
    return "\n".join([MEMORY_ONLY, "", *("\n\n".join(_sections(found)) + "\n" for found in estimates)])


def _sections(found: KvEstimate) -> Iterator[str]:
    yield "\n".join(paragraph(line) for line in (_answer(found), *_whole_system(found), *cautions(found)))
    stored = "" if found.ideal is None else f", as {found.load.engine.name} stores it"
    yield f"KV cache in {found.load.kv_precision.name}{stored}\n" + bullets(list(_equations(found)))
    if found.ideal is not None:
        yield _side_by_side(found, found.ideal)
    yield "Weights, one copy\n" + bullets(list(_weights(found)))
    if found.home is not None:
        yield _budget(found, found.home)
    yield _cells(found)
    told = [*_crossover(found), *_intensity(found)]
    if told:
        yield "Compared\n" + bullets(told)
    fewer = list(_fewer_bits(found))
    if fewer:
        yield "Fewer bits\n" + bullets(fewer)
    to_know = list(remarks(found))
    if to_know:
        yield "To know\n" + bullets(to_know)


def _answer(found: KvEstimate) -> str:
    load, exact = found.load, found.exact
    name = f"{load.model.name} ({load.weights.name} weights, {load.kv_precision.name} KV)"
    longest = max(exact.sequences, key=lambda cost: cost.context)
    if found.home is None:
        size = f"{_tokens(longest.context)} takes {_in(GIB, longest.bytes)} GiB ({_in(GB, longest.bytes)} GB)"
        on_layout = "" if found.layout_chosen else f" on {found.layout}"
        return f"{name}: one sequence of {size} of KV cache{on_layout}"
    where = f"{name} on {found.home.system.name}"
    chosen = ", the layout that holds most tokens per GPU" if found.layout_chosen else ""
    used, gpus = found.layout.gpus_per_replica, found.home.system.gpus
    replica = f"on {plural(used, 'GPU')}" if used == gpus else f"in one replica of {used:,} of the {gpus:,} GPUs"
    replica += f" ({found.layout}{chosen})"
    if exact.budget is not None and exact.budget.kv_bytes < 0:
        missing = -exact.budget.kv_bytes
        pool = "" if exact.pools == 1 else " in each pool"
        return (
            f"{where} does not fit: beside {_outside(found)} the weights lack {gb(missing)} "
            f"({gib(missing)}, {missing:,} bytes) {replica}{pool}"
        )
    tokens = "" if exact.kv_tokens is None else f", {exact.kv_tokens:,} tokens of cache in all"
    return f"{where} holds {plural(longest.fits or 0, 'sequence')} of {_tokens(longest.context)}{tokens}, {replica}"


def _whole_system(found: KvEstimate) -> Iterator[str]:
    """What the system holds where that is more than one replica, or leaves GPUs; a replica lies in one domain."""
    if found.home is None or not found.exact.weights_fit:
        return
    system, size = found.home.system, found.layout.gpus_per_replica
    replicas = system.domains_per_system * (system.domain_gpus // size)
    left = system.gpus - replicas * size
    if replicas > 1 or left:
        longest = max(found.exact.sequences, key=lambda cost: cost.context)
        held = plural(replicas * (longest.fits or 0), "sequence")
        yield f"the system: {plural(replicas, 'replica')}, {held}, {plural(left, 'GPU')} left"


def _tokens(context: int) -> str:
    return plural(context, "token")


def _equations(found: KvEstimate) -> Iterator[str]:
    """One line for everything that holds tokens: what it multiplies, and what comes out."""
    layers = [(count, kind) for kind, count in found.layers]
    storage, sharding = found.load.storage, found.layout.sharding
    rows = {replace(stream, rows=0): stream.rows for _, kind in layers for stream in kind.streams(WHOLE.tp)}
    held = storage.stored(layers, sharding)
    kept = [
        (stored, Fraction(stored.stream.rows, rows[replace(stored.stream, rows=0)]))
        for stored in held
        if not stored.stream.is_state
    ]
    several = len(kept) > 1
    for stored, copies in kept:
        lead = f"{_label(stored)}: " if several else ""
        yield lead + _product(stored, copies, sharding.tp, _pool_share(stored, storage)) + _result(stored)
    if several or not kept:
        yield f"together: {_per_token(found.bytes_per_token)}"
    yield from _states(stored for stored in held if stored.stream.is_state)


def _states(states: Iterable[Stored]) -> Iterator[str]:
    """One line for every state as its kind has it, one for those that an engine fills up to pages, and their sum."""
    lines: list[str] = []
    pages: dict[tuple[int, int], Fraction] = {}
    total = Fraction(0)
    for stored in states:
        total += stored.most_bits / 8
        element = stored.row_bits / 8 / prod(stored.stream.factors)
        if element.denominator == 1:
            factors = " x ".join(f"{factor:,}" for factor in stored.stream.factors)
            layers, size = plural(stored.layers, "layer"), plural(int(element), "byte")
            held = _copies(stored.positions(1)) + _result(stored)
            lines.append(f"{_label(stored)}: {layers} x {factors} x {size}{held}")
        else:
            held_so = stored.layers, stored.positions(1)
            pages[held_so] = pages.get(held_so, Fraction(0)) + stored.row_bits / 8
    for (count, copies), page in pages.items():
        product = f"{plural(count, 'layer')} x {amount(page)} bytes{_copies(copies)}"
        lines.append(f"states, filled up to pages: {product} = {amount(count * copies * page)} bytes per sequence")
    yield from lines
    if len(lines) > 1:
        yield f"states together: {amount(total)} bytes per sequence"


def _label(stored: Stored) -> str:
    window = ""
    if not stored.stream.grows and not stored.stream.is_state:
        window = ", windows stored in full" if stored.grows else ", window"
    filled = ", phantom layers" if stored.phantom else ""
    return stored.stream.role.replace("_", " ") + window + filled


def _pool_share(stored: Stored, storage: Storage) -> Fraction:
    """Tokens of a pool of windows for each token of the full layers; 1 where windows have none of their own."""
    if stored.stream.grows or not stored.grows or not isinstance(storage, IdealStorage):
        return Fraction(1)
    return min(Fraction(1), stored.row_bits / storage.row_bits(stored.stream))


def _product(stored: Stored, copies: Fraction, tp: int, pool_share: Fraction) -> str:
    """The bytes of one token in all layers that store it so, as factors."""
    stream = stored.stream
    widths = [f"{width:,}" for width in stream.widths]
    factors = [plural(stored.layers, "layer")]
    rows = stream.rows / copies
    if stream.role is CacheRole.KEY_VALUE:
        factors.append(plural(int(rows), "KV head"))
    elif rows > 1:
        factors.append(plural(int(rows), "row"))
    row_bits = stored.row_bits / pool_share
    element = row_bits / sum(stream.widths)
    if element.denominator > LARGEST_DENOMINATOR:  # a row layout, not so many bits an element
        factors.append(f"{amount(row_bits / 8)} bytes")
    else:
        if len(set(widths)) == 1 and len(widths) > 1:
            factors.insert(0, str(len(widths)))
            widths = widths[:1]
        factors.append(widths[0] if len(widths) == 1 else f"({' + '.join(widths)})")
        factors.append(plural(int(element / 8), "byte") if element % 8 == 0 else f"{amount(element)} bits / 8")
    if copies > 1:
        factors.append(f"{amount(copies)} copies over TP {tp}")
    if pool_share < 1:
        factors.append(f"{amount(pool_share)} tokens in the pool of windows")
    if stored.keep.most is not None and stored.block * (1 + stored.spare_blocks) > 1:
        held = stored.positions(stored.keep.most * stored.keep.every)
        factors.append(f"{held:,} tokens of a full window in blocks of {stored.block:,}")
    elif stored.keep.most is not None:
        factors.append(f"{stored.keep.most * stored.keep.every:,} tokens of a full window")
    divided = [f" / {stored.keep.every:,} tokens"] if stored.keep.every > 1 else []
    divided += [f" / DCP {stored.split}"] if stored.split > 1 else []
    return " x ".join(factors) + "".join(divided)


def _copies(copies: int) -> str:
    return f" x {copies:,} copies" if copies > 1 else ""


def _result(stored: Stored) -> str:
    if stored.grows:
        return f" = {_per_token(stored.token_bits / 8)}"
    return f" = {amount(stored.most_bits / 8)} bytes per sequence"


def _per_token(size: Fraction) -> str:
    return f"{amount(size)} bytes per token ({amount(size / 1024)} KiB)"


def _side_by_side(found: KvEstimate, ideal: KvEstimate) -> str:
    """The answer under the engine's profile and under the arithmetic itself, in the same layout."""
    columns = [Column(""), Column(found.load.engine.name, number=True), Column("ideal", number=True)]
    both = (found, ideal)
    rows = [
        ["bytes per token, long contexts", *(amount(each.bytes_per_token) for each in both)],
        *(
            [
                f"one sequence of {cost.context:,} tokens, GiB",
                *(_in(GIB, each.exact.sequences[at].bytes) for each in both),
            ]
            for at, cost in enumerate(found.exact.sequences)
        ),
    ]
    if found.home is not None:
        rows.append(["KV budget, GiB", *(f"{(each.exact.kv_budget_bytes or 0) / GIB:,.1f}" for each in both)])
        rows.append(["tokens", *(_or_none(each.exact.kv_tokens) for each in both)])
        rows += [
            [f"sequences of {cost.context:,}", *(_or_none(each.exact.sequences[at].fits) for each in both)]
            for at, cost in enumerate(found.exact.sequences)
        ]
    reserve = "" if found.home is None else ", with a reserve of 10 %"
    return f"Beside the arithmetic itself{reserve}\n{table(columns, rows)}"


def _or_none(count: int | None) -> str:
    return "-" if count is None else f"{count:,}"


def _weights(found: KvEstimate) -> Iterator[str]:
    weights, model = found.load.weights, found.load.model
    by_bits = parameters_by_bits(model, weights)
    stated = {weights.role_bits(tensors.role) for _, tensors in model.tensors() if tensors.total}
    title = f" ({weights.title})" if by_bits.keys() <= stated else ", as the checkpoint stores it"
    parts = " + ".join(f"{count:,} x {_bits(bits)}" for bits, count in by_bits.items())
    exact, size = found.exact, f"{found.exact.weight_bytes:,} bytes = {_size(found.exact)}"
    yield f"exact: {exact.parameters:,} parameters in {weights.name}{title}: {parts} = {size}"
    if found.nominal is not None:
        scaled = f"{exact.weight_bytes:,} bytes x {found.nominal.parameters:,} / {exact.parameters:,}"
        named = f"{found.nominal.parameters:,} parameters, the round figure of its name"
        yield f"nominal: {named}: {scaled} = {_size(found.nominal)}"


def _bits(bits: Fraction) -> str:
    """The bits of one weight, none rounded: a decimal, or a fraction where scales make no short one."""
    digits = f"{float(bits):.{BIT_DECIMALS}f}".rstrip("0").rstrip(".")
    return f"{digits} bits" if Fraction(digits) == bits else f"{bits} bits"


def _size(held: Holding) -> str:
    return f"{gb(held.weight_bytes)} ({gib(held.weight_bytes)})"


def _budget(found: KvEstimate, home: Home) -> str:
    """HBM less reserve less weights, exact and nominal side by side."""
    holdings = [held for held in (found.exact, found.nominal) if held is not None]
    labels = ["exact", "nominal"][: len(holdings)]
    columns = [Column(f"One replica: {plural(found.layout.gpus_per_replica, 'GPU')}, {found.layout}")]
    columns += [Column(f"{label}, {unit}", number=True) for label in labels for unit in ("GB", "GiB")]
    per_gpu = f"{found.layout.gpus_per_replica} x {amount(Fraction(home.hbm_bytes, GB))} GB by {home.basis}"
    lines: list[tuple[str, list[int | None]]] = [
        (f"HBM, {per_gpu}", [held.hbm_bytes for held in holdings]),
        (f"less {_reserve(found)}", [held.reserve_bytes for held in holdings]),
        (f"less weights, {found.load.weights.name}", [held.weight_bytes_on_replica for held in holdings]),
        ("KV budget", [held.kv_budget_bytes for held in holdings]),
    ]
    if found.exact.pools > 1:
        each = [held.budget.kv_bytes for held in holdings if held.budget]
        lines.append((f"KV budget of each of {found.exact.pools} pools", [*each]))
    rows = [
        [name, *(f"{float(Fraction(size or 0, unit)):,.1f}" for size in sizes for unit in (GB, GIB))]
        for name, sizes in lines
    ]
    return table(columns, rows)


def _outside(found: KvEstimate) -> str:
    engine = found.load.engine
    return "the reserve" if isinstance(engine, IdealEngine) else f"what {engine.name} leaves or takes"


def _reserve(found: KvEstimate) -> str:
    engine = found.load.engine
    if isinstance(engine, IdealEngine):
        return f"reserve, {_share(engine.reserve)}"
    return f"what {engine.name} leaves unused or takes"


def _share(share: Fraction) -> str:
    return f"{amount(share * 100)} %"


def _cells(found: KvEstimate) -> str:
    """Contexts by concurrencies in GiB; a cell that one replica cannot hold carries a mark."""
    with_system = found.home is not None
    counts = found.load.concurrencies
    columns = [Column("context, tokens", number=True), Column("one sequence", number=True)]
    if with_system:
        columns.append(Column("sequences that fit", number=True))
    columns += [Column(f"{count:,} at once", number=True) for count in counts]
    rows = []
    for position, cost in enumerate(found.exact.sequences):
        cells = found.exact.cells[position * len(counts) : (position + 1) * len(counts)]
        held = [f"{cost.fits:,}"] if cost.fits is not None else []
        rows.append(
            [f"{cost.context:,}", _in(GIB, cost.bytes), *held]
            + [f"{_in(GIB, cell.bytes)} {UNFIT if cell.fits is False else ' '}" for cell in cells]
        )
    legend = f"\n{UNFIT} does not fit into one replica" if with_system else ""
    return f"KV cache in GiB by context and sequences at once\n{table(columns, rows)}{legend}"


def _in(unit: int, size: int) -> str:
    """Bytes in GB or GiB with three digits that count, or all before the point: `0.141`, `1.25`, `40.0`, `1,280`."""
    value = size / unit
    return f"{value:,.{max(0, 2 - floor(log10(value)))}f}"


def _crossover(found: KvEstimate) -> Iterator[str]:
    exact, nominal = found.exact.crossover_tokens, found.nominal and found.nominal.crossover_tokens
    if exact is None:
        return
    rounded = "" if nominal is None else f" (nominal {nominal:,})"
    sequences = ", ".join(
        f"{amount(round(Fraction(exact, context), 1))} of {context:,}" for context in found.load.contexts
    )
    yield f"crossover: {exact:,} cached tokens weigh as much as the weights{rounded}: in sequences, {sequences} tokens"


def _intensity(found: KvEstimate) -> Iterator[str]:
    if found.intensity is None:
        return
    does = f"intensity: decode attention does {amount(round(found.intensity, 1))} FLOP per byte of cache that it reads"
    if found.home is None or found.ridge is None:
        yield does
        return
    gpu = found.home.system.gpu
    flops, bandwidth = gpu.dense_tflops["bf16"].value, gpu.hbm_tb_s
    assert bandwidth is not None  # the ridge is known
    share = found.intensity / found.ridge
    ridge = f"{amount(round(found.ridge, 1))} ({amount(flops)} dense bf16 TFLOPS / {amount(bandwidth.value)} TB/s)"
    limits = "the cache's bandwidth" if share < 1 else "arithmetic"
    yield f"{does}; the ridge of {gpu.name} is {ridge}: {percent(share, 1)} of it, so {limits} limits it"


def _fewer_bits(found: KvEstimate) -> Iterator[str]:
    """Decision 12: what is published for and against a precision of fewer than 16 bits."""
    precision = found.load.kv_precision
    if precision.bits.value >= FULL_BITS:
        return
    times = FULL_BITS / precision.bits.value
    bits = amount(precision.bits.value)
    yield f"{precision.name} takes {bits} bits an element, {float(times):.2f} times less than bf16"
    for evidence in precision.evidence:
        yield f"{evidence.verdict}: {evidence.finding.rstrip('.')} ({evidence.weight})"
    yield f"sources: sizing catalog precisions {precision.name}"
