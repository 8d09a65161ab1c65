"""ShareFetch and ShareAcknowledge as the client writes them."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from odradek.client.share_consumer.acknowledgement import ranges
from odradek.client.share_consumer.share_fetch_session import ShareStep
from odradek.protocol.declare import Uuid
from odradek.protocol.messages import k78_share_fetch as fetch
from odradek.protocol.messages import k79_share_acknowledge as acknowledge
from odradek.protocol.topic_partition import TopicIdPartition

if TYPE_CHECKING:
    from odradek.client.share_consumer.share_fetcher import ShareFetchConfig

Said = dict[TopicIdPartition, dict[int, int]]  # of partitions, the types by offset

BATCH_OPTIMIZED, RECORD_LIMIT = 0, 1

P = TypeVar("P")


def fetch_request(
    config: "ShareFetchConfig", member_id: str, step: ShareStep, said: Said, max_wait_ms: int
) -> fetch.ShareFetchRequest:
    places = dict.fromkeys([*step.named, *said])
    topics = _by_topic(places, lambda place: _fetched(place, said.get(place, {})))
    return fetch.ShareFetchRequest(
        group_id=config.group_id,
        member_id=member_id,
        share_session_epoch=step.epoch,
        max_wait_ms=max_wait_ms,
        min_bytes=config.min_bytes,
        max_bytes=config.max_bytes,
        max_records=config.records_max,
        batch_size=config.records_max,
        share_acquire_mode=RECORD_LIMIT if config.is_record_limit else BATCH_OPTIMIZED,
        topics=[fetch.FetchTopic(topic_id=Uuid(each), partitions=list(found)) for each, found in topics.items()],
        forgotten_topics_data=[
            fetch.ForgottenTopic(topic_id=Uuid(each), partitions=numbers)
            for each, numbers in _by_topic(step.forgotten, lambda place: place[1]).items()
        ],
    )


def _fetched(place: TopicIdPartition, types: dict[int, int]) -> fetch.FetchPartition:
    batches = [
        fetch.AcknowledgementBatch(first_offset=each[0], last_offset=each[1], acknowledge_types=each[2])
        for each in ranges(types)
    ]
    return fetch.FetchPartition(partition_index=place[1], acknowledgement_batches=batches)


def acknowledge_request(
    group_id: str, member_id: str, epoch: int, said: Said, *, is_renewal: bool
) -> acknowledge.ShareAcknowledgeRequest:
    topics = _by_topic(said, lambda place: _acknowledged(place, said[place]))
    return acknowledge.ShareAcknowledgeRequest(
        group_id=group_id,
        member_id=member_id,
        share_session_epoch=epoch,
        is_renew_ack=is_renewal,
        topics=[acknowledge.AcknowledgeTopic(topic_id=Uuid(each), partitions=found) for each, found in topics.items()],
    )


def _acknowledged(place: TopicIdPartition, types: dict[int, int]) -> acknowledge.AcknowledgePartition:
    batches = [
        acknowledge.AcknowledgementBatch(first_offset=each[0], last_offset=each[1], acknowledge_types=each[2])
        for each in ranges(types)
    ]
    return acknowledge.AcknowledgePartition(partition_index=place[1], acknowledgement_batches=batches)


def _by_topic(places: Iterable[TopicIdPartition], made: Callable[[TopicIdPartition], P]) -> dict[bytes, list[P]]:
    found: dict[bytes, list[P]] = {}
    for place in places:
        found.setdefault(place[0], []).append(made(place))
    return found
