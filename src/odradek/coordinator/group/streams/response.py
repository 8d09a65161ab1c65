"""What a heartbeat of the streams protocol results in."""

from typing import NamedTuple

from odradek.protocol.messages.k19_create_topics import CreatableTopic
from odradek.protocol.messages.k88_streams_group_heartbeat import StreamsGroupHeartbeatResponse


class HeartbeatResult(NamedTuple):
    """The answer, and the topics that the group lacks: the broker makes them in the caller's name."""

    response: StreamsGroupHeartbeatResponse
    missing: list[CreatableTopic]
