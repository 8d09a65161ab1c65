"""Share groups of a broker, towards requests: the members from the shards, the state from the share coordinator.

What takes two steps at two coordinators is written down before and after: a step in between that fails is done again.
"""

from collections.abc import Collection, Coroutine, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from odradek.coordinator.core import Decided
from odradek.coordinator.group.share import state_topics
from odradek.coordinator.group.share.effects import InitializeState, Topics
from odradek.coordinator.group.share.member import StateTopic, added
from odradek.coordinator.shard import Shard, Tell
from odradek.metadata.cache import MetadataCache
from odradek.protocol import errors
from odradek.protocol.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from odradek.reactor.loop import Loop
from odradek.reactor.pending import Pending
from odradek.replica.share.persisted import UNINITIALIZED_OFFSET, UNKNOWN_COUNT, SharePartitionKey

if TYPE_CHECKING:
    from odradek.coordinator.group.consumer.requests import Caller
    from odradek.coordinator.group.coordinator import GroupCoordinator
    from odradek.coordinator.group.core import GroupCore
    from odradek.coordinator.share.persister import StatePersister
    from odradek.coordinator.transaction.per_node import Sender
    from odradek.protocol.messages.k76_share_group_heartbeat import (
        ShareGroupHeartbeatRequest,
        ShareGroupHeartbeatResponse,
    )
    from odradek.protocol.messages.k77_share_group_describe import DescribedGroup
    from odradek.protocol.messages.k87_read_share_group_state_summary import PartitionResult

NO_LAG = -1
LATEST = -1
CONSUMER = -1  # as the replica id of a request


class StartOffset(NamedTuple):
    partition: int
    start_offset: int = UNINITIALIZED_OFFSET
    leader_epoch: int = 0
    lag: int = NO_LAG
    error: errors.KafkaError | None = None


