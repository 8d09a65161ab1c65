"""`odradek log repair`: what is damaged in a log dir whose broker is stopped, what is lost of it, and the way back.

`diagnose` reads and changes nothing. It judges as recovery does: below the recovery point, and everywhere after a clean
stop, whatever is not as it was written is damage; past it the broker itself ends the log at the first bad batch.

`mend` first makes a copy of every file that it changes or removes, durably: `<name>.<number>.damaged`, in the same
directory. Neither this broker nor Apache Kafka takes such a file for one of theirs; it goes with its partition. Then
it writes the checkpoints that have to say less, and last the files, each at once or not at all: wherever a crash ends
it, the same command goes on. The indexes of a changed segment are removed, and without its clean-shutdown marker the
dir is recovered by the next start, which builds them again and the state of the producers with them.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from odradek.inspection import file_forms
from odradek.inspection.batch_walk import ZEROS, BatchWalk
from odradek.inspection.salvage import Lost, Salvage, empty_batch
from odradek.log import checkpoint, names
from odradek.log.batches.batch_check import EpochWitness
from odradek.log.batches.batch_search import DamagedSegment
from odradek.log.checkpoint import TopicPartition
from odradek.log.leader_epochs import LeaderEpochs
from odradek.log.loading.lost_segments import lost_segments
from odradek.log.manager import lost_directories
from odradek.protocol import errors
from odradek.protocol.internal_topics import CLUSTER_METADATA_TOPIC
from odradek.reactor.ports import Disk, Job
from odradek.records.layout import NO_LEADER_EPOCH

LOWERED = (names.RECOVERY_POINTS, names.REPLICATION_OFFSETS, names.LOG_START_OFFSETS, names.CLEANER_OFFSETS)
KEPT = ".damaged"
METADATA_LOG = names.dir_name(CLUSTER_METADATA_TOPIC, 0)


class Damage(NamedTuple):
    file: str  # in the directory of the partition
    position: int | None
    reason: str

    def __str__(self) -> str:
        place = self.file if self.position is None else f"{self.file}, byte {self.position}"
        return f"{place}: {self.reason}"


class Diagnosis:
    """Of one partition. `contents` are the files as they should be, None for one that has to go."""

    def __init__(self, name: str, directory: str, topic_partition: TopicPartition) -> None:
        self.name = name
        self.directory = directory
        self.topic_partition = topic_partition
        self.damages: list[Damage] = []
        self.lost: list[Lost] = []
        self.contents: dict[str, bytes | None] = {}
        self.end_offset = 0
        self.is_gone = False  # the whole directory

    @property
    def lost_count(self) -> int:
        return sum(lost.end - lost.first for lost in self.lost if lost.end is not None)

    def form(self) -> dict[str, Any]:
        return {
            "partition": self.name,
            "damages": [damage._asdict() for damage in self.damages],
            "lost": [{"first": lost.first, "end": lost.end} for lost in self.lost],
            "end_offset": self.end_offset,
            "changed": sorted(name for name, data in self.contents.items() if data is not None),
            "removed": sorted(name for name, data in self.contents.items() if data is None),
        }


class LogDirState:
    """What the small files of a log dir say. MalformedFile for a checkpoint that does not parse."""

    def __init__(self, disk: Disk, path: str) -> None:
        self.path = path
        self.is_clean = disk.exists(f"{path}/{names.CLEAN_SHUTDOWN}")
        self.offsets = {
            name: file_forms.offset_checkpoint(disk.read(f"{path}/{name}"))
            for name in LOWERED
            if disk.exists(f"{path}/{name}")
        }

    def offset(self, name: str, topic_partition: TopicPartition) -> int | None:
        return self.offsets.get(name, {}).get(topic_partition)


def partitions_in(disk: Disk, state: LogDirState) -> Iterator[tuple[str, TopicPartition]]:
    """Those whose directory is gone too. The quorum's own log is left out: what it has lost, it has to bring back."""
    listing = [name for name in sorted(disk.list(state.path)) if disk.is_dir(f"{state.path}/{name}")]
    for name in listing:
        parsed = names.parse_dir_name(name)
        if parsed is not None and not parsed[2] and parsed[0] != CLUSTER_METADATA_TOPIC:
            yield name, parsed[:2]
    recovery_points = state.offsets.get(names.RECOVERY_POINTS, {})
    for key in lost_directories.without_directory(
        recovery_points, state.offsets.get(names.LOG_START_OFFSETS, {}), listing
    ):
        yield names.dir_name(*key), key


