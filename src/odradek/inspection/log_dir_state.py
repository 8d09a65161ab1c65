"""What the small files of a log dir say of its partitions, and which partitions there are or should be."""

from collections.abc import Iterator

from odradek.inspection import file_forms, file_names
from odradek.protocol.internal_topics import CLUSTER_METADATA_TOPIC
from odradek.protocol.topic_partition import TopicPartition
from odradek.reactor.ports import Disk

METADATA_LOG = f"{CLUSTER_METADATA_TOPIC}-0"


class LogDirState:
    """The clean-shutdown marker and the offsets of the checkpoints. MalformedFile for one that does not parse."""

    def __init__(self, disk: Disk, path: str) -> None:
        self.path = path
        self.is_clean = disk.exists(f"{path}/{file_names.CLEAN_SHUTDOWN}")
        self.offsets = {
            name: file_forms.offset_checkpoint(disk.read(f"{path}/{name}"))
            for name in file_names.CHECKPOINTS
            if disk.exists(f"{path}/{name}")
        }

    def offset(self, name: str, topic_partition: TopicPartition) -> int | None:
        return self.offsets.get(name, {}).get(topic_partition)

    def write_offsets(self, disk: Disk, name: str) -> None:
        """Blocks until the checkpoint on disk has the offsets that are here."""
        entries = (f"{topic} {partition} {offset}" for (topic, partition), offset in self.offsets[name].items())
        disk.write_atomically(f"{self.path}/{name}", file_forms.checkpoint_file(entries))


def partitions_in(disk: Disk, state: LogDirState) -> Iterator[tuple[str, TopicPartition]]:
    """The name of each partition's directory, and the partition; also of those whose directory is gone.

    The quorum's own log is left out: what it has lost, the other voters have to bring back.
    """
    listing = [name for name in sorted(disk.list(state.path)) if disk.is_dir(f"{state.path}/{name}")]
    found = {name: directory for name in listing if (directory := file_names.partition_dir(name)) is not None}
    for name, directory in found.items():
        if not directory.mark and directory.topic != CLUSTER_METADATA_TOPIC:
            yield name, TopicPartition(directory.topic, directory.partition)
    for topic_partition in state.offsets.get(file_names.RECOVERY_POINT, {}):
        is_somewhere = any(directory.may_be(*topic_partition) for directory in found.values())
        if not is_somewhere and _had_records(state, topic_partition):
            yield str(topic_partition), topic_partition


def _had_records(state: LogDirState, topic_partition: TopicPartition) -> bool:
    """A directory that is deleted or moved first leaves the checkpoints: an entry without one was taken away."""
    recovery_point = state.offset(file_names.RECOVERY_POINT, topic_partition) or 0
    return recovery_point > (state.offset(file_names.LOG_START, topic_partition) or 0)
