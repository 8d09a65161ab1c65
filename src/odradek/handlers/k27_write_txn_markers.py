"""WriteTxnMarkers, versions 0-2: a transaction coordinator has the end of transactions written into partitions.

     1  same fields in the flexible encoding (KIP-482)
     2  the transaction version of each marker: one of version 2 is refused unless its epoch is a later one (KIP-1228)

Who may: CLUSTER_ACTION on the cluster, which brokers have; in a 4.3 ALTER will do, for admins who end a transaction
that hangs. Answered when the markers are replicated.

| what is wrong | error, for that partition |
|---|---|
| no such partition; led elsewhere | UNKNOWN_TOPIC_OR_PARTITION; NOT_LEADER_OR_FOLLOWER |
| the partition knows a later epoch of the producer | INVALID_PRODUCER_EPOCH |
| the partition knows a later coordinator | TRANSACTION_COORDINATOR_FENCED |
| too few replicas in sync; not replicated in time | NOT_ENOUGH_REPLICAS; REQUEST_TIMED_OUT |
"""

from collections.abc import Iterator

from odradek.handlers.call import BrokerCall
from odradek.handlers.serves import serves
from odradek.log.append import AppendInfo
from odradek.protocol import errors
from odradek.protocol.internal_topics import OFFSETS_TOPIC
from odradek.protocol.messages.k27_write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from odradek.reactor.pending import Pending
from odradek.replica.markers import append_marker
from odradek.replicated.log_record import EndMarker
from odradek.security.acl import ALTER, CLUSTER, CLUSTER_ACTION, CLUSTER_NAME

Codes = dict[tuple[str, int], int]


def refuse(request: WriteTxnMarkersRequest, error: errors.KafkaError, version: int) -> WriteTxnMarkersResponse:
    results = [_result(marker, dict.fromkeys(_partitions(marker), error.code)) for marker in request.markers]
    return WriteTxnMarkersResponse(markers=results)


@serves(WriteTxnMarkersRequest, versions="0-2", refuse=refuse)
async def write_txn_markers(call: BrokerCall, request: WriteTxnMarkersRequest) -> WriteTxnMarkersResponse:
    _authorize(call)
    codes: list[Codes] = []
    waits: list[tuple[int, tuple[str, int], Pending[None] | Pending[AppendInfo]]] = []
    for at, marker in enumerate(request.markers):
        codes.append({})
        for partition in _partitions(marker):
            codes[at][partition] = 0
            try:
                written = _write(call, marker, partition)
            except errors.KafkaError as error:
                codes[at][partition] = _told(error).code
            else:
                if written is not None:
                    waits.append((at, partition, written))
    for at, partition, written in waits:
        try:
            await written
        except errors.KafkaError as error:
            codes[at][partition] = _told(error).code
    return WriteTxnMarkersResponse(markers=[_result(*each) for each in zip(request.markers, codes, strict=True)])


def _authorize(call: BrokerCall) -> None:
    is_admin = call.services.release.behaviour.lets_admins_write_markers and call.authorize(
        ALTER, CLUSTER, CLUSTER_NAME
    )
    if not is_admin:
        call.demand(CLUSTER_ACTION, CLUSTER, CLUSTER_NAME)


def _write(
    call: BrokerCall, marker: WritableTxnMarker, partition: tuple[str, int]
) -> Pending[None] | Pending[AppendInfo] | None:
    """Writes one marker. A Pending that ends when it is replicated, None if it is already."""
    replicas = call.services.replicas
    led = replicas.led_partition(*partition)
    end = EndMarker(marker.producer_id, marker.producer_epoch, marker.transaction_result, marker.coordinator_epoch)
    # The append looks at the epochs of every marker; what one of version 2 must hold to besides can be asked only here:
    # the control record does not say of which version it is.
    led.leader_log().producers.check_marker_epoch(end.producer_id, end.producer_epoch, marker.transaction_version)
    if partition[0] == OFFSETS_TOPIC:
        # The core of its groups has to replay it: with the marker, pending offsets become offsets or are dropped.
        return call.services.groups.on_marker(partition[1], end)
    return append_marker(replicas, led, end, call.now_ms())


def _told(error: errors.KafkaError) -> errors.KafkaError:
    """The error as the one who writes markers knows it: a group coordinator that is not ready is no leader."""
    passing = errors.NotCoordinator | errors.CoordinatorNotAvailable | errors.CoordinatorLoadInProgress
    return errors.NotLeaderOrFollower(error.message) if isinstance(error, passing) else error


def _partitions(marker: WritableTxnMarker) -> Iterator[tuple[str, int]]:
    return ((topic.name, index) for topic in marker.topics for index in topic.partition_indexes)


def _result(marker: WritableTxnMarker, codes: Codes) -> WritableTxnMarkerResult:
    topics: dict[str, list[WritableTxnMarkerPartitionResult]] = {}
    for (name, index), code in codes.items():
        topics.setdefault(name, []).append(WritableTxnMarkerPartitionResult(partition_index=index, error_code=code))
    return WritableTxnMarkerResult(
        producer_id=marker.producer_id,
        topics=[WritableTxnMarkerTopicResult(name=name, partitions=results) for name, results in topics.items()],
    )
