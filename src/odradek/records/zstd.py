"""zstd frames, any number in a row, skippable ones among them.

The blocks of a frame are walked first, three bytes each: a block never holds more than 128 KB, so the walk tells how
much the stream can hold at best, whatever its header claims. The decoder also keeps the frame's window, which a
hostile header may ask to be as large as the output. Window and output are bounded together.
"""

from cramjam import zstd as cramjam_zstd

from odradek.records.bounded import corrupt, decompress_into, too_large
from odradek.records.varint import Buffer

FRAME_MAGIC = 0xFD2FB528
SKIPPABLE_MAGIC = 0x184D2A50  # and the fifteen after it
MAGIC_BYTES = 4
BLOCK_HEADER_BYTES = 3
BLOCK_BYTES_MAX = 128 << 10
CHECKSUM_BYTES = 4
WINDOW_BYTES_FREE = 8 << 20  # what the format asks every decoder to afford, beside the output

RAW, RUN, COMPRESSED, RESERVED = range(4)
DICTIONARY_ID_BYTES = (0, 1, 2, 4)
CONTENT_SIZE_BYTES = (0, 2, 4, 8)


def compress(data: Buffer, level: int, magic: int) -> bytes:
    return bytes(cramjam_zstd.compress(data, level))


def decompress(data: Buffer, limit_bytes: int, magic: int) -> memoryview:
    size_max, window_max = _bounds(memoryview(data))
    if min(size_max, limit_bytes) + window_max > limit_bytes + max(WINDOW_BYTES_FREE, limit_bytes // 10):
        raise too_large("zstd", limit_bytes)
    return decompress_into("zstd", cramjam_zstd.decompress_into, data, size_max, limit_bytes)


def _bounds(view: memoryview) -> tuple[int, int]:
    """What all frames can hold at best, and the largest part of a window that can be filled."""
    size_max = window_max = position = 0
    while position < len(view):
        magic = int.from_bytes(view[position : position + MAGIC_BYTES], "little")
        if magic & ~0xF == SKIPPABLE_MAGIC:
            length = _little(view, position + MAGIC_BYTES, MAGIC_BYTES)
            position += 2 * MAGIC_BYTES + length
            continue
        if magic != FRAME_MAGIC:
            raise corrupt("zstd", f"no frame begins at byte {position}")
        frame_max, window, position = _frame(view, position + MAGIC_BYTES)
        size_max += frame_max
        window_max = max(window_max, min(window, frame_max))
    if not size_max and not len(view):
        raise corrupt("zstd", "there is no frame")
    return size_max, window_max


def _frame(view: memoryview, position: int) -> tuple[int, int, int]:
    """What one frame can hold at best, its window, and where it ends."""
    descriptor = _little(view, position, 1)
    is_single_segment = bool(descriptor & 0x20)
    size_bytes = CONTENT_SIZE_BYTES[descriptor >> 6] or (1 if is_single_segment else 0)
    position += 1
    window = 0
    if not is_single_segment:
        window = _window(_little(view, position, 1))
        position += 1
    position += DICTIONARY_ID_BYTES[descriptor & 3]
    content_size = _little(view, position, size_bytes) + (256 if size_bytes == 2 else 0)
    if is_single_segment:
        window = content_size
    size_max, position = _walk_blocks(view, position + size_bytes, min(window, BLOCK_BYTES_MAX))
    if size_bytes:
        size_max = min(size_max, content_size)
    return size_max, window, position + (CHECKSUM_BYTES if descriptor & 4 else 0)


def _window(descriptor: int) -> int:
    base = 1 << (10 + (descriptor >> 3))
    return base + base // 8 * (descriptor & 7)


def _walk_blocks(view: memoryview, position: int, block_max: int) -> tuple[int, int]:
    size_max = 0
    while True:
        header = _little(view, position, BLOCK_HEADER_BYTES)
        kind, size = header >> 1 & 3, header >> 3
        if kind == RESERVED:
            raise corrupt("zstd", f"the block at byte {position} is of a reserved type")
        size_max += block_max if kind == COMPRESSED else min(size, block_max)
        position += BLOCK_HEADER_BYTES + (1 if kind == RUN else size)
        if header & 1:
            return size_max, position


def _little(view: memoryview, position: int, width: int) -> int:
    if position + width > len(view):
        raise corrupt("zstd", "a frame is cut off")
    return int.from_bytes(view[position : position + width], "little")
