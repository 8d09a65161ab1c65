"""How many records were written, how fast, and how long each took: in a window of some seconds, and in all."""

import time

MEGABYTE = 1024 * 1024


class Latencies:
    """`add` is called in one thread, that of the client."""

    def __init__(self, window_ms: int) -> None:
        self._window_s = window_ms / 1000
        self._all: list[int] = []
        self._size_bytes = 0
        self._window: list[int] = []
        self._window_bytes = 0
        self.begin()

    def begin(self) -> None:
        self._began_s = self._window_began_s = time.monotonic()

    def add(self, latency_ms: int, size_bytes: int) -> None:
        self._all.append(latency_ms)
        self._window.append(latency_ms)
        self._size_bytes += size_bytes
        self._window_bytes += size_bytes
        passed_s = time.monotonic() - self._window_began_s
        if passed_s >= self._window_s:
            self._tell_window(passed_s)

    def _tell_window(self, passed_s: float) -> None:
        count = len(self._window)
        average, longest = sum(self._window) / count, max(self._window)
        rate, megabytes = count / passed_s, self._window_bytes / MEGABYTE / passed_s
        print(
            f"{count} records sent, {rate:.1f} records/sec ({megabytes:.2f} MB/sec), {average:.1f} ms avg latency, "
            f"{longest:.1f} ms max latency.",
            flush=True,
        )
        self._window.clear()
        self._window_bytes = 0
        self._window_began_s = time.monotonic()

    def total(self) -> str:
        passed_s = max(time.monotonic() - self._began_s, 1e-9)
        latencies = sorted(self._all) or [0]
        count = len(self._all)
        at = [latencies[min(len(latencies) - 1, int(share * len(latencies)))] for share in (0.5, 0.95, 0.99, 0.999)]
        rate, megabytes = count / passed_s, self._size_bytes / MEGABYTE / passed_s
        return (
            f"{count} records sent, {rate:f} records/sec ({megabytes:.2f} MB/sec), "
            f"{sum(latencies) / max(count, 1):.2f} ms avg latency, {latencies[-1]:.2f} ms max latency, "
            f"{at[0]} ms 50th, {at[1]} ms 95th, {at[2]} ms 99th, {at[3]} ms 99.9th."
        )
