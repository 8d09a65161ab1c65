"""L8: compaction keeps the last value of every key, the order and the offsets, against a model of plain dicts.

A log is drawn batch by batch: plain and compressed, of several producers, some of them in transactions that commit or
abort, cut into segments anywhere. Rounds follow one another, each a while later; between two of them more may be
appended, the map may be too small for the dirty section, and the jobs may be cancelled at any yield.
"""

from collections.abc import Iterator
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.log import names
from odradek.log.cleaner.clean_batches import LastRecord
from odradek.log.cleaner.clean_job import CleanerLimits, CleanRound, CleanTask, Replacement, begin_round, clean_group
from odradek.log.config import LogConfig
from odradek.log.index import transaction_index
from odradek.log.index.transaction_index import AbortedTransaction
from odradek.reactor.ports import Cancelled
from odradek.records.batch import Batch, RecordBatch, batches
from odradek.records.compression import GZIP, LZ4, NONE, ZSTD
from odradek.records.control import end_transaction_marker
from odradek.records.record import Record
from odradek.records.writer import BatchFields, record_batch
from odradek.sim.disk import SimDisk

DIR = "/logs/topic-0"
SECRET = bytes(16)
DELETE_RETENTION_MS = 100
CONFIG = LogConfig.default().replace(
    internal_segment_bytes=2000, index_interval_bytes=100, delete_retention_ms=DELETE_RETENTION_MS
)

PLAIN, IDEMPOTENT, TRANSACTION = range(3)


class BatchModel:
    """A batch as the model sees it."""

    def __init__(self, batch: RecordBatch, outcome: str) -> None:
        self.base_offset = batch.base_offset
        self.last_offset = batch.last_offset
        self.producer_id = batch.producer_id
        self.producer_epoch = batch.producer_epoch
        self.base_sequence = batch.base_sequence
        self.is_control = batch.is_control
        self.codec = batch.compression
        self.outcome = outcome  # "", "committed", "aborted"; of a marker, that of its transaction
        self.records = list(batch.records())
        self.horizon_ms: int | None = None

    def facts(self) -> tuple[object, ...]:
        return (
            self.base_offset,
            self.last_offset,
            self.producer_id,
            self.producer_epoch,
            self.base_sequence,
            self.is_control,
            self.horizon_ms,
            [(record.offset, record.key, record.value, record.timestamp) for record in self.records],
        )


def facts_of(batch: Batch) -> tuple[object, ...]:
    assert isinstance(batch, RecordBatch)
    assert batch.is_valid
    return (
        batch.base_offset,
        batch.last_offset,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        batch.is_control,
        batch.delete_horizon_ms,
        [(record.offset, record.key, record.value, record.timestamp) for record in batch.records()],
    )


