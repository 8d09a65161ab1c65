"""The consumer, for programs that call and wait."""

import re
import sys
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from odradek.client.consumer.arguments import FOR_EVER_MS, flat, milliseconds, time_ms, topics_and_mapping
from odradek.client.consumer.caller import ALL, FINISHED, NOTHING, Caller
from odradek.client.consumer.commit_future import CommitFuture
from odradek.client.consumer.consumer_state import CLOSED, UNSUBSCRIBED, ConsumerState
from odradek.client.consumer.errors import Wakeup
from odradek.client.consumer.interceptors import ConsumerInterceptor
from odradek.client.consumer.offset_reset import EARLIEST, LATEST, ResetStrategy
from odradek.client.consumer.polling import CommitCallback
from odradek.client.consumer.rebalance_listener import OnPartitions, RebalanceListener, listener_of
from odradek.client.consumer.records import ConsumerRecord, ConsumerRecords
from odradek.client.consumer.session import ConsumerSession
from odradek.client.consumer.thread_calls import ThreadCalls
from odradek.client.group_metadata import ConsumerGroupMetadata
from odradek.client.host.thread_host import ThreadHost
from odradek.client.offsets import OffsetAndMetadata, OffsetAndTimestamp, Offsets
from odradek.client.settings import client_config
from odradek.client.spelling import refuse_keywords
from odradek.config.consumer import TABLE
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from typing import Never, Unpack

    import pyarrow as pa

    from odradek.channel.cluster import PartitionInfo
    from odradek.client.config_types import ConsumerConfig
    from odradek.client.consumer.consumer_metrics import MetricName
    from odradek.client.consumer.deserializer_types import Deserializer, K, V
else:
    K = TypeVar("K")
    V = TypeVar("V")

T = TypeVar("T")

CLOSE_TIMEOUT = 30.0


