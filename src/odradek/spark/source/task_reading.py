"""What one task does: it reads a range of offsets of one partition and gives it to Spark as Arrow record batches.

The client's own thread has the next fetch under way while this one decodes the last. A task holds about two fetches of
`kafka.max.partition.fetch.bytes` (4 MB unless set) and the record batch that Spark is being given, 8 MB at most.
With `odradek.log.dirs` it reads closed segments from there, and asks the broker for what they do not have.
Offsets without a record, of transaction markers, aborted transactions and compaction, are passed over.

Every wait has an end: kafkaConsumer.pollTimeoutMs after the last progress. What is missing then is named: topic,
partition, offset, and the broker that should have it.
"""

import logging
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from odradek.client.consumer.range_reading import RangeConsumer, poll_chunk, read_range, topic_id_of
from odradek.protocol.errors import KafkaError, OffsetOutOfRange
from odradek.protocol.topic_partition import TopicPartition
from odradek.spark.errors import DataLossError, SourceError, about
from odradek.spark.options import SourceOptions
from odradek.spark.source.client_cache import borrowed
from odradek.spark.source.planning import OffsetRange

if TYPE_CHECKING:
    import pyarrow as pa

    from odradek.client.consumer.fetch_buffer import FetchedRows
    from odradek.spark.source.segment_reading import SegmentReading

logger = logging.getLogger("odradek.spark")

_TELL_S = 2.0  # nothing waits longer in silence
_LOOK_UP_S = 10.0
_DEFAULTS = {
    "isolation.level": "read_committed",
    "max.partition.fetch.bytes": "4194304",  # rows of a kilobyte cost half the CPU of fetches of 1 MB
}


def consumer_configs(options: SourceOptions) -> dict[str, str]:
    return {"client.id": options.client_id, **_DEFAULTS, **options.clients}


def read_task(options: SourceOptions, columns: tuple[str, ...], work: OffsetRange) -> "Iterator[pa.RecordBatch]":
    from pyspark import TaskContext

    context = TaskContext.get()
    is_retry = context is not None and context.attemptNumber() > 0
    with borrowed(consumer_configs(options), is_retry=is_retry) as consumer:
        yield from RangeReading(consumer, options, columns, work).batches()


