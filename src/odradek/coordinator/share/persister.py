"""Kafka's DefaultStatePersister: brings what leaders and the group coordinator want to the share coordinator.

Every request is a message to the broker that leads the partition of __share_group_state that the share-partition's key
hashes to, on one node too. While there is no such topic or nobody to answer, it is tried again for a while; somebody
else's answer (FENCED_*, INVALID_REQUEST) is final. Requests about one share-partition go out in the order of the calls.
"""

from typing import Any

from odradek.coordinator.share.state import batches_of
from odradek.coordinator.transaction.per_node import Sender
from odradek.metadata.cache import MetadataCache
from odradek.protocol import errors
from odradek.protocol.declare import Request, Uuid
from odradek.protocol.internal_topics import SHARE_STATE_TOPIC
from odradek.protocol.java_hash import partition_of
from odradek.protocol.messages import k83_initialize_share_group_state as initializing
from odradek.protocol.messages import k84_read_share_group_state as reading
from odradek.protocol.messages import k85_write_share_group_state as writing
from odradek.protocol.messages import k86_delete_share_group_state as deleting
from odradek.protocol.messages import k87_read_share_group_state_summary as summing
from odradek.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from odradek.reactor.loop import Loop
from odradek.replica.share.persisted import PersistedState, SharePartitionKey

SHARE_KEY = 2  # the type of key in FindCoordinator
ATTEMPTS_MAX = 12
PAUSE_MS_MIN = 50
PAUSE_MS_MAX = 1000
NO_EPOCH = -1

_PASSING = (
    errors.NotCoordinator.code,
    errors.CoordinatorLoadInProgress.code,
    errors.CoordinatorNotAvailable.code,
)


class StatePersister:
    __slots__ = ("_inter_broker", "_loop", "_metadata", "_node_id")

    def __init__(self, loop: Loop, inter_broker: Sender, metadata: MetadataCache, node_id: int) -> None:
        self._loop = loop
        self._inter_broker = inter_broker
        self._metadata = metadata
        self._node_id = node_id

    async def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> None:
        partition = initializing.PartitionData(
            partition=key.partition, state_epoch=state_epoch, start_offset=start_offset
        )
        topic = initializing.InitializeStateData(topic_id=Uuid(key.topic_id), partitions=[partition])
        await self._ask(key, initializing.InitializeShareGroupStateRequest(group_id=key.group_id, topics=[topic]))

    async def read(self, key: SharePartitionKey, leader_epoch: int) -> PersistedState:
        partition = reading.PartitionData(partition=key.partition, leader_epoch=leader_epoch)
        topic = reading.ReadStateData(topic_id=Uuid(key.topic_id), partitions=[partition])
        told = await self._ask(key, reading.ReadShareGroupStateRequest(group_id=key.group_id, topics=[topic]))
        return PersistedState(told.state_epoch, told.start_offset, batches_of(told.state_batches))

    async def write(
        self, key: SharePartitionKey, leader_epoch: int, state: PersistedState, delivery_complete_count: int
    ) -> None:
        partition = writing.PartitionData(
            partition=key.partition,
            state_epoch=state.state_epoch,
            leader_epoch=leader_epoch,
            start_offset=state.start_offset,
            delivery_complete_count=delivery_complete_count,
            state_batches=[
                writing.StateBatch(first_offset=first, last_offset=last, delivery_state=kind, delivery_count=count)
                for first, last, kind, count in state.batches
            ],
        )
        topic = writing.WriteStateData(topic_id=Uuid(key.topic_id), partitions=[partition])
        await self._ask(key, writing.WriteShareGroupStateRequest(group_id=key.group_id, topics=[topic]))

    async def delete(self, key: SharePartitionKey) -> None:
        topic = deleting.DeleteStateData(
            topic_id=Uuid(key.topic_id), partitions=[deleting.PartitionData(partition=key.partition)]
        )
        await self._ask(key, deleting.DeleteShareGroupStateRequest(group_id=key.group_id, topics=[topic]))

    async def summary(self, key: SharePartitionKey) -> summing.PartitionResult:
        partition = summing.PartitionData(partition=key.partition, leader_epoch=NO_EPOCH)
        topic = summing.ReadStateSummaryData(topic_id=Uuid(key.topic_id), partitions=[partition])
        request = summing.ReadShareGroupStateSummaryRequest(group_id=key.group_id, topics=[topic])
        told: summing.PartitionResult = await self._ask(key, request)
        return told

    # The way there

    async def _ask(self, key: SharePartitionKey, request: Request) -> Any:  # Any: each API has its own struct for it
        """The result of the one partition that the request is about."""
        pause_ms = PAUSE_MS_MIN
        for _ in range(ATTEMPTS_MAX):
            told = await self._attempt(key, request)
            if told is not None and told.error_code == errors.NONE:
                return told
            if told is not None and told.error_code not in _PASSING:
                raise errors.by_code(told.error_code)(told.error_message)
            await self._loop.sleep(pause_ms)
            pause_ms = min(2 * pause_ms, PAUSE_MS_MAX)
        raise errors.CoordinatorNotAvailable()

    async def _attempt(self, key: SharePartitionKey, request: Request) -> Any:  # as for `_ask`
        """The result of the partition; None if nobody has answered."""
        node_id = self._coordinator_of(key)
        try:
            if node_id is None:
                await self._find(key)
                return None
            response = await self._inter_broker.send(node_id, request)
        except errors.KafkaError:
            return None
        return response.results[0].partitions[0]

    def _coordinator_of(self, key: SharePartitionKey) -> int | None:
        topic = self._metadata.topic(SHARE_STATE_TOPIC)
        if topic is None or not topic.partitions:
            return None
        state = topic.partitions.get(partition_of(key.as_coordinator_key(), len(topic.partitions)))
        return None if state is None or state.leader < 0 else state.leader

    async def _find(self, key: SharePartitionKey) -> None:
        """Who looks for the coordinator has its topic made."""
        request = FindCoordinatorRequest(key_type=SHARE_KEY, coordinator_keys=[key.as_coordinator_key()])
        await self._inter_broker.send(self._node_id, request)
