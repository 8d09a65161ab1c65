"""Transactional records at a leader: is this partition in the producer's transaction? (KIP-890)

A 4.3 asks the transaction coordinator before the first batch of a transaction; once a transaction is open in the log
nothing has to be asked. Without a coordinator no partition is ever in a transaction. A 3.3 takes the producer's word.
"""

from typing import TYPE_CHECKING

from odradek.log.append import AppendInfo
from odradek.protocol import errors
from odradek.reactor.pending import Pending
from odradek.reactor.ports import Buffer
from odradek.records.layout import HEADER
from odradek.replica.append import AppendRequest
from odradek.replica.partition import Partition

if TYPE_CHECKING:
    from odradek.replica.manager import ReplicaManager

NOT_ADDED = "Partition was not added to the transaction"


def check_transaction(replicas: "ReplicaManager", partition: Partition, records: Buffer) -> bool:
    """Whether the coordinator has to be asked first; raises if there is none that could know the transaction."""
    log = partition.leader_log()
    if replicas.release.name == "3.3":
        return False
    producer_id, producer_epoch = _producer(records)
    entry = log.producers.entry(producer_id)
    if entry is not None and entry.has_open_transaction and entry.epoch == producer_epoch:
        return False
    if replicas.verify_transaction is None:
        raise errors.InvalidTxnState(NOT_ADDED)
    return True


def append_verified(
    replicas: "ReplicaManager", partition: Partition, records: bytearray, transactional_id: str, request: AppendRequest
) -> Pending[AppendInfo]:
    return replicas.loop.spawn(_append_verified(replicas, partition, records, transactional_id, request))


async def _append_verified(
    replicas: "ReplicaManager", partition: Partition, records: bytearray, transactional_id: str, request: AppendRequest
) -> AppendInfo:
    assert replicas.verify_transaction is not None
    key = (partition.topic.name, partition.index)
    refusals = await replicas.verify_transaction(transactional_id, *_producer(records), [key])
    if key in refusals:
        raise refusals[key]
    appended = replicas.append(partition, records, request)
    return await appended if isinstance(appended, Pending) else appended


def _producer(records: Buffer) -> tuple[int, int]:
    header = HEADER.unpack_from(records)
    return header[9], header[10]
