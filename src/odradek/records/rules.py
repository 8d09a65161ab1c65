"""What a topic asks of the records that are produced to it, and how a record that breaks it is reported."""

from odradek.protocol import errors
from odradek.records.compression import LIMIT_BYTES
from odradek.records.layout import CREATE_TIME, LOG_APPEND_TIME

NO_LIMIT_MS = (1 << 63) - 1

RECORD_ERRORS_MAX = 1000  # a response lists no more: a batch of tiny bad records must not be answered with its tenfold
RECORD_ERRORS_SHOWN = 3


class ProduceRules:
    """A snapshot of the topic configs that `check` and `assign` need; `codec` None is compression.type=producer."""

    __slots__ = (
        "codec",
        "compression_level",
        "decompressed_bytes_max",
        "is_append_time",
        "is_compacted",
        "max_message_bytes",
        "timestamp_after_max_ms",
        "timestamp_before_checked_ms",
        "timestamp_before_max_ms",
        "timestamp_type",
        "topic_partition",
    )

    def __init__(
        self,
        topic_partition: str,
        *,
        max_message_bytes: int = 1048588,
        timestamp_type: int = CREATE_TIME,
        timestamp_before_max_ms: int = NO_LIMIT_MS,
        timestamp_after_max_ms: int = NO_LIMIT_MS,
        is_compacted: bool = False,
        codec: int | None = None,
        compression_level: int | None = None,
        decompressed_bytes_max: int = LIMIT_BYTES,
    ) -> None:
        self.topic_partition = topic_partition
        self.max_message_bytes = max_message_bytes
        self.timestamp_type = timestamp_type
        self.timestamp_before_max_ms = timestamp_before_max_ms
        self.timestamp_after_max_ms = timestamp_after_max_ms
        self.is_compacted = is_compacted
        self.codec = codec
        self.compression_level = compression_level
        self.decompressed_bytes_max = decompressed_bytes_max
        self.is_append_time = timestamp_type == LOG_APPEND_TIME
        self.timestamp_before_checked_ms = -1 if self.is_append_time else timestamp_before_max_ms

    def unpacking_at_most(self, size_bytes: int) -> "ProduceRules":
        """These rules with a lower limit for what a compressed batch may hold."""
        return ProduceRules(
            self.topic_partition,
            max_message_bytes=self.max_message_bytes,
            timestamp_type=self.timestamp_type,
            timestamp_before_max_ms=self.timestamp_before_max_ms,
            timestamp_after_max_ms=self.timestamp_after_max_ms,
            is_compacted=self.is_compacted,
            codec=self.codec,
            compression_level=self.compression_level,
            decompressed_bytes_max=min(size_bytes, self.decompressed_bytes_max),
        )


class RecordError:
    """One entry of `record_errors` in a Produce response from version 8 on."""

    __slots__ = ("batch_index", "is_timestamp", "message")

    def __init__(self, batch_index: int, message: str, is_timestamp: bool = False) -> None:
        self.batch_index = batch_index
        self.message = message
        self.is_timestamp = is_timestamp

    def __repr__(self) -> str:
        return f"RecordError(batchIndex={self.batch_index}, message='{self.message}')"


class RejectedRecords(errors.InvalidRecord):
    """INVALID_RECORD with the records to blame: only these two put their message into a Produce response."""

    def __init__(self, record_errors: list[RecordError], total: int) -> None:
        self.record_errors = record_errors
        super().__init__(
            f"One or more records have been rejected due to {total} record errors in total, "
            f"and only showing the first three errors at most: {record_errors[:RECORD_ERRORS_SHOWN]}"
        )


class RejectedTimestamps(errors.InvalidTimestamp):
    """INVALID_TIMESTAMP with the records to blame; one bad timestamp makes it the error of them all."""

    def __init__(self, record_errors: list[RecordError]) -> None:
        self.record_errors = record_errors
        super().__init__("One or more records have been rejected due to invalid timestamp")


class RecordErrors:
    """Gathers what is wrong with the records of one batch."""

    __slots__ = ("found", "has_timestamp", "total")

    def __init__(self) -> None:
        self.found: list[RecordError] = []
        self.total = 0
        self.has_timestamp = False

    def add(self, batch_index: int, message: str, is_timestamp: bool = False) -> None:
        self.total += 1
        self.has_timestamp |= is_timestamp
        if len(self.found) < RECORD_ERRORS_MAX:
            self.found.append(RecordError(batch_index, message, is_timestamp))

    def raise_if_any(self) -> None:
        if self.has_timestamp:
            raise RejectedTimestamps(self.found)
        if self.total:
            raise RejectedRecords(self.found, self.total)
