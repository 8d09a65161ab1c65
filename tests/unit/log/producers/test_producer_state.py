"""What a partition knows of its producers, where the way through a whole log would hide it."""

from odradek.log.producers import producer_snapshot
from odradek.log.producers.producer_entry import ProducerEntry
from odradek.log.producers.producer_state import CompletedTransaction, ProducerState
from odradek.sim.disk import SimDisk


def with_open_transaction(producer_id, first_offset):
    entry = ProducerEntry(producer_id)
    entry.current_txn_first_offset = first_offset
    return entry


def test_open_transactions_of_a_snapshot_are_taken_in_by_their_offsets():
    """A snapshot has its producers in any order, and the first unstable offset is that of the oldest transaction."""
    producers = ProducerState("t-0")
    producers.load([with_open_transaction(7, 10), with_open_transaction(3, 5), with_open_transaction(9, 8)], 20)
    seen = [producers.first_unstable_offset]
    for producer_id, first_offset, marker_offset in ((3, 5, 20), (9, 8, 21), (7, 10, 22)):
        producers.complete(CompletedTransaction(producer_id, first_offset, marker_offset, is_aborted=False))
        producers.high_watermark_moved(marker_offset + 1)
        seen.append(producers.first_unstable_offset)
    assert seen == [5, 8, 10, None]


def test_a_snapshot_that_was_written_leaves_no_file_open():
    """One is written at every roll."""
    disk = SimDisk()
    disk.mkdir("t-0")
    producer_snapshot.write(disk, "t-0", 20, [with_open_transaction(7, 10)])
    assert disk.open_files() == 0
    assert [entry.current_txn_first_offset for entry in producer_snapshot.read(disk, "t-0", 20)] == [10]