def diagnose(disk: Disk, state: LogDirState, name: str, topic_partition: TopicPartition) -> Job:
    """Returns a Diagnosis, of a sound partition without damages."""
    if not disk.is_dir(f"{state.path}/{name}"):
        return _gone(state, name, topic_partition)
    work = _Diagnosing(disk, state, Diagnosis(name, f"{state.path}/{name}", topic_partition))
    yield from work.run()
    return work.found


def diagnose_metadata_log(disk: Disk, state: LogDirState) -> Job:
    """Returns a Diagnosis of the quorum's log, or None if it is not in this dir. It is not to be mended.

    It has a recovery point of its own, in its directory; without one only a clean stop vouches for it.
    """
    directory = f"{state.path}/{METADATA_LOG}"
    if not disk.is_dir(directory):
        return None
    own = LogDirState(disk, directory)
    own.is_clean = state.is_clean and not own.offsets
    work = _Diagnosing(disk, own, Diagnosis(METADATA_LOG, directory, (CLUSTER_METADATA_TOPIC, 0)))
    yield from work.run()
    return work.found


def _gone(state: LogDirState, name: str, topic_partition: TopicPartition) -> Diagnosis:
    found = Diagnosis(name, f"{state.path}/{name}", topic_partition)
    found.is_gone = True
    found.end_offset = state.offset(names.LOG_START_OFFSETS, topic_partition) or 0
    recovery_point = state.offset(names.RECOVERY_POINTS, topic_partition) or 0
    found.damages.append(Damage(name, None, lost_directories.reason(found.end_offset, recovery_point)))
    found.lost.append(Lost(found.end_offset, recovery_point))
    return found


