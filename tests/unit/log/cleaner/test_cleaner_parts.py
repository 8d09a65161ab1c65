"""The pieces of compaction that stand for themselves: the map and its size, groups, transactions, checkpoints."""

from contextlib import suppress

import pytest

from odradek import native
from odradek.log import names
from odradek.log.checkpoint import read_offsets
from odradek.log.cleaner import cleaner_kernel
from odradek.log.cleaner.cleaned_transactions import CleanedTransactions
from odradek.log.cleaner.cleaner_checkpoint import CleanerCheckpoints
from odradek.log.cleaner.key_map import KeyMap, slots_for
from odradek.log.cleaner.segment_groups import SegmentToClean, group_segments
from odradek.log.index.transaction_index import AbortedTransaction
from odradek.records.batch import RecordBatch
from odradek.records.control import control_batch, end_transaction_marker
from odradek.records.writer import BatchFields, empty_batch
from odradek.sim.disk import SimDisk

SECRET = bytes(16)


def maps():
    found = [KeyMap]
    with suppress(ImportError):
        found.append(native.load_compiled("odradek.log.cleaner._cleaner").KeyMap)
    return found


def test_the_compiled_kernel_serves_where_it_was_built():
    expected = (
        "odradek.log.cleaner.key_map"
        if native.load("odradek.log.cleaner._cleaner") is None
        else "odradek.log.cleaner._cleaner"
    )
    assert cleaner_kernel.KeyMap.__module__ == expected


# --- the map ---


@pytest.mark.parametrize("kind", maps())
def test_a_map_takes_as_many_keys_as_it_was_made_for_and_no_more(kind):
    key_map = kind(4, 3, SECRET)
    for number in range(3):
        key_map.put(b"%d" % number, number)
    key_map.put(b"0", 7)  # a key that it has
    with pytest.raises(ValueError, match="takes no more"):
        key_map.put(b"another", 8)
    assert [key_map.get(b"%d" % number) for number in range(3)] == [7, 1, 2]
    assert key_map.get(b"another") == -1
    assert (len(key_map), key_map.latest_offset) == (3, 7)


@pytest.mark.parametrize("kind", maps())
@pytest.mark.parametrize(("slots", "entries_max", "secret"), [(3, 3, SECRET), (1, 0, SECRET), (3, 2, b"short")])
def test_a_map_without_a_free_slot_or_a_secret_is_refused(kind, slots, entries_max, secret):
    with pytest.raises(ValueError, match="key map"):
        kind(slots, entries_max, secret)


@pytest.mark.parametrize("kind", maps())
def test_what_the_map_speaks_for_never_shrinks(kind):
    key_map = kind(4, 3, SECRET)
    assert key_map.latest_offset == -1
    key_map.advance(10)
    key_map.advance(3)
    assert key_map.latest_offset == 10


def test_the_map_uses_what_the_config_gives_and_no_more_than_it_needs():
    slots, entries = slots_for(128 << 20, 0.9, 1 << 40)
    assert slots * 24 <= 128 << 20
    assert entries == int(slots * 0.9)
    slots, entries = slots_for(128 << 20, 0.9, 1000)
    assert entries == 1000
    assert 1000 < slots < 1200
    assert slots_for(128 << 20, 0.9, 0) == (2, 1)
    assert slots_for(0, 0.9, 1000) == (2, 1)
    assert slots_for(240, 1.0, 1000) == (10, 9)


# --- groups ---


def grouped(segments, segment_bytes=1000, index_bytes_max=100, end=None):
    made = [SegmentToClean(*segment) for segment in segments]
    groups = group_segments(made, segment_bytes, index_bytes_max, made[-1].base_offset + 10 if end is None else end)
    return [[segment.base_offset for segment in group] for group in groups]


def test_segments_are_joined_up_to_the_size_of_one():
    assert grouped([(0, 500), (10, 500), (20, 1), (30, 999)]) == [[0, 10], [20, 30]]


def test_a_segment_that_is_too_large_has_a_group_of_its_own():
    assert grouped([(0, 10), (10, 5000), (20, 10)]) == [[0], [10], [20]]


def test_both_indexes_bound_a_group():
    assert grouped([(0, 1, 60, 0), (10, 1, 40, 0), (20, 1, 1, 0)]) == [[0, 10], [20]]
    assert grouped([(0, 1, 0, 60), (10, 1, 0, 41)]) == [[0], [10]]


def test_the_offsets_of_a_group_fit_an_index():
    far = 2**31 - 5
    assert grouped([(0, 1), (far, 1)], end=2**31) == [[0, far]]
    assert grouped([(0, 1), (far, 1)], end=2**31 + 1) == [[0], [far]]
    assert grouped([(0, 1), (far, 0)], end=2**31 + 1) == [[0, far]]  # an empty one holds no offset


