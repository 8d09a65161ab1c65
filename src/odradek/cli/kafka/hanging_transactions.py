"""Transactions that hang: open in a partition for longer than any may be, and forgotten by their coordinator.

They are found by what leaders know of producers; whose transaction is still the business of a coordinator is left to
it. Such a transaction is ended with a marker in that partition alone.
"""

import time
from collections.abc import Iterable
from typing import NamedTuple

from odradek.cli.failure import Refusal
from odradek.cli.kafka.java_errors import words
from odradek.cli.kafka.options import Given
from odradek.cli.kafka.tabbed import print_table
from odradek.cli.kafka.transaction_reports import place_of
from odradek.client.admin.admin_client import AdminClient
from odradek.client.admin.transactions import AbortTransactionSpec, ProducerState
from odradek.protocol.errors import KafkaError
from odradek.protocol.topic_partition import TopicPartition

_BY_PRODUCER = ("producer-id", "producer-epoch", "coordinator-epoch")


class _Open(NamedTuple):
    place: TopicPartition
    producer: ProducerState


def check_abort(given: Given) -> None:
    if given.has("start-offset"):
        return
    if given.has("producer-id"):
        for name in _BY_PRODUCER[1:]:
            if not given.has(name):
                raise Refusal(f"Missing required argument --{name}")
        return
    raise Refusal(
        "The transaction to abort must be identified either with --start-offset (for brokers on 3.0 or above) or with "
        "--producer-id, --producer-epoch, and --coordinator-epoch (for older brokers)"
    )


def abort(given: Given, admin: AdminClient) -> None:
    place = place_of(given)
    spec = _found(given, admin, place) if given.has("start-offset") else _named(given, place)
    try:
        admin.abort_transaction(spec)
    except KafkaError as error:
        raise Refusal(f"Failed to abort transaction {spec}: {words(error)}. Enable debug logging for more.") from None


def _named(given: Given, place: TopicPartition) -> AbortTransactionSpec:
    return AbortTransactionSpec(place, *(given.integer(name) or 0 for name in _BY_PRODUCER))


def _found(given: Given, admin: AdminClient, place: TopicPartition) -> AbortTransactionSpec:
    start = given.integer("start-offset")
    try:
        producers = admin.describe_producers([place])[place]
    except KafkaError as error:
        raise Refusal(f"Failed to validate producer state for partition {place}: {words(error)}") from None
    for each in producers:
        if each.transaction_start_offset == start:
            # a marker that was never written has no epoch: 0 is what its coordinator would begin with
            epoch = each.coordinator_epoch or 0
            return AbortTransactionSpec(place, each.producer_id, each.producer_epoch, epoch)
    raise Refusal(f"Could not find any open transactions starting at offset {start} on partition {place}")


def find(given: Given, admin: AdminClient) -> None:
    minutes = given.integer("max-transaction-timeout") or 0
    oldest_ms = time.time_ns() // 1_000_000 - minutes * 60_000
    suspects = _suspects(admin, _places(given, admin), given.integer("broker-id"), oldest_ms)
    rows = [_row(each) for each in _forgotten(admin, suspects)]
    names = ["Topic", "Partition", "ProducerId", "ProducerEpoch", "CoordinatorEpoch", "StartOffset"]
    print_table([*names, "LastTimestamp", "Duration(min)"], rows)


def _places(given: Given, admin: AdminClient) -> list[TopicPartition]:
    if given.has("topic") and given.has("partition"):
        return [place_of(given)]
    names = [given.text("topic")] if given.has("topic") else list(admin.list_topics(internal=True))
    broker_id = given.integer("broker-id")
    return [
        TopicPartition(name, each.partition)
        for name, topic in admin.describe_topics(names).items()
        for each in topic.partitions
        if broker_id is None or broker_id in each.replicas
    ]


def _suspects(
    admin: AdminClient, places: Iterable[TopicPartition], broker_id: int | None, oldest_ms: int
) -> list[_Open]:
    found = admin.describe_producers(places, broker_id=broker_id)
    found.raise_any()
    return [
        _Open(place, producer)
        for place, producers in found.items()
        for producer in producers
        if producer.transaction_start_offset is not None and producer.last_timestamp_ms < oldest_ms
    ]


def _forgotten(admin: AdminClient, suspects: list[_Open]) -> list[_Open]:
    """Those whose producer has no transactional id any more, or is in a transaction without the partition."""
    if not suspects:
        return []
    numbers = {each.producer.producer_id for each in suspects}
    ids = {listed.producer_id: name for name, listed in admin.list_transactions(producer_ids=numbers).items()}
    described = admin.describe_transactions(ids.values()).values_ok
    return [
        each
        for each in suspects
        if (name := ids.get(each.producer.producer_id)) not in described
        or each.place not in described[str(name)].partitions
    ]


def _row(found: _Open) -> list[object]:
    (topic, partition), producer = found
    minutes = (time.time_ns() // 1_000_000 - producer.last_timestamp_ms) // 60_000
    epoch = -1 if producer.coordinator_epoch is None else producer.coordinator_epoch
    about = [topic, partition, producer.producer_id, producer.producer_epoch, epoch]
    return [*about, producer.transaction_start_offset, producer.last_timestamp_ms, minutes]
