"""ShareAcknowledge, versions 1-2: a share consumer tells what became of records, without fetching more (KIP-932).

     1  the first stable version
     2  acknowledge type renew and its flag; response: acquisition lock timeout (KIP-1222)

Who may: READ on the group, READ on each topic.

| what is wrong | error |
|---|---|
| `share.version` is 0 | UNSUPPORTED_VERSION |
| a member id that is none | INVALID_REQUEST |
| no such session; another epoch than the next, or 0 | SHARE_SESSION_NOT_FOUND; INVALID_SHARE_SESSION_EPOCH |
| per partition: as in ShareFetch | |
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.leader_hints import LeaderHints
from odradek.handlers.serves import serves
from odradek.handlers.share_feature import shares_of
from odradek.handlers.share_requests import HINTED, acknowledged, demand_reader
from odradek.protocol import errors
from odradek.protocol.declare import Uuid
from odradek.protocol.messages.k79_share_acknowledge import (
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)
from odradek.replica.share.manager import Results
from odradek.replica.share.sessions import FINAL_EPOCH, INITIAL_EPOCH


def refuse(request: ShareAcknowledgeRequest, error: errors.KafkaError, version: int) -> ShareAcknowledgeResponse:
    return ShareAcknowledgeResponse(error_code=error.code)


@serves(ShareAcknowledgeRequest, versions="1-2", refuse=refuse)
async def share_acknowledge(call: BrokerCall, request: ShareAcknowledgeRequest) -> ShareAcknowledgeResponse:
    group_id, member_id = demand_reader(call, request.group_id, request.member_id)
    epoch = request.share_session_epoch
    if epoch == INITIAL_EPOCH:
        raise errors.InvalidShareSessionEpoch()  # only a fetch opens a session
    manager = shares_of(call).partitions
    wanted, refused = acknowledged(call, request.topics, is_renew=request.is_renew_ack)
    session = manager.sessions.next(group_id, member_id, epoch)
    told: Results = {**refused, **await manager.acknowledge(group_id, member_id, wanted)}
    if epoch == FINAL_EPOCH:
        manager.close(session)
    response = _response(call, told)
    response.acquisition_lock_timeout_ms = manager.config_of(group_id).lock_duration_ms
    return response


def _response(call: BrokerCall, told: Results) -> ShareAcknowledgeResponse:
    hints = LeaderHints(call)
    topics: dict[bytes, list[PartitionData]] = {}
    for place, refusal in told.items():
        data = PartitionData(partition_index=place[1])
        if refusal is not None:
            data.error_code, data.error_message = refusal.code, refusal.message
        if data.error_code in HINTED:
            leader_id, leader_epoch = hints.leader_of(*place)
            data.current_leader = LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=leader_epoch)
        topics.setdefault(place[0], []).append(data)
    return ShareAcknowledgeResponse(
        responses=[
            ShareAcknowledgeTopicResponse(topic_id=Uuid(topic_id), partitions=partitions)
            for topic_id, partitions in topics.items()
        ],
        node_endpoints=[
            NodeEndpoint(node_id=node, host=host, port=port, rack=rack) for node, host, port, rack in hints.endpoints()
        ],
    )
