"""Damage to any file of a stopped log: whatever is answered afterwards is what the undamaged log answers (L2, L5, T1).

Every byte of the indexes, logs and snapshots of a log with transactions, gaps in time and several segments is changed,
one after the other; files are lost, cut, zeroed and put back as they were once. Reads of every isolation from every
offset, and searches for every time, give the same records and offsets, or fail with the file that is damaged.
"""

from functools import partial

import pytest

from log_kit import NOW, Partition, append_as_leader, config, marker, read_warm, run
from odradek.log import names
from odradek.log.append import COORDINATOR
from odradek.log.failure import LogDamaged
from odradek.log.lookup import MAX_TIMESTAMP
from odradek.log.read import HIGH_WATERMARK, LOG_END, TXN_COMMITTED
from odradek.records.batch import batches
from odradek.records.control import ABORT, control_type

LOGS, OFFSETS, TIMES = names.LOG, names.OFFSET_INDEX, names.TIME_INDEX
TRANSACTIONS, SNAPSHOTS = names.TRANSACTION_INDEX, names.PRODUCER_SNAPSHOT
CONFIG = config(segment_bytes=1100, index_interval_bytes=120, retention_ms=-1)
# Producers, and what they do: a number writes, + commits, - aborts; 0 has no transactions. The times go up and down.
STORY = [
    *(
        "1",
        "2",
        "0",
        "1-",
        "2",
        "2+",
        "3",
        "1",
        "0",
        "1+",
        "3",
        "2",
        "2-",
        "1",
        "3",
        "0",
        "0",
        "1-",
        "2",
        "1",
        "2+",
        "3-",
    ),
    *(
        "1+",
        "0",
        "1",
        "0",
        "2",
        "1-",
        "2-",
        "3",
        "1",
        "0",
        "3",
        "1+",
        "3-",
        "2",
        "0",
        "2+",
        "1",
        "1-",
        "0",
        "1",
        "3",
        "0",
    ),
    *("1-", "2", "3"),
]
STEPS = [0, 70, 20, 20, 90, 30, 100, 130, 125, 40]


