"""The walk over the heads of batches: the specification of the compiled `_batch_search`."""

from struct import Struct

from odradek.reactor.ports import Buffer
from odradek.records import layout

_START = Struct(">qi")  # base offset, length
HEAD_SIZE = 27  # up to the last offset delta: what a batch must show to be looked at
_LENGTH_MIN = layout.LEGACY_HEADER_V0


def walk_heads(data: Buffer, offset: int) -> tuple[int, int]:
    """(where the last batch begins that begins at or before `offset`, -1 if none does; where the walk ended).

    It ends at a batch that begins past the offset, or where too little is left to tell. -1 - position is a batch
    whose length cannot be.
    """
    unpack = _START.unpack_from
    readable = len(data) - HEAD_SIZE
    at, last = 0, -1
    while at <= readable:
        base, length = unpack(data, at)
        if base > offset:
            break
        if length < _LENGTH_MIN:
            return last, -1 - at
        last = at
        at += length + layout.LOG_OVERHEAD
    return last, at
