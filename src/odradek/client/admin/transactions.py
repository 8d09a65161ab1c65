"""Transactions and their producers: listed, described, and ended where they hang."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from odradek.channel.core import ByVersion, Destination, broker
from odradek.client.admin.asking import Asker, outcome
from odradek.client.admin.by_version import from_version
from odradek.client.admin.cluster import describe_cluster
from odradek.client.admin.results import Results
from odradek.client.admin.routing import COORDINATOR_PASSING, at_coordinators, at_leaders
from odradek.client.consumer.subscription import by_topic
from odradek.client.core import TRANSACTION
from odradek.client.producer.prepared_transaction import PreparedTransaction
from odradek.protocol.errors import ConcurrentTransactions, KafkaError, UnknownTopicOrPartition
from odradek.protocol.messages.k22_init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from odradek.protocol.messages.k26_end_txn import EndTxnRequest, EndTxnResponse
from odradek.protocol.messages.k27_write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from odradek.protocol.messages.k61_describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    TopicRequest,
)
from odradek.protocol.messages.k65_describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)
from odradek.protocol.messages.k66_list_transactions import ListTransactionsRequest, ListTransactionsResponse
from odradek.protocol.topic_partition import TopicPartition

_NO_FILTER = -1
V2 = 2
V1_MAX = 4  # of EndTxn: the next one bumps the epoch, as transactions of version 2 want it
_DURATIONS_FROM, _PATTERNS_FROM = 1, 2  # the versions of ListTransactions that have these filters


class TransactionListing(NamedTuple):
    transactional_id: str
    producer_id: int
    state: str


class TransactionDescription(NamedTuple):
    """`state` is Kafka's word; `start_time_ms` is None while no transaction is open. `coordinator` is a broker's id."""

    coordinator: int
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    start_time_ms: int | None
    partitions: frozenset[TopicPartition]


class ProducerState(NamedTuple):
    """`transaction_start_offset` is where its open transaction begins in the partition, None if none is open;
    `coordinator_epoch` that of its last marker, None if it has none.
    """

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp_ms: int
    coordinator_epoch: int | None
    transaction_start_offset: int | None


class AbortTransactionSpec(NamedTuple):
    """A transaction that hangs in a partition, as `describe_producers` tells of it."""

    partition: TopicPartition
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int


class ProducerIdAndEpoch(NamedTuple):
    producer_id: int
    producer_epoch: int


async def list_transactions(
    asker: Asker,
    *,
    states: Iterable[str] = (),
    producer_ids: Iterable[int] = (),
    duration_ms: int = _NO_FILTER,
    transactional_id_pattern: str | None = None,
    timeout: float | None = None,
) -> dict[str, TransactionListing]:
    """Those of all brokers that every filter lets through: `duration_ms` those that have been open for longer, the
    pattern is a regular expression. Raises if a broker cannot be asked: a list with a hole looks like one without.
    """
    cluster = await describe_cluster(asker, timeout=timeout)
    request = ListTransactionsRequest(
        state_filters=list(states),
        producer_id_filters=list(producer_ids),
        duration_filter=duration_ms,
        transactional_id_pattern=transactional_id_pattern,
    )
    asked = from_version(_version_of(request), request, "listing transactions by their duration or a pattern")

    async def attempt(nodes: list[int], timeout_ms: int) -> Mapping[int, list[TransactionListing] | KafkaError]:
        async def ask(where: Destination, some: list[int]) -> dict[int, list[TransactionListing] | KafkaError]:
            response = await asker.send(where, asked, ListTransactionsResponse, timeout_ms)
            listed = [
                TransactionListing(each.transactional_id, each.producer_id, each.transaction_state)
                for each in response.transaction_states
            ]
            return dict.fromkeys(some, outcome(response.error_code, None, listed))

        return await asker.spread({node: broker(node) for node in nodes}, ask)

    found = await asker.each([node.id for node in cluster.nodes], attempt, timeout=timeout, passing=COORDINATOR_PASSING)
    return {each.transactional_id: each for each in sorted(each for listed in found.values() for each in listed)}


async def describe_transactions(
    asker: Asker, transactional_ids: Iterable[str], *, timeout: float | None = None
) -> Results[str, TransactionDescription]:
    """TransactionalIdNotFound for one that its coordinator does not know."""

    async def ask(
        where: Destination, some: list[str], timeout_ms: int
    ) -> dict[str, TransactionDescription | KafkaError]:
        request = DescribeTransactionsRequest(transactional_ids=some)
        response = await asker.send(where, request, DescribeTransactionsResponse, timeout_ms)
        return {
            each.transactional_id: outcome(each.error_code, None, _description(each, where.number))
            for each in response.transaction_states
        }

    return await at_coordinators(asker, TRANSACTION, transactional_ids, ask, timeout)


async def describe_producers(
    asker: Asker,
    partitions: Iterable[TopicPartition],
    *,
    broker_id: int | None = None,
    timeout: float | None = None,
) -> Results[TopicPartition, tuple[ProducerState, ...]]:
    """The producers that the leaders of partitions remember, or the replicas on one broker."""

    async def ask(
        where: Destination, some: list[TopicPartition], timeout_ms: int
    ) -> dict[TopicPartition, tuple[ProducerState, ...] | KafkaError]:
        topics = [TopicRequest(name=name, partition_indexes=numbers) for name, numbers in by_topic(some).items()]
        request = DescribeProducersRequest(topics=topics)
        response = await asker.send(where, request, DescribeProducersResponse, timeout_ms)
        return {
            TopicPartition(topic.name, each.partition_index): outcome(
                each.error_code, each.error_message, _producers(each)
            )
            for topic in response.topics
            for each in topic.partitions
        }

    if broker_id is None:
        return await at_leaders(asker, partitions, ask, timeout)
    there = broker(broker_id)
    return await asker.each(
        partitions,
        lambda some, timeout_ms: ask(there, some, timeout_ms),
        timeout=timeout,
        passing=(UnknownTopicOrPartition,),
    )


async def abort_transaction(asker: Asker, spec: AbortTransactionSpec, *, timeout: float | None = None) -> None:
    """Has the end of a transaction written into one partition, for a transaction whose coordinator has forgotten it."""

    async def ask(
        where: Destination, some: list[TopicPartition], timeout_ms: int
    ) -> dict[TopicPartition, KafkaError | None]:
        topics = [
            WritableTxnMarkerTopic(name=name, partition_indexes=numbers) for name, numbers in by_topic(some).items()
        ]
        marker = WritableTxnMarker(
            producer_id=spec.producer_id,
            producer_epoch=spec.producer_epoch,
            transaction_result=False,
            topics=topics,
            coordinator_epoch=spec.coordinator_epoch,
        )
        response = await asker.send(
            where, WriteTxnMarkersRequest(markers=[marker]), WriteTxnMarkersResponse, timeout_ms
        )
        return {
            TopicPartition(topic.name, each.partition_index): outcome(each.error_code, None, None)
            for written in response.markers
            for topic in written.topics
            for each in topic.partitions
        }

    return (await at_leaders(asker, [spec.partition], ask, timeout))[spec.partition]


async def fence_producers(
    asker: Asker, transactional_ids: Iterable[str], *, timeout: float | None = None
) -> Results[str, ProducerIdAndEpoch]:
    """Ends the open transactions of producers and shuts them out; the id and epoch that came after theirs."""
    whole_ms = asker.channel.client.config.request_timeout_ms if timeout is None else int(timeout * 1000)
    transaction_timeout_ms = max(1, whole_ms)  # until the next producer says its own

    async def ask(
        where: Destination, some: list[str], timeout_ms: int
    ) -> Mapping[str, ProducerIdAndEpoch | KafkaError]:
        return {each: await fenced(where, each, timeout_ms) for each in some}

    async def fenced(where: Destination, transactional_id: str, timeout_ms: int) -> ProducerIdAndEpoch | KafkaError:
        request = InitProducerIdRequest(
            transactional_id=transactional_id,
            transaction_timeout_ms=transaction_timeout_ms,
            producer_id=-1,
            producer_epoch=-1,
        )
        try:
            response = await asker.send(where, request, InitProducerIdResponse, timeout_ms)
        except KafkaError as error:
            return error
        next_one = ProducerIdAndEpoch(response.producer_id, response.producer_epoch)
        return outcome(response.error_code, None, next_one)

    passing = (*COORDINATOR_PASSING, ConcurrentTransactions)
    return await at_coordinators(asker, TRANSACTION, transactional_ids, ask, timeout, passing)


async def complete_transactions(
    asker: Asker, prepared: Iterable[PreparedTransaction], *, is_commit: bool, timeout: float | None = None
) -> Results[str, None]:
    """Ends transactions that their producers have prepared, each with an outcome of its own by its transactional id.

    ProducerFenced, InvalidProducerEpoch, InvalidTxnState or InvalidProducerIdMapping: it is not open any more. Another
    producer has taken the transactional id, `transaction.timeout.ms` has passed, or it was ended the other way.
    """
    waiting = {each.transactional_id: each for each in prepared if not each.is_empty}

    async def ask(where: Destination, some: list[str], timeout_ms: int) -> Mapping[str, KafkaError | None]:
        return {name: await ended(where, waiting[name], timeout_ms) for name in some}

    async def ended(where: Destination, one: PreparedTransaction, timeout_ms: int) -> KafkaError | None:
        try:
            response = await asker.send(where, _end_txn(one, is_commit), EndTxnResponse, timeout_ms)
        except KafkaError as error:
            return error
        return outcome(response.error_code, None, None)

    passing = (*COORDINATOR_PASSING, ConcurrentTransactions)
    return await at_coordinators(asker, TRANSACTION, waiting, ask, timeout, passing)


async def force_terminate_transaction(asker: Asker, transactional_id: str, *, timeout: float | None = None) -> None:
    """Ends the open transaction of a transactional id, by fencing its producer."""
    (await fence_producers(asker, [transactional_id], timeout=timeout)).raise_any()


def _end_txn(prepared: PreparedTransaction, is_commit: bool) -> ByVersion:
    """In the version of its transaction: version 2 has the coordinator bump the epoch."""
    request = EndTxnRequest(
        transactional_id=prepared.transactional_id,
        producer_id=prepared.producer_id,
        producer_epoch=prepared.producer_epoch,
        committed=is_commit,
    )
    return ByVersion(request.api_key, lambda _: request, None if prepared.transaction_version >= V2 else V1_MAX)


def _version_of(request: ListTransactionsRequest) -> int:
    if request.transactional_id_pattern is not None:
        return _PATTERNS_FROM
    return _DURATIONS_FROM if request.duration_filter != _NO_FILTER else 0


def _description(state: TransactionState, coordinator: int) -> TransactionDescription:
    return TransactionDescription(
        coordinator,
        state.transaction_state,
        state.producer_id,
        state.producer_epoch,
        state.transaction_timeout_ms,
        _if_any(state.transaction_start_time_ms),
        frozenset(TopicPartition(topic.topic, number) for topic in state.topics for number in topic.partitions),
    )


def _producers(partition: PartitionResponse) -> tuple[ProducerState, ...]:
    return tuple(
        ProducerState(
            each.producer_id,
            each.producer_epoch,
            each.last_sequence,
            each.last_timestamp,
            _if_any(each.coordinator_epoch),
            _if_any(each.current_txn_start_offset),
        )
        for each in partition.active_producers
    )


def _if_any(number: int) -> int | None:
    return None if number < 0 else number
