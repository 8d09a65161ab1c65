"""confluent-kafka's Consumer."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from odradek.client.consumer.kafka_consumer import KafkaConsumer
from odradek.client.consumer.rebalance_listener import OnPartitions
from odradek.client.consumer.records import Record
from odradek.client.group_metadata import ConsumerGroupMetadata
from odradek.client.offsets import OffsetAndMetadata
from odradek.compat.confluent.configs import adapted, seconds
from odradek.compat.confluent.errors import KafkaError, raised
from odradek.compat.confluent.message import (
    OFFSET_BEGINNING,
    OFFSET_END,
    OFFSET_INVALID,
    OFFSET_STORED,
    Message,
    TopicPartition,
)
from odradek.protocol.errors import KafkaError as Error
from odradek.protocol.topic_partition import TopicPartition as Place

T = TypeVar("T")

Told = Callable[["Consumer", list[TopicPartition]], object]


class Consumer:
    def __init__(self, config: Mapping[str, object] | None = None, /, **more: object) -> None:
        given = {**(config or {}), **{name.replace("_", "."): value for name, value in more.items()}}
        if not given.get("group.id"):
            raise ValueError("group.id must be set")
        # Any: bytes, unless a deserializer is among the configs
        self._consumer: KafkaConsumer[Any, Any] = KafkaConsumer(adapted(given))

    # What it reads

    def subscribe(
        self,
        topics: Iterable[str],
        on_assign: Told | None = None,
        on_revoke: Told | None = None,
        on_lost: Told | None = None,
    ) -> None:
        """A name that begins with ^ is a pattern."""
        names = list(topics)
        patterns = [name for name in names if name.startswith("^")]
        wanted: list[str] | re.Pattern[str] = names
        if patterns:
            wanted = re.compile("|".join(f"(?:{name}.*)" if name in patterns else re.escape(name) for name in names))
        self._consumer.subscribe(
            wanted,
            on_assigned=self._telling(on_assign),
            on_revoked=self._telling(on_revoke),
            on_lost=self._telling(on_lost),
        )

    def _telling(self, told: Told | None) -> OnPartitions | None:
        return None if told is None else lambda places: told(self, [TopicPartition(*each) for each in places])

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """An offset of a partition is where it begins. Inside of on_assign, only that."""
        chosen = list(partitions)
        places = [_place(each) for each in chosen]
        if not set(places) <= self._consumer.assignment():
            self._consumer.assign(places)
        for each in chosen:
            self._begin(each)

    def _begin(self, partition: TopicPartition) -> None:
        if partition.offset == OFFSET_BEGINNING:
            self._consumer.seek_to_beginning(_place(partition))
        elif partition.offset == OFFSET_END:
            self._consumer.seek_to_end(_place(partition))
        elif partition.offset not in (OFFSET_STORED, OFFSET_INVALID):
            self._consumer.seek(_place(partition), partition.offset)

    def unassign(self) -> None:
        self._consumer.unsubscribe()

    def unsubscribe(self) -> None:
        self._consumer.unsubscribe()

    def assignment(self) -> list[TopicPartition]:
        return [TopicPartition(*each) for each in sorted(self._consumer.assignment())]

    # Reading

    def poll(self, timeout: float | None = None) -> Message | None:
        try:
            for record in self._consumer.records(idle=seconds(timeout)):
                return _message(record)
        except Error as error:
            return Message(error=KafkaError.of(error))
        return None

    def consume(self, num_messages: int = 1, timeout: float = -1) -> list[Message]:
        try:
            found = self._consumer.poll(seconds(timeout) or 3600.0, max_records=num_messages)
        except Error as error:
            return [Message(error=KafkaError.of(error))]
        return [_message(record) for record in found]

    # Offsets

    def commit(
        self, message: Message | None = None, offsets: Iterable[TopicPartition] | None = None, asynchronous: bool = True
    ) -> list[TopicPartition] | None:
        """With `asynchronous=False` what was committed. Nothing to commit is no error here."""
        wanted = None if offsets is None else {_place(each): _offset(each) for each in offsets}
        if message is not None:
            wanted = {
                Place(message.topic() or "", message.partition() or 0): OffsetAndMetadata((message.offset() or 0) + 1)
            }
        try:
            if asynchronous:
                self._consumer.commit_async(wanted)
                return None
            self._consumer.commit_sync(wanted)
        except Error as error:
            raise raised(error) from error
        return [TopicPartition(*place, each.offset) for place, each in (wanted or {}).items()]

    def committed(self, partitions: Iterable[TopicPartition], timeout: float | None = None) -> list[TopicPartition]:
        chosen = list(partitions)
        found = self._asked(lambda: self._consumer.committed(map(_place, chosen), seconds(timeout)))
        return [_with(each, found[_place(each)]) for each in chosen]

    def position(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        return [TopicPartition(*_place(each), self._consumer.position(_place(each))) for each in partitions]

    def seek(self, partition: TopicPartition) -> None:
        self._begin(partition)

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        self._consumer.pause(*map(_place, partitions))

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        self._consumer.resume(*map(_place, partitions))

    def get_watermark_offsets(
        self, partition: TopicPartition, timeout: float | None = None, cached: bool = False
    ) -> tuple[int, int]:
        place = _place(partition)
        low = self._asked(lambda: self._consumer.beginning_offsets([place], seconds(timeout)))
        high = self._asked(lambda: self._consumer.end_offsets([place], seconds(timeout)))
        return low[place], high[place]

    def offsets_for_times(
        self, partitions: Iterable[TopicPartition], timeout: float | None = None
    ) -> list[TopicPartition]:
        """The `offset` of each is a time in milliseconds."""
        chosen = list(partitions)
        times = {_place(each): each.offset for each in chosen}
        found = self._asked(lambda: self._consumer.offsets_for_times(times, seconds(timeout)))
        return [_at(place, OFFSET_END if each is None else each.offset) for place, each in found.items()]

    def consumer_group_metadata(self) -> ConsumerGroupMetadata:
        return self._consumer.group_metadata()

    def memberid(self) -> str:
        return self._consumer.group_metadata().member_id

    def close(self) -> None:
        self._consumer.close()

    def _asked(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except Error as error:
            raise raised(error) from error

    def __enter__(self) -> "Consumer":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _message(record: Record) -> Message:
    return Message(
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        key=record.key,
        value=record.value,
        headers=list(record.headers) or None,
        timestamp=(record.timestamp_type + 1, record.timestamp),
        leader_epoch=record.leader_epoch,
    )


def _place(partition: TopicPartition) -> Place:
    return Place(partition.topic, partition.partition)


def _at(place: Place, offset: int) -> TopicPartition:
    return TopicPartition(place.topic, place.partition, offset)


def _offset(partition: TopicPartition) -> OffsetAndMetadata:
    epoch = -1 if partition.leader_epoch is None else partition.leader_epoch
    return OffsetAndMetadata(partition.offset, partition.metadata or "", epoch)


def _with(partition: TopicPartition, found: OffsetAndMetadata | None) -> TopicPartition:
    if found is None:
        return TopicPartition(*_place(partition), OFFSET_INVALID)
    return TopicPartition(*_place(partition), found.offset, found.metadata, found.leader_epoch)
