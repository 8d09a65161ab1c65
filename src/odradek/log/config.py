"""What a log asks of its topic's configs, as one immutable snapshot; a change at run time brings a new one."""

from odradek.config import topic
from odradek.config.snapshot import Snapshot, field, optional, strings
from odradek.records.compression import PRODUCER, codec_named
from odradek.records.layout import CREATE_TIME, LOG_APPEND_TIME
from odradek.records.rules import NO_LIMIT_MS, ProduceRules

COMPACT = "compact"
DELETE = "delete"


class LogConfig(Snapshot, of=topic.TABLE):
    segment_bytes = field("segment.bytes", int)
    internal_segment_bytes = optional("internal.segment.bytes", int)
    segment_ms = field("segment.ms", int)
    segment_jitter_ms = field("segment.jitter.ms", int)
    segment_index_bytes = field("segment.index.bytes", int)
    index_interval_bytes = field("index.interval.bytes", int)
    flush_messages = field("flush.messages", int)
    flush_ms = field("flush.ms", int)
    cleanup_policy = strings("cleanup.policy")
    retention_bytes = field("retention.bytes", int)
    retention_ms = field("retention.ms", int)
    file_delete_delay_ms = field("file.delete.delay.ms", int)
    delete_retention_ms = field("delete.retention.ms", int)
    min_compaction_lag_ms = field("min.compaction.lag.ms", int)
    max_compaction_lag_ms = field("max.compaction.lag.ms", int)
    min_cleanable_dirty_ratio = field("min.cleanable.dirty.ratio", float)
    max_message_bytes = field("max.message.bytes", int)
    min_insync_replicas = field("min.insync.replicas", int)
    compression_type = field("compression.type", str)
    gzip_level = optional("compression.gzip.level", int)
    lz4_level = optional("compression.lz4.level", int)
    zstd_level = optional("compression.zstd.level", int)
    timestamp_type = field("message.timestamp.type", str)
    timestamp_before_max_ms = optional("message.timestamp.before.max.ms", int)
    timestamp_after_max_ms = optional("message.timestamp.after.max.ms", int)
    timestamp_difference_max_ms = optional("message.timestamp.difference.max.ms", int)
    converts_down = optional("message.downconversion.enable", bool)  # only a 3.3 can be told not to

    @classmethod
    def default(cls, release: str = "4.3") -> "LogConfig":
        return cls.from_config(topic.TABLE.parse({}, release=release))

    @property
    def roll_bytes(self) -> int:
        return self.segment_bytes if self.internal_segment_bytes is None else self.internal_segment_bytes

    @property
    def is_compacted(self) -> bool:
        return COMPACT in self.cleanup_policy

    @property
    def is_deleted(self) -> bool:
        return DELETE in self.cleanup_policy

    def produce_rules(self, topic_partition: str) -> ProduceRules:
        codec = None if self.compression_type == PRODUCER else codec_named(self.compression_type).code
        levels = {"gzip": self.gzip_level, "lz4": self.lz4_level, "zstd": self.zstd_level}
        return ProduceRules(
            topic_partition,
            max_message_bytes=self.max_message_bytes,
            timestamp_type=LOG_APPEND_TIME if self.timestamp_type == "LogAppendTime" else CREATE_TIME,
            timestamp_before_max_ms=self._limit_ms(self.timestamp_before_max_ms),
            timestamp_after_max_ms=self._limit_ms(self.timestamp_after_max_ms),
            is_compacted=self.is_compacted,
            codec=codec,
            compression_level=levels.get(self.compression_type),
        )

    def _limit_ms(self, limit_ms: int | None) -> int:
        """3.3 has one limit for both directions."""
        if limit_ms is not None:
            return limit_ms
        return NO_LIMIT_MS if self.timestamp_difference_max_ms is None else self.timestamp_difference_max_ms
