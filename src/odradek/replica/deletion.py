"""DeleteRecords: moves the log start offset forward, and waits until every live replica has followed."""

from typing import TYPE_CHECKING

from odradek.protocol import errors
from odradek.reactor.pending import Pending
from odradek.replica.delayed import DelayedPartition
from odradek.replica.partition import Partition

if TYPE_CHECKING:
    from odradek.replica.manager import ReplicaManager

TO_HIGH_WATERMARK = -1


def delete_records(
    replicas: "ReplicaManager", partition: Partition, offset: int, timeout_ms: int
) -> int | Pending[int]:
    """The low watermark: the smallest log start offset of all live replicas, once it has reached `offset`."""
    log = partition.leader_log()
    if not log.config.is_deleted:
        raise errors.PolicyViolation(f"{partition.name} is compacted only: its records are not deleted by offset.")
    if offset == TO_HIGH_WATERMARK:
        offset = log.high_watermark
    if offset < 0:
        raise errors.OffsetOutOfRange(f"{offset} is no offset of {partition.name}.")
    if log.increment_log_start_offset(offset) and partition.watchers:
        partition.wake()

    def attempt() -> int | None:
        leader = partition.leading()
        low = leader.isr.low_watermark(leader.log.log_start_offset, replicas.live_replicas(partition))
        return low if low >= offset else None

    low_watermark = attempt()
    if low_watermark is not None:
        return low_watermark
    purgatory = replicas.purgatories["DeleteRecords"]
    return DelayedPartition(replicas.loop, purgatory, partition, timeout_ms, attempt).pending
