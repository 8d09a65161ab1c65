"""gzip by zlib, which can be told how much to inflate at once: the bound holds inside every call.

Members may follow each other. Bytes behind the last member that do not begin another one are ignored: the
JDK's reader does so, and a batch that Kafka stored must stay readable here.
"""

import zlib
from struct import Struct

from odradek.records.bounded import corrupt, too_large
from odradek.records.varint import Buffer

STEP_BYTES_MIN = 256 << 10
STEPS = 64  # the rest of the input is copied at every step, so that their number must not grow with the input
GZIP_WINDOW_BITS = 31  # 15, and 16 for the gzip wrapper instead of zlib's
RAW_WINDOW_BITS = -15
HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
TRAILER = Struct("<II")
MEMBER_START = b"\x1f\x8b\x08"
RATIO_MAX = 1032  # deflate's best: 258 bytes for two bits
TRAILER_SIZE_BYTES = 4


def compress(data: Buffer, level: int, magic: int) -> bytes:
    """One member, byte for byte as the JDK writes it: no name, no time, unknown system."""
    deflater = zlib.compressobj(level, zlib.DEFLATED, RAW_WINDOW_BITS)
    packed = deflater.compress(data)
    return b"".join((HEADER, packed, deflater.flush(), TRAILER.pack(zlib.crc32(data), len(data) & 0xFFFF_FFFF)))


def decompress(data: Buffer, limit_bytes: int, magic: int) -> memoryview:
    output = bytearray(_size_hint(data, limit_bytes))
    size = 0
    rest: Buffer = data
    while True:
        size, rest = _inflate_member(rest, output, size, limit_bytes)
        if bytes(rest[: len(MEMBER_START)]) != MEMBER_START:
            return memoryview(output)[:size]


def _size_hint(data: Buffer, limit_bytes: int) -> int:
    """The last member's own word for its size, only believed as far as the input and the limit go."""
    claimed = int.from_bytes(data[-TRAILER_SIZE_BYTES:], "little")
    return min(claimed, limit_bytes, len(data) * RATIO_MAX)


def _inflate_member(data: Buffer, output: bytearray, size: int, limit_bytes: int) -> tuple[int, Buffer]:
    """Appends one member to the output; the size reached and what follows the member."""
    inflater = zlib.decompressobj(GZIP_WINDOW_BITS)
    while not inflater.eof:
        # One byte more than allowed: only a stream that has it is too large.
        step = min(max(STEP_BYTES_MIN, limit_bytes // STEPS), limit_bytes - size + 1)
        try:
            piece = inflater.decompress(data, step)
        except zlib.error as error:
            raise corrupt("gzip", error) from None
        if not piece and not inflater.eof and not inflater.unconsumed_tail:
            raise corrupt("gzip", "the stream ends before its trailer")
        if size + len(piece) > limit_bytes:
            raise too_large("gzip", limit_bytes)
        output[size : size + len(piece)] = piece
        size += len(piece)
        data = inflater.unconsumed_tail
    return size, inflater.unused_data
