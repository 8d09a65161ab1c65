"""Events that are counted. The hot path adds to a slot; rates are worked out when somebody asks for them."""

from math import exp

WINDOWS_MS = (60_000, 300_000, 900_000)  # what Kafka's one, five and fifteen minute rates look back over


class Counter:
    """`count += n` is all that a busy caller does."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0

    def mark(self, n: int = 1) -> None:
        self.count += n


class Rates:
    """Per second: since the beginning, and over the last one, five and fifteen minutes."""

    __slots__ = ("fifteen_minutes", "five_minutes", "mean", "one_minute")

    def __init__(self, mean: float, one_minute: float, five_minutes: float, fifteen_minutes: float) -> None:
        self.mean = mean
        self.one_minute = one_minute
        self.five_minutes = five_minutes
        self.fifteen_minutes = fifteen_minutes


class Meter(Counter):
    """A counter with rates.

    Kafka decays its averages every five seconds. Between two looks we know the count alone, and take the events as
    evenly spread; the decay over any span is then exact, so that it does not matter who looks how often.
    """

    __slots__ = ("_averages", "_seen_count", "_seen_ms", "_started_ms")

    def __init__(self, now_ms: int) -> None:
        super().__init__()
        self._started_ms = now_ms
        self._seen_ms = now_ms
        self._seen_count = 0
        self._averages: tuple[float, ...] | None = None  # nothing to decay before the first look

    def rates(self, now_ms: int) -> Rates:
        span_ms = now_ms - self._seen_ms
        if span_ms > 0:
            rate = (self.count - self._seen_count) * 1000 / span_ms
            self._averages = self._decayed(rate, span_ms)
            self._seen_ms = now_ms
            self._seen_count = self.count
        elapsed_ms = now_ms - self._started_ms
        mean = self.count * 1000 / elapsed_ms if elapsed_ms > 0 else 0.0
        return Rates(mean, *(self._averages or (0.0, 0.0, 0.0)))

    def _decayed(self, rate: float, span_ms: int) -> tuple[float, ...]:
        if self._averages is None:
            return (rate, rate, rate)
        fresh = [1 - exp(-span_ms / window_ms) for window_ms in WINDOWS_MS]
        return tuple(old + (rate - old) * share for old, share in zip(self._averages, fresh, strict=True))
