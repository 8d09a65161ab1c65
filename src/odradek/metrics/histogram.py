"""The distribution of a value: time, size, count.

Values fall into buckets that grow with them: below 32 every whole number has its own, above that each doubling is cut
into 16. A quantile is therefore at most 1/32 off, whatever the range, and recording is one addition in a dict.

Count, mean, least and greatest are those of the whole life, as in Kafka. Its quantiles come from a sample that favours
the last five minutes; ours from everything since a point that lies five to ten minutes back.
"""

QUANTILES = (0.5, 0.75, 0.95, 0.98, 0.99, 0.999)
WINDOW_MS = 300_000

_EXACT = 32  # values below this are buckets of their own
_SHIFT = 5  # a bucket above keeps this many leading bits of its values


class Histogram:
    __slots__ = ("_baseline", "_buckets", "_next_baseline", "_rotated_ms", "count", "maximum", "minimum", "total")

    def __init__(self, now_ms: int = 0) -> None:
        self._buckets: dict[int, int] = {}
        self._baseline: dict[int, int] = {}  # what was counted before the window
        self._next_baseline: dict[int, int] = {}
        self._rotated_ms = now_ms
        self.count = 0
        self.total = 0
        self.minimum = 0
        self.maximum = 0

    def record(self, value: int) -> None:
        """A whole number; what is below 0 counts as 0."""
        if value < 0:
            value = 0
        if value < _EXACT:
            bucket = value
        else:
            bits = value.bit_length() - _SHIFT
            bucket = (bits << 4) + (value >> bits)
        buckets = self._buckets
        buckets[bucket] = buckets.get(bucket, 0) + 1
        if value > self.maximum:
            self.maximum = value
        if value < self.minimum or not self.count:
            self.minimum = value
        self.count += 1
        self.total += value

    def record_many(self, value: int, times: int) -> None:
        """Records a value so many times, at least once."""
        self.record(value)
        more = times - 1
        if more > 0:
            self._buckets[_bucket(max(value, 0))] += more
            self.count += more
            self.total += max(value, 0) * more

    @property
    def mean(self) -> float:
        return self.total / self.count if self.count else 0.0

    def deviation(self) -> float:
        """The standard deviation, as far as the buckets tell."""
        if self.count < 2:
            return 0.0
        mean = self.mean
        squares = sum(count * (_middle(bucket) - mean) ** 2 for bucket, count in self._buckets.items())
        return float((squares / (self.count - 1)) ** 0.5)

    def quantiles(self, now_ms: int) -> list[float]:
        """One value for each of QUANTILES, of the recent past."""
        self._rotate(now_ms)
        recent = self._recent()
        total = sum(count for _, count in recent)
        if not total:
            return [0.0] * len(QUANTILES)
        return [self._at(recent, quantile * total) for quantile in QUANTILES]

    def _recent(self) -> list[tuple[int, int]]:
        baseline = self._baseline
        counts = ((bucket, count - baseline.get(bucket, 0)) for bucket, count in self._buckets.items())
        return sorted(pair for pair in counts if pair[1])

    def _at(self, recent: list[tuple[int, int]], rank: float) -> float:
        seen = 0
        for bucket, count in recent:
            seen += count
            if seen >= rank:
                return min(max(_middle(bucket), self.minimum), self.maximum)
        return float(self.maximum)

    def _rotate(self, now_ms: int) -> None:
        """The window begins where somebody looked: what was recorded between two looks cannot be told apart."""
        spans = (now_ms - self._rotated_ms) // WINDOW_MS
        if spans <= 0:
            return
        self._baseline = self._next_baseline
        self._next_baseline = dict(self._buckets)
        self._rotated_ms += spans * WINDOW_MS


def _bucket(value: int) -> int:
    if value < _EXACT:
        return value
    bits = value.bit_length() - _SHIFT
    return (bits << 4) + (value >> bits)


def _middle(bucket: int) -> float:
    if bucket < _EXACT:
        return float(bucket)
    bits = (bucket >> 4) - 1
    lowest = (bucket - (bits << 4)) << bits
    return lowest + ((1 << bits) - 1) / 2
