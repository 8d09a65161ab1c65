"""The machine's clock, for records that name no time."""

from time import time_ns


def wall_ms() -> int:
    return time_ns() // 1_000_000
