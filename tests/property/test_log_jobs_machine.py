"""Everything that happens to one log, with its jobs stepped by hand between and during all of it (L1, L2, L4, L6-L8).

A log manager runs on a simulated machine, but its executor moves only when a rule says so: flushes, renames, unlinks,
rebuilds, checkpoints and the rounds of the cleaner stand still at any of their yields while the log is appended to,
rolled, read, truncated, or while the machine goes down. The model is a list with an entry for every offset. A record
may be missing only if compaction was allowed to remove it; what was below the recovery point survives every crash.
"""

from itertools import pairwise

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from log_jobs_model import ABORT, COMMIT, PLAIN, WRITE, SteppedBroker, Transactions, entry_of, unexplained
from log_kit import append_as_leader, keyed_batch, marker, raise_high_watermark, read_batches, read_bytes, read_warm
from manager_kit import CrashedError
from odradek.log import names
from odradek.log.append import COORDINATOR
from odradek.log.read import HIGH_WATERMARK, LOG_END, TXN_COMMITTED
from odradek.protocol import errors
from odradek.records.batch import batches
from odradek.records.control import marker_value
from odradek.sim.crash import KEEP_ALL, LOSE_ALL, MIXED

SEGMENT_BYTES = 500
LOG_DIR = "data/a"
DIRECTORY = f"{LOG_DIR}/topic-0"
RECORD = st.tuples(st.sampled_from([b"a", b"b", b"c"]), st.sampled_from([False, False, True]))  # key, is a tombstone
RECORDS = st.lists(RECORD, min_size=1, max_size=4)
PRODUCERS = st.sampled_from([20, 21])
IN_TRANSIT = (names.CLEANED, names.SWAP)


