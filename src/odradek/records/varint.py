"""Variable-length integers: seven bits a byte, low bits first, the top bit set on every byte but the last.

Records use the zigzag forms: `varint` holds an int32, `varlong` an int64.

A decoder gets a buffer, a position and an end, and returns the value and the next position. Bytes that run
out, or that go on after the last byte an integer of that width can have (5 or 10), are `CorruptMessage`:
varints stand inside record batches, and a batch that does not parse is a damaged batch, whoever sent it.
Bits beyond the width are dropped and padded forms are taken, as Kafka's readers do.
"""

from odradek.protocol import errors

Buffer = bytes | bytearray | memoryview

VARINT_BYTES_MAX = 5
VARLONG_BYTES_MAX = 10


def read_varint(buffer: Buffer, position: int, end: int) -> tuple[int, int]:
    value, position = _read(buffer, position, end, VARINT_BYTES_MAX)
    value &= 0xFFFF_FFFF
    return (value >> 1) ^ -(value & 1), position


def read_varlong(buffer: Buffer, position: int, end: int) -> tuple[int, int]:
    value, position = _read(buffer, position, end, VARLONG_BYTES_MAX)
    value &= 0xFFFF_FFFF_FFFF_FFFF
    return (value >> 1) ^ -(value & 1), position


def write_varint(out: bytearray, value: int) -> None:
    _write(out, ((value << 1) ^ (value >> 31)) & 0xFFFF_FFFF)


def write_varlong(out: bytearray, value: int) -> None:
    _write(out, ((value << 1) ^ (value >> 63)) & 0xFFFF_FFFF_FFFF_FFFF)


def _read(buffer: Buffer, position: int, end: int, bytes_max: int) -> tuple[int, int]:
    value = 0
    for index in range(bytes_max):
        if position + index >= end:
            raise errors.CorruptMessage(f"The bytes end inside the varint that starts at byte {position}.")
        byte = buffer[position + index]
        value |= (byte & 0x7F) << (7 * index)
        if byte < 0x80:
            return value, position + index + 1
    raise errors.CorruptMessage(f"The varint at byte {position} is longer than {bytes_max} bytes.")


def _write(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)
