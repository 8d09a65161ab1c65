"""What `check` hands to the log, and the checks that hold for records of every magic."""

from odradek.protocol import errors
from odradek.records.batch import Batch, RecordBatch
from odradek.records.compression import CODECS, NONE
from odradek.records.layout import NO_TIMESTAMP
from odradek.records.record import Record, signed_64
from odradek.records.rules import ProduceRules, RecordErrors


class CheckedRecords:
    """Records that may be appended.

    `needs_rebuild` tells the two ways to do so apart: to patch the one batch where it lies (offset, leader epoch,
    largest timestamp), or to write a new one, because the codec is not the topic's or the magic is not 2.
    """

    __slots__ = (
        "batches",
        "count",
        "index_of_max_timestamp",
        "max_timestamp",
        "needs_rebuild",
        "rules",
        "source_codec",
        "target_codec",
    )

    batches: list[Batch]
    max_timestamp: int
    index_of_max_timestamp: int

    def __init__(self, batches: list[Batch], rules: ProduceRules, count: int, source_codec: int) -> None:
        self.batches = batches
        self.rules = rules
        self.count = count
        self.source_codec = source_codec
        self.target_codec = source_codec if rules.codec is None else rules.codec
        is_other_codec = self.target_codec != source_codec and not batches[0].is_control
        self.needs_rebuild = is_other_codec or batches[0].magic < 2
        self.max_timestamp = NO_TIMESTAMP
        self.index_of_max_timestamp = -1

    @classmethod
    def in_place(cls, batch: RecordBatch, rules: ProduceRules, max_timestamp: int, index: int) -> "CheckedRecords":
        """One batch that is not compressed and stays as it is."""
        checked = cls.__new__(cls)
        checked.batches = [batch]
        checked.rules = rules
        checked.count = batch.count
        checked.source_codec = checked.target_codec = NONE
        checked.needs_rebuild = False
        checked.max_timestamp = max_timestamp
        checked.index_of_max_timestamp = index
        return checked

    @property
    def valid_bytes(self) -> int:
        """What lies behind is a batch that was cut off."""
        return sum(batch.size for batch in self.batches)

    @property
    def last_offset_delta(self) -> int:
        """The last offset, counted from the base offset that the log will assign."""
        last = self.batches[-1]
        return last.last_offset - last.base_offset if last.magic == 2 else self.count - 1


class PlainRecords(CheckedRecords):
    """The one batch that nearly every request brings: not compressed, and it stays as it is.

    Only what the log asks of it is told here; the batch itself is made when somebody wants it.
    """

    __slots__ = ("buffer", "producer_id", "told_max_timestamp")

    needs_rebuild = False
    source_codec = NONE
    target_codec = NONE

    buffer: memoryview
    producer_id: int
    told_max_timestamp: int  # in its header, which may be wrong

    def __getattr__(self, name: str) -> list[Batch]:
        """Asked for a slot that nobody has written: the batches, for the first time."""
        if name != "batches":
            raise AttributeError(name)
        self.batches = [RecordBatch(self.buffer)]
        return self.batches


def check_whole(batch: Batch, rules: ProduceRules) -> None:
    """Size, crc and codec of one batch, in the order in which Kafka finds them."""
    if batch.size > rules.max_message_bytes:
        raise errors.MessageTooLarge(
            f"A batch for {rules.topic_partition} has {batch.size} bytes, "
            f"max.message.bytes is {rules.max_message_bytes}."
        )
    batch.ensure_valid()
    if batch.compression >= len(CODECS):
        raise errors.UnknownServerError(f"There is no compression codec {batch.compression}.")


def check_record(
    found: RecordErrors, index: int, record: Record, rules: ProduceRules, now_ms: int, is_append_time: bool
) -> None:
    """Notes what the topic's rules have against one record: its key first, then its timestamp."""
    if rules.is_compacted and record.key is None:
        found.add(
            index, f"Compacted topic cannot accept message without key in topic partition {rules.topic_partition}"
        )
        return
    earliest = now_ms - rules.timestamp_before_max_ms
    latest = now_ms + rules.timestamp_after_max_ms
    is_in_range = earliest <= record.timestamp <= latest
    if not rules.is_append_time and record.timestamp != NO_TIMESTAMP and not is_in_range:
        found.add(
            index,
            f"Timestamp {record.timestamp} of message with offset {record.offset} is out of range. "
            f"The timestamp should be within [{signed_64(earliest)}, {signed_64(latest)}]",
            is_timestamp=True,
        )
    elif is_append_time:
        found.add(
            index,
            f"Message with offset {record.offset} has timestamp type LogAppendTime, which only a broker may set",
            is_timestamp=True,
        )
