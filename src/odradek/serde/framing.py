"""How a record says which schema it was written with: a zero byte, the schema's id in four bytes, then the payload.

A Protobuf payload begins with where its message type stands in the schema: the count of the steps down and each step,
as zigzag varints; the first type of a file, by far the most common, is a single zero.
"""

from odradek.serde.errors import SerializationError

MAGIC = 0
HEAD_BYTES = 5

_STEPS_MAX = 64  # nobody nests types so deep
_VARINT_BYTES_MAX = 5


def head(schema_id: int) -> bytes:
    return b"\0" + schema_id.to_bytes(4, "big")


def schema_id(data: bytes) -> int:
    if len(data) < HEAD_BYTES or data[0] != MAGIC:
        raise SerializationError(
            f"{len(data)} bytes do not begin with the id of a schema: who wrote them used no registry"
        )
    return int.from_bytes(data[1:HEAD_BYTES], "big")


def message_indexes(indexes: tuple[int, ...]) -> bytes:
    if indexes == (0,):
        return b"\0"
    return b"".join(_varint(number) for number in (len(indexes), *indexes))


def after_message_indexes(data: bytes, at: int) -> tuple[tuple[int, ...], int]:
    """The steps, and where the message begins."""
    count, at = _read_varint(data, at)
    if count == 0:
        return (0,), at
    if not 0 < count <= _STEPS_MAX:
        raise SerializationError(f"{count} steps to a message type make no sense")
    steps = []
    for _ in range(count):
        step, at = _read_varint(data, at)
        steps.append(step)
    return tuple(steps), at


def _varint(number: int) -> bytes:
    left = number << 1
    found = bytearray()
    while left > 0x7F:
        found.append(left & 0x7F | 0x80)
        left >>= 7
    found.append(left)
    return bytes(found)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    found = 0
    for shift, byte in enumerate(data[at : at + _VARINT_BYTES_MAX]):
        found |= (byte & 0x7F) << (7 * shift)
        if byte < 0x80:
            return (found >> 1) ^ -(found & 1), at + shift + 1
    raise SerializationError("the steps to a message type are cut off")
