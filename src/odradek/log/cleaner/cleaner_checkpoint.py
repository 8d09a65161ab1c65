"""How far each log has been cleaned: `cleaner-offset-checkpoint`, one file per log dir.

The offsets live here, on the reactor; a job writes the file of a dir after its offsets have changed. A checkpoint that
is lost or behind costs a round that finds nothing. One that is ahead would leave dirty records for clean ones for ever:
so a truncation lowers it at once, and it is only ever raised after the cleaned segments are in place.
"""

from collections.abc import Mapping

from odradek.log import checkpoint, names
from odradek.protocol.topic_partition import TopicPartition
from odradek.reactor.ports import Disk, JobOf


class CleanerCheckpoints:
    __slots__ = ("_changed", "_offsets")

    def __init__(self) -> None:
        self._offsets: dict[str, dict[TopicPartition, int]] = {}  # by log dir
        self._changed: set[str] = set()

    def add_dir(self, log_dir: str, offsets: Mapping[TopicPartition, int], *, is_damaged: bool = False) -> None:
        """`is_damaged`: the file says something else, or nothing, and has to be written."""
        self._offsets[log_dir] = dict(offsets)
        if is_damaged:
            self._changed.add(log_dir)

    def remove_dir(self, log_dir: str) -> None:
        self._offsets.pop(log_dir, None)
        self._changed.discard(log_dir)

    def get(self, log_dir: str, partition: TopicPartition) -> int | None:
        return self._offsets.get(log_dir, {}).get(partition)

    def set(self, log_dir: str, partition: TopicPartition, offset: int) -> None:
        offsets = self._offsets.get(log_dir)
        if offsets is not None and offsets.get(partition) != offset:  # a dir that has failed is gone
            offsets[partition] = offset
            self._changed.add(log_dir)

    def truncate(self, log_dir: str, partition: TopicPartition, offset: int) -> None:
        known = self.get(log_dir, partition)
        if known is not None and known > offset:
            self.set(log_dir, partition, offset)

    def forget(self, log_dir: str, partition: TopicPartition) -> None:
        if self._offsets.get(log_dir, {}).pop(partition, None) is not None:
            self._changed.add(log_dir)

    def move(self, partition: TopicPartition, source_dir: str, target_dir: str) -> None:
        """A replica has changed dirs; what was cleaned stays clean."""
        offset = self.get(source_dir, partition)
        self.forget(source_dir, partition)
        if offset is not None:
            self.set(target_dir, partition, offset)

    @property
    def changed_dirs(self) -> list[str]:
        return sorted(self._changed)

    def save_job(self, disk: Disk, log_dir: str) -> JobOf[None]:
        """Writes what is known now. The dir counts as saved from here on: a failure fails the dir."""
        self._changed.discard(log_dir)
        return _save(disk, f"{log_dir}/{names.CLEANER_OFFSETS}", dict(self._offsets[log_dir]))


def _save(disk: Disk, path: str, offsets: dict[TopicPartition, int]) -> JobOf[None]:
    checkpoint.write_offsets(disk, path, offsets)
    yield 0
