"""Reading for a fetch: which records of which partitions answer it.

The partitions are read in order until `max_bytes` are used up. The first one that has records may exceed every limit by
one batch, so that a reader with little room still gets on (KIP-74); the old versions 0 to 2 get a cut batch instead,
as they always did. Less than 128 KB are read from the page cache into the answer, more stay in their file for sendfile.

What is not in the page cache is read ahead by a job. As long as other partitions have something to tell, the answer
does not wait for it: the entry stays fresh, and the next fetch finds it there.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from odradek.log.failure import LogFailure, NotInCache, storage_error
from odradek.log.log import Log
from odradek.log.read import HIGH_WATERMARK, LOG_END, TXN_COMMITTED, FetchedRecords
from odradek.protocol import errors
from odradek.protocol.messages.k01_fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from odradek.reactor.file_range import FileRange
from odradek.reactor.ports import Buffer, Cancelled
from odradek.replica.fetch_entry import FetchEntry
from odradek.replica.roles import REMOVED

if TYPE_CHECKING:
    from odradek.replica.manager import ReplicaManager
    from odradek.replica.partition import Partition

SENDFILE_BYTES_MIN = 128 * 1024
ENTRIES_PER_SLICE = 1000
READ_UNCOMMITTED, READ_COMMITTED = 0, 1  # the isolation levels of a request
UNKNOWN_ISOLATION = -1
HARD_LIMIT_VERSION_MAX = 2
NO_BYTES = b""
UNKNOWN_OFFSET = -1

blank = object.__new__  # a struct without values, as its constructor would make it in twice the time


class FetchParameters:
    """What holds for all partitions of a fetch."""

    __slots__ = (
        "has_hard_limit",
        "is_allowed",
        "is_follower",
        "isolation",
        "max_bytes",
        "max_wait_ms",
        "min_bytes",
        "on_error",
        "replica_epoch",
        "replica_id",
        "version",
    )

    def __init__(
        self, version: int, replica_id: int, replica_epoch: int, request: FetchRequest, bytes_max: int
    ) -> None:
        """`bytes_max` is the broker's limit for consumers, fetch.max.bytes."""
        self.version = version
        self.replica_id = replica_id
        self.replica_epoch = replica_epoch
        self.max_wait_ms = request.max_wait_ms
        max_bytes = request.max_bytes
        if replica_id >= 0:
            self.is_follower = True
            self.isolation = LOG_END
        else:
            self.is_follower = False
            self.isolation = TXN_COMMITTED if request.isolation_level == READ_COMMITTED else HIGH_WATERMARK
            if max_bytes > bytes_max:
                max_bytes = bytes_max
        if not READ_UNCOMMITTED <= request.isolation_level <= READ_COMMITTED:
            self.isolation = UNKNOWN_ISOLATION
        self.max_bytes = max_bytes
        min_bytes = request.min_bytes
        self.min_bytes = min_bytes if min_bytes < max_bytes else max_bytes
        self.has_hard_limit = version <= HARD_LIMIT_VERSION_MAX
        self.is_allowed: Callable[[str], bool] | None = None  # by the name of a topic; None is everything
        self.on_error: Callable[[FetchResponse], None] | None = None  # completes an answer that tells of errors


class Reading:
    """What the partitions had to tell."""

    __slots__ = ("bytes", "cold", "is_urgent", "left_bytes", "results")

    def __init__(self, bytes_max: int) -> None:
        self.left_bytes = bytes_max  # what there is still room for
        self.results: list[tuple[FetchEntry, PartitionData]] = []
        self.bytes = 0
        self.is_urgent = False  # an error or a divergence: the reader must hear of it at once
        self.cold: list[tuple[Log, NotInCache]] = []

    def release(self) -> None:
        """For an answer that is not sent."""
        for _, data in self.results:
            records = data.records
            if isinstance(records, FileRange):
                records.release()


def read_entries(replicas: "ReplicaManager", entries: list[FetchEntry], parameters: FetchParameters) -> Reading:
    reading = Reading(parameters.max_bytes)
    _read_some(replicas, entries, parameters, reading)
    return reading


async def read_in_slices(replicas: "ReplicaManager", entries: list[FetchEntry], parameters: FetchParameters) -> Reading:
    """The same for very many: others get their turn in between."""
    reading = Reading(parameters.max_bytes)
    try:
        for at in range(0, len(entries), ENTRIES_PER_SLICE):
            _read_some(replicas, entries[at : at + ENTRIES_PER_SLICE], parameters, reading)
            await replicas.loop.sleep(0)
    except Cancelled:
        reading.release()
        raise
    return reading


def _read_some(
    replicas: "ReplicaManager", entries: list[FetchEntry], parameters: FetchParameters, reading: Reading
) -> None:
    results = reading.results
    left = reading.left_bytes
    for entry in entries:
        partition = entry.partition
        if partition is None or partition.role is REMOVED or parameters.is_allowed is not None:
            try:
                partition = entry.partition = resolve(replicas, entry, parameters)
            except errors.KafkaError as error:
                results.append((entry, not_here(entry.index, error)))
                replicas.metrics.all_topics.fetches.count += 1
                reading.is_urgent = True
                continue
        try:
            data = _read(partition, entry, parameters, left, reading)
        except errors.KafkaError as error:
            _handle(replicas, error)
            data = _failed(entry.index, error)
            reading.is_urgent = True
        except NotInCache as cold:
            log = partition.leader_log()
            reading.cold.append((log, cold))
            data = _empty(log, entry.index, parameters.isolation)
        partition.topic.counters.fetches.count += 1
        size = size_of(data)
        reading.bytes += size
        left = left - size if left > size else 0
        results.append((entry, data))
    reading.left_bytes = left


