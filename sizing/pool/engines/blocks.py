"""A pool of equal blocks: layers in groups that take their blocks from it, filled up with phantom layers.

Rules: vLLM 0.32.0 `v1/core/kv_cache_utils.py` (equal pages, groups), `platforms/interface.py`
(`_align_hybrid_block_size`). kv_cache_utils says in words why groups have one size.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil

from sizing.sequence.streams import ALL, Keep, Stored, Stream

LATENT_ALIGNMENT = 128  # a block of latents beside states is a multiple of it
FEW = Fraction(3, 2)  # below so many times the fewest layers, the most layers make the size of a group


@dataclass(frozen=True, slots=True)
class Pool:
    """How a model's cache lies in the pool of one GPU.

    `block_bits` are the bits of one block on one GPU, `block_tokens` the tokens of a block of the layers that keep
    everything, `groups` how many groups of layers take blocks.
    """

    stored: tuple[Stored, ...]
    block_bits: Fraction
    block_tokens: int
    groups: int


@dataclass(frozen=True, slots=True)
class Unit:
    """Equal layers: the streams of one layer with the bits of a row of each.

    `bits` are those of one position on one GPU, of all streams and what they are filled up by; for a state those of
    the whole state. `keep`, `spare`, `block` and `split` are as in `Stored`.
    """

    layers: int
    streams: tuple[tuple[Stream, Fraction], ...]
    bits: Fraction
    keep: Keep
    block: int
    spare: int = 0
    split: int = 1
    is_latent: bool = False
    phantom: bool = False

    @property
    def is_state(self) -> bool:
        return self.streams[0][0].is_state

    @property
    def page(self) -> Fraction:
        """Bits of one block of one layer on one GPU."""
        return self.block * self.bits

    @property
    def spec(self) -> tuple[object, ...]:
        """What layers must share to be in one group."""
        return self.is_state, self.keep, self.bits, self.block

    def stored(self, tp: int) -> list[Stored]:
        """The streams as they are stored over a pool of `tp` GPUs; the filling is shared in proportion."""
        own = sum((stream.rows * bits for stream, bits in self.streams), Fraction(0)) / tp
        return [
            Stored(
                stream=stream,
                layers=self.layers,
                row_bits=bits * self.bits / own,
                keep=self.keep,
                block=self.block,
                spare_blocks=self.spare,
                split=self.split if self.keep.most is None else 1,
                phantom=self.phantom,
            )
            for stream, bits in self.streams
        ]


def pool_of(units: Sequence[Unit], tp: int) -> Pool:
    """The pool for all layers of a model. One group where all keep the same positions, else groups of one size."""
    kept = {unit.keep for unit in units if not unit.is_state}
    if len(kept) > 1 or (kept and any(unit.is_state for unit in units)):
        pages = _with_equal_pages(_beside_states(units))
        if pages is not None:
            return _groups(pages, tp)
        units = [replace(unit, keep=ALL, spare=0) for unit in units]
    stored = tuple(stored for unit in units for stored in unit.stored(tp))
    block_bits = sum((unit.layers * unit.page for unit in units), Fraction(0))
    return Pool(stored, block_bits, max((unit.block for unit in units), default=1), 1)


def _groups(units: Sequence[Unit], tp: int) -> Pool:
    buckets: dict[tuple[object, ...], list[Unit]] = {}
    for unit in units:
        buckets.setdefault(unit.spec, []).append(unit)
    layers = [sum(unit.layers for unit in bucket) for bucket in buckets.values()]
    size = max(layers) if max(layers) < FEW * min(layers) else min(layers)
    phantoms = [
        replace(bucket[0], layers=-count % size, phantom=True)
        for bucket, count in zip(buckets.values(), layers, strict=True)
        if count % size
    ]
    return Pool(
        stored=tuple(stored for unit in (*units, *phantoms) for stored in unit.stored(tp)),
        block_bits=size * units[0].page,
        block_tokens=max(unit.block for unit in units),
        groups=sum(-(-count // size) for count in layers),
    )


def _beside_states(units: Sequence[Unit]) -> list[Unit]:
    """Beside states, blocks of tokens are enlarged until a page holds a state, and states are filled up to a page."""
    states = [unit for unit in units if unit.is_state]
    tokens = [unit for unit in units if not unit.is_state]
    if not states:
        return list(units)
    token = max(unit.bits for unit in tokens)
    step = max(max(unit.block, LATENT_ALIGNMENT * unit.is_latent) for unit in tokens)
    block = step * ceil(max(unit.bits for unit in states) / (step * token))
    return [replace(unit, bits=block * token) if unit.is_state else replace(unit, block=block) for unit in units]


def _with_equal_pages(units: Sequence[Unit]) -> list[Unit] | None:
    """Smaller pages get larger blocks where they divide the largest page, and are filled up to it where they do not.

    None where that leaves latents, which cannot be filled up.
    """
    page = max(unit.page for unit in units)
    found = []
    for unit in units:
        ratio = page / unit.page
        if ratio.denominator == 1 and not unit.is_state:
            found.append(replace(unit, block=unit.block * int(ratio)))
        elif unit.is_latent:
            return None
        else:
            found.append(replace(unit, bits=page / unit.block))
    return found