class _Diagnosing:
    def __init__(self, disk: Disk, state: LogDirState, found: Diagnosis) -> None:
        self._disk = disk
        self.found = found
        recovery_point = state.offset(names.RECOVERY_POINTS, found.topic_partition)
        self._closed_at = recovery_point or None if state.is_clean else None
        self._recovery_point = recovery_point or 0
        self._log_start_offset = state.offset(names.LOG_START_OFFSETS, found.topic_partition) or 0
        self._is_clean = state.is_clean
        self._trusted_to = None if state.is_clean else self._recovery_point
        self._listing = set(disk.list(found.directory))
        self._epochs = self._read_epochs()
        self._seen_epochs = LeaderEpochs()
        self._has_wrong_epochs = False  # in the segment at hand

    def run(self) -> Job:
        self._check_topic_id()
        kinds = self._files_of_segments()
        bases = sorted(base_offset for base_offset, present in kinds.items() if names.LOG in present)
        self.found.end_offset = bases[0] if bases else self._log_start_offset
        self._check_segments_are_there(kinds)
        for number, base_offset in enumerate(bases):
            following = bases[number + 1] if number + 1 < len(bases) else None
            yield from self._segment(base_offset, following)
        if self._epochs is None:
            self.found.contents[names.LEADER_EPOCHS] = checkpoint.format_epochs(self._seen_epochs.entries)

    # The small files.

    def _read_epochs(self) -> LeaderEpochs | None:
        """None if the file does not parse: then the batches tell."""
        if names.LEADER_EPOCHS not in self._listing:
            return LeaderEpochs()
        try:
            entries = file_forms.leader_epochs(self._disk.read(f"{self.found.directory}/{names.LEADER_EPOCHS}"))
            epochs = LeaderEpochs(entries)
            if epochs.entries != entries:
                raise file_forms.MalformedFile("the epochs and their start offsets do not increase", 1)
        except file_forms.MalformedFile as error:
            reason = f"{error.reason}; the batches tell the epochs"
            self.found.damages.append(Damage(names.LEADER_EPOCHS, None, reason))
            return None
        return epochs

    def _check_topic_id(self) -> None:
        if names.PARTITION_METADATA not in self._listing:
            return
        try:
            file_forms.topic_id(self._disk.read(f"{self.found.directory}/{names.PARTITION_METADATA}"))
        except file_forms.MalformedFile as error:
            reason = f"{error.reason}; the metadata of the cluster knows the id"
            self.found.damages.append(Damage(names.PARTITION_METADATA, None, reason))
            self.found.contents[names.PARTITION_METADATA] = None

    # Segments.

    def _files_of_segments(self) -> dict[int, list[str]]:
        found: dict[int, list[str]] = {}
        for name in self._listing:
            parts = names.split(name)
            if parts is not None and parts[1] in names.SEGMENT_FILES and not parts[2]:
                found.setdefault(parts[0], []).append(parts[1])
        return found

    def _check_segments_are_there(self, kinds: dict[int, list[str]]) -> None:
        """One that is gone becomes an empty batch with its offsets; if it was the last one, a file without any."""
        for lost in lost_segments(
            kinds,
            self._epochs.start_offsets if self._epochs is not None else [],
            is_clean=self._is_clean,
            recovery_point=self._recovery_point,
            log_start_offset=self._log_start_offset,
        ):
            self.found.damages.append(Damage(lost.file, None, lost.reason))
            self.found.lost.append(Lost(lost.first, lost.end))
            data = b"" if lost.is_all else empty_batch(lost.first, lost.end, self._epoch_at(lost.first))
            self.found.contents[lost.file] = data
            self._drop_indexes(lost.first)

    def _drop_indexes(self, base_offset: int) -> None:
        """The next start builds them again."""
        for kind in names.INDEX_FILES:
            if (index := names.file_name(base_offset, kind)) in self._listing:
                self.found.contents[index] = None

    def _segment(self, base_offset: int, following: int | None) -> Job:
        name = names.file_name(base_offset, names.LOG)
        self._has_wrong_epochs = False
        damage = yield from self._first_damage(name, base_offset, following)
        if damage is None:
            return
        self.found.damages.append(damage)
        salvage = Salvage(
            self._disk.read(f"{self.found.directory}/{name}"),
            base_offset,
            self._closed_at if following is None else following,
            self._trusted_to,
            self._epoch_at,
            reached=self._recovery_point,
            mends_epochs=self._has_wrong_epochs,
        )
        salvage.run(is_last=following is None)
        if following is not None and self._claimed(base_offset) >= salvage.next_offset:
            salvage.fill_to(following)
        self.found.lost += salvage.lost
        self.found.end_offset = salvage.next_offset
        if salvage.is_changed:
            self.found.contents[name] = b"".join(salvage.parts)
            self._drop_indexes(base_offset)

    def _epoch_at(self, offset: int) -> int:
        """As the file has it; as the batches before had it where the file is damaged."""
        epochs = self._seen_epochs if self._epochs is None else self._epochs
        known = [epoch for epoch, start in epochs.entries if start <= offset]
        return known[-1] if known else NO_LEADER_EPOCH

    def _first_damage(self, name: str, base_offset: int, following: int | None) -> Job:
        """Returns a Damage, or None; `end_offset` is behind the last batch that was sound."""
        file = self._disk.open(f"{self.found.directory}/{name}", writable=False)
        try:
            walk, witness = BatchWalk(file), EpochWitness(self._epochs or LeaderEpochs())
            position = 0
            for position, batch in walk:
                reason = self._problem(batch, base_offset, following)
                if reason is not None:
                    return self._judged(name, position, reason)
                try:
                    witness.see(batch.partition_leader_epoch, batch.base_offset, position)
                except DamagedSegment as damage:
                    self._has_wrong_epochs = True
                    return self._judged(name, damage.position, damage.reason)
                self._seen_epochs.learn(batch.partition_leader_epoch, batch.base_offset)
                self.found.end_offset = batch.last_offset + 1
                yield batch.size
            tail = walk.tail
            if tail.is_damage or (tail.kind == ZEROS and following is not None):
                return self._judged(name, tail.position, tail.reason)
            return self._end_problem(name, tail.position, base_offset, following)
        finally:
            file.close()

    def _problem(self, batch: Any, base_offset: int, following: int | None) -> str | None:
        try:
            batch.ensure_valid()
        except errors.KafkaError as error:
            return str(error)
        first, last = batch.base_offset, batch.last_offset
        end = self._closed_at if following is None else following
        if first < max(self.found.end_offset, base_offset) or last < first or (end is not None and last >= end):
            bounds = f"from {self.found.end_offset} on" if end is None else f"between {self.found.end_offset} and {end}"
            return f"offsets {first} to {last} are not {bounds}"
        return None

    def _judged(self, name: str, position: int, reason: str) -> Damage | None:
        """Past the recovery point the broker itself ends the log there."""
        if self._trusted_to is not None and self.found.end_offset >= self._trusted_to:
            return None
        return Damage(name, position, reason)

    def _end_problem(self, name: str, position: int, base_offset: int, following: int | None) -> Damage | None:
        end_offset = self.found.end_offset
        if following is None:
            if end_offset < self._recovery_point:
                return Damage(
                    name, position, f"the log ends at offset {end_offset}, it was on disk up to {self._recovery_point}"
                )
            return None
        claimed = self._claimed(base_offset)
        if end_offset <= claimed < following:
            return Damage(name, position, f"the segment ends at offset {end_offset}, and offset {claimed} was in it")
        return None

    def _claimed(self, base_offset: int) -> int:
        """The last offset that the indexes of a segment know of."""
        found = -1
        for kind, parse, place in (
            (names.OFFSET_INDEX, file_forms.offset_index, 0),
            (names.TIME_INDEX, file_forms.time_index, 1),
        ):
            name = names.file_name(base_offset, kind)
            if name in self._listing:
                entries = parse(self._disk.read(f"{self.found.directory}/{name}"), base_offset).entries
                found = max(found, entries[-1][place] if entries else -1)
        return found


