"""What the group coordinator asks of the broker's configs."""

from odradek.config.broker import TABLE
from odradek.config.snapshot import Snapshot, field


class GroupConfig(Snapshot, of=TABLE):
    session_timeout_ms_min = field("group.min.session.timeout.ms", int)
    session_timeout_ms_max = field("group.max.session.timeout.ms", int)
    initial_rebalance_delay_ms = field("group.initial.rebalance.delay.ms", int)
    members_max = field("group.max.size", int)
    metadata_bytes_max = field("offset.metadata.max.bytes", int)
    retention_minutes = field("offsets.retention.minutes", int)
    retention_check_interval_ms = field("offsets.retention.check.interval.ms", int)
    compression = field("offsets.topic.compression.codec", int)

    @property
    def retention_ms(self) -> int:
        return self.retention_minutes * 60_000
