"""kafka-python's KafkaConsumer."""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self, TypeVar

from odradek.client.consumer.consumer_state import JOINING, RECONCILES, STABLE
from odradek.client.consumer.kafka_consumer import KafkaConsumer as Consumer
from odradek.client.consumer.rebalance_listener import RebalanceListener
from odradek.client.consumer.records import Record
from odradek.compat.kafka_python import configs
from odradek.compat.kafka_python.future import Future
from odradek.compat.kafka_python.serializer import adapted
from odradek.compat.kafka_python.structs import (
    ConsumerGroupMetadata,
    MemberState,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    Offsets,
    TopicPartition,
    offsets_of,
)

if TYPE_CHECKING:
    from odradek.client.consumer.consumer_metrics import MetricName

P = TypeVar("P", bound=tuple[str, int])

ConsumerRebalanceListener = RebalanceListener
Committed = Callable[[Mapping[TopicPartition, OffsetAndMetadata], Exception | bool], object]

CLOSE_TIMEOUT = 30.0
REFRESH_S = 1.0  # how often topics without partitions are looked for, where there is no group to tell

_STATES = {STABLE: MemberState.STABLE, JOINING: MemberState.REBALANCING, RECONCILES: MemberState.REBALANCING}


class KafkaConsumer:
    """Iterate over it, or `poll` for a dict of lists. Without a group it reads all partitions of its topics."""

    # Any: configs are of the types that their names suggest, and keys and values of what the deserializers make.

    def __init__(self, *topics: str, **given: Any) -> None:
        self.config = {"api_version": None, **given}
        own = configs.adapted(given)
        self._idle_s = _idle_s(own.pop("consumer_timeout_ms", None))
        own.setdefault("group_id", None)
        self._group_id = own["group_id"]
        names = ("key_deserializer", "value_deserializer")
        deserializers = {name: adapted(own.pop(name, None), "deserialize") for name in names}
        self._consumer: Consumer[Any, Any] = Consumer(**deserializers, **own)
        self._iterator: Iterator[Record] | None = None
        self._alone: Alone | None = None
        if topics:
            self.subscribe(list(topics))

    # What it reads

    def subscribe(
        self, topics: Iterable[str] = (), pattern: str | None = None, listener: RebalanceListener | None = None
    ) -> None:
        names = [topics] if isinstance(topics, str) else list(topics)
        if bool(names) == bool(pattern):
            raise ValueError("give topics or a pattern")
        self._alone = None
        if self._group_id is None:
            self._alone = Alone(self._consumer, names, pattern)
            self._alone.look()
            return
        # theirs need only match the beginning of a name
        wanted: list[str] | re.Pattern[str] = names if pattern is None else re.compile(f"(?:{pattern}).*")
        self._consumer.subscribe(wanted, listener=listener)

    def assign(self, partitions: Iterable[tuple[str, int]]) -> None:
        self._alone = None
        self._consumer.assign([TopicPartition(*place) for place in partitions])

    def unsubscribe(self) -> None:
        self._alone = None
        self._consumer.unsubscribe()

    def assignment(self) -> set[TopicPartition]:
        return self._consumer.assignment()

    def subscription(self) -> set[str] | None:
        found = set(self._alone.topics) if self._alone is not None else self._consumer.subscription()
        return found or None

    # Reading

    def poll(
        self, timeout_ms: float = 0, max_records: int | None = None, update_offsets: bool = True
    ) -> dict[TopicPartition, list[Record]]:
        self._look()
        found = self._consumer.poll(timeout_ms / 1000, max_records=max_records)
        return {place: list(found.records(place)) for place in found.partitions()}

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Record:
        """Ends after consumer_timeout_ms without a record; another call goes on."""
        deadline = None if self._idle_s is None else time.monotonic() + self._idle_s
        while True:
            self._look()
            if self._iterator is None:
                self._iterator = self._consumer.records(idle=self._wait_s(deadline))
            for record in self._iterator:
                return record
            self._iterator = None
            if self._alone is None if deadline is None else time.monotonic() >= deadline:
                raise StopIteration

    def _wait_s(self, deadline: float | None) -> float | None:
        """Until the end, or until topics have to be looked for again."""
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        if self._alone is None:
            return left
        return REFRESH_S if left is None else min(left, REFRESH_S)

    def _look(self) -> None:
        if self._alone is not None:
            self._alone.look()

    # Positions

    def seek(self, partition: tuple[str, int], offset: int) -> None:
        self._consumer.seek(TopicPartition(*partition), offset)

    def seek_to_beginning(self, *partitions: tuple[str, int]) -> None:
        self._consumer.seek_to_beginning(*map(_place, partitions))

    def seek_to_end(self, *partitions: tuple[str, int]) -> None:
        self._consumer.seek_to_end(*map(_place, partitions))

    def position(self, partition: tuple[str, int], timeout_ms: float | None = None) -> int:
        return self._consumer.position(_place(partition), configs.seconds(timeout_ms))

    def highwater(self, partition: tuple[str, int]) -> int | None:
        lag = self._consumer.current_lag(_place(partition))
        return None if lag is None else self.position(partition) + lag

    def offsets_for_times(
        self, timestamps: Mapping[P, int], timeout_ms: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        if any(time_ms < 0 for time_ms in timestamps.values()):
            raise ValueError("a time is not negative")
        wanted = {_place(place): time_ms for place, time_ms in timestamps.items()}
        return self._consumer.offsets_for_times(wanted, self._timeout(timeout_ms))

    def beginning_offsets(
        self, partitions: Iterable[tuple[str, int]], timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        return self._consumer.beginning_offsets(map(_place, partitions), self._timeout(timeout_ms))

    def end_offsets(
        self, partitions: Iterable[tuple[str, int]], timeout_ms: float | None = None
    ) -> dict[TopicPartition, int]:
        return self._consumer.end_offsets(map(_place, partitions), self._timeout(timeout_ms))

    def _timeout(self, timeout_ms: float | None) -> float | None:
        """Theirs is request_timeout_ms."""
        return configs.seconds(self.config.get("request_timeout_ms") if timeout_ms is None else timeout_ms)

    def pause(self, *partitions: tuple[str, int]) -> None:
        self._consumer.pause(*map(_place, partitions))

    def resume(self, *partitions: tuple[str, int]) -> None:
        self._consumer.resume(*map(_place, partitions))

    def paused(self) -> set[TopicPartition]:
        return self._consumer.paused()

    # Commits

    def commit(self, offsets: Offsets | None = None, timeout_ms: float | None = None) -> None:
        self._consumer.commit_sync(offsets_of(offsets), configs.seconds(timeout_ms))

    def commit_async(self, offsets: Offsets | None = None, callback: Committed | None = None) -> Future:
        """The future, and the callback with the offsets and True or an error, are told in a later call."""
        future = Future()

        def told(committed: Mapping[TopicPartition, OffsetAndMetadata], error: Exception | None) -> None:
            future.success(committed) if error is None else future.failure(error)
            if callback is not None:
                callback(committed, True if error is None else error)

        self._consumer.commit_async(offsets_of(offsets), told)
        return future

    def committed(
        self, partition: tuple[str, int], metadata: bool = False, timeout_ms: float | None = None
    ) -> int | OffsetAndMetadata | None:
        place = _place(partition)
        found = self._consumer.committed([place], configs.seconds(timeout_ms))[place]
        return found if metadata or found is None else found.offset

    # The group and the cluster

    def group_metadata(self) -> ConsumerGroupMetadata:
        """In any thread, as `assignment` is."""
        who = self._consumer._host.run(lambda session: session.group_metadata())
        return ConsumerGroupMetadata(*who, state=_STATES.get(str(self._consumer.state), MemberState.UNJOINED))

    def topics(self) -> set[str]:
        return set(self._consumer.list_topics())

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        """By a look at all topics: a question for one would create it where brokers do that."""
        return {info.partition for info in self._consumer.list_topics().get(topic, ())} or None

    def bootstrap(self, timeout_ms: float | None = None, refresh: bool = False) -> None:
        self._consumer.list_topics(configs.seconds(timeout_ms))

    def bootstrap_connected(self) -> bool:
        return True

    def metrics(self, raw: bool = False) -> "Mapping[MetricName, float]":
        return self._consumer.metrics()

    # The end

    def close(self, autocommit: bool = True, timeout_ms: float | None = None) -> None:
        timeout = CLOSE_TIMEOUT if timeout_ms is None else timeout_ms / 1000
        self._consumer.close(timeout, commit=autocommit)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Alone:
    """All partitions of some topics without a group: those that appear later are looked for every now and then.

    Any: as above.
    """

    def __init__(self, consumer: "Consumer[Any, Any]", topics: list[str], pattern: str | None) -> None:
        self._consumer = consumer
        self._pattern = None if pattern is None else re.compile(pattern)
        self._looked_s: float | None = None
        self.topics = topics

    def look(self) -> None:
        now_s = time.monotonic()
        if self._looked_s is not None and now_s - self._looked_s < REFRESH_S:
            return
        self._looked_s = now_s
        places = {info.place for topic in self._wanted() for info in self._consumer.partitions_for(topic)}
        if places - self._consumer.assignment():
            self._consumer.assign(sorted(places | self._consumer.assignment()))

    def _wanted(self) -> list[str]:
        if self._pattern is not None:
            self.topics = [name for name in self._consumer.list_topics() if self._pattern.match(name)]
        return self.topics


def _place(partition: tuple[str, int]) -> TopicPartition:
    return TopicPartition(*partition)


def _idle_s(timeout_ms: float | None) -> float | None:
    return None if timeout_ms is None or timeout_ms == float("inf") else timeout_ms / 1000