class RangeReading:
    """One range on its way: `position` is the next offset to read, the broker is asked up to `until`."""

    def __init__(
        self, consumer: RangeConsumer, options: SourceOptions, columns: tuple[str, ...], work: OffsetRange
    ) -> None:
        self._consumer = consumer
        self._options = options
        self._columns = columns
        self._work = work
        self._position = work.start
        self._until = work.stop
        self._progress_at = time.monotonic()
        self._told_s = 0

    def batches(self) -> "Iterator[pa.RecordBatch]":
        segments = self._segments() if self._options.log_dirs else None
        if segments is None:
            yield from self._from_broker(self._work.stop)
            return
        try:
            while self._position < self._work.stop:
                yield from self._from_segments(segments)
                yield from self._from_broker(segments.broker_until(self._position, self._work.stop))
        finally:
            segments.close()

    def _from_broker(self, until: int) -> "Iterator[pa.RecordBatch]":
        self._until = until
        self._begin_at_broker()
        while self._position < until:
            fetched = self._fetched()
            if fetched is not None:
                yield from self._handed_out(fetched, until)

    def _begin_at_broker(self) -> None:
        if self._position < self._until:
            self._progress_at = time.monotonic()
            read_range(self._consumer, self._work.place, self._position, self._until)

    def _from_segments(self, segments: "SegmentReading") -> "Iterator[pa.RecordBatch]":
        stop = self._work.stop
        while self._position < stop and (fetched := segments.fetched(self._position, stop)) is not None:
            yield from self._handed_out(fetched, stop)

    def _handed_out(self, fetched: "FetchedRows", until: int) -> "Iterator[pa.RecordBatch]":
        from odradek.spark.source.arrow_rows import record_batches

        yield from record_batches(self._work.place, fetched, until, self._columns)
        self._move(min(fetched.next_offset, until))  # not before: Spark may take its time with a batch

    def _segments(self) -> "SegmentReading | None":
        """What the log dirs have of the partition. What the broker has deleted is lost, even if its file is there."""
        from odradek.spark.source.segment_files import segment_dir
        from odradek.spark.source.segment_reading import SegmentReading

        place, earliest = self._work.place, self._looked_up(self._consumer.beginning_offsets)
        if earliest is None:
            return None
        if earliest > self._position:
            self._lose(min(earliest, self._work.stop), f"the log begins at {earliest}")
        try:
            topic_id = topic_id_of(self._consumer, place.topic, _LOOK_UP_S)
        except KafkaError as error:
            logger.warning("%s: its id could not be looked up: %s", about(place), error)
            return None
        found = segment_dir(self._options.log_dirs or (), place, topic_id)
        is_read_committed = self._options.is_read_committed
        return None if found is None else SegmentReading(found, is_read_committed=is_read_committed)

    def _move(self, position: int) -> None:
        self._position = position
        self._progress_at = time.monotonic()
        self._told_s = 0

    def _fetched(self) -> "FetchedRows | None":
        try:
            fetched = poll_chunk(self._consumer, _TELL_S)
        except OffsetOutOfRange:
            self._skip_lost()
            return None
        except KafkaError as error:
            raise SourceError(f"{self._where()} could not be read: {error}") from error
        if fetched is None:
            self._still_nothing()
        return fetched

    def _still_nothing(self) -> None:
        waited_ms = int((time.monotonic() - self._progress_at) * 1000)
        if waited_ms < self._options.poll_timeout_ms:
            self._tell(waited_ms // 1000)
            return
        end = self._looked_up(self._consumer.end_offsets)
        if end is None or end > self._position:
            raise SourceError(
                f"{self._where()}: nothing came within kafkaConsumer.pollTimeoutMs={self._options.poll_timeout_ms}: "
                f"see whether {self._broker()} serves it, or raise the option"
            )
        self._lose(self._work.stop, f"the log ends at {end}")

    def _tell(self, waited_s: int) -> None:
        """Soon, and then every ten seconds."""
        if waited_s < self._told_s + (10 if self._told_s else 1):
            return
        self._told_s = waited_s
        logger.warning("%s: waiting for it for %d s", self._where(), waited_s)

    def _skip_lost(self) -> None:
        """The position is not in the log: it was deleted, or the log is shorter than it was."""
        earliest = self._looked_up(self._consumer.beginning_offsets)
        if earliest is None:
            raise SourceError(f"{self._where()}: the broker says that it is out of range, and not what is in range")
        if earliest > self._position:
            self._lose(min(earliest, self._work.stop), f"the log begins at {earliest}")
        else:
            end = self._looked_up(self._consumer.end_offsets)
            self._lose(self._work.stop, f"the log ends at {end}")
        self._begin_at_broker()

    def _lose(self, until: int, why: str) -> None:
        place, work = self._work.place, self._work
        text = f"could not read records in offset [{self._position}, {until}) for {about(place)}: {why}"
        if self._options.fails_on_data_loss:
            raise DataLossError(
                f"{text}. Some data may have been lost: it was deleted, or the topic was deleted and made again. "
                f"To read what is there instead, set failOnDataLoss=false (task: offsets {work.start} to {work.stop})"
            )
        logger.warning("%s; failOnDataLoss=false: it is skipped", text)
        self._move(until)

    def _looked_up(self, ask: Callable[[list[TopicPartition], float], dict[TopicPartition, int]]) -> int | None:
        place = self._work.place
        try:
            found = ask([place], _LOOK_UP_S)
        except KafkaError as error:
            logger.warning("%s: its offsets could not be looked up: %s", about(place), error)
            return None
        return found.get(place)

    def _where(self) -> str:
        return f"{about(self._work.place)} offset {self._position}"

    def _broker(self) -> str:
        place = self._work.place
        try:
            infos = {each.partition: each for each in self._consumer.partitions_for(place.topic, timeout=_LOOK_UP_S)}
        except KafkaError:
            infos = {}
        leader = infos[place.partition].leader_id if place.partition in infos else -1
        return f"broker {leader}" if leader >= 0 else f"a broker of {self._options.clients['bootstrap.servers']}"
