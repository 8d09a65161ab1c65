"""What the quorum asks of the broker's configs."""

from odradek.config import topic
from odradek.config.broker import TABLE
from odradek.config.snapshot import Snapshot, field, optional
from odradek.log.config import LogConfig

BATCH_BYTES_MAX = 8 * 1024 * 1024
FETCH_BYTES_MAX = 1024 * 1024
FETCH_WAIT_MS_MAX = 500
DELETE_DELAY_MS = 60_000


class RaftConfig(Snapshot, of=TABLE):
    election_timeout_ms = field("controller.quorum.election.timeout.ms", int)
    fetch_timeout_ms = field("controller.quorum.fetch.timeout.ms", int)
    election_backoff_max_ms = field("controller.quorum.election.backoff.max.ms", int)
    request_timeout_ms = field("controller.quorum.request.timeout.ms", int)
    retry_backoff_ms = field("controller.quorum.retry.backoff.ms", int)
    fetch_max_bytes = optional("controller.quorum.fetch.max.bytes", int)
    fetch_snapshot_max_bytes = optional("controller.quorum.fetch.snapshot.max.bytes", int)
    segment_bytes = field("metadata.log.segment.bytes", int)
    internal_segment_bytes = optional("internal.metadata.log.segment.bytes", int)
    segment_ms = field("metadata.log.segment.ms", int)
    retention_bytes = field("metadata.max.retention.bytes", int)
    retention_ms = field("metadata.max.retention.ms", int)
    internal_batch_bytes = optional("internal.metadata.max.batch.size.in.bytes", int)
    internal_delete_delay_ms = optional("internal.metadata.delete.delay.millis", int)

    @property
    def batch_bytes(self) -> int:
        return self.internal_batch_bytes or BATCH_BYTES_MAX

    @property
    def fetch_bytes(self) -> int:
        return self.fetch_max_bytes or FETCH_BYTES_MAX

    @property
    def fetch_max_wait_ms(self) -> int:
        """How long a leader may hold a Fetch: it must be answered before the follower or the request gives up."""
        return min(FETCH_WAIT_MS_MAX, self.fetch_timeout_ms // 2, self.request_timeout_ms // 2)

    @property
    def fetch_snapshot_bytes(self) -> int:
        return self.fetch_snapshot_max_bytes or FETCH_BYTES_MAX

    @property
    def delete_delay_ms(self) -> int:
        return DELETE_DELAY_MS if self.internal_delete_delay_ms is None else self.internal_delete_delay_ms

    def log_config(self) -> LogConfig:
        """The log is cleaned below snapshots only: retention of its own would take records that no snapshot holds."""
        return LogConfig.from_config(topic.TABLE.parse({})).replace(
            segment_bytes=self.segment_bytes,
            internal_segment_bytes=self.internal_segment_bytes,
            segment_ms=self.segment_ms,
            retention_bytes=-1,
            retention_ms=-1,
            max_message_bytes=max(self.batch_bytes, FETCH_BYTES_MAX),
            flush_messages=1 << 62,
        )
