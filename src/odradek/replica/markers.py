"""The end of a transaction in one partition: a control batch, appended for the transaction coordinator."""

from typing import TYPE_CHECKING, Any

from odradek.log.append import COORDINATOR
from odradek.log.failure import LogFailure
from odradek.reactor.pending import Pending
from odradek.records.control import end_transaction_marker
from odradek.replica.append import ACKS_ALL, AppendRequest, flushed, replicated
from odradek.replica.partition import Partition
from odradek.replicated.log_record import EndMarker

if TYPE_CHECKING:
    from odradek.replica.manager import ReplicaManager

REPLICATION_MS_MAX = 30_000  # who sends markers tries again


def append_marker(replicas: "ReplicaManager", partition: Partition, end: EndMarker, now_ms: int) -> Pending[Any] | None:
    """None if it is committed already. Raises what the partition has against it."""
    log = partition.leader_log()
    partition.check_min_in_sync()
    batch = end_transaction_marker(
        end.is_commit,
        end.coordinator_epoch,
        now_ms,
        producer_id=end.producer_id,
        producer_epoch=end.producer_epoch,
    )
    try:
        info = log.append_as_leader(bytearray(batch), partition.leader_epoch, now_ms, origin=COORDINATOR)
    except LogFailure as failure:
        replicas.logs.handle_failure(failure)
        raise
    request = AppendRequest(ACKS_ALL, REPLICATION_MS_MAX, 0, now_ms)
    if log.log_end_offset - log.recovery_point >= log.config.flush_messages:
        return replicas.loop.spawn(flushed(replicas, partition, log, info, request))
    partition.log_end_moved()
    return None if log.high_watermark > info.last_offset else replicated(replicas, partition, info, request)
