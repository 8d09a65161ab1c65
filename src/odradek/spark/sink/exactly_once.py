"""Exactly once: what a task writes is seen when the driver has seen all tasks end, and is never seen twice.

A task cannot tell the end of its rows from the end of what feeds it: when something upstream fails, its rows simply
end. So no task commits. Each writes in a transaction of its own and prepares it; the driver, which is told of the
tasks that have ended well, ends them all.

    task    InitProducerId          the transactional id is made of prefix, query and partition: attempts before this
                                    one, and zombies, are fenced, and what they left open is aborted
            the group of that name  has the number of the next batch, committed with the last transaction: if it is past
                                    this batch, all was written before, and the task writes nothing
            rows, number of the next batch    in one transaction
            prepare                 all is written; id and epoch go to the driver
    driver  EndTxn of each          then Spark notes that the batch is done

Whoever is killed in between: Spark runs the batch again from its checkpoint. The tasks whose transaction was ended find
their batch in the group; the others abort what is open and write anew. A transaction that was fenced, or has timed out,
cannot be ended any more: then the batch fails, and is run again.
"""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from odradek.client.group_metadata import ConsumerGroupMetadata
from odradek.client.producer.transaction_states import TransactionStateError
from odradek.protocol.errors import KafkaError
from odradek.protocol.topic_partition import TopicPartition
from odradek.spark.errors import SinkError
from odradek.spark.sink import clients

if TYPE_CHECKING:
    from odradek.client.producer.prepared_transaction import PreparedTransaction
    from odradek.spark.sink.clients import Producer
    from odradek.spark.sink.sending import Sending

TIMEOUT = "transaction.timeout.ms"
TIMEOUT_MS = 900_000  # what brokers allow without being told otherwise: a batch is larger than most transactions
PREFIX = "odradek-spark"
ABORT_SECONDS_MAX = 10  # what has failed is to be told soon, and nothing depends on the abort

Configs = Mapping[str, str]


class Part(NamedTuple):
    """The part of a query that one task writes. `batch` is None where nothing can be replayed: in a batch query."""

    transactional_id: str
    batch: int | None


def part_of(prefix: str | None, query: str, partition: int, batch: int | None) -> Part:
    return Part(f"{prefix or PREFIX}-{query}-{partition}", batch)


def with_timeout(configs: Configs) -> dict[str, str]:
    return {TIMEOUT: str(TIMEOUT_MS), **configs}


def begun(producer: "Producer", configs: Configs, part: Part) -> bool:
    """Begins the task's transaction. False if its rows were written before: there is nothing to do."""
    try:
        producer.init_transactions()
        if part.batch is not None and _next_batch(configs, part) == part.batch + 1:
            return False
        producer.begin_transaction()
    except (KafkaError, TransactionStateError) as error:
        raise SinkError(f"transactional id {part.transactional_id}: no transaction can be begun: {error}") from error
    return True


def prepared(producer: "Producer", part: Part, sending: "Sending") -> "PreparedTransaction":
    """When all rows were sent: whole, with the number of the next batch, and open."""
    sending.finish()
    try:
        if part.batch is not None and sending.first_topic is not None:
            place = TopicPartition(sending.first_topic, 0)
            group = ConsumerGroupMetadata(part.transactional_id)
            producer.send_offsets_to_transaction({place: part.batch + 1}, group)
        return producer.prepare_transaction()
    except (KafkaError, TransactionStateError) as error:
        raise SinkError(f"transactional id {part.transactional_id}: it cannot be prepared: {error}") from error


def _next_batch(configs: Configs, part: Part) -> int:
    """The highest number in the group: topics may have changed from batch to batch. 0 if nothing was written yet."""
    name = part.transactional_id
    found = clients.admin(configs).list_group_offsets(name, require_stable=True)[name]
    following = max((each.offset for each in found.values() if each is not None), default=0)
    if part.batch is not None and following > part.batch + 1:
        raise SinkError(
            f"batch {part.batch} is to be written, but batch {following - 1} was written already (group {name}): the "
            "checkpoint is older than what is in the topic. Go on from the last checkpoint, or begin with a new one"
        )
    return following


def commit(configs: Configs, transactions: "Iterable[PreparedTransaction]", what: str) -> None:
    """All of them; SinkError if one is not open any more, or if nobody answers."""
    errors = clients.admin(configs).complete_transactions(transactions, is_commit=True).errors
    for name, error in errors.items():
        clients.drop_all()
        raise SinkError(
            f"{what}: {len(errors)} transactions could not be committed, the first that of {name}: {error} "
            "It is not open any more if another attempt has taken it over, or if it took longer than "
            f"kafka.{TIMEOUT}={configs[TIMEOUT]}, which has to be more than a batch takes. "
            "What was committed of a batch is not written again when it is replayed"
        ) from error


def abort(configs: Configs, transactions: "Iterable[PreparedTransaction]") -> None:
    """As many as can be: those that are left are aborted by the next attempt, or when their time is up."""
    clients.admin(configs).complete_transactions(transactions, is_commit=False, timeout=ABORT_SECONDS_MAX)
