"""OffsetFetch, versions 0-10: how far a group has read.

     0  read offsets from ZooKeeper: UNSUPPORTED_VERSION
     1  same fields; offsets come from __consumer_offsets
     2  null topics ask for all; an error for the whole answer, which was told at each partition before
     3  throttle time in the response
     4  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     5  response: leader epoch
     6  same fields in the flexible encoding
     7  require_stable: UNSTABLE_OFFSET_COMMIT where an open transaction may change the offset
     8  several groups, each with its topics and its error
     9  member id and member epoch, which concern groups of the consumer protocol
    10  topic ids in the place of names

Who may: DESCRIBE on each group, DESCRIBE on each topic; topics that may not be seen are left out of "all".
Errors: those of the coordinator and GROUP_AUTHORIZATION_FAILED per group; TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_ID
and UNSTABLE_OFFSET_COMMIT per partition. What a group has not committed is offset -1, without an error.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from odradek.coordinator.group.offset_fetch import FetchedOffset
from odradek.handlers.call import BrokerCall
from odradek.handlers.serves import serves
from odradek.protocol import errors
from odradek.protocol.declare import Uuid
from odradek.protocol.field import ZERO_UUID
from odradek.protocol.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from odradek.security.acl import DESCRIBE, GROUP, TOPIC

_WITH_GROUP_ERROR = 2
_WITH_GROUPS = 8
_WITH_TOPIC_IDS = 10
_NO_OFFSET = -1
_NO_EPOCH = -1

P = TypeVar("P", OffsetFetchResponsePartition, OffsetFetchResponsePartitions)

_Asked = Sequence[OffsetFetchRequestTopic | OffsetFetchRequestTopics] | None


class _Topic(NamedTuple):
    """A topic of an answer, in any version."""

    name: str
    topic_id: bytes
    partitions: list[FetchedOffset]


def refuse_offset_fetch(request: OffsetFetchRequest, error: errors.KafkaError, version: int) -> OffsetFetchResponse:
    if version >= _WITH_GROUPS:
        groups = [OffsetFetchResponseGroup(group_id=each.group_id, error_code=error.code) for each in request.groups]
        return OffsetFetchResponse(groups=groups)
    if version >= _WITH_GROUP_ERROR:
        return OffsetFetchResponse(error_code=error.code)
    topics = [
        _Topic(topic.name, ZERO_UUID, [FetchedOffset(index, None, error.code) for index in topic.partition_indexes])
        for topic in request.topics or ()
    ]
    return OffsetFetchResponse(topics=_of_one_group(topics))


@serves(OffsetFetchRequest, versions="0-10", refuse=refuse_offset_fetch)
async def offset_fetch(call: BrokerCall, request: OffsetFetchRequest) -> OffsetFetchResponse:
    if call.version == 0:
        call.demand(DESCRIBE, GROUP, request.group_id)
        raise errors.UnsupportedVersion("Version 0 reads offsets from ZooKeeper; this broker has none.")
    if call.version < _WITH_GROUPS:
        fetched = await _fetch(call, request.group_id, request.topics, request.require_stable)
        return OffsetFetchResponse(topics=_of_one_group(fetched))
    groups = []
    for asked in request.groups:
        group = OffsetFetchResponseGroup(group_id=asked.group_id)
        groups.append(group)
        try:
            fetched = await _fetch(
                call, asked.group_id, asked.topics, request.require_stable, asked.member_id, asked.member_epoch
            )
            group.topics = _of_many_groups(fetched)
        except errors.KafkaError as error:
            group.error_code = error.code
    return OffsetFetchResponse(groups=groups)


async def _fetch(
    call: BrokerCall,
    group_id: str,
    asked: _Asked,
    require_stable: bool,
    member_id: str | None = None,
    member_epoch: int = -1,
) -> list[_Topic]:
    call.demand(DESCRIBE, GROUP, group_id)
    groups = call.services.groups
    fetch = partial(
        groups.fetch_offsets,
        group_id,
        require_stable=require_stable,
        member_id=member_id,
        member_epoch=member_epoch,
    )
    if asked is None:
        return _seen_of_all(call, await fetch(None))
    answers = [_asked_topic(call, topic) for topic in asked]
    wanted = [
        (answer.name, topic.partition_indexes) for topic, answer in zip(asked, answers, strict=True) if not answer[2]
    ]
    fetched = iter(await fetch(wanted))
    return [answer if answer.partitions else answer._replace(partitions=next(fetched)[1]) for answer in answers]


def _asked_topic(call: BrokerCall, topic: OffsetFetchRequestTopic | OffsetFetchRequestTopics) -> _Topic:
    """The topic of the answer; with its partitions if they are refused, else without."""
    name, topic_id = topic.name, ZERO_UUID
    if call.version >= _WITH_TOPIC_IDS and isinstance(topic, OffsetFetchRequestTopics):
        topic_id = topic.topic_id
        found = call.services.metadata.topic_name(topic_id)
        if found is None:
            return _refused(topic, "", topic_id, errors.UnknownTopicId)
        name = found
    if not call.authorize(DESCRIBE, TOPIC, name):
        return _refused(topic, name, topic_id, errors.TopicAuthorizationFailed)
    return _Topic(name, topic_id, [])


def _refused(
    topic: OffsetFetchRequestTopic | OffsetFetchRequestTopics,
    name: str,
    topic_id: bytes,
    error: type[errors.KafkaError],
) -> _Topic:
    return _Topic(name, topic_id, [FetchedOffset(index, None, error.code) for index in topic.partition_indexes])


def _seen_of_all(call: BrokerCall, fetched: list[tuple[str, list[FetchedOffset]]]) -> list[_Topic]:
    topics = []
    for name, partitions in fetched:
        if not call.authorize(DESCRIBE, TOPIC, name):
            continue
        topic_id = call.services.metadata.topic_id(name) if call.version >= _WITH_TOPIC_IDS else ZERO_UUID
        if topic_id is not None:  # else it is gone, and has no id that could be told
            topics.append(_Topic(name, topic_id, partitions))
    return topics


def _of_one_group(topics: list[_Topic]) -> list[OffsetFetchResponseTopic]:
    return [
        OffsetFetchResponseTopic(
            name=topic.name,
            partitions=[_told(OffsetFetchResponsePartition(), fetched) for fetched in topic.partitions],
        )
        for topic in topics
    ]


def _of_many_groups(topics: list[_Topic]) -> list[OffsetFetchResponseTopics]:
    return [
        OffsetFetchResponseTopics(
            name=topic.name,
            topic_id=Uuid(topic.topic_id),
            partitions=[_told(OffsetFetchResponsePartitions(), fetched) for fetched in topic.partitions],
        )
        for topic in topics
    ]


def _told(partition: P, fetched: FetchedOffset) -> P:
    committed = fetched.committed
    partition.partition_index = fetched.partition
    partition.error_code = fetched.error_code
    partition.committed_offset = _NO_OFFSET if committed is None else committed.offset
    partition.committed_leader_epoch = _NO_EPOCH if committed is None else committed.leader_epoch
    partition.metadata = "" if committed is None else committed.metadata
    return partition
