"""What is damaged in one partition of a log dir, what is lost of it, and which files would mend it.

`diagnose` reads and changes nothing. It judges as recovery does: below the recovery point, and everywhere after a clean
stop, whatever is not as it was written is damage; past it the broker itself ends the log at the first bad batch.
"""

from typing import NamedTuple

from odradek.inspection import epoch_history, file_forms, file_names
from odradek.inspection.batch_walk import ZEROS, BatchWalk
from odradek.inspection.epoch_history import EpochDoubts
from odradek.inspection.log_dir_state import METADATA_LOG, LogDirState
from odradek.inspection.missing_segments import missing_segments
from odradek.inspection.salvage import Lost, Salvage, empty_batch
from odradek.protocol import errors
from odradek.protocol.internal_topics import CLUSTER_METADATA_TOPIC
from odradek.protocol.json_value import JsonObject
from odradek.protocol.topic_partition import TopicPartition
from odradek.reactor.ports import Disk, JobOf
from odradek.records.batch import Batch


class Damage(NamedTuple):
    file: str  # in the directory of the partition
    position: int | None
    reason: str

    def __str__(self) -> str:
        place = self.file if self.position is None else f"{self.file}, byte {self.position}"
        return f"{place}: {self.reason}"


class Diagnosis:
    """What was found in one partition. `contents` are the files as they should be, None for one that has to go."""

    def __init__(self, name: str, directory: str, topic_partition: TopicPartition) -> None:
        self.name = name
        self.directory = directory
        self.topic_partition = topic_partition
        self.damages: list[Damage] = []
        self.lost: list[Lost] = []
        self.contents: dict[str, bytes | None] = {}
        self.end_offset = 0
        self.is_gone = False  # the whole directory

    def form(self) -> JsonObject:
        return {
            "partition": self.name,
            "damages": [damage._asdict() for damage in self.damages],
            "lost": [{"first": lost.first, "end": lost.end} for lost in self.lost],
            "end_offset": self.end_offset,
            "changed": sorted(name for name, data in self.contents.items() if data is not None),
            "removed": sorted(name for name, data in self.contents.items() if data is None),
        }


def diagnose(disk: Disk, state: LogDirState, name: str, topic_partition: TopicPartition) -> JobOf[Diagnosis]:
    """Returns a Diagnosis, of a sound partition without damages."""
    if not disk.is_dir(f"{state.path}/{name}"):
        return _gone(state, name, topic_partition)
    work = _Diagnosing(disk, state, Diagnosis(name, f"{state.path}/{name}", topic_partition))
    yield from work.run()
    return work.found


def diagnose_metadata_log(disk: Disk, state: LogDirState) -> JobOf[Diagnosis | None]:
    """Returns a Diagnosis of the quorum's log, or None if it is not in this dir. It is not to be mended.

    It has a recovery point of its own, in its directory; without one only a clean stop vouches for it.
    """
    directory = f"{state.path}/{METADATA_LOG}"
    if not disk.is_dir(directory):
        return None
    own = LogDirState(disk, directory)
    own.is_clean = state.is_clean and not own.offsets
    work = _Diagnosing(disk, own, Diagnosis(METADATA_LOG, directory, TopicPartition(CLUSTER_METADATA_TOPIC, 0)))
    yield from work.run()
    return work.found


def _gone(state: LogDirState, name: str, topic_partition: TopicPartition) -> Diagnosis:
    found = Diagnosis(name, f"{state.path}/{name}", topic_partition)
    found.is_gone = True
    found.end_offset = end = state.offset(file_names.LOG_START, topic_partition) or 0
    recovery_point = state.offset(file_names.RECOVERY_POINT, topic_partition) or 0
    reason = f"the directory is gone: the log ends at offset {end}, it was on disk up to {recovery_point}"
    found.damages.append(Damage(name, None, reason))
    found.lost.append(Lost(end, recovery_point))
    return found


