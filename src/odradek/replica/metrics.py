"""What is counted of the data plane, under Kafka's names. The hot path adds to slots; the gauges are in gauges.py."""

from odradek.metrics.meter import Counter, Meter
from odradek.metrics.registry import Registry

SERVER = "kafka.server"
TOPICS = "BrokerTopicMetrics"


class TopicCounters:
    """BrokerTopicMetrics of one topic, or of all of them together. Appends and fetches count in their topic alone:
    `hand_in`.
    """

    __slots__ = (
        "_failed_produces",
        "_handed_in",
        "_registry",
        "_topic",
        "bytes_in",
        "bytes_out",
        "bytes_rejected",
        "fetches",
        "messages_in",
        "produces",
    )

    def __init__(self, registry: Registry, topic: str | None) -> None:
        tags = None if topic is None else {"topic": topic}

        def meter(name: str) -> Meter:
            return registry.meter(SERVER, TOPICS, name, tags)

        self._registry, self._topic = registry, topic
        self._failed_produces: Counter | None = None

        self.messages_in: Counter = meter("MessagesInPerSec")
        self.bytes_in: Counter = meter("BytesInPerSec")
        self.bytes_out: Counter = meter("BytesOutPerSec")
        self.bytes_rejected: Counter = meter("BytesRejectedPerSec") if topic is None else Counter()
        self.produces: Counter = meter("TotalProduceRequestsPerSec")
        self.fetches: Counter = meter("TotalFetchRequestsPerSec")
        self._handed_in = (0,) * len(self._counts())

    @property
    def failed_produces(self) -> Counter:
        """Made when the first one fails: most topics never see any."""
        if self._failed_produces is None:
            tags = None if self._topic is None else {"topic": self._topic}
            self._failed_produces = self._registry.meter(SERVER, TOPICS, "FailedProduceRequestsPerSec", tags)
        return self._failed_produces

    def hand_in(self, all_topics: "TopicCounters") -> None:
        """Adds what was produced and fetched since the last time to the counters of all topics."""
        before = self._handed_in
        now = self._handed_in = tuple(counter.count for counter in self._counts())
        for total, count, counted in zip(all_topics._counts(), now, before, strict=True):
            total.count += count - counted

    def _counts(self) -> tuple[Counter, ...]:
        return (self.messages_in, self.bytes_in, self.produces, self.fetches, self.bytes_out)


class ReplicaMetrics:
    __slots__ = (
        "all_topics",
        "failed_fetches",
        "failed_produces",
        "fetch_conversions",
        "fetch_expirations",
        "follower_expirations",
        "invalid_crc",
        "invalid_magic",
        "invalid_sequence",
        "no_key",
        "produce_conversions",
        "registry",
        "session_evictions",
    )

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        self.all_topics = TopicCounters(registry, None)

        def meter(name: str) -> Meter:
            return registry.meter(SERVER, TOPICS, name)

        self.failed_produces = meter("FailedProduceRequestsPerSec")
        self.failed_fetches = meter("FailedFetchRequestsPerSec")
        self.produce_conversions = meter("ProduceMessageConversionsPerSec")
        self.fetch_conversions = meter("FetchMessageConversionsPerSec")
        self.invalid_magic = meter("InvalidMagicNumberRecordsPerSec")
        self.invalid_crc = meter("InvalidMessageCrcRecordsPerSec")
        self.invalid_sequence = meter("InvalidOffsetOrSequenceRecordsPerSec")
        self.no_key = meter("NoKeyCompactedTopicRecordsPerSec")
        expires = ("DelayedFetchMetrics", "ExpiresPerSec")
        self.fetch_expirations = registry.meter(SERVER, *expires, {"fetcherType": "consumer"})
        self.follower_expirations = registry.meter(SERVER, *expires, {"fetcherType": "follower"})
        self.session_evictions = registry.meter(SERVER, "FetchSessionCache", "IncrementalFetchSessionEvictionsPerSec")
        for name in ("BytesInPerSec", "BytesOutPerSec"):
            registry.meter(SERVER, TOPICS, f"Replication{name}")
            registry.meter(SERVER, TOPICS, f"Reassignment{name}")

    def topic(self, name: str) -> TopicCounters:
        return TopicCounters(self.registry, name)
