"""What ShareFetch and ShareAcknowledge have in common: who asks, and what became of records."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from odradek.handlers.call import BrokerCall
from odradek.handlers.share_feature import MEMBER_ID_CHARACTERS_MAX, demand_share_groups, shares_of
from odradek.protocol import errors
from odradek.protocol.topic_partition import TopicIdPartition
from odradek.replica.share.manager import Results
from odradek.replica.share.partition import RENEW, TYPES, Acknowledgement
from odradek.replica.share.sessions import ShareSession
from odradek.security.acl import GROUP, READ, TOPIC

if TYPE_CHECKING:
    from odradek.protocol.messages.k78_share_fetch import FetchTopic
    from odradek.protocol.messages.k79_share_acknowledge import AcknowledgeTopic

RENEW_VERSION_MIN = 2

HINTED = (errors.NotLeaderOrFollower.code, errors.FencedLeaderEpoch.code)


def demand_reader(call: BrokerCall, group_id: str | None, member_id: str | None) -> tuple[str, str]:
    """Checks that the caller may read in the group. Returns the ids of the group and of the member."""
    demand_share_groups(call)
    call.demand(READ, GROUP, group_id or "")
    if group_id is None or not member_id or len(member_id) > MEMBER_ID_CHARACTERS_MAX:
        raise errors.InvalidRequest()
    return group_id, member_id


def keep_session(call: BrokerCall, session: ShareSession) -> None:
    """Lets the session end with the connection, and the connection forget the session if that ends first."""
    connection, manager = call.connection, shares_of(call).partitions

    def closed() -> None:
        manager.close(session)

    session.when_removed = lambda: connection.forget_when_closed(closed)
    connection.when_closed(closed)


def acknowledged(
    call: BrokerCall, topics: "Iterable[FetchTopic | AcknowledgeTopic]", *, is_renew: bool
) -> tuple[dict[TopicIdPartition, list[Acknowledgement]], Results]:
    """What a request acknowledges, by share-partition; and the share-partitions that are refused unseen."""
    wanted: dict[TopicIdPartition, list[Acknowledgement]] = {}
    refused: Results = {}
    for topic in topics:
        topic_id = bytes(topic.topic_id)
        error = hidden(call, topic_id)
        for partition in topic.partitions:
            if not partition.acknowledgement_batches:
                continue
            place = (topic_id, partition.partition_index)
            batches = [
                Acknowledgement(each.first_offset, each.last_offset, tuple(each.acknowledge_types))
                for each in partition.acknowledgement_batches
            ]
            reason = error or _wrong(batches, has_renew=call.version >= RENEW_VERSION_MIN and is_renew)
            if reason is not None:
                refused[place] = reason
            else:
                wanted[place] = batches
    return wanted, refused


def unreadable(call: BrokerCall, place: TopicIdPartition) -> errors.KafkaError | None:
    """Why the caller gets nothing of a partition, on whatever broker it asks."""
    topic_id, index = place
    topic = call.services.metadata.topic_by_id(topic_id)
    is_missing = topic is not None and index not in topic.partitions
    return hidden(call, topic_id) or (errors.UnknownTopicOrPartition() if is_missing else None)


def hidden(call: BrokerCall, topic_id: bytes) -> errors.KafkaError | None:
    """Why the caller gets nothing of a topic."""
    name = call.services.replicas.topic_name(topic_id)
    if name is None:
        return errors.UnknownTopicId()
    return None if call.authorize(READ, TOPIC, name) else errors.TopicAuthorizationFailed()


def _wrong(batches: list[Acknowledgement], *, has_renew: bool) -> errors.KafkaError | None:
    last = -1
    for first_offset, last_offset, types in batches:
        if first_offset > last_offset or first_offset <= last:
            return errors.InvalidRequest("Batches of acknowledgements are in order and hold something.")
        if not types or (len(types) > 1 and len(types) != last_offset - first_offset + 1):
            return errors.InvalidRequest("There is one acknowledge type, or one for each record.")
        if any(kind not in TYPES or (kind == RENEW and not has_renew) for kind in types):
            return errors.InvalidRequest("Invalid acknowledge type.")
        last = last_offset
    return None
