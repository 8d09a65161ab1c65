"""What the bounded decompressors share: the two ways to fail, and a buffer that cannot be outgrown."""

from collections.abc import Callable

from cramjam import DecompressionError

from odradek.protocol import errors
from odradek.records.varint import Buffer

# How cramjam says that the output buffer is full; every other complaint of its is about the input.
_OUTPUT_FULL = "failed to write whole buffer"


def corrupt(codec: str, reason: object) -> errors.CorruptMessage:
    return errors.CorruptMessage(f"The {codec} stream cannot be decompressed: {reason}")


def too_large(codec: str, limit_bytes: int) -> errors.RecordListTooLarge:
    return errors.RecordListTooLarge(f"The {codec} stream decompresses to more than {limit_bytes} bytes.")


def decompress_into(
    codec: str, decoder: Callable[[Buffer, bytearray], int], data: Buffer, size_max: int, limit_bytes: int
) -> memoryview:
    """Runs a cramjam decoder on a buffer of `size_max` bytes, what the stream can hold at best, or of the limit."""
    output = bytearray(min(size_max, limit_bytes))
    try:
        size = decoder(data, output)
    except DecompressionError as error:
        if _OUTPUT_FULL in str(error) and size_max > limit_bytes:
            raise too_large(codec, limit_bytes) from None
        raise corrupt(codec, error) from None
    return memoryview(output)[:size]