def test_no_segments_are_no_groups():
    assert group_segments([], 1000, 100, 5) == []


# --- transactions ---


def marker(offset, is_commit, producer_id=1):
    return RecordBatch(
        end_transaction_marker(is_commit, 0, 0, producer_id=producer_id, producer_epoch=0, base_offset=offset)
    )


def test_the_same_producer_may_abort_commit_and_abort():
    transactions = CleanedTransactions([AbortedTransaction(1, 0, 2, 3), AbortedTransaction(1, 6, 8, 9)])
    assert transactions.on_batch(1, 1) is True
    assert transactions.on_control_batch(marker(2, False)) is False
    assert transactions.on_batch(1, 4) is False
    assert transactions.on_control_batch(marker(5, True)) is False
    assert transactions.on_batch(1, 7) is True
    assert transactions.on_control_batch(marker(8, False)) is False
    assert [entry.first_offset for entry in transactions.take_index_entries()] == [0, 6]
    assert transactions.take_index_entries() == []


def test_a_commit_ends_what_was_seen_of_a_producer():
    transactions = CleanedTransactions([])
    assert transactions.on_batch(1, 0) is False
    assert transactions.on_control_batch(marker(1, True)) is False
    assert transactions.on_control_batch(marker(2, True)) is True  # the batches of the next one are gone


def test_producers_do_not_mix():
    transactions = CleanedTransactions([AbortedTransaction(1, 0, 9, 10)])
    assert transactions.on_batch(1, 1) is True
    assert transactions.on_batch(2, 2) is False


def test_a_transaction_that_ended_before_the_section_says_nothing_about_it():
    transactions = CleanedTransactions([AbortedTransaction(1, 0, 2, 3)])
    assert transactions.on_batch(1, 5) is False
    assert transactions.on_control_batch(marker(6, True)) is False


def test_an_entry_that_two_indexes_list_counts_once():
    entry = AbortedTransaction(1, 0, 3, 4)
    transactions = CleanedTransactions([entry, entry])
    assert transactions.on_batch(1, 1) is True
    assert transactions.on_control_batch(marker(3, False)) is False
    assert transactions.take_index_entries() == [entry]


def test_markers_without_batches_and_empty_control_batches_are_free():
    transactions = CleanedTransactions([AbortedTransaction(1, 0, 3, 4)])
    assert transactions.on_control_batch(marker(3, False)) is True
    assert transactions.on_control_batch(marker(4, True, producer_id=2)) is True
    empty = RecordBatch(empty_batch(BatchFields(producer_id=1, producer_epoch=0, is_control=True), 5, 5, 0))
    assert transactions.on_control_batch(empty) is True
    assert transactions.take_index_entries() == []
    assert transactions.on_control_batch(RecordBatch(control_batch(2, b"leader", 0))) is False


# --- checkpoints ---


def checkpoints():
    made = CleanerCheckpoints()
    made.add_dir("/a", {("t", 0): 10})
    made.add_dir("/b", {})
    return made


def test_a_checkpoint_is_saved_once_it_has_changed():
    disk = SimDisk()
    disk.mkdir("/a")
    made = checkpoints()
    made.set("/a", ("t", 0), 10)
    assert made.changed_dirs == []
    made.set("/a", ("u", 3), 4)
    assert made.changed_dirs == ["/a"]
    list(made.save_job(disk, "/a"))
    assert made.changed_dirs == []
    assert read_offsets(disk, f"/a/{names.CLEANER_OFFSETS}") == {("t", 0): 10, ("u", 3): 4}


def test_a_truncation_lowers_a_checkpoint_and_never_raises_it():
    made = checkpoints()
    made.truncate("/a", ("t", 0), 20)
    made.truncate("/a", ("unknown", 0), 0)
    assert made.changed_dirs == []
    made.truncate("/a", ("t", 0), 3)
    assert made.get("/a", ("t", 0)) == 3


def test_a_moved_replica_takes_its_checkpoint_along():
    made = checkpoints()
    made.move(("t", 0), "/a", "/b")
    assert (made.get("/a", ("t", 0)), made.get("/b", ("t", 0))) == (None, 10)
    assert made.changed_dirs == ["/a", "/b"]


def test_a_failed_dir_takes_no_more_checkpoints():
    made = checkpoints()
    made.set("/a", ("t", 0), 11)
    made.remove_dir("/a")
    made.set("/a", ("t", 0), 12)
    assert made.get("/a", ("t", 0)) is None
    assert made.changed_dirs == []
