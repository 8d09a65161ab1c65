"""snappy, in the framing of the xerial library that Kafka uses, and bare.

    0x82 "SNAPPY" 0 | version 4 | oldest compatible version 4 | (chunk length 4 | chunk)*

Every chunk is one bare snappy block, which declares its decompressed size in front. Librdkafka and others send
one bare block without the framing; it is told apart by the first bytes. A stream may be several framed ones in a row.
"""

from cramjam import DecompressionError
from cramjam import snappy as cramjam_snappy

from odradek.records.bounded import corrupt, too_large
from odradek.records.varint import Buffer

MAGIC = b"\x82SNAPPY\x00"
HEADER = MAGIC + b"\x00\x00\x00\x01\x00\x00\x00\x01"
CHUNK_BYTES = 32 << 10
LENGTH_BYTES = 4
RATIO_MAX = 22  # the best element: three bytes that stand for 64


def compress(data: Buffer, level: int, magic: int) -> bytes:
    parts = [HEADER]
    view = memoryview(data)
    for start in range(0, len(view), CHUNK_BYTES):
        chunk = bytes(cramjam_snappy.compress_raw(view[start : start + CHUNK_BYTES]))
        parts += (len(chunk).to_bytes(LENGTH_BYTES, "big"), chunk)
    return b"".join(parts)


def decompress(data: Buffer, limit_bytes: int, magic: int) -> memoryview:
    view = memoryview(data)
    chunks = _chunks(view) if bytes(view[: len(MAGIC)]) == MAGIC else [view]
    sizes = [_declared_size(chunk) for chunk in chunks]
    if sum(sizes) > limit_bytes:
        raise too_large("snappy", limit_bytes)
    output = memoryview(bytearray(sum(sizes)))
    start = 0
    for chunk, size in zip(chunks, sizes, strict=True):
        _decompress_block(chunk, output[start : start + size])
        start += size
    return output


def _chunks(view: memoryview) -> list[memoryview]:
    chunks = []
    position = 0
    while position < len(view):
        if bytes(view[position : position + len(MAGIC)]) == MAGIC:
            position += len(HEADER)
            continue
        start = position + LENGTH_BYTES
        position = start + int.from_bytes(view[position:start], "big")
        if position > len(view):
            raise corrupt("snappy", f"the chunk at byte {start} is cut off")
        chunks.append(view[start:position])
    if position != len(view):
        raise corrupt("snappy", "the header is cut off")
    return chunks


def _declared_size(block: memoryview) -> int:
    try:
        size = int(cramjam_snappy.decompress_raw_len(block))
    except DecompressionError as error:
        raise corrupt("snappy", error) from None
    if size > len(block) * RATIO_MAX:
        raise corrupt("snappy", f"a block of {len(block)} bytes declares {size}")
    return size


def _decompress_block(block: memoryview, output: memoryview) -> None:
    try:
        size = cramjam_snappy.decompress_raw_into(block, output)
    except DecompressionError as error:
        raise corrupt("snappy", error) from None
    if size != len(output):
        raise corrupt("snappy", f"a block declares {len(output)} bytes and holds {size}")
