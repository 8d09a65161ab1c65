"""DescribeQuorum: the leader tells who votes, who watches and how far each has come. Others refuse."""

from typing import TYPE_CHECKING

from odradek.protocol import errors
from odradek.protocol.declare import Uuid
from odradek.protocol.messages import k55_describe_quorum as quorum
from odradek.raft.keys import NO_DIRECTORY
from odradek.raft.loading import PARTITION, TOPIC
from odradek.raft.roles import Leader, ReplicaProgress

if TYPE_CHECKING:
    from odradek.raft.client import RaftClient

UNKNOWN = -1
DIRECTORIES_SINCE = 2  # the version that tells directory ids and listeners


def describe_quorum(
    client: "RaftClient", request: quorum.DescribeQuorumRequest, version: int
) -> quorum.DescribeQuorumResponse:
    role = client.core.role if client.is_running else None
    if not isinstance(role, Leader):
        return quorum.DescribeQuorumResponse(
            error_code=errors.NotLeaderOrFollower.code, error_message=errors.NotLeaderOrFollower.message
        )
    topics = [_topic(client, role, topic) for topic in request.topics]
    response = quorum.DescribeQuorumResponse(topics=topics)
    if version >= DIRECTORIES_SINCE:
        response.nodes = _nodes(client)
    else:
        _forget_directories(response)
    return response


def _forget_directories(response: quorum.DescribeQuorumResponse) -> None:
    for topic in response.topics:
        for partition in topic.partitions:
            for state in (*partition.current_voters, *partition.observers):
                state.replica_directory_id = Uuid(NO_DIRECTORY)


def _topic(client: "RaftClient", role: Leader, topic: quorum.TopicData) -> quorum.DescribeQuorumResponseTopicData:
    partitions = [_partition(client, role, topic.topic_name, asked.partition_index) for asked in topic.partitions]
    return quorum.DescribeQuorumResponseTopicData(topic_name=topic.topic_name, partitions=partitions)


def _partition(
    client: "RaftClient", role: Leader, topic: str, index: int
) -> quorum.DescribeQuorumResponsePartitionData:
    if (topic, index) != (TOPIC, PARTITION):
        return quorum.DescribeQuorumResponsePartitionData(
            partition_index=index,
            error_code=errors.UnknownTopicOrPartition.code,
            error_message=errors.UnknownTopicOrPartition.message,
        )
    return quorum.DescribeQuorumResponsePartitionData(
        partition_index=index,
        leader_id=client.me.id,
        leader_epoch=role.epoch,
        high_watermark=UNKNOWN if role.high_watermark is None else role.high_watermark,
        current_voters=[_voter(client, role, voter_id) for voter_id in client.voters.ids],
        observers=[_state(client, key.id, at) for key, at in sorted(role.observers.items())],
    )


def _voter(client: "RaftClient", role: Leader, voter_id: int) -> quorum.ReplicaState:
    voter = client.voters.get(voter_id)
    assert voter is not None
    if voter_id == client.me.id:
        now_ms = client.loop.ports.clock.wall_ms()
        return quorum.ReplicaState(
            replica_id=voter_id,
            replica_directory_id=voter.directory_id,
            log_end_offset=client.log_end_offset,
            last_fetch_timestamp=now_ms,
            last_caught_up_timestamp=now_ms,
        )
    state = _state(client, voter_id, role.voters[voter_id])
    state.replica_directory_id = Uuid(voter.directory_id)
    return state


def _state(client: "RaftClient", replica_id: int, progress: ReplicaProgress) -> quorum.ReplicaState:
    return quorum.ReplicaState(
        replica_id=replica_id,
        replica_directory_id=progress.directory_id,
        log_end_offset=UNKNOWN if progress.end_offset is None else progress.end_offset,
        last_fetch_timestamp=_wall_ms(client, progress.last_fetch_ms),
        last_caught_up_timestamp=_wall_ms(client, progress.last_caught_up_ms),
    )


def _wall_ms(client: "RaftClient", mono_ms: int | None) -> int:
    """The core counts in time that never jumps; the response wants the time of day."""
    if mono_ms is None:
        return UNKNOWN
    clock = client.loop.ports.clock
    return clock.wall_ms() - (clock.mono_ms() - mono_ms)


def _nodes(client: "RaftClient") -> list[quorum.Node]:
    return [
        quorum.Node(
            node_id=voter.id,
            listeners=[quorum.Listener(name=at.name, host=at.host, port=at.port) for at in voter.endpoints],
        )
        for voter in client.voters
    ]
