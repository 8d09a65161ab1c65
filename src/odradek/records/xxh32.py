"""xxHash32 with seed 0 for inputs below sixteen bytes: all that a header of an lz4 frame asks for."""

PRIME_1 = 0x9E3779B1
PRIME_2 = 0x85EBCA77
PRIME_3 = 0xC2B2AE3D
PRIME_4 = 0x27D4EB2F
PRIME_5 = 0x165667B1
MASK = 0xFFFF_FFFF
SHORT_BYTES_MAX = 15


def xxh32_short(data: bytes) -> int:
    if len(data) > SHORT_BYTES_MAX:
        raise ValueError(f"{len(data)} bytes: inputs of {SHORT_BYTES_MAX + 1} bytes and more take another path")
    value = PRIME_5 + len(data)
    words_end = len(data) & ~3
    for start in range(0, words_end, 4):
        value += int.from_bytes(data[start : start + 4], "little") * PRIME_3
        value = _rotate(value, 17) * PRIME_4 & MASK
    for byte in data[words_end:]:
        value = _rotate(value + byte * PRIME_5, 11) * PRIME_1 & MASK
    value = (value ^ value >> 15) * PRIME_2 & MASK
    value = (value ^ value >> 13) * PRIME_3 & MASK
    return value ^ value >> 16


def _rotate(value: int, bits: int) -> int:
    value &= MASK
    return (value << bits | value >> (32 - bits)) & MASK
