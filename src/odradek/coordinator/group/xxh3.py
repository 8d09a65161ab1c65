"""XXH3 of 64 bits without a seed, as its specification has it: Kafka 4.3 tells by it whether a group's topics changed.

Short inputs are mixed at once, in a way of its own for each range of lengths; what is above 240 bytes goes in stripes
of 64 bytes through eight accumulators, which are scrambled after each block of 1024.
"""

from struct import Struct

_SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
_PRIME32_1, _PRIME32_2, _PRIME32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
_PRIME64_1, _PRIME64_2 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F
_PRIME64_3, _PRIME64_4, _PRIME64_5 = 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_MIX_1, _MIX_2 = 0x165667919E3779F9, 0x9FB21C651E98DF25
_MASK = (1 << 64) - 1
_MASK_32 = (1 << 32) - 1
_STRIPE, _BLOCK = 64, 1024
_LANES = Struct("<8Q")
_TWO = Struct("<2Q")
_LONG, _INT = Struct("<Q"), Struct("<I")


def xxh3_64(data: bytes) -> int:
    """Signed, as Java has it."""
    size = len(data)
    if size <= 16:
        value = _up_to_16(data, size)
    elif size <= 128:
        value = _up_to_128(data, size)
    elif size <= 240:
        value = _up_to_240(data, size)
    else:
        value = _in_stripes(data, size)
    return value - (1 << 64) if value >> 63 else value


def _up_to_16(data: bytes, size: int) -> int:
    if size > 8:
        low = _long(data, 0) ^ _long(_SECRET, 24) ^ _long(_SECRET, 32)
        high = _long(data, size - 8) ^ _long(_SECRET, 40) ^ _long(_SECRET, 48)
        swapped = int.from_bytes(low.to_bytes(8, "little"), "big")
        return _avalanche(size + swapped + high + _folded(low, high))
    if size >= 4:
        keyed = _int(data, size - 4) + (_int(data, 0) << 32) ^ _long(_SECRET, 8) ^ _long(_SECRET, 16)
        keyed ^= _rotated(keyed, 49) ^ _rotated(keyed, 24)
        keyed = keyed * _MIX_2 & _MASK
        keyed ^= (keyed >> 35) + size
        keyed = keyed * _MIX_2 & _MASK
        return keyed ^ keyed >> 28
    if size:
        combined = data[0] << 16 | data[size >> 1] << 24 | data[size - 1] | size << 8
        return _avalanche_of_64(combined ^ _int(_SECRET, 0) ^ _int(_SECRET, 4))
    return _avalanche_of_64(_long(_SECRET, 56) ^ _long(_SECRET, 64))


def _up_to_128(data: bytes, size: int) -> int:
    """From both ends inwards."""
    mixed = size * _PRIME64_1
    for step in range((size - 1) // 32 + 1):
        mixed += _mixed(data, 16 * step, 32 * step) + _mixed(data, size - 16 * (step + 1), 32 * step + 16)
    return _avalanche(mixed)


def _up_to_240(data: bytes, size: int) -> int:
    mixed = size * _PRIME64_1
    for step in range(8):
        mixed += _mixed(data, 16 * step, 16 * step)
    mixed = _avalanche(mixed)
    for step in range(8, size // 16):
        mixed += _mixed(data, 16 * step, 16 * (step - 8) + 3)
    return _avalanche(mixed + _mixed(data, size - 16, 136 - 17))


def _in_stripes(data: bytes, size: int) -> int:
    lanes = [
        _PRIME32_3, _PRIME64_1, _PRIME64_2, _PRIME64_3, _PRIME64_4, _PRIME32_2, _PRIME64_5, _PRIME32_1
    ]  # fmt: skip
    last = size - 1  # a block or stripe that ends with the data is done at the end
    for block in range(0, last // _BLOCK * _BLOCK, _BLOCK):
        _accumulate(lanes, data, block, _BLOCK // _STRIPE)
        _scramble(lanes)
    block = last // _BLOCK * _BLOCK
    _accumulate(lanes, data, block, (last - block) // _STRIPE)
    _stripe(lanes, data, size - _STRIPE, len(_SECRET) - _STRIPE - 7)
    merged = size * _PRIME64_1
    for pair in range(4):
        first, second = _TWO.unpack_from(_SECRET, 11 + 16 * pair)
        merged += _folded(lanes[2 * pair] ^ first, lanes[2 * pair + 1] ^ second)
    return _avalanche(merged)


def _accumulate(lanes: list[int], data: bytes, start: int, stripes: int) -> None:
    for number in range(stripes):
        _stripe(lanes, data, start + number * _STRIPE, number * 8)


def _stripe(lanes: list[int], data: bytes, at: int, secret_at: int) -> None:
    values, secrets = _LANES.unpack_from(data, at), _LANES.unpack_from(_SECRET, secret_at)
    for lane in range(8):
        value = values[lane]
        keyed = value ^ secrets[lane]
        lanes[lane ^ 1] = lanes[lane ^ 1] + value & _MASK
        lanes[lane] = lanes[lane] + (keyed & _MASK_32) * (keyed >> 32) & _MASK


def _scramble(lanes: list[int]) -> None:
    for lane, secret in enumerate(_LANES.unpack_from(_SECRET, len(_SECRET) - _STRIPE)):
        value = lanes[lane]
        lanes[lane] = (value ^ value >> 47 ^ secret) * _PRIME32_1 & _MASK


def _mixed(data: bytes, at: int, secret_at: int) -> int:
    first, second = _TWO.unpack_from(data, at)
    first_secret, second_secret = _TWO.unpack_from(_SECRET, secret_at)
    return _folded(first ^ first_secret, second ^ second_secret)


def _folded(left: int, right: int) -> int:
    """The low and the high half of a product of 128 bits, folded into one."""
    product = left * right
    return product & _MASK ^ product >> 64


def _avalanche(value: int) -> int:
    value &= _MASK
    value = (value ^ value >> 37) * _MIX_1 & _MASK
    return value ^ value >> 32


def _avalanche_of_64(value: int) -> int:
    value = (value ^ value >> 33) * _PRIME64_2 & _MASK
    value = (value ^ value >> 29) * _PRIME64_3 & _MASK
    return value ^ value >> 32


def _rotated(value: int, bits: int) -> int:
    return (value << bits | value >> 64 - bits) & _MASK


def _long(data: bytes, at: int) -> int:
    value: int = _LONG.unpack_from(data, at)[0]
    return value


def _int(data: bytes, at: int) -> int:
    value: int = _INT.unpack_from(data, at)[0]
    return value
