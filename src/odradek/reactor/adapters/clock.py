"""The clocks of this machine."""

from time import monotonic_ns, thread_time_ns, time_ns


class SystemClock:
    __slots__ = ()

    def mono_ms(self) -> int:
        return monotonic_ns() // 1_000_000

    def mono_us(self) -> int:
        return monotonic_ns() // 1000

    def cpu_us(self) -> int:
        return thread_time_ns() // 1000

    def wall_ms(self) -> int:
        return time_ns() // 1_000_000
