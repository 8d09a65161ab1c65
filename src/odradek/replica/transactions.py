"""Transactional records at a leader: is this partition in the producer's transaction? (KIP-890)

| who produces | before the first batch of a transaction |
|---|---|
| a client of version 2 (Produce 12 on) | the leader adds the partition for it |
| an older client | the leader verifies that the client has added it (transaction.partition.verification.enable) |
| any client of a 3.3 | nothing: the producer's word is taken |

Once the transaction is open in the log nothing has to be asked. While the question is out the log guards it
(log/producers/transaction_verification.py). A client of version 2 is often faster with its next transaction than the
coordinator with the markers of the last one: for a moment the leader tries again by itself, instead of having the
client do it.
"""

from typing import TYPE_CHECKING

from odradek.broken_rule import present
from odradek.log.append import AppendInfo
from odradek.log.producers.transaction_verification import VerificationGuard
from odradek.protocol import errors
from odradek.protocol.topic_partition import TopicPartition
from odradek.reactor.pending import Pending
from odradek.reactor.ports import Buffer
from odradek.records.layout import PRODUCER, PRODUCER_ID_OFFSET
from odradek.replica.partition import Partition
from odradek.replica.produce import ProduceParameters, check_and_append, check_still_in_transaction

if TYPE_CHECKING:
    from odradek.replica.manager import ReplicaManager

ADD_VERSION_MIN = 12  # of Produce: transactions of version 2
ABORTABLE_VERSION_MIN = 11  # of Produce: TRANSACTION_ABORTABLE is understood
ASKED_MAX = 3

NOT_ADDED = "Partition was not added to the transaction"
_PASSING = (
    errors.CoordinatorLoadInProgress,
    errors.CoordinatorNotAvailable,
    errors.NotCoordinator,
    errors.BrokerNotAvailable,
    errors.NetworkException,
)


class VerifiedParameters(ProduceParameters):
    """Those of an append that waited for the coordinator's word, and may have been overtaken by a marker."""

    __slots__ = ("guard",)  # in the place of the base's None

    def __init__(self, request: ProduceParameters, guard: VerificationGuard) -> None:
        super().__init__(request.acks, request.timeout_ms, request.version, request.now_ms)
        self.guard = guard


def check_transaction(replicas: "ReplicaManager", partition: Partition, records: Buffer, version: int) -> bool:
    """Whether the coordinator has to be asked first; raises if there is none that could know the transaction."""
    log = partition.leader_log()
    if not replicas.release.behaviour.verifies_transactions:
        return False
    if version < ADD_VERSION_MIN and not replicas.verifies_transactions:
        return False
    producer_id, producer_epoch, _ = _producer(records)
    if log.producers.has_open_transaction(producer_id, producer_epoch):
        return False
    if replicas.transaction_coordinator is None:
        raise errors.InvalidTxnState(NOT_ADDED)
    return True


def append_verified(
    replicas: "ReplicaManager",
    partition: Partition,
    records: bytearray,
    transactional_id: str,
    request: ProduceParameters,
) -> Pending[AppendInfo]:
    return replicas.loop.spawn(_append_verified(replicas, partition, records, transactional_id, request))


async def _append_verified(
    replicas: "ReplicaManager",
    partition: Partition,
    records: bytearray,
    transactional_id: str,
    request: ProduceParameters,
) -> AppendInfo:
    is_add = request.version >= ADD_VERSION_MIN
    try:
        guard = await until_in_transaction(replicas, partition, transactional_id, *_producer(records), is_add=is_add)
    except errors.KafkaError as error:
        raise as_told_to_producers(error, request.version) from error
    check_still_in_transaction(partition.leader_log(), records, guard)
    appended = check_and_append(replicas, partition, records, VerifiedParameters(request, guard))
    return await appended if isinstance(appended, Pending) else appended


async def until_in_transaction(
    replicas: "ReplicaManager",
    partition: Partition,
    transactional_id: str,
    producer_id: int,
    producer_epoch: int,
    sequence: int,
    *,
    is_add: bool,
) -> VerificationGuard:
    """Ends when the partition is in the transaction, in the turn in which that was learnt; raises why it is not.

    If a marker comes in between, it may be that of this transaction, or that of the last one come again: the
    coordinator knows, and is asked once more.
    """
    for _ in range(ASKED_MAX):
        verifications = partition.leader_log().producers.verifications
        guard = verifications.start(producer_id, producer_epoch, sequence, begins_at_0=is_add)
        try:
            await _ask(replicas, partition, transactional_id, producer_id, producer_epoch, is_add=is_add)
        except errors.KafkaError as error:
            if not error.retriable:
                verifications.refuse(producer_id, guard)
            raise
        if verifications.is_valid(producer_id, guard):
            break
    return guard


async def _ask(
    replicas: "ReplicaManager",
    partition: Partition,
    transactional_id: str,
    producer_id: int,
    producer_epoch: int,
    *,
    is_add: bool,
) -> None:
    coordinator = present(
        replicas.transaction_coordinator, "whoever asks about a transaction has found that somebody can tell"
    )
    key = TopicPartition(partition.topic.name, partition.index)
    until_ms = replicas.mono_ms() + (replicas.config.add_retry_ms_max or 0)
    while True:
        try:
            await coordinator.add_or_verify(transactional_id, producer_id, producer_epoch, key, is_add=is_add)
            return
        except errors.ConcurrentTransactions:
            if not is_add or replicas.mono_ms() >= until_ms:
                raise
        await replicas.loop.sleep(replicas.config.add_retry_ms or 1)


def as_told_to_producers(error: errors.KafkaError, version: int) -> errors.KafkaError:
    """Returns the error that a producer with this version of Produce understands."""
    if isinstance(error, errors.ProducerFenced):
        return errors.InvalidProducerEpoch(error.message)
    if isinstance(error, errors.TransactionAbortable) and version < ABORTABLE_VERSION_MIN:
        return errors.InvalidTxnState(NOT_ADDED)
    if isinstance(error, _PASSING) or (isinstance(error, errors.ConcurrentTransactions) and version < ADD_VERSION_MIN):
        return errors.NotEnoughReplicas(f"The transaction could not be verified: {error.message}")
    return error


def _producer(records: Buffer) -> tuple[int, int, int]:
    """Id, epoch and base sequence of a whole batch of magic 2."""
    return PRODUCER.unpack_from(records, PRODUCER_ID_OFFSET)
