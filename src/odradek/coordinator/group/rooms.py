"""The groups of one shard: a room for each protocol, beside what they share. Decisions about any group take this."""

from collections.abc import Callable

from odradek.coordinator.group.classic.room import ClassicRoom
from odradek.coordinator.group.config import GroupConfig
from odradek.coordinator.group.consumer.config import ConsumerConfig
from odradek.coordinator.group.consumer.room import ConsumerRoom
from odradek.coordinator.group.counts import GroupCounts
from odradek.coordinator.group.records import OffsetRecords
from odradek.coordinator.group.shard_state import ShardState
from odradek.coordinator.group.share.config import ShareConfig
from odradek.coordinator.group.share.room import ShareRoom
from odradek.coordinator.group.streams.config import StreamsConfig
from odradek.coordinator.group.streams.room import StreamsRoom
from odradek.coordinator.group.topics import GroupTopics
from odradek.protocol.releases import Release


class GroupRooms(ShardState):
    __slots__ = ("classic", "consumers", "offset_records", "shares", "streams", "to_check")

    def __init__(
        self,
        config: GroupConfig,
        release: Release,
        new_uuid: Callable[[], str],
        *,
        consumer_config: ConsumerConfig | None = None,
        share_config: ShareConfig | None = None,
        streams_config: StreamsConfig | None = None,
        topics: GroupTopics | None = None,
        new_member_id: Callable[[], str] | None = None,
        counts: GroupCounts | None = None,
    ) -> None:
        """`new_uuid` is where ids of classic members come from, `new_member_id` those of the others."""
        super().__init__(config, release, new_uuid, counts or GroupCounts())
        topics = topics or GroupTopics()
        self.offset_records = OffsetRecords(release)
        self.classic = ClassicRoom(self)
        self.consumers = ConsumerRoom(
            self, self.classic, consumer_config or ConsumerConfig({}), topics, new_member_id or new_uuid
        )
        self.shares = ShareRoom(self, share_config or ShareConfig({}), topics)
        self.streams = StreamsRoom(self, self.classic, streams_config or StreamsConfig({}), topics)
        self.kinds = (self.classic, self.consumers, self.shares, self.streams)
        self.to_check: list[str] = []  # groups whose offsets a check of the retention has yet to look at