class KafkaConsumer(ThreadCalls[Caller], Generic[K, V]):
    """Reads records of topics, alone or as a member of a group.

    with KafkaConsumer("orders", bootstrap_servers="localhost:9092", group_id="billing") as consumer:
        for record in consumer:
            print(record.value)

    Configs are Kafka's, as keywords with underscores or in a mapping with dots. One thread uses it at a time; only
    `wakeup` and `state` are for all. Its work is done by a thread of its own, which starts with the first use; what the
    program is told of (rebalances, commits) it is told in its own thread, inside of `poll`, the commits and `close`.
    """

    _host: ThreadHost[ConsumerSession]

    def __init__(
        self,
        *topics: str | Mapping[str, object],
        key_deserializer: "Deserializer[K] | None" = None,
        value_deserializer: "Deserializer[V] | None" = None,
        interceptors: Sequence[ConsumerInterceptor] = (),
        **configs: "Unpack[ConsumerConfig]",
    ) -> None:
        names, mapping = topics_and_mapping(topics)
        config = client_config(TABLE, mapping, configs)
        caller = Caller(
            config,
            names,
            key_deserializer=key_deserializer,
            value_deserializer=value_deserializer,
            interceptors=interceptors,
        )
        name = f"odradek-consumer-{config['client.id']}".rstrip("-")
        super().__init__(caller, ThreadHost(name, caller.open_session, is_one_process=True))
        caller.on(self._host)

    def _ask(
        self, operation: Callable[[ConsumerSession], Coroutine[object, None, T]], *, is_wakeable: bool = True
    ) -> T:
        async def asked() -> T:
            found: T = await self._caller.ask(operation, is_wakeable=is_wakeable)
            return found

        return self._run(asked)

    # What it reads

    def subscribe(
        self,
        topics: str | Iterable[str] | re.Pattern[str] = "",
        *,
        listener: RebalanceListener | None = None,
        on_assigned: OnPartitions | None = None,
        on_revoked: OnPartitions | None = None,
        on_lost: OnPartitions | None = None,
        **others: "Never",
    ) -> None:
        """By names, or by a pattern that a whole name has to match: with group.protocol=consumer the broker looks for
        the topics (and RE2's syntax is the one to use), else this client does. The group gives partitions to its
        members inside of `poll`. No topics at all are as `unsubscribe`.
        """
        if others:
            refuse_keywords("subscribe", others)
        self._run(self._caller.subscribe, topics, listener_of(listener, on_assigned, on_revoked, on_lost))

    def assign(self, partitions: Iterable[TopicPartition]) -> None:
        """Exactly these, without a group; only another `assign` changes that. A group.id is then for offsets alone."""
        self._run(self._caller.assign, partitions)

    def unsubscribe(self) -> None:
        """Leaves the group, or lets go of what was assigned."""
        self._run(self._caller.unsubscribe)

    def assignment(self) -> set[TopicPartition]:
        return self._host.session().state.assigned() if self._host.has_started else set()

    def subscription(self) -> set[str]:
        """The names of the topics; with a pattern, those that it has found so far."""
        if self._caller.subscription.pattern is None or not self._host.has_started:
            return set(self._caller.subscription.topics)
        group = self._host.session().group
        return set() if group is None else set(group.subscribed_topics) | {place.topic for place in self.assignment()}

    # Reading

    def poll(self, timeout: float = 0.0, *, max_records: int | None = None, **others: "Never") -> ConsumerRecords[K, V]:
        """The next records; none if none came within `timeout` seconds. Callbacks run in here."""
        if others:
            refuse_keywords("poll", others)
        return self._run_poll(self._caller.poll, milliseconds(timeout), max_records)

    def poll_arrow(self, timeout: float = 0.0, *, max_bytes: int | None = None, **others: "Never") -> "pa.Table":
        """The same as a table of pyarrow, a chunk for each fetch: topic, partition, offset, timestamp, key, value,
        headers. Deserializers and interceptors have no say in it.
        """
        if others:
            refuse_keywords("poll_arrow", others)
        return self._run_poll(self._caller.poll_arrow, milliseconds(timeout), max_bytes)

    def __iter__(self) -> Iterator[ConsumerRecord[K, V]]:
        """One record at a time, without an end: `close` and `wakeup` end it. A record counts as processed when the next
        one is asked for.
        """
        return self._endless()

    def _endless(self) -> Iterator[ConsumerRecord[K, V]]:
        while True:
            try:
                record = self._next(FOR_EVER_MS)
            except Wakeup:
                return
            if record is None:
                return
            yield record
            if not self._caller.is_closed:
                yield from self._caller.at_once()

    def __next__(self) -> ConsumerRecord[K, V]:
        try:
            record = self._next(FOR_EVER_MS)
        except Wakeup:
            raise StopIteration from None
        if record is None:
            raise StopIteration
        return record

    def records(self, *, idle: float | None = None, until_end: bool = False) -> Iterator[ConsumerRecord[K, V]]:
        """As iteration, with an end: after `idle` seconds without a record, or where the partitions end now."""
        idle_ms = FOR_EVER_MS if idle is None else milliseconds(idle)
        ends = self._ends() if until_end else None
        while ends is None or ends:
            try:
                record = self._next(idle_ms if ends is None else min(idle_ms, 100))
            except Wakeup:
                return
            if record is None and ends is None:
                return
            if record is not None:
                yield record
            if ends is not None:
                ends = self._left(ends, record)

    def _next(self, timeout_ms: int) -> ConsumerRecord[K, V] | None:
        if self._caller.is_closed:
            return None
        if self._caller.in_hand.has_next:
            self._enter()
            record = self._caller.next_at_once(self._host.session())
            self._one.leave()
            if record is not None:
                return record
        return self._run_poll(self._caller.next, timeout_ms)

    def _ends(self) -> dict[TopicPartition, int]:
        """Where the assigned partitions end; a member that has none yet is given some first."""
        self._run(self._caller.until_assigned)
        return {place: end for place, end in self.end_offsets(self.assignment()).items() if self.position(place) < end}

    def _left(self, ends: dict[TopicPartition, int], record: ConsumerRecord[K, V] | None) -> dict[TopicPartition, int]:
        """Those whose end is not reached. Where no record comes, it may be that the last offsets have none."""
        if record is not None:
            place = TopicPartition(record.topic, record.partition)
            if record.offset + 1 >= ends.get(place, record.offset + 2):
                del ends[place]
            return ends
        assigned = self.assignment()
        return {place: end for place, end in ends.items() if place in assigned and self.position(place) < end}

    # Positions

    def seek(self, partition: TopicPartition, offset: int | OffsetAndMetadata) -> None:
        """The next record of the partition is the one at this offset."""
        self._run(self._caller.seek, partition, offset)

    def seek_to_beginning(self, *partitions: TopicPartition | Iterable[TopicPartition]) -> None:
        """Of these, or of all that are assigned."""
        self._run(self._caller.reset, flat(partitions), EARLIEST)

    def seek_to_end(self, *partitions: TopicPartition | Iterable[TopicPartition]) -> None:
        self._run(self._caller.reset, flat(partitions), LATEST)

    def seek_to_time(self, when: datetime | int, *partitions: TopicPartition | Iterable[TopicPartition]) -> None:
        """To the first record at or after this time: a datetime, or milliseconds since 1970."""
        self._run(self._caller.reset, flat(partitions), ResetStrategy.at_time(time_ms(when)))

    def seek_to_committed(
        self, *partitions: TopicPartition | Iterable[TopicPartition], timeout: float | None = None
    ) -> None:
        """To what the group has committed of these, or of all that are assigned; where nothing is committed, to where
        this consumer has begun. What was read since comes again.
        """
        self._run(self._caller.seek_to_committed, flat(partitions), timeout)

    def position(self, partition: TopicPartition, timeout: float | None = None, **others: "Never") -> int:
        """The offset of the next record; looked up if that is not known yet."""
        if others:
            refuse_keywords("position", others)
        return self._run(self._caller.position, partition, timeout)

    def current_lag(self, partition: TopicPartition) -> int | None:
        """How many offsets there are up to the end, as the last fetch has told; None if none has."""
        return self._caller.current_lag(TopicPartition(*partition))

    def offsets_for_times(
        self, times_ms: Mapping[TopicPartition, int], timeout: float | None = None
    ) -> dict[TopicPartition, OffsetAndTimestamp | None]:
        """The first record at or after each time; None where there is none."""
        return self._ask(lambda session: session.offsets_for_times(times_ms, self._timeout_ms(timeout)))

    def beginning_offsets(
        self, partitions: Iterable[TopicPartition], timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        places = list(partitions)
        return self._ask(lambda session: session.beginning_offsets(places, self._timeout_ms(timeout)))

    def end_offsets(
        self, partitions: Iterable[TopicPartition], timeout: float | None = None
    ) -> dict[TopicPartition, int]:
        """Behind the last record that can be read: with isolation.level=read_committed, the last stable offset."""
        places = list(partitions)
        return self._ask(lambda session: session.end_offsets(places, self._timeout_ms(timeout)))

    def pause(self, *partitions: TopicPartition | Iterable[TopicPartition]) -> None:
        """They stay the consumer's, and nothing of them is returned until `resume`. What was fetched is kept."""
        self._run(self._caller.pause, flat(partitions))

    def resume(self, *partitions: TopicPartition | Iterable[TopicPartition]) -> None:
        places = flat(partitions)
        self._ask(lambda session: session.resume(places), is_wakeable=False)

    def paused(self) -> set[TopicPartition]:
        return self._host.session().state.paused() if self._host.has_started else set()

    # Commits

    def commit_sync(self, offsets: Offsets | None = None, timeout: float | None = None, **others: "Never") -> None:
        """Commits these offsets, or all that was read, and waits until that is done. Nothing to commit is success."""
        if others:
            refuse_keywords("commit_sync", others)
        self._run(self._caller.commit_sync, offsets, timeout)

    commit = commit_sync

    def commit_async(self, offsets: Offsets | None = None, callback: CommitCallback | None = None) -> CommitFuture:
        """Begins to commit and does not wait. It is tried once: `callback(offsets, error)` runs in a later call of
        `poll`, of a commit, or of `close`, in the order of the commits.
        """
        call = self._run(self._caller.commit_async, offsets, callback)
        self._host.tell(lambda session: session.start_commit(call))
        return CommitFuture(call, self._host)

    def committed(
        self, partitions: Iterable[TopicPartition], timeout: float | None = None, **others: "Never"
    ) -> dict[TopicPartition, OffsetAndMetadata | None]:
        """What the group has committed; None for a partition of which it has not."""
        if others:
            refuse_keywords("committed", others)
        return self._run(self._caller.committed, partitions, timeout)

    # The group and the cluster

    def group_metadata(self) -> ConsumerGroupMetadata:
        """As whom this consumer commits, for a producer that commits for it in a transaction."""
        return self._ask(lambda session: session.group_metadata(), is_wakeable=False)

    def enforce_rebalance(self, reason: str | None = None) -> None:
        """Has the group assign its partitions anew, in the next polls."""
        self._ask(lambda session: session.enforce_rebalance(), is_wakeable=False)

    def partitions_for(self, topic: str, timeout: float | None = None) -> "list[PartitionInfo]":
        found = self._ask(lambda session: session.topics([topic], self._timeout_ms(timeout)))
        return found.get(topic, [])

    def list_topics(self, timeout: float | None = None) -> "dict[str, list[PartitionInfo]]":
        """All topics that this client may see, with their partitions."""
        return self._ask(lambda session: session.topics(None, self._timeout_ms(timeout)))

    def metrics(self) -> "dict[MetricName, float]":
        """What it counts, under Kafka's names."""
        return self._ask(lambda session: session.read_metrics(), is_wakeable=False)

    @property
    def state(self) -> ConsumerState:
        """How it is, for health checks, in any thread."""
        if self._caller.is_closed:
            return ConsumerState.of(CLOSED)
        if not self._host.has_started:
            return ConsumerState.of(UNSUBSCRIBED)
        return self._host.session().consumer_state()

    def _timeout_ms(self, timeout: float | None) -> int:
        return self._caller.settings.api_timeout_ms if timeout is None else milliseconds(timeout)

    # The end

    def wakeup(self) -> None:
        """Ends the call that waits, or the next one that would, by a `Wakeup`. In any thread or signal's handler."""
        self._caller.settings.wakes.append(True)
        self._host.tell(lambda session: session.wake())

    def close(self, timeout: float = CLOSE_TIMEOUT, *, commit: bool = True, **others: "Never") -> None:
        """Commits what was read if enable.auto.commit is set, tells of the partitions that are given back, leaves the
        group and ends. In a `finally` after an error, only what was finished before the last poll is committed.
        """
        if others:
            refuse_keywords("close", others)
        is_after_error = sys.exc_info()[0] is not None
        self._close(milliseconds(timeout), (FINISHED if is_after_error else ALL) if commit else NOTHING)

    def _close(self, timeout_ms: int, commits: str) -> None:
        self._end(self._caller.leave, timeout_ms, commits, timeout_ms=timeout_ms)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._close(milliseconds(CLOSE_TIMEOUT), ALL if kind is None else FINISHED)
