"""The names of files and directories in a log dir, as the tools take them apart.

topic-3/00000000000000000042.log      a segment, named by the first offset that it may hold, in twenty digits
topic-3.0123abcd-delete               a whole partition on its way out; -future: a copy that moves between dirs
"""

import re
from typing import NamedTuple

LOG = "log"
OFFSET_INDEX = "index"
TIME_INDEX = "timeindex"
TRANSACTION_INDEX = "txnindex"
PRODUCER_SNAPSHOT = "snapshot"
INDEXES = (OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX)

LEADER_EPOCHS = "leader-epoch-checkpoint"
PARTITION_METADATA = "partition.metadata"
QUORUM_STATE = "quorum-state"

RECOVERY_POINT = "recovery-point-offset-checkpoint"
LOG_START = "log-start-offset-checkpoint"
HIGH_WATERMARK = "replication-offset-checkpoint"
CLEANER = "cleaner-offset-checkpoint"
CHECKPOINTS = (RECOVERY_POINT, LOG_START, HIGH_WATERMARK, CLEANER)
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
META_PROPERTIES = "meta.properties"

DIR_NAME_MAX = 255  # a longer topic name is cut when its directory gets a mark

_SEGMENT_FILE = re.compile(r"(?P<base>[0-9]{20})\.(?P<suffix>log|index|timeindex|txnindex|snapshot)$")
_PARTITION_DIR = re.compile(
    r"(?P<topic>[a-zA-Z0-9._-]+)-(?P<partition>[0-9]+)(?:\.[0-9a-f]+-(?P<mark>delete|future|stray))?$"
)


class PartitionDir(NamedTuple):
    """`mark` is delete, future or stray, and empty if the partition lives here."""

    topic: str
    partition: int
    mark: str
    is_cut: bool  # the name was too long with its mark, and `topic` is only how it begins

    def may_be(self, topic: str, partition: int) -> bool:
        if partition != self.partition:
            return False
        return topic.startswith(self.topic) if self.is_cut else topic == self.topic


def partition_dir(name: str) -> PartitionDir | None:
    """None for what is not the directory of a partition."""
    found = _PARTITION_DIR.match(name)
    if found is None:
        return None
    mark = found["mark"] or ""
    return PartitionDir(found["topic"], int(found["partition"]), mark, bool(mark) and len(name) == DIR_NAME_MAX)


def segment_file(base_offset: int, suffix: str) -> str:
    return f"{base_offset:020d}.{suffix}"


def parse_segment_file(name: str) -> tuple[int, str] | None:
    """(base offset, suffix) of a segment's own files and of producer snapshots; None for all others."""
    found = _SEGMENT_FILE.match(name)
    return (int(found["base"]), found["suffix"]) if found else None
