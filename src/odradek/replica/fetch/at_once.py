"""A fetch of one partition without a session that can be answered at once: what a busy consumer of librdkafka sends.

It says what the long way (`in_session.py`, `delayed.py`) would say, without the session, the entry and the wait, none
of which would live longer than the call. Both read through the same functions. Whatever is unusual makes it step aside
before it has counted or answered anything: then the long way tells what it is. A property test holds both equal.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from odradek.log.failure import NotInCache
from odradek.log.manager.reading import content_of, read
from odradek.log.read import HIGH_WATERMARK, TXN_COMMITTED
from odradek.protocol import errors
from odradek.protocol.messages.k01_fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from odradek.replica.fetch.parameters import READ_COMMITTED, READ_UNCOMMITTED, TOPIC_ID_VERSION_MIN
from odradek.replica.fetch.partition_data import aborted, blank, release, size_of, told_of
from odradek.replica.fetch.session import FINAL_EPOCH, NO_SESSION

if TYPE_CHECKING:
    from odradek.replica.manager import ReplicaManager
    from odradek.replica.partition import Partition

VERSION_MIN = 10  # older readers may need their records converted


def fetch_at_once(
    replicas: "ReplicaManager", request: FetchRequest, version: int, is_allowed: Callable[[str], bool] | None = None
) -> FetchResponse | None:
    """None if it must go the long way. The caller has seen that this is no follower. `is_allowed` says whether the
    reader may read a topic, by its name; None is everything.

    It is asked last, for what would be answered: whoever is sent the long way is asked about there, and only there.
    TopicAuthorizationFailed if it says no.
    """
    topics = request.topics
    if len(topics) != 1 or request.session_epoch != FINAL_EPOCH or request.session_id != NO_SESSION:
        return None
    if not READ_UNCOMMITTED <= request.isolation_level <= READ_COMMITTED:
        return None
    topic = topics[0]
    hosted = replicas.by_id.get(topic.topic_id) if version >= TOPIC_ID_VERSION_MIN else replicas.topics.get(topic.topic)
    if hosted is None or len(topic.partitions) != 1:
        return None
    asked = topic.partitions[0]
    partition = hosted.partitions.get(asked.partition)
    if partition is None or asked.last_fetched_epoch >= 0:
        return None
    try:
        data = _read(replicas, partition, asked, request)
    except (errors.KafkaError, NotInCache):
        return None
    if data is None:
        return None
    if is_allowed is not None and not is_allowed(hosted.name):
        release(data)
        raise errors.TopicAuthorizationFailed
    hosted.counters.fetches.count += 1
    hosted.counters.bytes_out.count += size_of(data)
    return _response(topic, data, version)


def _read(
    replicas: "ReplicaManager", partition: "Partition", asked: FetchPartition, request: FetchRequest
) -> PartitionData | None:
    log = partition.leading(asked.current_leader_epoch).log
    offset = asked.fetch_offset
    if offset >= log.high_watermark:
        return None  # there is nothing to read yet
    bytes_max = replicas.config.fetch_max_bytes
    max_bytes = request.max_bytes if request.max_bytes < bytes_max else bytes_max
    room = asked.partition_max_bytes if asked.partition_max_bytes < max_bytes else max_bytes
    isolation = TXN_COMMITTED if request.isolation_level == READ_COMMITTED else HIGH_WATERMARK
    logs = replicas.logs
    fetched = read(logs, log, offset, room if room > 0 else 0, isolation)
    records = fetched.records
    if records is None:
        return None
    size = records.size
    if size < request.min_bytes and size < max_bytes and request.max_wait_ms > 0:
        records.release()
        return None
    data = told_of(log, asked.partition)
    data.records = content_of(logs, records)
    if isolation == TXN_COMMITTED:
        data.aborted_transactions = aborted(fetched)
    return data


def _response(topic: FetchTopic, data: PartitionData, version: int) -> FetchResponse:
    told = blank(FetchableTopicResponse)
    if version >= TOPIC_ID_VERSION_MIN:
        told.topic_id = topic.topic_id
    else:
        told.topic = topic.topic
    told.partitions = [data]
    response = blank(FetchResponse)
    response.responses = [told]
    response.session_id = NO_SESSION
    return response
