"""What EndTxn may do, by the state and the epoch that it finds.

Version 0 and 1 of transactions: all transactions of a producer have one epoch, so that a late EndTxn cannot be told
from one that is meant. In version 2 each transaction has an epoch of its own, and the state holds the epoch of the
*next* one from the decision on:

| state | epoch of the request | what the request is |
|---|---|---|
| Ongoing, Empty | the current one | this transaction |
| PrepareCommit, PrepareAbort | the one before | a repetition: the first one is still under way |
| CompleteCommit, CompleteAbort | the one before | a repetition of what has been done |
| | the current one | the next transaction, to which nothing was added |

Everything else is a zombie or late, and fenced (T5, T6). If the id was exchanged along with the epoch, "the one before"
is the last epoch of the previous id.
"""

from odradek.coordinator.transaction import states
from odradek.coordinator.transaction.transaction import EPOCH_USED_MAX, ProducerIdAndEpoch, Transaction
from odradek.protocol import errors


def is_done_already_v1(txn: Transaction, producer: ProducerIdAndEpoch, is_commit: bool) -> bool:
    """False: it is to be prepared now. Raises why it is neither."""
    if txn.producer_id != producer.producer_id:
        raise errors.InvalidProducerIdMapping()
    if txn.producer_epoch != producer.epoch:
        raise errors.ProducerFenced()
    if txn.state == states.ONGOING:
        return False
    if txn.state == states.complete_state(is_commit):
        return True
    raise _wrong_state(txn, is_commit)


def is_done_already_v2(txn: Transaction, producer: ProducerIdAndEpoch, is_commit: bool) -> bool:
    """The same for version 2, by the table above."""
    if txn.has_promised(producer):
        raise errors.ConcurrentTransactions()
    is_exchanged = _is_before_exchange(txn, producer)
    if txn.producer_id != producer.producer_id and not is_exchanged:
        raise errors.InvalidProducerIdMapping()
    is_repeated = is_exchanged or txn.producer_epoch == producer.epoch + 1
    is_current = txn.producer_epoch == producer.epoch and not is_exchanged
    if not _may_answer(txn.state, is_current, is_repeated):
        raise errors.ProducerFenced()
    if txn.state == states.ONGOING:
        return False
    if is_repeated:
        if txn.state == states.complete_state(is_commit):
            return True
    elif not is_commit:
        return False  # a transaction without partitions may be aborted: the client cannot know that none was added
    raise _wrong_state(txn, is_commit)


def _is_before_exchange(txn: Transaction, producer: ProducerIdAndEpoch) -> bool:
    return (
        txn.previous_producer_id == producer.producer_id != txn.producer_id
        and producer.epoch == EPOCH_USED_MAX
        and txn.producer_epoch == 0
    )


def _may_answer(state: int, is_current: bool, is_repeated: bool) -> bool:
    """Whether the table has a row for the state and the epoch of the request."""
    if state in states.PREPARED:
        return is_repeated
    if state in (states.COMPLETE_COMMIT, states.COMPLETE_ABORT):
        return is_repeated or is_current
    return is_current


def _wrong_state(txn: Transaction, is_commit: bool) -> errors.KafkaError:
    if txn.state == states.prepare_state(is_commit):
        return errors.ConcurrentTransactions()
    wish = "commit" if is_commit else "abort"
    return errors.InvalidTxnState(f"{txn.transactional_id} is {states.NAMES[txn.state]}: there is nothing to {wish}.")
