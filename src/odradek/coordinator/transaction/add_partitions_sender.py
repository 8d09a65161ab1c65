"""Asks the transaction coordinator, for the leader of a partition: is this partition in that transaction? (KIP-890)

A client of version 2 leaves it to the leader to add the partition with its first record; for an older one the leader
only verifies that the client has added it. Either way the question goes to the coordinator as AddPartitionsToTxn, and
questions of the same moment about the same transaction are one.
"""

from collections.abc import Callable
from typing import NamedTuple

from odradek.coordinator.transaction.per_node import PerNode, Sender
from odradek.metadata.cache import MetadataCache
from odradek.metadata.partition import NO_LEADER
from odradek.protocol import errors
from odradek.protocol.internal_topics import TRANSACTION_STATE_TOPIC
from odradek.protocol.java_hash import partition_of
from odradek.protocol.messages.k24_add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from odradek.protocol.topic_partition import TopicPartition
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending

TellOfRound = Callable[[int, int], None]


class _Key(NamedTuple):
    transactional_id: str
    producer_id: int
    producer_epoch: int
    is_add: bool


class _Question(NamedTuple):
    key: _Key
    partition: TopicPartition
    answered: Pending[None]


class AddPartitionsSender:
    """The questions of this broker's leaders, on their way to the coordinators that answer them."""

    __slots__ = ("_inter_broker", "_loop", "_metadata", "_queues", "_tell")

    def __init__(self, loop: Loop, inter_broker: Sender, metadata: MetadataCache, tell: TellOfRound) -> None:
        """`tell` is called with every round of questions: the milliseconds it took, and how many got a refusal."""
        self._loop = loop
        self._tell = tell
        self._inter_broker = inter_broker
        self._metadata = metadata
        self._queues: PerNode[_Question] = PerNode(loop, self._deliver)

    def add_or_verify(
        self, transactional_id: str, producer_id: int, producer_epoch: int, partition: TopicPartition, *, is_add: bool
    ) -> Pending[None]:
        """Done when the partition is in the transaction; fails with the coordinator's reason why it is not."""
        answered: Pending[None] = self._loop.pending()
        node_id = self._coordinator_of(transactional_id)
        if node_id == NO_LEADER:
            answered.fail(errors.CoordinatorNotAvailable())
        else:
            key = _Key(transactional_id, producer_id, producer_epoch, is_add)
            self._queues.put(node_id, _Question(key, partition, answered))
        return answered

    def _coordinator_of(self, transactional_id: str) -> int:
        topic = self._metadata.topic(TRANSACTION_STATE_TOPIC)
        if topic is None or not topic.partitions:
            return NO_LEADER
        state = topic.partitions.get(partition_of(transactional_id, len(topic.partitions)))
        return NO_LEADER if state is None else state.leader

    async def _deliver(self, node_id: int, questions: list[_Question]) -> None:
        """One request can name a transactional id once: what differs in the producer goes into the next."""
        while questions:
            chosen: dict[str, _Key] = {}
            for question in questions:
                chosen.setdefault(question.key.transactional_id, question.key)
            asked = [each for each in questions if chosen[each.key.transactional_id] == each.key]
            questions = [each for each in questions if chosen[each.key.transactional_id] != each.key]
            await self._ask(node_id, asked)

    async def _ask(self, node_id: int, questions: list[_Question]) -> None:
        began_ms = self._loop.ports.clock.mono_ms()
        try:
            response = await self._inter_broker.send(node_id, _request(questions))
            errors.raise_for(response.error_code)
        except errors.KafkaError as error:
            self._tell(self._loop.ports.clock.mono_ms() - began_ms, len(questions))
            for question in questions:
                question.answered.fail(error)
            return
        codes = _codes(response)
        self._tell(self._loop.ports.clock.mono_ms() - began_ms, sum(code != 0 for code in codes.values()))
        for question in questions:
            code = codes.get((question.key.transactional_id, *question.partition), errors.UnknownServerError.code)
            if code == 0:
                question.answered.resolve(None)
            else:
                question.answered.fail(errors.by_code(code)())


def _request(questions: list[_Question]) -> AddPartitionsToTxnRequest:
    partitions: dict[_Key, dict[str, set[int]]] = {}
    for question in questions:
        topic, index = question.partition
        partitions.setdefault(question.key, {}).setdefault(topic, set()).add(index)
    return AddPartitionsToTxnRequest(
        transactions=[
            AddPartitionsToTxnTransaction(
                transactional_id=key.transactional_id,
                producer_id=key.producer_id,
                producer_epoch=key.producer_epoch,
                verify_only=not key.is_add,
                topics=[
                    AddPartitionsToTxnTopic(name=name, partitions=sorted(indexes)) for name, indexes in topics.items()
                ],
            )
            for key, topics in partitions.items()
        ]
    )


def _codes(response: AddPartitionsToTxnResponse) -> dict[tuple[str, str, int], int]:
    return {
        (result.transactional_id, topic.name, partition.partition_index): partition.partition_error_code
        for result in response.results_by_transaction
        for topic in result.topic_results
        for partition in topic.results_by_partition
    }
