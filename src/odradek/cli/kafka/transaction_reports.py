"""What `kafka-transactions.sh` tells of transactions and producers."""

import time

from odradek.cli.failure import Refusal
from odradek.cli.kafka.java_errors import words
from odradek.cli.kafka.java_order import in_java_order
from odradek.cli.kafka.options import Given, as_integer
from odradek.cli.kafka.tabbed import print_table
from odradek.client.admin.admin_client import AdminClient
from odradek.protocol.errors import KafkaError, TransactionalIdNotFound
from odradek.protocol.topic_partition import TopicPartition

NO_FILTER = -1
_NONE = "None"  # what is not there


def list_transactions(given: Given, admin: AdminClient) -> None:
    """Asked broker by broker, because a listing tells which one coordinates a transaction."""
    duration_ms = given.integer("duration-filter")
    listed = admin.list_transactions(
        duration_ms=NO_FILTER if duration_ms is None else duration_ms,
        transactional_id_pattern=given.value("transactional-id-pattern"),
    )
    described = admin.describe_transactions(listed).values_ok
    rows = [
        (name, described[name].coordinator, listed[name].producer_id, listed[name].state)
        for name in listed
        if name in described
    ]
    print_table(["TransactionalId", "Coordinator", "ProducerId", "TransactionState"], rows)


def describe(given: Given, admin: AdminClient) -> None:
    name = given.text("transactional-id")
    try:
        found = admin.describe_transactions([name])[name]
    except KafkaError as error:
        reason = words(error)
        if isinstance(error, TransactionalIdNotFound):
            reason = (
                f"DescribeTransactions request for transactionalId `{name}` failed because the ID could not be found"
            )
        raise Refusal(
            f"Failed to describe transaction state of transactional-id `{name}`: {reason}. "
            "Enable debug logging for additional detail."
        ) from None
    names = ["CoordinatorId", "TransactionalId", "ProducerId", "ProducerEpoch", "TransactionState"]
    names += ["TransactionTimeoutMs", "CurrentTransactionStartTimeMs", "TransactionDurationMs", "TopicPartitions"]
    start_ms, duration_ms = _NONE, _NONE
    if found.start_time_ms is not None:
        start_ms, duration_ms = str(found.start_time_ms), str(time.time_ns() // 1_000_000 - found.start_time_ms)
    places = ",".join(str(place) for place in in_java_order(found.partitions))
    about = [found.coordinator, name, found.producer_id, found.producer_epoch, found.state, found.timeout_ms]
    print_table(names, [[*about, start_ms, duration_ms, places]])


def describe_producers(given: Given, admin: AdminClient) -> None:
    place = place_of(given)
    broker_id = given.integer("broker-id")
    try:
        found = admin.describe_producers([place], broker_id=broker_id)[place]
    except KafkaError as error:
        whom = "leader" if broker_id is None else f"broker {broker_id}"
        raise Refusal(
            f"Failed to describe producers for partition {place} on {whom}: {words(error)}. "
            "Enable debug logging for additional detail."
        ) from None
    names = ["ProducerId", "ProducerEpoch", "LatestCoordinatorEpoch", "LastSequence", "LastTimestamp"]
    rows = [
        [
            each.producer_id,
            each.producer_epoch,
            -1 if each.coordinator_epoch is None else each.coordinator_epoch,
            each.last_sequence,
            each.last_timestamp_ms,
            _NONE if each.transaction_start_offset is None else each.transaction_start_offset,
        ]
        for each in found
    ]
    print_table([*names, "CurrentTransactionStartOffset"], rows)


def place_of(given: Given) -> TopicPartition:
    return TopicPartition(given.text("topic"), as_integer("partition", given.text("partition")))
