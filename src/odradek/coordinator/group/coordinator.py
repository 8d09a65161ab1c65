"""The group coordinator of a broker: finds the shard of a group and lets its core decide.

What is wrong with a request whatever the state of its group, and that the group is not coordinated here, is raised;
everything else is the core's answer.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from odradek.config.parsed import Config
from odradek.coordinator.core import Decided
from odradek.coordinator.group.classic.member import Joiner
from odradek.coordinator.group.commit_request import Commit, CommitFrom
from odradek.coordinator.group.config import GroupConfig
from odradek.coordinator.group.consumer.config import ConsumerConfig
from odradek.coordinator.group.core import GroupCore
from odradek.coordinator.group.counts import GroupCounts
from odradek.coordinator.group.loading import OffsetsDecoder
from odradek.coordinator.group.share.config import ShareConfig
from odradek.coordinator.group.streams.config import StreamsConfig
from odradek.coordinator.group.topics import GroupTopics
from odradek.coordinator.shard import LOADING, Shard, Tell, quiet
from odradek.coordinator.shards import Shards
from odradek.protocol import errors
from odradek.protocol.frames import OFFSETS
from odradek.protocol.internal_topics import OFFSETS_TOPIC
from odradek.protocol.releases import Release
from odradek.protocol.uuids import format_uuid
from odradek.reactor.pending import Pending
from odradek.reactor.ports import Stream
from odradek.replica.manager import ReplicaManager
from odradek.replicated.log_record import EndMarker

if TYPE_CHECKING:
    from odradek.coordinator.group.consumer.requests import Caller
    from odradek.coordinator.group.listing import GroupFilter
    from odradek.coordinator.group.offset_fetch import FetchedTopic, WantedTopics
    from odradek.coordinator.group.streams.requests import Caller as StreamsCaller
    from odradek.coordinator.group.streams.response import HeartbeatResult
    from odradek.metadata.delta import MetadataDelta
    from odradek.metadata.image import MetadataImage
    from odradek.protocol.messages.k11_join_group import JoinGroupRequest, JoinGroupResponse
    from odradek.protocol.messages.k12_heartbeat import HeartbeatRequest, HeartbeatResponse
    from odradek.protocol.messages.k13_leave_group import LeaveGroupResponse, MemberIdentity
    from odradek.protocol.messages.k14_sync_group import SyncGroupRequest, SyncGroupResponse
    from odradek.protocol.messages.k15_describe_groups import DescribedGroup
    from odradek.protocol.messages.k16_list_groups import ListedGroup
    from odradek.protocol.messages.k68_consumer_group_heartbeat import (
        ConsumerGroupHeartbeatRequest,
        ConsumerGroupHeartbeatResponse,
    )
    from odradek.protocol.messages.k69_consumer_group_describe import DescribedGroup as DescribedConsumerGroup
    from odradek.protocol.messages.k88_streams_group_heartbeat import StreamsGroupHeartbeatRequest
    from odradek.protocol.messages.k89_streams_group_describe import DescribedGroup as DescribedStreamsGroup


def uuid_maker(stream: Stream) -> Callable[[], str]:
    """Random ids in the form that Java writes them."""

    def new_uuid() -> str:
        data = bytearray(stream.bytes(16))
        data[6] = data[6] & 0x0F | 0x40
        data[8] = data[8] & 0x3F | 0x80
        text = data.hex()
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"

    return new_uuid


def member_id(stream: Stream) -> str:
    """A random id in Kafka's own form, which members of the consumer protocol have. None begins like an option."""
    while (text := format_uuid(stream.bytes(16))).startswith("-"):
        pass
    return text


