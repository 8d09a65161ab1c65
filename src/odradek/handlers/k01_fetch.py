"""Fetch, versions 0-18: records from the leaders of their partitions, at once or when enough is there.

     1  throttle time           2  magic 1          3  a limit for the whole answer, order counts
     4  isolation level, magic 2                    5  log start offset           6  KAFKA_STORAGE_ERROR
     7  sessions                8  a throttled answer is sent at once (KIP-219)   9  leader epochs
    10  zstd                   11  preferred read replica                        13  topic ids
    12  flexible; diverging epochs, hints at the current leader                  15  replica state
    14  OFFSET_MOVED_TO_TIERED_STORAGE, to followers                             16  endpoints of hinted leaders
    17  directory id of a follower                                               18  high watermark of a follower

Who may: READ on each topic; followers need CLUSTER_ACTION on the cluster, and learn nothing without.

| what is wrong | error |
|---|---|
| an unknown session; a wrong epoch of it | FETCH_SESSION_ID_NOT_FOUND; INVALID_FETCH_SESSION_EPOCH |
| names in a session of ids, or ids in one of names | FETCH_SESSION_TOPIC_ID_ERROR |
| no such topic, by name or id; another id | UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID; INCONSISTENT_TOPIC_ID |
| led elsewhere, or asked by a node that is no replica | NOT_LEADER_OR_FOLLOWER |
| an older or a later leader epoch | FENCED_LEADER_EPOCH; UNKNOWN_LEADER_EPOCH |
| an offset that is not in the log, an unknown last epoch | OFFSET_OUT_OF_RANGE |
| an isolation level that is neither 0 nor 1 | UNKNOWN_SERVER_ERROR, for the request as a whole |
| zstd, to a reader before version 10 | UNSUPPORTED_COMPRESSION_TYPE |
| the log dir has failed | KAFKA_STORAGE_ERROR |

Readers before version 4 get batches of magic 2 converted down, in a job.
"""

from collections.abc import Callable
from functools import cache

from odradek.handlers.call import BrokerCall
from odradek.handlers.leader_hints import LeaderHints
from odradek.handlers.serves import serves
from odradek.network.request_metrics import OF_FOLLOWER
from odradek.protocol import errors
from odradek.protocol.messages.k01_fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from odradek.reactor.pending import Pending
from odradek.replica.fetch.at_once import VERSION_MIN as AT_ONCE_VERSION_MIN
from odradek.replica.fetch.at_once import fetch_at_once
from odradek.replica.fetch.in_session import fetch_in_session
from odradek.replica.fetch.parameters import TOPIC_ID_VERSION_MIN, FetchParameters
from odradek.replica.fetch.partition_data import not_here
from odradek.security.acl import CLUSTER, CLUSTER_ACTION, CLUSTER_NAME, READ, TOPIC

TOP_LEVEL_ERROR_VERSION_MIN = 7
ZSTD_VERSION_MIN = 10
REPLICA_STATE_VERSION_MIN = 15
HINT_VERSION_MIN = 16

CONSUMER_ID = -1
NO_EPOCH = -1

# Consumers do not send it, and to make one for each of their requests would cost more than all else that is done here.
_state_if_sent = vars(FetchRequest)["replica_state"].__get__
_HINTED = (errors.NotLeaderOrFollower.code, errors.FencedLeaderEpoch.code)


def refuse(request: FetchRequest, error: errors.KafkaError, version: int) -> FetchResponse:
    """From version 7 on there is one error for all; as long as topics have names, every partition gets it, too."""
    response = FetchResponse()
    if version >= TOP_LEVEL_ERROR_VERSION_MIN:
        response.error_code = error.code
        response.session_id = request.session_id
    for topic in request.topics if version < TOPIC_ID_VERSION_MIN else ():
        partitions = [not_here(asked.partition, error) for asked in topic.partitions]
        response.responses.append(FetchableTopicResponse(topic=topic.topic, partitions=partitions))
    return response


