"""A transaction that is whole and still open: whoever holds this may end it, in any process."""

from typing import NamedTuple


class PreparedTransaction(NamedTuple):
    """What `KafkaProducer.prepare_transaction` gives and `AdminClient.complete_transactions` takes. A plain tuple of
    words and numbers, so that it can be stored, or sent to another process.

    `transaction_version` is what the producer and its coordinator have agreed on. `is_empty`: nothing was sent in it,
    so that no coordinator has heard of it and there is nothing to end.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    transaction_version: int
    is_empty: bool