class LogModel:
    """The log as lists: segments of batches on the one side, files of a simulated disk on the other."""

    def __init__(self) -> None:
        self.now_ms = 1000
        self.disk = SimDisk(wall_ms=lambda: self.now_ms)
        self.disk.mkdir(DIR)
        self.batches: list[BatchModel] = []
        self.segments: dict[int, bytearray] = {0: bytearray()}
        self.aborted: list[AbortedTransaction] = []
        self.producers: dict[int, LastRecord] = {}
        self.next_offset = 0
        self.first_dirty_offset = 0
        self.last_values: dict[bytes, tuple[int, bytes | None]] = {}
        self._sequences: dict[int, int] = {}

    def append(self, records: list[Record], fields: BatchFields, codec: int, outcome: str) -> None:
        data = record_batch(records, fields, codec=codec)
        self._append(data, outcome)
        if fields.producer_id >= 0:
            self.producers[fields.producer_id] = LastRecord(records[-1].offset, 0)
        if outcome != "aborted":
            self.last_values |= {
                record.key: (record.offset, record.value) for record in records if record.key is not None
            }

    def append_marker(self, producer_id: int, is_commit: bool, first_offset: int) -> None:
        offset = self.next_offset
        marker = end_transaction_marker(
            is_commit, 1, self.now_ms, producer_id=producer_id, producer_epoch=0, base_offset=offset
        )
        if not is_commit:
            self.aborted.append(AbortedTransaction(producer_id, first_offset, offset, offset + 1))
        self._append(marker, "committed" if is_commit else "aborted")

    def sequence(self, producer_id: int, count: int) -> int:
        first = self._sequences.get(producer_id, 0)
        self._sequences[producer_id] = first + count
        return first

    def roll(self) -> None:
        if self.segments[max(self.segments)]:
            self.segments[self.next_offset] = bytearray()

    def _append(self, data: bytes, outcome: str) -> None:
        batch = RecordBatch(data)
        self.batches.append(BatchModel(batch, outcome))
        self.segments[max(self.segments)] += data
        self.next_offset = batch.next_offset

    # --- the rules, told with dicts ---

    def clean(self, end_offset: int, upper_bound_offset: int) -> None:
        """What Kafka's rules leave of the batches below `upper_bound_offset`, given how far the map went."""
        latest = {
            record.key: record.offset
            for batch in self.batches
            if not batch.is_control and batch.outcome != "aborted"
            for record in batch.records
            if record.key is not None and self.first_dirty_offset <= record.offset < end_offset
        }
        last_segment = max(base for base in self.segments if base < end_offset)
        limit = min([base for base in self.segments if base > last_segment], default=upper_bound_offset)
        left = [self._left(batch, latest, end_offset) for batch in self.batches if batch.last_offset < limit]
        markers_needed = self._markers_with_data(limit)
        for batch in left:
            if batch.is_control and batch.last_offset not in markers_needed:
                self._age(batch)
        kept = [batch for batch in left if batch.records or self._is_kept_empty(batch, upper_bound_offset)]
        self.batches = kept + [batch for batch in self.batches if batch.last_offset >= limit]

    def _left(self, batch: BatchModel, latest: dict[bytes, int], end_offset: int) -> BatchModel:
        if batch.is_control:
            return batch
        if batch.outcome == "aborted":
            batch.records = []
        tombstones_go = batch.horizon_ms is not None and batch.horizon_ms <= self.now_ms
        batch.records = [
            record
            for record in batch.records
            if record.offset >= end_offset
            or (
                record.key is not None
                and record.offset >= latest.get(record.key, -1)
                and not (record.value is None and tombstones_go)
            )
        ]
        if not batch.records:
            batch.horizon_ms = None
        elif batch.horizon_ms is None and any(record.value is None for record in batch.records):
            batch.horizon_ms = self.now_ms + DELETE_RETENTION_MS
        return batch

    def _markers_with_data(self, limit: int) -> set[int]:
        """The markers of transactions of which this round still met a batch, empty or not."""
        open_producers: set[int] = set()
        needed = set()
        for batch in self.batches:
            if batch.last_offset >= limit:
                break
            if batch.is_control:
                if batch.records and batch.producer_id in open_producers:
                    needed.add(batch.last_offset)
                open_producers.discard(batch.producer_id)
            elif batch.outcome:
                open_producers.add(batch.producer_id)
        return needed

    def _age(self, marker: BatchModel) -> None:
        if not marker.records:
            return
        if marker.horizon_ms is None:
            marker.horizon_ms = self.now_ms + DELETE_RETENTION_MS
        elif marker.horizon_ms <= self.now_ms:
            marker.records = []
            marker.horizon_ms = None

    def _is_kept_empty(self, batch: BatchModel, upper_bound_offset: int) -> bool:
        if batch.last_offset + 1 == upper_bound_offset:
            return True
        last = self.producers.get(batch.producer_id)
        return last is not None and last.last_data_offset == batch.last_offset

    # --- the files ---

    def write_files(self) -> None:
        for base_offset, data in self.segments.items():
            self._replace(base_offset, names.LOG, bytes(data))

    def run_round(self, limits: CleanerLimits, cancel_after: int | None) -> CleanRound | None:
        active = max(self.segments)
        task = CleanTask(
            DIR,
            [(base, len(data)) for base, data in sorted(self.segments.items()) if base < active],
            first_dirty_offset=self.first_dirty_offset,
            first_uncleanable_offset=active,
            config=CONFIG,
            now_ms=self.now_ms,
            secret=SECRET,
            aborted=self.aborted,
            active_producers=self.producers,
            limits=limits,
        )
        round_: CleanRound = run(begin_round(self.disk, task))
        for group in round_.groups:
            job = clean_group(self.disk, round_, group)
            if cancel_after is not None:
                if cancel(job, cancel_after):
                    assert not any(name.endswith(names.CLEANED) for name in self.disk.list(DIR))
                return None
            replacement = run(job)
            if replacement is not None:
                self._swap(replacement)
        return round_

    def _swap(self, replacement: Replacement) -> None:
        for base_offset in replacement.replaced:
            del self.segments[base_offset]
        cleaned = replacement.cleaned
        path = f"{DIR}/{names.file_name(cleaned.base_offset, names.LOG)}"
        self.disk.rename(path + names.CLEANED, path)
        self.segments[cleaned.base_offset] = bytearray(self.disk.read(path))
        self.segments = dict(sorted(self.segments.items()))
        assert len(self.segments[cleaned.base_offset]) == cleaned.size_bytes
        self._check_aborted(cleaned.base_offset, path.removesuffix(names.LOG), replacement)
        for suffix in names.INDEX_FILES:
            if suffix in cleaned.suffixes:
                self.disk.unlink(path.removesuffix(names.LOG) + suffix + names.CLEANED)

    def _check_aborted(self, base_offset: int, stem: str, replacement: Replacement) -> None:
        """An entry lives as long as a batch of its transaction was there when the segment was cleaned."""
        path = stem + names.TRANSACTION_INDEX + names.CLEANED
        entries = transaction_index.decode(self.disk.read(path), base_offset) if self.disk.exists(path) else []
        assert set(entries) <= set(self.aborted)
        segment_end = min([base for base in self.segments if base > base_offset], default=self.next_offset)
        dropped = {e for e in self.aborted if base_offset <= e.last_offset < segment_end} - set(entries)
        self.aborted = [entry for entry in self.aborted if entry not in dropped]

    def _replace(self, base_offset: int, suffix: str, data: bytes) -> None:
        path = f"{DIR}/{names.file_name(base_offset, suffix)}"
        if self.disk.exists(path):
            self.disk.unlink(path)
        file = self.disk.open(path, create=True)
        if data:
            file.append([data])
        file.close()

    def found(self) -> list[Batch]:
        return [batch for data in self.segments.values() for batch in batches(bytes(data))]


