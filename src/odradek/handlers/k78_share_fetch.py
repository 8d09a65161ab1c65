"""ShareFetch, versions 1-2: a share consumer acquires records, and tells what became of earlier ones (KIP-932).

     1  number of records and batch size
     2  acquire mode (KIP-1206); acknowledge type renew and its flag (KIP-1222)

Who may: READ on the group, READ on each topic.

| what is wrong | error |
|---|---|
| `share.version` is 0 | UNSUPPORTED_VERSION |
| a member id that is none; acknowledgements that open a session; a renewal that wants records | INVALID_REQUEST |
| no such session; another epoch than the next | SHARE_SESSION_NOT_FOUND; INVALID_SHARE_SESSION_EPOCH |
| too many sessions | SHARE_SESSION_LIMIT_REACHED |
| per partition: no such topic or partition | UNKNOWN_TOPIC_ID, UNKNOWN_TOPIC_OR_PARTITION |
| per partition: led elsewhere | NOT_LEADER_OR_FOLLOWER |
| per acknowledgement: not acquired, or by another member; nothing is acquired at all | INVALID_RECORD_STATE |
| per acknowledgement: out of order, an unknown type, beyond what was acquired | INVALID_REQUEST |
| per partition: the share coordinator does not answer | COORDINATOR_NOT_AVAILABLE |
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.leader_hints import LeaderHints
from odradek.handlers.serves import serves
from odradek.handlers.share_feature import shares_of
from odradek.handlers.share_requests import HINTED, acknowledged, demand_reader, keep_session, unreadable
from odradek.protocol import errors
from odradek.protocol.declare import Uuid
from odradek.protocol.messages.k78_share_fetch import (
    AcquiredRecords,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)
from odradek.protocol.topic_partition import TopicIdPartition
from odradek.reactor.ports import Cancelled
from odradek.replica.share.delayed import DelayedShareFetch, Fetched, FetchedAll, ShareFetchParameters
from odradek.replica.share.manager import Results
from odradek.replica.share.sessions import FINAL_EPOCH, INITIAL_EPOCH, ShareSession

_RECORD_LIMIT = 1  # the acquire mode that never hands out more than was asked for


def refuse(request: ShareFetchRequest, error: errors.KafkaError, version: int) -> ShareFetchResponse:
    return ShareFetchResponse(error_code=error.code)


@serves(ShareFetchRequest, versions="1-2", refuse=refuse, is_read=True)
async def share_fetch(call: BrokerCall, request: ShareFetchRequest) -> ShareFetchResponse:
    group_id, member_id = demand_reader(call, request.group_id, request.member_id)
    _check(request)
    manager = shares_of(call).partitions
    wanted, refused = acknowledged(call, request.topics, is_renew=request.is_renew_ack)
    epoch = request.share_session_epoch
    session = manager.session(group_id, member_id, epoch)
    if epoch == INITIAL_EPOCH:
        keep_session(call, session)
    _update(session, request)
    told: Results = {**refused, **await manager.acknowledge(group_id, member_id, wanted)}
    fetched: FetchedAll = {}
    if epoch == FINAL_EPOCH:
        manager.close(session)
    elif not request.is_renew_ack:
        fetched = await _fetched(call, session, request)
    lock_ms = manager.config_of(group_id).lock_duration_ms
    return _response(call, told, fetched, lock_ms)


def _check(request: ShareFetchRequest) -> None:
    has_acknowledgements = any(
        partition.acknowledgement_batches for topic in request.topics for partition in topic.partitions
    )
    if request.share_session_epoch == INITIAL_EPOCH and has_acknowledgements:
        raise errors.InvalidRequest("A share session does not begin with acknowledgements.")
    wants_records = request.max_wait_ms or request.min_bytes or request.max_bytes or request.max_records
    if request.is_renew_ack and wants_records:
        raise errors.InvalidRequest("Who renews locks fetches no records with the same request.")


def _update(session: ShareSession, request: ShareFetchRequest) -> None:
    """A partition may be named for its last acknowledgements and be forgotten in the same request."""
    for topic in request.topics:
        for partition in topic.partitions:
            session.places[bytes(topic.topic_id), partition.partition_index] = None
    for forgotten in request.forgotten_topics_data:
        for index in forgotten.partitions:
            session.places.pop((bytes(forgotten.topic_id), index), None)


async def _fetched(call: BrokerCall, session: ShareSession, request: ShareFetchRequest) -> FetchedAll:
    manager = shares_of(call).partitions
    refused: FetchedAll = {}
    for place in list(session.places):  # what is not there is not kept: a session holds no more than the cluster has
        error = unreadable(call, place)
        if error is not None:
            refused[place] = Fetched(error=error)
            del session.places[place]
    parameters = ShareFetchParameters(
        0 if refused else request.max_wait_ms,
        request.min_bytes,
        min(request.max_bytes, call.services.replicas.config.fetch_max_bytes),
        request.max_records,
        request.batch_size,
        request.share_acquire_mode == _RECORD_LIMIT,
    )
    waiting = DelayedShareFetch(manager, session, parameters).start()
    try:
        fetched: FetchedAll = await waiting
    except Cancelled:
        waiting.cancel()
        raise
    return {**refused, **fetched}


# The answer


def _response(call: BrokerCall, told: Results, fetched: FetchedAll, lock_ms: int) -> ShareFetchResponse:
    hints = LeaderHints(call)
    topics: dict[bytes, list[PartitionData]] = {}
    for place in dict.fromkeys([*told, *fetched]):
        data = _data(place, told.get(place), fetched.get(place, Fetched()))
        if data.error_code in HINTED or data.acknowledge_error_code in HINTED:
            leader_id, leader_epoch = hints.leader_of(*place)
            data.current_leader = LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=leader_epoch)
        topics.setdefault(place[0], []).append(data)
    return ShareFetchResponse(
        acquisition_lock_timeout_ms=lock_ms,
        responses=[
            ShareFetchableTopicResponse(topic_id=Uuid(topic_id), partitions=partitions)
            for topic_id, partitions in topics.items()
        ],
        node_endpoints=[
            NodeEndpoint(node_id=node, host=host, port=port, rack=rack) for node, host, port, rack in hints.endpoints()
        ],
    )


def _data(place: TopicIdPartition, refusal: errors.KafkaError | None, fetched: Fetched) -> PartitionData:
    data = PartitionData(partition_index=place[1], records=fetched.records)
    if refusal is not None:
        data.acknowledge_error_code, data.acknowledge_error_message = refusal.code, refusal.message
    if fetched.error is not None:
        data.error_code, data.error_message = fetched.error.code, fetched.error.message
    data.acquired_records = [
        AcquiredRecords(first_offset=first, last_offset=last, delivery_count=count)
        for first, last, count in fetched.acquired
    ]
    return data
