"""A client's knowledge of the cluster: which topics it cares about, what it was told of them, and when to ask again. No
I/O; `MetadataUpdater` does the asking.

Two numbers are counted apart. `update_version` grows with every answer that was taken over: whoever needs news waits
until it has passed the number that `request_update` gave. `request_version` grows with every topic that was
added: an answer to a request from before that does not end the need for another. A request for new topics alone is
*partial*: its answer is merged into what is known, and does not count as a refresh of the rest.

A leader epoch never goes back. Brokers learn of an election one after the other, and the least loaded one may be the
last to hear of it: an answer with an older epoch of a partition is not taken over for that partition, unless the topic
has another id, which means that it was deleted and created again.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from odradek.channel.backoff import Backoff
from odradek.channel.cluster import NO_EPOCH, Cluster, PartitionInfo
from odradek.channel.node import Node
from odradek.protocol import errors
from odradek.protocol.errors import KafkaError
from odradek.protocol.field import ZERO_UUID
from odradek.protocol.messages.k03_metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from odradek.protocol.topic_partition import TopicPartition

RELIABLE_EPOCHS_VERSION = 9  # before it, a broker that had restarted could tell an epoch that was never there


class MetadataAsk(NamedTuple):
    request: MetadataRequest
    request_version: int
    is_partial: bool


class Metadata:
    __slots__ = (
        "_addresses",
        "_all_topics",
        "_allows_creation",
        "_attempts",
        "_backoff",
        "_epochs",
        "_expire_ms",
        "_fatal",
        "_needs_full",
        "_needs_partial",
        "_new_topics",
        "_on_request",
        "_refreshed_ms",
        "_succeeded_ms",
        "_topic_idle_ms",
        "_topics",
        "cluster",
        "request_version",
        "topic_errors",
        "update_version",
    )

    def __init__(
        self,
        *,
        backoff: Backoff | None = None,
        expire_ms: int = 300_000,
        topic_idle_ms: int | None = None,
        allows_creation: bool = True,
    ) -> None:
        """`expire_ms` is metadata.max.age.ms. A producer's topics leave after `topic_idle_ms` (metadata.max.idle.ms)
        without use; a consumer's stay until they are taken out.
        """
        self._backoff = backoff or Backoff()
        self._expire_ms = expire_ms
        self._topic_idle_ms = topic_idle_ms
        self._allows_creation = allows_creation
        self._topics: dict[str, int] = {}  # when they were last used
        self._new_topics: set[str] = set()  # those that no answer was about yet
        self._all_topics = False
        self._epochs: dict[TopicPartition, int] = {}
        self._needs_full = self._needs_partial = False
        self._refreshed_ms: int | None = None  # the last answer or failure
        self._succeeded_ms: int | None = None
        self._attempts = 0
        self._addresses: list[tuple[str, int]] = []
        self._fatal: KafkaError | None = None
        self._on_request: Callable[[], object] = lambda: None
        self.topic_errors: dict[str, KafkaError] = {}
        self.cluster = Cluster()
        self.request_version = 0
        self.update_version = 0

    def when_requested(self, callback: Callable[[], object]) -> None:
        """Called when an update is wanted: for the updater."""
        self._on_request = callback

    # The beginning

    def bootstrap(self, addresses: Iterable[tuple[str, int]]) -> None:
        self._addresses = list(addresses)
        self._needs_full = True
        self.update_version += 1
        self.cluster = Cluster.bootstrap(self._addresses)
        self._on_request()

    def rebootstrap(self) -> None:
        """None of the known brokers can be used: they may all have moved. The first addresses are asked anew."""
        self._attempts = 0
        self._refreshed_ms = None
        self.bootstrap(self._addresses)

    # Topics

    @property
    def topics(self) -> set[str]:
        return set(self._topics)

    def add_topic(self, topic: str, now_ms: int) -> int:
        """The client uses this topic; the version to wait beyond for news of it."""
        is_new = topic not in self._topics
        self._topics[topic] = now_ms
        if is_new:
            self._new_topics.add(topic)
            return self._request_new_topics()
        return self.update_version

    def set_topics(self, topics: Iterable[str], now_ms: int) -> int:
        """Exactly these: a consumer's subscription."""
        wanted = set(topics)
        for topic in self._topics.keys() - wanted:
            self._forget(topic)
        added = wanted - self._topics.keys()
        self._topics.update(dict.fromkeys(wanted, now_ms))
        self._new_topics |= added
        return self._request_new_topics() if added else self.update_version

    def want_all_topics(self, is_wanted: bool = True) -> int:
        """From now on all topics are asked for: a subscription by pattern has to see them. An answer that is under way
        already is not about them.
        """
        if is_wanted and not self._all_topics:
            self._all_topics = True
            return self._request_new_topics()
        self._all_topics = is_wanted
        return self.update_version

    def _request_new_topics(self) -> int:
        self._needs_partial = True
        self.request_version += 1
        self._attempts = 0
        self._on_request()
        return self.update_version

    def _forget(self, topic: str) -> None:
        self._topics.pop(topic, None)
        self._new_topics.discard(topic)
        self.topic_errors.pop(topic, None)

    def _is_kept(self, topic: str, is_internal: bool, now_ms: int) -> bool:
        """Whether an answer about the topic is of use. A topic that was not used for too long leaves here."""
        if self._all_topics:
            return True
        used_ms = self._topics.get(topic)
        if used_ms is None:
            return False
        if self._topic_idle_ms is None or topic in self._new_topics or used_ms + self._topic_idle_ms > now_ms:
            return True
        self._forget(topic)
        return False

    # When to ask

    def request_update(self, *, resets_backoff: bool = True) -> int:
        """Everything is to be asked anew; the version to wait beyond."""
        self._needs_full = True
        if resets_backoff:
            self._attempts = 0
        self._on_request()
        return self.update_version

    @property
    def is_update_requested(self) -> bool:
        return self._needs_full or self._needs_partial

    def time_to_next_update_ms(self, now_ms: int) -> int:
        """0: now."""
        return max(self._time_to_expire_ms(now_ms), self._time_to_allow_ms(now_ms))

    def _time_to_expire_ms(self, now_ms: int) -> int:
        if self.is_update_requested or self._succeeded_ms is None:
            return 0
        return max(0, self._succeeded_ms + self._expire_ms - now_ms)

    def _time_to_allow_ms(self, now_ms: int) -> int:
        """However much it is wanted, two requests are at least a back-off apart."""
        if self._refreshed_ms is None:
            return 0
        return max(0, self._refreshed_ms + self._backoff.after(self._attempts) - now_ms)

    def next_ask(self, now_ms: int) -> MetadataAsk:
        is_expired = self._succeeded_ms is None or self._succeeded_ms + self._expire_ms <= now_ms
        is_partial = self._needs_partial and not self._needs_full and not is_expired and bool(self._new_topics)
        names = None if self._all_topics else sorted(self._new_topics if is_partial else self._topics)
        topics = None if names is None else [MetadataRequestTopic(name=name) for name in names]
        request = MetadataRequest(topics=topics, allow_auto_topic_creation=self._allows_creation)
        return MetadataAsk(request, self.request_version, is_partial)

    # What came of it

    def failed(self, now_ms: int) -> None:
        """No answer, or one that is of no use."""
        self._refreshed_ms = now_ms
        self._attempts += 1

    def fatal(self, error: KafkaError) -> None:
        """Whoever waits is told, once: to wait on is of no use (authentication failed)."""
        self._fatal = error

    def take_fatal(self) -> KafkaError | None:
        error, self._fatal = self._fatal, None
        return error

    def update(self, ask: MetadataAsk, response: MetadataResponse, version: int, now_ms: int) -> bool:
        """Takes an answer over; False if it is of no use because it names no broker (one that has just started)."""
        if not response.brokers:
            self.failed(now_ms)
            return False
        self._needs_partial = ask.request_version < self.request_version
        self._refreshed_ms = now_ms
        self._attempts = 0
        self._fatal = None
        if not ask.is_partial:
            self._needs_full = False
            self._succeeded_ms = now_ms
        self.cluster = self._snapshot(response, ask.is_partial, version >= RELIABLE_EPOCHS_VERSION, now_ms)
        self._new_topics.difference_update(str(topic.name) for topic in response.topics)
        self.update_version += 1
        return True

    def _snapshot(self, response: MetadataResponse, is_partial: bool, has_epochs: bool, now_ms: int) -> Cluster:
        kept = [topic for topic in response.topics if self._is_kept(topic.name or "", topic.is_internal, now_ms)]
        named = {topic.name for topic in response.topics}
        before = self.cluster
        others = [topic for topic in before.topics if is_partial and topic not in named and topic in self._topics]
        partitions = [info for topic in others for info in before.partitions(topic)]
        topic_ids = {topic: before.topic_ids[topic] for topic in others if topic in before.topic_ids}
        internal = {topic for topic in others if topic in before.internal_topics}
        for topic in kept:
            partitions += self._partitions_in(topic, has_epochs)
            if topic.topic_id != ZERO_UUID:
                topic_ids[topic.name or ""] = bytes(topic.topic_id)
            if topic.is_internal:
                internal.add(topic.name or "")
        self._note_errors(kept, is_partial)
        return Cluster(
            response.cluster_id,
            [Node(broker.node_id, broker.host, broker.port, broker.rack) for broker in response.brokers],
            partitions,
            controller_id=response.controller_id,
            topic_ids=topic_ids,
            internal_topics=internal,
            unauthorized_topics=self._topics_with(errors.TopicAuthorizationFailed),
            invalid_topics=self._topics_with(errors.InvalidTopicException),
        )

    def _partitions_in(self, topic: MetadataResponseTopic, has_epochs: bool) -> list[PartitionInfo]:
        if topic.error_code:
            if errors.by_code(topic.error_code).refreshes_metadata:
                self._needs_full = True
            return []
        if any(errors.by_code(each.error_code).refreshes_metadata for each in topic.partitions if each.error_code):
            self._needs_full = True
        before = self.cluster.topic_ids.get(topic.name or "")
        is_recreated = before is not None and topic.topic_id not in (ZERO_UUID, before)
        chosen = [self._newest(topic.name or "", each, has_epochs, is_recreated) for each in topic.partitions]
        return [info for info in chosen if info is not None]

    def _newest(
        self, topic: str, told: MetadataResponsePartition, has_epochs: bool, is_recreated: bool
    ) -> PartitionInfo | None:
        """What was told, or what was known before if that is of a later epoch."""
        place = TopicPartition(topic, told.partition_index)
        if not has_epochs or told.leader_epoch == NO_EPOCH:
            self._epochs.pop(place, None)
            return _info(topic, told, has_epochs)
        seen = self._epochs.get(place)
        if is_recreated or seen is None or told.leader_epoch >= seen:
            self._epochs[place] = told.leader_epoch
            return _info(topic, told, has_epochs)
        return self.cluster.partition(*place)

    def _note_errors(self, topics: Iterable[MetadataResponseTopic], is_partial: bool) -> None:
        """Those that asking again does not mend; they are kept until the topic is told of without one."""
        if not is_partial:
            self.topic_errors.clear()
        for topic in topics:
            error = errors.by_code(topic.error_code) if topic.error_code else None
            if error is None or error.retriable:
                self.topic_errors.pop(topic.name or "", None)
            else:
                self.topic_errors[topic.name or ""] = error(f"Topic {topic.name}: {error.message}")

    def _topics_with(self, kind: type[KafkaError]) -> set[str]:
        return {topic for topic, error in self.topic_errors.items() if isinstance(error, kind)}

    # Leaders

    def leader(self, topic: str, partition: int) -> Node | None:
        return self.cluster.leader(topic, partition)

    def leader_epoch(self, topic: str, partition: int) -> int:
        """The latest that was heard of; NO_EPOCH if none was."""
        return self._epochs.get(TopicPartition(topic, partition), NO_EPOCH)

    def saw_leader_epoch(self, topic: str, partition: int, epoch: int) -> bool:
        """An answer to something else told an epoch. If it is news, what is known of the leader is old: ask again."""
        seen = self._epochs.get(TopicPartition(topic, partition))
        if epoch < 0 or seen is None or epoch <= seen:
            return False
        self._epochs[TopicPartition(topic, partition)] = epoch
        self.request_update()
        return True


def _info(topic: str, told: MetadataResponsePartition, has_epochs: bool) -> PartitionInfo:
    return PartitionInfo(
        topic,
        told.partition_index,
        told.leader_id,
        told.leader_epoch if has_epochs else NO_EPOCH,
        tuple(told.replica_nodes),
        tuple(told.isr_nodes),
        tuple(told.offline_replicas),
    )
