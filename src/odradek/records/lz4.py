"""lz4 frames as Kafka writes and reads them.

    magic 4 | FLG 1 | BD 1 | [content size 8] | header checksum 1 |
    (size 4 | block | [checksum 4])* | 0 (4 bytes) | [checksum 4]

All numbers are little-endian. Kafka writes independent blocks of 64 KB with no checksum but the header's, and its
reader refuses blocks that lean on the one before. The header checksum is the second byte of the xxHash32 of the
descriptor (FLG to content size); the writers of magic 0 hashed the frame's magic along with it, and readers of
magic 0 must take both. The first frame is the stream: what follows it is ignored, as by Kafka.
"""

from functools import lru_cache

from cramjam import lz4 as cramjam_lz4

from odradek.records.bounded import corrupt, decompress_into
from odradek.records.varint import Buffer
from odradek.records.xxh32 import xxh32_short

MAGIC = b"\x04\x22\x4d\x18"
END_MARK = bytes(4)

VERSION = 0x40
VERSION_MASK = 0xC0
INDEPENDENT_BLOCKS = 0x20
BLOCK_CHECKSUM = 0x10
CONTENT_SIZE = 0x08
CONTENT_CHECKSUM = 0x04
RESERVED_FLAG = 0x03  # bit 0 is a dictionary id in later versions of the format: Kafka knows neither bit
BLOCK_SIZE_64KB = 0x40
RESERVED_BLOCK_DESCRIPTOR = 0x8F

BLOCK_BYTES = 64 << 10
CHECKSUM_BYTES = 4
CONTENT_SIZE_BYTES = 8
SIZE_BYTES = 4
UNCOMPRESSED_BIT = 1 << 31
RATIO_MAX = 255  # a run-length byte stands for so many

LEVEL_DEFAULT = 9  # stands for lz4's fast compressor, not for level 9 of the thorough one


class Frame:
    """What the header and a walk over the blocks tell before anything is decompressed."""

    __slots__ = ("checksum_position", "end", "size_max")

    def __init__(self, checksum_position: int, end: int, size_max: int) -> None:
        self.checksum_position = checksum_position
        self.end = end
        self.size_max = size_max


def compress(data: Buffer, level: int, magic: int) -> bytes:
    blocks = _fast_blocks(data) if level == LEVEL_DEFAULT else _thorough_blocks(data, level)
    descriptor = bytes((VERSION | INDEPENDENT_BLOCKS, BLOCK_SIZE_64KB))
    header = MAGIC + descriptor + _header_checksum(descriptor, is_broken=magic == 0)
    return b"".join((header, *blocks, END_MARK))


def decompress(data: Buffer, limit_bytes: int, magic: int) -> memoryview:
    view = memoryview(data)
    frame = _frame(view, magic)
    whole: Buffer = view[: frame.end]
    right = _header_checksum(bytes(view[len(MAGIC) : frame.checksum_position]), is_broken=False)
    if view[frame.checksum_position] != right[0]:
        whole = b"".join((view[: frame.checksum_position], right, view[frame.checksum_position + 1 : frame.end]))
    return decompress_into("lz4", cramjam_lz4.decompress_into, whole, frame.size_max, limit_bytes)


@lru_cache(maxsize=64)  # a writer uses the same few descriptors all its life
def _header_checksum(descriptor: bytes, is_broken: bool) -> bytes:
    hashed = MAGIC + descriptor if is_broken else descriptor
    return bytes((xxh32_short(hashed) >> 8 & 0xFF,))


def _frame(view: memoryview, magic: int) -> Frame:
    position = len(MAGIC) + 2
    if bytes(view[: len(MAGIC)]) != MAGIC or len(view) <= position:
        raise corrupt("lz4", "no frame begins at byte 0")
    flags, block_descriptor = view[len(MAGIC)], view[len(MAGIC) + 1]
    _check_descriptor(flags, block_descriptor)
    if flags & CONTENT_SIZE:
        position += CONTENT_SIZE_BYTES
    _check_header(view, position, magic)
    block_bytes_max = 1 << (8 + 2 * (block_descriptor >> 4))
    end, size_max = _walk_blocks(view, position + 1, flags, block_bytes_max)
    return Frame(position, end, size_max)