class Stopped:
    """A log that was written once and closed; `found_by` gives a process that finds it in some other state."""

    def __init__(self):
        partition = Partition(log_config=CONFIG)
        self.sequences = {}
        for number, word in enumerate(STORY):
            self.append(partition, number, int(word[0]), word[1:])
            if number == len(STORY) * 2 // 3:
                partition.log.active.complete_indexes()
                self.once = partition.disk.snapshot()
        self.end = partition.log.log_end_offset
        partition.log.update_high_watermark(self.end)
        self.before = answers(partition.log)
        partition.close()
        self.partition = partition
        self.files = partition.disk.snapshot()
        self.expected = answers(self.found_by(lambda disk: None).log)

    def append(self, partition, number, producer, end):
        time = NOW + 100 * (number // len(STEPS)) + STEPS[number % len(STEPS)]
        if end:
            data = marker(producer, commit=end == "+", timestamp=time)
            append_as_leader(partition.log, data, 0, NOW, origin=COORDINATOR)
        elif producer:
            sequence = self.sequences[producer] = self.sequences.get(producer, -1) + 1
            value = b"%02d" % number * (4 + number % 9)
            partition.append(value, timestamp=time, producer=producer, sequence=sequence, transactional=True)
        else:
            partition.append(b"%02d" % number * 12, b"and", timestamp=time)

    def found_by(self, damage):
        again = Partition.__new__(Partition)
        again.disk, again.config, again.rolls = self.partition.disk.clone(), CONFIG, 0
        again.directory, again.recovery_point = self.partition.directory, self.partition.recovery_point
        again.log_start_offset = 0
        damage(again.disk)
        again.load(clean=True)
        again.log.update_high_watermark(self.end)
        return again

    def paths(self, kind):
        return sorted(path for path in self.files if path.endswith(kind))

    def sealed(self, kind):
        """Of the second segment: transactions come from the first and go on in the third."""
        base_offset = self.paths(LOGS)[1].rpartition("/")[2].partition(".")[0]
        return next(path for path in self.paths(kind) if base_offset in path)


def visible(data, aborted):
    """As a consumer of committed records sees it."""
    waiting = sorted(aborted, key=lambda each: each.first_offset)
    dropped, found = set(), []
    for one in batches(data):
        while waiting and waiting[0].first_offset <= one.last_offset:
            dropped.add(waiting.pop(0).producer_id)
        records = list(one.records())
        if one.is_control:
            if control_type(records[0].key) == ABORT:
                dropped.discard(one.producer_id)
        elif not (one.is_transactional and one.producer_id in dropped):
            found += [(record.offset, bytes(record.value)) for record in records]
    return found


def read_on(log, offset, max_bytes, isolation):
    """Everything from an offset on, by reads of some size: what is given at once differs with what was checked."""
    found = []
    while True:
        fetched = read_warm(log, offset, max_bytes, isolation=isolation)
        if fetched.records is None:
            return found
        data = fetched.records.disk_file.pread(fetched.records.size, fetched.records.position)
        fetched.records.release()
        whole = list(batches(data))
        assert whole
        if isolation == TXN_COMMITTED:
            found += visible(b"".join(bytes(one.buffer) for one in whole), fetched.aborted_transactions)
        else:
            found += [bytes(one.buffer) for one in whole]
        offset = whole[-1].last_offset + 1


def search(log, time):
    told, generation = [], log.generation
    found = run(log.lookup_job(time, told=told))
    log.note_times(generation, told)
    return found


def answers(log):
    times = [MAX_TIMESTAMP, *range(NOW - 5, NOW + 620, 25)]
    reads = [(17, 300, TXN_COMMITTED), (0, 300, TXN_COMMITTED), (40, 1, TXN_COMMITTED)]
    reads += [(0, 1, LOG_END), (0, 1 << 20, HIGH_WATERMARK)]
    questions = [partial(search, log, time) for time in times]
    questions += [partial(read_on, log, *each) for each in reads]
    questions += [partial(search, log, time) for time in times[::5]]  # now that the log knows more
    return [answer(ask) for ask in questions]


def answer(ask):
    try:
        return ask()
    except LogDamaged as failure:
        return failure


STOPPED = Stopped()


def failures_after(damage):
    """What is answered is right; the failures, where there is no answer."""
    found = answer(partial(STOPPED.found_by, damage))
    if isinstance(found, LogDamaged):
        return [found]
    failures = []
    for ours, theirs in zip(answers(found.log), STOPPED.expected, strict=True):
        if isinstance(ours, LogDamaged):
            failures.append(ours)
        else:
            assert ours == theirs
    return failures


def flips(path):
    """Every byte, one bit of it: another one each time."""
    for position in range(len(STOPPED.files[path])):
        yield partial(flip, path=path, position=position, bit=(position * 5 + position // 8) % 8)


def flip(disk, path, position, bit):
    disk.flip_bit(path, position, bit)


def replace(disk, path, data):
    disk.write_atomically(path, data)


def lose(disk, path):
    disk.unlink(path)


def test_the_story_has_what_it_takes():
    assert len(STOPPED.paths(LOGS)) >= 4
    assert all(len(STOPPED.files[STOPPED.sealed(kind)]) >= size for kind, size in [(OFFSETS, 32), (TIMES, 36)])
    assert len(STOPPED.files[STOPPED.sealed(TRANSACTIONS)]) >= 2 * 34
    assert STOPPED.expected == STOPPED.before, "a restart changes no answer"
    assert not any(isinstance(each, LogDamaged) for each in STOPPED.expected)
    [committed, _, everything] = [each for each in STOPPED.expected if isinstance(each, list) and len(each) > 20][:3]
    assert len(committed) < len(everything)


@pytest.mark.parametrize("kind", [OFFSETS, TIMES, TRANSACTIONS])
def test_no_bit_of_an_index_changes_an_answer(kind):
    for path in STOPPED.paths(kind):
        for damage in flips(path):
            assert not failures_after(damage), "an index is no reason to fail: the log has it all"


def test_no_bit_of_a_snapshot_changes_an_answer():
    for path in STOPPED.paths(SNAPSHOTS):
        for damage in list(flips(path))[::5]:
            assert not failures_after(damage)


def test_every_bit_of_a_log_is_missed():
    path = STOPPED.sealed(LOGS)
    for damage in flips(path):
        failures = failures_after(damage)
        assert failures and all(f"/{each.path}" == path for each in failures)


@pytest.mark.parametrize("kind", [OFFSETS, TIMES, TRANSACTIONS, SNAPSHOTS])
def test_files_that_are_lost_cut_zeroed_or_of_another_time_change_no_answer(kind):
    for path in STOPPED.paths(kind):
        data = STOPPED.files[path]
        assert not failures_after(partial(lose, path=path))
        for size in range(0, len(data), 2):
            assert not failures_after(partial(replace, path=path, data=data[:size]))
            zeros = data[:size] + bytes(len(data) - size)
            assert not failures_after(partial(replace, path=path, data=zeros))
        others = [STOPPED.files[other] for other in STOPPED.paths(kind)] if kind != SNAPSHOTS else []
        for other in [*others, *([STOPPED.once[path]] if path in STOPPED.once else [])]:
            assert not failures_after(partial(replace, path=path, data=other))


@pytest.mark.parametrize("size", [0, 1, 61, 200, -100, -3])
def test_a_log_that_was_cut_or_zeroed_is_missed(size):
    path = STOPPED.sealed(LOGS)
    data = STOPPED.files[path]
    cut = data[:size]
    for damaged in (cut, cut + bytes(len(data) - len(cut))):
        failures = failures_after(partial(replace, path=path, data=damaged))
        assert failures and all(f"/{each.path}" == path for each in failures)


def is_spoken_of(one):
    """By the producer snapshot, or by the transaction index."""
    if one.is_control:
        return control_type(next(iter(one.records())).key) == ABORT
    return one.producer_id >= 0


def test_a_log_that_was_cut_where_a_batch_ends_is_missed():
    """A lost end of batches without a producer's numbers, or of commits, has a witness only if an index names it."""
    cuts = []
    for path in STOPPED.paths(LOGS)[:-1]:
        found = list(batches(STOPPED.files[path]))
        ends = [sum(len(one.buffer) for one in found[:number]) for number in range(len(found))]
        cuts += [(path, end) for number, end in enumerate(ends) if any(map(is_spoken_of, found[number:]))]
    assert len(cuts) > 20
    for path, end in cuts:
        failures = failures_after(partial(replace, path=path, data=STOPPED.files[path][:end]))
        assert failures and all(f"/{each.path}" == path for each in failures), (path, end)
