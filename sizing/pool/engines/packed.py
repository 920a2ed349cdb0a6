"""Blocks that hold pages of several sizes: how vLLM packs the windows, rings and compressed rows of DeepSeek-V4.

Rules: vLLM 0.32.0 `v1/core/kv_cache_utils.py` (`_get_packed_kv_cache_groups`), `models/deepseek_v4/attention.py` and
`compressor.py` (tokens of a block, alignment). A block is as large as the compressed rows and index keys of all layers
need for its tokens; windows and rings take whole blocks of that size for few positions.
"""

from collections.abc import Sequence
from fractions import Fraction

from sizing.pool.engines.blocks import Pool
from sizing.sequence.streams import CacheRole, Keep, Stored, Stream

BLOCK = 256  # tokens
WINDOW_BLOCK = 64  # positions: as many rows as a block has at a ratio of 4
RING_BLOCKS = {8: 4, 128: 8}  # positions of a block, by those of the ring
PAGE_BITS = 8 * 576  # pages are a multiple of it

Row = tuple[int, Stream, Fraction]  # (layers, stream, bits of a row)


def packed_pool(rows: Sequence[Row], in_flight: int) -> Pool:
    """The pool of one GPU for the streams of compressed attention; every GPU of a pool has a copy of all rows."""
    growing = [(row, BLOCK // row[1].keep.every) for row in rows if row[1].grows]
    block_bits = sum((layers * _page(bits, block) for (layers, _, bits), block in growing), Fraction(0))
    stored = [
        Stored(stream=stream, layers=layers, row_bits=_page(bits, block) / block, keep=stream.keep, block=block)
        for (layers, stream, bits), block in growing
    ]
    groups = 1
    kept: dict[int, list[Row]] = {}
    for row in rows:
        if not row[1].grows:
            kept.setdefault(_block(row[1]), []).append(row)
    for block, members in kept.items():
        pages = sum((layers * _page(bits, block) for layers, _, bits in members), Fraction(0))
        needed = -(-pages // block_bits)
        groups += needed
        stored += [
            Stored(
                stream=stream,
                layers=layers,
                row_bits=_page(bits, block) / block * needed * block_bits / pages,
                keep=Keep(most=(stream.keep.most or 0) - 1 + in_flight),
                block=block,
                spare_blocks=1,
            )
            for layers, stream, bits in members
        ]
    return Pool(tuple(stored), block_bits, BLOCK, groups)


def _block(stream: Stream) -> int:
    return RING_BLOCKS.get(stream.keep.most or 0, 1) if stream.role is CacheRole.RING else WINDOW_BLOCK


def _page(bits: Fraction, positions: int) -> Fraction:
    return Fraction(PAGE_BITS * -(-bits * positions // PAGE_BITS))