def _check_descriptor(flags: int, block_descriptor: int) -> None:
    if flags & VERSION_MASK != VERSION or flags & RESERVED_FLAG or block_descriptor & RESERVED_BLOCK_DESCRIPTOR:
        raise corrupt("lz4", f"unknown frame descriptor {flags:#04x} {block_descriptor:#04x}")
    if not flags & INDEPENDENT_BLOCKS:
        raise corrupt("lz4", "its blocks depend on each other, which Kafka does not support")
    if block_descriptor < BLOCK_SIZE_64KB:
        raise corrupt("lz4", f"unknown block size {block_descriptor >> 4}")


def _check_header(view: memoryview, position: int, magic: int) -> None:
    if position >= len(view):
        raise corrupt("lz4", "the header is cut off")
    descriptor = bytes(view[len(MAGIC) : position])
    accepted = [_header_checksum(descriptor, is_broken=False)]
    if magic == 0:
        accepted.append(_header_checksum(descriptor, is_broken=True))
    if bytes(view[position : position + 1]) not in accepted:
        raise corrupt("lz4", "the header does not match its checksum")


def _walk_blocks(view: memoryview, position: int, flags: int, block_bytes_max: int) -> tuple[int, int]:
    """Where the frame ends, and what its blocks can hold at best."""
    checksum = CHECKSUM_BYTES if flags & BLOCK_CHECKSUM else 0
    size_max = 0
    while True:
        stored = _size(view, position)
        position += SIZE_BYTES
        if not stored:
            return position + (CHECKSUM_BYTES if flags & CONTENT_CHECKSUM else 0), size_max
        size = stored & ~UNCOMPRESSED_BIT
        if size > block_bytes_max:
            raise corrupt("lz4", f"the block at byte {position} is larger than {block_bytes_max} bytes")
        size_max += size if stored & UNCOMPRESSED_BIT else min(size * RATIO_MAX, block_bytes_max)
        position += size + checksum


def _size(view: memoryview, position: int) -> int:
    if position + SIZE_BYTES > len(view):
        raise corrupt("lz4", "the frame is cut off")
    return int.from_bytes(view[position : position + SIZE_BYTES], "little")


def _fast_blocks(data: Buffer) -> list[bytes]:
    view = memoryview(data)
    blocks = []
    for start in range(0, len(view), BLOCK_BYTES):
        plain = view[start : start + BLOCK_BYTES]
        packed = bytes(cramjam_lz4.compress_block(plain, store_size=False))
        if len(packed) < len(plain):
            blocks += [len(packed).to_bytes(SIZE_BYTES, "little"), packed]
        else:
            blocks += [(len(plain) | UNCOMPRESSED_BIT).to_bytes(SIZE_BYTES, "little"), bytes(plain)]
    return blocks


def _thorough_blocks(data: Buffer, level: int) -> list[bytes]:
    """The blocks of a frame by cramjam, without the checksum that it adds to each and Kafka does not write."""
    compressor = cramjam_lz4.Compressor(level=level, content_checksum=False, block_linked=False)
    compressor.compress(bytes(data))
    frame = memoryview(bytes(compressor.finish()))
    checksum = CHECKSUM_BYTES if frame[len(MAGIC)] & BLOCK_CHECKSUM else 0
    position = len(MAGIC) + 3
    blocks = []
    while stored := _size(frame, position):
        end = position + SIZE_BYTES + (stored & ~UNCOMPRESSED_BIT)
        blocks.append(bytes(frame[position:end]))
        position = end + checksum
    return blocks