def run(job):  # type: ignore[no-untyped-def]
    while True:
        try:
            assert next(job) >= 0
        except StopIteration as end:
            return end.value


def cancel(job, steps: int) -> bool:  # type: ignore[no-untyped-def]
    """Whether the job was still running; one that had ended leaves its files for whoever asked for them."""
    try:
        for _ in range(steps + 1):
            next(job)
        job.throw(Cancelled())
    except Cancelled:
        return True
    except StopIteration:
        return False
    raise AssertionError("the job went on although it was cancelled")


# --- drawing a log ---

KEYS = st.sampled_from([b"a", b"b", b"c", b"d", b"e"]) | st.none()
VALUES = st.sampled_from([b"1", b"2" * 40]) | st.none()
CODECS = st.sampled_from([NONE, NONE, GZIP, LZ4, ZSTD])
DATA = st.lists(st.tuples(KEYS, VALUES, st.integers(0, 50)), min_size=1, max_size=4)
Step = tuple[int, list[tuple[bytes | None, bytes | None, int]], int, bool, bool]
STEP = st.tuples(st.sampled_from([PLAIN, PLAIN, IDEMPOTENT, TRANSACTION]), DATA, CODECS, st.booleans(), st.booleans())
ROUND = st.tuples(st.lists(STEP, min_size=1, max_size=6), st.integers(0, 150), st.integers(1, 6), st.booleans())


