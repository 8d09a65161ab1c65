"""The end of a transaction in one partition: a control batch, appended for the transaction coordinator."""

from typing import TYPE_CHECKING

from odradek.log.append import AppendInfo
from odradek.reactor.pending import Pending
from odradek.records.control import end_transaction_marker
from odradek.replica.append import ACKS_ALL, AppendRequest, acknowledged
from odradek.replica.partition import Partition
from odradek.replicated.log_record import EndMarker

if TYPE_CHECKING:
    from odradek.replica.manager import ReplicaManager

REPLICATION_MS_MAX = 30_000  # who sends markers tries again


def append_marker(
    replicas: "ReplicaManager", partition: Partition, end: EndMarker, now_ms: int
) -> Pending[AppendInfo] | None:
    """None if it is committed already. Raises what the partition has against it."""
    leader = partition.leading()
    marker = end_transaction_marker(
        end.is_commit,
        end.coordinator_epoch,
        now_ms,
        producer_id=end.producer_id,
        producer_epoch=end.producer_epoch,
    )
    request = AppendRequest(ACKS_ALL, REPLICATION_MS_MAX, 0, now_ms)
    committed = acknowledged(replicas, leader, leader.append_own(bytearray(marker), now_ms), request)
    return committed if isinstance(committed, Pending) else None