class GroupCoordinator:
    __slots__ = (
        "_consumer_config",
        "_share_config",
        "_streams_config",
        "counts",
        "performers",
        "serves_consumer_protocol",
        "serves_streams_protocol",
        "shards",
        "topics",
    )

    def __init__(self, replicas: ReplicaManager, config: Config, release: Release, *, tell: Tell = quiet) -> None:
        groups = GroupConfig.from_config(config)
        stream = replicas.loop.ports.rng.stream("group coordinator")
        new_uuid = uuid_maker(stream)
        consumer_config = self._consumer_config = ConsumerConfig(config)
        self.serves_consumer_protocol = consumer_config.is_served
        share_config = self._share_config = ShareConfig(config)
        # Any: each takes effects of the type that it stands under
        self.performers: dict[type, Callable[[Shard[GroupCore], Any], None]] = {}
        streams_config = self._streams_config = StreamsConfig(config)
        self.serves_streams_protocol = streams_config.is_served
        self.topics = GroupTopics()
        self.counts = GroupCounts()
        self.shards: Shards[GroupCore] = Shards(
            replicas,
            OFFSETS_TOPIC,
            OFFSETS,
            lambda index: GroupCore(
                groups,
                release,
                new_uuid,
                consumer_config=consumer_config,
                share_config=share_config,
                streams_config=streams_config,
                topics=self.topics,
                new_member_id=lambda: member_id(stream),
                counts=self.counts,
            ),
            compression=groups.compression,
            decoder=OffsetsDecoder,
            perform=lambda shard, effect: self.performers[type(effect)](shard, effect),
            tell=tell,
        )

    def update_config(self, config: Config) -> None:
        """Takes up the configs that may change while the broker runs: from the next heartbeat of each group on."""
        self._consumer_config.update(config)
        self._share_config.update(config)
        self._streams_config.update(config)

    # Metadata

    def applied(self, delta: "MetadataDelta", image: "MetadataImage") -> None:
        self.topics.applied(delta, image)
        self.shards.applied(delta, image)
        if delta.topics is not None and delta.topics.deleted:
            self._forget({topic.id: topic.name for topic in delta.topics.deleted.values()})

    def _forget(self, topics: dict[bytes, str]) -> None:
        for shard in self.shards:
            if shard.is_active:
                shard.run(lambda core: core.topics_deleted(topics.values())).is_observed = True
                if shard.core.shares.groups:
                    shard.run(lambda core: core.shares.topics_deleted(topics)).is_observed = True

    def opened(self, topic: str, partition: int) -> None:
        self.shards.opened(topic, partition)

    def stop(self) -> None:
        self.shards.stop()

    # Members

    def join(self, request: "JoinGroupRequest", joiner: Joiner) -> "Pending[JoinGroupResponse]":
        _check_group_id(request.group_id)
        shard = self.shards.active(request.group_id)
        now = shard.now()
        if (
            not request.member_id
            and request.group_id not in shard.core.classic.groups
            and shard.core.classic.accepts(request)
        ):
            # Two events for one request: a group that is written down (see `ClassicRoom.create`) has to be replayed
            # before it can be joined. What could not be appended is known here. Once it is, only the loss of the
            # leadership undoes it, and that ends the shard and refuses the ticket of the join as well.
            created = shard.run(lambda core: core.create(now, request.group_id))
            if created.is_done and created.error is not None:
                return created  # type: ignore[return-value]  # it has an error and no value
        return shard.run_with_ticket(lambda core, ticket: core.join(now, request, joiner, ticket))

    def sync(self, request: "SyncGroupRequest") -> "Pending[SyncGroupResponse]":
        """While the coordinator loads, the rebalance that the member is in the middle of is lost: it joins again."""
        _check_group_id(request.group_id)
        shard = self.shards.of(request.group_id)
        if shard.state is LOADING:
            raise errors.RebalanceInProgress()
        now = shard.now()
        return shard.run_with_ticket(lambda core, ticket: core.sync(now, request, ticket))

    def heartbeat(self, request: "HeartbeatRequest") -> "Pending[HeartbeatResponse] | None":
        """None while the coordinator loads: nobody is expired then, and nobody need come again."""
        _check_group_id(request.group_id)
        shard = self.shards.of(request.group_id)
        if shard.state is LOADING:
            return None
        now = shard.now()
        return shard.run(lambda core: core.heartbeat(now, request), now)

    def leave(self, group_id: str, members: "list[MemberIdentity]") -> "Pending[LeaveGroupResponse]":
        _check_group_id(group_id)
        shard = self.shards.active(group_id)
        now = shard.now()
        return shard.run(lambda core: core.leave(now, group_id, members))

    def consumer_heartbeat(
        self, request: "ConsumerGroupHeartbeatRequest", caller: "Caller"
    ) -> "Pending[ConsumerGroupHeartbeatResponse]":
        shard = self.shards.active(request.group_id)
        now = shard.now()
        return shard.run(lambda core: core.consumers.heartbeat(now, request, caller))

    def streams_heartbeat(
        self, request: "StreamsGroupHeartbeatRequest", caller: "StreamsCaller"
    ) -> "Pending[HeartbeatResult]":
        shard = self.shards.active(request.group_id)
        now = shard.now()
        return shard.run(lambda core: core.streams.heartbeat(now, request, caller))

    # Offsets

    def commit_offsets(self, sender: CommitFrom, commits: Sequence[Commit]) -> Pending[list[int]]:
        """The error code of each commit."""
        shard = self.shards.active(sender.group_id)
        now = shard.now()
        return shard.run(lambda core: core.commit_offsets(now, sender, commits), now)

    def txn_offset_commit(
        self, sender: CommitFrom, commits: Sequence[Commit], producer_id: int, producer_epoch: int
    ) -> Pending[list[int]]:
        """The error code of each commit of a transaction: they count after `on_marker`."""
        _check_group_id(sender.group_id)
        shard = self.shards.active(sender.group_id)
        now = shard.now()
        return shard.run(lambda core: core.txn_offset_commit(now, sender, commits, producer_id, producer_epoch))

    def on_marker(self, partition: int, marker: EndMarker) -> Pending[None]:
        """A transaction ends in a partition of the offsets topic: appends the marker, done when it is committed.

        NotCoordinator if this broker does not lead it, CoordinatorLoadInProgress while it loads.
        """
        shard = self.shards.get(partition)
        if shard is None:
            raise errors.NotCoordinator()
        return shard.run(lambda core: core.end_transaction(marker))

    def fetch_offsets(
        self,
        group_id: str,
        wanted: "WantedTopics | None",
        *,
        require_stable: bool,
        member_id: str | None = None,
        member_epoch: int = -1,
    ) -> "Pending[list[FetchedTopic]]":
        """A member of a consumer group says which one it is; the others need not."""

        def fetch(core: GroupCore) -> "Decided[list[FetchedTopic]]":
            core.consumers.check_fetch(group_id, member_id, member_epoch)
            core.streams.check_fetch(group_id, member_id, member_epoch)
            return core.fetch_offsets(group_id, wanted, require_stable=require_stable)

        return self.shards.active(group_id).run(fetch)

    def delete_offsets(self, group_id: str, places: Sequence[tuple[str, int]]) -> Pending[list[int] | int]:
        _check_group_id(group_id)
        return self.shards.active(group_id).run(lambda core: core.delete_offsets(group_id, places))

    # Admins

    def describe(self, group_id: str, *, tells_missing: bool) -> "Pending[DescribedGroup]":
        return self.shards.active(group_id).run(lambda core: core.describe(group_id, tells_missing=tells_missing))

    def describe_consumer(self, group_id: str) -> "Pending[DescribedConsumerGroup]":
        return self.shards.active(group_id).run(lambda core: core.consumers.describe(group_id))

    def describe_streams(self, group_id: str) -> "Pending[DescribedStreamsGroup]":
        return self.shards.active(group_id).run(lambda core: core.streams.describe(group_id))

    def list_groups(self, wanted: "GroupFilter") -> "list[Pending[list[ListedGroup]]]":
        """One for each shard. CoordinatorLoadInProgress while one of them is not ready to tell."""
        shards = list(self.shards)
        if any(shard.state is LOADING for shard in shards):
            raise errors.CoordinatorLoadInProgress()
        return [shard.run(lambda core: core.list_groups(wanted)) for shard in shards if shard.is_active]

    def is_share_group(self, group_id: str) -> bool:
        return group_id in self.shards.active(group_id).core.shares.groups

    def delete(self, group_id: str) -> Pending[int]:
        """The error code."""
        return self.shards.active(group_id).run(lambda core: core.delete(group_id))


def _check_group_id(group_id: str) -> None:
    """An empty one may be used for offsets alone, as the oldest consumers do."""
    if not group_id:
        raise errors.InvalidGroupId()
