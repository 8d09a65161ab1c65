"""Brings the markers of decided transactions to the leaders of their partitions, until each has its own.

    prepared ----> sent to every leader ----> all have theirs ----> the completion is written
                     ^            |
                     +-- pause ---+  no leader now, no answer, or an error that passes

A topic that has been deleted needs no marker. A partition that says INVALID_PRODUCER_EPOCH is past this transaction:
what was open there has been ended by somebody with a later epoch. TRANSACTION_COORDINATOR_FENCED is the word of a
partition that knows a later coordinator than us, who sends the markers himself: we stop.
"""

from typing import NamedTuple

from odradek.coordinator.shard import Shard, Tell
from odradek.coordinator.transaction.core import TransactionCore
from odradek.coordinator.transaction.effects import SendMarkers
from odradek.coordinator.transaction.per_node import PerNode, Sender
from odradek.coordinator.transaction.transaction import Transaction
from odradek.metadata.cache import MetadataCache
from odradek.metadata.partition import NO_LEADER
from odradek.protocol import errors
from odradek.protocol.messages.k27_write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from odradek.protocol.topic_partition import TopicPartition
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending

PAUSE_MS_MIN = 20
PAUSE_MS_MAX = 1000

TransactionShard = Shard[TransactionCore]
Codes = dict[TopicPartition, int]

# Nothing more to do for that partition: it has the marker, needs none, or cannot hold one.
_DONE_CODES = frozenset(
    (0, errors.InvalidProducerEpoch.code, errors.UnsupportedForMessageFormat.code, errors.UnsupportedVersion.code)
)


class _Outgoing(NamedTuple):
    marker: WritableTxnMarker
    answered: Pending[Codes]


class MarkerSender:
    """`send` ends with the completion of the transaction, or with the shard."""

    __slots__ = ("_inter_broker", "_loop", "_metadata", "_queues", "_tell", "leaderless", "unwritten")

    def __init__(self, loop: Loop, inter_broker: Sender, metadata: MetadataCache, tell: Tell) -> None:
        self._loop = loop
        self._inter_broker = inter_broker
        self._metadata = metadata
        self._tell = tell
        self._queues: PerNode[_Outgoing] = PerNode(loop, self._deliver)
        self.leaderless = 0  # transactions with markers for partitions that nobody leads
        self.unwritten = 0  # completions that wait to be written once more

    def send(self, shard: TransactionShard, wanted: SendMarkers) -> None:
        self._loop.spawn(self._send(shard, wanted))

    async def _send(self, shard: TransactionShard, wanted: SendMarkers) -> None:
        try:
            if await self._bring_to_all(shard, wanted):
                await shard.run(lambda core: core.complete(shard.now(), wanted))
        except errors.KafkaError as error:
            self._tell(f"The completion of the transaction of {wanted.transactional_id} was not written.", error)
            if shard.is_active:
                await self._later(shard, wanted)

    async def _later(self, shard: TransactionShard, wanted: SendMarkers) -> None:
        self.unwritten += 1
        await self._loop.sleep(PAUSE_MS_MAX)
        self.unwritten -= 1
        self.send(shard, wanted)

    async def _bring_to_all(self, shard: TransactionShard, wanted: SendMarkers) -> bool:
        """Brings the markers for as long as it takes, until every partition has its own.

        False if that is no longer our business.
        """
        txn = shard.core.to_send(wanted)
        left = set() if txn is None else set(txn.partitions)
        pause_ms = PAUSE_MS_MIN
        while txn is not None and shard.is_active:
            codes = await self._attempt(shard.epoch, txn, left)
            if errors.TransactionCoordinatorFenced.code in codes.values():
                self._tell(
                    f"A later coordinator than this one ends the transaction of {wanted.transactional_id}.", None
                )
                return False
            left = {partition for partition, code in codes.items() if code not in _DONE_CODES}
            if not left:
                return True
            is_leaderless = errors.LeaderNotAvailable.code in codes.values()
            self.leaderless += is_leaderless
            await self._loop.sleep(pause_ms)
            self.leaderless -= is_leaderless
            pause_ms = min(pause_ms * 2, PAUSE_MS_MAX)
        return False

    async def _attempt(self, coordinator_epoch: int, txn: Transaction, partitions: set[TopicPartition]) -> Codes:
        """What became of each partition; one that is gone does not stand in it."""
        codes: Codes = {}
        waits = []
        for node_id, of_node in self._by_leader(partitions).items():
            if node_id == NO_LEADER:
                codes.update(dict.fromkeys(of_node, errors.LeaderNotAvailable.code))
                continue
            outgoing = _Outgoing(_marker(coordinator_epoch, txn, of_node), self._loop.pending())
            self._queues.put(node_id, outgoing)
            waits.append(outgoing.answered)
        for answered in waits:
            codes.update(await answered)
        return codes

    def _by_leader(self, partitions: set[TopicPartition]) -> dict[int, list[TopicPartition]]:
        by_leader: dict[int, list[TopicPartition]] = {}
        for topic, index in sorted(partitions):
            state = self._metadata.partition(topic, index)
            if state is not None:
                by_leader.setdefault(state.leader, []).append(TopicPartition(topic, index))
        return by_leader

    async def _deliver(self, node_id: int, batch: list[_Outgoing]) -> None:
        request = WriteTxnMarkersRequest(markers=[outgoing.marker for outgoing in batch])
        try:
            response = await self._inter_broker.send(node_id, request)
        except errors.KafkaError as error:
            for outgoing in batch:
                outgoing.answered.resolve(dict.fromkeys(_partitions(outgoing.marker), error.code))
            return
        told = _codes_by_producer(response)
        for outgoing in batch:
            codes = told.get(outgoing.marker.producer_id, {})
            unknown = errors.UnknownServerError.code
            outgoing.answered.resolve({each: codes.get(each, unknown) for each in _partitions(outgoing.marker)})


def _marker(coordinator_epoch: int, txn: Transaction, partitions: list[TopicPartition]) -> WritableTxnMarker:
    topics: dict[str, list[int]] = {}
    for topic, index in partitions:
        topics.setdefault(topic, []).append(index)
    return WritableTxnMarker(
        producer_id=txn.producer_id,
        producer_epoch=txn.producer_epoch,
        transaction_result=txn.is_commit,
        topics=[WritableTxnMarkerTopic(name=name, partition_indexes=indexes) for name, indexes in topics.items()],
        coordinator_epoch=coordinator_epoch,
        transaction_version=txn.client_version,
    )


def _partitions(marker: WritableTxnMarker) -> list[TopicPartition]:
    return [TopicPartition(topic.name, index) for topic in marker.topics for index in topic.partition_indexes]


def _codes_by_producer(response: WriteTxnMarkersResponse) -> dict[int, Codes]:
    """A producer has one transaction at a time, so that its id names the marker."""
    told: dict[int, Codes] = {}
    for marker in response.markers:
        codes = told.setdefault(marker.producer_id, {})
        for topic in marker.topics:
            for partition in topic.partitions:
                codes[TopicPartition(topic.name, partition.partition_index)] = partition.error_code
    return told
