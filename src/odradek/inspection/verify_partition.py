"""Checks one partition dir: its files by name, then its segments in order in one walk over all batches.

Everything that a crash may leave is judged by the recovery point. Below it the log was synced, and nothing may be
wrong; at or past it the first bad batch ends the log, and indexes and snapshots may be in any state. After a clean
stop nothing may be wrong anywhere.
"""

import re

from odradek.inspection import file_forms, file_names
from odradek.inspection.file_names import LEADER_EPOCHS, PARTITION_METADATA, segment_file
from odradek.inspection.findings import MOVE_OUT, Report
from odradek.inspection.verify_index import EpochCheck
from odradek.inspection.verify_replay import Replay
from odradek.inspection.verify_segment import SegmentCheck
from odradek.inspection.verify_snapshots import Snapshot, SnapshotCheck, read_entries
from odradek.protocol.internal_topics import CLUSTER_METADATA_TOPIC
from odradek.reactor.ports import Disk, JobOf

_METADATA_SNAPSHOT = re.compile(r"(?P<offset>[0-9]{20})-(?P<epoch>[0-9]{10})\.checkpoint$")
_ON_ITS_WAY = re.compile(r".*\.(?P<state>deleted|cleaned|swap|part|tmp)$")
_KEPT_COPY = re.compile(r".*\.[0-9]+\.damaged$")
_OTHER_NAMES = {LEADER_EPOCHS, PARTITION_METADATA}
_QUORUM_NAMES = {file_names.QUORUM_STATE, file_names.RECOVERY_POINT}


class Checkpoints:
    """What the checkpoints of the log dir say of one partition; None where they do not list it."""

    __slots__ = ("cleaner_offset", "high_watermark", "log_start_offset", "recovery_point")

    def __init__(
        self,
        recovery_point: int | None = None,
        log_start_offset: int | None = None,
        high_watermark: int | None = None,
        cleaner_offset: int | None = None,
    ) -> None:
        self.recovery_point = recovery_point
        self.log_start_offset = log_start_offset
        self.high_watermark = high_watermark
        self.cleaner_offset = cleaner_offset


