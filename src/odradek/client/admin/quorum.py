"""The quorum of controllers that keeps the cluster's metadata, and brokers that are gone for good."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from odradek.channel.core import ANY_BROKER
from odradek.client.admin.asking import Asker
from odradek.client.admin.routing import CONTROLLER_PASSING
from odradek.protocol.declare import Uuid
from odradek.protocol.errors import RequestTimedOut, UnknownServerError, raise_for
from odradek.protocol.internal_topics import CLUSTER_METADATA_TOPIC
from odradek.protocol.messages import k55_describe_quorum as wire
from odradek.protocol.messages.k64_unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse
from odradek.protocol.messages.k80_add_raft_voter import AddRaftVoterRequest, AddRaftVoterResponse, Listener
from odradek.protocol.messages.k81_remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse
from odradek.protocol.uuids import format_uuid, parse_uuid


class RaftVoterEndpoint(NamedTuple):
    """Where a controller listens; `name` is that of the listener."""

    name: str
    host: str
    port: int


class ReplicaState(NamedTuple):
    """How far a controller or broker has read the metadata log. The times, in milliseconds since 1970, are None if they
    are not known; the leader's own are those of the answer.
    """

    replica_id: int
    directory_id: str
    log_end_offset: int
    last_fetch_timestamp_ms: int | None
    last_caught_up_timestamp_ms: int | None


class QuorumInfo(NamedTuple):
    """`nodes`: where the voters listen."""

    leader_id: int
    leader_epoch: int
    high_watermark: int
    voters: tuple[ReplicaState, ...]
    observers: tuple[ReplicaState, ...]
    nodes: Mapping[int, tuple[RaftVoterEndpoint, ...]]


async def describe_metadata_quorum(asker: Asker, *, timeout: float | None = None) -> QuorumInfo:
    partition = wire.PartitionData(partition_index=0)
    topic = wire.TopicData(topic_name=CLUSTER_METADATA_TOPIC, partitions=[partition])
    request = wire.DescribeQuorumRequest(topics=[topic])

    async def attempt(timeout_ms: int) -> QuorumInfo:
        response = await asker.send(ANY_BROKER, request, wire.DescribeQuorumResponse, timeout_ms)
        raise_for(response.error_code, response.error_message or None)
        return _described(response)

    return await asker.one(attempt, timeout=timeout, passing=CONTROLLER_PASSING)


async def add_raft_voter(
    asker: Asker,
    voter_id: int,
    voter_directory_id: str,
    endpoints: Iterable[RaftVoterEndpoint],
    *,
    cluster_id: str | None = None,
    timeout: float | None = None,
) -> None:
    """Gives a controller a vote. With `cluster_id` only if it is that cluster."""
    listeners = [Listener(name=name, host=host, port=port) for name, host, port in endpoints]
    directory_id = Uuid(parse_uuid(voter_directory_id))

    async def attempt(timeout_ms: int) -> None:
        request = AddRaftVoterRequest(
            cluster_id=cluster_id,
            timeout_ms=timeout_ms,
            voter_id=voter_id,
            voter_directory_id=directory_id,
            listeners=listeners,
        )
        response = await asker.send(ANY_BROKER, request, AddRaftVoterResponse, timeout_ms)
        raise_for(response.error_code, response.error_message or None)

    await asker.one(attempt, timeout=timeout, passing=CONTROLLER_PASSING)


async def remove_raft_voter(
    asker: Asker,
    voter_id: int,
    voter_directory_id: str,
    *,
    cluster_id: str | None = None,
    timeout: float | None = None,
) -> None:
    """Takes a controller's vote away. With `cluster_id` only if it is that cluster."""
    request = RemoveRaftVoterRequest(
        cluster_id=cluster_id, voter_id=voter_id, voter_directory_id=Uuid(parse_uuid(voter_directory_id))
    )

    async def attempt(timeout_ms: int) -> None:
        response = await asker.send(ANY_BROKER, request, RemoveRaftVoterResponse, timeout_ms)
        raise_for(response.error_code, response.error_message or None)

    await asker.one(attempt, timeout=timeout, passing=CONTROLLER_PASSING)


async def unregister_broker(asker: Asker, broker_id: int, *, timeout: float | None = None) -> None:
    """Has the cluster forget a broker that will not come back."""
    request = UnregisterBrokerRequest(broker_id=broker_id)

    async def attempt(timeout_ms: int) -> None:
        response = await asker.send(ANY_BROKER, request, UnregisterBrokerResponse, timeout_ms)
        raise_for(response.error_code, response.error_message or None)

    await asker.one(attempt, timeout=timeout, passing=(*CONTROLLER_PASSING, RequestTimedOut))


def _described(response: wire.DescribeQuorumResponse) -> QuorumInfo:
    partitions = [each for topic in response.topics for each in topic.partitions]
    if [topic.topic_name for topic in response.topics] != [CLUSTER_METADATA_TOPIC] or len(partitions) != 1:
        raise UnknownServerError("The broker's answer is about something else than the metadata log.")
    found = partitions[0]
    raise_for(found.error_code, found.error_message or None)
    return QuorumInfo(
        found.leader_id,
        found.leader_epoch,
        found.high_watermark,
        tuple(map(_replica, found.current_voters)),
        tuple(map(_replica, found.observers)),
        {
            node.node_id: tuple(RaftVoterEndpoint(each.name, each.host, each.port) for each in node.listeners)
            for node in response.nodes
        },
    )


def _replica(replica: wire.ReplicaState) -> ReplicaState:
    return ReplicaState(
        replica.replica_id,
        format_uuid(replica.replica_directory_id),
        replica.log_end_offset,
        _if_known(replica.last_fetch_timestamp),
        _if_known(replica.last_caught_up_timestamp),
    )


def _if_known(timestamp_ms: int) -> int | None:
    return None if timestamp_ms < 0 else timestamp_ms
