"""What Kafka tells about requests, per API: how many, how long, with its split of the time.

    RequestQueueTimeMs   from the read to the handler
    LocalTimeMs          in the handler, up to its answer or its wait
    RemoteTimeMs         waiting, for other brokers, for data, for a purgatory's timer
    ThrottleTimeMs       held back by a quota
    ResponseQueueTimeMs  from the answer to the send
    ResponseSendTimeMs   in the send
    TotalTimeMs          all of it

Kafka rounds to milliseconds, so of most requests every part is 0. The hot path only counts those, on a slot of the
`RequestStats` of their API and version; they are handed in to the histograms when somebody looks at the metrics. So are
times that come again and again: fetches that wait in vain all wait equally long.

A fetch is told twice, as Fetch and as what it is by its replica id: FetchConsumer or FetchFollower. A handler that
knows better than the first bytes marks the connection with a `variation`; the others pay with one look at a slot.
"""

from odradek.metrics import Histogram, Registry
from odradek.metrics.meter import Meter
from odradek.protocol import apis

GROUP, TYPE = "kafka.network", "RequestMetrics"
INSTANT_US = 500  # below that every part of the time rounds to 0 ms
NOTED_MAX = 256  # different times of one kind that are noted before they are handed in

TIMES = (
    "RequestQueueTimeMs",
    "LocalTimeMs",
    "RemoteTimeMs",
    "ThrottleTimeMs",
    "ResponseQueueTimeMs",
    "ResponseSendTimeMs",
    "TotalTimeMs",
)
QUEUE, LOCAL, REMOTE, THROTTLE, RESPONSE_QUEUE, SEND, TOTAL = range(7)

# Variations of an API: bits above its key and version.
OF_FOLLOWER = 1 << 32
VERIFICATION = 2 << 32
_NAMES = {
    (1, 0): ("Fetch", "FetchConsumer"),
    (1, OF_FOLLOWER): ("Fetch", "FetchFollower"),
    (24, VERIFICATION): ("AddPartitionsToTxnVerification",),
}


class RequestStats:
    """Requests of one API in one version, told under one name or several."""

    __slots__ = ("_counted", "_names", "_noted", "_told", "count", "size", "size_count")

    def __init__(self, names: "list[tuple[ApiMetrics, Meter]]") -> None:
        self._names = names
        self.count = 0
        self._counted = 0  # of them in the meter and the histograms
        self._told = [0] * len(TIMES)  # values recorded one by one, which are no zeros to hand in
        self._noted: list[dict[int, int]] = [{} for _ in TIMES]  # of them, by milliseconds, how often
        self.size = 0  # the bytes of the last requests, which were all as long
        self.size_count = 0

    def add(self, count: int, size: int) -> None:
        """Counts so many requests, all of that length."""
        self.count += count
        if size != self.size:
            self._hand_in_size()
            self.size = size
        self.size_count += count

    def record(self, queue_us: int, local_us: int, remote_us: int = 0) -> None:
        """Records the times of a request that was not over at once; for the others `hand_in` records zeros."""
        if queue_us >= INSTANT_US:
            self._tell(QUEUE, queue_us)
        if local_us >= INSTANT_US:
            self._tell(LOCAL, local_us)
        if remote_us >= INSTANT_US:
            self._tell(REMOTE, remote_us)
        if queue_us + local_us + remote_us >= INSTANT_US:
            self._tell(TOTAL, queue_us + local_us + remote_us)

    def record_send(self, send_us: int) -> None:
        self._tell(SEND, send_us)

    def record_throttle(self, throttle_ms: int) -> None:
        """Not wired yet: there are no client quotas, so nobody is held back."""
        self._tell(THROTTLE, throttle_ms * 1000)

    def hand_in(self) -> None:
        for index in range(len(TIMES)):
            self._hand_in_noted(index)
        new = self.count - self._counted
        if not new:
            return
        self._counted = self.count
        for _, meter in self._names:
            meter.count += new
        for index in range(len(TIMES)):
            zeros = new - self._told[index]
            self._told[index] = max(0, -zeros)
            if zeros > 0:
                self._record(index, 0, zeros)
        self._hand_in_size()

    def _hand_in_size(self) -> None:
        if self.size_count:
            for api, _ in self._names:
                api.request_bytes.record_many(self.size, self.size_count)
            self.size_count = 0

    def _hand_in_noted(self, index: int) -> None:
        noted = self._noted[index]
        for milliseconds, count in noted.items():
            self._record(index, milliseconds, count)
        noted.clear()

    def _tell(self, index: int, microseconds: int) -> None:
        milliseconds = (microseconds + 500) // 1000
        noted = self._noted[index]
        noted[milliseconds] = noted.get(milliseconds, 0) + 1
        self._told[index] += 1
        if len(noted) > NOTED_MAX:
            self._hand_in_noted(index)

    def _record(self, index: int, milliseconds: int, count: int) -> None:
        for api, _ in self._names:
            api.times[index].record_many(milliseconds, count)


class ApiMetrics:
    """The histograms of one API; its versions share them."""

    __slots__ = ("request_bytes", "times")

    def __init__(self, registry: Registry, name: str) -> None:
        tags = {"request": name}
        self.times: list[Histogram] = [registry.histogram(GROUP, TYPE, time, tags) for time in TIMES]
        self.request_bytes = registry.histogram(GROUP, TYPE, "RequestBytes", tags)


class RequestMetrics:
    """The stats of requests, by their first four bytes (API key and version) and their handler's variation."""

    __slots__ = ("_apis", "_registry", "_unknown", "by_key_and_version")

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._apis: dict[str, ApiMetrics] = {}
        self._unknown: RequestStats | None = None
        self.by_key_and_version: dict[int, RequestStats] = {}
        registry.before_reading(self.hand_in)

    def stats(self, key_and_version: int) -> RequestStats:
        """The stats of a kind of request, made when the first one comes; unknown APIs and versions share one."""
        found = self.by_key_and_version.get(key_and_version)
        if found is not None:
            return found
        key, version = key_and_version >> 16 & 0xFFFF, key_and_version & 0xFFFF
        api = _BY_KEY.get(key)
        if api is None or version not in api.versions:
            return self._of_unknown()
        names = _NAMES.get((key, key_and_version & ~0xFFFFFFFF), (api.message,))
        made = self.by_key_and_version[key_and_version] = RequestStats([self._named(name, version) for name in names])
        return made

    def hand_in(self) -> None:
        for stats in self.by_key_and_version.values():
            stats.hand_in()

    def _named(self, name: str, version: int) -> tuple[ApiMetrics, Meter]:
        api = self._apis.get(name)
        if api is None:
            api = self._apis[name] = ApiMetrics(self._registry, name)
        tags = {"request": name, "version": str(version)}
        return api, self._registry.meter(GROUP, TYPE, "RequestsPerSec", tags)

    def _of_unknown(self) -> RequestStats:
        if self._unknown is None:
            self._unknown = RequestStats([])
        return self._unknown


_BY_KEY = {api.key: api for api in apis.ALL}
