"""The end of a transaction in one partition: a control batch, appended for the transaction coordinator."""

from typing import TYPE_CHECKING

from odradek.log.append import AppendInfo
from odradek.reactor.pending import Pending
from odradek.replica.partition import Partition
from odradek.replica.produce import ACKS_ALL, acknowledged
from odradek.replicated.log_record import EndMarker

if TYPE_CHECKING:
    from odradek.replica.manager import ReplicaManager

REPLICATION_MS_MAX = 30_000  # who sends markers tries again


class _WhenCommitted:
    acks = ACKS_ALL
    timeout_ms = REPLICATION_MS_MAX


_WHEN_COMMITTED = _WhenCommitted()


def append_marker(
    replicas: "ReplicaManager", partition: Partition, end: EndMarker, now_ms: int
) -> Pending[AppendInfo] | None:
    """None if it is committed already. Raises what the partition has against it."""
    leader = partition.leading()
    committed = acknowledged(replicas, leader, leader.append_own(end.batch(now_ms), now_ms), _WHEN_COMMITTED)
    return committed if isinstance(committed, Pending) else None