def size_of(data: PartitionData) -> int:
    records = data.records
    return records.size if type(records) is FileRange else len(records)  # type: ignore[arg-type]


def resolve(replicas: "ReplicaManager", entry: FetchEntry, parameters: FetchParameters) -> "Partition":
    """Whoever may not read a topic does not learn whether it exists."""
    is_allowed = parameters.is_allowed
    if is_allowed is not None:
        name = replicas.topic_name(entry.topic)
        if name is not None and not is_allowed(name):
            raise errors.TopicAuthorizationFailed
    return replicas.resolve(entry.topic, entry.index)


def readable_bytes(entry: FetchEntry, parameters: FetchParameters) -> int | None:
    """What a waiting fetch would get of this partition, without reading it; None if it must be answered at once."""
    partition = entry.partition
    if partition is None or partition.role is REMOVED:
        return None
    try:
        log = partition.leader_log(entry.current_leader_epoch)
        fetched = log.read(entry.fetch_offset, entry.max_bytes, isolation=parameters.isolation, min_one_message=False)
    except (errors.KafkaError, NotInCache):
        return None
    if fetched.records is None:
        return 0
    size = fetched.records.size
    fetched.records.release()
    return None if fetched.first_is_incomplete else size


def _read(
    partition: "Partition", entry: FetchEntry, parameters: FetchParameters, left: int, reading: Reading
) -> PartitionData:
    leader = partition.leading(entry.current_leader_epoch)
    log = leader.log
    if parameters.is_follower:
        leader.check_replica(parameters.replica_id)
    data = told_of(log, entry.index)
    if entry.last_fetched_epoch >= 0:
        divergence = leader.divergence(entry)
        if divergence is not None:
            data.diverging_epoch = EpochEndOffset(epoch=divergence[0], end_offset=divergence[1])
            reading.is_urgent = True
            return data
    max_bytes = entry.max_bytes if entry.max_bytes < left else left
    is_one_enough = not parameters.has_hard_limit and reading.bytes == 0
    fetched = log.read(
        entry.fetch_offset, max(0, max_bytes), isolation=parameters.isolation, min_one_message=is_one_enough
    )
    if parameters.is_follower:
        leader.follower_fetched(entry, parameters.replica_id, parameters.replica_epoch)
        data.high_watermark = log.high_watermark
    if fetched.records is not None:
        if fetched.first_is_incomplete and not parameters.has_hard_limit:
            fetched.records.release()
        else:
            data.records = content_of(fetched.records)
    if parameters.isolation == TXN_COMMITTED:
        data.aborted_transactions = aborted(fetched)
    return data


def told_of(log: Log, index: int) -> PartitionData:
    data = blank(PartitionData)
    data.partition_index = index
    data.high_watermark = log.high_watermark
    data.last_stable_offset = log.last_stable_offset
    data.log_start_offset = log.log_start_offset
    data.aborted_transactions = None
    data.records = NO_BYTES
    return data


def content_of(records: FileRange) -> Buffer | FileRange:
    try:
        content = _content(records)
    except OSError as error:
        path = records.disk_file.path
        records.release()
        raise storage_error(error, "reading a segment", path) from error
    if content is None:
        raise _cold(records)
    if content is not records:
        records.release()
    return content


def _content(records: FileRange) -> Buffer | FileRange | None:
    """The bytes of a small range, a large one as it is; None for what is not in the page cache."""
    size = records.size
    file = records.disk_file
    if size < SENDFILE_BYTES_MIN:
        return file.pread_nowait(size, records.position)
    position = records.position
    # Both ends in the page cache: what lies between was read ahead with them, or written lately.
    if file.pread_nowait(1, position) is None or file.pread_nowait(1, position + size - 1) is None:
        return None
    return records


def _cold(records: FileRange) -> NotInCache:
    """The file stays open until the job has it: the log, or the cache of open files, holds it in this turn."""
    cold = NotInCache(records.file, records.position, records.size)
    records.release()
    return cold


def aborted(fetched: FetchedRecords) -> list[AbortedTransaction]:
    found = fetched.aborted_transactions or []
    return [AbortedTransaction(producer_id=each.producer_id, first_offset=each.first_offset) for each in found]


def _handle(replicas: "ReplicaManager", error: errors.KafkaError) -> None:
    if isinstance(error, LogFailure):
        replicas.logs.handle_failure(error)


def _failed(index: int, error: errors.KafkaError) -> PartitionData:
    """An error of a partition that is here; Kafka answers it with null for the aborted transactions."""
    data = not_here(index, error)
    data.aborted_transactions = None
    return data


def not_here(index: int, error: errors.KafkaError) -> PartitionData:
    data = PartitionData()
    data.partition_index = index
    data.error_code = error.code
    data.high_watermark = UNKNOWN_OFFSET
    data.last_stable_offset = UNKNOWN_OFFSET
    data.log_start_offset = UNKNOWN_OFFSET
    data.records = NO_BYTES
    return data


def _empty(log: Log, index: int, isolation: int) -> PartitionData:
    """Of a partition whose records are not in the page cache."""
    data = told_of(log, index)
    if isolation == TXN_COMMITTED:
        data.aborted_transactions = []
    return data
