"""How far the metadata log is promised: on disk, and committed. Below that a recovery must not cut.

Kafka keeps no such offset for this log: it checks all of it at every start and ends it at the first batch that is not
sound, and what is missing then comes from the other voters. Where there are none, one flipped bit would take back
changes that were acknowledged, without a word. So the offset is written down now and then, and at a clean stop, in a
checkpoint file of its own in the directory of the log, which Kafka passes over.

What is committed is never truncated, whoever leads (C3): the file can only be behind, never ahead.
"""

from odradek.log import checkpoint, names
from odradek.log.checkpoint import CorruptCheckpoint
from odradek.log.failure import storage_error
from odradek.protocol.internal_topics import CLUSTER_METADATA_TOPIC
from odradek.protocol.topic_partition import TopicPartition
from odradek.reactor.ports import Disk, JobOf

_LOG = TopicPartition(CLUSTER_METADATA_TOPIC, 0)


def read(disk: Disk, directory: str) -> int:
    """0 if there is none, or if it is damaged itself: then all of the log counts as never promised, as in Kafka."""
    try:
        return checkpoint.read_offsets(disk, f"{directory}/{names.RECOVERY_POINTS}").get(_LOG, 0)
    except CorruptCheckpoint:
        return 0


def write_job(disk: Disk, directory: str, offset: int) -> JobOf[None]:
    path = f"{directory}/{names.RECOVERY_POINTS}"
    try:
        checkpoint.write_offsets(disk, path, {_LOG: offset})
    except OSError as error:
        raise storage_error(error, "writing the recovery point", path) from error
    yield 0
