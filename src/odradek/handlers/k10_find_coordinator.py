"""FindCoordinator, versions 0-6: the broker that coordinates a group or a transactional id.

     1  key type; error message and throttle time in the response
     2  same fields; a throttled answer is sent at once and the client does the waiting (KIP-219)
     3  same fields in the flexible encoding
     4  several keys of one type, one result each
     5  same fields; TRANSACTION_ABORTABLE may be answered (KIP-890)
     6  same fields; key type 2, for the state of share groups

Any broker answers: it is the leader of the partition of the internal topic that the key hashes to. The topic is created
when it is first asked for; until it is there the answer is COORDINATOR_NOT_AVAILABLE, and clients come again.

Who may: DESCRIBE on the group or transactional id; CLUSTER_ACTION on the cluster for the state of share groups.
Errors: INVALID_REQUEST for a key type that is not served or a key that is none of its type,
COORDINATOR_NOT_AVAILABLE, authorization.
"""

from odradek.handlers.call import BrokerCall
from odradek.handlers.serves import serves
from odradek.protocol import errors
from odradek.protocol.internal_topics import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTION_STATE_TOPIC
from odradek.protocol.java_hash import partition_of
from odradek.protocol.messages.k10_find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from odradek.security.acl import CLUSTER, CLUSTER_ACTION, CLUSTER_NAME, DESCRIBE, GROUP, TRANSACTIONAL_ID

_WITH_MANY_KEYS = 4
_WITH_SHARE_STATE = 6
_SHARE = 2
_NOBODY = -1
_NO_ERROR = "NONE"  # what a broker says to one key; to several it says nothing

# By the key type: whom a caller has to be allowed to see, and the topic that the coordinator keeps its state in.
_OF_TYPE = {0: (GROUP, OFFSETS_TOPIC), 1: (TRANSACTIONAL_ID, TRANSACTION_STATE_TOPIC)}


def refuse_find_coordinator(
    request: FindCoordinatorRequest, error: errors.KafkaError, version: int
) -> FindCoordinatorResponse:
    if version >= _WITH_MANY_KEYS:
        return FindCoordinatorResponse(coordinators=[_failed(key, error) for key in request.coordinator_keys])
    return _alone(_failed(request.key, error), version)


def _failed(key: str, error: errors.KafkaError) -> Coordinator:
    return Coordinator(
        key=key, node_id=_NOBODY, host="", port=_NOBODY, error_code=error.code, error_message=error.message
    )


def _alone(coordinator: Coordinator, version: int) -> FindCoordinatorResponse:
    response = FindCoordinatorResponse(
        error_code=coordinator.error_code,
        node_id=coordinator.node_id,
        host=coordinator.host,
        port=coordinator.port,
    )
    if version >= 1:
        response.error_message = coordinator.error_message or _NO_ERROR
    return response


@serves(FindCoordinatorRequest, versions="0-6", refuse=refuse_find_coordinator)
def find_coordinator(call: BrokerCall, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    if request.key_type not in _OF_TYPE and not _is_of_share_state(call, request.key_type):
        raise errors.InvalidRequest(f"There is no coordinator for keys of type {request.key_type}.")
    if call.version >= _WITH_MANY_KEYS:
        return FindCoordinatorResponse(
            coordinators=[_found(call, request.key_type, key) for key in request.coordinator_keys]
        )
    return _alone(_found(call, request.key_type, request.key), call.version)


def _found(call: BrokerCall, key_type: int, key: str) -> Coordinator:
    try:
        if key_type == _SHARE:
            _check_share_key(call, key)
            return _leader(call, SHARE_STATE_TOPIC, key)
        resource_type, topic = _OF_TYPE[key_type]
        call.demand(DESCRIBE, resource_type, key)
        return _leader(call, topic, key)
    except errors.KafkaError as error:
        return _failed(key, error)


def _is_of_share_state(call: BrokerCall, key_type: int) -> bool:
    return key_type == _SHARE and call.version >= _WITH_SHARE_STATE and call.services.shares is not None


def _check_share_key(call: BrokerCall, key: str) -> None:
    from odradek.replica.share.persisted import parse_coordinator_key

    call.demand(CLUSTER_ACTION, CLUSTER, CLUSTER_NAME)
    try:
        parse_coordinator_key(key)
    except ValueError:
        raise errors.InvalidRequest(f"{key} names no share-partition: group, topic id and partition.") from None


def _leader(call: BrokerCall, topic: str, key: str) -> Coordinator:
    metadata = call.services.metadata
    found = metadata.topic(topic)
    if found is None or not found.partitions:
        call.services.auto_creation.create_internal(topic, call.client_id)
        raise errors.CoordinatorNotAvailable()
    leader = metadata.leader(topic, partition_of(key, len(found.partitions)), call.listener)
    if leader is None:
        raise errors.CoordinatorNotAvailable()
    return Coordinator(key=key, node_id=leader.id, host=leader.host, port=leader.port, error_message="")
