"""StreamsGroupHeartbeat, version 0: a member of a streams group joins, stays, reconciles tasks and leaves (KIP-1071).

Who may: READ on the group, DESCRIBE on each topic of the topology; the internal topics that are missing are made in
the caller's name if it may CREATE them, on the cluster or each of them. What keeps the group from running is told as a
status, also why an internal topic could not be made.

| what is wrong | error |
|---|---|
| `streams.version` is 0, or the broker does not serve the protocol | UNSUPPORTED_VERSION |
| a field that may not be empty or missing; a topology or a task that is not the group's | INVALID_REQUEST |
| a topology that cannot run whatever topics there are, or names topics of Kafka's own | STREAMS_INVALID_TOPOLOGY |
| no such group, or one of another type | GROUP_ID_NOT_FOUND |
| the group is full | GROUP_MAX_SIZE_REACHED |
| no such member; another epoch than the member's | UNKNOWN_MEMBER_ID; FENCED_MEMBER_EPOCH |
"""

from odradek.coordinator.group.streams.configured import MISSING_INTERNAL_TOPICS
from odradek.coordinator.group.streams.requests import Caller
from odradek.coordinator.group.streams.response import HeartbeatResult
from odradek.handlers.call import BrokerCall
from odradek.handlers.serves import serves
from odradek.handlers.topic_names import is_legal_name
from odradek.protocol import errors
from odradek.protocol.internal_topics import INTERNAL_TOPICS
from odradek.protocol.messages.k88_streams_group_heartbeat import (
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    Topology,
)
from odradek.security.acl import CLUSTER, CLUSTER_NAME, CREATE, DESCRIBE, GROUP, READ, TOPIC

FEATURE = "streams.version"


def refuse_heartbeat(
    request: StreamsGroupHeartbeatRequest, error: errors.KafkaError, version: int
) -> StreamsGroupHeartbeatResponse:
    has_words = isinstance(error, errors.InvalidRequest | errors.StreamsInvalidTopology)
    return StreamsGroupHeartbeatResponse(error_code=error.code, error_message=error.message if has_words else None)


@serves(StreamsGroupHeartbeatRequest, versions="0-0", refuse=refuse_heartbeat)
async def streams_group_heartbeat(
    call: BrokerCall, request: StreamsGroupHeartbeatRequest
) -> StreamsGroupHeartbeatResponse:
    demand_protocol(call)
    call.demand(READ, GROUP, request.group_id)
    if request.topology is not None:
        _check_topics(call, request.topology)
    if not request.group_id:
        raise errors.InvalidRequest("GroupId can't be empty.")
    caller = Caller(call.client_id or "", f"/{call.address[0]}")
    result = await call.services.groups.streams_heartbeat(request, caller)
    if result.missing and result.response.error_code == errors.NONE:
        _create_topics(call, result)
    return result.response


def demand_protocol(call: BrokerCall) -> None:
    """Raises UnsupportedVersion if this cluster or this broker does not serve streams groups."""
    is_enabled = call.services.metadata.finalized_features.get(FEATURE, 0) > 0
    if not is_enabled or not call.services.groups.serves_streams_protocol:
        raise errors.UnsupportedVersion()


def _check_topics(call: BrokerCall, topology: Topology) -> None:
    names = sorted(_topics(topology))
    prohibited = [name for name in names if name in INTERNAL_TOPICS]
    if prohibited:
        raise errors.StreamsInvalidTopology(
            f"Use of Kafka internal topics {','.join(prohibited)} in a Kafka Streams topology is prohibited."
        )
    illegal = [name for name in names if not is_legal_name(name)]
    if illegal:
        raise errors.StreamsInvalidTopology(f"Topic names {','.join(illegal)} are not valid topic names.")
    for name in names:
        call.demand(DESCRIBE, TOPIC, name)


def _topics(topology: Topology) -> set[str]:
    names: set[str] = set()
    for subtopology in topology.subtopologies:
        names.update(subtopology.source_topics)
        names.update(topic.name for topic in subtopology.repartition_source_topics)
        names.update(topic.name for topic in subtopology.state_changelog_topics)
    return names


def _create_topics(call: BrokerCall, result: HeartbeatResult) -> None:
    names = [topic.name for topic in result.missing]
    if not call.authorize(CREATE, CLUSTER, CLUSTER_NAME):
        allowed = call.authorize_all(CREATE, TOPIC, names)
        refused = [name for name in names if name not in allowed]
        if refused:
            _add_detail(result.response, f"Unauthorized to CREATE on topics {', '.join(refused)}.")
            return
    creation = call.services.streams_topics
    failed = creation.failures(result.missing)
    if failed:
        _add_detail(result.response, f"Creation failed: {', '.join(failed)}.")
    creation.create(result.missing, result.response.heartbeat_interval_ms, call.principal, call.client_id)


def _add_detail(response: StreamsGroupHeartbeatResponse, detail: str) -> None:
    for status in response.status or ():
        if status.status_code == MISSING_INTERNAL_TOPICS:
            status.status_detail = f"{status.status_detail}; {detail}"
