"""Reading for a fetch: which records of which partitions answer it.

The partitions are read in order until `max_bytes` are used up. The first one that has records may exceed every limit by
one batch, so that a reader with little room still gets on (KIP-74); the old versions 0 to 2 get a cut batch instead,
as they always did. Less than 128 KB are read from the page cache into the answer, more stay in their file for sendfile.

What is not in the page cache is read ahead by a job. As long as other partitions have something to tell, the answer
does not wait for it: the entry stays fresh, and the next fetch finds it there.
"""

from typing import TYPE_CHECKING

from odradek.log.failure import NotInCache
from odradek.log.log import Log
from odradek.log.manager.reading import content_of, read
from odradek.log.read import TXN_COMMITTED
from odradek.protocol import errors
from odradek.protocol.messages.k01_fetch import EpochEndOffset, PartitionData
from odradek.reactor.ports import Cancelled
from odradek.replica.fetch.parameters import FetchParameters
from odradek.replica.fetch.partition_data import aborted, failed, not_here, not_in_cache, release, size_of, told_of
from odradek.replica.fetch_entry import FetchEntry
from odradek.replica.roles import REMOVED

if TYPE_CHECKING:
    from odradek.replica.manager import ReplicaManager
    from odradek.replica.partition import Partition

ENTRIES_PER_SLICE = 1000


class Reading:
    """What the partitions had to tell."""

    __slots__ = ("bytes", "cold", "is_urgent", "left_bytes", "results")

    def __init__(self, bytes_max: int) -> None:
        self.left_bytes = bytes_max  # what there is still room for
        self.results: list[tuple[FetchEntry, PartitionData]] = []
        self.bytes = 0
        self.is_urgent = False  # an error or a divergence: the reader must hear of it at once
        self.cold: list[tuple[Log, NotInCache]] = []

    @property
    def waits_for_disk(self) -> bool:
        """There is nothing to tell but what is not in the page cache."""
        return bool(self.cold) and not self.bytes and not self.is_urgent

    def release(self) -> None:
        """For an answer that is not sent."""
        for _, data in self.results:
            release(data)


def read_entries(replicas: "ReplicaManager", entries: list[FetchEntry], parameters: FetchParameters) -> Reading:
    reading = Reading(parameters.max_bytes)
    _read_some(replicas, entries, parameters, reading)
    return reading


async def read_in_slices(replicas: "ReplicaManager", entries: list[FetchEntry], parameters: FetchParameters) -> Reading:
    """`read_entries` for very many: others get their turn in between."""
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
            data = _read(replicas, partition, entry, parameters, left, reading)
        except errors.KafkaError as error:
            data = failed(entry.index, error)
            reading.is_urgent = True
        except NotInCache as cold:
            log = partition.leader_log()
            reading.cold.append((log, cold))
            data = not_in_cache(log, entry.index, parameters.isolation)
        partition.topic.counters.fetches.count += 1
        size = size_of(data)
        reading.bytes += size
        left = left - size if left > size else 0
        results.append((entry, data))
    reading.left_bytes = left


def resolve(replicas: "ReplicaManager", entry: FetchEntry, parameters: FetchParameters) -> "Partition":
    """Whoever may not read a topic does not learn whether it exists."""
    is_allowed = parameters.is_allowed
    if is_allowed is not None:
        name = replicas.topic_name(entry.topic)
        if name is not None and not is_allowed(name):
            raise errors.TopicAuthorizationFailed
    return replicas.resolve(entry.topic, entry.index)


def readable_bytes(replicas: "ReplicaManager", entry: FetchEntry, parameters: FetchParameters) -> int | None:
    """What a waiting fetch would get of this partition, without reading it; None if it must be answered at once."""
    partition = entry.partition
    if partition is None or partition.role is REMOVED:
        return None
    try:
        log = partition.leader_log(entry.current_leader_epoch)
        fetched = read(replicas.logs, log, entry.fetch_offset, entry.max_bytes, parameters.isolation, False)
    except (errors.KafkaError, NotInCache):
        return None
    if fetched.records is None:
        return 0
    size = fetched.records.size
    fetched.records.release()
    return None if fetched.first_is_incomplete else size


def _read(
    replicas: "ReplicaManager",
    partition: "Partition",
    entry: FetchEntry,
    parameters: FetchParameters,
    left: int,
    reading: Reading,
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
    min_one_message = not parameters.has_hard_limit and reading.bytes == 0
    fetched = read(replicas.logs, log, entry.fetch_offset, max(0, max_bytes), parameters.isolation, min_one_message)
    if parameters.is_follower:
        leader.follower_fetched(entry, parameters.replica_id, parameters.replica_epoch)
        data.high_watermark = log.high_watermark
    if fetched.records is not None:
        if fetched.first_is_incomplete and not parameters.has_hard_limit:
            fetched.records.release()
        else:
            data.records = content_of(replicas.logs, fetched.records)
    if parameters.isolation == TXN_COMMITTED:
        data.aborted_transactions = aborted(fetched)
    return data