class LogJobsMachine(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.broker = None
        self.entries = []  # by offset: (key, value, producer, kind); None where nothing is asked for any more
        self.ever = {}  # every entry that an offset has had
        self.start = self.highest_start = 0
        self.count = self.epoch = 0

    @initialize(
        seed=st.integers(0, 2**32),
        policy=st.sampled_from(["delete", "compact", "compact", "compact,delete"]),
        interval=st.sampled_from([0, 100, 4096]),
    )
    def open(self, seed, policy, interval):
        self.overrides = {
            "cleanup.policy": policy,
            "internal.segment.bytes": SEGMENT_BYTES,
            "index.interval.bytes": interval,
            "retention.ms": -1,
            "min.cleanable.dirty.ratio": 0.0,
            "delete.retention.ms": 20,
            "file.delete.delay.ms": 10,
        }
        self.broker = SteppedBroker(
            seed, dirs=[LOG_DIR], topic_overrides={"topic": self.overrides}, log_cleaner_enable="false"
        )
        self.broker.start()
        self.broker.create()
        self.begin()

    def begin(self):
        """From here on the jobs stand still."""
        self.tasks = []
        self.truncation = None  # (offset, task) of the one that is under way
        self.broker.executor.is_free = False
        self.look()

    @property
    def log(self):
        return self.broker.manager.get("topic", 0)

    @property
    def now_ms(self):
        return self.broker.manager.now_ms

    # Letting things happen.

    def attempt(self, work):
        try:
            work()
            self.settle()
        except CrashedError:
            self.recover()

    def settle(self, milliseconds=1):
        """What the reactor does without a job. The log is looked at after every turn of it."""
        world = self.broker.world
        limit_us = world.now_us + milliseconds * 1000
        while world.step(limit_us):
            if not self.broker.node.is_up:
                raise CrashedError
            self.observe()
        world.now_us = limit_us
        assert self.broker.failed == []
        assert self.broker.manager.cleaner.uncleanable == {}
        for task in [task for task in self.tasks if task.is_done]:
            self.tasks.remove(task)
            task.value()
        if self.truncation is not None and self.truncation[1].is_done:
            self.truncation = None

    def spawn(self, coroutine):
        task = self.broker.spawn(coroutine)
        self.tasks.append(task)
        return task

    def observe(self):
        log = self.log
        if log.log_end_offset < len(self.entries):
            self.was_cut(log)
        if log.generation != self.seen_generation:
            self.look()
        self.synced = log.recovery_point

    def was_cut(self, log):
        assert self.truncation is not None, "only a truncation takes something off the end"
        offset, end = self.truncation[0], log.log_end_offset
        kept = [last for _, last in self.seen if last < offset]
        assert max([self.start, *(last + 1 for last in kept)]) <= max(end, self.start)
        assert end <= offset
        del self.entries[end:]
        self.start = min(self.start, end)
        self.look()
        for each in unexplained(self.entries, self.found, self.start):
            self.entries[each] = None  # what had superseded it was cut off

    def look(self):
        """Reads the whole log (L1, L2)."""
        log = self.log
        read = list(read_batches(log))
        self.seen = [(one.base_offset, one.last_offset) for one in read]
        assert all(first <= last for first, last in self.seen)
        assert all(before[1] < after[0] for before, after in pairwise(self.seen))
        pairs = [(record.offset, entry_of(one, record)) for one in read for record in one.records()]
        assert all(before[0] < after[0] for before, after in pairwise(pairs))
        self.found = {offset: entry for offset, entry in pairs if offset >= log.log_start_offset}
        self.seen_generation = log.generation
        self.synced = log.recovery_point

    # The jobs.

    def has_standing_jobs(self):
        return self.broker is not None and bool(self.broker.executor.standing)

    @precondition(has_standing_jobs)
    @rule(number=st.integers(0, 3))
    def step_a_job(self, number):
        self.attempt(lambda: self.broker.executor.step(number))

    @precondition(has_standing_jobs)
    @rule(numbers=st.lists(st.integers(0, 3), min_size=5, max_size=40))
    def step_some_jobs(self, numbers):
        self.attempt(lambda: self.advance(numbers))

    def advance(self, numbers):
        for number in numbers:
            if self.broker.executor.standing:
                self.broker.executor.step(number)
                self.settle()

    @rule()
    def end_all_jobs(self):
        def work():
            for _ in range(1000):
                if not self.broker.executor.standing:
                    break
                self.broker.executor.step(0)
                self.settle()
            assert not self.tasks, "everything that was asked for has come to its end"
            assert not [name for name in self.broker.names(DIRECTORY) if name.endswith(IN_TRANSIT)]

        self.attempt(work)

    @rule(milliseconds=st.sampled_from([2, 12, 30]))
    def wait(self, milliseconds):
        """Deleted files and tombstones reach their time."""
        self.attempt(lambda: self.settle(milliseconds))

    # Appends.

    def append(self, data, entries, origin):
        if self.log.refusal is not None:
            with pytest.raises(errors.KafkaError):
                append_as_leader(self.log, data, self.epoch, self.now_ms, origin=origin)
            return
        for number, entry in enumerate(entries):
            self.ever.setdefault(len(self.entries) + number, set()).add(entry)
        log, first = self.log, len(self.entries)

        def work():
            info = self.broker.on_reactor(lambda: append_as_leader(log, data, self.epoch, self.now_ms, origin=origin))
            assert (info.first_offset, info.last_offset) == (first, first + len(entries) - 1)
            self.entries += entries
            self.look()

        self.attempt(work)

    def append_records(self, records, producer, kind):
        pairs = []
        for key, is_tombstone in records:
            self.count += 1
            pairs.append((key, None if is_tombstone else b"%d" % self.count + b"x" * (self.count % 7 * 15)))
        known = None if producer is None else self.log.producers.entry(producer)
        data = keyed_batch(
            pairs,
            timestamp=self.now_ms,
            producer=producer,
            sequence=0 if known is None else known.last_sequence + 1,
            transactional=kind == WRITE,
        )
        entries = [(key, value, -1 if producer is None else producer, kind) for key, value in pairs]
        self.append(data, entries, 0)

    @rule(batches_=st.lists(RECORDS, min_size=1, max_size=6), producer=st.sampled_from([None, 7]))
    def append_plain(self, batches_, producer):
        for records in batches_:
            self.append_records(records, producer, PLAIN)

    @rule(records=RECORDS, producer=PRODUCERS)
    def append_in_a_transaction(self, records, producer):
        self.append_records(records, producer, WRITE)

    @rule(records=RECORDS, producer=PRODUCERS, commit=st.booleans())
    def append_a_whole_transaction(self, records, producer, commit):
        self.append_records(records, producer, WRITE)
        self.end_a_transaction(producer, commit)

    @rule(commit=st.booleans())
    def end_all_transactions(self, commit):
        for producer in Transactions(self.entries).first_open:
            self.end_a_transaction(producer, commit)

    def end_a_transaction(self, producer, commit):
        self.count += 1
        data = marker(producer, commit=commit, coordinator_epoch=self.count, timestamp=self.now_ms)
        key = b"\0\0\0\1" if commit else b"\0\0\0\0"
        entry = (key, marker_value(self.count), producer, COMMIT if commit else ABORT)
        self.append(data, [entry], COORDINATOR)

    @rule()
    def become_leader(self):
        self.epoch += 1
        self.log.assign_epoch_start_offset(self.epoch, self.log.log_end_offset)

    @rule(fraction=st.floats(0, 1))
    def replicate(self, fraction):
        if self.seen:
            raise_high_watermark(self.log, self.seen[int(fraction * (len(self.seen) - 1))][1] + 1)

    @rule()
    def roll(self):
        if self.log.refusal is None:
            self.attempt(lambda: self.broker.on_reactor(lambda: self.log.roll(self.now_ms)))

    # What is done with jobs.

    @rule()
    def begin_flush(self):
        self.attempt(lambda: self.spawn(self.flush_checked(self.log)))

    async def flush_checked(self, log):
        end, generation = log.log_end_offset, log.generation
        await self.broker.manager.flush(log)
        assert log.generation != generation or log.recovery_point >= end

    @rule()
    def begin_compaction(self):
        """Of all that can be cleaned: everything is replicated, and the last segment is sealed."""
        self.replicate(1)
        self.roll()
        self.attempt(lambda: self.spawn(self.broker.manager.cleaner.clean_filthiest()))

    @rule(rounds=st.integers(1, 3))
    def compact(self, rounds):
        """To the end, so often that tombstones and markers go."""
        for _ in range(rounds):
            self.begin_compaction()
            self.end_all_jobs()
            self.wait(30)

    @rule(batches_=st.lists(RECORDS, min_size=3, max_size=6), steps=st.integers(0, 25), back=st.integers(0, 12))
    def truncate_while_compacting(self, batches_, steps, back):
        self.append_plain(batches_, None)
        self.begin_compaction()
        self.attempt(lambda: self.advance([0] * steps))
        self.begin_truncation(back)

    @rule(batches_=st.lists(RECORDS, min_size=3, max_size=6), steps=st.integers(0, 25), kept=st.integers(0, 3))
    def retain_while_compacting(self, batches_, steps, kept):
        self.append_plain(batches_, None)
        self.begin_compaction()
        self.attempt(lambda: self.advance([0] * steps))
        self.begin_retention(kept)

    @rule(back=st.integers(0, 12))
    def begin_truncation(self, back):
        if self.truncation is not None:
            return
        offset = max(0, len(self.entries) - back)

        def work():
            self.truncation = (offset, None)
            self.truncation = (offset, self.spawn(self.broker.manager.truncate_to("topic", 0, offset)))

        self.attempt(work)

    @rule(kept=st.integers(0, 3))
    def begin_retention(self, kept):
        manager = self.broker.manager

        def work():
            manager.update_topic_config("topic", {**self.overrides, "retention.bytes": kept * SEGMENT_BYTES})
            self.spawn(manager.schedules.delete_old_segments())
            assert self.start <= self.log.log_start_offset <= self.log.high_watermark
            self.moved_start()
            manager.update_topic_config("topic", self.overrides)

        self.attempt(work)

    @rule(fraction=st.floats(0, 1))
    def delete_records(self, fraction):
        offset = self.start + int((self.log.high_watermark - self.start) * fraction)
        self.log.increment_log_start_offset(offset)
        assert self.log.log_start_offset == max(self.start, offset)
        self.moved_start()

    def moved_start(self):
        self.start = self.log.log_start_offset
        self.highest_start = max(self.highest_start, self.start)
        self.look()

    @rule()
    def begin_checkpoints(self):
        schedules = self.broker.manager.schedules
        self.attempt(
            lambda: [
                self.spawn(work())
                for work in (
                    schedules.checkpoint_recovery_points,
                    schedules.checkpoint_log_start_offsets,
                    schedules.checkpoint_high_watermarks,
                )
            ]
        )

    # Stops and crashes.

    @rule()
    def reopen(self):
        try:
            self.end_truncation()
            self.broker.executor.set_free()
            self.broker.stop()
            self.broker.start()
        except CrashedError:
            self.recover()
            return
        self.highest_start = self.start
        self.begin()
        assert self.log.recovery_point == len(self.entries)

    def end_truncation(self):
        """A stop waits for one; here it has to be seen when it happens."""
        while self.truncation is not None:
            self.broker.executor.step(0)
            self.settle()

    @rule(profile=st.sampled_from([KEEP_ALL, LOSE_ALL, MIXED]))
    def crash(self, profile):
        self.broker.crash(profile)
        self.recover()

    @rule(
        batches_=st.lists(RECORDS, min_size=3, max_size=6),
        steps=st.integers(0, 40),
        profile=st.sampled_from([KEEP_ALL, LOSE_ALL, MIXED, MIXED, MIXED]),
    )
    def crash_while_compacting(self, batches_, steps, profile):
        self.append_plain(batches_, None)
        self.begin_compaction()
        self.attempt(lambda: self.advance([0] * steps))
        self.crash(profile)

    @rule(nth=st.integers(1, 400))
    def arm_a_crash(self, nth):
        self.broker.disk.crash_at(nth)

    def recover(self):
        synced = min(self.synced, len(self.entries))
        if self.truncation is not None:  # the crash may have come right after its cut
            ends = [last + 1 for _, last in self.seen if last < self.truncation[0]]
            synced = min(synced, max(ends, default=0))
        self.start_anew()
        before = self.files()
        self.broker.crash(KEEP_ALL)
        self.start_anew()
        assert self.changed(before) == [], "recover(recover(x)) = recover(x), L7"
        self.begin()
        log = self.log
        start, end = log.log_start_offset, log.log_end_offset
        assert synced <= end <= max(self.ever, default=-1) + 1
        assert start <= self.highest_start, "nothing goes from the front that was not deleted"
        assert all(entry in self.ever[offset] for offset, entry in self.found.items())
        durable = range(max(start, self.start), synced)
        assert all(
            self.found.get(each, self.entries[each]) == (self.entries[each] or self.found.get(each)) for each in durable
        )
        assert unexplained(self.recovered(synced, end), self.found, max(start, self.start)) == []
        self.entries = [self.found.get(offset) for offset in range(end)]
        self.start = self.highest_start = start

    def recovered(self, synced, end):
        """What was synced, and what has survived of the rest."""
        return [self.entries[each] if each < synced else self.found.get(each) for each in range(end)]

    def start_anew(self):
        """Also where the armed crash comes in the middle of the recovery."""
        while True:
            try:
                self.broker.start()
                return
            except CrashedError:
                continue

    def files(self):
        return {name: self.broker.disk.read(f"{DIRECTORY}/{name}") for name in self.broker.names(DIRECTORY)}

    def changed(self, before):
        now = self.files()
        return [name for name in sorted(before.keys() | now.keys()) if before.get(name) != now.get(name)]

    # What always holds.

    @invariant()
    @precondition(lambda self: self.broker is not None)
    def holds_what_it_must(self):
        self.look()
        log = self.log
        assert log.log_start_offset == self.start
        assert log.log_end_offset == len(self.entries)
        wrong = {offset: entry for offset, entry in self.found.items() if self.entries[offset] != entry}
        assert wrong == {}
        assert unexplained(self.entries, self.found, self.start) == []
        if not log.config.is_compacted:
            expected = [each for each in range(self.start, len(self.entries)) if self.entries[each] is not None]
            assert sorted(self.found) == expected

    @invariant()
    @precondition(lambda self: self.broker is not None)
    def offsets_are_in_order(self):
        log = self.log
        assert log.log_start_offset <= log.last_stable_offset <= log.high_watermark <= log.log_end_offset  # L4
        assert log.recovery_point <= log.log_end_offset
        with pytest.raises(errors.OffsetOutOfRange):
            log.read(log.log_end_offset + 1, 1)

    @rule(fraction=st.floats(0, 1), is_cold=st.booleans())
    def read_somewhere(self, fraction, is_cold):
        if is_cold:
            self.broker.disk.evict()
        offset = self.start + int((len(self.entries) - self.start) * fraction)
        for isolation, limit in ((LOG_END, len(self.entries)), (HIGH_WATERMARK, self.log.high_watermark)):
            for one in batches(read_bytes(self.log, offset, 300, isolation=isolation)):
                one.ensure_valid()
                assert one.last_offset >= offset and one.last_offset < limit

    @invariant()
    @precondition(lambda self: self.broker is not None and self.log.refusal is None)
    def transactions_hold_the_last_stable_offset_and_aborted_ones_are_listed(self):
        """L6, T1. What began below the log start may be known or not."""
        log = self.log
        transactions = Transactions([None] * self.start + self.entries[self.start :])
        assert log.last_stable_offset <= min([log.high_watermark, *transactions.first_open.values()])
        fetched = read_warm(log, log.log_start_offset, 1 << 20, isolation=TXN_COMMITTED)
        if fetched.records is None:
            return
        records = fetched.records
        read = list(batches(records.disk_file.pread(records.size, records.position)))
        records.release()
        listed = {(entry.producer_id, entry.last_offset): entry.first_offset for entry in fetched.aborted_transactions}
        for end, writes in transactions.ended.items():
            _, _, producer, kind = self.entries[end]
            there = [each for each in writes if each in self.found and each <= read[-1].last_offset]
            if kind == ABORT and there:
                assert listed[producer, end] <= there[0]


TestLogJobsMachine = LogJobsMachine.TestCase
TestLogJobsMachine.settings = settings(max_examples=120, stateful_step_count=60)
