"""DescribeQuorum: the leader tells who votes, who watches and how far each has come. Others refuse."""

from odradek.broken_rule import present
from odradek.protocol import errors
from odradek.protocol.declare import Uuid
from odradek.protocol.messages import k55_describe_quorum as quorum
from odradek.raft.core.roles import Leader, ReplicaProgress
from odradek.raft.driver.replica import Replica
from odradek.raft.keys import NO_DIRECTORY
from odradek.raft.loading import PARTITION, TOPIC

UNKNOWN = -1
DIRECTORIES_SINCE = 2  # the version that tells directory ids and listeners


def describe_quorum(
    replica: Replica, request: quorum.DescribeQuorumRequest, version: int
) -> quorum.DescribeQuorumResponse:
    role = replica.core.role if replica.is_running else None
    if not isinstance(role, Leader):
        return quorum.DescribeQuorumResponse(
            error_code=errors.NotLeaderOrFollower.code, error_message=errors.NotLeaderOrFollower.message
        )
    topics = [_topic(replica, role, topic) for topic in request.topics]
    response = quorum.DescribeQuorumResponse(topics=topics)
    if version >= DIRECTORIES_SINCE:
        response.nodes = _nodes(replica)
    else:
        _forget_directories(response)
    return response


def _forget_directories(response: quorum.DescribeQuorumResponse) -> None:
    for topic in response.topics:
        for partition in topic.partitions:
            for state in (*partition.current_voters, *partition.observers):
                state.replica_directory_id = Uuid(NO_DIRECTORY)


def _topic(replica: Replica, role: Leader, topic: quorum.TopicData) -> quorum.DescribeQuorumResponseTopicData:
    partitions = [_partition(replica, role, topic.topic_name, asked.partition_index) for asked in topic.partitions]
    return quorum.DescribeQuorumResponseTopicData(topic_name=topic.topic_name, partitions=partitions)


def _partition(replica: Replica, role: Leader, topic: str, index: int) -> quorum.DescribeQuorumResponsePartitionData:
    if (topic, index) != (TOPIC, PARTITION):
        return quorum.DescribeQuorumResponsePartitionData(
            partition_index=index,
            error_code=errors.UnknownTopicOrPartition.code,
            error_message=errors.UnknownTopicOrPartition.message,
        )
    return quorum.DescribeQuorumResponsePartitionData(
        partition_index=index,
        leader_id=replica.me.id,
        leader_epoch=role.epoch,
        high_watermark=UNKNOWN if role.high_watermark is None else role.high_watermark,
        current_voters=[_voter(replica, role, voter_id) for voter_id in replica.core.voters.ids],
        observers=[_state(replica, key.id, at) for key, at in sorted(role.observers.items())],
    )


def _voter(replica: Replica, role: Leader, voter_id: int) -> quorum.ReplicaState:
    voter = present(replica.core.voters.get(voter_id), "who votes is among the voters")
    if voter_id == replica.me.id:
        now_ms = replica.wall_ms
        return quorum.ReplicaState(
            replica_id=voter_id,
            replica_directory_id=voter.directory_id,
            log_end_offset=replica.log.log.log_end_offset,
            last_fetch_timestamp=now_ms,
            last_caught_up_timestamp=now_ms,
        )
    state = _state(replica, voter_id, role.voters[voter_id])
    state.replica_directory_id = Uuid(voter.directory_id)
    return state


def _state(replica: Replica, replica_id: int, progress: ReplicaProgress) -> quorum.ReplicaState:
    return quorum.ReplicaState(
        replica_id=replica_id,
        replica_directory_id=progress.directory_id,
        log_end_offset=UNKNOWN if progress.end_offset is None else progress.end_offset,
        last_fetch_timestamp=_wall_ms(replica, progress.last_fetch_ms),
        last_caught_up_timestamp=_wall_ms(replica, progress.last_caught_up_ms),
    )


def _wall_ms(replica: Replica, mono_ms: int | None) -> int:
    """The core counts in time that never jumps; the response wants the time of day."""
    if mono_ms is None:
        return UNKNOWN
    return replica.wall_ms - (replica.now_ms - mono_ms)


def _nodes(replica: Replica) -> list[quorum.Node]:
    return [
        quorum.Node(
            node_id=voter.id,
            listeners=[quorum.Listener(name=at.name, host=at.host, port=at.port) for at in voter.endpoints],
        )
        for voter in replica.core.voters
    ]