class PartitionCheck:
    """`name` is the directory below the log dir; after `run` the offsets and the topic id are known."""

    def __init__(
        self,
        disk: Disk,
        directory: str,
        name: str,
        topic: str,
        report: Report,
        checkpoints: Checkpoints,
        *,
        is_clean: bool,
        producer_expiration_ms: int,
    ) -> None:
        self.disk = disk
        self.name = name
        self.topic = topic
        self.report = report
        self.checkpoints = checkpoints
        self.is_clean = is_clean
        self.topic_id: bytes | None = None
        self.log_end_offset = 0
        self.first_base_offset = 0
        self.is_ended = False  # a batch past the recovery point was bad: recovery cuts the log there
        self.replay = Replay()
        self.epochs = EpochCheck(f"{name}/{LEADER_EPOCHS}", None)
        self.snapshots = SnapshotCheck(report, self.replay, [], 0, 0)
        self._directory = directory
        self._expiration_ms = producer_expiration_ms
        self._files: dict[str, list[int]] = {}
        self._metadata_snapshots: list[tuple[int, str]] = []
        self._names: list[str] = []

    @property
    def log_start_offset(self) -> int:
        return max(self.first_base_offset, self.checkpoints.log_start_offset or 0)

    @property
    def cleaned_below(self) -> int:
        return self.checkpoints.cleaner_offset or 0

    def path(self, name: str) -> str:
        return f"{self._directory}/{name}"

    def shown(self, name: str) -> str:
        return f"{self.name}/{name}"

    def may_be_lost(self, offset: int) -> bool:
        """Whether a crash may have taken what is at `offset`, and what follows it."""
        return not self.is_clean and offset >= (self.checkpoints.recovery_point or 0)

    def run(self) -> JobOf[None]:
        self.report.partitions += 1
        self._sort_names()
        bases = self._files["log"]
        self._check_orphans(set(bases))
        self.epochs.entries = self._read_epochs()
        self._read_topic_id()
        if not bases:
            self.report.error("names", self.name, None, "there is no segment")
            return
        self.first_base_offset = self.log_end_offset = bases[0]
        self.snapshots = SnapshotCheck(
            self.report, self.replay, self._read_snapshots(), self.cleaned_below, self._expiration_ms
        )
        self.snapshots.start(bases[0])
        for base_offset, next_base in zip(bases, [*bases[1:], None], strict=True):
            yield from self._check_segment(base_offset, next_base)
        self.snapshots.finish(self.log_end_offset)
        self._check_epoch_ends()
        if self.topic == CLUSTER_METADATA_TOPIC:
            yield from self._check_metadata_files()

    def _sort_names(self) -> None:
        suffixes = (file_names.LOG, *file_names.INDEXES, file_names.PRODUCER_SNAPSHOT)
        self._files = {suffix: [] for suffix in suffixes}
        self._names = self.disk.list(self._directory)
        for name in self._names:
            if parts := file_names.parse_segment_file(name):
                self._files[parts[1]].append(parts[0])
            elif found := _ON_ITS_WAY.match(name):
                self.report.note("names", self.shown(name), None, f"a file on its way: .{found['state']}")
            elif _KEPT_COPY.match(name):
                self.report.note("names", self.shown(name), None, "kept by log repair; may be deleted")
            elif self.topic == CLUSTER_METADATA_TOPIC and (found := _METADATA_SNAPSHOT.match(name)):
                self._metadata_snapshots.append((int(found["offset"]), name))
            elif name not in _OTHER_NAMES and not (self.topic == CLUSTER_METADATA_TOPIC and name in _QUORUM_NAMES):
                self.report.error("names", self.shown(name), None, "not a file of a partition", remedy=MOVE_OUT)

    def has(self, base_offset: int, suffix: str) -> bool:
        return base_offset in self._files[suffix]

    def _check_orphans(self, bases: set[int]) -> None:
        for suffix in file_names.INDEXES:
            for base_offset in self._files[suffix]:
                if base_offset not in bases:
                    file = self.shown(segment_file(base_offset, suffix))
                    self.report.judge(self.may_be_lost(base_offset), "names", file, None, "there is no such segment")

    def _check_segment(self, base_offset: int, next_base: int | None) -> JobOf[None]:
        if self.is_ended:
            file = self.shown(segment_file(base_offset, file_names.LOG))
            self.report.note("L7", file, 0, "recovery deletes this segment: the log ends before it")
            return
        self.report.segments += 1
        yield from SegmentCheck(self, base_offset, next_base).run()

    def _read_snapshots(self) -> list[Snapshot]:
        found = []
        for offset in self._files["snapshot"]:
            name = segment_file(offset, file_names.PRODUCER_SNAPSHOT)
            file, is_legal = self.shown(name), self.may_be_lost(offset)
            entries = read_entries(self.report, file, self.disk.read(self.path(name)), is_legal)
            found.append(Snapshot(offset, file, entries, self.disk.mtime_ms(self.path(name)), is_legal))
        return found

    def _read_epochs(self) -> list[tuple[int, int]] | None:
        if LEADER_EPOCHS not in self._names:
            return None
        try:
            return file_forms.leader_epochs(self.disk.read(self.path(LEADER_EPOCHS)))
        except file_forms.MalformedFile as error:
            self.report.error("L3", self.epochs.file, error.position, error.reason)
            return None

    def _check_epoch_ends(self) -> None:
        if LEADER_EPOCHS not in self._names and self.epochs.latest_epoch >= 0:  # magic 0 and 1 have none
            self.report.judge(not self.is_clean, "L3", self.epochs.file, None, "the file is missing")
        problem = self.epochs.order_problem()
        if problem is not None:
            self.report.error("L3", self.epochs.file, *problem)
            return
        for line, (epoch, start) in enumerate(self.epochs.entries or (), 3):
            if start > self.log_end_offset and not self.replay.is_broken:
                message = f"epoch {epoch} starts at {start}, the log ends at {self.log_end_offset}"
                self.report.judge(self.may_be_lost(self.log_end_offset), "L3", self.epochs.file, line, message)

    def _read_topic_id(self) -> None:
        name = PARTITION_METADATA
        if name not in self._names:
            self.report.note("topic id", self.shown(name), None, "the file is missing, as before Kafka 2.8")
            return
        try:
            self.topic_id = file_forms.topic_id(self.disk.read(self.path(name)))
        except file_forms.MalformedFile as error:
            self.report.error("topic id", self.shown(name), error.position, error.reason)

    def _check_metadata_files(self) -> JobOf[None]:
        from odradek.inspection.verify_metadata import check_quorum_state, check_snapshot

        check_quorum_state(self)
        for offset, name in self._metadata_snapshots:
            if offset > self.log_end_offset:
                message = f"the snapshot ends at {offset}, the log at {self.log_end_offset}"
                self.report.error("C5", self.shown(name), None, message)
            yield from check_snapshot(self.disk, self.path(name), self.shown(name), self.report)
        if self.first_base_offset and not any(at >= self.first_base_offset for at, _ in self._metadata_snapshots):
            message = f"the log starts at {self.first_base_offset} and no snapshot reaches up to there"
            self.report.error("C5", self.name, None, message)