class _Diagnosing:
    def __init__(self, disk: Disk, state: LogDirState, found: Diagnosis) -> None:
        self._disk = disk
        self.found = found
        recovery_point = state.offset(file_names.RECOVERY_POINT, found.topic_partition)
        self._closed_at = recovery_point or None if state.is_clean else None
        self._recovery_point = recovery_point or 0
        self._log_start_offset = state.offset(file_names.LOG_START, found.topic_partition) or 0
        self._is_clean = state.is_clean
        self._trusted_to = None if state.is_clean else self._recovery_point
        self._listing = set(disk.list(found.directory))
        self._epochs = self._read_epochs()
        self._seen_epochs: epoch_history.Entries = []
        self._has_wrong_epochs = False  # in the segment at hand

    def run(self) -> JobOf[None]:
        self._check_topic_id()
        suffixes = self._suffixes_of_segments()
        bases = sorted(base_offset for base_offset, present in suffixes.items() if file_names.LOG in present)
        self.found.end_offset = bases[0] if bases else self._log_start_offset
        self._check_segments_are_there(suffixes)
        for number, base_offset in enumerate(bases):
            following = bases[number + 1] if number + 1 < len(bases) else None
            yield from self._segment(base_offset, following)
        if self._epochs is None:
            entries = (f"{epoch} {start}" for epoch, start in self._seen_epochs)
            self.found.contents[file_names.LEADER_EPOCHS] = file_forms.checkpoint_file(entries)

    # The small files.

    def _read_epochs(self) -> epoch_history.Entries | None:
        """None if the file does not parse: then the batches tell."""
        if file_names.LEADER_EPOCHS not in self._listing:
            return []
        try:
            entries = file_forms.leader_epochs(self._disk.read(f"{self.found.directory}/{file_names.LEADER_EPOCHS}"))
            if not epoch_history.is_rising(entries):
                raise file_forms.MalformedFile("the epochs and their start offsets do not increase", 1)
        except file_forms.MalformedFile as error:
            reason = f"{error.reason}; the batches tell the epochs"
            self.found.damages.append(Damage(file_names.LEADER_EPOCHS, None, reason))
            return None
        return entries

    def _check_topic_id(self) -> None:
        if file_names.PARTITION_METADATA not in self._listing:
            return
        try:
            file_forms.topic_id(self._disk.read(f"{self.found.directory}/{file_names.PARTITION_METADATA}"))
        except file_forms.MalformedFile as error:
            reason = f"{error.reason}; the metadata of the cluster knows the id"
            self.found.damages.append(Damage(file_names.PARTITION_METADATA, None, reason))
            self.found.contents[file_names.PARTITION_METADATA] = None

    # Segments.

    def _suffixes_of_segments(self) -> dict[int, set[str]]:
        found: dict[int, set[str]] = {}
        for name in self._listing:
            parts = file_names.parse_segment_file(name)
            if parts is not None and parts[1] != file_names.PRODUCER_SNAPSHOT:
                found.setdefault(parts[0], set()).add(parts[1])
        return found

    def _check_segments_are_there(self, suffixes: dict[int, set[str]]) -> None:
        """One that is gone becomes an empty batch with its offsets; if it was the last one, a file without any."""
        for missing in missing_segments(
            suffixes,
            log_start_offset=self._log_start_offset,
            recovery_point=self._recovery_point,
            first_epoch_start=self._epochs[0][1] if self._epochs else None,
            is_clean=self._is_clean,
        ):
            self.found.damages.append(Damage(missing.file, None, missing.reason))
            self.found.lost.append(Lost(missing.first, missing.end))
            data = b"" if missing.is_only else empty_batch(missing.first, missing.end, self._epoch_at(missing.first))
            self.found.contents[missing.file] = data
            self._drop_indexes(missing.first)

    def _drop_indexes(self, base_offset: int) -> None:
        """The next start builds them again."""
        for suffix in file_names.INDEXES:
            if (index := file_names.segment_file(base_offset, suffix)) in self._listing:
                self.found.contents[index] = None

    def _segment(self, base_offset: int, following: int | None) -> JobOf[None]:
        name = file_names.segment_file(base_offset, file_names.LOG)
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
        """The epoch of an offset by the file; by the batches before it where the file is damaged."""
        return epoch_history.epoch_at(self._seen_epochs if self._epochs is None else self._epochs, offset)

    def _first_damage(self, name: str, base_offset: int, following: int | None) -> JobOf[Damage | None]:
        """Returns a Damage, or None; `end_offset` is behind the last batch that was sound."""
        file = self._disk.open(f"{self.found.directory}/{name}", writable=False)
        try:
            walk, doubts = BatchWalk(file), EpochDoubts(self._epochs or [])
            for position, batch in walk:
                reason = self._problem(batch, base_offset, following)
                if reason is not None:
                    return self._judged(name, position, reason)
                doubt = doubts.see(batch.partition_leader_epoch, batch.base_offset, position)
                if doubt is not None:
                    self._has_wrong_epochs = True
                    return self._judged(name, *doubt)
                epoch_history.learn(self._seen_epochs, batch.partition_leader_epoch, batch.base_offset)
                self.found.end_offset = batch.last_offset + 1
                yield batch.size
            tail = walk.tail
            if tail.is_damage or (tail.kind == ZEROS and following is not None):
                return self._judged(name, tail.position, tail.reason)
            return self._end_problem(name, tail.position, base_offset, following)
        finally:
            file.close()

    def _problem(self, batch: Batch, base_offset: int, following: int | None) -> str | None:
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
        for suffix, parse, place in (
            (file_names.OFFSET_INDEX, file_forms.offset_index, 0),
            (file_names.TIME_INDEX, file_forms.time_index, 1),
        ):
            name = file_names.segment_file(base_offset, suffix)
            if name in self._listing:
                entries = parse(self._disk.read(f"{self.found.directory}/{name}"), base_offset).entries
                found = max(found, entries[-1][place] if entries else -1)
        return found
