"""Which producer id and epoch InitProducerId hands out, for an id that has no open transaction.

| the producer says that it is | it gets |
|---|---|
| nobody yet | the next epoch: every predecessor is fenced (T5) |
| the current producer | the next epoch: it goes on after an error (KIP-360) |
| the one that the current epoch followed | the current epoch: it repeats a request whose answer was lost |
| any other | PRODUCER_FENCED |

An epoch that has no successor is followed by epoch 0 of a new producer id.
"""

from odradek.coordinator.transaction.transaction import EPOCH_USED_MAX, ProducerIdAndEpoch, Transaction
from odradek.protocol import errors
from odradek.records.layout import NO_PRODUCER_EPOCH


def check_known(txn: Transaction, expected: ProducerIdAndEpoch) -> None:
    """Whether the producer can be one of this transactional id at all; its epoch is looked at later."""
    is_known = (
        txn.producer_epoch == NO_PRODUCER_EPOCH
        or expected.producer_id == txn.producer_id
        or (expected.producer_id == txn.previous_producer_id and expected.epoch >= EPOCH_USED_MAX)
    )
    if not is_known:
        raise errors.ProducerFenced()


def needs_producer_id(txn: Transaction, expected: ProducerIdAndEpoch | None) -> bool:
    return txn.is_epoch_exhausted and (expected is None or expected.epoch == txn.producer_epoch)


def next_epoch(txn: Transaction, expected: ProducerIdAndEpoch | None) -> tuple[int, int]:
    """The epoch and the one that it follows on behalf of the same producer."""
    if expected is None:
        return txn.producer_epoch + 1, NO_PRODUCER_EPOCH
    if txn.producer_epoch in (NO_PRODUCER_EPOCH, expected.epoch):
        return txn.producer_epoch + 1, txn.producer_epoch
    if expected.epoch == txn.last_producer_epoch != NO_PRODUCER_EPOCH:
        return txn.producer_epoch, txn.last_producer_epoch
    raise errors.ProducerFenced()
