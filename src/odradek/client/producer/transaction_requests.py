"""What a producer asks its coordinators, and what it does about each error.

| the answer | means |
|---|---|
| DONE | it is done |
| RETRY | the same again, after a while |
| FIND | the same again, from the coordinator that FindCoordinator names now |
| ABORTABLE | this transaction cannot be committed; the next one may be |
| BUMP | the same; version 1 needs another epoch before it goes on |
| FENCED | another producer has this transactional id: the end |
| FATAL | the end |

A request without an answer is RETRY with FIND: it is the same request, and the coordinator knows it by its epoch.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from odradek.client.core import GROUP, TRANSACTION, Versions
from odradek.client.group_metadata import ConsumerGroupMetadata
from odradek.client.offsets import OffsetAndMetadata, Offsets, with_metadata
from odradek.client.producer.batch import ProducerIdAndEpoch
from odradek.protocol import errors
from odradek.protocol.declare import Request, Response
from odradek.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from odradek.protocol.messages.k22_init_producer_id import InitProducerIdRequest
from odradek.protocol.messages.k24_add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from odradek.protocol.messages.k25_add_offsets_to_txn import AddOffsetsToTxnRequest
from odradek.protocol.messages.k26_end_txn import EndTxnRequest
from odradek.protocol.messages.k28_txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from odradek.protocol.topic_partition import TopicPartition

DONE, RETRY, FIND, ABORTABLE, BUMP, FENCED, FATAL = "done", "retry", "find", "abortable", "bump", "fenced", "fatal"
Treatment = Mapping[type[errors.KafkaError], str]

FIND_COORDINATOR, INIT_PRODUCER_ID, ADD_PARTITIONS, ADD_OFFSETS, END_TXN, TXN_OFFSET_COMMIT = 10, 22, 24, 25, 26, 28
SEVERAL_KEYS_MIN = 4  # of FindCoordinator: a list of keys, a list of answers

_OF_COORDINATORS: Treatment = {
    errors.NotCoordinator: FIND,
    errors.CoordinatorNotAvailable: FIND,
    errors.CoordinatorLoadInProgress: RETRY,
    errors.ConcurrentTransactions: RETRY,
    errors.InvalidProducerEpoch: FENCED,
    errors.ProducerFenced: FENCED,
    errors.TransactionAbortable: ABORTABLE,
}
_OF_TRANSACTIONS: Treatment = {
    **_OF_COORDINATORS,
    errors.UnknownProducerId: BUMP,
    errors.InvalidProducerIdMapping: BUMP,
}

# What is in no table is FATAL; of AddPartitionsToTxn, ABORTABLE: it is about one partition.
TREATMENTS: dict[int, Treatment] = {
    FIND_COORDINATOR: {
        errors.CoordinatorNotAvailable: RETRY,
        errors.CoordinatorLoadInProgress: RETRY,
        errors.GroupAuthorizationFailed: ABORTABLE,
        errors.TransactionAbortable: ABORTABLE,
    },
    INIT_PRODUCER_ID: _OF_COORDINATORS,
    ADD_PARTITIONS: {
        **_OF_TRANSACTIONS,
        errors.UnknownTopicOrPartition: RETRY,
        errors.TransactionalIdAuthorizationFailed: FATAL,
        errors.InvalidTxnState: FATAL,
    },
    ADD_OFFSETS: {**_OF_TRANSACTIONS, errors.GroupAuthorizationFailed: ABORTABLE},
    END_TXN: _OF_TRANSACTIONS,
    TXN_OFFSET_COMMIT: {
        **_OF_COORDINATORS,
        errors.RequestTimedOut: FIND,
        errors.UnknownTopicOrPartition: RETRY,
        errors.GroupAuthorizationFailed: ABORTABLE,
        errors.FencedInstanceId: ABORTABLE,
        errors.UnknownMemberId: ABORTABLE,
        errors.IllegalGeneration: ABORTABLE,
        errors.StaleMemberEpoch: ABORTABLE,
    },
}
_OTHERWISE = {ADD_PARTITIONS: ABORTABLE}
_ORDER = (FATAL, FENCED, FIND, RETRY, BUMP, ABORTABLE)  # of several partitions, the first of these decides


class Identity(NamedTuple):
    """What every request of a transactional producer says about itself."""

    transactional_id: str | None
    timeout_ms: int
    producer: ProducerIdAndEpoch


class Ask(NamedTuple):
    """A request to come. It is made when it goes out, and the same each time: with the epoch of its transaction."""

    api_key: int
    make: Callable[[], Request]
    coordinator: tuple[int, str] | None  # key type and key; None: any broker
    subject: Any = None  # what it is about, for whoever takes the answer. Any: as the API needs it


def find_coordinator(versions: Versions, key_type: int, key: str) -> Ask:
    def make() -> Request:
        if versions[FIND_COORDINATOR] >= SEVERAL_KEYS_MIN:
            return FindCoordinatorRequest(key_type=key_type, coordinator_keys=[key])
        return FindCoordinatorRequest(key_type=key_type, key=key)

    return Ask(FIND_COORDINATOR, make, None, (key_type, key))


def init_producer_id(identity: Identity) -> Ask:
    def make() -> Request:
        return InitProducerIdRequest(
            transactional_id=identity.transactional_id,
            transaction_timeout_ms=identity.timeout_ms,
            producer_id=identity.producer.producer_id,
            producer_epoch=identity.producer.epoch,
        )

    return Ask(INIT_PRODUCER_ID, make, _coordinator(identity))


def add_partitions(identity: Identity, partitions: Iterable[TopicPartition]) -> Ask:
    added = list(partitions)

    def make() -> Request:
        return AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=identity.transactional_id,
            v3_and_below_producer_id=identity.producer.producer_id,
            v3_and_below_producer_epoch=identity.producer.epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name=topic, partitions=indexes) for topic, indexes in _by_topic(added).items()
            ],
        )

    return Ask(ADD_PARTITIONS, make, _coordinator(identity), added)


def add_offsets(identity: Identity, commit: Ask, group_id: str) -> Ask:
    """`commit` follows it."""

    def make() -> Request:
        return AddOffsetsToTxnRequest(
            transactional_id=identity.transactional_id,
            producer_id=identity.producer.producer_id,
            producer_epoch=identity.producer.epoch,
            group_id=group_id,
        )

    return Ask(ADD_OFFSETS, make, _coordinator(identity), commit)


def txn_offset_commit(identity: Identity, member: ConsumerGroupMetadata, offsets: Offsets) -> Ask:
    committed = {place: with_metadata(offset) for place, offset in offsets.items()}

    def make() -> Request:
        return TxnOffsetCommitRequest(
            transactional_id=identity.transactional_id,
            group_id=member.group_id,
            producer_id=identity.producer.producer_id,
            producer_epoch=identity.producer.epoch,
            generation_id=member.generation_id,
            member_id=member.member_id,
            group_instance_id=member.group_instance_id,
            topics=_committed_topics(committed),
        )

    return Ask(TXN_OFFSET_COMMIT, make, (GROUP, member.group_id))


def end_txn(identity: Identity, *, is_commit: bool) -> Ask:
    def make() -> Request:
        return EndTxnRequest(
            transactional_id=identity.transactional_id,
            producer_id=identity.producer.producer_id,
            producer_epoch=identity.producer.epoch,
            committed=is_commit,
        )

    return Ask(END_TXN, make, _coordinator(identity))


def _coordinator(identity: Identity) -> tuple[int, str] | None:
    return None if identity.transactional_id is None else (TRANSACTION, identity.transactional_id)


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for topic, index in partitions:
        topics.setdefault(topic, []).append(index)
    return topics


def _committed_topics(offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> list[TxnOffsetCommitRequestTopic]:
    return [
        TxnOffsetCommitRequestTopic(
            name=topic,
            partitions=[_committed(index, offsets[TopicPartition(topic, index)]) for index in indexes],
        )
        for topic, indexes in _by_topic(offsets).items()
    ]


def _committed(index: int, offset: OffsetAndMetadata) -> TxnOffsetCommitRequestPartition:
    return TxnOffsetCommitRequestPartition(
        partition_index=index,
        committed_offset=offset.offset,
        committed_leader_epoch=offset.leader_epoch,
        committed_metadata=offset.metadata,
    )


# Answers


class Verdict(NamedTuple):
    treatment: str
    error: errors.KafkaError | None = None


def verdict(api_key: int, response: Response) -> Verdict:
    """The gravest of all errors in a response decides."""
    found = [_judge(api_key, code) for code in dict.fromkeys(_codes(api_key, response)) if code != errors.NONE]
    return min(found, key=lambda each: _ORDER.index(each.treatment)) if found else Verdict(DONE)


def _judge(api_key: int, code: int) -> Verdict:
    kind = errors.by_code(code)
    return Verdict(TREATMENTS[api_key].get(kind, _OTHERWISE.get(api_key, FATAL)), kind())


def _codes(api_key: int, response: Any) -> Iterable[int]:
    """Any: the response is of the class that belongs to the key, which mypy does not see."""
    if api_key == FIND_COORDINATOR:
        return [each.error_code for each in response.coordinators] or [response.error_code]
    if api_key == ADD_PARTITIONS:
        topics = response.results_by_topic_v3_and_below
        return [each.partition_error_code for topic in topics for each in topic.results_by_partition]
    if api_key == TXN_OFFSET_COMMIT:
        return [each.error_code for topic in response.topics for each in topic.partitions]
    return [response.error_code]
