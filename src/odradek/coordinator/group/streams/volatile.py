"""What is known of a streams group in memory alone: it begins anew when the group is loaded."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from odradek.coordinator.group.streams.configured import ConfiguredTopology

NEVER = -1


class Volatile:
    """A group that is not written yet has none: whatever its first heartbeat finds, the second finds again."""

    __slots__ = ("configured", "endpoint_epoch", "seen_version", "shutdown_requested_by")

    def __init__(self) -> None:
        self.configured: ConfiguredTopology | None = None
        self.seen_version = NEVER  # of the topics, as it was configured with
        self.endpoint_epoch = 0
        self.shutdown_requested_by: str | None = None
