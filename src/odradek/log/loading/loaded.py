"""What loading a log's directory gives: plain values, made in a job, that a `Log` is built from on the reactor."""

from typing import NamedTuple

from odradek.log.leader_epochs import LeaderEpochs
from odradek.log.producers.producer_state import ProducerState
from odradek.records.layout import NO_TIMESTAMP


class SegmentFacts:
    """`is_checked` tells that the process has read all of the segment, or written it."""

    __slots__ = (
        "base_offset",
        "has_transaction_index",
        "is_checked",
        "max_timestamp",
        "offset_of_max_timestamp",
        "size",
    )

    def __init__(
        self,
        base_offset: int,
        size: int,
        max_timestamp: int = NO_TIMESTAMP,
        offset_of_max_timestamp: int = -1,
        has_transaction_index: bool = False,
    ) -> None:
        self.base_offset = base_offset
        self.size = size
        self.max_timestamp = max_timestamp
        self.offset_of_max_timestamp = base_offset if offset_of_max_timestamp < 0 else offset_of_max_timestamp
        self.has_transaction_index = has_transaction_index
        self.is_checked = False

    def __repr__(self) -> str:
        return f"SegmentFacts({self.base_offset}, size={self.size}, max_timestamp={self.max_timestamp})"


class Recovered(NamedTuple):
    """What recovery has read of a log that was not closed, and cut off at its end."""

    read_bytes: int
    cut_bytes: int


class LoadedLog:
    __slots__ = (
        "directory",
        "epochs",
        "has_new_names",
        "log_end_offset",
        "log_start_offset",
        "producers",
        "recovered",
        "recovery_point",
        "reindexed",
        "segments",
        "snapshots",
        "topic_partition",
        "unflushed",
        "unsynced_snapshots",
    )

    def __init__(self, directory: str, topic_partition: str) -> None:
        self.directory = directory
        self.topic_partition = topic_partition
        self.segments: list[SegmentFacts] = []
        self.log_start_offset = 0
        self.log_end_offset = 0
        self.recovery_point = 0
        self.epochs = LeaderEpochs()
        self.producers = ProducerState(topic_partition)
        self.snapshots: list[int] = []
        self.unflushed: list[int] = []  # base offsets of sealed segments that may not be on disk
        self.unsynced_snapshots: list[int] = []  # the offsets of those that may not be on disk
        self.has_new_names = False
        self.recovered: Recovered | None = None  # None of one that was closed
        self.reindexed: list[str] = []  # segments whose indexes were missing or did not fit

    def __repr__(self) -> str:
        return f"LoadedLog({self.topic_partition}, {self.log_start_offset}-{self.log_end_offset})"