# Mending.


def mend(disk: Disk, state: LogDirState, found: Diagnosis) -> Job:
    """Returns the names of the copies."""
    if found.is_gone:
        _forget(disk, state, found)
        return []
    copies = []
    for name in sorted(found.contents):
        if disk.exists(f"{found.directory}/{name}"):
            copies.append(_keep_copy(disk, found.directory, name))
            yield 0
    disk.fsync_dir(found.directory)
    marker = f"{state.path}/{names.CLEAN_SHUTDOWN}"
    if disk.exists(marker):
        disk.unlink(marker)
    disk.fsync_dir(state.path)
    if found.lost:
        _lower_checkpoints(disk, state, found)
    # The logs last: as long as one is as it was, the next run finds its damage and goes on.
    for name, data in sorted(found.contents.items(), key=lambda each: each[0].endswith(names.LOG)):
        if data is None:
            disk.unlink(f"{found.directory}/{name}")
        else:
            disk.write_atomically(f"{found.directory}/{name}", data)
        yield len(data or b"")
    disk.fsync_dir(found.directory)
    return copies


def _keep_copy(disk: Disk, directory: str, name: str) -> str:
    number = 1
    while disk.exists(f"{directory}/{name}.{number}{KEPT}"):
        number += 1
    copy = f"{name}.{number}{KEPT}"
    disk.write_atomically(f"{directory}/{copy}", disk.read(f"{directory}/{name}"))
    return copy


def _forget(disk: Disk, state: LogDirState, found: Diagnosis) -> None:
    """Then the next start makes an empty log, if the metadata still knows the partition. The recovery point goes last.

    As long as it is there, the next run goes on.
    """
    for name in reversed(LOWERED):
        if state.offsets.get(name, {}).pop(found.topic_partition, None) is not None:
            checkpoint.write_offsets(disk, f"{state.path}/{name}", state.offsets[name])


def _lower_checkpoints(disk: Disk, state: LogDirState, found: Diagnosis) -> None:
    """None may say more than the log has: its end would read as lost records, its start as all of them deleted."""
    for name, offsets in state.offsets.items():
        offset = offsets.get(found.topic_partition)
        if offset is not None and offset > found.end_offset:
            offsets[found.topic_partition] = found.end_offset
            checkpoint.write_offsets(disk, f"{state.path}/{name}", offsets)