def append_step(log: LogModel, step: Step) -> None:
    kind, data, codec, is_commit, rolls = step
    count = len(data)
    records = [
        Record(log.next_offset + delta, key, value, log.now_ms + late) for delta, (key, value, late) in enumerate(data)
    ]
    producer_id = {PLAIN: -1, IDEMPOTENT: 7, TRANSACTION: 8}[kind]
    fields = BatchFields(
        producer_id=producer_id,
        producer_epoch=-1 if kind == PLAIN else 0,
        base_sequence=-1 if kind == PLAIN else log.sequence(producer_id, count),
        is_transactional=kind == TRANSACTION,
        partition_leader_epoch=3,
    )
    outcome = "" if kind != TRANSACTION else "committed" if is_commit else "aborted"
    first_offset = log.next_offset
    log.append(records, fields, codec, outcome)
    if rolls:
        log.roll()
    if kind == TRANSACTION:
        log.append_marker(producer_id, is_commit, first_offset)


def committed_values(log: LogModel) -> Iterator[tuple[bytes, tuple[int, bytes | None]]]:
    aborted_ends = {(entry.producer_id, entry.first_offset, entry.last_offset) for entry in log.aborted}
    for batch in log.found():
        if batch.is_control:
            continue
        for record in batch.records():
            is_aborted = any(pid == batch.producer_id and lo <= record.offset < hi for pid, lo, hi in aborted_ends)
            if record.key is not None and not is_aborted:
                yield record.key, (record.offset, record.value)


@settings(max_examples=150)
@given(st.lists(ROUND, min_size=1, max_size=4), st.sampled_from([50, 300, 1 << 20]), st.none() | st.integers(0, 3))
def test_compaction_follows_the_model(
    rounds: list[
        tuple[list[tuple[int, list[tuple[bytes | None, bytes | None, int]], int, bool, bool]], int, int, bool]
    ],
    chunk_bytes: int,
    cancel_after: int | None,
) -> None:
    log = LogModel()
    for steps, pause_ms, map_entries, is_map_small in rounds:
        for step in steps:
            append_step(log, step)
        log.roll()
        log.write_files()
        log.now_ms += pause_ms
        upper_bound_offset = max(log.segments)
        limits = CleanerLimits(24 * (map_entries + 1) if is_map_small else 1 << 20, 1.0, chunk_bytes)
        if cancel_after is not None:
            before = [bytes(data) for data in log.segments.values()]
            log.run_round(limits, cancel_after)
            assert [bytes(data) for data in log.segments.values()] == before
        round_ = log.run_round(limits, None)
        assert round_ is not None
        assert log.first_dirty_offset < round_.end_offset <= upper_bound_offset
        log.clean(round_.end_offset, upper_bound_offset)
        assert [facts_of(batch) for batch in log.found()] == [batch.facts() for batch in log.batches]
        log.first_dirty_offset = round_.end_offset
        check_promises(log)


def check_promises(log: LogModel) -> None:
    """L1 and L8, from the files alone: what a consumer may rely on."""
    found = log.found()
    ends = [(batch.base_offset, batch.last_offset) for batch in found]
    assert all(first <= last for first, last in ends)
    assert all(before[1] < after[0] for before, after in pairwise(ends))
    values = dict(committed_values(log))
    for key, (offset, value) in log.last_values.items():
        if value is not None:
            assert values[key] == (offset, value)
        else:
            assert values.get(key) in (None, (offset, None))


@settings(max_examples=60)
@given(st.lists(STEP, min_size=1, max_size=10))
def test_a_clean_log_is_a_fixed_point(
    steps: list[Step],
) -> None:
    """Cleaned twice at the same instant, the second round finds nothing to change but to join segments."""
    log = LogModel()
    for step in steps:
        append_step(log, step)
    log.roll()
    log.write_files()
    limits = CleanerLimits(1 << 20)
    log.run_round(limits, None)
    log.run_round(limits, None)
    before = b"".join(bytes(data) for data in log.segments.values())
    round_ = log.run_round(limits, None)
    assert round_ is not None
    assert round_.stats.batches_rewritten == 0
    assert b"".join(bytes(data) for data in log.segments.values()) == before
