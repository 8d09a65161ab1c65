"""The quorum's requests and responses, to and from events and effects. All of them are about one partition.

A request for another cluster, topic or partition, or for none, is refused as a whole (`Refused`).
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from odradek.broken_rule import BrokenRuleError
from odradek.protocol import errors
from odradek.protocol.declare import Struct
from odradek.protocol.messages import k01_fetch as fetch
from odradek.protocol.messages import k52_vote as vote
from odradek.protocol.messages import k53_begin_quorum_epoch as begin
from odradek.protocol.messages import k54_end_quorum_epoch as end
from odradek.protocol.messages import k59_fetch_snapshot as snapshot
from odradek.protocol.parts import RecordsLike
from odradek.raft.config import RaftConfig
from odradek.raft.core import effects, events
from odradek.raft.core.effects import Answer
from odradek.raft.core.quorum_state import QuorumState
from odradek.raft.core.voters import VoterSet
from odradek.raft.keys import OffsetAndEpoch, ReplicaKey
from odradek.raft.loading import PARTITION, TOPIC, TOPIC_ID

E = TypeVar("E")
P = TypeVar("P")
P_co = TypeVar("P_co", covariant=True)

NOBODY = -1
UNKNOWN = -1
REPLICA_STATE_SINCE = 15  # the version of Fetch that names the replica in a struct


class Refused(errors.KafkaError):
    """The whole request gets this error."""

    def __init__(self, error: type[errors.KafkaError]) -> None:
        super().__init__(error.message)
        self.code = error.code


def ensure_cluster(ours: str | None, theirs: str | None) -> None:
    if theirs is not None and ours is not None and theirs != ours:
        raise Refused(errors.InconsistentClusterId)


class Topic(Protocol[P_co]):
    """Of any of the requests; what its name and its partitions' numbers are called is a matter of each."""

    @property
    def partitions(self) -> Sequence[P_co]: ...


def sole_partition(topics: Sequence[Topic[P]], names: str = "topic_name", indexes: str = "partition_index") -> P:
    """The one partition that a request may be about."""
    if len(topics) != 1 or len(topics[0].partitions) != 1:
        raise Refused(errors.InvalidRequest)
    if getattr(topics[0], names) != TOPIC or getattr(topics[0].partitions[0], indexes) != PARTITION:
        raise Refused(errors.InvalidRequest)
    return topics[0].partitions[0]


def _known(node_id: int) -> int | None:
    return None if node_id < 0 else node_id


def _id(node_id: int | None) -> int:
    return NOBODY if node_id is None else node_id


def answer_of(core: QuorumState, error: type[errors.KafkaError] | None = None) -> Answer:
    """What a request is told that the core has let through: who leads, in which epoch, and maybe an error."""
    return Answer(None, errors.NONE if error is None else error.code, core.leader_id, core.epoch)


# The version of each response from which on it tells where its leader is to be found, and the struct that it does so
# in: five structs with the same fields, one per message.
_ENDPOINTS: dict[type, tuple[int, type[Struct]]] = {
    vote.VoteResponse: (1, vote.NodeEndpoint),
    begin.BeginQuorumEpochResponse: (1, begin.NodeEndpoint),
    end.EndQuorumEpochResponse: (1, end.NodeEndpoint),
    fetch.FetchResponse: (16, fetch.NodeEndpoint),
    snapshot.FetchSnapshotResponse: (1, snapshot.NodeEndpoint),
}


def add_endpoint(response: Any, version: int, leader_id: int | None, voters: VoterSet) -> None:
    """Tells where the leader is, if that is known and the version of this response has a place for it. Any: one of the
    five above, each with a list of structs of its own.
    """
    since, endpoint = _ENDPOINTS[type(response)]
    leader = None if leader_id is None else voters.get(leader_id)
    if version >= since and leader is not None and leader.endpoints:
        at = leader.endpoints[0]
        response.node_endpoints = [endpoint(node_id=leader.id, host=at.host, port=at.port)]


# Vote.


def vote_request(
    effect: effects.SendVote, cluster_id: str | None, me: ReplicaKey, voter: ReplicaKey
) -> vote.VoteRequest:
    partition = vote.PartitionData(
        partition_index=PARTITION,
        replica_epoch=effect.epoch,
        replica_id=me.id,
        replica_directory_id=me.directory_id,
        voter_directory_id=voter.directory_id,
        last_offset_epoch=effect.last.epoch,
        last_offset=effect.last.offset,
        pre_vote=effect.is_pre_vote,
    )
    topic = vote.TopicData(topic_name=TOPIC, partitions=[partition])
    return vote.VoteRequest(cluster_id=cluster_id, voter_id=voter.id, topics=[topic])