@serves(FetchRequest, versions="0-18", refuse=refuse, is_read=True, counts_errors=True)
def fetch(call: BrokerCall, request: FetchRequest) -> FetchResponse | Pending[FetchResponse]:
    services = call.services
    replicas = services.replicas
    version = call.version
    replica_id, replica_epoch = _replica(request, version)
    is_allowed = None if services.authorizer is None else _permission(call, is_follower=replica_id >= 0)
    if replica_id < 0 and version >= AT_ONCE_VERSION_MIN:
        try:
            answer = fetch_at_once(replicas, request, version, is_allowed)
        except errors.TopicAuthorizationFailed:
            answer, is_allowed = None, _nobody_may
        if answer is not None:
            if services.quotas is not None:
                answer.throttle_time_ms = call.throttle_ms
            services.error_counts.fetched += 1
            return answer
    if replica_id >= 0:
        call.connection.variation = OF_FOLLOWER
    parameters = FetchParameters(version, replica_id, replica_epoch, request, replicas.config.fetch_max_bytes)
    if version >= HINT_VERSION_MIN:
        parameters.on_error = lambda response: _hint(call, response)
    if services.quotas is not None:
        parameters.on_answer = lambda response: _throttle(call, response)
    if is_allowed is not None:
        parameters.is_allowed = cache(is_allowed)  # however many partitions a topic has, and however long it waits
    try:
        response = fetch_in_session(replicas, request, parameters)
    except errors.UnknownServerError as error:
        response = _refused(call, request, error)
    if version < ZSTD_VERSION_MIN:
        from odradek.replica.fetch.down_conversion import for_old_reader

        return services.loop.spawn(for_old_reader(replicas, request, version, response))
    if type(response) is FetchResponse:
        services.error_counts.counter(call.key, FetchResponse, version)(response)
    return response


def _refused(call: BrokerCall, request: FetchRequest, error: errors.KafkaError) -> FetchResponse:
    """The answer to an isolation level that is neither 0 nor 1: `refuse`, with null for the records if the release has
    it so.
    """
    response = refuse(request, error, call.version)
    if not call.services.release.behaviour.empties_records_of_refused_fetches:
        for topic in response.responses:
            for data in topic.partitions:
                data.records = None
    return response


def _replica(request: FetchRequest, version: int) -> tuple[int, int]:
    """Who asks: id and epoch of a follower, or a consumer."""
    if version < REPLICA_STATE_VERSION_MIN:
        return request.replica_id, NO_EPOCH
    try:
        state = _state_if_sent(request)
    except AttributeError:
        return CONSUMER_ID, NO_EPOCH
    return state.replica_id, state.replica_epoch


def _throttle(call: BrokerCall, response: FetchResponse) -> None:
    response.throttle_time_ms = call.throttle_ms


def _permission(call: BrokerCall, *, is_follower: bool) -> Callable[[str], bool]:
    """Whether the caller may read a topic, by its name."""
    if not is_follower:
        return lambda topic: call.authorize(READ, TOPIC, topic)
    is_broker = call.authorize(CLUSTER_ACTION, CLUSTER, CLUSTER_NAME)
    return lambda topic: is_broker


def _nobody_may(topic: str) -> bool:
    return False


def _hint(call: BrokerCall, response: FetchResponse) -> None:
    """Tells the reader where to go with the partitions that are not led here."""
    hints = LeaderHints(call)
    for topic in response.responses:
        key = topic.topic_id
        for data in topic.partitions:
            if data.error_code in _HINTED:
                _hint_at(hints, key, data)
    response.node_endpoints = [
        NodeEndpoint(node_id=node, host=host, port=port, rack=rack) for node, host, port, rack in hints.endpoints()
    ]


def _hint_at(hints: LeaderHints, topic_id: bytes, data: PartitionData) -> None:
    leader_id, leader_epoch = hints.leader_of(bytes(topic_id), data.partition_index)
    data.current_leader = LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=leader_epoch)
