"""P5: the producer snapshots of a partition, each compared with the replay once that has come to its offset."""

from odradek.inspection import file_forms
from odradek.inspection.findings import Report
from odradek.inspection.verify_replay import NONE, Producer, Replay
from odradek.protocol.messages.producer_snapshot import ProducerEntry


class Snapshot:
    __slots__ = ("entries", "file", "is_legal", "mtime_ms", "offset")

    def __init__(
        self, offset: int, file: str, entries: list[ProducerEntry] | None, mtime_ms: int, is_legal: bool
    ) -> None:
        self.offset = offset
        self.file = file
        self.entries = entries  # None: it could not be read, and that was reported
        self.mtime_ms = mtime_ms
        self.is_legal = is_legal  # a crash may have left it in any state


class SnapshotCheck:
    """`cleaned_below`: what compaction has been at, where batches and markers of producers may be gone."""

    __slots__ = ("_cleaned_below", "_expiration_ms", "_pending", "_report", "replay")

    def __init__(
        self, report: Report, replay: Replay, snapshots: list[Snapshot], cleaned_below: int, expiration_ms: int
    ) -> None:
        self._report = report
        self.replay = replay
        self._pending = sorted(snapshots, key=lambda snapshot: -snapshot.offset)
        self._cleaned_below = cleaned_below
        self._expiration_ms = expiration_ms

    def start(self, first_base_offset: int) -> None:
        """Snapshots below the first segment say nothing; the one at its start is where the replay begins."""
        while self._pending and self._pending[-1].offset < first_base_offset:
            self._pending.pop()
        if first_base_offset == 0:
            return
        at_start = self._pending[-1] if self._pending and self._pending[-1].offset == first_base_offset else None
        if at_start is not None and at_start.entries is not None:
            self.replay.seed(at_start.entries)
        else:
            self.replay.is_whole = False

    def before_batch(self, base_offset: int, last_offset: int) -> None:
        while self._pending and self._pending[-1].offset <= base_offset:
            self._compare(self._pending.pop())
        if self._pending and self._pending[-1].offset <= last_offset:
            snapshot = self._pending.pop()
            message = f"offset {snapshot.offset} is inside the batch {base_offset}-{last_offset}"
            self._report.judge(snapshot.is_legal, "P5", snapshot.file, None, message)

    def finish(self, log_end_offset: int) -> None:
        while self._pending:
            snapshot = self._pending.pop()
            if snapshot.offset <= log_end_offset:
                self._compare(snapshot)
            elif not self.replay.is_broken:
                message = f"a snapshot at {snapshot.offset}, the log ends at {log_end_offset}"
                self._report.judge(snapshot.is_legal, "P5", snapshot.file, None, message)

    def _compare(self, snapshot: Snapshot) -> None:
        if snapshot.entries is None or self.replay.is_broken:
            return
        listed = {entry.producer_id: Producer.of(entry) for entry in snapshot.entries}
        for producer_id, producer in listed.items():
            reason = self._difference(producer, self.replay.producers.get(producer_id))
            if reason is not None:
                self._problem(snapshot, f"producer {producer_id}: {reason}")
        for producer_id in self.replay.producers.keys() - listed.keys():
            self._missing(snapshot, producer_id, self.replay.producers[producer_id])

    def _problem(self, snapshot: Snapshot, message: str) -> None:
        self._report.judge(snapshot.is_legal or self.replay.is_mended, "P5", snapshot.file, None, message)

    def _difference(self, listed: Producer, replayed: Producer | None) -> str | None:
        if self._cleaned_below:
            return self._difference_when_cleaned(listed, replayed)
        if replayed is None:
            return None if not self.replay.is_whole else "no batch of it is in the log"
        if not self.replay.is_whole:  # a marker, or the first batch of a transaction, may be before the log's start
            if replayed.coordinator_epoch == NONE:
                replayed.coordinator_epoch = listed.coordinator_epoch
            if replayed.txn_first != NONE and listed.txn_first != NONE:
                replayed.txn_first = min(replayed.txn_first, listed.txn_first)
        differences = listed.differences(replayed)
        return f"it has {'; '.join(differences)}, as a replay finds" if differences else None

    @staticmethod
    def _difference_when_cleaned(listed: Producer, replayed: Producer | None) -> str | None:
        """Only the newest batch of a producer is sure to be left, and an older snapshot is older than that."""
        if (
            replayed is None
            or replayed.last_offset != listed.last_offset
            or NONE in (listed.last_offset, replayed.epoch)
        ):
            return None
        if replayed.last_sequence == listed.last_sequence:
            return None
        return f"it has last_sequence {listed.last_sequence}, not {replayed.last_sequence}, as its last batch says"

    def _missing(self, snapshot: Snapshot, producer_id: int, replayed: Producer) -> None:
        """An idle producer is forgotten in time, one with an open transaction never."""
        is_old = snapshot.mtime_ms - replayed.timestamp >= self._expiration_ms
        if replayed.txn_first != NONE:
            self._problem(
                snapshot, f"producer {producer_id} is missing, its transaction from {replayed.txn_first} is open"
            )
        elif not is_old:
            self._problem(snapshot, f"producer {producer_id} is missing, its last batch ends at {replayed.last_offset}")


def read_entries(report: Report, file: str, data: bytes, is_legal: bool) -> list[ProducerEntry] | None:
    try:
        snapshot = file_forms.producer_snapshot(data)
    except file_forms.MalformedFile as error:
        report.judge(is_legal, "P5", file, error.position, error.reason)
        return None
    if not snapshot.crc_ok:
        report.judge(is_legal, "P5", file, 2, f"the crc {snapshot.crc} is not that of the bytes that follow")
        return None
    return snapshot.entries
