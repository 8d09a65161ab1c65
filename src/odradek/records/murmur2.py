"""murmur2 as Kafka's default partitioner computes it: which partition a key belongs to, in every client."""

from struct import unpack_from

from odradek.records.varint import Buffer

SEED = 0x9747B28C
MULTIPLIER = 0x5BD1E995
SHIFT = 24
MASK = 0xFFFF_FFFF


def murmur2(key: Buffer) -> int:
    """The hash as Java's signed 32-bit integer."""
    size = len(key)
    value = SEED ^ size
    for word in unpack_from(f"<{size // 4}I", key):
        word = word * MULTIPLIER & MASK
        word = (word ^ word >> SHIFT) * MULTIPLIER & MASK
        value = value * MULTIPLIER & MASK ^ word
    value = _mix_tail(value, bytes(key[size & ~3 :]))
    value = (value ^ value >> 13) * MULTIPLIER & MASK
    value ^= value >> 15
    return value - (1 << 32) if value >> 31 else value


def positive_murmur2(key: Buffer) -> int:
    """The sign bit is cut off, not negated: two hashes may share a partition that abs() would tell apart."""
    return murmur2(key) & 0x7FFF_FFFF


def partition_for(key: Buffer, partition_count: int) -> int:
    return positive_murmur2(key) % partition_count


def _mix_tail(value: int, tail: bytes) -> int:
    if not tail:
        return value
    return (value ^ int.from_bytes(tail, "little")) * MULTIPLIER & MASK