class ShareGroupService:
    __slots__ = ("_groups", "_inter_broker", "_loop", "_metadata", "_persister", "_tell")

    def __init__(
        self,
        loop: Loop,
        groups: "GroupCoordinator",
        persister: "StatePersister",
        inter_broker: "Sender",
        metadata: MetadataCache,
        tell: Tell,
    ) -> None:
        self._loop = loop
        self._groups = groups
        self._persister = persister
        self._inter_broker = inter_broker
        self._metadata = metadata
        self._tell = tell

    # Members

    def heartbeat(
        self, request: "ShareGroupHeartbeatRequest", caller: "Caller"
    ) -> "Pending[ShareGroupHeartbeatResponse]":
        shard = self._groups.shards.active(request.group_id)
        now = shard.now()
        return shard.run(lambda core: core.shares.heartbeat(now, request, caller))

    def describe(self, group_id: str) -> "Pending[DescribedGroup]":
        return self._groups.shards.active(group_id).run(lambda core: core.shares.describe(group_id))

    def perform(self, shard: "Shard[GroupCore]", effect: InitializeState) -> None:
        self._loop.spawn(self._initialize(shard, effect))

    async def _initialize(self, shard: "Shard[GroupCore]", wanted: InitializeState) -> None:
        """The share-partitions of a group that somebody begins to read."""
        starts = dict.fromkeys(_keys(wanted.group_id, wanted.topics), UNINITIALIZED_OFFSET)
        failures = await self._set_up(wanted.state_epoch, starts)
        for key, error in failures.items():
            self._tell(f"The share-partition {key.as_coordinator_key()} could not be set up.", error)
        try:
            await self._write_initialized(shard, wanted.group_id, wanted.topics, failures)
        except errors.KafkaError as error:  # it is tried again: by the retry interval, or by the next coordinator
            self._tell(f"That the share group {wanted.group_id} is set up was not written.", error)

    async def _set_up(
        self, state_epoch: int, starts: Mapping[SharePartitionKey, int]
    ) -> dict[SharePartitionKey, errors.KafkaError]:
        """Has the state of share-partitions made, and returns why some failed."""
        asked = [(key, self._persister.initialize(key, state_epoch, start)) for key, start in starts.items()]
        return await self._failures(asked)

    async def _failures(
        self, asked: Iterable[tuple[SharePartitionKey, Coroutine[object, None, object]]]
    ) -> dict[SharePartitionKey, errors.KafkaError]:
        """Waits for all of them, side by side."""
        failures: dict[SharePartitionKey, errors.KafkaError] = {}
        for key, task in [(key, self._loop.spawn(coroutine)) for key, coroutine in asked]:
            try:
                await task
            except errors.KafkaError as error:
                failures[key] = error
        return failures

    async def _write_initialized(
        self, shard: "Shard[GroupCore]", group_id: str, topics: Topics, failures: Collection[SharePartitionKey]
    ) -> None:
        failed = _topics_of(failures, topics)
        done = {
            topic_id: StateTopic(name, partitions - failed[topic_id].partitions if topic_id in failed else partitions)
            for topic_id, (name, partitions) in topics.items()
        }
        done = {topic_id: topic for topic_id, topic in done.items() if topic.partitions}
        await shard.run(lambda core: state_topics.initialized(core.shares, group_id, done, failed))

    # Admins

    async def offsets(
        self, group_id: str, wanted: "Sequence[tuple[str, Sequence[int]]] | None"
    ) -> list[tuple[str, bytes, list[StartOffset]]]:
        """(topic, id, start offsets); of all that is set up if nothing is named. What is not there has none."""
        shard = self._groups.shards.active(group_id)
        topics: Topics = await shard.run(lambda core: Decided(response=_initialized(core, group_id)))
        if wanted is None:
            wanted = [(topic.name, sorted(topic.partitions)) for topic in topics.values()]
        return [await self._offsets_of(group_id, name, partitions) for name, partitions in wanted]

    async def _offsets_of(
        self, group_id: str, name: str, partitions: Sequence[int]
    ) -> tuple[str, bytes, list[StartOffset]]:
        topic = self._metadata.topic(name)
        if topic is None:
            return name, bytes(16), [StartOffset(partition) for partition in partitions]
        tasks = [self._loop.spawn(self._offset_of(group_id, name, topic.id, each)) for each in partitions]
        return name, topic.id, [await task for task in tasks]

    async def _offset_of(self, group_id: str, name: str, topic_id: bytes, partition: int) -> StartOffset:
        try:
            told = await self._persister.summary(SharePartitionKey(group_id, topic_id, partition))
            lag = await self._lag(name, told)
        except errors.KafkaError as error:
            return StartOffset(partition, error=error)
        return StartOffset(partition, told.start_offset, told.leader_epoch, lag)

    async def _lag(self, name: str, told: "PartitionResult") -> int:
        """The records past the start offset, less those that are done with."""
        if told.start_offset == UNINITIALIZED_OFFSET or told.delivery_complete_count == UNKNOWN_COUNT:
            return NO_LAG
        end_offset = await self._end_offset(name, told.partition)
        return NO_LAG if end_offset < 0 else end_offset - told.start_offset - told.delivery_complete_count

    async def _end_offset(self, name: str, partition: int) -> int:
        state = self._metadata.partition(name, partition)
        if state is None or state.leader < 0:
            return -1
        wanted = ListOffsetsPartition(partition_index=partition, timestamp=LATEST)
        request = ListOffsetsRequest(replica_id=CONSUMER, topics=[ListOffsetsTopic(name=name, partitions=[wanted])])
        response = await self._inter_broker.send(state.leader, request)
        found = response.topics[0].partitions[0]
        return -1 if found.error_code != errors.NONE else int(found.offset)

    async def alter(
        self, group_id: str, starts: Mapping[SharePartitionKey, int], names: Mapping[bytes, str]
    ) -> dict[SharePartitionKey, errors.KafkaError]:
        """Sets start offsets, and returns why some failed. A group that is not there is made."""
        shard = self._groups.shards.active(group_id)
        topics = _by_topic(starts, names)
        state_epoch = await shard.run(lambda core: state_topics.alter(core.shares, group_id, topics))
        failures = await self._set_up(state_epoch, starts)
        if topics:
            await self._write_initialized(shard, group_id, topics, failures)
        return failures

    async def delete_offsets(self, group_id: str, topic_ids: Collection[bytes]) -> dict[bytes, errors.KafkaError]:
        """Deletes what is kept of topics, and returns why some failed."""
        shard = self._groups.shards.active(group_id)
        going: Topics = await shard.run(lambda core: state_topics.delete_topics(core.shares, group_id, topic_ids))
        failed = await self._delete_state(group_id, going)
        done = [topic_id for topic_id in going if topic_id not in failed]
        if done:
            await shard.run(lambda core: state_topics.deleted(core.shares, group_id, done))
        nothing = errors.UnknownTopicOrPartition("There is no offset information to delete.")
        return {**dict.fromkeys((topic_id for topic_id in topic_ids if topic_id not in going), nothing), **failed}

    async def _delete_state(self, group_id: str, topics: Topics) -> dict[bytes, errors.KafkaError]:
        asked = [(key, self._persister.delete(key)) for key in _keys(group_id, topics)]
        return {key.topic_id: error for key, error in (await self._failures(asked)).items()}

    async def delete(self, group_id: str) -> None:
        """The group, with the state of everything that it has read."""
        shard = self._groups.shards.active(group_id)
        going: Topics = await shard.run(
            lambda core: state_topics.delete_topics(core.shares, group_id, _all_topics(core, group_id))
        )
        failed = await self._delete_state(group_id, going)
        for error in failed.values():
            raise error
        await shard.run(lambda core: state_topics.delete_group(core.shares, group_id))


def _initialized(core: "GroupCore", group_id: str) -> Topics:
    group = core.shares.groups.get(group_id)
    return {} if group is None else group.topics.initialized


def _all_topics(core: "GroupCore", group_id: str) -> list[bytes]:
    topics = core.shares.group(group_id).topics
    return [*added(topics.initialized, topics.initializing), *topics.deleting]


def _keys(group_id: str, topics: Topics) -> list[SharePartitionKey]:
    return [
        SharePartitionKey(group_id, topic_id, partition)
        for topic_id, topic in topics.items()
        for partition in sorted(topic.partitions)
    ]


def _by_topic(keys: Iterable[SharePartitionKey], names: Mapping[bytes, str]) -> dict[bytes, StateTopic]:
    topics: dict[bytes, StateTopic] = {}
    for key in keys:
        topics = added(topics, {key.topic_id: StateTopic(names[key.topic_id], frozenset({key.partition}))})
    return topics


def _topics_of(keys: Iterable[SharePartitionKey], topics: Topics) -> dict[bytes, StateTopic]:
    return _by_topic(keys, {topic_id: topic.name for topic_id, topic in topics.items()})
