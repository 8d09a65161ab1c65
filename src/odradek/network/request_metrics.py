"""What Kafka tells about requests, per API: how many, how long, with its split of the time.

    RequestQueueTimeMs   from the read to the handler
    LocalTimeMs          in the handler, up to its answer or its wait
    RemoteTimeMs         waiting, for other brokers, for data, for a purgatory's timer
    ThrottleTimeMs       held back by a quota
    ResponseQueueTimeMs  from the answer to the send
    ResponseSendTimeMs   in the send
    TotalTimeMs          all of it

Kafka rounds to milliseconds, so of most requests every part is 0. The hot path only counts those, on a slot of the
`RequestStats` of their API and version; they are handed in to the histograms when somebody looks at the metrics.
"""

from odradek.metrics import Histogram, Registry
from odradek.metrics.meter import Meter
from odradek.protocol import apis, errors

GROUP, TYPE = "kafka.network", "RequestMetrics"
INSTANT_US = 500  # below that every part of the time rounds to 0 ms

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


class RequestStats:
    """Requests of one API in one version."""

    __slots__ = ("_api", "_counted", "_told", "count", "meter", "size", "size_count")

    def __init__(self, api: "ApiMetrics", meter: Meter) -> None:
        self._api = api
        self.meter = meter
        self.count = 0
        self._counted = 0  # of them in the meter and the histograms
        self._told = [0] * len(TIMES)  # values recorded one by one, which are no zeros to hand in
        self.size = 0  # the bytes of the last requests, which were all as long
        self.size_count = 0

    def add(self, count: int, size: int) -> None:
        """So many requests of that length."""
        self.count += count
        if size != self.size:
            self._hand_in_size()
            self.size = size
        self.size_count += count

    def record(self, queue_us: int, local_us: int, remote_us: int = 0) -> None:
        """Of a request that was not over at once. A part of it that was is one of the zeros of `hand_in`."""
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
        self._tell(THROTTLE, throttle_ms * 1000)

    def hand_in(self) -> None:
        new = self.count - self._counted
        if not new:
            return
        self._counted = self.count
        self.meter.count += new
        for index, histogram in enumerate(self._api.times):
            zeros = new - self._told[index]
            self._told[index] = max(0, -zeros)
            if zeros > 0:
                histogram.record_many(0, zeros)
        self._hand_in_size()

    def _hand_in_size(self) -> None:
        if self.size_count:
            self._api.request_bytes.record_many(self.size, self.size_count)
            self.size_count = 0

    def _tell(self, index: int, microseconds: int) -> None:
        self._api.times[index].record((microseconds + 500) // 1000)
        self._told[index] += 1


class ApiMetrics:
    """The histograms of one API; its versions share them."""

    __slots__ = ("request_bytes", "times")

    def __init__(self, registry: Registry, name: str) -> None:
        tags = {"request": name}
        self.times: list[Histogram] = [registry.histogram(GROUP, TYPE, time, tags) for time in TIMES]
        self.request_bytes = registry.histogram(GROUP, TYPE, "RequestBytes", tags)


class RequestMetrics:
    """All of them, by the first four bytes of a request: API key and version."""

    __slots__ = ("_apis", "_registry", "_unknown", "by_key_and_version")

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._apis: dict[str, ApiMetrics] = {}
        self._unknown: RequestStats | None = None
        self.by_key_and_version: dict[int, RequestStats] = {}
        registry.before_reading(self.hand_in)

    def stats(self, key_and_version: int) -> RequestStats:
        """Made when the first request of its kind comes; all that are of no kind share one, however many there are."""
        found = self.by_key_and_version.get(key_and_version)
        if found is not None:
            return found
        key, version = key_and_version >> 16, key_and_version & 0xFFFF
        api = _BY_KEY.get(key)
        if api is None or version not in api.versions:
            return self._of_unknown()
        made = self.by_key_and_version[key_and_version] = self._make(api.message, version)
        return made

    def errors(self, key: int, code: int, count: int = 1) -> None:
        """Counts error codes of an answer; 0 (NONE) is counted too, as Kafka does."""
        api = _BY_KEY.get(key)
        if api is not None:
            name = "NONE" if code == 0 else errors.by_code(code).name
            tags = {"request": api.message, "error": name}
            self._registry.meter(GROUP, TYPE, "ErrorsPerSec", tags).count += count

    def hand_in(self) -> None:
        for stats in self.by_key_and_version.values():
            stats.hand_in()

    def _make(self, name: str, version: int) -> RequestStats:
        api = self._apis.get(name)
        if api is None:
            api = self._apis[name] = ApiMetrics(self._registry, name)
        tags = {"request": name, "version": str(version)}
        return RequestStats(api, self._registry.meter(GROUP, TYPE, "RequestsPerSec", tags))

    def _of_unknown(self) -> RequestStats:
        if self._unknown is None:
            self._unknown = RequestStats(ApiMetrics(Registry(), ""), Meter(0))
        return self._unknown


_BY_KEY = {api.key: api for api in apis.ALL}
