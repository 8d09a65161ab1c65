"""What the requests of transactional producers have in common: their coordinator, and the word for "you are fenced"."""

from typing import TYPE_CHECKING

from odradek.handlers.call import Call
from odradek.protocol import errors

if TYPE_CHECKING:
    from odradek.coordinator.transaction.coordinator import TransactionCoordinator


def coordinator_of(call: Call) -> "TransactionCoordinator":
    transactions: TransactionCoordinator | None = call.services.transactions
    if transactions is None:
        raise errors.CoordinatorNotAvailable("This node coordinates no transactions.")
    return transactions


def fenced_as(error: errors.KafkaError, version: int, fenced_version_min: int) -> int:
    """The error's code; PRODUCER_FENCED in the words of clients that came before it (KIP-588)."""
    if isinstance(error, errors.ProducerFenced) and version < fenced_version_min:
        return errors.InvalidProducerEpoch.code
    return error.code
