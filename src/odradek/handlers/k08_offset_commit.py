"""OffsetCommit, versions 0-10: a group stores how far it has read.

     0  kept offsets in ZooKeeper: UNSUPPORTED_VERSION
     1  generation and member id; a commit timestamp per partition (only here)
     2  a retention time for all offsets in the place of the timestamp
     3  throttle time in the response
     4  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     5  the retention time is gone
     6  leader epoch
     7  group instance id: another one may have taken the member's place (FENCED_INSTANCE_ID)
     8  same fields in the flexible encoding
     9  same fields; a missing group is GROUP_ID_NOT_FOUND, before it was ILLEGAL_GENERATION
    10  topic ids in the place of names

Who may: READ on the group, READ on each topic.
Errors, per partition: those of the coordinator for all of them; UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID and
TOPIC_AUTHORIZATION_FAILED for what is not there or not to be seen; OFFSET_METADATA_TOO_LARGE; ILLEGAL_GENERATION,
UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, REBALANCE_IN_PROGRESS, GROUP_ID_NOT_FOUND of the group.
"""

from odradek.coordinator.group.commit_request import Commit, CommitFrom
from odradek.handlers.call import BrokerCall
from odradek.handlers.serves import serves
from odradek.protocol import errors
from odradek.protocol.field import ZERO_UUID
from odradek.protocol.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from odradek.reactor.pending import Pending
from odradek.security.acl import GROUP, READ, TOPIC

_WITH_TIMESTAMP = 1
_WITH_RETENTION = range(2, 5)
_WITH_TOPIC_IDS = 10

_blank = object.__new__  # a struct without values, as its constructor would make it in twice the time


def refuse_offset_commit(request: OffsetCommitRequest, error: errors.KafkaError, version: int) -> OffsetCommitResponse:
    return OffsetCommitResponse(topics=[_answer(topic, error.code, version) for topic in request.topics])


def _answer(topic: OffsetCommitRequestTopic, code: int, version: int) -> OffsetCommitResponseTopic:
    answer = _blank(OffsetCommitResponseTopic)
    if version >= _WITH_TOPIC_IDS:
        answer.topic_id = topic.topic_id
    else:
        answer.name = topic.name
    answer.partitions = []
    for partition in topic.partitions:
        answered = _blank(OffsetCommitResponsePartition)
        answered.partition_index = partition.partition_index
        answered.error_code = code
        answer.partitions.append(answered)
    return answer


@serves(OffsetCommitRequest, versions="0-10", refuse=refuse_offset_commit)
def offset_commit(
    call: BrokerCall, request: OffsetCommitRequest
) -> OffsetCommitResponse | Pending[OffsetCommitResponse]:
    call.demand(READ, GROUP, request.group_id)
    if call.version == 0:
        raise errors.UnsupportedVersion("Version 0 keeps offsets in ZooKeeper; this broker has none.")
    answers: list[OffsetCommitResponseTopic] = []
    commits: list[Commit] = []
    waiting: list[OffsetCommitResponsePartition] = []  # whose code the coordinator will tell, in the order of `commits`
    for topic in request.topics:
        try:
            name = _named(call, topic)
        except errors.KafkaError as error:
            answers.append(_answer(topic, error.code, call.version))
            continue
        answers.append(answer := _answer(topic, errors.NONE, call.version))
        _take(call, request, topic, name, answer, commits, waiting)
    response = _blank(OffsetCommitResponse)
    response.topics = answers
    if not commits:
        return response
    codes = call.services.groups.commit_offsets(_sender(call, request), commits)
    if not codes.is_done:
        return call.services.loop.spawn(_told_later(response, waiting, codes))
    return _told(response, waiting, codes.value())


async def _told_later(
    response: OffsetCommitResponse, waiting: list[OffsetCommitResponsePartition], codes: Pending[list[int]]
) -> OffsetCommitResponse:
    return _told(response, waiting, await codes)


def _told(
    response: OffsetCommitResponse, waiting: list[OffsetCommitResponsePartition], codes: list[int]
) -> OffsetCommitResponse:
    for partition, code in zip(waiting, codes, strict=True):
        partition.error_code = code
    return response


def _sender(call: BrokerCall, request: OffsetCommitRequest) -> CommitFrom:
    return CommitFrom(
        request.group_id,
        request.generation_id_or_member_epoch,
        request.member_id,
        request.group_instance_id,
        call.version,
    )


def _named(call: BrokerCall, topic: OffsetCommitRequestTopic) -> str:
    is_by_id = call.version >= _WITH_TOPIC_IDS
    name = call.services.metadata.topic_name(topic.topic_id) if is_by_id else topic.name
    if name is None:
        raise errors.UnknownTopicId()
    call.demand(READ, TOPIC, name)
    return name


def _take(
    call: BrokerCall,
    request: OffsetCommitRequest,
    topic: OffsetCommitRequestTopic,
    name: str,
    answer: OffsetCommitResponseTopic,
    commits: list[Commit],
    waiting: list[OffsetCommitResponsePartition],
) -> None:
    version = call.version
    retention_ms = request.retention_time_ms if version in _WITH_RETENTION else -1
    known = call.services.metadata.topic(name)
    topic_id = ZERO_UUID if known is None else known.id  # it is kept, whether the request has named it or not
    for partition, answered in zip(topic.partitions, answer.partitions, strict=True):
        if known is None or partition.partition_index not in known.partitions:
            answered.error_code = errors.UnknownTopicOrPartition.code
            continue
        waiting.append(answered)
        commit = Commit(
            name,
            partition.partition_index,
            partition.committed_offset,
            partition.committed_leader_epoch,
            partition.committed_metadata,
            partition.commit_timestamp if version == _WITH_TIMESTAMP else -1,
            retention_ms,
            topic_id,
        )
        commits.append(commit)