def vote_event(request: vote.VoteRequest, cluster_id: str | None, token: object) -> events.VoteRequested:
    ensure_cluster(cluster_id, request.cluster_id)
    asked = sole_partition(request.topics)
    voter = None if request.voter_id < 0 else ReplicaKey(request.voter_id, asked.voter_directory_id)
    return events.VoteRequested(
        token,
        ReplicaKey(asked.replica_id, asked.replica_directory_id),
        asked.replica_epoch,
        OffsetAndEpoch(asked.last_offset, asked.last_offset_epoch),
        asked.pre_vote,
        voter,
    )


def vote_response(answer: Answer) -> vote.VoteResponse:
    partition = vote.VoteResponsePartitionData(
        partition_index=PARTITION,
        error_code=answer.error_code,
        leader_id=_id(answer.leader_id),
        leader_epoch=answer.epoch,
        vote_granted=answer.is_granted,
    )
    return vote.VoteResponse(topics=[vote.VoteResponseTopicData(topic_name=TOPIC, partitions=[partition])])


def vote_answer(response: vote.VoteResponse, effect: effects.SendVote) -> events.VoteAnswered:
    if response.error_code:
        return events.VoteAnswered(effect.to, effect.epoch, effect.is_pre_vote, response.error_code, None, -1, False)
    told = sole_partition(response.topics)
    return events.VoteAnswered(
        effect.to,
        effect.epoch,
        effect.is_pre_vote,
        told.error_code,
        _known(told.leader_id),
        told.leader_epoch,
        told.vote_granted,
    )


# BeginQuorumEpoch and EndQuorumEpoch.


def begin_request(
    effect: effects.SendBeginQuorumEpoch,
    cluster_id: str | None,
    leader: ReplicaKey,
    voter: ReplicaKey,
    voters: VoterSet,
) -> begin.BeginQuorumEpochRequest:
    partition = begin.PartitionData(
        partition_index=PARTITION,
        voter_directory_id=voter.directory_id,
        leader_id=leader.id,
        leader_epoch=effect.epoch,
    )
    return begin.BeginQuorumEpochRequest(
        cluster_id=cluster_id,
        voter_id=voter.id,
        topics=[begin.TopicData(topic_name=TOPIC, partitions=[partition])],
        leader_endpoints=_endpoints(leader.id, voters, begin.LeaderEndpoint),
    )


def _endpoints(node_id: int, voters: VoterSet, kind: Callable[..., E]) -> list[E]:
    voter = voters.get(node_id)
    found = () if voter is None else voter.endpoints
    return [kind(name=at.name, host=at.host, port=at.port) for at in found]


def begin_event(
    request: begin.BeginQuorumEpochRequest, cluster_id: str | None, token: object
) -> events.BeginQuorumEpochRequested:
    ensure_cluster(cluster_id, request.cluster_id)
    asked = sole_partition(request.topics)
    voter = None if request.voter_id < 0 else ReplicaKey(request.voter_id, asked.voter_directory_id)
    return events.BeginQuorumEpochRequested(token, asked.leader_id, asked.leader_epoch, voter)


def begin_response(answer: Answer) -> begin.BeginQuorumEpochResponse:
    partition = begin.BeginQuorumEpochResponsePartitionData(
        partition_index=PARTITION,
        error_code=answer.error_code,
        leader_id=_id(answer.leader_id),
        leader_epoch=answer.epoch,
    )
    topic = begin.BeginQuorumEpochResponseTopicData(topic_name=TOPIC, partitions=[partition])
    return begin.BeginQuorumEpochResponse(topics=[topic])


def end_request(
    effect: effects.SendEndQuorumEpoch, cluster_id: str | None, leader: ReplicaKey, voters: VoterSet
) -> end.EndQuorumEpochRequest:
    candidates = [voter for each in effect.preferred_successors if (voter := voters.get(each)) is not None]
    partition = end.PartitionData(
        partition_index=PARTITION,
        leader_id=leader.id,
        leader_epoch=effect.epoch,
        preferred_successors=list(effect.preferred_successors),
        preferred_candidates=[
            end.ReplicaInfo(candidate_id=voter.id, candidate_directory_id=voter.directory_id) for voter in candidates
        ],
    )
    return end.EndQuorumEpochRequest(
        cluster_id=cluster_id,
        topics=[end.TopicData(topic_name=TOPIC, partitions=[partition])],
        leader_endpoints=_endpoints(leader.id, voters, end.LeaderEndpoint),
    )


