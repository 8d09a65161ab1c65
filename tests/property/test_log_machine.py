"""Any sequence of what may happen to a log, against a list of records (L1, L2, L4, L7).

The model holds what was appended, up to where it was synced, and where it starts. After a crash the log must be a
prefix of the model's list that has everything synced; after anything else it must be the list. A truncation that was
not synced may be undone by a crash, as in any file system: then what it cut off may be there again.
"""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from log_kit import (
    NOW,
    Partition,
    append_as_leader,
    config,
    marker,
    raise_high_watermark,
    read_batches,
    read_bytes,
    read_warm,
    run,
)
from odradek.log.append import COORDINATOR
from odradek.log.producers.producer_rebuild import RebuildPlan, rebuild_job
from odradek.log.read import HIGH_WATERMARK, LOG_END, TXN_COMMITTED
from odradek.protocol import errors
from odradek.records.batch import batches
from odradek.records.control import marker_value
from odradek.sim.crash import KEEP_ALL, LOSE_ALL, MIXED
from odradek.sim.disk import SimDisk
from odradek.sim.rng import SimRng

SEGMENT_BYTES = 600


class LogMachine(RuleBasedStateMachine):
    @initialize(seed=st.integers(0, 2**32), interval=st.sampled_from([0, 100, 4096]))
    def open(self, seed, interval):
        self.disk = SimDisk(SimRng(seed).stream("disk"))
        log_config = config(segment_bytes=SEGMENT_BYTES, index_interval_bytes=interval, retention_ms=-1)
        self.partition = Partition(self.disk, log_config)
        self.values = []  # by offset, None where a truncation has left a gap
        self.start = 0
        self.kinds = {}  # by value: the producer and what it did in its transaction
        self.ever = {}  # every value that an offset has had
        self.count = 0
        self.epoch = 0

    @property
    def log(self):
        return self.partition.log

    @rule(sizes=st.lists(st.integers(0, 120), min_size=1, max_size=4), producer=st.sampled_from([None, None, 7, 8]))
    def append(self, sizes, producer):
        values = [b"%d:" % (self.count + number) + b"x" * size for number, size in enumerate(sizes)]
        entry = self.log.producers.entry(producer) if producer is not None else None
        sequence = 0 if entry is None else (entry.last_sequence + 1)
        info = self.partition.append(*values, producer=producer, sequence=sequence, leader_epoch=self.epoch)
        assert (info.first_offset, info.last_offset) == (len(self.values), len(self.values) + len(values) - 1)
        for number, value in enumerate(values):
            self.ever.setdefault(len(self.values) + number, set()).add(value)
        self.values += values
        self.count += len(values)

    @rule(producer=st.sampled_from([20, 21]))
    def write_in_a_transaction(self, producer):
        entry = self.log.producers.entry(producer)
        sequence = 0 if entry is None else entry.last_sequence + 1
        value = b"%d in transaction" % self.count
        self.partition.append(value, producer=producer, sequence=sequence, transactional=True, leader_epoch=self.epoch)
        self._added(value, producer, "write")

    @rule(producer=st.sampled_from([20, 21]), commit=st.booleans())
    def end_a_transaction(self, producer, commit):
        data = marker(producer, commit=commit, coordinator_epoch=self.count)
        value = marker_value(self.count)
        append_as_leader(self.log, data, self.epoch, NOW, origin=COORDINATOR)
        self._added(value, producer, "commit" if commit else "abort")

    def _added(self, value, producer, kind):
        self.kinds[value] = (producer, kind)
        self.ever.setdefault(len(self.values), set()).add(value)
        self.values.append(value)
        self.count += 1

    @rule()
    def become_leader(self):
        self.epoch += 1
        self.log.assign_epoch_start_offset(self.epoch, self.log.log_end_offset)

    @rule(fraction=st.floats(0, 1))
    def raise_high_watermark(self, fraction):
        ends = [one.last_offset + 1 for one in self._batches()]
        if ends:
            raise_high_watermark(self.log, ends[int(fraction * (len(ends) - 1))])

    @rule()
    def roll(self):
        self.log.roll(NOW)

    @rule()
    def flush(self):
        self.partition.flush()

    @rule(fraction=st.floats(0, 1))
    def read_somewhere(self, fraction):
        offset = self.start + int((len(self.values) - self.start) * fraction)
        for isolation in (LOG_END, HIGH_WATERMARK):
            limit = len(self.values) if isolation == LOG_END else self.log.high_watermark
            data = read_bytes(self.log, offset, 300, isolation=isolation)
            found = list(batches(data))
            if offset >= limit:
                assert not found
                continue
            assert sum(one.size for one in found) <= max(300, found[0].size)
            for one in found:
                one.ensure_valid()
                assert one.last_offset >= offset and one.base_offset < limit
                for record in one.records():
                    assert record.offset < self.start or self.values[record.offset] == bytes(record.value)

    @rule(back=st.integers(0, 12))
    def truncate(self, back):
        offset = max(0, len(self.values) - back)
        self.partition.truncate(offset)
        end = self.log.log_end_offset
        assert 0 <= offset - end <= 4, "no more than the batch that holds the offset"
        del self.values[end:]
        self.start = min(self.start, end)

    def _batches(self):
        return list(read_batches(self.log))

    @rule(fraction=st.floats(0, 1))
    def delete_records(self, fraction):
        offset = self.start + int((self.log.high_watermark - self.start) * fraction)
        self.start = max(self.start, offset)
        self.log.increment_log_start_offset(offset)
        assert self.log.log_start_offset == self.start
        self.partition.checkpoint_start()

    @rule(kept=st.integers(0, 3))
    def retain_bytes(self, kept):
        self.log.update_config(self.partition.config.replace(retention_bytes=kept * SEGMENT_BYTES))
        deletion = self.log.delete_old_segments(NOW)
        self.log.update_config(self.partition.config)
        self.start = max(self.start, self.log.segments.first.base_offset)
        if deletion is not None:
            run(deletion.rename_job(self.disk))
            run(deletion.unlink_job(self.disk))

    @rule()
    def reopen(self):
        self.partition.reopen()
        assert self.log.recovery_point == len(self.values)

    @rule(profile=st.sampled_from([KEEP_ALL, LOSE_ALL, MIXED]))
    def crash(self, profile):
        synced = self.partition.recovery_point
        self.disk = self.partition.crash(profile)
        self.partition.load(clean=False)
        again = self._snapshot_of_disk()
        self.partition.load(clean=False)
        assert self._changed_files(again) == [], "recover(recover(x)) = recover(x), L7"
        end = self.log.log_end_offset
        assert synced <= end <= max(self.ever, default=-1) + 1
        records = self.partition.records()
        found = dict(records)
        self.start = self.log.log_start_offset
        assert [offset for offset, _ in records] == list(range(self.start, end)), "neither a hole nor a record twice"
        assert all(value in self.ever[offset] for offset, value in found.items())
        assert [found[offset] for offset in range(self.start, synced)] == self.values[self.start : synced]
        self.values = [found.get(offset) for offset in range(end)]
        self.count = max(self.count, len(self.values))

    def _changed_files(self, before):
        now = self._snapshot_of_disk()
        return [name for name in sorted(before.keys() | now.keys()) if before.get(name) != now.get(name)]

    def _snapshot_of_disk(self):
        directory = self.partition.directory
        return {name: self.disk.read(f"{directory}/{name}") for name in self.disk.list(directory)}

    @invariant()
    def holds_the_list(self):
        if not hasattr(self, "partition"):
            return
        expected = [(offset, value) for offset, value in enumerate(self.values) if value is not None]
        assert self.partition.records() == [pair for pair in expected if pair[0] >= self.start]
        assert self.log.log_start_offset == self.start
        assert self.log.log_end_offset == len(self.values)

    @invariant()
    def offsets_are_in_order(self):
        if not hasattr(self, "partition"):
            return
        log = self.log
        assert log.log_start_offset <= log.last_stable_offset <= log.high_watermark <= log.log_end_offset  # L4
        assert log.recovery_point <= log.log_end_offset
        with pytest.raises(errors.OffsetOutOfRange):
            log.read(log.log_end_offset + 1, 1)

    def _transactions(self):
        """The first offsets of the open ones, and (producer, first offset, marker) of the aborted ones."""
        opened, aborted = {}, []
        for offset in range(self.start, len(self.values)):
            producer, kind = self.kinds.get(self.values[offset], (None, None))
            if kind == "write":
                opened.setdefault(producer, offset)
            elif kind is not None:
                first = opened.pop(producer, None)
                if kind == "abort" and first is not None:
                    aborted.append((producer, first, offset))
        return opened, aborted

    @invariant()
    def transactions_hold_the_last_stable_offset_and_aborted_ones_are_listed(self):
        """L6, T1. What began below the log start may be known or not."""
        if not hasattr(self, "partition"):
            return
        log = self.log
        opened, aborted = self._transactions()
        assert log.last_stable_offset <= min([log.high_watermark, *opened.values()])
        fetched = read_warm(log, log.log_start_offset, 1 << 20, isolation=TXN_COMMITTED)
        if fetched.records is None:
            return
        end = fetched.records.position + fetched.records.size
        last = [one.last_offset for one in batches(fetched.records.disk_file.pread(end, 0)[fetched.records.position :])]
        fetched.records.release()
        listed = {(entry.producer_id, entry.last_offset): entry.first_offset for entry in fetched.aborted_transactions}
        for producer, first, end_offset in aborted:
            if first <= last[-1]:
                known = listed[producer, end_offset]
                assert known == first or known < self.start

    @invariant()
    def producers_are_what_a_replay_gives(self):
        """P5: as far as a snapshot keeps them, which is the last batch of each."""
        if not hasattr(self, "partition"):
            return
        log = self.log
        plan = RebuildPlan(
            log.directory,
            "topic-0",
            generation=0,
            start_offset=log.segments.first.base_offset,
            end_offset=log.log_end_offset,
            segments=[(segment.base_offset, segment.size, segment.path(".log")) for segment in log.segments],
            snapshots=[],
            now_ms=NOW,
            expiration_ms=1 << 60,
        )
        replayed = run(rebuild_job(self.disk, plan))
        for entry in replayed.entries:
            known = log.producers.entry(entry.producer_id)
            assert known is not None and known.epoch == entry.epoch
            if entry.batches:  # else only a marker is left of it
                assert known.batches[-1] == entry.batches[-1]
            first = known.current_txn_first_offset
            assert first == entry.current_txn_first_offset or first < log.segments.first.base_offset


TestLogMachine = LogMachine.TestCase
TestLogMachine.settings = settings(max_examples=40, stateful_step_count=25)