def end_event(
    request: end.EndQuorumEpochRequest, cluster_id: str | None, token: object
) -> events.EndQuorumEpochRequested:
    ensure_cluster(cluster_id, request.cluster_id)
    asked = sole_partition(request.topics)
    successors = [candidate.candidate_id for candidate in asked.preferred_candidates] or asked.preferred_successors
    return events.EndQuorumEpochRequested(token, asked.leader_id, asked.leader_epoch, tuple(successors))


def end_response(answer: Answer) -> end.EndQuorumEpochResponse:
    partition = end.EndQuorumEpochResponsePartitionData(
        partition_index=PARTITION,
        error_code=answer.error_code,
        leader_id=_id(answer.leader_id),
        leader_epoch=answer.epoch,
    )
    topic = end.EndQuorumEpochResponseTopicData(topic_name=TOPIC, partitions=[partition])
    return end.EndQuorumEpochResponse(topics=[topic])


_EpochAnswer = begin.BeginQuorumEpochResponsePartitionData | end.EndQuorumEpochResponsePartitionData


def quorum_epoch_answer(
    response: begin.BeginQuorumEpochResponse | end.EndQuorumEpochResponse, to: int, epoch: int
) -> events.QuorumEpochAnswered:
    if response.error_code:
        return events.QuorumEpochAnswered(to, epoch, response.error_code, None, -1)
    topics: list[Topic[_EpochAnswer]] = [*response.topics]
    told = sole_partition(topics)
    return events.QuorumEpochAnswered(to, epoch, told.error_code, _known(told.leader_id), told.leader_epoch)


# Fetch.


def fetch_request(
    effect: effects.SendFetch, cluster_id: str | None, me: ReplicaKey, config: RaftConfig, version: int
) -> fetch.FetchRequest:
    partition = fetch.FetchPartition(
        partition=PARTITION,
        current_leader_epoch=effect.epoch,
        fetch_offset=effect.offset,
        last_fetched_epoch=effect.last_epoch,
        partition_max_bytes=config.fetch_bytes,
        replica_directory_id=me.directory_id,
        high_watermark=effect.high_watermark,
    )
    request = fetch.FetchRequest(
        max_wait_ms=config.fetch_max_wait_ms,
        min_bytes=0,
        max_bytes=config.fetch_bytes,
        cluster_id=cluster_id,
        topics=[fetch.FetchTopic(topic=TOPIC, topic_id=TOPIC_ID, partitions=[partition])],
    )
    if version >= REPLICA_STATE_SINCE:
        request.replica_state = fetch.ReplicaState(replica_id=me.id)
    else:
        request.replica_id = me.id
    return request


def fetched_partition(request: fetch.FetchRequest, cluster_id: str | None) -> fetch.FetchPartition:
    ensure_cluster(cluster_id, request.cluster_id)
    if len(request.topics) != 1 or len(request.topics[0].partitions) != 1:
        raise Refused(errors.InvalidRequest)
    topic = request.topics[0]
    partition: fetch.FetchPartition = topic.partitions[0]
    if (topic.topic != TOPIC and topic.topic_id != TOPIC_ID) or partition.partition != PARTITION:
        raise Refused(errors.InvalidRequest)
    return partition


def fetching_replica(request: fetch.FetchRequest, partition: fetch.FetchPartition) -> ReplicaKey:
    replica_id = max(request.replica_id, request.replica_state.replica_id)
    return ReplicaKey(replica_id, partition.replica_directory_id)


def fetch_response(
    answer: Answer, high_watermark: int, log_start_offset: int, records: bytes = b""
) -> fetch.FetchResponse:
    partition = fetch.PartitionData(
        partition_index=PARTITION,
        error_code=answer.error_code,
        high_watermark=UNKNOWN if answer.error_code else high_watermark,
        log_start_offset=log_start_offset,
        current_leader=fetch.LeaderIdAndEpoch(leader_id=_id(answer.leader_id), leader_epoch=answer.epoch),
        records=records,
    )
    if answer.diverging is not None:
        partition.diverging_epoch = fetch.EpochEndOffset(
            epoch=answer.diverging.epoch, end_offset=answer.diverging.offset
        )
    if answer.snapshot_id is not None:
        partition.snapshot_id = fetch.SnapshotId(end_offset=answer.snapshot_id.offset, epoch=answer.snapshot_id.epoch)
    topic = fetch.FetchableTopicResponse(topic=TOPIC, topic_id=TOPIC_ID, partitions=[partition])
    return fetch.FetchResponse(responses=[topic])


def fetch_answer(response: fetch.FetchResponse, effect: effects.SendFetch) -> events.FetchAnswered:
    if response.error_code:
        return events.FetchAnswered(effect.fetch_id, response.error_code, None, -1, -1, None, None, b"")
    if len(response.responses) != 1 or len(response.responses[0].partitions) != 1:
        raise Refused(errors.InvalidRequest)
    told = response.responses[0].partitions[0]
    diverging, snapshot_id = told.diverging_epoch, told.snapshot_id
    return events.FetchAnswered(
        effect.fetch_id,
        told.error_code,
        _known(told.current_leader.leader_id),
        told.current_leader.leader_epoch,
        told.high_watermark,
        None if diverging.end_offset < 0 else OffsetAndEpoch(diverging.end_offset, diverging.epoch),
        None if snapshot_id.end_offset < 0 else OffsetAndEpoch(snapshot_id.end_offset, snapshot_id.epoch),
        _in_memory(told.records),
    )


def _in_memory(records: RecordsLike | None) -> bytes:
    """A view into the receive buffer dies when its handler waits."""
    if records is None:
        return b""
    if not isinstance(records, (bytes, bytearray, memoryview)):
        raise BrokenRuleError("what was received is no range of a file")
    return bytes(records)


# FetchSnapshot.


def snapshot_request(
    effect: effects.FetchSnapshot, cluster_id: str | None, me: ReplicaKey, position: int, max_bytes: int
) -> snapshot.FetchSnapshotRequest:
    partition = snapshot.PartitionSnapshot(
        partition=PARTITION,
        current_leader_epoch=effect.epoch,
        snapshot_id=snapshot.SnapshotId(end_offset=effect.snapshot_id.offset, epoch=effect.snapshot_id.epoch),
        position=position,
        replica_directory_id=me.directory_id,
    )
    topic = snapshot.TopicSnapshot(name=TOPIC, partitions=[partition])
    return snapshot.FetchSnapshotRequest(cluster_id=cluster_id, replica_id=me.id, max_bytes=max_bytes, topics=[topic])


def asked_snapshot(request: snapshot.FetchSnapshotRequest, cluster_id: str | None) -> snapshot.PartitionSnapshot:
    ensure_cluster(cluster_id, request.cluster_id)
    asked: snapshot.PartitionSnapshot = sole_partition(request.topics, "name", "partition")
    return asked


def snapshot_response(
    answer: Answer, snapshot_id: OffsetAndEpoch, size: int = 0, position: int = 0, data: bytes = b""
) -> snapshot.FetchSnapshotResponse:
    partition = snapshot.FetchSnapshotResponsePartitionSnapshot(
        index=PARTITION,
        error_code=answer.error_code,
        snapshot_id=snapshot.FetchSnapshotResponseSnapshotId(end_offset=snapshot_id.offset, epoch=snapshot_id.epoch),
        size=size,
        position=position,
        unaligned_records=data,
        current_leader=snapshot.LeaderIdAndEpoch(leader_id=_id(answer.leader_id), leader_epoch=answer.epoch),
    )
    topic = snapshot.FetchSnapshotResponseTopicSnapshot(name=TOPIC, partitions=[partition])
    return snapshot.FetchSnapshotResponse(topics=[topic])


def snapshot_piece(
    response: snapshot.FetchSnapshotResponse, effect: effects.FetchSnapshot, position: int
) -> tuple[int, bytes] | events.SnapshotFailed:
    """(size of the whole, bytes); Refused if it is not what was asked for."""
    if response.error_code:
        return events.SnapshotFailed(effect.epoch)
    told = sole_partition(response.topics, "name", "index")
    if told.error_code:
        leader = told.current_leader
        return events.SnapshotFailed(effect.epoch, _known(leader.leader_id), leader.leader_epoch)
    data = _in_memory(told.unaligned_records)
    is_ours = (told.snapshot_id.end_offset, told.snapshot_id.epoch) == effect.snapshot_id
    if not is_ours or told.position != position or not data or position + len(data) > told.size:
        raise Refused(errors.InvalidRequest)
    return told.size, data
